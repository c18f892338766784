package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"brunt/study"
)

// judge holds the repeats of a run against the study's expectations. One holds
// when it does in every repeat.
func judge(s *study.Study, repeats []Repeat) []Verdict {
	verdicts := []Verdict{}
	for _, e := range s.Expect {
		for i, name := range s.Compositions.Names() {
			if e.Composition != "" && e.Composition != name {
				continue
			}
			phase := cmp.Or(e.Phase, whole)
			numbers := make([]Number, len(repeats))
			for k := range repeats {
				numbers[k] = numberOf(&repeats[k].Compositions[i], phase, e.Measure)
			}
			for _, l := range limitsOf(e) {
				v := l.judge(numbers)
				v.Composition, v.Phase, v.Measure = name, phase, e.Measure
				verdicts = append(verdicts, v)
			}
		}
	}
	return verdicts
}

// notJudged takes verdicts back: they would be about a part of the run, and it
// is chance which.
func notJudged(verdicts []Verdict) {
	for i := range verdicts {
		v := &verdicts[i]
		v.Value, v.Passed, v.Refused, v.Reason = nil, false, true, "not judged: the run was aborted"
		v.Repeats, v.FailedRepeats = 0, nil
	}
}

// limit is one side of an expectation.
type limit struct {
	relation string
	quantity *study.Quantity
	holds    func(v, bound float64) bool
	strain   func(v, bound float64) float64 // the worst value has the most
}

func limitsOf(e study.Expectation) []limit {
	all := []limit{
		{"at_most", e.AtMost, func(v, bound float64) bool { return v <= bound }, func(v, _ float64) float64 { return v }},
		{"at_least", e.AtLeast, func(v, bound float64) bool { return v >= bound }, func(v, _ float64) float64 { return -v }},
		{"equals", e.Equals, func(v, bound float64) bool { return v == bound }, func(v, bound float64) float64 { return math.Abs(v - bound) }},
	}
	return slices.DeleteFunc(all, func(l limit) bool { return l.quantity == nil })
}

// judge holds one number, of each repeat, against a limit. A number that was
// refused in any repeat has no worst value.
func (l limit) judge(numbers []Number) Verdict {
	v := Verdict{Relation: l.relation, Limit: l.quantity.String(), Unit: numbers[0].Unit}
	bound, misfit := inUnit(l.quantity, v.Unit)
	var worst *Number
	failed, refused := 0, 0
	for k := range numbers {
		n := &numbers[k]
		switch {
		case n.Refusal != "":
			if refused++; refused == 1 {
				v.Reason = n.Refusal
			}
			failed++
			continue
		case misfit != nil || !l.holds(n.Value, bound):
			failed++
		}
		if worst == nil || l.strain(n.Value, bound) > l.strain(worst.Value, bound) {
			worst = n
		}
	}
	v.Passed, v.Refused = failed == 0, refused > 0
	switch {
	case v.Refused && refused < len(numbers):
		v.Reason = fmt.Sprintf("refused in %d of %d repeats: %s", refused, len(numbers), v.Reason)
	case v.Refused:
	case misfit != nil:
		v.Reason = misfit.Error()
	default:
		v.Value = &worst.Value
	}
	if len(numbers) > 1 {
		v.Repeats, v.FailedRepeats = len(numbers), &failed
	}
	return v
}

// inUnit returns a limit in the unit of the number it is compared with.
func inUnit(q *study.Quantity, unit string) (float64, error) {
	switch {
	case q.IsTime && (unit == "ms" || q.Duration == 0):
		return float64(q.Duration) / float64(time.Millisecond), nil
	case q.IsTime:
		return 0, fmt.Errorf("the limit %s is a duration, the measure is not", q)
	case unit == "ms" && q.Value != 0:
		return 0, fmt.Errorf("the limit %s has no unit, the measure is a duration: write %sms", q, q)
	}
	return q.Value, nil
}
