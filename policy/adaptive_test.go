package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/clock"
	"brunt/record"
)

// adaptives returns the default configuration of a kind, changed.
func adaptives(kind Algorithm, change func(*Adaptive)) *Adaptive {
	c := new(Adaptive)
	c.SetDefaults()
	c.Kind = kind
	if change != nil {
		change(c)
	}
	return c
}

// sample is one call that ended, as an algorithm hears of it.
type sample struct {
	rtt     time.Duration
	inside  int
	dropped bool
}

// follow feeds samples to an algorithm and returns the limits.
func follow(a algorithm, samples []sample) (limits []int) {
	for _, s := range samples {
		limits = append(limits, a.update(s.rtt, s.inside, s.dropped))
	}
	return limits
}

// crowd sends three times as many calls as a station serves through an
// adaptive stage, for a while, and returns each limit that it had.
func crowd(c *Adaptive, station *station, lasting time.Duration) (limits []int) {
	loop := station.loop
	limits = []int{c.Initial}
	env := &Env{Loop: loop, Chance: chance.New(1), Detail: true, Observe: func(e record.Event) {
		if e.What == record.WhatLimit && e.At < lasting {
			limits = append(limits, int(e.Value))
		}
	}}
	s := c.Wrap(station, "adaptive", env)
	every := station.service / time.Duration(3*len(station.free))
	request, to := new(Request), new(quiet)
	var arrive clock.Func
	arrive = func() {
		s.Start(Call{Request: request}, to)
		if next := loop.Now() + every; next < lasting {
			loop.At(next, clock.Arrival, arrive)
		}
	}
	loop.At(0, clock.Arrival, arrive)
	loop.Run()
	return limits
}

// station is a server with workers, each busy with one call for as long as the
// service takes, and a queue, first in, first out. Over `room` calls in all it
// turns a call away at once.
type station struct {
	loop    *clock.Loop
	service time.Duration
	free    []time.Duration // of each worker, when it is free
	room    int
	calls   int
}

func newStation(workers, room int) *station {
	return &station{loop: clock.Virtual(), service: 10 * ms, free: make([]time.Duration, workers), room: room}
}

func (s *station) Start(_ Call, to Receiver) (Running, Outcome) {
	if s.calls >= s.room {
		return nil, Ended(record.Overload)
	}
	s.calls++
	first := 0
	for i, at := range s.free {
		if at < s.free[first] {
			first = i
		}
	}
	s.free[first] = max(s.free[first], s.loop.Now()) + s.service
	s.loop.At(s.free[first], clock.Work, clock.Func(func() {
		s.calls--
		to.Ended(Completed(0, record.Never))
	}))
	return uncancelled{}, Outcome{}
}

type uncancelled struct{}

func (uncancelled) Cancel() { panic("cancelled") }

