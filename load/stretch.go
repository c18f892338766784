package load

import (
	"math"
	"math/big"
	"time"

	"brunt/clock"
)

// Segment is a stretch of time with one rate, or with one that moves.
type Segment struct {
	From, To time.Duration
	// Rate is the rate; of a ramp it is that at From, of a sine that around
	// which it swings.
	Rate clock.Rate
	// End is where a ramp comes to at To; zero for none.
	End clock.Rate
	// Sine is the swing; the zero value for none.
	Sine Sine
	// Origin is the instant at which the sine begins, at or before From.
	Origin time.Duration
}

// plain returns the segment without a ramp or sine that changes nothing.
func (s Segment) plain() Segment {
	if s.End == s.Rate {
		s.End = clock.Rate{}
	}
	if s.Sine.Amplitude == 0 {
		s.Sine, s.Origin = Sine{}, 0
	}
	return s
}

// joins reports whether a segment goes on with what the one before it does.
func (s Segment) joins(before Segment) bool {
	before.From, before.To = s.From, s.To
	return s == before && s.End.IsZero()
}

// stretch is a segment made ready. curve is nil for a rate that stays.
type stretch struct {
	Segment
	*curve
}

// curve is the integrated rate N of a stretch: how many arrivals fall into the
// first t nanoseconds, as a real number. N is evaluated in float64 with every
// product rounded before it is added to anything, so that no architecture
// fuses the two and all find the same instants.
//
// Of a ramp from a to b over L
//
//	N(t) = a t + (b-a)/(2L) t^2
//
// evaluated from the end at which the rate is lower, so that it never
// decreases. Of a sine, s after it began, with B = rate amplitude period / pi
//
//	N(t) = rate t + B (sin^2(pi (s+t)/period) - sin^2(pi s/period))
//
// which is the integral of rate (1 + amplitude sin(2 pi (s+t)/period)).
type curve struct {
	length int64   // of the stretch, in ns
	count  int64   // arrivals of a constant load
	total  float64 // N(length)

	ramp  *ramp
	low   float64 // ramp: the lower rate, per ns
	slope float64 // ramp: half of what the rate changes by in a ns, without its sign
	falls bool    // ramp: the lower rate is that of the end

	count0, per0 float64 // sine: the rate, as a fraction
	amplitude    float64
	half         float64 // sine: B, the arrivals that the first half of a period has above its mean
	period       int64
	offset       int64   // sine: s
	began        float64 // sine: sin^2(pi s/period)
}

// ready prepares a segment.
func ready(s Segment) stretch {
	switch {
	case s.To <= s.From:
	case !s.End.IsZero():
		return stretch{s, rampCurve(s)}
	case s.Sine != Sine{}:
		return stretch{s, sineCurve(s)}
	}
	return stretch{s, nil}
}

// expected returns how many arrivals of a constant load there are.
func (s *stretch) expected() int64 {
	if s.curve != nil {
		return s.count
	}
	return s.Rate.Count(s.To - s.From)
}

// rateAt returns the rate per second at an instant of the run.
func (s *stretch) rateAt(t time.Duration) float64 {
	rate := s.Rate.PerSecond()
	switch {
	case !s.End.IsZero():
		return rate + float64((s.End.PerSecond()-rate)*(float64(t-s.From)/float64(s.To-s.From)))
	case s.curve != nil:
		_, sine := swing(int64(t-s.Origin), s.period)
		return rate * (1 + float64(s.amplitude*sine))
	}
	return rate
}

func perNanosecond(r clock.Rate) float64 {
	count, per := r.Fraction()
	return float64(count) / float64(per)
}

func rampCurve(s Segment) *curve {
	from, to := perNanosecond(s.Rate), perNanosecond(s.End)
	c := &curve{length: int64(s.To - s.From), low: min(from, to), falls: to < from}
	length := float64(c.length)
	c.slope = math.Abs(to-from) / (2 * length)
	c.total = length * (c.low + float64(c.slope*length))
	c.ramp = newRamp(s, c.total)
	c.count = c.ramp.count
	return c
}

