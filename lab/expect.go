package lab

import (
	"fmt"
	"time"

	"brunt/measure"
	"brunt/study"
)

// judge holds a result against the study's expectations.
func judge(s *study.Study, compositions []measure.Composition) []Verdict {
	verdicts := []Verdict{}
	for _, e := range s.Expect {
		for i := range compositions {
			if c := &compositions[i]; e.Composition == "" || e.Composition == c.Name {
				verdicts = append(verdicts, judgeOne(e, c)...)
			}
		}
	}
	return verdicts
}

func judgeOne(e study.Expectation, c *measure.Composition) []Verdict {
	phase, of := (*measure.Phase)(nil), "whole"
	for i := range c.Phases {
		if e.Phase != "" && c.Phases[i].Name == e.Phase {
			phase, of = &c.Phases[i], e.Phase
		}
	}
	number, err := Find(c, phase, e.Measure)
	if err != nil {
		number.Refusal = err.Error()
	}
	var verdicts []Verdict
	add := func(relation string, limit *study.Quantity, holds func(v, limit float64) bool) {
		if limit == nil {
			return
		}
		v := Verdict{Composition: c.Name, Phase: of, Measure: e.Measure, Relation: relation, Limit: limit.String(), Unit: number.Unit}
		switch bound, err := inUnit(limit, number.Unit); {
		case number.Refusal != "":
			v.Refused, v.Reason = true, number.Refusal
		case err != nil:
			v.Reason = err.Error()
		default:
			v.Value = &number.Value
			v.Passed = holds(number.Value, bound)
		}
		verdicts = append(verdicts, v)
	}
	add("at_most", e.AtMost, func(v, limit float64) bool { return v <= limit })
	add("at_least", e.AtLeast, func(v, limit float64) bool { return v >= limit })
	add("equals", e.Equals, func(v, limit float64) bool { return v == limit })
	return verdicts
}

// inUnit returns a limit in the unit of the number it is compared with.
func inUnit(q *study.Quantity, unit string) (float64, error) {
	switch {
	case q.IsTime && unit == "ms":
		return float64(q.Duration) / float64(time.Millisecond), nil
	case q.IsTime:
		return 0, fmt.Errorf("the limit %s is a duration, the measure is not", q)
	case unit == "ms" && q.Value != 0:
		return 0, fmt.Errorf("the limit %s has no unit, the measure is a duration: write %sms", q, q)
	}
	return q.Value, nil
}
