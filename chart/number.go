package chart

import (
	"math"
	"strconv"
	"strings"
)

// Outside of these a number is written with an exponent: nobody counts so
// many zeros.
const (
	plainBelow = 1e15
	plainFrom  = 1e-9
)

// fixed writes a tick with so many decimals: the ticks of an axis line up.
func fixed(v float64, decimals int) string {
	switch {
	case v == 0 && decimals > 9:
		return "0"
	case math.Abs(v) >= plainBelow || decimals > 9:
		return exponent(v, 10)
	}
	return group(strconv.FormatFloat(v, 'f', decimals, 64))
}

// number writes a number by itself, with three significant digits and all
// digits before the point. What is less than the whole does not read as 1:
// 0.9996 keeps a fourth digit, and 0.9999999 is above 0.999999.
func number(v float64) string {
	size := math.Abs(v)
	switch {
	case size == 0:
		return "0"
	case size >= plainBelow || size < plainFrom:
		return exponent(v, 2)
	case size >= 100:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	decimals := 2 - decade(size)
	s := strconv.FormatFloat(size, 'f', decimals, 64)
	for ; size < 1 && s[0] == '1'; s = strconv.FormatFloat(size, 'f', decimals, 64) {
		if decimals++; decimals > 6 {
			s = "0.999999"
			break
		}
	}
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if v < 0 {
		s = "-" + s
	}
	return s
}

// exponent writes 2e20, with so many decimals at most.
func exponent(v float64, decimals int) string {
	lead, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', decimals, 64), "e")
	if strings.Contains(lead, ".") {
		lead = strings.TrimRight(strings.TrimRight(lead, "0"), ".")
	}
	sign := ""
	if power[0] == '-' {
		sign = "-"
	}
	return lead + "e" + sign + strings.TrimLeft(power[1:], "0")
}

// group puts a comma between the thousands of a plain decimal number.
func group(s string) string {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	whole, frac, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if frac != "" {
		whole += "." + frac
	}
	return sign + whole
}

// counted writes "1 point" and "1,200 points".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return group(strconv.Itoa(n)) + " " + many
}
