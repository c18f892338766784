package analyze

import (
	"math"

	"brunt/measure"
)

// tail is the error of a 95 % interval on each side.
const tail = 0.025

// bands computes bands of points one after the other. Points between two
// completions have the same band, which is computed once.
type bands struct {
	k, n         float64
	band         measure.Interval
	below, above steady
	left, right  follower
}

// of returns the Clopper-Pearson interval of the effective sample, as
// [measure.Curve.Band] does. It is computed here because a curve of a million
// points needs two million limits, and the general inverse of the incomplete
// beta function takes ten times as long.
func (b *bands) of(p *Point, scheduled int64) measure.Interval {
	if p.CensoredBefore == 0 {
		return b.binomial(float64(p.CompletedSoFar), float64(scheduled))
	}
	switch f, n := p.Incidence, float64(p.event); {
	case f > 0 && f < 1 && p.Variance > 0:
		n = f * (1 - f) / p.Variance
		return b.effective(n*f, n)
	case f <= 0:
		return measure.Interval{Low: 0, High: -math.Expm1(math.Log(tail) / n)}
	case f >= 1:
		return measure.Interval{Low: math.Exp(math.Log(tail) / n), High: 1}
	default:
		return b.effective(n*f, n)
	}
}

// clopperPearson takes a fractional number of fractional many, 0 <= k <= n.
func clopperPearson(k, n float64) measure.Interval { return new(bands).effective(k, n) }

// effective is the same along a curve.
func (b *bands) effective(k, n float64) measure.Interval {
	i := measure.Interval{Low: 0, High: 1}
	if k > 0 {
		i.Low = b.left.lowerTail(k, n-k+1)
	}
	if k < n {
		i.High = 1 - b.right.lowerTail(n-k, k+1)
	}
	return i
}

// binomial is the same for a number that grows, of as many as before.
func (b *bands) binomial(k, n float64) measure.Interval {
	if k == b.k && n == b.n {
		return b.band
	}
	i := measure.Interval{Low: 0, High: 1}
	if k > 0 {
		i.Low = b.below.lower(k, n)
	}
	if k < n {
		i.High = 1 - b.above.lower(n-k, n)
	}
	b.k, b.n, b.band = k, n, i
	return i
}

// lowerTail returns the x with I_x(a, b) = 0.025: the 2.5 % quantile of
// Beta(a, b).
func lowerTail(a, b float64) float64 { return new(follower).lowerTail(a, b) }

// follower computes limits along a curve: what the approximation of one limit
// misses, that of the next misses too, nearly.
type follower struct{ miss float64 }

// lowerTail refines a normal approximation by Halley's method, within a bracket
// that every step narrows.
func (f *follower) lowerTail(a, b float64) float64 {
	mean := a / (a + b)
	sd := math.Sqrt(mean * (1 - mean) / (a + b + 1))
	beta := newBeta(a, b, sd)
	start := wilson(a, b)
	x := start + f.miss*sd
	if !(x > 0 && x < 1) {
		x = start
	}
	low, high := 0.0, 1.0
	for range 100 {
		p, density := beta.at(x)
		if p < tail {
			low = x
		} else {
			high = x
		}
		step := (p - tail) / density
		bend := (a-1)/x - (b-1)/(1-x) // of the density, relative to it
		if curb := 1 - step*bend/2; curb > 0.5 && curb < 2 {
			step /= curb
		}
		if math.Abs(step) <= 3e-5*min(sd, x) { // what is left is its cube: 3e-14
			x -= step
			break
		}
		if x -= step; !(x > low && x < high) {
			x = (low + high) / 2
		}
	}
	f.miss = (x - start) / sd
	return x
}

// wilson approximates the lower limit by inverting the normal test, with the
// continuity correction.
func wilson(a, b float64) float64 {
	const z = 1.959963984540054
	k, n := a-0.5, a+b-1
	if k <= 0.5 || n < 2 {
		return a / (a + b) / 4
	}
	p := k / n
	return (p + z*z/(2*n) - z*math.Sqrt((p*(1-p)+z*z/(4*n))/n)) / (1 + z*z/n)
}

// beta is the distribution Beta(a, b) below its mean.
type beta struct {
	a, b, sd float64
	scale    float64 // -log B(a, b)
}

func newBeta(a, b, sd float64) beta {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return beta{a, b, sd, lab - la - lb}
}

// many is from where on both parameters are large enough for the quadrature.
const many = 400

// at returns the distribution function and the density at x.
func (d beta) at(x float64) (p, density float64) {
	density = math.Exp(d.scale + (d.a-1)*math.Log(x) + (d.b-1)*math.Log1p(-x))
	if d.a >= many && d.b >= many && x < d.a/(d.a+d.b) {
		return density * d.integral(x), density
	}
	if x > (d.a+1)/(d.a+d.b+2) {
		other := beta{d.b, d.a, d.sd, d.scale}
		return 1 - density*x*(1-x)/d.b*other.fraction(1-x), density
	}
	return density * x * (1 - x) / d.a * d.fraction(x), density
}

// integral returns the area below the density left of x, relative to the
// density at x, by Gauss-Legendre quadrature over the standard deviations that
// matter: from x, two of them below the mean, six more, where less than a
// billionth is left.
func (d beta) integral(x float64) float64 {
	half := min(6*d.sd, x) / 2
	sum := 0.0
	for i, node := range nodes {
		u := half * (1 + node) // from x to the left
		sum += weights[i] * math.Exp((d.a-1)*math.Log1p(-u/x)+(d.b-1)*math.Log1p(u/(1-x)))
	}
	return sum * half
}

// fraction is the continued fraction of the incomplete beta function (DLMF
// 8.17.22), by the method of Lentz.
func (d beta) fraction(x float64) float64 {
	const tiny = 1e-300
	a, b := d.a, d.b
	c, e := 1.0, 1-(a+b)*x/(a+1)
	if math.Abs(e) < tiny {
		e = tiny
	}
	e = 1 / e
	h := e
	for m := 1.0; m < 100_000; m++ {
		for _, t := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			if e = 1 + t*e; math.Abs(e) < tiny {
				e = tiny
			}
			if c = 1 + t/c; math.Abs(c) < tiny {
				c = tiny
			}
			e = 1 / e
			h *= c * e
		}
		if math.Abs(c*e-1) < 1e-15 {
			break
		}
	}
	return h
}

// The nodes and weights of Gauss-Legendre quadrature with sixteen nodes, made by
// Newton's method on the Legendre polynomial.
var (
	nodes = [...]float64{
		0.9894009349916499, 0.9445750230732326, 0.8656312023878318, 0.755404408355003,
		0.6178762444026438, 0.45801677765722737, 0.2816035507792589, 0.09501250983763744,
		-0.09501250983763744, -0.2816035507792589, -0.45801677765722737, -0.6178762444026438,
		-0.755404408355003, -0.8656312023878318, -0.9445750230732326, -0.9894009349916499,
	}
	weights = [...]float64{
		0.027152459411754058, 0.062253523938647776, 0.0951585116824929, 0.12462897125553395,
		0.14959598881657682, 0.16915651939500256, 0.1826034150449236, 0.18945061045506847,
		0.18945061045506847, 0.1826034150449236, 0.16915651939500256, 0.14959598881657682,
		0.12462897125553395, 0.0951585116824929, 0.062253523938647776, 0.027152459411754058,
	}
)
