package policy

import (
	"cmp"
	"math"
	"slices"
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Adaptive lets so many calls in at once, and learns from their ends how many
// that should be: the limits of Netflix concurrency-limits under its
// SimpleLimiter (SimpleLimiter.java at f2528de, AbstractLimiter.java at 106da6d).
//
// A call over the limit is refused; nothing waits. Where the limit falls below
// what is inside, calls are refused until enough have ended. As in the origin
// (Limiter.Listener), a call that completed is a sample of the time it spent
// inside; one that ended in one of `drops` is a sample and a drop; any other
// end is ignored, as it came before a meaningful time could be taken: another
// failure, a refusal by a stage inside, a cancellation. So a timeout must stand
// inside, or the limit never hears of one. A sample carries how many calls
// were inside when its own had just been let in.
//
// Each call updates the limit or, with a `window`, all of its calls together do
// so at its end (WindowedLimit.java at 25a05f1, with averages): with their mean time,
// the most that were inside, and a drop if any was dropped. A window ends with
// the first call that ends after it, and the next begins there; one of fewer than
// `min_calls` calls is thrown away. Calls quicker than 100 µs are no samples
// then. Settings whose default is 0 have the default of the origin's class.
type Adaptive struct {
	// How the limit is found: aimd, vegas or gradient2.
	Kind Algorithm `yaml:"kind"`
	// The limit at first.
	Initial int `yaml:"initial"`
	// The lowest limit. 0 means 20 for aimd and gradient2, 1 for vegas.
	Min int `yaml:"min"`
	// The highest limit. 0 means 200 for aimd and gradient2, 1000 for vegas.
	Max int `yaml:"max"`
	// Outcomes that are a drop: overload (with connect and reset of real targets), timeout, failure (with status and stream). Without it: overload and timeout.
	Drops []Pushback `yaml:"drops"`
	// How long calls are collected before they update the limit; with 0s each call does. Without it: 1s for gradient2, 0s for the others.
	Window *time.Duration `yaml:"window"`
	// How many calls a window must have.
	MinCalls int `yaml:"min_calls"`
	// Of aimd: what a drop multiplies the limit with. 0 means 0.9.
	BackoffRatio float64 `yaml:"backoff_ratio"`
	// Of aimd: a call that takes longer is a drop. 0s means 5s.
	Timeout time.Duration `yaml:"timeout"`
	// Of vegas and gradient2: how much of the way to a new limit is gone at once. 0 means 1 for vegas, 0.2 for gradient2.
	Smoothing float64 `yaml:"smoothing"`
	// Of vegas: the limit grows slowly while its queue is below this. 0 means 3 times the whole part of the limit's decimal logarithm, which counts as 1 at least.
	Alpha int `yaml:"alpha"`
	// Of vegas: the limit falls when its queue is above this; and what it grows by at once without a queue. 0 means 6 times that logarithm.
	Beta int `yaml:"beta"`
	// Of vegas: a queue of this is none. 0 means that logarithm.
	Threshold int `yaml:"threshold"`
	// Of vegas: after half to all of this times the limit calls the shortest time is taken anew. 0 means 30.
	ProbeMultiplier int `yaml:"probe_multiplier"`
	// Of gradient2: what is added to the limit for a queue. 0 means 4.
	QueueSize int `yaml:"queue_size"`
	// Of gradient2: over how many samples the usual time is averaged. 0 means 600.
	LongWindow int `yaml:"long_window"`
	// Of gradient2: by which factor times may be above the usual. 0 means 1.5.
	RTTTolerance float64 `yaml:"rtt_tolerance"`
}

// Algorithm names a way to find a limit.
type Algorithm string

// The algorithms.
const (
	AIMD      Algorithm = "aimd"
	Vegas     Algorithm = "vegas"
	Gradient2 Algorithm = "gradient2"
)

// SetDefaults sets Vegas from 20, the default of SimpleLimiter.
func (c *Adaptive) SetDefaults() { *c = Adaptive{Kind: Vegas, Initial: 20, MinCalls: 10} }

// Random reports whether the algorithm draws by chance.
func (c *Adaptive) Random() bool { return c.Kind == Vegas }

// settled returns the configuration with the defaults of its kind filled in.
func (c Adaptive) settled() Adaptive {
	lowest, highest, smoothing, window := 20, 200, 0.2, time.Duration(0)
	switch c.Kind {
	case Vegas:
		lowest, highest, smoothing = 1, 1000, 1
	case Gradient2:
		window = time.Second
	}
	c.Window = cmp.Or(c.Window, &window)
	c.Min = cmp.Or(c.Min, lowest)
	c.Max = cmp.Or(c.Max, highest)
	c.BackoffRatio = cmp.Or(c.BackoffRatio, 0.9)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Smoothing = cmp.Or(c.Smoothing, smoothing)
	c.ProbeMultiplier = cmp.Or(c.ProbeMultiplier, 30)
	c.QueueSize = cmp.Or(c.QueueSize, 4)
	c.LongWindow = cmp.Or(c.LongWindow, 600)
	c.RTTTolerance = cmp.Or(c.RTTTolerance, 1.5)
	return c
}

// Check implements [Config].
func (c *Adaptive) Check(p check.Problems) {
	check.OneOf(p, "kind", c.Kind, AIMD, Vegas, Gradient2)
	const most = 1_000_000
	s := c.settled()
	check.Between(p, "min", s.Min, 1, most)
	check.Between(p, "max", s.Max, s.Min, most)
	if s.Min <= s.Max {
		check.Between(p, "initial", c.Initial, s.Min, s.Max)
	}
	checkPushback(p, "drops", c.Drops)
	p.NotNegative("window", *s.Window)
	check.Between(p, "min_calls", c.MinCalls, 1, most)
	check.Between(p, "backoff_ratio", s.BackoffRatio, 0.5, math.Nextafter(1, 0))
	p.Positive("timeout", s.Timeout)
	if !(s.Smoothing > 0 && s.Smoothing <= 1) {
		p.Add("smoothing", s.Smoothing, "expected a number above 0, and 1 at most")
	}
	check.Between(p, "alpha", c.Alpha, 0, most)
	check.Between(p, "beta", c.Beta, 0, most)
	check.Between(p, "threshold", c.Threshold, 0, most)
	check.Between(p, "probe_multiplier", s.ProbeMultiplier, 1, most)
	check.Between(p, "queue_size", s.QueueSize, 1, most)
	check.Between(p, "long_window", s.LongWindow, 1, most)
	check.Between(p, "rtt_tolerance", s.RTTTolerance, 1, most)
	if c.Alpha > 0 && c.Beta > 0 && c.Alpha > c.Beta {
		p.Add("alpha", c.Alpha, "above beta of %d: expected that or less", c.Beta)
	}
	c.checkForeign(p)
}

// checkForeign reports settings of another kind than the one chosen.
func (c *Adaptive) checkForeign(p check.Problems) {
	for _, of := range []struct {
		field string
		set   bool
		kinds []Algorithm
	}{
		{"backoff_ratio", c.BackoffRatio != 0, []Algorithm{AIMD}},
		{"timeout", c.Timeout != 0, []Algorithm{AIMD}},
		{"smoothing", c.Smoothing != 0, []Algorithm{Vegas, Gradient2}},
		{"alpha", c.Alpha != 0, []Algorithm{Vegas}},
		{"beta", c.Beta != 0, []Algorithm{Vegas}},
		{"threshold", c.Threshold != 0, []Algorithm{Vegas}},
		{"probe_multiplier", c.ProbeMultiplier != 0, []Algorithm{Vegas}},
		{"queue_size", c.QueueSize != 0, []Algorithm{Gradient2}},
		{"long_window", c.LongWindow != 0, []Algorithm{Gradient2}},
		{"rtt_tolerance", c.RTTTolerance != 0, []Algorithm{Gradient2}},
	} {
		if of.set && !slices.Contains(of.kinds, c.Kind) {
			p.Add(of.field, nil, "a setting of another kind than %s", c.Kind)
		}
	}
}

// Bound implements [Config]: nothing waits.
func (c *Adaptive) Bound(inner Bound) Bound { return inner }

// Wrap implements [Config].
func (c *Adaptive) Wrap(inner Stage, name string, env *Env) Stage {
	settled := c.settled()
	s := &adaptive{inner: inner, name: name, caller: env.Caller, env: env, limit: c.Initial, drops: pushback(c.Drops)}
	switch c.Kind {
	case AIMD:
		s.algorithm = newAIMD(&settled)
	case Gradient2:
		s.algorithm = newGradient2(&settled)
	default:
		s.algorithm = newVegas(&settled, name, env)
	}
	if *settled.Window > 0 {
		s.algorithm = &windowed{inner: s.algorithm, loop: env.Loop, length: *settled.Window, least: c.MinCalls, limit: c.Initial}
	}
	return s
}

// algorithm finds a limit. update learns from a call that ended now and took
// rtt, above 0; inside is how many calls there were at its start, itself
// included. It returns the limit.
type algorithm interface {
	update(rtt time.Duration, inside int, dropped bool) int
}

type adaptive struct {
	inner     Stage
	name      string
	caller    int32
	env       *Env
	algorithm algorithm
	drops     [16]bool
	limit     int
	inside    int
	runs      pool[adaptiveRun]
}

// adaptiveRun is one call inside.
type adaptiveRun struct {
	stage  *adaptive
	to     Receiver
	inner  Running
	start  time.Duration
	inside int // calls inside when it was let in, itself included
}

func (s *adaptive) Start(call Call, to Receiver) (Running, Outcome) {
	if s.inside >= s.limit {
		return nil, refuse(call, record.Limiter)
	}
	s.enter(1)
	r := s.runs.get()
	*r = adaptiveRun{stage: s, to: to, start: s.env.Loop.Now(), inside: s.inside}
	inner, o := s.inner.Start(call, r)
	if !o.Open() {
		r.leave(o)
		return nil, o
	}
	r.inner = inner
	return r, o
}

func (s *adaptive) enter(n int) {
	s.inside += n
	s.env.observe(s.caller, s.name, record.WhatPermits, "", int64(s.inside))
}

// leave frees the call's place and learns from its end.
func (r *adaptiveRun) leave(o Outcome) {
	s := r.stage
	s.enter(-1)
	if dropped := s.drops[o.Cause]; dropped || o.Success() {
		rtt := max(1, s.env.Loop.Now()-r.start) // the origin takes no time of 0
		if limit := s.algorithm.update(rtt, r.inside, dropped); limit != s.limit {
			s.limit = limit
			s.env.observe(s.caller, s.name, record.WhatLimit, "", int64(limit))
		}
	}
	s.runs.put(r)
}

// Ended implements [Receiver] for the call inside.
func (r *adaptiveRun) Ended(o Outcome) {
	to := r.to
	r.leave(o)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *adaptiveRun) Cancel() {
	r.inner.Cancel()
	r.stage.enter(-1)
	r.stage.runs.put(r)
}

// quickest is the shortest time that a window takes for a sample.
const quickest = 100 * time.Microsecond

// windowed hands an algorithm the samples of a window together (WindowedLimit
// of the origin). The origin bounds a window, of twice the shortest time in
// the last one, to between one second and one second; here it has one length.
type windowed struct {
	inner  algorithm
	loop   *clock.Loop
	length time.Duration
	least  int
	limit  int
	until  time.Duration

	calls   int
	sum     time.Duration
	most    int // calls inside
	dropped bool
}

func (w *windowed) update(rtt time.Duration, inside int, dropped bool) int {
	if rtt < quickest {
		return w.limit
	}
	w.calls++
	w.sum += rtt
	w.most = max(w.most, inside)
	w.dropped = w.dropped || dropped
	if now := w.loop.Now(); now > w.until {
		w.until = now + w.length
		if w.calls >= w.least {
			w.limit = w.inner.update(w.sum/time.Duration(w.calls), w.most, w.dropped)
		}
		w.calls, w.sum, w.most, w.dropped = 0, 0, 0, false
	}
	return w.limit
}
