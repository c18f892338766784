// Package load says when requests arrive. Every intended instant is fixed
// before the run: nothing that happens later moves one.
//
// Instants are [time.Duration] since the start of the run. A [Schedule] may be
// used from any goroutine; a [Cursor] belongs to one.
package load

import (
	"iter"
	"math"
	"time"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
)

// Arrivals names a kind of load.
type Arrivals string

// The kinds of load.
const (
	Constant Arrivals = "constant"
	Poisson  Arrivals = "poisson"
	Burst    Arrivals = "burst"
	Trace    Arrivals = "trace"
)

// Load says when requests arrive.
type Load struct {
	// How many requests arrive in how much time, such as 100/s or 6000/min. For constant and poisson.
	Rate clock.Rate `yaml:"rate"`
	// How they arrive: constant (evenly), poisson (at random), burst (all at the start) or trace (from a file).
	Arrivals Arrivals `yaml:"arrivals"`
	// How many requests arrive at once, at the start. For burst.
	Burst int64 `yaml:"burst"`
	// A file of instants, from the study's folder: a time since the start a line, as a duration or in seconds; # begins a comment. For trace.
	Trace string `yaml:"trace"`
	// The most requests in flight. More are shed: offered, and never submitted. 0 means no limit.
	MaxInFlight int64 `yaml:"max_in_flight"`
	// Submits each request up to this much later than intended, drawn for each. Numbers that change much under a small noise are artefacts of a grid.
	DispatchNoise time.Duration `yaml:"dispatch_noise"`

	// Instants is what the trace file holds; the study reader fills it in.
	Instants []time.Duration `yaml:"-"`
}

// Override is what a phase may change.
type Override struct {
	// The rate from the start of the phase on.
	Rate clock.Rate `yaml:"rate"`
}

// SetDefaults sets evenly spaced arrivals.
func (l *Load) SetDefaults() { *l = Load{Arrivals: Constant} }

// Rated reports whether the load has a rate.
func (l *Load) Rated() bool { return l.Arrivals == Constant || l.Arrivals == Poisson }

// Check reports what is wrong with the settings.
func (l *Load) Check(p check.Problems) {
	check.OneOf(p, "arrivals", l.Arrivals, Constant, Poisson, Burst, Trace)
	p.NotNegative("dispatch_noise", l.DispatchNoise)
	check.Between(p, "max_in_flight", l.MaxInFlight, 0, 1e9)
	switch {
	case l.Rated() && l.Rate.IsZero():
		p.Add("rate", nil, "missing: expected a rate such as 100/s")
	case l.Arrivals == Burst && l.Burst == 0:
		p.Add("burst", nil, "missing: expected how many requests arrive at once")
	case l.Arrivals == Trace && l.Trace == "":
		p.Add("trace", nil, "missing: expected a file of instants")
	}
	if !l.Rated() && !l.Rate.IsZero() {
		p.Add("rate", l.Rate, "has no meaning with arrivals: %s", l.Arrivals)
	}
	if l.Arrivals != Burst && l.Burst != 0 {
		p.Add("burst", l.Burst, "goes with arrivals: burst")
	}
	if l.Burst < 0 {
		p.Add("burst", l.Burst, "expected 1 or more")
	}
	if l.Arrivals != Trace && l.Trace != "" {
		p.Add("trace", l.Trace, "goes with arrivals: trace")
	}
}

// Segment is a stretch of time with one rate.
type Segment struct {
	From, To time.Duration
	Rate     clock.Rate
}

// Schedule is the load of one run.
type Schedule struct {
	load     Load
	segments []Segment
	chance   chance.Source
	trial    uint64 // of the dispatch noise
}

// New returns the schedule of a load over segments that follow one another
// from instant 0. Neighbours with the same rate are one segment: arrival i of
// a constant load is at floor(i/rate) from the start of its segment.
func New(l Load, segments []Segment, source chance.Source) *Schedule {
	s := &Schedule{load: l, chance: source}
	for _, seg := range segments {
		if n := len(s.segments); n > 0 && s.segments[n-1].Rate == seg.Rate {
			s.segments[n-1].To = seg.To
			continue
		}
		s.segments = append(s.segments, seg)
	}
	return s
}

