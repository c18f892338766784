package measure

import (
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
)

// shaken is a plan of 60 quiet seconds, ten disturbed ones and 100 quiet ones,
// with one worker. A hold after the trigger it is 100 s.
func shaken() Plan {
	const s = time.Second
	return Plan{
		Phases:       []Span{{"before", 0, 60 * s}, {"trigger", 60 * s, 70 * s}, {"after", 70 * s, 170 * s}},
		Dependencies: []string{"primary", "backup"},
		Horizon:      5 * s,
		Detector:     Pinned,
		Trigger:      &Trigger{Phases: []string{"trigger"}, From: 60 * s, To: 70 * s},
		Stations:     []Station{{Replicas: 1, Workers: 1, Slots: []int{1, 1, 1}}},
	}
}

// steady is a run of 20 requests a second, of which so many are good in each.
func steady(seconds int, good func(second int) int) *rows {
	r := &rows{}
	for second := range seconds {
		for i := range 20 {
			q := ended(int64(len(r.requests)), time.Duration(second)*time.Second+time.Duration(i)*50*ms, ms, record.Completed, record.None)
			if i >= good(second) {
				q.Outcome, q.Cause = record.Errored, record.Failure
			}
			r.requests = append(r.requests, q)
		}
	}
	return r
}

// from returns a number of good requests that changes at given seconds: pairs
// of a second and the number from there on.
func from(changes ...int) func(int) int {
	return func(second int) int {
		good := 20
		for i := 0; i < len(changes) && second >= changes[i]; i += 2 {
			good = changes[i+1]
		}
		return good
	}
}

func TestStability(t *testing.T) {
	s := func(x float64) *Millis { v := Millis(x * 1e9); return &v }
	f := func(x float64) *float64 { return &x }
	tests := []struct {
		name               string
		good               func(int) int
		status             StabilityStatus
		share, least, most *float64
		recovered          *Millis
		candidate          *Millis
		degraded, endsDown bool
	}{
		{"well again at once", from(60, 0, 70, 20), Stable, f(1), f(1), f(1), s(0), nil, false, false},
		{"well again within the hold: at 90 % from 89 s on", from(60, 0, 90, 20), Stable, f(1), f(1), f(1), s(19), nil, true, false},
		{"never", from(60, 0), Metastable, f(0), f(0), f(0), nil, nil, true, true},
		{"a nanosecond's worth below exit", from(60, 16, 101, 17), Metastable, f(0.845), f(0.845), f(0.85), nil, nil, true, false},
		{"at exactly exit, and never at entry", from(60, 17), Impaired, f(0.85), f(0.85), f(0.85), nil, nil, true, false},
		{"at exactly entry", from(60, 0, 70, 18), Stable, f(0.9), f(0.9), f(0.9), s(0), nil, false, false},
		{"late, and for good", from(60, 0, 120, 20), Late, f(0), f(0), f(1), s(49), nil, true, false},
		{"late, too late for a whole hold", from(60, 0, 150, 20), Unsettled, f(0), f(0), f(1), nil, s(79), true, false},
		{"late, and not for long", from(60, 0, 120, 20, 131, 0), Unsettled, f(0), f(0), f(1), nil, nil, true, true},
		{"well again, but too late for a whole hold", from(60, 17, 140, 20), Candidate, f(0.85), f(0.85), f(1), nil, s(64), true, false}, // from 134 s on: 17*6 + 20*4
		{"entered, and down before a hold was over", from(60, 17, 80, 20, 95, 17), Impaired, f(0.85), f(0.85), f(0.85), nil, nil, true, false},
		{"recovered, and down for good just when it is judged", from(60, 0, 70, 20, 100, 18, 108, 16, 109, 0), Relapsed, f(0.8), f(0), f(0.8), s(0), nil, false, true},
		{"recovered, and down again long after the verdict", from(60, 0, 70, 20, 140, 0), Relapsed, f(1), f(0), f(1), s(0), nil, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := steady(170, test.good).composition(shaken())
			if err != nil {
				t.Fatal(err)
			}
			got := c.Stability
			want := &Stability{Status: test.status, Share: test.share, Least: test.least, Most: test.most, Recovered: test.recovered, Candidate: test.candidate, Degraded: test.degraded, EndsDown: test.endsDown,
				JudgedAt: s(100), Trigger: &TriggerSpan{[]string{"trigger"}, *s(60), *s(70)},
				Baseline: Baseline{From: 0, To: *s(55), Good: 1100, Scheduled: 1100, Goodput: f(1)}} // less the horizon
			words := []string{got.Reason, got.RecoveredReason, got.RetryShareReason, got.WastedShareReason, got.DemandReason, got.SustainedReason}
			if (got.Recovered == nil) != (words[1] != "") || (got.Status == Stable) != (words[0] == "") || words[2] == "" || words[3] == "" || words[5] == "" {
				t.Errorf("reasons: %q", words)
			}
			told := *got
			told.Reason, told.RecoveredReason, told.RetryShareReason, told.WastedShareReason, told.DemandReason, told.SustainedReason = "", "", "", "", "", ""
			told.Loaded, told.Demand, told.FirstDemand = "", nil, nil
			if diff := cmp.Diff(want, &told); diff != "" {
				t.Errorf("(-want +got):\n%s%s", diff, got.Reason)
			}
		})
	}
}

