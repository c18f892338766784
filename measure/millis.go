package measure

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"
)

// MarshalJSON writes the milliseconds as the shortest decimal that says the
// same number of nanoseconds: no exponent, no zeros at the end.
func (m Millis) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 24)
	ns := uint64(m)
	if m < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = strconv.AppendUint(b, ns/1e6, 10)
	if rest := ns % 1e6; rest != 0 {
		point := len(b)
		b = strconv.AppendUint(b, 1e6+rest, 10) // the 1 keeps the zeros in front
		b[point] = '.'
		b = bytes.TrimRight(b, "0")
	}
	return b, nil
}

// UnmarshalJSON reads a number of milliseconds; null leaves m alone. What
// MarshalJSON wrote comes back exactly, any other number to the nearest
// nanosecond.
func (m *Millis) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if ns, ok := plainMillis(b); ok {
		*m = Millis(ns)
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("reading %s as a number of milliseconds: %w", b, err)
	}
	ns := math.RoundToEven(f * float64(time.Millisecond))
	if ns < math.MinInt64 || ns >= math.MaxInt64 {
		return fmt.Errorf("reading %s as a number of milliseconds: out of range", b)
	}
	*m = Millis(ns)
	return nil
}

// plainMillis reads a decimal without exponent and with at most six places,
// in whole numbers throughout.
func plainMillis(b []byte) (ns int64, ok bool) {
	whole, fraction, _ := bytes.Cut(b, []byte("."))
	if len(fraction) > 6 {
		return 0, false
	}
	digits := append(bytes.Clone(whole), fraction...)
	for range 6 - len(fraction) {
		digits = append(digits, '0')
	}
	ns, err := strconv.ParseInt(string(digits), 10, 64)
	return ns, err == nil
}
