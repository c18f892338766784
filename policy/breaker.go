package policy

import (
	"math"
	"time"

	"brunt/check"
	"brunt/record"
)

// Breaker refuses calls for a while after the dependency has failed.
//
// Closed, it lets calls through and opens on the failure that meets the
// threshold: `consecutive` failures in a row, or a share of failures of at
// least `ratio` among the last calls, once `min_calls` of them have ended. The
// last calls are those that ended in the last `window` of time, kept in ten
// buckets that begin at multiples of a tenth of it, or the last `calls` calls.
//
// Open, it refuses until `open_for` has passed. From that instant on the next
// call goes through as a probe and the breaker is half-open: at most `probes`
// are under way at once, others are refused. `close_after` successes close it,
// with all counts cleared; one failure opens it again.
//
// A result of a call that began before the last change of state is ignored. A
// timeout counts as a failure. A call that is cancelled, or that a stage
// inside refuses, counts as neither and gives its probe back; a probe that
// hangs keeps the breaker half-open until it is cancelled.
type Breaker struct {
	// Opens after this many failures in a row.
	Consecutive int `yaml:"consecutive"`
	// Opens when at least this share of the last calls failed.
	Ratio float64 `yaml:"ratio"`
	// Over how much time the ratio is taken.
	Window time.Duration `yaml:"window"`
	// Over how many calls the ratio is taken.
	Calls int `yaml:"calls"`
	// How many calls must have ended before the ratio counts. 0 means 10, or `calls` when that is less.
	MinCalls int `yaml:"min_calls"`
	// How long it refuses before it lets a probe through.
	OpenFor time.Duration `yaml:"open_for"`
	// How many probes may be under way at once.
	Probes int `yaml:"probes"`
	// How many probes must succeed before it closes.
	CloseAfter int `yaml:"close_after"`
}

// SetDefaults sets one probe at a time, and one success to close.
func (c *Breaker) SetDefaults() { *c = Breaker{Probes: 1, CloseAfter: 1} }

// Check implements [Config].
func (c *Breaker) Check(p check.Problems) {
	p.Positive("open_for", c.OpenFor)
	check.Between(p, "probes", c.Probes, 1, 1e6)
	check.Between(p, "close_after", c.CloseAfter, 1, 1e6)
	check.Between(p, "consecutive", c.Consecutive, 0, 1e9)
	check.Between(p, "ratio", c.Ratio, 0, 1)
	check.Between(p, "min_calls", c.MinCalls, 0, 1e6)
	check.Between(p, "calls", c.Calls, 0, 1e6)
	p.NotNegative("window", c.Window)
	switch {
	case c.Consecutive > 0 && c.Ratio > 0:
		p.Add("", nil, "has both consecutive and ratio: expected one threshold")
	case c.Consecutive <= 0 && c.Ratio <= 0:
		p.Add("", nil, "has no threshold: expected consecutive, or ratio with window or calls")
	case c.Ratio > 0 && (c.Window > 0) == (c.Calls > 0):
		p.Add("ratio", c.Ratio, "expected either window or calls beside it: over what the ratio is taken")
	case c.Consecutive > 0 && (c.Window > 0 || c.Calls > 0 || c.MinCalls > 0):
		p.Add("consecutive", c.Consecutive, "window, calls and min_calls go with ratio only")
	}
	if c.Window > 0 && c.Window < buckets {
		p.Add("window", c.Window, "expected at least %dns: it is kept in %d buckets", buckets, buckets)
	}
	if c.Calls > 0 && c.MinCalls > c.Calls {
		p.Add("min_calls", c.MinCalls, "never reached: only the last %d calls are kept", c.Calls)
	}
}

// Bound implements [Config]: at worst the breaker lets everything through.
func (c *Breaker) Bound(inner Bound) Bound { return inner }

// Wrap implements [Config].
func (c *Breaker) Wrap(inner Stage, name string, env *Env) Stage {
	b := &breaker{config: c, inner: inner, name: name, caller: env.Caller, env: env, ppm: int64(math.Round(c.Ratio * 1e6))}
	b.minCalls = int64(c.MinCalls)
	if b.minCalls == 0 {
		b.minCalls = 10
		if c.Calls > 0 {
			b.minCalls = min(b.minCalls, int64(c.Calls))
		}
	}
	if c.Calls > 0 {
		b.last = make([]bool, c.Calls)
	}
	return b
}

const buckets = 10

type breakerState uint8

const (
	closed breakerState = iota
	open
	halfOpen
)

var breakerStates = [...]string{"closed", "open", "half-open"}

