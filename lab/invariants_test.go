package lab

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brunt/check"
	"brunt/clock"
	"brunt/dependency"
	"brunt/load"
	"brunt/measure"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

// TestInvariants runs 10,000 random stacks through random phases. Times are
// multiples of 5 ms, so that ties, saturation and horizons in the middle of
// everything are the rule.
func TestInvariants(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if err := checks.Value.Set("10000"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Value.Set(before) }()
	rapid.Check(t, func(t *rapid.T) {
		s := randomStudy(t)
		m := measure.NewRecorder(plan(s), s.Schedule().Expected())
		w := &witness{t: t, horizon: s.Horizon, attempts: map[int64]int32{}, lastStart: map[int64]time.Duration{}, requests: map[int64]record.Request{}}
		if err := runOn(context.Background(), clock.Virtual(), s, "stack", s.Schedule(), record.Sinks{m, w}, true, nil); err != nil {
			t.Fatal(err)
		}
		c, err := m.Composition("stack")
		if err != nil {
			t.Fatal(err)
		}
		w.conclude(&c)
	})
}

// witness holds each row against what must be true of every run.
type witness struct {
	t         *rapid.T
	horizon   time.Duration
	requests  map[int64]record.Request
	attempts  map[int64]int32
	lastStart map[int64]time.Duration
}

func (w *witness) Request(r *record.Request) {
	if _, twice := w.requests[r.Index]; twice {
		w.t.Fatalf("request %d ended twice", r.Index)
	}
	w.requests[r.Index] = *r
	switch {
	case r.End < r.Intended || r.End > r.Intended+w.horizon:
		w.t.Fatalf("request %d, intended at %v, ended at %v", r.Index, r.Intended, r.End)
	case (r.Outcome == record.Errored) != (r.Cause != record.None):
		w.t.Fatalf("request %d is %v with cause %q", r.Index, r.Outcome, r.Cause)
	case (r.Outcome == record.Completed) != (r.ServedBy >= 0):
		w.t.Fatalf("request %d is %v, served by %d", r.Index, r.Outcome, r.ServedBy)
	case r.Outcome == record.Completed && r.Attempts == 0:
		w.t.Fatalf("request %d completed without an attempt", r.Index)
	case r.Outcome == record.Censored && r.End != r.Intended+w.horizon:
		w.t.Fatalf("request %d was censored at %v", r.Index, r.End)
	case (r.Cause == record.Harness) != (r.Submitted == record.Never):
		w.t.Fatalf("request %d: cause %q, submitted %v", r.Index, r.Cause, r.Submitted)
	case (r.Cause == record.Circuit || r.Cause == record.Limiter || r.Cause == record.Rate) && r.Refusals == 0:
		w.t.Fatalf("request %d was refused without a refusal", r.Index)
	}
}

func (w *witness) Attempt(a *record.Attempt) {
	w.attempts[a.Request]++
	w.lastStart[a.Request] = max(w.lastStart[a.Request], a.Start)
	switch {
	case a.Start > a.End || a.End > a.CleanupEnd:
		w.t.Fatalf("attempt %+v ends before it begins", *a)
	case !a.Cancelled && a.End != a.CleanupEnd:
		w.t.Fatalf("attempt %+v has a clean-up without a cancellation", *a)
	case a.Cancelled && a.Cause != record.None:
		w.t.Fatalf("attempt %+v was cancelled and has a cause", *a)
	case a.Pending && !a.Cancelled:
		w.t.Fatalf("attempt %+v answered after the caller had its answer", *a)
	}
}

func (w *witness) Event(e *record.Event) {
	if (e.What == record.WhatPermits || e.What == record.WhatQueue) && e.Value < 0 {
		w.t.Fatalf("%s: %s is %d", e.Stage, e.What, e.Value)
	}
	if e.What == record.WhatActive && e.Value != 0 {
		w.t.Fatalf("%d attempts are active after the drain", e.Value)
	}
}

func (w *witness) conclude(c *measure.Composition) {
	for i, r := range w.requests {
		if r.Attempts != w.attempts[i] {
			w.t.Fatalf("request %d counts %d attempts, there are %d", i, r.Attempts, w.attempts[i])
		}
		if w.lastStart[i] > r.End {
			w.t.Fatalf("an attempt of request %d starts at %v, after its end at %v", i, w.lastStart[i], r.End)
		}
	}
	p := &c.Whole
	if p.Offered != int64(len(w.requests)) || p.Completed+p.Errored+p.Censored != p.Offered {
		w.t.Fatalf("offered %d = %d completed + %d errored + %d censored, of %d rows", p.Offered, p.Completed, p.Errored, p.Censored, len(w.requests))
	}
}

