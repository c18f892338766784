package analyze

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// What can be wrong with a time.
var (
	errNoTime   = errors.New("is missing")
	errNoNumber = errors.New("is not a number of milliseconds")
	errNegative = errors.New("is negative")
	errRange    = errors.New("is out of range: at most 106,751 days")
)

// parseMillis reads a decimal number of milliseconds, in whole numbers
// throughout where it can: a float would move times that tie apart. Digits finer
// than a nanosecond are rounded to the nearest.
func parseMillis(text []byte) (time.Duration, error) {
	if len(text) == 0 {
		return 0, errNoTime
	}
	const most = 12 // digits of whole milliseconds that certainly fit
	ns, i := int64(0), 0
	for ; i < len(text) && isDigit(text[i]); i++ {
		ns = ns*10 + int64(text[i]-'0')
		if i == most {
			return parseFloat(text)
		}
	}
	if i == 0 {
		return parseFloat(text)
	}
	ns *= 1e6
	if i == len(text) {
		return time.Duration(ns), nil
	}
	if text[i] != '.' {
		return parseFloat(text)
	}
	unit := int64(1e5)
	for i++; i < len(text); i++ {
		if !isDigit(text[i]) {
			return parseFloat(text)
		}
		digit := int64(text[i] - '0')
		switch {
		case unit > 0:
			ns += digit * unit
		case unit == 0 && digit >= 5: // the first digit that is too fine
			ns++
			fallthrough
		case unit == 0:
			unit = -1
		}
		if unit > 0 {
			unit /= 10
		}
	}
	return time.Duration(ns), nil
}

// parseFloat reads the other ways to write a number: with an exponent, a sign
// or very many digits.
func parseFloat(text []byte) (time.Duration, error) {
	s := string(text)
	if strings.Trim(s, "0123456789.eE+-") != "" { // also the words and the hexadecimal that strconv knows
		return 0, errNoNumber
	}
	ms, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errNoNumber
	}
	return fromMillis(ms)
}

func fromMillis(ms float64) (time.Duration, error) {
	ns := math.Round(ms * 1e6)
	switch {
	case ns != ns:
		return 0, errNoNumber
	case ms < 0:
		return 0, errNegative
	case ns >= math.MaxInt64:
		return 0, errRange
	}
	return time.Duration(ns), nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
