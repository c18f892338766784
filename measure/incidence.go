package measure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"brunt/record"
)

// tolerance is what an estimate may miss a quantile by and still reach it,
// where it is not plain counting.
const tolerance = 1e-12

// Observation is one scheduled request as the incidence curve sees it: the
// time from its intended instant to its end, and how it ended. One that was
// never sent is errored at 0; one without an outcome is censored at the time
// up to which it was watched.
type Observation struct {
	Time    time.Duration
	Outcome record.Outcome
}

// Point is the curve at one time.
type Point struct {
	Time      time.Duration
	AtRisk    int64 // just before, everyone with this time or a later one
	Completed int64 // at this time
	Errored   int64
	Censored  int64

	Incidence   float64 // F: share completed by this time
	Errors      float64 // share errored by this time
	Outstanding float64 // S: share with neither
	Variance    float64 // of Incidence

	done  int64 // completed by this time
	gone  int64 // censored before this time
	event int64 // at risk at the last event up to this time, or now if there was none
}

// Curve is the incidence of completion over time among all scheduled requests,
// with errors as a competing end: the Aalen-Johansen estimate (Aalen and
// Johansen, 1978). It never exceeds the share that completed, so errors and
// timeouts cannot make it look fast. A curve does not change.
type Curve struct {
	Scheduled int64
	Completed int64
	Errored   int64
	Censored  int64
	// CensoredBeforeHorizon counts those that were not watched up to the
	// horizon. Without any the curve is plain counting.
	CensoredBeforeHorizon int64
	Horizon               time.Duration // 0 for none
	Points                []Point       // one for each distinct time, ascending

	timely int64 // completed by the horizon
	last   Point
	// plain says that nothing was censored before the last event, so that the
	// estimate is completed/scheduled exactly.
	plain bool
}

// NewCurve estimates the curve. It takes rows in any order and leaves them as
// they are. A completion after the horizon stays on the curve and satisfies no
// quantile; a horizon of 0 is none.
func NewCurve(rows []Observation, horizon time.Duration) *Curve {
	sorted := slices.Clone(rows)
	slices.SortFunc(sorted, func(a, b Observation) int {
		switch {
		case a.Time < b.Time:
			return -1
		case a.Time > b.Time:
			return 1
		}
		return 0
	})
	distinct := 0
	for i := range sorted {
		if i == 0 || sorted[i].Time != sorted[i-1].Time {
			distinct++
		}
	}
	b := newBuilder(int64(len(rows)), distinct, horizon)
	for len(sorted) > 0 {
		n := Count{Time: sorted[0].Time}
		for len(sorted) > 0 && sorted[0].Time == n.Time {
			switch sorted[0].Outcome {
			case record.Completed:
				n.Completed++
			case record.Errored:
				n.Errored++
			default:
				n.Censored++
			}
			sorted = sorted[1:]
		}
		b.add(n)
	}
	return b.curve
}

func (c *Curve) within(t time.Duration) bool { return c.Horizon <= 0 || t <= c.Horizon }

