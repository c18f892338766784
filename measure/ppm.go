package measure

import (
	"fmt"
	"strconv"
	"strings"
)

// ParsePPM reads a share: a percentage such as 90% or 99.9 %, or a number from
// 0 to 1. It must be whole in parts per million.
func ParsePPM(s string) (PPM, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	number = strings.TrimSpace(number)
	places := 6
	if percent {
		places = 4
	}
	whole, fraction, _ := strings.Cut(number, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits := whole + fraction
	if digits == "" && strings.ContainsRune(number, '0') {
		digits = "0" // such as .0
	}
	if digits == "" || len(whole) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a share: expected a percentage such as 90%%, or a number from 0 to 1", s)
	}
	if len(fraction) > places {
		return 0, fmt.Errorf("%q is too fine a share: expected one in whole parts per million", s)
	}
	v, err := strconv.ParseInt(digits+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil || v > int64(Million) {
		return 0, fmt.Errorf("%q is more than the whole: expected a percentage such as 90%%, or a number from 0 to 1", s)
	}
	return PPM(v), nil
}

// UnmarshalText reads what [ParsePPM] reads.
func (q *PPM) UnmarshalText(b []byte) error {
	v, err := ParsePPM(string(b))
	if err != nil {
		return err
	}
	*q = v
	return nil
}

// MarshalText writes the share as a percentage: 90%.
func (q PPM) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(q)/1e4, 'f', -1, 64) + "%"), nil
}
