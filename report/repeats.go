package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// mostValues is how many repeats a table has room for. Of more, the values
// stand below it.
const mostValues = 10

// overRepeats is the section on a study that repeats: a table for each
// composition.
func overRepeats(r *lab.Result, c *config) (s section, show bool) {
	if len(r.Repeats) < 2 {
		return s, false
	}
	n := int64(len(r.Repeats))
	s.Title = "Over " + plural(n, "repeat", "repeats")
	s.Lead = []string{"The run is the unit: requests of one run are not independent, so those of several are not pooled. " +
		"A mean stands with its 95 % t-interval, a median with the range. A median leads where a tail is heavy, as of recovery times, and where a repeat was refused. " +
		"Names without a phase are of the whole run. All tables above are of the first run, and every number is in result.json."}
	if r.Deterministic {
		s.Lead = append(s.Lead, noChance+" Repeats with other seeds are the same run again.")
	}
	for i := range r.Compositions {
		s.Tables = append(s.Tables, spreads(&r.Compositions[i], c, r.Repeats))
	}
	return s, true
}

// noChance is what a run without any draw says of itself.
const noChance = "There is no draw of chance in the run, so it has no sampling error and its numbers no intervals."

// seeds names the seeds of a run.
func seeds(r *lab.Result) string {
	if n := len(r.Repeats); n > 1 {
		return "seeds " + strconv.FormatInt(r.Repeats[0].Seed, 10) + " to " + strconv.FormatInt(r.Repeats[n-1].Seed, 10)
	}
	return "seed " + strconv.FormatInt(r.Seed, 10)
}

// matters reports whether a report for people shows the numbers of a phase: of
// the whole run, and of phases in which something is done to a dependency.
func (c *config) matters(name string) bool {
	return name == "" || slices.ContainsFunc(c.Phases, func(p phase) bool { return p.Name == name && len(p.Dependencies) > 0 })
}

// spreads is the table of how the numbers of a composition spread over repeats.
func spreads(comp *measure.Composition, c *config, repeats []lab.Repeat) Table {
	b := builder{table: Table{Title: comp.Name, Keys: 1}}
	b.column("Number")
	b.column("Middle")
	b.column("Interval / range")
	beside := len(repeats) <= mostValues
	if beside {
		for _, run := range repeats {
			b.column("Seed "+strconv.FormatInt(run.Seed, 10), counts)
		}
	}
	var equal, values []string
	var refusals verdictGroups
	for i := range comp.Summary {
		s := &comp.Summary[i]
		name, phase, what := named(s.Name)
		if !c.matters(phase) {
			continue
		}
		scale := scaleOf(what)
		if s.Refused > 0 {
			refusals.add(name, verdictsInOrder(s, scale))
		}
		switch {
		case s.Refused == s.N:
			continue
		case s.Refused == 0 && s.SD != nil && *s.SD == 0:
			equal = append(equal, name+" "+scale.text(*s.Mean, asNeeded))
			continue
		}
		decimals := spreadDecimals(s, scale)
		b.row(name, middle(s, scale, decimals), around(s, scale, decimals))
		if list := each(s, scale, decimals); beside {
			for _, v := range list {
				b.cell(value{words: v})
			}
		} else {
			values = append(values, name+", by seed: "+strings.Join(list, partSeparator))
		}
	}
	if !beside {
		for _, v := range values {
			b.note(v + ".")
		}
	}
	if len(equal) > 0 {
		b.note("The same in every repeat, so the interval has no width, and says nothing of what did not vary: " + list(equal) + ".")
	}
	if refusals != nil {
		b.note("No mean, since some repeat was refused; the verdicts of all, in order of size:")
	}
	for _, g := range refusals {
		b.note(list(g.names) + ": " + g.verdicts + ".")
	}
	return b.finish()
}

// spreadDecimals returns how many decimals the numbers of a spread need.
func spreadDecimals(s *measure.Spread, scale scale) int {
	if s.SD != nil {
		return scale.decimals(*s.SD)
	}
	least, most := 0.0, 0.0
	first := true
	for _, v := range s.Values {
		if v == nil {
			continue
		}
		if first {
			least, most, first = *v, *v, false
		}
		least, most = min(least, *v), max(most, *v)
	}
	return scale.decimals((most - least) / 2)
}

// middle is the mean or the median, whichever leads.
func middle(s *measure.Spread, scale scale, decimals int) string {
	switch {
	case s.Lead == measure.LeadMean && s.Mean != nil:
		return "mean " + scale.text(*s.Mean, decimals)
	case s.Lead == measure.LeadMedian && s.Median != nil:
		return "median " + scale.text(*s.Median, decimals)
	}
	return "refused"
}

// around is the interval of the mean, or the range.
func around(s *measure.Spread, scale scale, decimals int) string {
	switch {
	case s.Lead == measure.LeadMean && s.Low != nil && s.High != nil:
		return scale.bare(*s.Low, decimals) + " to " + scale.bare(*s.High, decimals)
	case s.Least != nil && s.Most != nil:
		return scale.bare(*s.Least, decimals) + " to " + scale.bare(*s.Most, decimals)
	case s.Least != nil:
		return "from " + scale.bare(*s.Least, decimals)
	}
	return "refused"
}

// each returns the values in the order of the repeats.
func each(s *measure.Spread, scale scale, decimals int) []string {
	list := make([]string, len(s.Values))
	if scale.factor == 1 && !slices.ContainsFunc(s.Values, func(v *float64) bool { return v != nil && *v != math.Trunc(*v) }) {
		decimals = 0 // counts
	}
	for i, v := range s.Values {
		list[i] = absent // a note says why
		if v != nil {
			list[i] = scale.bare(*v, decimals)
		}
	}
	return list
}

// verdictsInOrder writes values ascending and then the refusals.
func verdictsInOrder(s *measure.Spread, scale scale) string {
	known := s.N - s.Refused
	if known < 0 || len(s.Verdicts) != s.N {
		return s.Reason
	}
	var sorted []float64
	for _, v := range s.Values {
		if v != nil {
			sorted = append(sorted, *v)
		}
	}
	slices.Sort(sorted)
	var words []string
	decimals := spreadDecimals(s, scale)
	for _, v := range sorted {
		words = append(words, scale.text(v, decimals))
	}
	return strings.Join(append(words, refusalsOf(s.Verdicts[known:])...), "; ")
}

// mostRefusals is how many different refusals of one number are quoted.
const mostRefusals = 3

// refusalsOf quotes ordered refusals, the same ones once with their number; of
// many different ones the first and the last.
func refusalsOf(verdicts []string) []string {
	var words []string
	for i := 0; i < len(verdicts); {
		j := i
		for j < len(verdicts) && verdicts[j] == verdicts[i] {
			j++
		}
		words = append(words, fmt.Sprintf("%d × (%s)", j-i, verdicts[i]))
		i = j
	}
	if len(words) > mostRefusals {
		return []string{fmt.Sprintf("%d refused, from (%s) to (%s)", len(verdicts), verdicts[0], verdicts[len(verdicts)-1])}
	}
	return words
}

// verdictGroups gathers the numbers of which the same is said.
type verdictGroups []verdictGroup

type verdictGroup struct {
	verdicts string
	names    []string
}

func (g *verdictGroups) add(name, verdicts string) {
	for i := range *g {
		if (*g)[i].verdicts == verdicts {
			(*g)[i].names = append((*g)[i].names, name)
			return
		}
	}
	*g = append(*g, verdictGroup{verdicts, []string{name}})
}