// At returns the incidence at a time: the probability of completion by then.
func (c *Curve) At(t time.Duration) float64 {
	i, found := slices.BinarySearchFunc(c.Points, t, func(p Point, t time.Duration) int { return cmp.Compare(p.Time, t) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return c.Points[i].Incidence
}

// Final returns the incidence at the end of the curve; 0 without requests.
func (c *Curve) Final() float64 {
	switch {
	case c.Scheduled == 0:
		return 0
	case c.plain:
		return float64(c.Completed) / float64(c.Scheduled)
	}
	return c.last.Incidence
}

// Ceiling returns what the incidence would be had every outstanding request
// completed later: Final + outstanding.
func (c *Curve) Ceiling() float64 {
	switch {
	case c.Scheduled == 0:
		return 0
	case c.plain:
		return float64(c.Completed+c.Censored) / float64(c.Scheduled)
	}
	return c.Final() + c.last.Outstanding
}

// Quantile returns the least time by which the incidence is at least q, or the
// verdict that there is none: beyond the horizon, where the outstanding could
// still have carried it, or unattainable.
func (c *Curve) Quantile(q PPM) Quantile {
	q.check()
	if c.Scheduled == 0 {
		return emptyQuantile(q)
	}
	for i := range c.Points {
		if c.reaches(q, &c.Points[i]) {
			return verdict{}.reached(q, c.Points[i].Time)
		}
	}
	return c.refuse(q)
}

func emptyQuantile(q PPM) Quantile {
	return Quantile{Q: q.Float(), Status: Empty, Reason: "no request was scheduled"}
}

// reaches reports whether the curve is at q at a point within the horizon.
func (c *Curve) reaches(q PPM, p *Point) bool {
	switch {
	case !c.within(p.Time):
		return false
	case c.plain || p.gone == 0:
		return carries(q, p.done, c.Scheduled)
	}
	return p.Incidence >= q.Float()-tolerance
}

// refuse gives the verdict on a quantile that no point reaches.
func (c *Curve) refuse(q PPM) Quantile {
	v := verdict{horizon: c.Horizon, final: c.Final(), ceiling: c.Ceiling()}
	if c.plain {
		return v.refused(q, carries(q, c.Completed+c.Censored, c.Scheduled))
	}
	return v.refused(q, v.ceiling >= q.Float()-tolerance)
}

// verdict is what the words about a quantile need.
type verdict struct {
	horizon        time.Duration
	final, ceiling float64
}

func (verdict) reached(q PPM, t time.Duration) Quantile {
	ms := Millis(t)
	return Quantile{Q: q.Float(), Status: Reached, Millis: &ms}
}

// refused says in words why a quantile has no time.
func (v verdict) refused(q PPM, attainable bool) Quantile {
	if !attainable {
		return Quantile{Q: q.Float(), Status: Unattainable, Reason: fmt.Sprintf(
			"%s completed, and at most %s could have", share(v.final), share(v.ceiling))}
	}
	bound := "the time watched"
	if v.horizon > 0 {
		bound = v.horizon.String()
	}
	return Quantile{Q: q.Float(), Status: Beyond, Reason: fmt.Sprintf(
		"more than %s: %s completed, and at most %s could have", bound, share(v.final), share(v.ceiling))}
}

// share writes a share in percent.
func share(x float64) string { return strconv.FormatFloat(100*x, 'g', 6, 64) + " %" }

// estimator walks along the curve, one distinct time after the other.
//
// With c completions, d ends (completions and errors) among n at risk:
// S(t) = prod (1 - d/n), F(t) = sum S(t-) c/n. At one time ends come before
// censorings.
//
// The variance is the delta method's (Dinse and Larson, 1986):
//
//	Var F(t) = sum (F(t)-F_j)^2 d_j/(n_j(n_j-d_j)) + sum S(t_j-)^2 c_j(n_j-c_j)/n_j^3
//	         - 2 sum (F(t)-F_j) S(t_j-) c_j/n_j^2
//
// The sums over F(t)-F_j are carried along as F grows, so that one step costs
// the same wherever it is, and no large numbers are subtracted.
type estimator struct {
	atRisk      int64
	incidence   float64
	errors      float64
	outstanding float64

	a, fa, ffa float64 // sums of a_j = d_j/(n_j(n_j-d_j)), (F-F_j) a_j, (F-F_j)^2 a_j
	b, fb      float64 // sums of b_j = S(t_j-) c_j/n_j^2, (F-F_j) b_j
	own        float64 // the second sum
}

func newEstimator(n int64) *estimator { return &estimator{atRisk: n, outstanding: 1} }

func (e *estimator) step(completed, errored, censored int64) {
	n, c, d := float64(e.atRisk), float64(completed), float64(completed+errored)
	before := e.outstanding
	rise := before * c / n
	e.ffa += rise * (2*e.fa + rise*e.a)
	e.fa += rise * e.a
	e.fb += rise * e.b

	if d < n { // else nobody is left for whom it could matter
		e.a += d / (n * (n - d))
	}
	e.b += before * c / (n * n)
	e.own += before * before * c * (n - c) / (n * n * n)

	e.incidence += rise
	e.errors += before * float64(errored) / n
	e.outstanding *= 1 - d/n
	e.atRisk -= completed + errored + censored
}

func (e *estimator) variance() float64 { return max(e.ffa+e.own-2*e.fb, 0) }