// What cannot be judged says why, and gives no verdict.
func TestStabilityIsRefused(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name   string
		change func(*Plan, *rows)
		want   string
	}{
		{"the horizon leaves nothing of the quiet time", func(p *Plan, _ *rows) { p.Horizon = 60 * s }, "the baseline: 1m0s of quiet before the trigger leave nothing beside the guard of one horizon, 1m0s"},
		{"it leaves a moment without requests", func(p *Plan, r *rows) {
			r.requests[0].Intended++
			r.requests[0].Submitted++
			r.requests[0].End++
			p.Horizon = 60*s - 1
		}, "the baseline: no request was scheduled in the quiet time before the trigger"},
		{"no goodput before the trigger", func(p *Plan, r *rows) { *r = *steady(170, from(0, 0, 60, 20)) }, "the baseline: no goodput in the quiet time before the trigger"},
		{"less than half", func(p *Plan, r *rows) { *r = *steady(170, from(0, 9, 60, 20)) }, "the baseline: goodput was 45 % in the quiet time before the trigger: less than half is no level to come back to"},
		{"down before the trigger", func(p *Plan, r *rows) { *r = *steady(170, from(45, 0, 70, 20)) }, "the baseline: goodput was down before the trigger: 0 % in the last 10s of the quiet time, against 81.82 % in all of it"},
		{"the run ends too early", func(p *Plan, r *rows) { p.Phases[2].To = 110*s - 1; *r = *steady(109, from()) }, "the run ends 39.999999999s after the trigger: expected at least a hold of 30s and a window of 10s of whole buckets"},
		{"the window at the end lies between buckets", func(p *Plan, r *rows) { p.Trigger.To = 70*s + 1; p.Phases[2].To = 110*s + 1; *r = *steady(110, from()) }, "the run ends 40s after the trigger"},
		{"aborted", func(p *Plan, r *rows) { r.events = append(r.events, record.Event{What: record.WhatAborted}) }, "the run was aborted"},
		{"nothing to judge by", func(p *Plan, r *rows) { r.requests = r.requests[:100*20] }, "no request was scheduled in the 10s from 1m40s on"},
		{"a detector that fits no bucket", func(p *Plan, _ *rows) { p.Bucket = 3 * s }, "recovery detector: a window of 10s: expected a multiple of the bucket's 3s"},
		{"more buckets than are looked at", func(p *Plan, _ *rows) { p.Bucket = 10_000 }, "the run has 17000000 buckets of 10µs, more than the 4194304 that are looked at"},
		{"disturbed from the start", func(p *Plan, _ *rows) { p.Trigger, p.NoTrigger = nil, "phase before comes first" }, "phase before comes first"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan, run := shaken(), steady(170, from(60, 0))
			test.change(&plan, run)
			c, err := run.composition(plan)
			if err != nil {
				t.Fatal(err)
			}
			got := c.Stability
			if got.Status != NotEstimable || !strings.HasPrefix(got.Reason, test.want) || got.SustainedBy != "" {
				t.Errorf("%s: %q, want %q", got.Status, got.Reason, test.want)
			}
			if got.Recovered != nil || got.RecoveredReason == "" || got.SustainedReason == "" || got.RetryShareReason == "" || got.WastedShareReason == "" || got.Share != nil {
				t.Errorf("without reasons: %+v", got)
			}
		})
	}
	plan, run := shaken(), steady(110, from(60, 0))
	plan.Phases[2].To = 110 * s
	if c, err := run.composition(plan); err != nil || c.Stability.Status != Metastable {
		t.Errorf("a run just long enough: %+v (%v)", c.Stability, err)
	}
	if c, err := steady(170, from(0, 10)).composition(shaken()); err != nil || c.Stability.Status != Stable {
		t.Errorf("a baseline of just half: %+v (%v)", c.Stability, err)
	}
	bounded := shaken()
	bounded.Detector.Timeout = time.Second // is for a study's fault
	if c, err := steady(170, from(60, 0, 90, 20)).composition(bounded); err != nil || c.Stability.Status != Stable {
		t.Errorf("a detector with a timeout: %+v (%v)", c.Stability, err)
	}
	if c, err := run.composition(plan); err != nil || c.Stability.RecoveredReason != "not recovered by the end of observation, 40s after the trigger" {
		t.Errorf("never well again: %q (%v)", c.Stability.RecoveredReason, err)
	}
	plan.Trigger = nil
	if c, err := run.composition(plan); err != nil || c.Stability != nil {
		t.Errorf("without a disturbed phase: %+v (%v)", c.Stability, err)
	}
}

