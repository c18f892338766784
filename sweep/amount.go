package sweep

import (
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/clock"
)

// kind is how a value of a setting is written.
type kind int

const (
	word     kind = iota // anything that has no size
	whole                // 6
	decimal              // 0.5
	percent              // 5%
	duration             // 250ms
	rate                 // 100/s
)

var kindWords = [...]string{"a word", "a whole number", "a number", "a percentage", "a duration", "a rate"}

func (k kind) String() string { return kindWords[k] }

// Amount is one value of a setting, as the study reads it, and its size.
type Amount struct {
	Text   string
	Size   float64 // of a duration in milliseconds, of a rate per second, of a percentage in percent
	kind   kind
	divide string // what a rate stands against: the s of 100/s
}

// parseAmount reads a value as the study would. Whatever has no size is a word.
func parseAmount(text string) Amount {
	text = strings.TrimSpace(text)
	a := Amount{Text: text}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		a.kind, a.Size = whole, float64(n)
		return a
	}
	if d, err := time.ParseDuration(text); err == nil {
		a.kind, a.Size = duration, float64(d)/1e6
		return a
	}
	if r, err := clock.ParseRate(text); err == nil {
		_, a.divide, _ = strings.Cut(text, "/")
		a.kind, a.Size = rate, r.PerSecond()
		return a
	}
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(number, "xXpP_") {
		return a
	}
	a.kind, a.Size = decimal, v
	if isPercent {
		a.kind = percent
	}
	return a
}

// like writes a size as an amount of the same kind, to so many significant
// digits. A rate keeps what it stands against.
func (a Amount) like(size float64, digits int) Amount {
	text := ""
	switch a.kind {
	case whole:
		text = strconv.FormatFloat(math.Round(size), 'f', 0, 64)
	case duration:
		text = time.Duration(math.Round(roundTo(size*1e6, digits))).String()
	case rate:
		per := 1.0
		if one, err := clock.ParseRate("1/" + a.divide); err == nil {
			per = 1 / one.PerSecond()
		}
		text = plain(size*per, digits) + "/" + a.divide
	case percent:
		text = plain(size, digits) + "%"
	default:
		text = plain(size, digits)
	}
	return parseAmount(text)
}

// roundTo rounds to so many significant digits.
func roundTo(v float64, digits int) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// plain writes a number without an exponent.
func plain(v float64, digits int) string {
	return strconv.FormatFloat(roundTo(v, digits), 'f', -1, 64)
}

// unit is what sizes of the kind are in, for axes and tables.
func (k kind) unit() string {
	switch k {
	case duration:
		return "ms"
	case rate:
		return "/s"
	case percent:
		return "%"
	}
	return ""
}
