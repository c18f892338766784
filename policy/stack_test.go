package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/clock"
	"brunt/record"
)

// drawStack draws up to four stages, with fallbacks nested twice at most.
func drawStack(t *rapid.T, depth int) []Config {
	var stack []Config
	span := func(label string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least, most).Draw(t, label))
	}
	for range rapid.IntRange(0, 4-depth).Draw(t, "stages") {
		switch kind := rapid.SampledFrom([]string{"retry", "timeout", "breaker", "limit", "rate", "hedge", "throttle", "adaptive", "fallback"}).Draw(t, "stage"); kind {
		case "retry":
			c := &Retry{Attempts: rapid.IntRange(2, 3).Draw(t, "attempts"), Backoff: Backoff{Kind: NoBackoff}}
			if rapid.Bool().Draw(t, "backoff") {
				c.Backoff = Backoff{Kind: Linear, Base: span("base", 1, 3), Jitter: Jitter{Kind: Full}}
			}
			if rapid.Bool().Draw(t, "on refusals") {
				c.On = []Retryable{"circuit", "limiter", "rate"}
			}
			if rapid.Bool().Draw(t, "budget") {
				c.Budget = &Budget{InFlight: &InFlightBudget{Share: 500_000, Floor: 1, Of: rapid.SampledFrom([]InFlightOf{OfCalls, OfAttempts}).Draw(t, "of")}}
			}
			stack = append(stack, c)
		case "timeout":
			stack = append(stack, &Timeout{After: span("after", 1, 10)})
		case "breaker":
			c := &Breaker{Consecutive: 2, OpenFor: span("open for", 1, 10), Probes: rapid.IntRange(1, 2).Draw(t, "probes"), CloseAfter: rapid.IntRange(1, 2).Draw(t, "close after")}
			switch rapid.IntRange(0, 2).Draw(t, "threshold") {
			case 1:
				c.Consecutive, c.Ratio, c.Calls, c.MinCalls = 0, 0.5, 4, 2
			case 2:
				c.Consecutive, c.Ratio, c.Window, c.MinCalls = 0, 0.5, 20, 2
			}
			stack = append(stack, c)
		case "limit":
			stack = append(stack, &Limit{
				Permits: rapid.IntRange(1, 2).Draw(t, "permits"), Queue: rapid.IntRange(0, 3).Draw(t, "queue"),
				QueueTimeout: span("queue timeout", 0, 5), Order: rapid.SampledFrom([]Order{FIFO, LIFO}).Draw(t, "order"),
			})
		case "rate":
			r, _ := clock.ParseRate(fmt.Sprintf("%d/%dns", rapid.IntRange(1, 2).Draw(t, "count"), rapid.IntRange(2, 5).Draw(t, "per")))
			stack = append(stack, &Rate{Rate: r, Burst: rapid.IntRange(1, 2).Draw(t, "burst"), Wait: rapid.Bool().Draw(t, "wait")})
		case "hedge":
			stack = append(stack, &Hedge{Extra: rapid.IntRange(1, 2).Draw(t, "extra"), After: span("hedge after", 0, 4), OnFailure: rapid.Bool().Draw(t, "on failure")})
		case "throttle":
			stack = append(stack, &Throttle{K: 1.5, Window: 50, Rejects: []Pushback{PushbackTimeout}})
		case "adaptive":
			c := &Adaptive{}
			c.SetDefaults()
			c.Kind, c.Initial, c.Min, c.Max = rapid.SampledFrom([]Algorithm{AIMD, Vegas, Gradient2}).Draw(t, "algorithm"), 2, 1, 4
			stack = append(stack, c)
		case "fallback":
			if depth < 2 {
				stack = append(stack, branches{rapid.SampledFrom([]Opening{InOrder, Last, Skip}).Draw(t, "open"), [][]Config{drawStack(t, depth+1), drawStack(t, depth+1)}})
			}
		}
	}
	return stack
}

// drawTale fills a world with answers and callers that follow from one number,
// so that a failing case shrinks quickly.
func drawTale(t *rapid.T, w *world, top Stage) {
	source := chance.New(rapid.Int64Range(0, 1<<20).Draw(t, "tale"))
	causes := []record.Cause{record.None, record.None, record.None, record.Failure, record.Timeout, record.Limiter}
	for i := range int64(64) {
		d := source.Draw(chance.Fail, i, 0, 0)
		a := answer{cause: causes[d.Below(int64(len(causes)))], after: time.Duration(d.Next().Below(8))}
		switch d.Next().Next().Below(6) {
		case 0:
			a = never
		case 1:
			a.atOnce = true
		}
		w.answers = append(w.answers, a)
	}
	for i := range rapid.Int64Range(1, 12).Draw(t, "callers") {
		d := source.Draw(chance.Arrivals, i, 0, 0)
		w.call(top, time.Duration(d.Below(20)), 1+time.Duration(d.Next().Below(40)))
	}
}

