package measure

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// manned is the plan twoPhases with two replicas of one worker at primary, one
// of which the second phase takes away.
func manned() Plan {
	p := twoPhases()
	p.Stations = []Station{{Replicas: 2, Workers: 1, Slots: []int{2, 1}}, {Replicas: 1, Slots: []int{0, 0}}}
	return p
}

// tried adds an attempt at a dependency and, when it is the first, its request.
func (r *rows) tried(request int64, intended, start, wait, busy time.Duration, replica int32) *record.Attempt {
	if request == int64(len(r.requests)) {
		r.requests = append(r.requests, ended(request, intended, ms, record.Completed, record.None))
	}
	r.requests[request].Attempts++
	end := start + wait + busy
	r.attempts = append(r.attempts, record.Attempt{Request: request, Intended: intended, Start: start, End: end, CleanupEnd: end,
		FirstToken: record.Never, Parent: -1, Replica: replica, Wait: wait, Busy: busy})
	return &r.attempts[len(r.attempts)-1]
}

// worked is a run of manned, counted by hand.
func worked() *rows {
	r := &rows{}
	r.tried(0, 0, 0, 0, 50*ms, 0)
	r.tried(1, 10*ms, 10*ms, 40*ms, 70*ms, 0).Cause = record.Failure // into the second phase
	left := r.tried(2, 20*ms, 20*ms, 40*ms, 0, 1)                    // leaves the queue
	left.Cancelled, left.Wasted = true, true
	r.tried(3, 90*ms, 90*ms, 0, 0, 1).Cause = record.Overload // finds it full
	burnt := r.tried(4, 95*ms, 95*ms, 30*ms, 100*ms, 1)       // waits across the boundary, and burns into the drain
	burnt.Cancelled, burnt.Wasted, burnt.End = true, true, 150*ms
	r.tried(5, 110*ms, 110*ms, 20*ms, 0, 0).Cause = record.Overload // dropped
	r.tried(6, 150*ms, 150*ms, 0, 0, 0).Cause = record.Failure      // refused: it needs no worker
	r.tried(6, 150*ms, 210*ms, 5*ms, 10*ms, 0).Why = record.Retry   // in the drain
	return r
}

func TestCapacityByHand(t *testing.T) {
	got, err := worked().composition(manned())
	if err != nil {
		t.Fatal(err)
	}
	m := func(x time.Duration) *Millis { v := Millis(x * ms); return &v }
	f := func(x float64) *float64 { return &x }
	replicas := func(a, b int64, busyA, busyB time.Duration) []ReplicaLoad {
		return []ReplicaLoad{{1, a, *m(busyA), f(float64(a) / float64(a+b))}, {2, b, *m(busyB), f(float64(b) / float64(a+b))}}
	}
	want := []Capacity{{
		Name: "primary", Replicas: 2, Workers: 1,
		Phases: []CapacityPhase{{
			Name: "healthy", Workers: 2,
			Attempts: 5, Worked: 3, Overloaded: 1, Cancelled: 2, Completed: 1, Throughput: f(10), Arrivals: f(50),
			Busy: *m(220), Useful: *m(50), Wasted: *m(100), Failed: *m(70), WastedShare: f(100. / 220),
			Utilisation: f(0.5),                                                      // 0 to 100 of two
			Wait:        Percentiles{P50: m(30), P95: m(40), P99: m(40), Max: m(40)}, // 0 30 40 40
			Queue:       QueueLength{Mean: f(0.85), Max: 2},                          // 40 + 40 + 5
			Replicas:    replicas(2, 3, 120, 100),
		}, {
			Name: "outage", Workers: 1,
			Attempts: 3, Worked: 1, Overloaded: 1, Completed: 1, Throughput: f(0), Arrivals: f(30),
			Busy: *m(10), Useful: *m(10), WastedShare: f(0),
			Utilisation: f(0.95), // 100 to 120, and 125 to 200
			Wait:        Percentiles{P50: m(5), P95: m(20), P99: m(20), Max: m(20)},
			Queue:       QueueLength{Mean: f(0.45), Max: 2}, // 25 + 20
			Replicas:    replicas(3, 0, 10, 0),
		}},
		Whole: CapacityPhase{
			Name: "whole", Workers: 2,
			Attempts: 8, Worked: 4, Overloaded: 2, Cancelled: 2, Completed: 2, Throughput: f(5), Arrivals: f(40),
			Busy: *m(230), Useful: *m(60), Wasted: *m(100), Failed: *m(70), WastedShare: f(100. / 230),
			Utilisation: f(0.65),                                                     // 195 of 300
			Wait:        Percentiles{P50: m(20), P95: m(40), P99: m(40), Max: m(40)}, // 0 5 20 30 40 40
			Queue:       QueueLength{Mean: f(0.65), Max: 2},
			Replicas:    replicas(5, 3, 130, 100),
		},
	}}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, got.Capacity, near); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	line := got.Timeline
	if len(line.Queue) != 1 || len(line.Busy) != 1 {
		t.Fatalf("series of %d queues and %d workers: only primary has some", len(line.Queue), len(line.Busy))
	}
	for step, want := range map[int][2]int64{ // waiting, busy
		0: {0, 0}, 1: {0, 1}, 10: {0, 1}, 11: {1, 1}, 21: {2, 1}, 49: {2, 1}, 50: {1, 0}, 51: {1, 1}, 59: {1, 1}, 60: {0, 1},
		96: {1, 1}, 111: {2, 1}, 121: {2, 0}, 126: {1, 1}, 130: {0, 1}, 199: {0, 1},
	} {
		if got := [2]int64{line.Queue["primary"][step], line.Busy["primary"][step]}; got != want {
			t.Errorf("%d waiting and %d busy at %d ms, want %d and %d", got[0], got[1], step, want[0], want[1])
		}
	}
	if line.Retries != nil { // the only one starts in the drain
		t.Errorf("retries by step: %v", line.Retries)
	}
	if line.Wasted[20] != 1 || line.Wasted[95] != 1 || total(line.Wasted) != 2 {
		t.Errorf("wasted by step: %v", line.Wasted)
	}
	if a, b := got.Phases[0], got.Phases[1]; a.Retries != 0 || b.Retries != 1 || a.Wasted != 2 || b.Wasted != 0 || got.Whole.Retries != 1 || got.Whole.Wasted != 2 {
		t.Errorf("retries %d and %d, wasted %d and %d", a.Retries, b.Retries, a.Wasted, b.Wasted)
	}
}

