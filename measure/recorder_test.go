package measure

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
)

const ms = time.Millisecond

// twoPhases is a plan of two phases of 100 ms and two dependencies.
func twoPhases() Plan {
	return Plan{
		Phases:       []Span{{"healthy", 0, 100 * ms}, {"outage", 100 * ms, 200 * ms}},
		Dependencies: []string{"primary", "backup"},
		Horizon:      time.Second,
		Recovery:     CleanWindow{Phase: 1, Window: 50 * ms, Least: 1},
		HerdBucket:   20 * ms,
		Sampled:      true,
	}
}

// withInterval is what the curve says of a quantile, as a recorder writes it.
func withInterval(c *Curve, q PPM) Quantile {
	out := c.Quantile(q)
	in := c.QuantileInterval(q)
	if out.Refused = in.Reason; in.Reason == "" {
		out.Lower, out.LowerStatus = in.Lower.Millis, in.Lower.Status
		out.Upper, out.UpperStatus = in.Upper.Millis, in.Upper.Status
	}
	return out
}

// rows is a run: what a sink is told.
type rows struct {
	requests []record.Request
	attempts []record.Attempt
	events   []record.Event
}

func (r *rows) composition(plan Plan) (Composition, error) {
	rec := NewRecorder(plan, int64(len(r.requests)/2))
	for i := range r.attempts {
		rec.Attempt(&r.attempts[i])
	}
	for i := range r.events {
		rec.Event(&r.events[i])
	}
	for i := range r.requests {
		rec.Request(&r.requests[i])
	}
	return rec.Composition("it")
}

// ended returns a submitted request without attempts.
func ended(index int64, at, latency time.Duration, outcome record.Outcome, cause record.Cause) record.Request {
	return record.Request{Index: index, Intended: at, Submitted: at, End: at + latency, FirstToken: record.Never,
		Outcome: outcome, Cause: cause, ServedBy: -1}
}

// small run, counted by hand: five requests on each side of the boundary.
func byHand() *rows {
	r := &rows{}
	request := func(at, latency time.Duration, o record.Outcome, c record.Cause, attempts int, served int32) *record.Request {
		q := ended(int64(len(r.requests)), at*ms, latency*ms, o, c)
		q.Attempts, q.ServedBy = int32(attempts), served
		r.requests = append(r.requests, q)
		return &r.requests[len(r.requests)-1]
	}
	attempt := func(request int64, why record.Why, dependency int32, start, end time.Duration) *record.Attempt {
		a := record.Attempt{Request: request, Intended: r.requests[request].Intended, Why: why, Dependency: dependency,
			Start: start * ms, End: end * ms, CleanupEnd: end * ms, FirstToken: record.Never, Cost: 0.1}
		r.attempts = append(r.attempts, a)
		return &r.attempts[len(r.attempts)-1]
	}
	request(0, 5, record.Completed, record.None, 1, 0)
	attempt(0, record.First, 0, 0, 5)
	request(20, 7, record.Completed, record.None, 2, 1) // a fallback
	attempt(1, record.First, 0, 20, 22)
	attempt(1, record.Fallback, 1, 22, 27)
	request(40, 0, record.Errored, record.Limiter, 0, -1).Refusals = 1
	*request(60, 0, record.Errored, record.Harness, 0, -1) = record.Request{Index: 3, Intended: 60 * ms, Submitted: record.Never, End: 60 * ms,
		FirstToken: record.Never, Outcome: record.Errored, Cause: record.Harness, ServedBy: -1}
	late := request(99, 31, record.Completed, record.None, 2, 0) // submitted 1 ms late, retried in the next phase
	late.Submitted += ms
	late.FirstToken = 125 * ms
	attempt(4, record.First, 0, 100, 110)
	attempt(4, record.Retry, 0, 110, 130)
	request(100, 20, record.Errored, record.Failure, 1, -1)
	attempt(5, record.First, 0, 100, 120)
	request(120, 1000, record.Censored, record.None, 1, -1)
	loser := attempt(6, record.First, 0, 120, 1120)
	loser.Cancelled, loser.Pending, loser.Cleanup, loser.CleanupEnd = true, true, 20*ms, 1140*ms
	request(140, 10, record.Completed, record.None, 1, 0).Refusals = 1
	attempt(7, record.First, 0, 140, 150)
	request(150, 10, record.Completed, record.None, 1, 0)
	attempt(8, record.First, 0, 150, 160)
	request(180, 40, record.Completed, record.None, 1, 0)
	attempt(9, record.First, 0, 180, 220)
	r.events = []record.Event{
		{What: record.WhatPeakRequests, Value: 2}, {What: record.WhatPeakRequests, Value: 4}, {What: record.WhatPeakRequests, Value: 3},
		{What: record.WhatPeakAttempts, Value: 5}, {What: record.WhatActive}, {What: record.WhatPhase, State: "outage"},
	}
	return r
}

