package study

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"brunt/clock"
)

// How amounts are written. What is written so and is still refused lies out of
// the range that can be held.
const (
	decimal = `(\.[0-9]+|[0-9]+(\.[0-9]*)?)`
	span    = `(` + decimal + `(ns|us|µs|μs|ms|s|m|h))+`
)

var (
	wholeText    = regexp.MustCompile(`^[-+]?[0-9]+$`)
	numberText   = regexp.MustCompile(`^[-+]?` + decimal + `([eE][-+]?[0-9]+)?$`)
	percentText  = regexp.MustCompile(`^[-+]?` + decimal + `([eE][-+]?[0-9]+)? *%$`)
	durationText = regexp.MustCompile(`^[-+]?` + span + `$`)
	rateText     = regexp.MustCompile(`^\+?` + decimal + `([eE][-+]?[0-9]+)? */ *(ms|s|sec|m|min|h|` + span + `)$`)
)

// mostLength bounds the length of a list that a pin may ask for.
const mostLength = 1<<31 - 1

// outOfRange says what is wrong with the text of an amount that was refused
// though it is written as its type is: it is too large or too small, or has
// underscores between its digits. It returns "" for any other text.
func outOfRange(t reflect.Type, text string) string {
	text = strings.TrimSpace(text)
	if plain := strings.ReplaceAll(text, "_", ""); plain != text {
		if isAmount(t, plain) {
			return "expected no underscores: write " + plain
		}
		return ""
	}
	if !isAmount(t, text) {
		return ""
	}
	size := "too large"
	if strings.HasPrefix(text, "-") {
		size = "too small"
	}
	switch {
	case takesDuration(t) && durationText.MatchString(text):
		if size == "too small" {
			return size + ": expected a duration above minus ten years"
		}
		return size + ": expected a duration below ten years"
	case t == reflect.TypeFor[clock.Rate]():
		if events, per, _ := strings.Cut(text, "/"); isZero(events) || strings.ContainsAny(per, "0123456789") && isZero(per) {
			return ""
		}
		return "too large, too small or too fine: expected at most 16 significant digits, and between one event in 100 days and one in a nanosecond"
	case isShare(t):
		return shareOutOfRange(text)
	case isLength(t):
		return fmt.Sprintf("%s: expected a whole number from 0 to %d", size, mostLength)
	case isWhole(t):
		most := int64(math.MaxInt64) >> (64 - t.Bits())
		return fmt.Sprintf("%s: expected a whole number from %d to %d", size, -most-1, most)
	}
	if v, err := strconv.ParseFloat(strings.TrimRight(text, " %"), 64); err == nil && v == 0 {
		return "too close to 0: expected 0, or at least 1e-300"
	}
	if size == "too small" {
		return size + ": expected a number above -1e308"
	}
	return size + ": expected a number below 1e308"
}

// isAmount reports whether a text is written as an amount of a type is.
func isAmount(t reflect.Type, text string) bool {
	switch {
	case t == quantityType:
		return durationText.MatchString(text) || numberText.MatchString(text) || percentText.MatchString(text)
	case takesDuration(t):
		return durationText.MatchString(text)
	case t == reflect.TypeFor[clock.Rate]():
		return rateText.MatchString(text)
	case isShare(t):
		return numberText.MatchString(text) || percentText.MatchString(text)
	case isLength(t) || isWhole(t):
		return wholeText.MatchString(text)
	}
	return t.Kind() == reflect.Float64 && numberText.MatchString(text)
}

// takesDuration reports whether a duration can be written for a type.
func takesDuration(t reflect.Type) bool {
	return t == durationType || t == latencyType || t == byAttemptType || t == quantityType
}

func isWhole(t reflect.Type) bool { return t.Kind() == reflect.Int || t.Kind() == reflect.Int64 }

// isLength reports whether a pin of a type is the length of a list.
func isLength(t reflect.Type) bool {
	_, isMap := isMapping(t)
	return isMap || t.Kind() == reflect.Slice
}

func shareOutOfRange(text string) string {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	switch {
	case v > 1 && percent:
		return "too large: expected at most 100%"
	case v > 1:
		return "too large: expected a percentage such as 90%, or a number from 0 to 1"
	case v < 0 || strings.HasPrefix(text, "-"):
		return "too small: expected at least 0"
	case err != nil || v != 0 || isZero(number):
		return ""
	}
	return "too fine: expected a share in whole parts per million"
}

// number reads a finite number as a study writes one: in decimals, perhaps
// with an exponent. It is not ok when it cannot be held.
func number(text string) (v float64, ok bool) {
	if !numberText.MatchString(text) {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && (v != 0 || isZero(text))
}

// isZero reports whether an amount is 0, whatever its exponent.
func isZero(text string) bool {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text = text[:i]
	}
	return !strings.ContainsAny(text, "123456789")
}