func sineCurve(s Segment) *curve {
	c := &curve{length: int64(s.To - s.From), period: int64(s.Sine.Period), offset: int64(s.From - s.Origin)}
	count, per := s.Rate.Fraction()
	c.count0, c.per0 = float64(count), float64(per)
	c.amplitude = s.Sine.Amplitude.Fraction()
	c.half = c.count0 * float64(c.period) / c.per0 * c.amplitude / math.Pi
	c.began, _ = swing(c.offset, c.period)
	c.total, _ = c.at(c.length)
	if ended, _ := swing(c.offset+c.length, c.period); ended == c.began { // what it swings up it swings down
		c.count = s.Rate.Count(s.To - s.From)
	} else {
		c.count = int64(min(math.Ceil(c.total), math.MaxInt64/2))
	}
	return c
}

// at returns N and the rate per nanosecond, t ns from the stretch's start.
func (c *curve) at(t int64) (n, rate float64) {
	if c.ramp == nil {
		squared, sine := swing(c.offset+t, c.period)
		n = c.count0*float64(t)/c.per0 + float64(c.half*(squared-c.began))
		return n, c.count0 / c.per0 * (1 + float64(c.amplitude*sine))
	}
	if c.falls {
		t = c.length - t
	}
	x := float64(t)
	moved := float64(c.slope * x)
	n, rate = x*(c.low+moved), c.low+2*moved
	if c.falls {
		n = c.total - float64(n)
	}
	return n, rate
}

// swing returns sin^2(pi t/period) and sin(2 pi t/period) for t >= 0. The angle
// is reduced in whole nanoseconds to at most pi/4, where the series of the sine
// is exact to the last bits; package math does not promise the same bits on
// every architecture.
func swing(t, period int64) (squared, sine float64) {
	u := t % period
	sign := 1.
	if u > period-u {
		u, sign = period-u, -1
	}
	v, complement := 2*u, false
	if 4*u > period {
		v, complement = period-2*u, true
	}
	x := float64(v) / float64(period) * (math.Pi / 2)
	z := x * x
	sum := 0.
	for i := len(sines) - 1; i >= 0; i-- {
		sum = float64(sum*z) + sines[i]
	}
	s := x * sum
	squared = s * s
	rest := 1 - float64(squared)
	sine = sign * 2 * s * math.Sqrt(rest)
	if complement {
		return rest, sine
	}
	return squared, sine
}

// sines are the coefficients of sin(x)/x in x^2.
var sines = [...]float64{1, -1. / 6, 1. / 120, -1. / 5040, 1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000, 1. / 355687428096000}

// ramp decides exactly whether N(t) <= k, where float64 is too coarse to. With
// a = A/D and b = B/D
//
//	2 L A t + (B-A) t^2 <= 2 L D k
//
// in integers of any length.
type ramp struct {
	count int64
	// blur bounds the error of N in float64. In units of 2^-53 of the total,
	// rounding loses 2 in each rate, 2 in their difference, and 1 in each of
	// about 8 operations; as a rate times L is at most twice the total, 64 is
	// enough.
	blur                float64
	linear, square, per *big.Int // 2LA, B-A, 2LD
}

func newRamp(s Segment, total float64) *ramp {
	a, aPer := s.Rate.Fraction()
	b, bPer := s.End.Fraction()
	up, down := wide(a, int64(bPer)), wide(b, int64(aPer))
	length := int64(s.To - s.From)
	r := &ramp{blur: total * 0x1p-47, square: down.Sub(down, up)}
	twice := wide(2, length)
	r.linear = up.Mul(up, twice)
	r.per = twice.Mul(twice, wide(int64(aPer), int64(bPer)))
	n := big.NewInt(length)
	count := new(big.Int).Mul(r.square, n)
	count.Mul(count.Add(count, r.linear), n)
	count.Add(count, new(big.Int).Sub(r.per, big.NewInt(1))).Quo(count, r.per) // ceil
	r.count = math.MaxInt64 / 2
	if count.IsInt64() {
		r.count = min(r.count, count.Int64())
	}
	return r
}

func wide(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

// scratch is what the integers of a comparison are made in.
type scratch struct{ left, right, n big.Int }

// reached reports whether N(t) <= k.
func (r *ramp) reached(t, k int64, s *scratch) bool {
	s.n.SetInt64(t)
	s.right.Mul(r.square, &s.n)
	s.right.Add(&s.right, r.linear)
	s.left.Mul(&s.right, &s.n)
	s.n.SetInt64(k)
	s.right.Mul(r.per, &s.n)
	return s.left.Cmp(&s.right) <= 0
}
