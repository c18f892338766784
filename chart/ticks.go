package chart

import "math"

// tick is a number on an axis, in the unit that is written.
type tick struct {
	at    float64
	label string
}

// tick sets about so many ticks, at most twice as many, and moves the ends
// of the axis out to round numbers if outward is true.
func (s *scale) tick(want int, outward bool) {
	if s.log {
		if outward {
			s.lo, s.hi = roundDown(s.lo), roundUp(s.hi)
		}
		if s.ticks = logTicks(s.lo, s.hi, want); len(s.ticks) >= min(3, want) {
			return
		}
	}
	step := stepOf(s.lo, s.hi, want)
	if outward && !s.log {
		// What just oversteps a round number, as an interval around 1 does, is
		// no reason for one more step.
		const over = 0.2
		from, to := step.count(s.lo), step.count(s.hi)
		if lo := math.Floor(from + 1e-9); from < lo+1-over {
			s.lo = min(s.lo, step.times(lo))
		}
		if hi := math.Ceil(to - 1e-9); to > hi-1+over {
			s.hi = max(s.hi, step.times(hi))
		}
	}
	s.ticks = linearTicks(s.lo, s.hi, step)
}

// step is 1, 2 or 5 times a power of ten.
type step struct {
	lead     float64
	exponent int
}

// stepOf is the least step that makes no more than want of a range.
func stepOf(lo, hi float64, want int) step {
	raw := (hi - lo) / float64(max(want, 1))
	e := decade(raw)
	for _, lead := range []float64{1, 2, 5} {
		if s := (step{lead, e}); s.times(1) >= raw*(1-1e-9) {
			return s
		}
	}
	return step{1, e + 1}
}

// times is n steps. A division by a power of ten gives the float that is
// nearest to the decimal number, which a product with 0.1 does not.
func (s step) times(n float64) float64 {
	if s.exponent < 0 {
		return n * s.lead / math.Pow10(-s.exponent)
	}
	return n * s.lead * math.Pow10(s.exponent)
}

// count is how many steps v is.
func (s step) count(v float64) float64 { return v / s.times(1) }

// decade is the exponent of the power of ten at or below v, which is above 0.
// The logarithm alone is off by one at some powers of ten.
func decade(v float64) int {
	e := int(math.Floor(math.Log10(v)))
	if math.Pow10(e+1) <= v {
		return e + 1
	}
	if math.Pow10(e) > v {
		return e - 1
	}
	return e
}

// linearTicks are the multiples of a step from lo to hi.
func linearTicks(lo, hi float64, s step) []tick {
	var ticks []tick
	for n := math.Ceil(s.count(lo) - 1e-9); n <= s.count(hi)+1e-9; n++ {
		v := s.times(n)
		if v == 0 {
			v = 0 // not -0
		}
		ticks = append(ticks, tick{v, fixed(v, max(0, -s.exponent))})
	}
	return ticks
}

// logTicks are 1, 2 and 5 of each decade from lo to hi, or the powers of
// ten, or every so manieth of those.
func logTicks(lo, hi float64, want int) []tick {
	first, last := decade(lo), decade(hi)
	leads, every := []float64{1, 2, 5}, 1
	if decades := last - first + 1; decades*2 > want {
		powers := last - decade(lo*(1-1e-9)) // that lie on the axis
		leads, every = []float64{1}, max(1, (powers+want-1)/want)
	}
	var ticks []tick
	for e := first; e <= last; e++ {
		if e%every != 0 {
			continue
		}
		for _, lead := range leads {
			if v := (step{lead, e}).times(1); v >= lo*(1-1e-9) && v <= hi*(1+1e-9) {
				ticks = append(ticks, tick{v, fixed(v, max(0, -e))})
			}
		}
	}
	return ticks
}

// roundDown is the greatest 1, 2 or 5 of a decade at or below v.
func roundDown(v float64) float64 {
	e := decade(v)
	for _, lead := range []float64{5, 2} {
		if r := (step{lead, e}).times(1); r <= v*(1+1e-9) {
			return min(r, v)
		}
	}
	return min(step{1, e}.times(1), v)
}

// roundUp is the least 1, 2 or 5 of a decade at or above v.
func roundUp(v float64) float64 {
	e := decade(v)
	for _, lead := range []float64{1, 2, 5} {
		if r := (step{lead, e}).times(1); r >= v*(1-1e-9) {
			return max(r, v)
		}
	}
	return max(step{1, e + 1}.times(1), v)
}

// apart takes the labels, not the ticks, from where they would run into the
// one before, for labels that stand side by side at the given size.
func (s *scale) apart(size float64) {
	end := math.Inf(-1)
	for i, t := range s.ticks {
		half := width(t.label, size) / 2
		middle := within(s.place(t.at), half)
		if middle-half < end+6 {
			s.ticks[i].label = ""
			continue
		}
		end = middle + half
	}
}

// within moves the middle of a text so that it does not leave the chart.
func within(middle, half float64) float64 {
	return min(max(middle, half+2), Width-2-half)
}

// crowded tells whether labels side by side would run into each other.
func (s scale) crowded(size float64) bool {
	end := math.Inf(-1)
	for _, t := range s.ticks {
		half := width(t.label, size) / 2
		middle := within(s.place(t.at), half)
		if middle-half < end+10 {
			return true
		}
		end = middle + half
	}
	return false
}
