package report

import "testing"

func TestScale(t *testing.T) {
	for _, c := range []struct {
		measure string
		v       float64
		spread  float64
		want    string
	}{
		{"p95", 1234.5678, 96, "1,235 ms"},              // a quantile of the curve is a time
		{"submitted.p99", 12.345, 0.96, "12.3 ms"},      // so is a percentile
		{"completed.max", 12.345, 0.13, "12.35 ms"},     // a spread that begins with 1 has two digits
		{"completed/offered", 0.98765, 0.004, "98.8 %"}, // a share is in percent, and its spread too
		{"availability", 0.99996, 0.004, "> 99.9 %"},    // not quite all is not all
		{"errored/offered", 0.00001, 0.004, "< 0.1 %"},  // little is not nothing
		{"attempts/offered", 2.9993, 0.002, "2.9993"},   // a ratio that may be above 1 is none
		{"recovery", 250, 0, "250 ms"},                  // no spread: as many as the number needs
		{"peak.requests", 31, 0, "31"},                  // p… but no percentile
		{"herd.peak", 31, 0, "31"},
		{"calls.p50", 7, 0, "7"},                  // a dependency of that name
		{"completed", 2996, 0, "2,996"},           // a count
		{"cleanup.p99", 20.5, 0, "20.5 ms"},       // times of attempts
		{"errored.timeout", 0.5, 0.2, "0.50"},     // a mean count of a cause
		{"first_token.p50", 651.2, 0, "651.2 ms"}, // of streams
	} {
		s := scaleOf(c.measure)
		if got := s.text(c.v, s.decimals(c.spread)); got != c.want {
			t.Errorf("%s %v ± %v: got %q, want %q", c.measure, c.v, c.spread, got, c.want)
		}
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		measure string
		v       float64
		want    string
	}{
		{"p95", 12.5, "+12.5 ms"},
		{"p95", -12.5, "−12.5 ms"},
		{"p95", 0, "0 ms"},
		{"completed/offered", -0.0125, "−1.25 pp"}, // of two percentages: points
	} {
		if got := scaleOf(c.measure).change(c.v, asNeeded); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.measure, c.v, got, c.want)
		}
	}
}

// A title is split at its last space: a phase may have some, a measure none.
func TestNamed(t *testing.T) {
	for title, want := range map[string][3]string{
		"whole p95":               {"p95", "", "p95"},
		"outage attempts/offered": {"outage.attempts/offered", "outage", "attempts/offered"},
		"long name submitted.p95": {"long name.submitted.p95", "long name", "submitted.p95"},
		"p95":                     {"p95", "", "p95"},
	} {
		name, phase, measure := named(title)
		if got := [3]string{name, phase, measure}; got != want {
			t.Errorf("%q: got %q, want %q", title, got, want)
		}
	}
}
