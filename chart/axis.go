package chart

import (
	"math"
)

// Unit is what one stands for on an axis: "requests/s". Empty for a bare
// number: a count, a ratio.
type Unit string

// Milliseconds marks durations. From ten seconds on the axis is in seconds, but
// for a logarithmic one that begins below a tenth of a second.
const Milliseconds Unit = "ms"

// secondsFrom is where durations begin to read better in seconds.
const secondsFrom = 10_000

// Direction says which numbers are better. The axis tells the reader.
type Direction int

const (
	Neither Direction = iota // nothing is said
	Lower
	Higher
)

// Axis says what numbers mean and how they are laid out. The zero value is a
// linear axis over the data.
type Axis struct {
	Title   string
	Unit    Unit
	Log     bool      // by powers of ten; what is not above 0 is not drawn, and counted
	Better  Direction // said beside the title
	Include []float64 // numbers that the axis shows whatever the data: 0 and 1 for a share
}

// Numbers beyond largest are absent, and those under smallest are 0. Both
// are far from any measure, and keep every sum and quotient finite.
const (
	largest  = 1e200
	smallest = 1e-200
)

// clean returns a number as it can be drawn, and whether it can.
func (a Axis) clean(v float64) (float64, bool) {
	switch {
	case math.IsNaN(v) || math.Abs(v) > largest:
		return 0, false
	case math.Abs(v) < smallest:
		v = 0
	}
	return v, !a.Log || v > 0
}

// offLog tells whether a number is absent for no other reason than the
// logarithm.
func (a Axis) offLog(v float64) bool {
	_, there := Axis{}.clean(v)
	return a.Log && there && v < smallest
}

// heading is the axis title with its unit.
func (a Axis) heading(unit Unit) string {
	s := a.Title
	extra := string(unit)
	switch a.Better {
	case Lower:
		extra = both(extra, "lower is better")
	case Higher:
		extra = both(extra, "higher is better")
	}
	switch {
	case extra == "":
		return s
	case s == "":
		return extra
	}
	return s + " (" + extra + ")"
}

func both(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// extent is the range of the numbers seen so far.
type extent struct {
	lo, hi float64
	any    bool
}

func (e *extent) add(v float64) {
	if !e.any {
		*e = extent{v, v, true}
		return
	}
	e.lo, e.hi = min(e.lo, v), max(e.hi, v)
}

// scale takes numbers to pixels.
type scale struct {
	lo, hi   float64 // in the unit that is written
	log      bool
	from, to float64 // pixels of lo and hi
	unit     Unit    // as written
	divisor  float64 // from the axis's own unit
	ticks    []tick
}

// snugness says how close an axis lies around its data.
type snugness int

const (
	tight snugness = iota // it ends where the data end
	nice                  // it ends at round numbers, and at 0 when that is near
	based                 // it contains 0: lengths are compared
)

// fit lays an axis around an extent of numbers that are clean, with about
// so many ticks.
func (a Axis) fit(e extent, s snugness, want int) scale {
	for _, v := range a.Include {
		if v, ok := a.clean(v); ok {
			e.add(v)
		}
	}
	if s == based && !a.Log {
		e.add(0)
	}
	if !e.any {
		e = extent{0, 1, true}
		if a.Log {
			e = extent{1, 10, true}
		}
	}
	sc := scale{lo: e.lo, hi: e.hi, log: a.Log, unit: a.Unit, divisor: 1}
	if a.Unit == Milliseconds && max(math.Abs(sc.lo), math.Abs(sc.hi)) >= secondsFrom && !(a.Log && sc.lo < secondsFrom/100) {
		sc.unit, sc.divisor = "s", 1000
		sc.lo, sc.hi = sc.lo/1000, sc.hi/1000
	}
	sc.widen()
	if s == nice && !a.Log {
		if sc.lo > 0 && sc.lo < sc.hi/2 {
			sc.lo = 0
		} else if sc.hi < 0 && sc.hi > sc.lo/2 {
			sc.hi = 0
		}
	}
	sc.tick(want, s != tight)
	return sc
}

// widen gives an extent that is but a point some room.
func (s *scale) widen() {
	size := max(math.Abs(s.lo), math.Abs(s.hi))
	switch {
	case s.hi-s.lo > 1e-9*size:
	case s.log:
		s.lo, s.hi = s.lo/2, s.hi*2
	case size == 0:
		s.hi = 1
	default:
		s.lo, s.hi = s.lo-size/2, s.hi+size/2
	}
}

// at is the pixel of a number in the axis's own unit. What lies outside
// is drawn at the border; only rounding and lower ends of intervals do.
func (s scale) at(v float64) float64 { return s.place(v / s.divisor) }

// place is the pixel of a number in the unit that is written.
func (s scale) place(v float64) float64 {
	return s.from + float64((s.to-s.from)*s.share(v))
}

// share is how far along the axis a number in the written unit stands, 0 to 1.
func (s scale) share(v float64) float64 {
	t := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		if v <= s.lo {
			return 0
		}
		low := math.Log10(s.lo)
		t = (math.Log10(v) - low) / (math.Log10(s.hi) - low)
	}
	return min(max(t, 0), 1)
}

// text writes one number of the axis, in the unit that is written.
func (s scale) text(v float64) string { return number(v / s.divisor) }
