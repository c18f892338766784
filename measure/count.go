package measure

import (
	"fmt"
	"iter"
	"math"
	"time"
)

// Count is how many requests ended at one time, by outcome: what is left of
// many rows that share it.
type Count struct {
	Time      time.Duration
	Completed int64
	Errored   int64
	Censored  int64
}

// builder makes a curve from counts in the order of their times.
type builder struct {
	curve *Curve
	estimator
}

func newBuilder(scheduled int64, distinct int, horizon time.Duration) *builder {
	return &builder{
		curve:     &Curve{Scheduled: scheduled, Horizon: horizon, Points: make([]Point, 0, distinct), plain: true},
		estimator: *newEstimator(scheduled),
	}
}

// add takes the next time, and keeps its point.
func (b *builder) add(n Count) { b.curve.Points = append(b.curve.Points, *b.take(n)) }

// take takes the next time. The point is good until the next one.
func (b *builder) take(n Count) *Point {
	c, p := b.curve, &b.curve.last
	event := p.event
	if n.Completed+n.Errored > 0 {
		c.plain = c.plain && c.Censored == 0
		event = b.atRisk
	} else if c.Completed+c.Errored == 0 {
		event = b.atRisk
	}
	*p = Point{Time: n.Time, AtRisk: b.atRisk, Completed: n.Completed, Errored: n.Errored, Censored: n.Censored,
		done: c.Completed + n.Completed, gone: c.Censored, event: event}
	b.step(n.Completed, n.Errored, n.Censored)
	p.Incidence, p.Errors, p.Outstanding, p.Variance = b.incidence, b.errors, b.outstanding, b.variance()

	c.Completed += n.Completed
	c.Errored += n.Errored
	c.Censored += n.Censored
	if c.within(n.Time) {
		c.timely += n.Completed
	}
	if c.Horizon <= 0 || n.Time < c.Horizon {
		c.CensoredBeforeHorizon += n.Censored
	}
	return p
}

// survey counts what a sequence holds, and checks its order.
func (b *builder) survey(counts iter.Seq[Count]) (distinct int, err error) {
	last := time.Duration(math.MinInt64)
	for n := range counts {
		switch {
		case n.Completed < 0 || n.Errored < 0 || n.Censored < 0:
			return 0, fmt.Errorf("incidence from counts: a count below 0 at %v", n.Time)
		case distinct > 0 && n.Time <= last:
			return 0, fmt.Errorf("incidence from counts: %v after %v: expected ascending times", n.Time, last)
		}
		b.curve.Scheduled += n.Completed + n.Errored + n.Censored
		distinct, last = distinct+1, n.Time
	}
	b.atRisk = b.curve.Scheduled
	return distinct, nil
}

// CurveOf estimates the curve from counts, each time once, in ascending order.
// The sequence is gone through twice, since the number at risk at the first
// time is that of all requests.
func CurveOf(counts iter.Seq[Count], horizon time.Duration) (*Curve, error) {
	b := newBuilder(0, 0, horizon)
	distinct, err := b.survey(counts)
	if err != nil {
		return nil, err
	}
	b.curve.Points = make([]Point, 0, distinct)
	for n := range counts {
		if n.Completed+n.Errored+n.Censored > 0 {
			b.add(n)
		}
	}
	return b.curve, nil
}

// Scan is [CurveOf] for more requests than fit into memory: the curve that it
// returns keeps no points, so that only its totals and its ends can be asked.
// visit, unless nil, sees each point as it comes, with the curve up to there
// for [Curve.BandAt]; both are good for the call alone. The quantiles are those
// that were asked for, in their order.
func Scan(counts iter.Seq[Count], horizon time.Duration, qs []PPM, visit func(*Curve, *Point)) (*Curve, []Quantile, error) {
	for _, q := range qs {
		q.check()
	}
	b := newBuilder(0, 0, horizon)
	if _, err := b.survey(counts); err != nil {
		return nil, nil, err
	}
	c, found := b.curve, make([]Quantile, len(qs))
	for n := range counts {
		if n.Completed+n.Errored+n.Censored == 0 {
			continue
		}
		p := b.take(n)
		for i, q := range qs {
			if found[i].Status == "" && c.reaches(q, p) {
				found[i] = verdict{}.reached(q, p.Time)
			}
		}
		if visit != nil {
			visit(c, p)
		}
	}
	for i, q := range qs {
		switch {
		case c.Scheduled == 0:
			found[i] = emptyQuantile(q)
		case found[i].Status == "":
			found[i] = c.refuse(q)
		}
	}
	return c, found, nil
}