// What is a sample, what a drop, and what is ignored; and when a call is let in.
func TestAdaptive(t *testing.T) {
	// two calls at most, and a drop makes it one: 2 * 0.9 is 1.8
	two := adaptives(AIMD, func(c *Adaptive) { c.Initial, c.Min, c.Max = 2, 1, 2 })
	drops := func(list ...Pushback) *Adaptive {
		c := *two
		c.Drops = list
		return &c
	}
	play(t, []scene{
		{"over the limit", []Config{two}, []answer{ok(10 * ms)}, at(0, 1*ms, 2*ms, 10*ms), `
			0s attempt 1 start
			1ms attempt 2 start
			2ms caller 3 limiter
			10ms attempt 1 completed
			10ms caller 1 completed
			10ms attempt 3 start
			11ms attempt 2 completed
			11ms caller 2 completed
			20ms attempt 3 completed
			20ms caller 4 completed`},
		{"a drop is learned before it is reported", []Config{two}, []answer{timesOut(10 * ms), ok(5 * ms)}, at(0, 10*ms, 10*ms), `
			0s attempt 1 start
			10ms attempt 1 timeout
			10ms caller 1 timeout
			10ms attempt 2 start
			10ms caller 3 limiter
			15ms attempt 2 completed
			15ms caller 2 completed`},
		{"a place is free before the end is reported", []Config{thrice, adaptives(AIMD, func(c *Adaptive) { c.Initial, c.Min, c.Max = 1, 1, 1 })}, []answer{fails(ms), ok(ms)}, at(0), `
			0s attempt 1 start
			1ms attempt 1 failure
			1ms attempt 2 start retry
			2ms attempt 2 completed
			2ms caller 1 completed`},
		{"overload at once is a drop", []Config{two}, []answer{atOnce(record.Overload), never}, []visit{{0, -1}, {ms, 5 * ms}, {2 * ms, -1}}, `
			0s attempt 1 start
			0s attempt 1 overload
			0s caller 1 overload
			1ms attempt 2 start
			2ms caller 3 limiter
			6ms caller 2 gives up
			6ms attempt 2 cancelled`},
		{"a failure is ignored", []Config{two}, []answer{failNow, ok(ms)}, at(0, 1*ms, 1*ms), `
			0s attempt 1 start
			0s attempt 1 failure
			0s caller 1 failure
			1ms attempt 2 start
			1ms attempt 3 start
			2ms attempt 2 completed
			2ms caller 2 completed
			2ms attempt 3 completed
			2ms caller 3 completed`},
		{"unless it is to be a drop", []Config{drops(PushbackFailure)}, []answer{failNow, ok(ms)}, at(0, 1*ms, 1*ms), `
			0s attempt 1 start
			0s attempt 1 failure
			0s caller 1 failure
			1ms attempt 2 start
			1ms caller 3 limiter
			2ms attempt 2 completed
			2ms caller 2 completed`},
		{"a refusal inside is ignored", []Config{two}, []answer{atOnce(record.Circuit), ok(ms)}, at(0, 1*ms, 1*ms), `
			0s attempt 1 start
			0s attempt 1 circuit
			0s caller 1 circuit
			1ms attempt 2 start
			1ms attempt 3 start
			2ms attempt 2 completed
			2ms caller 2 completed
			2ms attempt 3 completed
			2ms caller 3 completed`},
		{"a cancelled call is ignored and gives its place back", []Config{two}, []answer{never, ok(ms)}, []visit{{0, ms}, {2 * ms, -1}, {2 * ms, -1}}, `
			0s attempt 1 start
			1ms caller 1 gives up
			1ms attempt 1 cancelled
			2ms attempt 2 start
			2ms attempt 3 start
			3ms attempt 2 completed
			3ms caller 2 completed
			3ms attempt 3 completed
			3ms caller 3 completed`},
	})
}

// A limit that falls below what is inside lets nobody in until enough have
// ended: a semaphore whose permits are taken away.
func TestAdaptiveFallsBelowWhatIsInside(t *testing.T) {
	play(t, []scene{{"ten inside, the limit falls to eight",
		[]Config{adaptives(AIMD, func(c *Adaptive) { c.Initial, c.Min, c.Max = 10, 1, 10 })},
		[]answer{timesOut(ms), timesOut(2 * ms), ok(3 * ms), never},
		// at 1 ms 9 of 10 * 0.9 are inside, at 2 ms 8 of 8, at 3 ms 7 of 9 (one success)
		[]visit{{0, -1}, {0, -1}, {0, -1}, {0, 9 * ms}, {0, 9 * ms}, {0, 9 * ms}, {0, 9 * ms}, {0, 9 * ms}, {0, 9 * ms}, {0, 9 * ms}, {1 * ms, -1}, {2 * ms, -1}, {3 * ms, 6 * ms}}, `
		0s attempt 1 start
		0s attempt 2 start
		0s attempt 3 start
		0s attempt 4 start
		0s attempt 5 start
		0s attempt 6 start
		0s attempt 7 start
		0s attempt 8 start
		0s attempt 9 start
		0s attempt 10 start
		1ms attempt 1 timeout
		1ms caller 1 timeout
		1ms caller 11 limiter
		2ms attempt 2 timeout
		2ms caller 2 timeout
		2ms caller 12 limiter
		3ms attempt 3 completed
		3ms caller 3 completed
		3ms attempt 11 start
		9ms caller 4 gives up
		9ms attempt 4 cancelled
		9ms caller 5 gives up
		9ms attempt 5 cancelled
		9ms caller 6 gives up
		9ms attempt 6 cancelled
		9ms caller 7 gives up
		9ms attempt 7 cancelled
		9ms caller 8 gives up
		9ms attempt 8 cancelled
		9ms caller 9 gives up
		9ms attempt 9 cancelled
		9ms caller 10 gives up
		9ms attempt 10 cancelled
		9ms caller 13 gives up
		9ms attempt 11 cancelled`}})
}

