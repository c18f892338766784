package report

import (
	"math"
	"strings"
	"time"

	"brunt/lab"
)

// expectations is the table of what the study expected, and what became of it.
func expectations(r *lab.Result) Table {
	b := builder{table: Table{Title: "Expectations", Keys: 1}}
	b.column("Verdict")
	b.column(compositionHead)
	b.column(phaseHead)
	b.column("Measure")
	b.column("Expected", counts)
	b.column("Measured", counts)
	for _, v := range r.Expectations {
		b.row()
		switch {
		case v.Refused:
			b.cell(value{words: "✗ refused"})
			b.tone(Bad)
		case v.Passed:
			b.cell(value{words: "✓ holds"})
			b.tone(Good)
		default:
			b.cell(value{words: "✗ fails"})
			b.tone(Bad)
		}
		for _, words := range []string{v.Composition, wholeRun(v.Phase), v.Measure, relation(v.Relation) + v.Limit} {
			b.cell(value{words: words})
		}
		measured := absent
		if v.Value != nil {
			measured = quantity(*v.Value, v.Unit, strings.HasSuffix(v.Limit, "%"))
		}
		b.cell(b.refused(measured, v.Reason))
	}
	return b.finish()
}

// wholeRun says which phase a number is of.
func wholeRun(phase string) string {
	if phase == "whole" || phase == "" {
		return "whole run"
	}
	return phase
}

func relation(s string) string {
	switch s {
	case "at_most":
		return "at most "
	case "at_least":
		return "at least "
	case "equals":
		return "exactly "
	}
	return s + " "
}

// quantity writes a number with its unit: a time as a duration, a share as a
// percentage where its limit is one.
func quantity(v float64, unit string, percent bool) string {
	switch {
	case unit == "ms":
		return duration(time.Duration(math.Round(v * 1e6)))
	case percent && unit == "":
		return precise(100*v) + " %"
	case unit != "":
		return precise(v) + " " + unit
	}
	return precise(v)
}

// failedExpectations counts those that do not hold, refused ones included.
func failedExpectations(r *lab.Result) (n int64) {
	for _, v := range r.Expectations {
		if !v.Passed {
			n++
		}
	}
	return n
}

// gates is the table of what judged the instrument itself.
func gates(r *lab.Result) Table {
	b := builder{table: Table{
		Title:   "Gates",
		Caption: "What the instrument must hold for its numbers to count. A gate that was not measured has not passed.",
		Keys:    1,
	}}
	b.column("Gate")
	b.column("Limit", counts)
	b.column("Measured", counts)
	b.column("Verdict")
	for _, g := range r.Gates {
		b.row(g.Name)
		b.cell(value{words: quantity(g.Limit, g.Unit, false)})
		b.cell(b.refused(gateValue(g), g.Reason))
		switch {
		case !g.Applies:
			b.cell(value{words: "does not apply"})
		case g.Passed:
			b.cell(value{words: "✓ passed"})
			b.tone(Good)
		case g.Enforced:
			b.cell(value{words: "✗ failed"})
			b.tone(Bad)
		default:
			b.cell(value{words: "✗ failed, not enforced"})
			b.tone(Bad)
		}
	}
	return b.finish()
}

func gateValue(g lab.Gate) string {
	switch {
	case !g.Applies:
		return absent
	case g.Value == nil:
		return "not measured"
	}
	return quantity(*g.Value, g.Unit, false)
}

const (
	noResult   = ", so its numbers do not count and are not shown."
	invalidRun = "INVALID RUN: these numbers do not count"
)

// despite makes the report of a run that is not valid with the numbers that it
// would have shown: first why they do not count, then the numbers.
func despite(r *lab.Result, c *config) *document {
	shown := *r.Hidden
	shown.Valid, shown.Gates, shown.Expectations = true, nil, nil
	d := assemble(r, c)
	why := &d.Sections[0]
	why.Title = "Why the numbers do not count"
	for i, s := range why.Lead {
		why.Lead[i] = strings.Replace(s, noResult, ", so its numbers do not count.", 1)
	}
	d.Sections = append(d.Sections, assemble(&shown, c).Sections...)
	return d
}

// whyInvalid says in a sentence why a run shows no result.
func whyInvalid(r *lab.Result) string {
	var failed []string
	for _, g := range r.Gates {
		if g.Applies && g.Enforced && !g.Passed {
			failed = append(failed, g.Name+" ("+gateValue(g)+", limit "+quantity(g.Limit, g.Unit, false)+")")
		}
	}
	switch len(failed) {
	case 0:
		return "The run is not valid, and no gate says why."
	case 1:
		return "The instrument did not pass the gate " + failed[0] + noResult
	}
	return "The instrument did not pass the gates " + list(failed) + noResult
}

// ties is the section on artefacts of ties.
func ties(r *lab.Result) (s section, show bool) {
	s.Title = "Artefacts of ties"
	t := r.Ties
	if t == nil {
		if r.TiesReason == "" {
			return s, false
		}
		reason := strings.TrimSuffix(r.TiesReason, ".")
		if !strings.HasPrefix(reason, "not ") {
			reason = "not looked for: " + reason
		}
		s.Lead = []string{sentence(reason)}
		return s, true
	}
	noise := duration(time.Duration(t.Noise * 1e6))
	runs := plural(int64(t.Runs), "further run", "further runs") + " submitted every request up to " + noise + " later than intended"
	if len(t.Artefacts) == 0 {
		s.Lead = []string{runs + ". None of the numbers that were looked at changed much, so none of them hangs on what falls on one instant."}
		return s, true
	}
	s.Lead = []string{runs + ". The numbers below changed much with it: they hang on what happens to fall on one instant, " +
		"such as which call is a breaker's last failure. Trust the range, not the number."}
	b := builder{table: Table{Keys: 2, Grouped: true, Brief: 12}}
	b.column(compositionHead)
	b.column(phaseHead)
	b.column("Measure")
	b.column("This run", counts)
	b.column("With noise", counts)
	for _, a := range t.Artefacts {
		b.row(a.Composition, wholeRun(a.Phase), a.Measure)
		words := artefactText(a.Measure, a.Least)
		if a.Most != a.Least {
			words += " to " + artefactText(a.Measure, a.Most)
		}
		b.cell(value{words: artefactText(a.Measure, a.Value)})
		b.cell(value{words: words})
	}
	table := b.finish()
	s.Table = &table
	return s, true
}

// artefactText writes the value of a measure that [lab.Find] knows. Those of
// time are in milliseconds.
func artefactText(measure string, v float64) string {
	_, part, _ := strings.Cut(measure, ".")
	switch {
	case measure == "recovery", part == "max", strings.HasPrefix(part, "p") && strings.Trim(part[1:], "0123456789.") == "":
		return number(v) + " ms"
	}
	return precise(v)
}
