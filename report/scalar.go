package report

import (
	"math"
	"strings"
)

// scale says in what a number is written that [lab.Find] knows by its name.
type scale struct {
	unit   string
	factor float64
}

// scaleOf returns the scale of a measure: milliseconds for times, percent for
// shares of requests, and no unit for counts and ratios.
func scaleOf(measure string) scale {
	kind, part, _ := strings.Cut(measure, ".")
	switch {
	case measure == "recovery", isPercentile(measure):
		return scale{" ms", 1}
	case measure == "availability", strings.HasSuffix(measure, "/offered") && kind != "attempts/offered":
		return scale{" %", 100}
	}
	switch kind {
	case "submitted", "completed", "first_token", "cleanup", "lag":
		if part == "max" || isPercentile(part) {
			return scale{" ms", 1}
		}
	}
	return scale{"", 1}
}

// isPercentile reports whether a name is like p50 or p99.9.
func isPercentile(name string) bool {
	digits, ok := strings.CutPrefix(name, "p")
	return ok && digits != "" && strings.Trim(digits, "0123456789.") == ""
}

// asNeeded stands for as many decimals as a number by itself asks for.
const asNeeded = -1

// decimals returns how many decimals show the first digit of what a number
// varies by, and two when that begins with 1 or 2: further ones say nothing.
func (s scale) decimals(spread float64) int {
	spread *= s.factor
	if spread <= 0 || math.IsNaN(spread) || math.IsInf(spread, 0) {
		return asNeeded
	}
	magnitude := math.Floor(math.Log10(spread))
	digits := -int(magnitude)
	if spread < 3*math.Pow(10, magnitude) {
		digits++
	}
	return min(max(digits, 0), 6)
}

// bare writes a number without its unit.
func (s scale) bare(v float64, decimals int) string {
	v *= s.factor
	if decimals == asNeeded {
		return precise(v)
	}
	return strings.TrimSuffix(form{unit: s.unit}.write(v, decimals, true), s.unit)
}

// text writes a number with its unit.
func (s scale) text(v float64, decimals int) string { return s.bare(v, decimals) + s.unit }

// change writes a difference with its sign. That of two percentages is in
// percentage points.
func (s scale) change(v float64, decimals int) string {
	if s.unit == percentages.unit {
		return s.signed(v, decimals) + " pp"
	}
	return s.signed(v, decimals) + s.unit
}

// signed writes a difference without its unit.
func (s scale) signed(v float64, decimals int) string {
	switch text := s.bare(math.Abs(v), decimals); {
	case v > 0:
		return "+" + text
	case v < 0:
		return minus + text
	default:
		return text
	}
}

// minus is the sign, which no Markdown takes for the mark of a list.
const minus = "−"

// named splits the title that the lab gives a number, "outage p95" or "whole
// p95", and returns the name by which a rule calls it, outage.p95 or p95.
func named(title string) (name, phase, measure string) {
	phase, measure = "", title
	if i := strings.LastIndexByte(title, ' '); i >= 0 {
		phase, measure = title[:i], title[i+1:]
	}
	if phase == "whole" || phase == "" {
		return measure, "", measure
	}
	return phase + "." + measure, phase, measure
}
