package study

import (
	"fmt"
	"slices"
	"strconv"

	"brunt/check"
)

// judge judges the name of a measure: see [Options].
type judge func(name string, phase bool, dependencies []string) (duration bool, err error)

func (s *Study) checkExpectations(p check.Problems, judge judge) {
	if len(s.Expect) > mostListed {
		p.Add("expect", len(s.Expect), "expected at most %d", mostListed)
		return
	}
	for i, e := range s.Expect {
		in := p.In("expect", strconv.Itoa(i))
		if _, known := s.Compositions.Get(e.Composition); !known && e.Composition != "" {
			in.Add("composition", fmt.Sprintf("unknown composition %q", e.Composition), "%s", suggest(e.Composition, s.Compositions.Names()))
		}
		duration, known := s.checkNumber(in, e.Measure, e.Phase, judge)
		if e.AtMost == nil && e.AtLeast == nil && e.Equals == nil {
			in.Add("", nil, "expects nothing: add at_most, at_least or equals")
		}
		if known {
			e.AtMost.checkUnit(in, "at_most", e.Measure, duration)
			e.AtLeast.checkUnit(in, "at_least", e.Measure, duration)
			e.Equals.checkUnit(in, "equals", e.Measure, duration)
		}
		e.checkOrder(in)
	}
}

// checkNumber checks the name of a number, and the phase that it is of. It
// returns whether the number is a duration, when that is known.
func (s *Study) checkNumber(p check.Problems, measure, phase string, judge judge) (duration, known bool) {
	if phases := s.phaseNames(); phase != "" && !slices.Contains(phases, phase) {
		p.Add("phase", fmt.Sprintf("unknown phase %q", phase), "%s", suggest(phase, phases))
	}
	switch {
	case measure == "":
		p.Add("measure", nil, "missing: expected which number it is about, such as attempts/offered")
		return false, false
	case judge == nil:
		return false, false
	}
	duration, err := judge(measure, phase != "", s.Callees())
	if err != nil {
		p.Add("measure", strconv.Quote(clip(measure)), "%v", err)
	}
	return duration, err == nil
}

// checkUnit reports a limit that cannot be compared with its measure. 0 can be
// with any.
func (q *Quantity) checkUnit(p check.Problems, field, measure string, duration bool) {
	switch {
	case q == nil || q.isZero() || q.IsTime == duration:
	case q.IsTime:
		p.Add(field, q, "%s is not a duration: expected a number or a percentage, such as 0.06 or 6%%", measure)
	case numberText.MatchString(q.text):
		p.Add(field, q, "has no unit, and %s is a duration: write %sms or %ss", measure, q, q)
	default:
		p.Add(field, q, "%s is a duration: expected one such as 5ms, 30s or 1h30m", measure)
	}
}

// checkOrder reports limits that no number can keep together.
func (e *Expectation) checkOrder(p check.Problems) {
	above := func(q, r *Quantity) bool { return q.isSet() && r.isSet() && q.above(*r) }
	if above(e.AtLeast, e.AtMost) {
		p.Add("at_least", e.AtLeast, "is above at_most: no number is at least %s and at most %s", e.AtLeast, e.AtMost)
	}
	if above(e.Equals, e.AtMost) {
		p.Add("equals", e.Equals, "is above at_most: no number is %s and at most %s", e.Equals, e.AtMost)
	}
	if above(e.AtLeast, e.Equals) {
		p.Add("equals", e.Equals, "is below at_least: no number is %s and at least %s", e.Equals, e.AtLeast)
	}
}
