package study

import (
	"fmt"
	"strings"
	"time"

	"brunt/check"
)

// Quantity is a number, a share written as a percentage, or a duration: what
// an expectation compares with.
type Quantity struct {
	Value    float64       // when it is no duration
	Duration time.Duration // when it is one
	IsTime   bool
	text     string
}

// UnmarshalText reads 0.06, 6%, or 60ms.
func (q *Quantity) UnmarshalText(b []byte) error {
	s := strings.TrimSpace(string(b))
	if d, err := time.ParseDuration(s); err == nil && s != "0" && d.Abs() <= check.Longest {
		*q = Quantity{Duration: d, IsTime: true, text: s}
		return nil
	}
	value, percent := strings.CutSuffix(s, "%")
	v, ok := number(strings.TrimSpace(value))
	if !ok {
		return fmt.Errorf("%q is not a quantity: expected a number, a percentage or a duration", s)
	}
	if percent {
		v /= 100
	}
	*q = Quantity{Value: v, text: s}
	return nil
}

// MarshalText writes the quantity as it was read.
func (q Quantity) MarshalText() ([]byte, error) { return []byte(q.text), nil }

// String returns the quantity as it was read.
func (q Quantity) String() string { return q.text }

// isSet reports a quantity that is there and could be read.
func (q *Quantity) isSet() bool { return q != nil && q.text != "" }

// isZero reports a quantity that is the same with any unit.
func (q Quantity) isZero() bool { return q.Value == 0 && q.Duration == 0 }

// above reports whether q is more than r. Those of different units have no
// order, unless one of them is 0.
func (q Quantity) above(r Quantity) bool {
	if q.IsTime != r.IsTime && !q.isZero() && !r.isZero() {
		return false
	}
	return q.Duration > r.Duration || q.Value > r.Value
}
