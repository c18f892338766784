package measure

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

// Interval is a two-sided 95 % confidence interval of a share.
type Interval struct{ Low, High float64 }

// tail is the error of a 95 % interval on each side.
const tail = 0.025

// ClopperPearson returns the exact 95 % interval of a rate of k in n (Clopper
// and Pearson, 1934). It refuses n = 0.
func ClopperPearson(k, n int64) (Interval, error) {
	switch {
	case n <= 0:
		return Interval{}, errors.New("interval of a rate: refused: nothing was counted")
	case k < 0 || k > n:
		return Interval{}, fmt.Errorf("interval of a rate: %d of %d", k, n)
	}
	return clopperPearson(float64(k), float64(n)), nil
}

// clopperPearson takes a fractional number of fractional many, 0 <= k <= n.
func clopperPearson(k, n float64) Interval {
	i := Interval{Low: 0, High: 1}
	if k > 0 {
		i.Low = betaQuantile(tail, k, n-k+1)
	}
	if k < n {
		i.High = betaQuantile(1-tail, k+1, n-k)
	}
	return i
}

// Band returns the pointwise 95 % interval of the incidence at point i: the
// Clopper-Pearson interval of the effective sample, the number of independent
// requests that would give the same variance, F(1-F)/Var. Without censoring it
// is the exact binomial interval. It is pointwise, not simultaneous, and
// requests within one run are not independent: it describes this run.
func (c *Curve) Band(i int) Interval { return c.BandAt(&c.Points[i]) }

// BandAt is [Curve.Band] of a point that the curve did not keep.
func (c *Curve) BandAt(p *Point) Interval {
	if p.gone == 0 {
		return clopperPearson(float64(p.done), float64(c.Scheduled))
	}
	switch f, n := p.Incidence, float64(p.event); {
	case f > 0 && f < 1 && p.Variance > 0:
		n = f * (1 - f) / p.Variance
		return clopperPearson(n*f, n)
	case f <= 0:
		return Interval{Low: 0, High: -math.Expm1(math.Log(tail) / n)}
	case f >= 1:
		return Interval{Low: math.Exp(math.Log(tail) / n), High: 1}
	default:
		return clopperPearson(n*f, n)
	}
}

// LogLog returns the 95 % interval at point i by the transform log(-log F),
// F^exp(±z s/(F ln F)), as other programs print it. Its coverage near 0 and 1
// is poor: prefer Band. There is none where F is 0 or 1.
func (c *Curve) LogLog(i int) (Interval, bool) {
	f, s := c.Points[i].Incidence, math.Sqrt(c.Points[i].Variance)
	if f <= 0 || f >= 1 || s == 0 {
		return Interval{}, false
	}
	w := normalQuantile(1-tail) * s / (f * math.Log(f)) // below 0
	return Interval{Low: math.Pow(f, math.Exp(-w)), High: math.Pow(f, math.Exp(w))}, true
}

// RankInterval returns the ranks, from 1, of the order statistics that bound
// the q-quantile of n samples with 95 % confidence whatever their distribution
// (David and Nagaraja, Order Statistics, 7.1): with B ~ Binomial(n, q),
// lower = max{l: P(B <= l-1) <= .025}, upper = min{u: P(B >= u) <= .025}.
// A bound that n samples cannot give is 0.
func RankInterval(q PPM, n int64) (lower, upper int64) {
	q.check()
	if n <= 0 {
		return 0, 0
	}
	p := q.Float()
	lower = int64(sort.Search(int(n), func(i int) bool { return atMost(int64(i), n, p) > tail }))
	upper = int64(sort.Search(int(n), func(i int) bool { return atLeast(int64(i)+1, n, p) <= tail })) + 1
	if upper > n {
		upper = 0
	}
	return lower, upper
}

// atMost returns P(B <= k) and atLeast P(B >= k) of B ~ Binomial(n, p), both
// as the incomplete beta function that keeps small tails exact.
func atMost(k, n int64, p float64) float64 {
	if k >= n || p <= 0 {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

func atLeast(k, n int64, p float64) float64 {
	if k <= 0 || p >= 1 {
		return 1
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// RankIntervalNeeds returns the least number of samples for which both bounds
// of RankInterval exist: the upper one needs q^n <= .025, the lower one
// (1-q)^n <= .025. It is 0 for a q of 0 or 1, which no number bounds.
func RankIntervalNeeds(q PPM) int64 {
	q.check()
	if q == 0 || q == Million {
		return 0
	}
	p := max(q.Float(), 1-q.Float())
	n := int64(math.Log(tail) / math.Log(p))
	for math.Pow(p, float64(n)) > tail {
		n++
	}
	return n
}

// QuantileInterval bounds a quantile of the curve with 95 % confidence. Either
// bound may be a verdict instead of a time.
type QuantileInterval struct {
	Lower, Upper *Quantile // nil when the interval is refused
	Reason       string    // why it is refused, in words
}

// QuantileInterval returns the order-statistic interval of a quantile. The
// requests are ordered: completed ones by time, then those still outstanding
// at the horizon, then the errored.
func (c *Curve) QuantileInterval(q PPM) QuantileInterval {
	in := intervalOf(q, c.Scheduled, c.CensoredBeforeHorizon)
	if in.refused != "" {
		return QuantileInterval{Reason: in.refused}
	}
	l, u := c.ranked(q, in.lower), c.ranked(q, in.upper)
	return QuantileInterval{Lower: &l, Upper: &u}
}

// intervalOf returns the ranks of the interval of a quantile of n scheduled
// requests, early of which were censored before the horizon.
func intervalOf(q PPM, n, early int64) rankInterval {
	needs := RankIntervalNeeds(q)
	lower, upper := RankInterval(q, n)
	switch {
	case needs == 0:
		return rankInterval{refused: fmt.Sprintf("%v-CI omitted (no sample bounds it)", q)}
	case early > 0:
		return rankInterval{refused: fmt.Sprintf("%v-CI omitted (%d requests censored before the horizon)", q, early)}
	case lower == 0 || upper == 0:
		return rankInterval{refused: fmt.Sprintf("%v-CI omitted (sample budget insufficient: %d needed, %d scheduled)", q, needs, n)}
	}
	return rankInterval{lower: lower, upper: upper}
}

// ranked returns the request of a rank, as a verdict.
func (c *Curve) ranked(q PPM, rank int64) Quantile {
	v := verdict{horizon: c.Horizon, final: c.Final(), ceiling: c.Ceiling()}
	if rank > c.timely {
		return v.refused(q, rank <= c.Completed+c.Censored)
	}
	i := sort.Search(len(c.Points), func(i int) bool { return c.Points[i].done >= rank })
	return v.reached(q, c.Points[i].Time)
}
