package report

import (
	"math"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// againstTitle is that of the comparisons in formats where nobody can choose.
const againstTitle = "Each composition against the first"

// againstFirst is the section that holds each composition against the first
// one. Of a single run it says little that the tables above do not, so a
// terminal shows it of repeats alone.
func againstFirst(r *lab.Result, c *config) (s section, show bool) {
	if len(r.Comparisons) == 0 {
		return s, false
	}
	repeated := len(r.Repeats) > 1
	s.Title, s.Long = againstTitle, !repeated
	paired := "All met the same arrivals and the same luck, so a difference is paired by seed (pp: percentage points). "
	switch {
	case repeated:
		s.Lead = []string{paired + "The interval is a 95 % t-interval of the differences, and the correlation is what pairing bought. " +
			"Intervals are not adjusted for how many numbers are looked at: of 20 that do not differ, one is expected to show a difference."}
	case r.Deterministic:
		s.Lead = []string{paired + noChance}
	default:
		s.Lead = []string{paired + "With one run a difference is descriptive: there is chance in it, and no interval without repeats (repeat: 5)."}
	}
	for i := range r.Comparisons {
		pair := &r.Comparisons[i]
		t := contrast{}
		for k := range pair.Numbers {
			if _, phase, _ := named(pair.Numbers[k].Name); c.matters(phase) {
				t.numbers = append(t.numbers, &pair.Numbers[k])
			}
		}
		table := t.table(pair.A + " (A) and " + pair.B + " (B)")
		table.Notes = append(table.Notes, grayNote(pair, repeated))
		s.Tables = append(s.Tables, table)
	}
	return s, true
}

// grayNote says what Gray's test shows, and what it takes for granted.
func grayNote(pair *lab.Comparison, repeated bool) string {
	g := pair.Gray
	if g == nil {
		return "Gray's test of equal incidence curves: " + stopped(pair.Reason)
	}
	if g.Statistic == nil || g.P == nil {
		return "Gray's test of equal incidence curves: " + stopped(g.Reason)
	}
	of := "whole run"
	if repeated {
		of = "first run"
	}
	return "Gray's test of equal incidence curves over the " + of + ": chi-squared " + precise(*g.Statistic) + " with " +
		plural(int64(g.DF), "degree of freedom", "degrees of freedom") + ", " + probability(*g.P) +
		". It is descriptive: it takes requests as independent, which those of one run are not, and it looks no further than the time at which one side has none outstanding."
}

// probability writes a p-value, a tiny one as a bound.
func probability(p float64) string {
	if p < 0.0001 {
		return "p < 0.0001"
	}
	return "p = " + precise(p)
}

// contrast is the numbers of two sides that are compared.
type contrast struct {
	numbers []*measure.Difference
}

const differenceHead = "B" + minus + "A" // without spaces, so that it stays on one line

// table shows the differences, and counts what does not differ.
func (t *contrast) table(title string) Table {
	b := builder{table: Table{Title: title, Keys: 1}}
	intervals, correlations := false, false
	for _, d := range t.numbers {
		intervals = intervals || shown(d) && d.Low != nil
		correlations = correlations || shown(d) && d.Correlation != nil
	}
	b.column("Number")
	b.column("A", counts)
	b.column("B", counts)
	b.column(differenceHead, counts)
	if intervals {
		b.column("95 % interval", counts)
	}
	if correlations {
		b.column("Correlation", counts)
	}
	none := int64(0)
	var nearly []string
	var refused []string
	for _, d := range t.numbers {
		name, _, what := named(d.Name)
		scale := scaleOf(what)
		decimals := differenceDecimals(d, scale)
		switch {
		case d.Verdict == measure.Refused || d.Mean == nil:
			refused = append(refused, name)
			continue
		case !shown(d):
			none++
			if *d.Mean != 0 {
				nearly = append(nearly, name+" "+scale.change(*d.Mean, decimals)+" ("+span95(d, scale, decimals)+")")
			}
			continue
		}
		b.row(name)
		b.cell(value{words: scale.text(*d.A, decimals)})
		b.cell(value{words: scale.text(*d.B, decimals)})
		b.cell(value{words: scale.change(*d.Mean, decimals)})
		if intervals {
			if d.Low == nil {
				b.cell(b.refused(absent, d.Reason))
			} else {
				b.cell(value{words: span95(d, scale, decimals) + b.foot(d.Flag)})
			}
		}
		if correlations {
			if d.Correlation == nil {
				b.cell(b.refused(absent, d.Reason))
			} else {
				b.cell(value{words: strings.Replace(trimmed(*d.Correlation, 2), "-", minus, 1)})
			}
		}
	}
	switch {
	case none > 0 && nearly != nil:
		b.note("No difference shown in " + plural(none, "number", "numbers") + ". Not 0, but noise can explain it: " + strings.Join(nearly, "; ") + ".")
	case none > 0:
		b.note("No difference shown in " + plural(none, "number", "numbers") + ".")
	}
	if refused != nil {
		b.note("Not compared, since a side has no value: " + list(refused) + ".")
	}
	return b.finish()
}

// shown reports whether a comparison has a difference to show: one that noise
// cannot explain or, of one pair, any.
func shown(d *measure.Difference) bool {
	switch d.Verdict {
	case measure.Differs:
		return true
	case measure.Descriptive:
		return d.Mean != nil && *d.Mean != 0
	}
	return false
}

// differenceDecimals returns how many decimals a difference and its sides
// need: those of what it is uncertain by or, without an interval, those that
// the numbers have, as far as the smallest of them asks for.
func differenceDecimals(d *measure.Difference, scale scale) int {
	if d.A == nil || d.B == nil || d.Mean == nil {
		return asNeeded
	}
	if d.Low != nil && d.High != nil {
		if half := (*d.High - *d.Low) / 2; half > 1e-9*math.Abs(*d.Mean) { // more than rounding
			return scale.decimals(half)
		}
	}
	needed, least := 0, math.Inf(1) // the smallest of them that is not 0
	for _, v := range []float64{*d.A, *d.B, *d.Mean} {
		needed = max(needed, form{most: 6}.decimals(v*scale.factor))
		if v != 0 {
			least = min(least, math.Abs(v))
		}
	}
	if few := scale.decimals(least); few != asNeeded {
		needed = min(needed, few+1)
	}
	return needed
}

// span95 writes the interval of a difference.
func span95(d *measure.Difference, scale scale, decimals int) string {
	return scale.signed(*d.Low, decimals) + " to " + scale.signed(*d.High, decimals)
}
