package measure

import (
	"errors"
	"fmt"
	"iter"
	"math"
)

// Counts returns how many requests ended at each time of the curve.
func (c *Curve) Counts() iter.Seq[Count] {
	return func(yield func(Count) bool) {
		for _, p := range c.Points {
			if !yield(p.count()) {
				return
			}
		}
	}
}

func (p *Point) count() Count {
	return Count{Time: p.Time, Completed: p.Completed, Errored: p.Errored, Censored: p.Censored}
}

// Merge returns the curve of all requests of several, such as shards of one
// run: exactly that of their rows together. It does not average: curves under
// different horizons are no shards of one run, and are refused.
func Merge(curves ...*Curve) (*Curve, error) {
	if len(curves) == 0 {
		return nil, errors.New("merging curves: none given")
	}
	horizon := curves[0].Horizon
	for _, c := range curves {
		if c.Horizon != horizon {
			return nil, fmt.Errorf("merging curves: a horizon of %v and one of %v", horizon, c.Horizon)
		}
	}
	return CurveOf(merged(curves), horizon)
}

// merged goes through the counts of several curves in the order of time.
func merged(curves []*Curve) iter.Seq[Count] {
	return func(yield func(Count) bool) {
		next := make([]int, len(curves))
		for {
			n, more := Count{Time: math.MaxInt64}, false
			for i, c := range curves {
				if next[i] < len(c.Points) {
					n.Time, more = min(n.Time, c.Points[next[i]].Time), true
				}
			}
			if !more {
				return
			}
			for i, c := range curves {
				if next[i] < len(c.Points) && c.Points[next[i]].Time == n.Time {
					p := &c.Points[next[i]]
					n.Completed += p.Completed
					n.Errored += p.Errored
					n.Censored += p.Censored
					next[i]++
				}
			}
			if !yield(n) {
				return
			}
		}
	}
}