// Any nesting of policies around any dependency: each call ends exactly once or
// is given up, nothing is held when nothing is under way, and no attempt starts
// once the caller has its answer.
func TestStacksKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		stack := drawStack(t, 0)
		top := w.wrap(target{w: w}, stack...)
		drawTale(t, w, top)
		w.loop.Run()
		if found := w.leaks(top); found != nil {
			t.Fatalf("left over: %q\n%q", found, w.log)
		}
		if w.late > 0 {
			t.Fatalf("%d attempts started after their caller's end\n%q", w.late, w.log)
		}
	})
}

// The same stack, seed and callers give the same log.
func TestStacksAreRepeatable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stack := drawStack(t, 0)
		first := newWorld()
		top := first.wrap(target{w: first}, stack...)
		drawTale(t, first, top)
		second := newWorld(first.answers...)
		again := second.wrap(target{w: second}, stack...)
		for _, c := range first.callers {
			second.call(again, c.at, c.lasting)
		}
		first.loop.Run()
		second.loop.Run()
		if diff := cmp.Diff(first.log, second.log); diff != "" {
			t.Fatalf("two runs differ:\n%s", diff)
		}
	})
}

// steady is a dependency that allocates nothing once warm: its answers go round.
type steady struct {
	loop    *clock.Loop
	answers []answer
	n       int
	runs    pool[steadyRun]
}

type steadyRun struct {
	from    *steady
	to      Receiver
	outcome Outcome
	timer   clock.Timer
}

func (s *steady) Start(_ Call, to Receiver) (Running, Outcome) {
	a := s.answers[s.n%len(s.answers)]
	s.n++
	o := Completed(0, record.Never)
	if a.cause != record.None {
		o = Ended(a.cause)
	}
	if a.atOnce {
		return nil, o
	}
	r := s.runs.get()
	*r = steadyRun{from: s, to: to, outcome: o}
	r.timer = s.loop.After(a.after, r)
	return r, Outcome{}
}

func (r *steadyRun) Happen() {
	to, o := r.to, r.outcome
	r.from.runs.put(r)
	to.Ended(o)
}

func (r *steadyRun) Cancel() {
	r.from.loop.Cancel(r.timer)
	r.from.runs.put(r)
}

type quiet struct{ ends int }

func (q *quiet) Ended(Outcome) { q.ends++ }

func TestWarmStacksAllocateNothing(t *testing.T) {
	tests := map[string]struct {
		stack   []Config
		answers []answer
	}{
		"retry":         {[]Config{&Retry{Attempts: 3, Backoff: Backoff{Kind: Exponential, Base: ms, Factor: 2, Jitter: Jitter{Kind: Decorrelated}}}}, []answer{fails(ms), failNow, ok(ms)}},
		"timeout":       {[]Config{&Timeout{After: 2 * ms}}, []answer{ok(ms), ok(3 * ms)}},
		"breaker":       {[]Config{breaks(2)}, []answer{fails(ms), failNow, ok(ms)}},
		"breaker ratio": {[]Config{&Breaker{Ratio: 0.5, Window: 100 * ms, OpenFor: ms, Probes: 1, CloseAfter: 1}}, []answer{fails(ms), ok(ms)}},
		"limit":         {[]Config{&Limit{Permits: 1, Queue: 2, QueueTimeout: 3 * ms, Order: FIFO}}, []answer{ok(ms), fails(5 * ms)}},
		"rate":          {[]Config{&Rate{Rate: clock.PerSecond(700), Burst: 1, Wait: true}}, []answer{ok(ms)}},
		"hedge":         {[]Config{&Hedge{Extra: 2, After: ms, OnFailure: true}}, []answer{ok(5 * ms), fails(ms), ok(2 * ms)}},
		"fallback":      {[]Config{branches{Last, [][]Config{{breaks(1)}, {breaks(2)}, {}}}}, []answer{fails(ms), ok(ms), failNow}},
		"all of them": {[]Config{
			lets(2, 2), &Hedge{Extra: 1, After: ms, OnFailure: true}, thrice, breaks(3), &Timeout{After: 3 * ms},
			&Rate{Rate: clock.PerSecond(5000), Burst: 4, Wait: true},
		}, []answer{fails(ms), ok(5 * ms), ok(ms)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			env := &Env{Loop: clock.Virtual(), Chance: chance.New(1)}
			s := wrap(env, &steady{loop: env.Loop, answers: test.answers}, test.stack)
			to := new(quiet)
			request := new(Request)
			calls := func() {
				for range 4 { // at once, so that some of them wait
					if _, o := s.Start(Call{Request: request}, to); !o.Open() {
						to.Ended(o)
					}
				}
				env.Loop.Run()
			}
			for range 100 {
				calls()
			}
			to.ends = 0
			const runs = 200
			if got := testing.AllocsPerRun(runs, calls); got != 0 {
				t.Errorf("%v allocations for 4 calls, want none", got)
			}
			if want := 4 * (runs + 1); to.ends != want { // AllocsPerRun warms up once
				t.Errorf("%d ends, want %d", to.ends, want)
			}
		})
	}
}