func TestCountedByHand(t *testing.T) {
	got, err := byHand().composition(twoPhases())
	if err != nil {
		t.Fatal(err)
	}
	m := func(x time.Duration) *Millis { v := Millis(x * ms); return &v }
	f := func(x float64) *float64 { return &x }
	causes := func(set map[string]int64) map[string]int64 {
		all := map[string]int64{}
		for _, c := range record.Causes() {
			all[c.String()] = set[c.String()]
		}
		return all
	}
	want := []Phase{{
		Name: "healthy", From: 0, To: Millis(100 * ms),
		Offered: 5, Submitted: 4, Admitted: 3, Completed: 3, Errored: 2, Causes: causes(map[string]int64{"limiter": 1, "harness": 1}),
		Attempts: 5, AttemptsPerOffered: f(1), AttemptsPerAdmitted: f(5. / 3),
		Latency: Latencies{
			Submitted:  Percentiles{P50: m(5), P95: m(31), P99: m(31), Max: m(31)}, // 0 5 7 31
			Completed:  Percentiles{P50: m(7), P95: m(31), P99: m(31), Max: m(31)}, // 5 7 31
			FirstToken: &Percentiles{P50: m(26), P95: m(26), P99: m(26), Max: m(26)},
		},
		SchedulerLag: Tail{P99: m(1), Max: m(1)},
		Incidence: Incidence{Final: f(0.6), Ceiling: f(0.6), Quantiles: []Quantile{
			{Q: 0.5, Status: Reached, Millis: m(31)},
			{Q: 0.9, Status: Unattainable, Reason: "60 % completed, and at most 60 % could have"},
			{Q: 0.95, Status: Unattainable, Reason: "60 % completed, and at most 60 % could have"},
			{Q: 0.99, Status: Unattainable, Reason: "60 % completed, and at most 60 % could have"},
			{Q: 0.999, Status: Unattainable, Reason: "60 % completed, and at most 60 % could have"},
		}},
		ServedBy: map[string]int64{"primary": 2, "backup": 1}, DependencyCalls: map[string]int64{"primary": 4, "backup": 1}, Cost: 0.5,
		Retries: 1,
	}, {
		Name: "outage", From: Millis(100 * ms), To: Millis(200 * ms),
		Offered: 5, Submitted: 5, Admitted: 5, Completed: 3, Errored: 1, Censored: 1, Causes: causes(map[string]int64{"failure": 1}),
		Attempts: 5, AttemptsPerOffered: f(1), AttemptsPerAdmitted: f(1),
		Latency: Latencies{
			Submitted: Percentiles{P50: m(20), Reason: "p95, p99, max not known: 1 of 5 submitted requests were censored"}, // 10 10 20 40 >1000
			Completed: Percentiles{P50: m(10), P95: m(40), P99: m(40), Max: m(40)},
		},
		SchedulerLag: Tail{P99: m(0), Max: m(0)},
		Incidence: Incidence{Final: f(0.6), Ceiling: f(0.8), Quantiles: []Quantile{
			{Q: 0.5, Status: Reached, Millis: m(40)},
			{Q: 0.9, Status: Unattainable, Reason: "60 % completed, and at most 80 % could have"},
			{Q: 0.95, Status: Unattainable, Reason: "60 % completed, and at most 80 % could have"},
			{Q: 0.99, Status: Unattainable, Reason: "60 % completed, and at most 80 % could have"},
			{Q: 0.999, Status: Unattainable, Reason: "60 % completed, and at most 80 % could have"},
		}},
		ServedBy: map[string]int64{"primary": 3, "backup": 0}, DependencyCalls: map[string]int64{"primary": 5, "backup": 0}, Cost: 0.5,
	}}
	for i := range want {
		for j, needs := range []int{6, 36, 72, 368, 3688} {
			q := &want[i].Incidence.Quantiles[j]
			q.Refused = fmt.Sprintf("p%v-CI omitted (sample budget insufficient: %d needed, 5 scheduled)", 100*q.Q, needs)
		}
	}
	if diff := cmp.Diff(want, got.Phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if w := got.Whole; w.Offered != 10 || w.Completed != 6 || w.Attempts != 10 || w.Cost != 1 || *w.Latency.Completed.P50 != *m(10) {
		t.Errorf("whole: %+v", w)
	}
	rest := got
	rest.Phases, rest.Whole, rest.Timeline = nil, Phase{}, Timeline{}
	wantRest := Composition{
		Name: "it",
		// [100, 150) has a failure, [150, 200) is clean and ends at 220.
		Recovery:  Recovery{Phase: "outage", Window: Millis(50 * ms), CleanWindow: m(120), GoodputReason: noFault},
		Cancelled: 1, LosersPending: 1, Cleanup: Tail{P99: m(20), Max: m(20)}, Peak: Peak{Requests: 4, Attempts: 5},
		AttemptsByStartPhase: map[string]map[string]int64{
			"healthy": {"total": 3, "primary": 2, "backup": 1}, "outage": {"total": 7, "primary": 7, "backup": 0}},
		Herd: Herd{Bucket: Millis(20 * ms), Peak: 3, RetryPeak: 1, Buckets: []HerdBucket{
			{0, 1, 0}, {Millis(20 * ms), 2, 0}, {Millis(100 * ms), 3, 1}, {Millis(120 * ms), 1, 0}, {Millis(140 * ms), 2, 0}, {Millis(180 * ms), 1, 0}}},
	}
	if diff := cmp.Diff(wantRest, rest); diff != "" {
		t.Errorf("composition (-want +got):\n%s", diff)
	}
	line := got.Timeline
	if line.Step != Millis(ms) || len(line.Offered) != 200 {
		t.Fatalf("timeline of %d steps of %v", len(line.Offered), time.Duration(line.Step))
	}
	// Submitted at 100 and ended at 120: in flight at 101 … 119.
	for step, flying := range map[int]int64{0: 0, 1: 1, 4: 1, 5: 0, 100: 0, 101: 2, 119: 2, 120: 1, 121: 2, 129: 2, 130: 1, 150: 1, 160: 1, 199: 2} {
		if line.InFlight[step] != flying {
			t.Errorf("%d in flight at %d ms, want %d", line.InFlight[step], step, flying)
		}
	}
	if line.Attempts[199] != 0 || line.Errored["failure"][100] != 1 || line.Errored["harness"][60] != 1 || len(line.Errored) != 3 || *line.P95[99] != *m(31) || line.P50[100] != nil {
		t.Errorf("timeline: %+v", line)
	}
}

// A composition can be made again, and of no requests at all; what is absent
// is null in JSON, with a reason.
func TestEmptyAndAgain(t *testing.T) {
	plan := twoPhases()
	rec := NewRecorder(plan, 0)
	c, err := rec.Composition("none")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"attempts_per_offered":null,"attempts_per_offered_reason":"no request was offered in this phase"`,
		`"completed":{"p50":null,"p95":null,"p99":null,"max":null,"reason":"no request completed in this phase"}`,
		`"incidence":{"final":null,"ceiling":null,"censored_before_horizon":0,"quantiles":[{"q":0.5,"status":"empty","ms":null,"reason":"no request was offered in this phase","interval_refused":"p50-CI omitted (sample budget insufficient: 6 needed, 0 scheduled)"}`,
		`"no request completed in the run"`,
		`"cleanup_ms":{"p99":null,"max":null,"reason":"no attempt was made"}`,
		`"buckets":[]`,
		`"errored":{}`,
		`"causes":{"circuit":0,"connect":0,"failure":0,`,
		`"served_by":{"backup":0,"primary":0}`,
		`"goodput":null,"goodput_reason":"not measured: the study names no fault"`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in %s", want, b)
		}
	}
	rec = NewRecorder(plan, 0)
	run := byHand()
	for i := range run.requests {
		rec.Request(&run.requests[i])
	}
	for i := range run.attempts {
		rec.Attempt(&run.attempts[i])
	}
	first, err1 := rec.Composition("it")
	again, err2 := rec.Composition("it")
	if diff := cmp.Diff(first, again); diff != "" || err1 != nil || err2 != nil {
		t.Errorf("the second composition differs (%v, %v):\n%s", err1, err2, diff)
	}
}

func TestContradictionsAreErrors(t *testing.T) {
	tests := []struct {
		name   string
		change func(*rows)
		want   string
	}{
		{"a row is missing in the middle", func(r *rows) { r.requests = append(r.requests[:3], r.requests[4:]...) },
			"1 of 10 requests have no row: the first is request 3"},
		{"a row came twice", func(r *rows) { r.requests = append(r.requests, r.requests[4]) },
			"1 rows are wrong: request 4 has more than one row"},
		{"indexed out of order across phases", func(r *rows) { r.requests[4].Index, r.requests[5].Index = 5, 4 },
			"phase outage begins at request 4, expected 5"},
		{"indexed out of order within a phase", func(r *rows) { r.requests[0].Index, r.requests[1].Index = 1, 0 },
			"step 0 begins at request 1, expected 0"},
		{"ends before it should begin", func(r *rows) { r.requests[2].End = 0 },
			"request 2 ends before its intended instant"},
		{"sent before it should", func(r *rows) { r.requests[2].Submitted -= 1 },
			"request 2 was submitted before its intended instant"},
		{"completed with a cause", func(r *rows) { r.requests[0].Cause = record.Failure },
			"request 0 has an outcome and a cause that do not go together"},
		{"errored without a cause", func(r *rows) { r.requests[2].Cause = record.None },
			"request 2 has an outcome and a cause that do not go together"},
		{"served by nobody known", func(r *rows) { r.requests[0].ServedBy = 2 },
			"request 0 was served by a dependency that the plan does not have"},
		{"negative index", func(r *rows) { r.requests[0].Index = -1 },
			"request -1 has an index out of range"},
		{"shed and submitted", func(r *rows) { r.requests[3].Submitted = r.requests[3].Intended },
			"submitted is not offered - shed by the harness in healthy: 5 against 4"},
		{"neither shed nor submitted", func(r *rows) { r.requests[2].Submitted = record.Never },
			"submitted is not offered - shed by the harness in healthy: 3 against 4"},
		{"an attempt without a request that tells of it", func(r *rows) { r.requests[7].Attempts = 0 },
			"attempts that requests tell of are not the attempts that were made in outage: 4 against 5"},
		{"a call of nobody known", func(r *rows) { r.attempts[0].Dependency = 2 },
			"request 0 has an attempt at a dependency that the plan does not have"},
		{"still active", func(r *rows) { r.events = append(r.events, record.Event{What: record.WhatActive, Value: 2}) },
			"attempts are still active after the drain in whole: 2 against 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := byHand()
			test.change(run)
			_, err := run.composition(twoPhases())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "measuring it: ") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if _, err := byHand().composition(Plan{}); err == nil {
		t.Error("a plan without phases is accepted")
	}
}

func TestCleanWindow(t *testing.T) {
	// Ten requests from 100 ms, one each 10 ms, that end after 5 ms.
	steady := func() *rows {
		r := &rows{}
		for i := range int64(10) {
			r.requests = append(r.requests, ended(i, (100+10*time.Duration(i))*ms, 5*ms, record.Completed, record.None))
		}
		return r
	}
	fail := func(r *rows, i int) { r.requests[i].Outcome, r.requests[i].Cause = record.Errored, record.Failure }
	tests := []struct {
		name   string
		plan   CleanWindow
		change func(*rows)
		want   time.Duration // -1 for none
		reason string
	}{
		{"clean at once", CleanWindow{1, 20 * ms, 2}, func(*rows) {}, 20 * ms, ""},
		{"the last completion is later than the window", CleanWindow{1, 20 * ms, 2}, func(r *rows) { r.requests[0].End += 40 * ms }, 45 * ms, ""},
		{"a failure in the first window", CleanWindow{1, 20 * ms, 2}, func(r *rows) { fail(r, 0) }, 40 * ms, ""},
		{"a window contains its start and not its end", CleanWindow{1, 20 * ms, 2}, func(r *rows) { fail(r, 2) }, 20 * ms, ""},
		{"a refusal that was made good", CleanWindow{1, 20 * ms, 2}, func(r *rows) { r.requests[1].Refusals = 1 }, 20 * ms, ""},
		{"censored", CleanWindow{1, 20 * ms, 2}, func(r *rows) { r.requests[1].Outcome = record.Censored }, 40 * ms, ""},
		{"nothing is clean", CleanWindow{1, 20 * ms, 2}, func(r *rows) {
			for i := range r.requests {
				fail(r, i)
			}
		}, -1, "not observed: none of 5 windows of 20ms was clean"},
		{"the window at the end does not fit", CleanWindow{1, 30 * ms, 1}, func(r *rows) {
			for i := range 9 {
				fail(r, i)
			}
		}, -1, "not observed: none of 3 windows of 30ms was clean"},
		{"too few", CleanWindow{1, 20 * ms, 3}, func(*rows) {}, -1, "not observed: too few arrivals: none of 5 windows of 20ms had the 3 that it needs"},
		{"an empty window is not clean, even if none is asked for", CleanWindow{1, 5 * ms, 0}, func(r *rows) { fail(r, 0) }, 15 * ms, ""},
		{"longer than the phase", CleanWindow{1, 101 * ms, 1}, func(*rows) {}, -1, "not observed: the phase lasts 100ms, shorter than a window of 101ms"},
		{"as long as the phase", CleanWindow{1, 100 * ms, 10}, func(*rows) {}, 100 * ms, ""},
		{"none set", CleanWindow{1, 0, 1}, func(*rows) {}, -1, "not judged: no clean window is set"},
		{"too many windows to look at", CleanWindow{1, 1, 1}, func(*rows) {}, -1, "not judged: the phase has 100000000 windows of 1ns, more than the 4194304 that are looked at"},
		{"no such phase", CleanWindow{2, 20 * ms, 1}, func(*rows) {}, -1, "not judged: there is no phase to recover in"},
		{"a phase before the requests", CleanWindow{0, 20 * ms, 1}, func(*rows) {}, -1, "not observed: too few arrivals: none of 5 windows of 20ms had the 1 that it needs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run, plan := steady(), twoPhases()
			test.change(run)
			plan.Recovery = test.plan
			c, err := run.composition(plan)
			if err != nil {
				t.Fatal(err)
			}
			got := time.Duration(-1)
			if c.Recovery.CleanWindow != nil {
				got = time.Duration(*c.Recovery.CleanWindow)
			}
			if got != test.want || c.Recovery.Reason != test.reason {
				t.Errorf("%v %q, want %v %q", got, c.Recovery.Reason, test.want, test.reason)
			}
		})
	}
}

func TestHerdIsBounded(t *testing.T) {
	plan := twoPhases()
	plan.HerdBucket = 1000
	run := &rows{}
	for i := range int64(mostBuckets + 1) {
		q := ended(i, time.Duration(i)*1000, ms, record.Completed, record.None)
		q.Attempts = 1
		run.requests = append(run.requests, q)
		run.attempts = append(run.attempts, record.Attempt{Request: i, Intended: q.Intended, Start: q.Intended, Why: record.Retry})
	}
	c, err := run.composition(plan)
	if err != nil {
		t.Fatal(err)
	}
	if h := c.Herd; h.Buckets != nil || h.Peak != 1 || h.RetryPeak != 1 || h.Reason != "2001 buckets are not empty, more than the 2000 that are listed" {
		t.Errorf("2001 buckets: %d listed, %+v", len(h.Buckets), h)
	}
	run.requests, run.attempts = run.requests[:mostBuckets], run.attempts[:mostBuckets]
	if c, err = run.composition(plan); err != nil || len(c.Herd.Buckets) != mostBuckets || c.Herd.Reason != "" {
		t.Errorf("2000 buckets: %d listed, %q (%v)", len(c.Herd.Buckets), c.Herd.Reason, err)
	}
	plan.HerdBucket = 0
	if c, err = run.composition(plan); err != nil || c.Herd.Reason == "" {
		t.Errorf("no bucket: %+v (%v)", c.Herd, err)
	}
}

func TestStepLength(t *testing.T) {
	for span, want := range map[time.Duration]time.Duration{
		0:                     ms,
		200 * ms:              ms,
		2 * time.Second:       ms,
		2*time.Second + 1:     2 * ms,
		4*time.Second + 1:     5 * ms,
		10*time.Second + 1:    10 * ms,
		120 * time.Second:     100 * ms,
		100_000 * time.Second: 50 * time.Second,
		1<<63 - 1:             5_000_000 * time.Second,
	} {
		if got := stepLength(span); got != want {
			t.Errorf("steps of %v for %v, want %v", got, span, want)
		}
	}
}

func TestAborted(t *testing.T) {
	rec := NewRecorder(twoPhases(), 0)
	if rec.Aborted() {
		t.Error("aborted from the start")
	}
	rec.Event(&record.Event{What: record.WhatAborted})
	if !rec.Aborted() {
		t.Error("not aborted")
	}
}

// An outcome at exactly the horizon counts. One after it, which only rows from
// elsewhere have, is completed all the same and reaches no quantile.
func TestOutcomeAtTheHorizon(t *testing.T) {
	run := &rows{requests: []record.Request{
		ended(0, 0, time.Second, record.Completed, record.None),
		ended(1, 0, time.Second, record.Censored, record.None),
		ended(2, 0, 2*time.Second, record.Completed, record.None),
		ended(3, 0, 0, record.Errored, record.Failure),
	}}
	curve := make([]Observation, 0, 4)
	for _, q := range run.requests {
		curve = append(curve, Observation{q.Latency(), q.Outcome})
	}
	for n, want := range map[int]Status{2: Reached, 3: Beyond, 4: Unattainable} {
		part := &rows{requests: run.requests[:n]}
		c, err := part.composition(twoPhases())
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range reported {
			if diff := cmp.Diff(withInterval(NewCurve(curve[:n], time.Second), q), c.Whole.Incidence.Quantiles[i]); diff != "" {
				t.Errorf("%d rows, %v (-curve +got):\n%s", n, q, diff)
			}
		}
		if got := c.Whole.Incidence.Quantiles[0]; n == 2 && got.Status != want || c.Whole.Incidence.CensoredBeforeHorizon != 0 {
			t.Errorf("%d rows: p50 %+v, want %s", n, got, want)
		}
		if got := c.Whole.Incidence.Quantiles[1]; n > 2 && got.Status != want {
			t.Errorf("%d rows: p90 %+v, want %s", n, got, want)
		}
	}
}

// Cost is summed in billionths, each attempt to the nearest.
func TestCostIsRounded(t *testing.T) {
	run := byHand()
	for i := range run.attempts {
		run.attempts[i].Cost = 0.0000000006
	}
	c, err := run.composition(twoPhases())
	if err != nil || c.Whole.Cost != 10e-9 {
		t.Errorf("cost %v, want 10e-9 (%v)", c.Whole.Cost, err)
	}
}

// Enough rows have an interval at each reported quantile, equal to that of the
// curve; rows without any draw have none and say so.
func TestIntervalsOfPhases(t *testing.T) {
	run, curve := &rows{}, []Observation(nil)
	for i := range int64(4000) {
		outcome, cause := record.Completed, record.None
		switch i % 40 {
		case 7:
			outcome, cause = record.Errored, record.Failure
		case 9:
			outcome = record.Censored
		}
		end := time.Duration(i*7919%4000) * time.Microsecond
		if outcome == record.Censored {
			end = time.Second
		}
		run.requests = append(run.requests, ended(i, 0, end, outcome, cause))
		curve = append(curve, Observation{end, outcome})
	}
	for _, sampled := range []bool{true, false} {
		plan := twoPhases()
		plan.Sampled = sampled
		c, err := run.composition(plan)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range reported {
			got := c.Whole.Incidence.Quantiles[i]
			if !sampled {
				if want := q.String() + "-CI omitted (the run is deterministic: it has no sampling error)"; got.Refused != want || got.Lower != nil {
					t.Errorf("%+v", got)
				}
				continue
			}
			if diff := cmp.Diff(withInterval(NewCurve(curve, time.Second), q), got); diff != "" {
				t.Errorf("%v (-curve +got):\n%s", q, diff)
			}
			if got.Refused != "" {
				t.Errorf("4000 rows are too few for %v: %s", q, got.Refused)
			}
		}
	}
}