// Good is what the SLO says or, without one, what completes by the horizon.
func TestStabilityKnowsTheSLO(t *testing.T) {
	run := steady(170, from())
	for i := range run.requests {
		q := &run.requests[i]
		if q.Intended >= 60*time.Second {
			q.End = q.Intended + 20*ms
		}
		q.FirstToken = q.Intended + ms/2
	}
	for _, test := range []struct {
		slo     *SLO
		horizon time.Duration
		want    StabilityStatus
	}{
		{&SLO{EndToEnd: 20 * ms}, time.Second, Stable}, // just so
		{&SLO{EndToEnd: 20*ms - 1}, time.Second, Metastable},
		{nil, 20 * ms, Stable},
		{nil, 20*ms - 1, Metastable},
		{&SLO{FirstToken: ms / 2}, 20*ms - 1, Stable},
		{&SLO{FirstToken: ms/2 - 1}, time.Second, NotEstimable},
	} {
		plan := shaken()
		plan.SLO, plan.Horizon = test.slo, test.horizon
		if c, err := run.composition(plan); err != nil || c.Stability.Status != test.want {
			t.Errorf("%+v, %v: %s, want %s (%v)", test.slo, test.horizon, c.Stability.Status, test.want, err)
		}
	}
}

func TestWhatSustainsIt(t *testing.T) {
	const s = time.Second
	f := func(x float64) *float64 { return &x }
	// Attempts that start at 100 s count: 70 worker seconds follow.
	type batch struct {
		n    int
		at   time.Duration
		busy time.Duration
		like record.Attempt
	}
	retried := record.Attempt{Why: record.Retry}
	hedged := record.Attempt{Why: record.Hedge}
	wasted := record.Attempt{Wasted: true}
	gone := record.Attempt{Wasted: true, Cancelled: true}
	again := record.Attempt{Why: record.Retry, Wasted: true, Cancelled: true}
	full := record.Attempt{Cause: record.Overload}
	refused := record.Attempt{Cause: record.Failure}
	tests := []struct {
		name            string
		batches         []batch
		demand, first   *float64
		retries, wasted *float64
		by              Loop
		reason          string
	}{
		{"the calls alone are too much", []batch{{n: 71, at: 100 * s, busy: s}}, f(71. / 70), f(71. / 70), f(0), f(0), ByLoad, ""},
		{"just all that there is", []batch{{n: 70, at: 100 * s, busy: s}}, f(1), f(1), f(0), f(0), "", "the workers of primary could keep up"},
		{"retries make it too much", []batch{{n: 35, at: 100 * s, busy: s}, {n: 36, at: 120 * s, busy: s, like: retried}}, f(71. / 70), f(0.5), f(36. / 71), f(0), ByRetries, ""},
		{"hedges make it too much", []batch{{n: 70, at: 100 * s, busy: s}, {n: 70, at: 100 * s, busy: s, like: hedged}}, f(2), f(1), f(0.5), f(0), ByRetries, ""},
		{"what starts before is not looked at", []batch{{n: 35, at: 100 * s, busy: s}, {n: 100, at: 100*s - 1, busy: s, like: retried}}, f(0.5), f(0.5), f(0), f(0), "", "the workers of primary could keep up"},
		{"nor what starts in the drain", []batch{{n: 35, at: 170*s - 1, busy: s}, {n: 100, at: 170 * s, busy: s, like: retried}}, f(0.5), f(0.5), f(0), f(0), "", "the workers of primary could keep up"},
		{"half of the work is for nobody", []batch{{n: 35, at: 100 * s, busy: s}, {n: 35, at: 100 * s, busy: s, like: wasted}}, f(1), f(1), f(0), f(0.5), ByStaleWork, ""},
		{"a little less than half", []batch{{n: 35, at: 100 * s, busy: s}, {n: 34, at: 100 * s, busy: s, like: wasted}}, f(69. / 70), f(69. / 70), f(0), f(34. / 69), "", "the workers of primary could keep up"},
		{"those that were never worked on would have taken as long as the others", []batch{{n: 10, at: 100 * s, busy: 2 * s}, {n: 40, at: 100 * s, like: again}, {n: 10, at: 100 * s, like: full}},
			f(120. / 70), f(40. / 70), f(40. / 60), f(0), ByRetries, ""},
		{"those that were cut short stand in for nobody", []batch{{n: 10, at: 100 * s, busy: 2 * s}, {n: 10, at: 100 * s, busy: s, like: gone}, {n: 40, at: 100 * s, like: again}},
			f(110. / 70), f(30. / 70), f(40. / 60), f(1. / 3), ByRetries, ""},
		{"unless there are no others", []batch{{n: 10, at: 100 * s, busy: s, like: gone}, {n: 40, at: 100 * s, like: again}}, f(50. / 70), f(10. / 70), f(0.8), f(1), ByStaleWork, ""},
		{"refused ones are no work", []batch{{n: 35, at: 100 * s, busy: s}, {n: 100, at: 100 * s, like: refused}}, f(0.5), f(0.5), f(0), f(0), "", "the workers of primary could keep up"},
		{"nothing was worked on", []batch{{n: 10, at: 100 * s, like: gone}}, nil, nil, f(0), nil, "", "no worker of primary took up any attempt"},
		{"nothing was asked for", nil, f(0), f(0), nil, nil, "", "the workers of primary could keep up"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := steady(170, from(60, 0))
			for _, b := range test.batches {
				for range b.n {
					// of the request that the instant belongs to
					i := min(int64(b.at/(50*ms)), int64(len(run.requests)-1))
					a := run.tried(i, run.requests[i].Intended, b.at, 0, b.busy, 0)
					a.Why, a.Wasted, a.Cancelled, a.Cause = b.like.Why, b.like.Wasted, b.like.Cancelled, b.like.Cause
				}
			}
			c, err := run.composition(shaken())
			if err != nil {
				t.Fatal(err)
			}
			got := c.Stability
			if got.Status != Metastable || got.SustainedBy != test.by || !strings.HasPrefix(got.SustainedReason, test.reason) || (got.SustainedReason == "") != (test.by != "") {
				t.Errorf("%s by %q (%s)", got.Status, got.SustainedBy, got.SustainedReason)
			}
			if diff := cmp.Diff([]*float64{test.demand, test.first, test.retries, test.wasted}, []*float64{got.Demand, got.FirstDemand, got.RetryShare, got.WastedShare}); diff != "" {
				t.Errorf("demand, that of first calls, retries, waste (-want +got):\n%s", diff)
			}
		})
	}
}

