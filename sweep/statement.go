package sweep

import (
	"fmt"
	"math"
	"strings"

	"brunt/lab"
	"brunt/study"
)

// statement is what a search asks of each run: NAME[@PHASE] OP VALUE. A bare
// name asks whether the number is above 0.
type statement struct {
	text     string
	quantity quantity
	operator string
	limit    float64 // in milliseconds for a duration
}

// parseStatement reads a statement and holds it to the study.
func parseStatement(text string, s *study.Study) (statement, error) {
	e := statement{text: strings.TrimSpace(text), operator: ">"}
	fail := func(err error) (statement, error) { return statement{}, fmt.Errorf("until %q: %w", text, err) }
	name, value := e.text, ""
	if i := strings.IndexAny(e.text, "<>=!"); i >= 0 {
		name = strings.TrimSpace(e.text[:i])
		rest := e.text[i:]
		j := 1
		if len(rest) > 1 && rest[1] == '=' {
			j = 2
		}
		e.operator, value = rest[:j], strings.TrimSpace(rest[j:])
		if e.operator == "!" || value == "" {
			return fail(fmt.Errorf("expected NAME, or NAME and <, <=, >, >=, = or != with a value, such as 'completed/offered < 0.99'"))
		}
		if e.operator == "==" {
			e.operator = "="
		}
	}
	var err error
	if e.quantity, err = parseQuantity(name, s); err != nil {
		return fail(err)
	}
	if value == "" {
		return e, nil
	}
	var q study.Quantity
	if err := q.UnmarshalText([]byte(value)); err != nil {
		return fail(err)
	}
	isTime := e.quantity.unit == "ms"
	switch {
	case isTime && !q.IsTime && q.Value != 0:
		return fail(fmt.Errorf("%s is a duration: expected a value such as 500ms", e.quantity.text))
	case !isTime && q.IsTime:
		return fail(fmt.Errorf("%s is no duration: expected a number or a percentage", e.quantity.text))
	case q.IsTime:
		e.limit = float64(q.Duration) / 1e6
	default:
		e.limit = q.Value
	}
	return e, nil
}

// holds judges a number. One that is refused because it lies above any that
// could have been measured is above every limit; of any other refused number
// nothing is known, and refusal says why.
func (e *statement) holds(n lab.Number) (holds bool, refusal string) {
	v := n.Value
	switch {
	case n.Refusal != "" && n.Beyond:
		v = math.Inf(1)
	case n.Refusal != "":
		return false, n.Refusal
	case math.IsNaN(v):
		return false, "no number"
	}
	switch e.operator {
	case "<":
		return v < e.limit, ""
	case "<=":
		return v <= e.limit, ""
	case ">=":
		return v >= e.limit, ""
	case "=":
		return v == e.limit, ""
	case "!=":
		return v != e.limit, ""
	}
	return v > e.limit, ""
}