func total(xs []int64) (sum int64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// What nobody used has no share, no wait and a queue of 0, and says why.
func TestIdleWorkers(t *testing.T) {
	c, err := (&rows{}).composition(manned())
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c.Capacity)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"wasted_share":null,"wasted_share_reason":"no worker was busy with an attempt that started in this phase"`,
		`"wait_ms":{"p50":null,"p95":null,"p99":null,"max":null,"reason":"no attempt came to a worker or a queue in the run"}`,
		`"utilisation":0,`, `"queue":{"mean":0,"max":0}`, `"share":null`, `"busy_ms":0,`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is missing in %s", want, b)
		}
	}
	plain, err := (&rows{}).composition(twoPhases())
	if err != nil || plain.Capacity != nil || plain.Timeline.Queue != nil {
		t.Errorf("without workers: %+v (%v)", plain.Capacity, err)
	}
}

// Denied retries and good requests belong to the phase of the request.
func TestDeniedAndGood(t *testing.T) {
	plan := twoPhases()
	plan.SLO = &SLO{EndToEnd: 10 * ms}
	run := byHand()
	run.requests[1].Denied, run.requests[8].Denied = 2, 1
	c, err := run.composition(plan)
	if err != nil {
		t.Fatal(err)
	}
	if c.Phases[0].Denied != 2 || c.Phases[1].Denied != 1 || c.Whole.Denied != 3 {
		t.Errorf("denied %d and %d, %d in all", c.Phases[0].Denied, c.Phases[1].Denied, c.Whole.Denied)
	}
	// 5 and 7 of 5, 7, 31; both 10 of 10, 10, 40: the limit itself is good.
	if *c.Phases[0].Good != 2 || *c.Phases[1].Good != 2 || *c.Whole.Good != 4 {
		t.Errorf("good %d and %d, %d in all", *c.Phases[0].Good, *c.Phases[1].Good, *c.Whole.Good)
	}
	if line := c.Timeline; line.Good[0] != 1 || line.Good[20] != 1 || line.Good[140] != 1 || line.Good[150] != 1 || total(line.Good) != 4 {
		t.Errorf("good by step: %v", line.Good)
	}
	if c.Timeline.Retries[110] != 1 || total(c.Timeline.Retries) != 1 {
		t.Errorf("retries by step: %v", c.Timeline.Retries)
	}
	if plain, err := run.composition(twoPhases()); err != nil || plain.Whole.Good != nil || plain.Timeline.Good != nil {
		t.Errorf("good without an SLO: %v (%v)", plain.Whole.Good, err)
	}
}

func TestWorkContradictsItself(t *testing.T) {
	tests := []struct {
		name   string
		change func(*record.Attempt)
		want   string
	}{
		{"waits for less than no time", func(a *record.Attempt) { a.Wait = -1 }, "negative wait or busy time"},
		{"busy for less than no time", func(a *record.Attempt) { a.Busy = -1 }, "negative wait or busy time"},
		{"a replica below the first", func(a *record.Attempt) { a.Replica = -1 }, "a replica out of range"},
		{"a replica that would take all memory", func(a *record.Attempt) { a.Replica = 1 << 30 }, "a replica out of range"},
		{"waits longer than it is there", func(a *record.Attempt) { a.Wait, a.Busy = 51*ms, 0 }, "a worker still had"},
		{"busy longer than it is there", func(a *record.Attempt) { a.Wait, a.Busy = 1, 50*ms }, "a worker still had"},
		{"so long that the sum overflows", func(a *record.Attempt) { a.Wait, a.Busy = 1, math.MaxInt64 }, "a worker still had"},
		{"so long that the difference does", func(a *record.Attempt) { a.Wait, a.Busy, a.CleanupEnd = math.MaxInt64, 0, -2 }, "a worker still had"},
		{"a worker where there is none", func(a *record.Attempt) { a.Dependency = 1 }, "at a dependency without workers"},
		{"denied less than nothing", nil, "was denied fewer than no retries"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			run := worked()
			if test.change == nil {
				run.requests[0].Denied = -1
			} else {
				test.change(&run.attempts[0])
			}
			if _, err := run.composition(manned()); err == nil || !strings.Contains(err.Error(), "request 0 ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// Numbers that do not add up are an error, whatever the reason.
func TestWorkIsConserved(t *testing.T) {
	run := worked()
	rec := NewRecorder(manned(), 8)
	for i := range run.attempts {
		rec.Attempt(&run.attempts[i])
	}
	for i := range run.requests {
		rec.Request(&run.requests[i])
	}
	tests := []struct {
		spoil, restore func(*usage)
		want           string
	}{
		{func(u *usage) { u.useful++ }, func(u *usage) { u.useful-- }, "primary: busy time is not useful + wasted + failed in healthy"},
		{func(u *usage) { u.attempts++ }, func(u *usage) { u.attempts-- }, "primary: attempts are not those that started in healthy"},
		{func(u *usage) { u.replicas[1].attempts++ }, func(u *usage) { u.replicas[1].attempts-- }, "primary: attempts are not those of its replicas in healthy"},
		{func(u *usage) { u.replicas[1].busy++ }, func(u *usage) { u.replicas[1].busy-- }, "primary: busy time is not that of its replicas in healthy"},
	}
	for _, test := range tests {
		u := &rec.stations[0].phases[0]
		test.spoil(u)
		if _, err := rec.Composition("it"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
		test.restore(u)
	}
	if _, err := rec.Composition("it"); err != nil {
		t.Error(err)
	}
}

// Above a number of waits the maximum is that of the starts of steps, and said
// to be; nothing is kept any more.
func TestLongQueuesAreSampled(t *testing.T) {
	run := worked()
	rec := NewRecorder(manned(), 8)
	s := rec.stations[0]
	s.waited = mostWaits - 2
	for i := range run.attempts {
		rec.Attempt(&run.attempts[i])
		if kept := s.entered != nil; kept != (s.waited <= mostWaits) && s.waited > mostWaits-2 {
			t.Errorf("after %d waits: kept %v", s.waited, kept)
		}
	}
	for i := range run.requests {
		rec.Request(&run.requests[i])
	}
	c, err := rec.Composition("it")
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range []QueueLength{c.Capacity[0].Phases[0].Queue, c.Capacity[0].Phases[1].Queue, c.Capacity[0].Whole.Queue} {
		if !q.Sampled || q.Max != 2 {
			t.Errorf("%d: %+v", i, q)
		}
	}
	if s.left != nil {
		t.Errorf("%d ends are kept", len(s.left))
	}
}

// The waits of more attempts than go into one chunk are all there, in each
// phase and in the run.
func TestManyWaits(t *testing.T) {
	const each = chunk + 100
	run := &rows{}
	for i := range int64(2 * each) {
		at := time.Duration(i) * 100 * ms / each
		run.tried(i, at, at, time.Duration(i+1), 0, 0).Cancelled = true
	}
	c, err := run.composition(manned())
	if err != nil {
		t.Fatal(err)
	}
	of := &c.Capacity[0]
	for i, want := range []int64{each / 2, each + each/2, each} {
		p := append(slices.Clone(of.Phases), of.Whole)[i]
		if int64(*p.Wait.P50) != want {
			t.Errorf("%s: p50 %d ns, want %d", p.Name, *p.Wait.P50, want)
		}
	}
}

// Replicas that are too many to list are left out; they are counted all the same.
func TestManyReplicas(t *testing.T) {
	plan := manned()
	plan.Stations[0].Replicas = mostListed + 1
	c, err := worked().composition(plan)
	if err != nil || c.Capacity[0].Whole.Replicas != nil || c.Capacity[0].Phases[1].Replicas != nil {
		t.Errorf("%d replicas listed (%v)", len(c.Capacity[0].Whole.Replicas), err)
	}
	plan.Stations[0].Replicas = mostListed
	if c, err = worked().composition(plan); err != nil || len(c.Capacity[0].Whole.Replicas) != mostListed {
		t.Errorf("%d replicas listed (%v)", len(c.Capacity[0].Whole.Replicas), err)
	}
}

// drawnWork draws a run of manned in which attempts wait and are worked on in
// any way that a row can tell.
func drawnWork(t *rapid.T) *rows {
	r := &rows{}
	between := func(name string, lo, hi int) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, name))
	}
	at := time.Duration(0)
	for i := range int64(between("requests", 0, 30)) {
		at += between("gap", 0, 20) * 500 * time.Microsecond
		for n := range between("attempts", 1, 3) {
			a := r.tried(i, at, at+n*between("later", 0, 60)*ms, between("wait", 0, 4)*15*ms, between("busy", 0, 4)*25*ms, int32(between("replica", 0, 2)))
			a.Why = record.Why(between("why", 0, 3))
			a.CleanupEnd += between("clean-up", 0, 1) * ms
			switch between("end", 0, 4) {
			case 0:
				a.Cause = record.Failure
			case 1:
				a.Cancelled = true
			case 2:
				a.Cause, a.Busy = record.Overload, 0
			}
			a.Wasted = a.Cancelled || rapid.Bool().Draw(t, "wasted")
		}
	}
	return r
}

// overlap is how much of a stretch lies in a span.
func overlap(s Span, from, to time.Duration) time.Duration {
	return max(0, min(to, s.To)-max(from, s.From))
}

// Whatever the rows, the numbers of workers are those of plain counting.
func TestCapacityCountsLikeABook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run, plan := drawnWork(t), manned()
		c, err := run.composition(plan)
		if err != nil {
			t.Fatal(err)
		}
		spans := append(slices.Clone(plan.Phases), Span{"whole", 0, 200 * ms})
		slots := []float64{2, 1, 1.5} // the mean of the whole run
		for i, p := range append(slices.Clone(c.Capacity[0].Phases), c.Capacity[0].Whole) {
			var want CapacityPhase
			var inQueue, inWork time.Duration
			var waits []time.Duration
			for _, a := range run.attempts {
				inQueue += overlap(spans[i], a.Start, a.Start+a.Wait)
				inWork += overlap(spans[i], a.Start+a.Wait, a.Start+a.Wait+a.Busy)
				if i < 2 && (a.Start >= 100*ms) != (i == 1) {
					continue
				}
				want.Attempts++
				want.Busy += Millis(a.Busy)
				outcome := a.Outcome()
				switch {
				case a.Wasted:
					want.Wasted += Millis(a.Busy)
				case outcome == "failure":
					want.Failed += Millis(a.Busy)
				default:
					want.Useful += Millis(a.Busy)
				}
				switch outcome {
				case "cancelled":
					want.Cancelled++
				case "overload":
					want.Overloaded++
				case "completed":
					want.Completed++
				}
				refused := (outcome == "failure" || outcome == "overload") && a.Wait+a.Busy == 0
				if !refused {
					waits = append(waits, a.Wait)
				}
				if !refused && outcome != "overload" && (outcome != "cancelled" || a.Busy > 0) {
					want.Worked++
				}
			}
			got := CapacityPhase{Attempts: p.Attempts, Worked: p.Worked, Overloaded: p.Overloaded, Cancelled: p.Cancelled, Completed: p.Completed,
				Busy: p.Busy, Useful: p.Useful, Wasted: p.Wasted, Failed: p.Failed}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", p.Name, diff)
			}
			length := spans[i].To - spans[i].From
			if mean := float64(inQueue) / float64(length); math.Abs(*p.Queue.Mean-mean) > 1e-9 {
				t.Fatalf("%s: a mean of %v wait, want %v", p.Name, *p.Queue.Mean, mean)
			}
			if use := float64(inWork) / float64(length) / slots[i]; math.Abs(*p.Utilisation-use) > 1e-9 {
				t.Fatalf("%s: utilisation %v, want %v", p.Name, *p.Utilisation, use)
			}
			if most := mostWaiting(run.attempts, spans[i]); p.Queue.Max != most || p.Queue.Sampled {
				t.Fatalf("%s: %+v, want at most %d", p.Name, p.Queue, most)
			}
			if diff := cmp.Diff([]*Millis{naive(waits, 500_000), naive(waits, 950_000), naive(waits, 990_000), naive(waits, Million)},
				[]*Millis{p.Wait.P50, p.Wait.P95, p.Wait.P99, p.Wait.Max}); diff != "" {
				t.Fatalf("%s: waits (-want +got):\n%s", p.Name, diff)
			}
		}
		checkStationSeries(t, c.Timeline, run)
	})
}

// mostWaiting counts the queue at each instant at which it could be longest.
func mostWaiting(attempts []record.Attempt, span Span) (most int64) {
	instants := []time.Duration{span.From}
	for _, a := range attempts {
		if span.holds(a.Start) {
			instants = append(instants, a.Start)
		}
	}
	for _, at := range instants {
		n := int64(0)
		for _, a := range attempts {
			if a.Start <= at && at < a.Start+a.Wait {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func checkStationSeries(t *rapid.T, line Timeline, run *rows) {
	for i := range line.Offered {
		at, waiting, busy := time.Duration(i)*ms, int64(0), int64(0)
		for _, a := range run.attempts {
			taken := a.Start + a.Wait
			if a.Start < at && at < taken {
				waiting++
			}
			if taken < at && at < taken+a.Busy {
				busy++
			}
		}
		if line.Queue["primary"][i] != waiting || line.Busy["primary"][i] != busy {
			t.Fatalf("%d waiting and %d busy at %v, want %d and %d", line.Queue["primary"][i], line.Busy["primary"][i], at, waiting, busy)
		}
	}
}

// Little's law, L = lambda W, holds exactly over a span in which everything
// begins and ends: the mean queue is arrivals per second times the mean wait.
func TestLittlesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := Plan{Phases: []Span{{"all", 0, 3 * time.Second}}, Dependencies: []string{"primary", "backup"}, Horizon: time.Second,
			Stations: []Station{{Replicas: 1, Workers: 1}}}
		run := drawnWork(t)
		sum := time.Duration(0)
		for _, a := range run.attempts {
			sum += a.Wait
		}
		c, err := run.composition(plan)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Capacity[0].Whole
		if want := sum.Seconds() / 3; math.Abs(*p.Queue.Mean-want) > 1e-12 {
			t.Fatalf("L = %v, and lambda W = %v", *p.Queue.Mean, want)
		}
		if n := len(run.attempts); n > 0 {
			lambda, w := *p.Arrivals, sum.Seconds()/float64(n)
			if math.Abs(*p.Queue.Mean-lambda*w) > 1e-12 {
				t.Fatalf("L = %v, lambda = %v, W = %v", *p.Queue.Mean, lambda, w)
			}
		}
	})
}

// turned returns rows the other way round, from any of them on.
func turned[T any](t *rapid.T, rows []T) []T {
	k := rapid.IntRange(0, len(rows)).Draw(t, "first")
	other := slices.Concat(rows[k:], rows[:k])
	slices.Reverse(other)
	return other
}

// The order in which rows come changes no number of workers, breakers or
// stability.
func TestOrderOfWorkDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run, plan := drawnWork(t), manned()
		plan.Trigger = &Trigger{Phases: []string{"outage"}, From: 30 * ms, To: 50 * ms}
		plan.Detector, plan.Bucket, plan.Horizon = Detector{Entry: 900_000, Exit: 850_000, Window: 20 * ms, Hold: 20 * ms}, 10*ms, 5*ms
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			run.events = append(run.events, record.Event{At: time.Duration(rapid.IntRange(0, 9).Draw(t, "at")) * 10 * ms, What: record.WhatBreaker,
				Stage: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "stage"), State: rapid.SampledFrom([]string{"open", "closed"}).Draw(t, "state"),
				Caller: int32(rapid.IntRange(-1, 2).Draw(t, "caller"))})
		}
		want, err := run.composition(plan)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&rows{
			requests: turned(t, run.requests),
			attempts: turned(t, run.attempts),
			events:   turned(t, run.events),
		}).composition(plan)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v (-in order +permuted):\n%s", err, diff)
		}
	})
}