// drawAdaptive draws a configuration with small limits.
func drawAdaptive(t *rapid.T) *Adaptive {
	return adaptives(rapid.SampledFrom([]Algorithm{AIMD, Vegas, Gradient2}).Draw(t, "kind"), func(c *Adaptive) {
		c.Min = rapid.IntRange(1, 3).Draw(t, "min")
		c.Max = c.Min + rapid.IntRange(0, 4).Draw(t, "span")
		c.Initial = rapid.IntRange(c.Min, c.Max).Draw(t, "initial")
		c.MinCalls = rapid.IntRange(1, 3).Draw(t, "min calls")
		c.Window = new(time.Duration)
		if rapid.Bool().Draw(t, "windowed") {
			*c.Window = 5
		}
		if c.Kind != AIMD {
			c.Smoothing = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "smoothing")
		}
	})
}

// Whatever happens, the limit stays in its bounds, no call is let in over it,
// each ends once or is given up, and nothing is held at the end.
func TestAdaptiveKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawAdaptive(t)
		w := newWorld()
		var s *adaptive
		before := 0
		w.env.Detail = true
		w.env.Observe = func(e record.Event) {
			switch e.What {
			case record.WhatLimit:
				if int(e.Value) < c.Min || int(e.Value) > c.Max || int(e.Value) != s.limit {
					t.Fatalf("limit %d, of %d to %d", e.Value, c.Min, c.Max)
				}
			case record.WhatPermits:
				if inside := int(e.Value); inside > before && inside > s.limit {
					t.Fatalf("%d inside, over the limit of %d", inside, s.limit)
				}
				before = int(e.Value)
			}
		}
		s = w.wrap(target{w: w}, c).(*adaptive)
		drawTale(t, w, s)
		w.loop.Run()
		if found := w.leaks(s); found != nil {
			t.Fatalf("left over: %q\n%q", found, w.log)
		}
		if s.inside != 0 || doubles(s.runs) != 0 {
			t.Fatalf("%d still inside, %d pooled twice\n%q", s.inside, doubles(s.runs), w.log)
		}
	})
}

// Limits stay in their bounds for any samples, also for absurd ones.
func TestAlgorithmsStayInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawAdaptive(t)
		a := c.Wrap(nil, "adaptive", &Env{Loop: clock.Virtual(), Chance: chance.New(1)}).(*adaptive).algorithm
		for range rapid.IntRange(1, 100).Draw(t, "samples") {
			rtt := rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, 1<<62)).Draw(t, "rtt")
			if limit := a.update(time.Duration(rtt), rapid.IntRange(1, 10).Draw(t, "inside"), rapid.Bool().Draw(t, "dropped")); limit < c.Min || limit > c.Max {
				t.Fatalf("limit %d, of %d to %d", limit, c.Min, c.Max)
			}
		}
	})
}

// told is an algorithm that keeps what it is told.
type told struct{ samples []sample }

func (a *told) update(rtt time.Duration, inside int, dropped bool) int {
	a.samples = append(a.samples, sample{rtt, inside, dropped})
	return 100 + len(a.samples)
}

