package report

import (
	"testing"
	"time"
)

func TestFormWrite(t *testing.T) {
	for _, c := range []struct {
		form     form
		v        float64
		decimals int
		grouped  bool
		want     string
	}{
		{counts, 8998, 0, false, "8998"},
		{counts, 1234567, 0, true, "1,234,567"},
		{milliseconds, 20.125, 2, false, "20.12"},  // ties go to even, as FormatFloat does
		{milliseconds, 0.003, 2, false, "< 0.01"},  // a time that is not 0 does not read as 0
		{milliseconds, 0, 2, false, "0.00"},        // but 0 does
		{ratios, 2.9993, 2, false, "3.00"},         // a ratio may round
		{ratios, 0.0001, 2, false, "< 0.01"},       // though not to nothing
		{percentages, 100, 1, false, "100.0 %"},    // all is all
		{percentages, 99.99, 1, false, "> 99.9 %"}, // and nearly all is not
		{percentages, 0.01, 1, false, "< 0.1 %"},
		{milliseconds, 12345.6, 1, true, "12,345.6"},
	} {
		if got := c.form.write(c.v, c.decimals, c.grouped); got != c.want {
			t.Errorf("write(%v, %d): got %q, want %q", c.v, c.decimals, got, c.want)
		}
	}
}

func TestDecimals(t *testing.T) {
	for _, c := range []struct {
		form form
		v    float64
		want int
	}{
		{milliseconds, 5, 0},
		{milliseconds, 5.5, 1},
		{milliseconds, 5.001, 0}, // what two decimals do not show needs none
		{milliseconds, 5.12345, 2},
		{ratios, 1, 2}, // ratios always have two
		{counts, 7, 0},
	} {
		if got := c.form.decimals(c.v); got != c.want {
			t.Errorf("decimals(%v): got %d, want %d", c.v, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0 ms"},
		{250, "250 ns"},
		{50 * time.Microsecond, "50 µs"},
		{300 * time.Microsecond, "0.3 ms"},
		{5 * time.Millisecond, "5 ms"},
		{20125 * time.Microsecond, "20.12 ms"},
		{1184 * time.Millisecond, "1.18 s"},
		{30 * time.Second, "30 s"},
		{90 * time.Second, "90 s"},
		{2 * time.Minute, "2 min"},
		{150 * time.Second, "2 min 30 s"},
		{time.Hour, "60 min"},
	} {
		if got := duration(c.d); got != c.want {
			t.Errorf("duration(%v): got %q, want %q", c.d, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v             float64
		want, precise string
	}{
		{0, "0", "0"},
		{100, "100", "100"}, // zeros before the point stay
		{44, "44", "44"},
		{0.9853, "0.99", "0.9853"},
		{0.0147, "0.015", "0.0147"},
		{0.00001234, "0.000012", "0.000012"}, // small, and not 0
		{12345.678, "12,345.68", "12,345.68"},
		{-0.5, "-0.5", "-0.5"},
	} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v): got %q, want %q", c.v, got, c.want)
		}
		if got := precise(c.v); got != c.precise {
			t.Errorf("precise(%v): got %q, want %q", c.v, got, c.precise)
		}
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v       float64
		unit    string
		percent bool
		want    string
	}{
		{1184.06, "ms", false, "1.18 s"},
		{0.992, "", true, "99.2 %"}, // a share, held against a percentage
		{0.992, "", false, "0.992"},
		{70, "%", false, "70 %"},
		{3, "", false, "3"},
	} {
		if got := quantity(c.v, c.unit, c.percent); got != c.want {
			t.Errorf("quantity(%v, %q): got %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

// A sentence begins with a capital letter, but for a name.
func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"no request completed":     "No request completed.",
		"refused: nothing":         "Refused: nothing.",
		"one-sided, so half":       "One-sided, so half.",
		"p95 is censored":          "p95 is censored.",
		"p99-CI omitted":           "p99-CI omitted.",
		"p99.9: beyond":            "p99.9: beyond.",
		"attempts/offered is 0.":   "attempts/offered is 0.",
		"peak.requests is refused": "peak.requests is refused.",
		"62 % completed":           "62 % completed.",
		"active_after_drain is 1":  "active_after_drain is 1.",
		"Already so!":              "Already so!",
		"why?":                     "Why?",
		"  ":                       "",
		"—":                        "—.",
	} {
		if got := sentence(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
