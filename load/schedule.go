package load

import (
	"iter"
	"math"
	"sort"
	"time"

	"brunt/chance"
)

// Schedule is the load of one run.
type Schedule struct {
	load      Load
	stretches []stretch
	chance    chance.Source
	trial     uint64 // of the dispatch noise
}

// New returns the schedule of a load over segments that follow one another
// from instant 0. Neighbours with the same rate are one stretch, and so are
// neighbours in the same sine.
//
// Arrival i of a stretch of a constant load is at the last whole nanosecond at
// which no more than i arrivals are due: floor(t) where the rate integrated
// from the stretch's start is i. With a rate that stays this is floor(i/rate).
// Every stretch begins with an arrival: what was left of a gap is forgotten.
func New(l Load, segments []Segment, source chance.Source) *Schedule {
	s := &Schedule{load: l, chance: source}
	joined := make([]Segment, 0, len(segments))
	for _, seg := range segments {
		seg = seg.plain()
		if n := len(joined); n > 0 && seg.joins(joined[n-1]) {
			joined[n-1].To = seg.To
			continue
		}
		joined = append(joined, seg)
	}
	s.stretches = make([]stretch, len(joined))
	for i, seg := range joined {
		s.stretches[i] = ready(seg)
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
	for i := range s.stretches {
		n += min(s.stretches[i].expected(), math.MaxInt64/2-n)
	}
	return n
}

// Exact reports whether Expected is exact.
func (s *Schedule) Exact() bool { return s.load.Arrivals != Poisson }

// RateAt returns the rate in effect at an instant, per second: the load's, not
// what arrivals make of it. It is 0 for a load without a rate, and outside of
// its segments, which are closed on the left.
func (s *Schedule) RateAt(t time.Duration) float64 {
	if !s.load.Rated() || t < 0 {
		return 0
	}
	i := sort.Search(len(s.stretches), func(i int) bool { return t < s.stretches[i].To })
	if i == len(s.stretches) {
		return 0
	}
	return s.stretches[i].rateAt(t)
}

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
	stretch  int
	base     int64   // constant: arrivals before the stretch
	gap      float64 // poisson: from the stretch's start, or the last arrival in it, to the next one, in mean gaps
	at       float64 // poisson: the last arrival, from the stretch's start: in ns, or where the rate moves in mean gaps
	last     int64   // where the rate moves: the last arrival, from the stretch's start in ns
	scratch  scratch
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
	for ; c.stretch < len(c.schedule.stretches); c.stretch++ {
		s := &c.schedule.stretches[c.stretch]
		k := c.i - c.base
		if s.curve == nil {
			if t := s.From + s.Rate.Instant(k); t < s.To {
				return t, true
			}
		} else if k < s.count {
			c.last = c.instant(s.curve, float64(k), k)
			return s.From + time.Duration(c.last), true
		}
		c.base, c.last = c.i, 0
	}
	return 0, false
}

// poisson maps a unit-rate process through the inverse of the integrated rate
// (time rescaling), so that the same luck meets every rate: what is left of a
// gap when the rate changes goes on at the new rate.
func (c *Cursor) poisson() (time.Duration, bool) {
	for ; c.stretch < len(c.schedule.stretches); c.stretch++ {
		s := &c.schedule.stretches[c.stretch]
		if s.curve != nil {
			if due := c.at + c.gap; due < s.total {
				c.at, c.gap = due, c.schedule.gap(c.i+1)
				c.last = c.instant(s.curve, due, -1)
				return s.From + time.Duration(c.last), true
			}
			c.gap = max(0, c.gap-(s.total-c.at))
			c.at, c.last = 0, 0
			continue
		}
		mean := float64(time.Second) / s.Rate.PerSecond()
		length := float64(s.To - s.From)
		if at := c.at + float64(c.gap*mean); at < length {
			c.at, c.gap = at, c.schedule.gap(c.i+1)
			return s.From + time.Duration(at), true
		}
		c.gap -= (length - c.at) / mean
		c.at = 0
	}
	return 0, false
}

// instant returns the last whole nanosecond of a stretch at which N is due at
// most, by Newton's method between bounds: N is at most due at low, and more
// at high. The search begins at the last arrival. k is due as a whole number,
// or -1 where it is none.
func (c *Cursor) instant(f *curve, due float64, k int64) int64 {
	low, high := c.last, f.length
	t := low
	n, rate := f.at(t)
	for tries := 1; high-low > 1; tries++ {
		step := int64(1) // at least, to close in on the far bound
		if d := (due - n) / rate; math.Abs(d) < float64(f.length) {
			step = max(1, int64(math.Abs(d)))
		} else {
			step = f.length
		}
		if t == high {
			step = -step
		}
		if t += step; t <= low || t >= high || tries%8 == 0 { // halve where Newton is astray, or slow
			t = low + (high-low)/2
		}
		n, rate = f.at(t)
		if c.reached(f, t, n, due, k) {
			low = t
		} else {
			high = t
		}
	}
	return low
}

// reached reports whether N(t), which is n but for rounding, is due at most.
func (c *Cursor) reached(f *curve, t int64, n, due float64, k int64) bool {
	if k >= 0 && f.ramp != nil && math.Abs(n-due) <= f.ramp.blur {
		return f.ramp.reached(t, k, &c.scratch)
	}
	return n <= due
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