// The target with the most demand decides, and its workers in the phases that
// are looked at.
func TestMostLoadedTarget(t *testing.T) {
	plan := shaken()
	plan.Stations = []Station{{Replicas: 2, Workers: 2, Slots: []int{4, 2, 4}}, {Replicas: 1, Workers: 1, Slots: []int{1, 1, 1}}}
	run := steady(170, from(60, 0))
	busy := func(n int, dependency int32) {
		for range n {
			run.tried(2000, 100*time.Second, 100*time.Second, 0, time.Second, 0).Dependency = dependency
		}
	}
	busy(280, 0)
	busy(71, 1)
	c, err := run.composition(plan)
	if s := c.Stability; err != nil || s.Loaded != "backup" || *s.Demand != 71./70 || s.SustainedBy != ByLoad {
		t.Fatalf("%+v (%v)", s, err)
	}
	busy(70, 0)
	if c, err = run.composition(plan); err != nil || c.Stability.Loaded != "primary" || *c.Stability.Demand != 1.25 {
		t.Errorf("%+v (%v)", c.Stability, err)
	}
	plan.Stations = nil
	for i := range run.attempts {
		run.attempts[i].Busy = 0
	}
	c, err = run.composition(plan)
	if s := c.Stability; err != nil || s.Status != Metastable || s.SustainedBy != "" || s.SustainedReason != "no target has workers" || s.Demand != nil || *s.RetryShare != 0 {
		t.Errorf("without workers: %+v (%v)", s, err)
	}
}
