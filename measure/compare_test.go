package measure

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCompareAgainstOracle(t *testing.T) {
	var want struct {
		A, B       []float64
		Mean, T, P float64
		Lo, Hi     float64
	}
	readJSON(t, "paired.json", &want)
	got := Compare("x", scalars(want.B...), scalars(want.A...)) // the oracle takes A - B
	near(t, "mean", *got.Mean, want.Mean, 1e-12)
	near(t, "low", *got.Low, want.Lo, 1e-10)
	near(t, "high", *got.High, want.Hi, 1e-10)
	near(t, "t", *got.T, want.T, 1e-9*want.T)
	near(t, "p", *got.P, want.P, 1e-9*want.P)
	// By hand: sums of squares 1.388 and 2.072, of products 1.614, of the
	// differences .232.
	near(t, "correlation", *got.Correlation, 1.614/math.Sqrt(1.388*2.072), 1e-12)
	near(t, "variance saved", *got.Saved, 1-.232/(1.388+2.072), 1e-12)
	if got.Verdict != Differs || got.N != 5 || got.Reason != "" || got.Flag != "" {
		t.Errorf("%+v", got)
	}
}

func TestCompare(t *testing.T) {
	refused := Scalar{Refused: "beyond", Beyond: true}
	tests := []struct {
		name    string
		a, b    []Scalar
		verdict Verdict
		reason  string
		flag    bool
	}{
		{"differs", scalars(1, 2, 3), scalars(11, 12.5, 13), Differs, "", false},
		{"the other way round", scalars(11, 12.5, 13), scalars(1, 2, 3), Differs, "", false},
		{"noise", scalars(1, 2, 3), scalars(2, 1, 3.1), NoDifference, "", false},
		// An interval that ends at 0 holds it.
		{"no difference at all", scalars(1, 2, 3), scalars(1, 2, 3), NoDifference, "", true},
		{"the same difference each time", scalars(1, 2, 3), scalars(2, 3, 4), Differs, "", true},
		{"one side constant", scalars(1, 1, 1), scalars(11, 12, 13), Differs, "no correlation", false},
		{"one pair", scalars(1), scalars(2), Descriptive, "one pair", false},
		{"no pairs", nil, nil, Refused, "no pairs", false},
		{"unequal lengths", scalars(1, 2), scalars(1), Refused, "2 and 1 values are no pairs", false},
		// The pairs that are left would be those in which all went well.
		{"one refused", scalars(1, 2, 3), []Scalar{{Value: 2}, refused, {Value: 4}}, Refused, "in 1 of 3 pairs", false},
		{"not a number", scalars(1, 2), scalars(1, math.NaN()), Refused, "in 1 of 2 pairs", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := Compare("x", test.a, test.b)
			if got.Verdict != test.verdict || !strings.Contains(got.Reason, test.reason) || (got.Reason == "") != (test.reason == "") || (got.Flag != "") != test.flag {
				t.Errorf("%+v", got)
			}
			if known := got.Verdict != Refused; known != (got.Mean != nil) || (got.Low != nil) != (known && got.N > 1) {
				t.Errorf("mean %v, low %v of a comparison that is %s", got.Mean, got.Low, got.Verdict)
			}
			if _, err := json.Marshal(got); err != nil { // no NaN and no infinity
				t.Error(err)
			}
		})
	}
}

func TestBeyond(t *testing.T) {
	tests := []struct {
		name          string
		a, b          []Scalar
		limit         float64
		deterministic bool
		want          Regression
	}{
		{"over", scalars(10, 11, 12), scalars(12, 13.1, 14), .1, false, OverLimit},
		{"within", scalars(10, 11, 12), scalars(10.5, 11.6, 12.5), .1, false, WithinLimit},
		{"exactly at the limit", scalars(10), scalars(11), .1, true, WithinLimit},
		{"better", scalars(10, 11, 12), scalars(5, 6.1, 7), .1, false, WithinLimit},
		{"over, but noise", scalars(10, 11, 12), scalars(9, 20, 9), .1, false, Noise},
		{"fell short", scalars(10, 11, 12), scalars(5, 6.1, 7), -.1, false, OverLimit},
		{"rose, where a fall is judged", scalars(10, 11, 12), scalars(12, 13.1, 14), -.1, false, WithinLimit},
		{"one pair with chance", scalars(10), scalars(20), .1, false, Unclear},
		{"one pair without", scalars(10), scalars(20), .1, true, OverLimit},
		{"from nothing", scalars(0), scalars(1), .1, true, OverLimit},
		{"refused", scalars(10), nil, .1, true, Unclear},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Compare("x", test.a, test.b).Beyond(test.limit, test.deterministic); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// The oracle drops a refused comparison; we keep it in the number planned, so
// its case is asked for with as many as it took.
func TestHolmAgainstOracles(t *testing.T) {
	var cases []struct{ P, Holm []*float64 }
	readJSON(t, "holm.json", &cases)
	if len(cases) < 6 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		known := func(p []*float64) (list []*float64) {
			for _, x := range p {
				if x != nil {
					list = append(list, x)
				}
			}
			return list
		}
		p := known(c.P)
		got, err := Holm(p, len(p))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(known(c.Holm), got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestHolm(t *testing.T) {
	got, err := Holm([]*float64{of(.001), of(.8), nil, of(.02)}, 4)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*float64{of(.004), of(1.0), nil, of(.06)}, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("a refused one stays in the number (-want +got):\n%s", diff)
	}
	for name, bad := range map[string][]*float64{"more than planned": {of(.1), of(.2)}, "above 1": {of(1.1)}, "below 0": {of(-.1)}, "no number": {of(math.NaN())}} {
		if _, err := Holm(bad, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
