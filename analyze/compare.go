package analyze

import (
	"fmt"
	"iter"

	"brunt/measure"
	"brunt/record"
)

// mostCompared is how many points the groups' curves may have in all for Gray's
// test, which holds them in memory: about 120 MB.
const mostCompared = 1 << 20

// compare tests whether the groups' curves are the same.
func (a *Analysis) compare() (measure.GrayTest, error) {
	if len(a.Groups) < 2 {
		return measure.Gray(), nil
	}
	of := make([]int, len(a.cells)) // group by cell
	for i, c := range a.cells {
		for g, s := range a.Groups {
			if s.holds(c) {
				of[i] = g
			}
		}
	}
	points := 0
	last := make([]entry, len(a.Groups))
	err := a.tally.each(func(e entry) bool {
		if l := &last[of[e.cell()]]; l.count == 0 || l.time != e.time {
			*l = e
			points++
		}
		return points <= mostCompared
	})
	if err != nil || points > mostCompared {
		return measure.GrayTest{DF: len(a.Groups) - 1, Reason: fmt.Sprintf("no test: more than %d distinct times in the groups", mostCompared)}, err
	}
	curves := make([]*measure.Curve, len(a.Groups))
	for g := range curves {
		var broken error
		curve, err := measure.CurveOf(a.counted(of, g, &broken), a.Horizon)
		if broken != nil {
			return measure.GrayTest{}, broken
		} else if err != nil {
			return measure.GrayTest{}, fmt.Errorf("curve of group %q: %w", a.Groups[g].Name, err)
		}
		curves[g] = curve
	}
	return measure.Gray(curves...), nil
}

// counted gives the counts of a group in order of time. It stops where the
// temporary file cannot be read.
func (a *Analysis) counted(of []int, group int, broken *error) iter.Seq[measure.Count] {
	return func(yield func(measure.Count) bool) {
		var c measure.Count
		some, more := false, true
		err := a.tally.each(func(e entry) bool {
			if of[e.cell()] != group {
				return true
			}
			if some && e.time != c.Time {
				more = yield(c)
				c = measure.Count{}
			}
			some, c.Time = true, e.time
			switch n := int64(e.count); e.outcome() {
			case record.Completed:
				c.Completed += n
			case record.Errored:
				c.Errored += n
			default:
				c.Censored += n
			}
			return more
		})
		if err != nil {
			*broken = err
		} else if some && more {
			yield(c)
		}
	}
}
