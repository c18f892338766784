package check

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a part of a whole as people write one, 20% or 0.2, kept exactly in
// parts per million.
type Share int64

// Whole is all of it.
const Whole Share = 1_000_000

// ParseShare reads a percentage such as 90% or 12.5 %, or a number from 0 to 1.
// It must be whole in parts per million.
func ParseShare(s string) (Share, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	number = strings.TrimSpace(number)
	places := 6
	if percent {
		places = 4
	}
	units, fraction, _ := strings.Cut(number, ".")
	fraction = strings.TrimRight(fraction, "0")
	digits := units + fraction
	if digits == "" && strings.ContainsRune(number, '0') { // such as .0
		digits = "0"
	}
	switch {
	case digits == "" || len(units) > 9 || strings.Trim(digits, "0123456789") != "":
		return 0, fmt.Errorf("%q is not a share: expected a percentage such as 90%%, or a number from 0 to 1", s)
	case len(fraction) > places:
		return 0, fmt.Errorf("%q is too fine a share: expected one in whole parts per million", s)
	}
	v, err := strconv.ParseInt(digits+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil || v > int64(Whole) {
		return 0, fmt.Errorf("%q is more than the whole: expected a percentage such as 90%%, or a number from 0 to 1", s)
	}
	return Share(v), nil
}

// Fraction returns the share as a number from 0 to 1.
func (s Share) Fraction() float64 { return float64(s) / float64(Whole) }

// String writes the share as a percentage: 50%.
func (s Share) String() string {
	return strconv.FormatFloat(float64(s)/float64(Whole/100), 'f', -1, 64) + "%"
}

// UnmarshalText reads what [ParseShare] reads.
func (s *Share) UnmarshalText(b []byte) error {
	v, err := ParseShare(string(b))
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// MarshalText writes what String does.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
