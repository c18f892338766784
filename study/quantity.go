package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
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
	if d, err := time.ParseDuration(s); err == nil && s != "0" {
		*q = Quantity{Duration: d, IsTime: true, text: s}
		return nil
	}
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
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