// randomStudy draws a small study with one composition, "stack".
func randomStudy(t *rapid.T) *study.Study {
	s := &study.Study{}
	s.SetDefaults()
	s.Seed = rapid.Int64().Draw(t, "seed")
	s.Horizon = grid(t, "horizon", 1, 60)
	s.Load.Arrivals = rapid.SampledFrom([]load.Arrivals{load.Constant, load.Poisson, load.Burst}).Draw(t, "arrivals")
	if s.Load.Arrivals == load.Burst {
		s.Load.Burst = rapid.Int64Range(1, 30).Draw(t, "burst")
	} else {
		s.Load.Rate = clock.PerSecond(rapid.SampledFrom([]int64{3, 50, 100, 200}).Draw(t, "rate"))
	}
	s.Load.MaxInFlight = rapid.SampledFrom([]int64{0, 0, 0, 4, 20}).Draw(t, "max_in_flight")
	s.Load.DispatchNoise = min(s.Horizon-1, rapid.SampledFrom([]time.Duration{0, 0, 300 * time.Microsecond, 20 * time.Millisecond}).Draw(t, "noise"))
	names := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "dependencies")]
	for _, name := range names {
		s.Dependencies.Set(name, dependency.Behaviour{Latency: randomLatency(t), CancelCleanup: new(grid(t, "cleanup", 0, 6))})
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "phases") {
		p := study.Phase{Name: fmt.Sprintf("phase-%d", i), For: grid(t, "for", 10, 60)}
		for _, name := range names {
			if rapid.Bool().Draw(t, "faulty") {
				p.Dependencies.Set(name, randomFault(t))
			}
		}
		if s.Load.Rated() && rapid.IntRange(0, 3).Draw(t, "rated") == 0 {
			p.Load.Rate = clock.PerSecond(rapid.SampledFrom([]int64{10, 150}).Draw(t, "phase rate"))
		}
		s.Phases = append(s.Phases, p)
	}
	s.Compositions.Set("stack", randomStack(t, names, 3))
	return s
}

func grid(t *rapid.T, label string, least, most int) time.Duration {
	return time.Duration(rapid.IntRange(least, most).Draw(t, label)) * 5 * time.Millisecond
}

func randomLatency(t *rapid.T) *dependency.ByAttempt {
	if rapid.Bool().Draw(t, "by attempt") {
		return &dependency.ByAttempt{First: dependency.Fixed(grid(t, "first", 0, 40)), Later: dependency.Fixed(grid(t, "later", 0, 10))}
	}
	return dependency.Every(dependency.Fixed(grid(t, "latency", 0, 20)))
}

func randomFault(t *rapid.T) dependency.Behaviour {
	switch rapid.IntRange(0, 5).Draw(t, "fault") {
	case 0:
		return dependency.Behaviour{FailAfter: new(grid(t, "fail_after", 0, 8))}
	case 1:
		return dependency.Behaviour{Hang: new(true)}
	case 2:
		return dependency.Behaviour{Refuse: new(true)}
	case 3:
		return dependency.Behaviour{Fail: &dependency.Fail{Ratio: 0.5, After: new(grid(t, "after", 0, 4))}}
	case 4:
		return dependency.Behaviour{Fail: &dependency.Fail{First: rapid.IntRange(0, 3).Draw(t, "fail.first")}}
	}
	return dependency.Behaviour{Latency: randomLatency(t)}
}

// randomStack draws a stack of up to five stages; depth bounds fallbacks in
// fallbacks.
func randomStack(t *rapid.T, names []string, depth int) study.Stack {
	var stack study.Stack
	for range rapid.IntRange(0, 5-depth/2).Draw(t, "stages") {
		stack = append(stack, randomStage(t))
	}
	if depth > 0 && rapid.IntRange(0, 2).Draw(t, "fallback") == 0 {
		f := &study.Fallback{Open: rapid.SampledFrom([]policy.Opening{policy.InOrder, policy.Last, policy.Skip}).Draw(t, "open")}
		for range rapid.IntRange(1, 3).Draw(t, "branches") {
			f.To = append(f.To, randomStack(t, names, depth-2))
		}
		return append(stack, study.Stage{Fallback: f})
	}
	return append(stack, study.Stage{Call: rapid.SampledFrom(names).Draw(t, "call")})
}

