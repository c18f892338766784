package measure

import (
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
)

func TestBreakers(t *testing.T) {
	opened := func(stage string, at time.Duration, caller int32) record.Event {
		return record.Event{At: at * ms, Stage: stage, What: record.WhatBreaker, State: "open", Caller: caller}
	}
	n := func(x int64) *int64 { return &x }
	m := func(x time.Duration) *Millis { v := Millis(x * ms); return &v }
	run := &rows{events: []record.Event{
		opened("1.breaker", 19, 3), // before the trigger: nothing is wrong
		opened("1.breaker", 20, 3), // its start belongs to it
		opened("1.breaker", 25, 3), // after a failed probe
		opened("1.breaker", 39, 4),
		opened("1.breaker", 40, 4), // its end does not
		opened("0.breaker", 5, -1), // a shared one, never again
		opened("2.breaker", 90, 0), // for the first time after the trigger
		{At: 30 * ms, Stage: "1.breaker", What: record.WhatBreaker, State: "half-open", Caller: 9},
		{At: 31 * ms, Stage: "1.breaker", What: record.WhatBreaker, State: "closed", Caller: 9},
		{At: 31 * ms, Stage: "3.breaker", What: record.WhatBreaker, State: "closed", Caller: 9},
		{At: 31 * ms, Stage: "1.limit", What: record.WhatPermits, State: "open", Caller: 9},
	}}
	plan := twoPhases()
	plan.Trigger = &Trigger{Phases: []string{"outage"}, From: 20 * ms, To: 40 * ms}
	c, err := run.composition(plan)
	if err != nil {
		t.Fatal(err)
	}
	want := []BreakerNumbers{
		{Stage: "0.breaker", Callers: 1, Opens: 1, OpensBefore: n(1), OpensDuring: n(0), OpensAfter: n(0),
			TimeToOpenReason: "not observed: it did not open from the start of the trigger on"},
		{Stage: "1.breaker", Callers: 2, Opens: 5, OpensBefore: n(1), OpensDuring: n(3), OpensAfter: n(1), TimeToOpen: m(0)},
		{Stage: "2.breaker", Callers: 1, Opens: 1, OpensBefore: n(0), OpensDuring: n(0), OpensAfter: n(1), TimeToOpen: m(70)},
	}
	if diff := cmp.Diff(want, c.Breakers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Without a trigger nobody knows which of them were false.
	for reason, told := range map[string]string{"": "no phase is disturbed: there is no trigger", "the first phase is disturbed": "the first phase is disturbed"} {
		plan.Trigger, plan.NoTrigger = nil, reason
		if c, err = run.composition(plan); err != nil {
			t.Fatal(err)
		}
		if b := c.Breakers[1]; b.Opens != 5 || b.Callers != 2 || b.OpensBefore != nil || b.Reason != told || b.TimeToOpen != nil || b.TimeToOpenReason != told {
			t.Errorf("without a trigger: %+v", b)
		}
	}
}