type breaker struct {
	config   *Breaker
	inner    Stage
	name     string
	caller   int32
	env      *Env
	ppm      int64 // the ratio in parts per million: compared exactly
	minCalls int64

	state      breakerState
	generation uint64
	until      time.Duration // when open: the first instant of a probe
	probes     int           // half-open: under way
	successes  int           // half-open

	inARow int64
	tally  [buckets]tally // closed, by time
	last   []bool         // closed, by calls: a ring, true for a failure
	next   int
	sum    tally // of what tally or last holds

	runs pool[breakerRun]
}

// tally counts the calls that ended in one bucket of time.
type tally struct {
	bucket          int64
	calls, failures int64
}

// breakerRun is one call that was let through.
type breakerRun struct {
	stage      *breaker
	to         Receiver
	generation uint64
	inner      Running
}

// admits reports whether a call now would be let through. It changes nothing.
func (b *breaker) admits() bool {
	switch b.state {
	case open:
		return b.env.Loop.Now() >= b.until
	case halfOpen:
		return b.probes < b.config.Probes
	}
	return true
}

func (b *breaker) Start(call Call, to Receiver) (Running, Outcome) {
	admits := b.admits()
	if call.pass != nil && call.pass.breaker == b && (call.pass.through || !admits) {
		return b.inner.Start(call, to)
	}
	if !admits {
		return nil, refuse(call, record.Circuit)
	}
	if b.state == open {
		b.change(halfOpen)
	}
	if b.state == halfOpen {
		b.probes++
	}
	r := b.runs.get()
	*r = breakerRun{stage: b, to: to, generation: b.generation}
	inner, o := b.inner.Start(call, r)
	if !o.Open() {
		b.ended(r.generation, o)
		b.runs.put(r)
		return nil, o
	}
	r.inner = inner
	return r, o
}

// change enters a state: a new generation, with nothing counted yet.
func (b *breaker) change(s breakerState) {
	b.state = s
	b.generation++
	b.probes, b.successes, b.inARow = 0, 0, 0
	b.tally = [buckets]tally{}
	b.sum, b.next = tally{}, 0
	if s == open {
		b.until = b.env.Loop.Now() + b.config.OpenFor
	}
	b.env.observe(b.caller, b.name, record.WhatBreaker, breakerStates[s], 0)
}

// ended learns from a call that began in the given generation.
func (b *breaker) ended(generation uint64, o Outcome) {
	if generation != b.generation {
		return
	}
	if b.state == halfOpen {
		b.probes--
		switch {
		case o.Refused():
		case o.Failed():
			b.change(open)
		default:
			if b.successes++; b.successes >= b.config.CloseAfter {
				b.change(closed)
			}
		}
		return
	}
	if o.Refused() {
		return
	}
	if b.count(o.Failed()) {
		b.change(open)
	}
}

// count counts a call while closed and reports whether it is a failure that
// meets the threshold.
func (b *breaker) count(failed bool) bool {
	if b.config.Consecutive > 0 {
		if !failed {
			b.inARow = 0
			return false
		}
		b.inARow++
		return b.inARow >= int64(b.config.Consecutive)
	}
	if b.last != nil {
		b.countInRing(failed)
	} else {
		b.countInTime(failed)
	}
	return failed && b.sum.calls >= b.minCalls && b.sum.failures*1e6 >= b.ppm*b.sum.calls
}

func (b *breaker) countInRing(failed bool) {
	if b.sum.calls == int64(len(b.last)) {
		if b.last[b.next] {
			b.sum.failures--
		}
	} else {
		b.sum.calls++
	}
	b.last[b.next] = failed
	if failed {
		b.sum.failures++
	}
	b.next = (b.next + 1) % len(b.last)
}

func (b *breaker) countInTime(failed bool) {
	bucket := int64(b.env.Loop.Now() / (b.config.Window / buckets))
	for i := range b.tally {
		if t := &b.tally[i]; t.calls > 0 && t.bucket <= bucket-buckets {
			b.sum.calls -= t.calls
			b.sum.failures -= t.failures
			*t = tally{}
		}
	}
	t := &b.tally[bucket%buckets]
	t.bucket = bucket
	t.calls++
	b.sum.calls++
	if failed {
		t.failures++
		b.sum.failures++
	}
}

// Ended implements [Receiver] for the call inside.
func (r *breakerRun) Ended(o Outcome) {
	r.stage.ended(r.generation, o)
	to := r.to
	r.stage.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *breakerRun) Cancel() {
	r.inner.Cancel()
	if b := r.stage; r.generation == b.generation && b.state == halfOpen {
		b.probes--
	}
	r.stage.runs.put(r)
}
