package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"brunt/measure"
)

// summarise goes once along the curves of all strata at the same time.
func (a *Analysis) summarise(quantiles []measure.PPM, grid []time.Duration) error {
	var all []*summary
	add := func(s *Stratum) *summary {
		sum := newSummary(s, a.Horizon, quantiles, grid)
		all = append(all, sum)
		return sum
	}
	of := make([][]*summary, len(a.cells))
	for _, list := range [][]*Stratum{{a.Whole}, a.Groups, a.Windows} {
		for _, s := range list {
			sum := add(s)
			for i, c := range a.cells {
				if s.holds(c) {
					of[i] = append(of[i], sum)
				}
			}
		}
	}
	err := a.tally.each(func(e entry) bool {
		for _, s := range of[e.cell()] {
			if s.walker.count(e) {
				s.see()
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, s := range all {
		s.finish()
	}
	return nil
}

// summary collects what is wanted of one curve.
type summary struct {
	*Stratum
	walker    *walker
	horizon   time.Duration
	quantiles []measure.PPM
	reached   []time.Duration // of the first quantiles
	ranks     []rank          // that are wanted, ascending
	met       int             // of the ranks
	grid      []time.Duration
	previous  Point // the last one seen
}

// rank is a request, by its place among the completions, that bounds a
// quantile.
type rank struct {
	rank int64
	time time.Duration
}

func newSummary(s *Stratum, horizon time.Duration, quantiles []measure.PPM, grid []time.Duration) *summary {
	sum := &summary{Stratum: s, walker: newWalker(s.Scheduled), horizon: horizon, quantiles: quantiles, grid: grid}
	sum.previous = sum.walker.point
	for _, q := range quantiles {
		lower, upper := measure.RankInterval(q, s.Scheduled)
		sum.ranks = append(sum.ranks, rank{rank: lower}, rank{rank: upper})
	}
	slices.SortFunc(sum.ranks, func(a, b rank) int { return cmp.Compare(a.rank, b.rank) })
	return sum
}

// see takes the walker's point.
func (s *summary) see() {
	p := &s.walker.point
	for len(s.Points) < len(s.grid) && s.grid[len(s.Points)] < p.Time {
		s.mark()
	}
	s.previous = *p
	if s.horizon > 0 && p.Time > s.horizon {
		return
	}
	for len(s.reached) < len(s.quantiles) && s.walker.reaches(p, s.quantiles[len(s.reached)]) {
		s.reached = append(s.reached, p.Time)
	}
	for s.met < len(s.ranks) && s.ranks[s.met].rank <= p.CompletedSoFar {
		s.ranks[s.met].time = p.Time
		s.met++
	}
}

// mark keeps the state of the curve at the next time of the grid.
func (s *summary) mark() {
	var b bands
	p := s.previous
	p.Time = s.grid[len(s.Points)]
	p.Band = b.of(&p, s.Scheduled)
	s.Points = append(s.Points, p)
}

func (s *summary) finish() {
	if s.walker.end() {
		s.see()
	}
	for s.Scheduled > 0 && len(s.Points) < len(s.grid) {
		s.mark()
	}
	last := &s.walker.point
	s.Plain = s.walker.plain
	switch n := float64(s.Scheduled); {
	case n == 0:
	case s.Plain:
		s.Final, s.Ceiling = float64(s.Completed)/n, float64(s.Completed+s.Censored)/n
	default:
		s.Final, s.Ceiling = last.Incidence, last.Incidence+last.Outstanding
	}
	for i, q := range s.quantiles {
		s.Quantiles = append(s.Quantiles, Quantile{s.quantile(i, q), s.interval(q)})
	}
}

func (s *summary) quantile(i int, q measure.PPM) measure.Quantile {
	switch {
	case s.Scheduled == 0:
		return measure.Quantile{Q: q.Float(), Status: measure.Empty, Reason: "no request was scheduled"}
	case i < len(s.reached):
		return reached(q, s.reached[i])
	case s.Plain:
		return s.refused(q, (s.Completed+s.Censored)*int64(measure.Million) >= int64(q)*s.Scheduled)
	}
	return s.refused(q, s.Ceiling >= q.Float()-tolerance)
}

func reached(q measure.PPM, t time.Duration) measure.Quantile {
	ms := measure.Millis(t)
	return measure.Quantile{Q: q.Float(), Status: measure.Reached, Millis: &ms}
}

// refused says in words why a quantile has no time.
func (s *summary) refused(q measure.PPM, attainable bool) measure.Quantile {
	shares := share(s.Final) + " completed, and at most " + share(s.Ceiling) + " could have"
	if s.Late > 0 {
		shares += fmt.Sprintf("; %d completed after the horizon", s.Late)
	}
	if !attainable {
		return measure.Quantile{Q: q.Float(), Status: measure.Unattainable, Reason: shares}
	}
	bound := "the time watched"
	if s.horizon > 0 {
		bound = s.horizon.String()
	}
	return measure.Quantile{Q: q.Float(), Status: measure.Beyond, Reason: "more than " + bound + ": " + shares}
}

// interval bounds a quantile by order statistics over all scheduled requests:
// the completed by time, then the outstanding, then the errored. See
// [measure.Curve.QuantileInterval].
func (s *summary) interval(q measure.PPM) measure.QuantileInterval {
	needs := measure.RankIntervalNeeds(q)
	lower, upper := measure.RankInterval(q, s.Scheduled)
	omitted := func(why string) measure.QuantileInterval {
		return measure.QuantileInterval{Reason: fmt.Sprintf("%v-CI omitted (%s)", q, why)}
	}
	switch {
	case needs == 0:
		return omitted("no sample bounds it")
	case s.CensoredBeforeHorizon > 0:
		return omitted(fmt.Sprintf("%d requests censored before the horizon", s.CensoredBeforeHorizon))
	case lower == 0 || upper == 0:
		return omitted(fmt.Sprintf("sample budget insufficient: %d needed, %d scheduled", needs, s.Scheduled))
	}
	l, u := s.ranked(q, lower), s.ranked(q, upper)
	return measure.QuantileInterval{Lower: &l, Upper: &u}
}

func (s *summary) ranked(q measure.PPM, wanted int64) measure.Quantile {
	for _, r := range s.ranks[:s.met] {
		if r.rank == wanted {
			return reached(q, r.time)
		}
	}
	return s.refused(q, wanted <= s.Completed+s.Censored)
}

// share writes a share in percent.
func share(x float64) string { return strconv.FormatFloat(100*x, 'g', 6, 64) + " %" }

// grid returns the times at which a table shows the curves: all there are when
// they are few, else round ones from where completions begin, and the end.
func (a *Analysis) grid(in *intake, most int) ([]time.Duration, error) {
	var few []time.Duration
	err := a.tally.each(func(e entry) bool {
		if len(few) == 0 || few[len(few)-1] != e.time {
			few = append(few, e.time)
		}
		return len(few) <= most
	})
	if err != nil || len(few) <= most {
		return few, err
	}
	end := in.latest
	if a.Horizon > 0 {
		end = min(end, a.Horizon)
	}
	var list []time.Duration
	for _, steps := range [][]int64{{10, 15, 20, 30, 40, 50, 60, 80}, {10, 15, 20, 30, 50, 70}, {10, 20, 50}, {10, 30}, {10}} {
		if list = roundTimes(in.begin(), end, steps); len(list)+2 <= most {
			break
		}
	}
	list = append(list[max(0, len(list)+2-most):], end)
	if in.latest > end {
		list = append(list, in.latest)
	}
	return list[max(0, len(list)-most):], nil
}

// begin returns a time, to within a factor of two, by which one in a hundred of
// the completions has come.
func (in *intake) begin() time.Duration {
	all, sum := int64(0), int64(0)
	for _, n := range in.rough {
		all += n
	}
	for length, n := range in.rough {
		if sum += n; sum*100 >= all && length > 0 {
			return time.Duration(1) << min(length-1, 62)
		}
	}
	return 1
}

// roundTimes returns the times from begin to below end that are a step times a
// power of ten. Steps are tenths.
func roundTimes(begin, end time.Duration, steps []int64) (list []time.Duration) {
	for unit := time.Duration(10); unit <= 1<<62/100; unit *= 10 {
		for _, step := range steps {
			if t := unit / 10 * time.Duration(step); t >= begin && t < end {
				list = append(list, t)
			}
		}
	}
	return list
}
