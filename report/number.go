package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"brunt/measure"
)

// form says how the numbers of a column, or of one place in it, are written.
type form struct {
	least, most int // decimals; a column has as many as its neediest number
	unit        string
}

var (
	counts       = form{}
	milliseconds = form{most: 2}
	ratios       = form{least: 2, most: 2}
	percentages  = form{least: 1, most: 1, unit: " %"}
	costs        = form{most: 4}
)

// decimals returns how many decimals v needs within the form.
func (f form) decimals(v float64) int {
	s := strconv.FormatFloat(v, 'f', f.most, 64)
	if f.most > 0 {
		s = strings.TrimRight(s, "0")
	}
	_, frac, _ := strings.Cut(s, ".")
	return max(f.least, len(frac))
}

// write formats v with so many decimals. A number that is not 0 never reads as
// 0, and a share that is not the whole never reads as 100 %.
func (f form) write(v float64, decimals int, grouped bool) string {
	step := math.Pow10(-decimals)
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	switch shown, _ := strconv.ParseFloat(s, 64); {
	case v > 0 && shown == 0:
		s = "< " + strconv.FormatFloat(step, 'f', decimals, 64)
	case f.unit == percentages.unit && v < 100 && shown == 100:
		s = "> " + strconv.FormatFloat(100-step, 'f', decimals, 64)
	case grouped:
		s = group(s)
	}
	return s + f.unit
}

// group puts a comma between the thousands of a plain decimal number.
func group(s string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	whole, frac, hasFrac := strings.Cut(s, ".")
	var b strings.Builder
	for i, digit := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digit)
	}
	if hasFrac {
		b.WriteString("." + frac)
	}
	return sign + b.String()
}

// groupFrom is where thousands separators begin to help in a column.
const groupFrom = 10_000

// integer writes a count in a sentence.
func integer(n int64) string {
	return group(strconv.FormatInt(n, 10))
}

// number writes a number in a sentence: with two decimals, a small one with
// two significant digits, and without zeros at the end.
func number(v float64) string { return trimmed(v, 2) }

// precise writes a number that is held against another one: where two
// decimals could hide a difference, it has four.
func precise(v float64) string {
	if math.Abs(v) < 10 {
		return trimmed(v, 4)
	}
	return trimmed(v, 2)
}

func trimmed(v float64, decimals int) string {
	if a := math.Abs(v); a > 0 && a < math.Pow10(1-decimals) {
		decimals = min(12, 1-int(math.Floor(math.Log10(a))))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return group(s)
}

// duration writes a time as a person says it: 0.3 ms, 5 ms, 1.18 s, 30 s, 2 min.
func duration(d time.Duration) string {
	switch a := d.Abs(); {
	case a == 0:
		return "0 ms"
	case a < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + " ns"
	case a < 100*time.Microsecond:
		return number(float64(d)/1e3) + " µs"
	case a < time.Second:
		return number(float64(d)/1e6) + " ms"
	case a < 2*time.Minute || d%time.Second != 0:
		return number(d.Seconds()) + " s"
	case d%time.Minute != 0:
		return number(math.Floor(d.Minutes())) + " min " + number(float64(d%time.Minute)/1e9) + " s"
	}
	return number(d.Minutes()) + " min"
}

func millis(m measure.Millis) string { return duration(time.Duration(m)) }

// inMillis returns a time as a number of milliseconds.
func inMillis(m measure.Millis) float64 { return float64(m) / 1e6 }

// inDuration returns a number of milliseconds as a time.
func inDuration(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

// plural returns "1 run", "2 runs".
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return integer(n) + " " + many
}

// list joins names as a sentence does: a, b and c.
func list(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}
