package measure

import "brunt/check"

// ParsePPM reads a share: a percentage such as 90% or 99.9 %, or a number from
// 0 to 1. It must be whole in parts per million.
func ParsePPM(s string) (PPM, error) {
	share, err := check.ParseShare(s)
	return PPM(share), err
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
func (q PPM) MarshalText() ([]byte, error) { return check.Share(q).MarshalText() }