// Expected returns how many requests the schedule will make: exactly, but for
// poisson, where it is the mean.
func (s *Schedule) Expected() int64 {
	switch s.load.Arrivals {
	case Burst:
		return s.load.Burst
	case Trace:
		return int64(len(s.load.Instants))
	}
	var n int64
	for _, seg := range s.segments {
		n += min(seg.Rate.Count(seg.To-seg.From), math.MaxInt64/2-n)
	}
	return n
}

// Exact reports whether Expected is exact.
func (s *Schedule) Exact() bool { return s.load.Arrivals != Poisson }

// Instants iterates over the intended instants, in order.
func (s *Schedule) Instants() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		c := s.Cursor()
		for t, ok := c.Next(); ok && yield(t); t, ok = c.Next() {
		}
	}
}

// Cursor returns a cursor before the first intended instant.
func (s *Schedule) Cursor() *Cursor {
	c := &Cursor{schedule: s}
	if s.load.Arrivals == Poisson {
		c.gap = s.gap(0)
	}
	return c
}

// Cursor goes through the intended instants of a schedule, one at a time.
type Cursor struct {
	schedule *Schedule
	i        int64 // arrivals so far
	segment  int
	base     int64   // constant: arrivals before the segment
	gap      float64 // poisson: from the segment's start, or the last arrival in it, to the next one, in mean gaps
	at       float64 // poisson: the last arrival, from the segment's start in ns
}

// Next returns the next instant; ok is false after the last one.
func (c *Cursor) Next() (t time.Duration, ok bool) {
	s := c.schedule
	switch s.load.Arrivals {
	case Burst:
		ok = c.i < s.load.Burst
	case Trace:
		if ok = c.i < int64(len(s.load.Instants)); ok {
			t = s.load.Instants[c.i]
		}
	case Poisson:
		t, ok = c.poisson()
	default:
		t, ok = c.constant()
	}
	c.i++
	return t, ok
}

func (c *Cursor) constant() (time.Duration, bool) {
	for ; c.segment < len(c.schedule.segments); c.segment++ {
		seg := &c.schedule.segments[c.segment]
		if t := seg.From + seg.Rate.Instant(c.i-c.base); t < seg.To {
			return t, true
		}
		c.base = c.i
	}
	return 0, false
}

// poisson maps a unit-rate process through the inverse of the integrated rate
// (time rescaling), so that the same luck meets every rate: what is left of a
// gap when the rate changes goes on at the new rate.
func (c *Cursor) poisson() (time.Duration, bool) {
	for ; c.segment < len(c.schedule.segments); c.segment++ {
		seg := &c.schedule.segments[c.segment]
		mean := float64(time.Second) / seg.Rate.PerSecond()
		length := float64(seg.To - seg.From)
		if at := c.at + c.gap*mean; at < length {
			c.at, c.gap = at, c.schedule.gap(c.i+1)
			return seg.From + time.Duration(at), true
		}
		c.gap -= (length - c.at) / mean
		c.at = 0
	}
	return 0, false
}

func (s *Schedule) gap(i int64) float64 { return s.chance.Draw(chance.Arrivals, i, 0, 0).Exp() }

// Noisy returns the same schedule with another dispatch noise. Each trial draws
// its own; trial 0 draws that of the schedule itself.
func (s *Schedule) Noisy(noise time.Duration, trial int) *Schedule {
	noisy := *s
	noisy.load.DispatchNoise = noise
	noisy.trial = uint64(trial)
	return &noisy
}

// Delay returns how much later than intended request i is submitted.
func (s *Schedule) Delay(i int64) time.Duration {
	if s.load.DispatchNoise == 0 {
		return 0
	}
	return time.Duration(s.chance.Draw(chance.Dispatch, i, s.trial, 0).Below(int64(s.load.DispatchNoise)))
}