func randomStage(t *rapid.T) (stage study.Stage) {
	switch rapid.IntRange(0, 7).Draw(t, "stage") {
	case 0:
		r := &policy.Retry{}
		r.SetDefaults()
		r.Attempts = rapid.IntRange(1, 3).Draw(t, "attempts")
		r.Backoff.Kind = rapid.SampledFrom([]policy.Kind{policy.NoBackoff, policy.Constant, policy.Exponential}).Draw(t, "kind")
		r.Backoff.Base = grid(t, "base", 1, 6)
		r.Backoff.Jitter.Kind = rapid.SampledFrom([]policy.JitterKind{policy.NoJitter, policy.Full}).Draw(t, "jitter")
		r.On = rapid.SliceOfN(rapid.SampledFrom([]policy.Retryable{"failure", "timeout", "circuit", "limiter", "rate", "throttle"}), 0, 3).Draw(t, "on")
		r.Budget = randomBudget(t)
		if rapid.IntRange(0, 3).Draw(t, "needs something") == 0 {
			r.Needs = new(grid(t, "needs", 0, 10))
		}
		if rapid.IntRange(0, 3).Draw(t, "heeds retry-after") == 0 {
			r.RetryAfter = &policy.RetryAfter{Cap: grid(t, "cap", 1, 10)}
		}
		stage.Retry = r
	case 1:
		stage.Timeout = &policy.Timeout{After: grid(t, "timeout", 1, 20)}
	case 2:
		b := &policy.Breaker{OpenFor: grid(t, "open_for", 1, 30), Probes: rapid.IntRange(1, 3).Draw(t, "probes"), CloseAfter: rapid.IntRange(1, 2).Draw(t, "close_after")}
		switch rapid.IntRange(0, 2).Draw(t, "threshold") {
		case 0:
			b.Consecutive = rapid.IntRange(1, 4).Draw(t, "consecutive")
		case 1:
			b.Ratio, b.Window, b.MinCalls = 0.5, grid(t, "window", 2, 40), 2
		default:
			b.Ratio, b.Calls, b.MinCalls = 0.5, 6, 3
		}
		stage.Breaker = b
	case 3:
		stage.Limit = &policy.Limit{
			Permits: rapid.IntRange(1, 4).Draw(t, "permits"), Queue: rapid.IntRange(0, 4).Draw(t, "queue"),
			QueueTimeout: grid(t, "queue_timeout", 0, 10), Order: rapid.SampledFrom([]policy.Order{policy.FIFO, policy.LIFO}).Draw(t, "order"),
		}
	case 4:
		stage.Rate = &policy.Rate{Rate: clock.PerSecond(rapid.SampledFrom([]int64{20, 40, 100}).Draw(t, "tokens")), Burst: rapid.IntRange(1, 5).Draw(t, "bucket"), Wait: rapid.Bool().Draw(t, "wait")}
	case 5:
		stage.Throttle = &policy.Throttle{K: 1.5, Window: grid(t, "window", 2, 40), Rejects: []policy.Pushback{policy.PushbackOverload, policy.PushbackTimeout}}
	case 6:
		a := &policy.Adaptive{}
		a.SetDefaults()
		a.Kind = rapid.SampledFrom([]policy.Algorithm{policy.AIMD, policy.Vegas, policy.Gradient2}).Draw(t, "algorithm")
		a.Initial, a.Min, a.Max = 3, 1, 10
		stage.Adaptive = a
	default:
		stage.Hedge = &policy.Hedge{Extra: rapid.IntRange(1, 3).Draw(t, "extra"), After: grid(t, "hedge after", 0, 10), OnFailure: rapid.Bool().Draw(t, "on_failure"), Budget: randomBudget(t)}
		if rapid.Bool().Draw(t, "by quantile") {
			stage.Hedge.Quantile = 900_000
		}
	}
	return stage
}

func randomBudget(t *rapid.T) *policy.Budget {
	switch rapid.IntRange(0, 7).Draw(t, "budget") {
	case 0:
		b := &policy.InFlightBudget{Share: 200_000, Floor: rapid.IntRange(0, 2).Draw(t, "floor")}
		b.Of = rapid.SampledFrom([]policy.InFlightOf{policy.OfCalls, policy.OfAttempts}).Draw(t, "of")
		return &policy.Budget{InFlight: b}
	case 1:
		return &policy.Budget{Recent: &policy.RecentBudget{Share: 200_000, TTL: grid(t, "ttl", 2, 40), Floor: clock.PerSecond(10)}}
	case 2:
		return &policy.Budget{GRPC: &policy.GRPCBudget{MaxTokens: 5, TokenRatio: 0.1}}
	case 3:
		return &policy.Budget{Costed: &policy.CostedBudget{Capacity: 60, Retry: 14, Throttle: 5, Refund: true, Increment: 1}}
	}
	return nil
}

// TestRandomStudiesPassTheirChecks holds the generator to what a study may
// say, so that TestInvariants is about studies that could be written.
func TestRandomStudiesPassTheirChecks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomStudy(t)
		p := check.New()
		s.Load.Check(p.In("load"))
		for _, stage := range s.Compositions.Names() {
			stack, _ := s.Compositions.Get(stage)
			for i := range stack {
				if c := stack[i].Config(); c != nil {
					c.Check(p)
				}
			}
		}
		for _, problem := range p.All() {
			if !problem.Doubt {
				t.Fatal(problem)
			}
		}
	})
}