func TestWindow(t *testing.T) {
	loop, inner := clock.Virtual(), new(told)
	w := &windowed{inner: inner, loop: loop, length: time.Second, least: 3, limit: 20}
	steps := []struct {
		at time.Duration
		sample
		want int // the limit
	}{
		// the first call ends the window that began with the run, too small to count
		{1 * ms, sample{1 * ms, 9, true}, 20},
		{100 * ms, sample{10 * ms, 3, false}, 20},
		{200 * ms, sample{20 * ms, 5, false}, 20},
		// too quick for a sample
		{300 * ms, sample{quickest - 1, 50, true}, 20},
		// at the very end of the window it is not over
		{1001 * ms, sample{30 * ms, 2, true}, 20},
		// the call that ends the window belongs to it: (10+20+30+40)/4
		{1002 * ms, sample{40 * ms, 1, false}, 101},
		// nothing is left of it in the next, which begins there
		{2002 * ms, sample{quickest, 1, false}, 101},
		{2003 * ms, sample{3 * ms, 1, false}, 101}, // two calls: thrown away
		{3004 * ms, sample{3 * ms, 1, false}, 101}, // and one
		{3005 * ms, sample{5 * ms, 1, false}, 101},
		{3006 * ms, sample{quickest, 1, false}, 101}, // just slow enough
		{4005 * ms, sample{8 * ms, 1, false}, 102},   // (5+0.1+8)/3 in whole nanoseconds
	}
	for i, step := range steps {
		loop.At(step.at, clock.Work, clock.Func(func() {
			if got := w.update(step.rtt, step.inside, step.dropped); got != step.want {
				t.Errorf("step %d: limit %d, want %d", i, got, step.want)
			}
		}))
	}
	loop.Run()
	want := []sample{{25 * ms, 5, true}, {4366666, 1, false}}
	if diff := cmp.Diff(want, inner.samples, cmp.AllowUnexported(sample{})); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// The defaults of each kind are those of its class.
func TestAdaptiveDefaults(t *testing.T) {
	second, none := time.Second, time.Duration(0)
	want := Adaptive{
		Initial: 20, Min: 20, Max: 200, MinCalls: 10, BackoffRatio: 0.9, Timeout: 5 * time.Second, Smoothing: 0.2,
		ProbeMultiplier: 30, QueueSize: 4, LongWindow: 600, RTTTolerance: 1.5, Window: &none,
	}
	for kind, change := range map[Algorithm]func(*Adaptive){
		AIMD:      func(*Adaptive) {},
		Vegas:     func(c *Adaptive) { c.Min, c.Max, c.Smoothing = 1, 1000, 1 },
		Gradient2: func(c *Adaptive) { c.Window = &second },
	} {
		want := want
		want.Kind = kind
		change(&want)
		if diff := cmp.Diff(want, adaptives(kind, nil).settled()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}

func TestAdaptiveCheck(t *testing.T) {
	negative := -time.Second
	tests := []struct {
		name   string
		kind   Algorithm
		change func(*Adaptive)
		want   []string
	}{
		{"aimd", AIMD, nil, nil},
		{"vegas", Vegas, nil, nil},
		{"gradient2", Gradient2, nil, nil},
		{"unknown kind", "tcp", nil, []string{"kind"}},
		// the default minimum of aimd is 20
		{"initial below min", AIMD, func(c *Adaptive) { c.Initial = 19 }, []string{"initial"}},
		{"initial above max", Vegas, func(c *Adaptive) { c.Initial = 1001 }, []string{"initial"}},
		{"min above the default max", Gradient2, func(c *Adaptive) { c.Min, c.Initial = 300, 300 }, []string{"max"}},
		{"drops", AIMD, func(c *Adaptive) { c.Drops = []Pushback{"rate"} }, []string{"drops"}},
		{"window", AIMD, func(c *Adaptive) { c.Window = &negative }, []string{"window"}},
		{"min_calls", AIMD, func(c *Adaptive) { c.MinCalls = 0 }, []string{"min_calls"}},
		// 1 would never fall
		{"ratio of 1", AIMD, func(c *Adaptive) { c.BackoffRatio = 1 }, []string{"backoff_ratio"}},
		{"ratio below a half", AIMD, func(c *Adaptive) { c.BackoffRatio = 0.4 }, []string{"backoff_ratio"}},
		{"smoothing", Vegas, func(c *Adaptive) { c.Smoothing = 1.1 }, []string{"smoothing"}},
		{"alpha above beta", Vegas, func(c *Adaptive) { c.Alpha, c.Beta = 5, 4 }, []string{"alpha"}},
		{"tolerance", Gradient2, func(c *Adaptive) { c.RTTTolerance = 0.9 }, []string{"rtt_tolerance"}},
		// settings that the kind does not know
		{"of aimd", Vegas, func(c *Adaptive) { c.BackoffRatio, c.Timeout = 0.9, time.Second }, []string{"backoff_ratio", "timeout"}},
		{"of vegas", Gradient2, func(c *Adaptive) { c.Alpha, c.Beta, c.Threshold, c.ProbeMultiplier = 3, 6, 1, 30 }, []string{"alpha", "beta", "threshold", "probe_multiplier"}},
		{"of gradient2", AIMD, func(c *Adaptive) { c.Smoothing, c.QueueSize, c.LongWindow, c.RTTTolerance = 0.2, 4, 600, 2 }, []string{"smoothing", "queue_size", "long_window", "rtt_tolerance"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, faults(adaptives(test.kind, test.change))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestWarmAdaptiveAllocatesNothing(t *testing.T) {
	for _, kind := range []Algorithm{AIMD, Vegas, Gradient2} {
		t.Run(string(kind), func(t *testing.T) {
			window := 5 * ms
			c := adaptives(kind, func(c *Adaptive) { c.Window, c.Initial, c.Min = &window, 3, 1 })
			allocatesNothing(t, c, ok(ms), atOnce(record.Overload), timesOut(2*ms))
			c.Window = new(time.Duration)
			allocatesNothing(t, c, ok(ms), atOnce(record.Overload), timesOut(2*ms))
		})
	}
}
