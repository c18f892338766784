package measure

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func scalars(xs ...float64) []Scalar {
	var list []Scalar
	for _, x := range xs {
		list = append(list, Scalar{Value: x})
	}
	return list
}

func TestSpreadAgainstOracles(t *testing.T) {
	var want struct {
		T     map[string]float64 `json:"t_crit_975"`
		Cases []struct {
			X                []float64
			Mean, SD, Lo, Hi *float64
		}
	}
	readJSON(t, "t_intervals.json", &want)
	for df := range 30 {
		name := string(must(json.Marshal(df + 1)))
		near(t, "t of "+name, tQuantile(df+1), want.T[name], 1e-13*want.T[name]*10)
	}
	if len(want.Cases) < 6 {
		t.Fatalf("%d cases", len(want.Cases))
	}
	for _, c := range want.Cases {
		got := SpreadOf("x", scalars(c.X...), false)
		if c.Lo == nil {
			if got.Low != nil || got.High != nil || got.SD != nil || !strings.Contains(got.Reason, "fewer than 2 repeats") || *got.Mean != c.X[0] {
				t.Errorf("%v: %+v", c.X, got)
			}
			continue
		}
		near(t, "mean", *got.Mean, *c.Mean, 1e-12)
		near(t, "sd", *got.SD, *c.SD, 1e-12)
		near(t, "low", *got.Low, *c.Lo, 1e-10)
		near(t, "high", *got.High, *c.Hi, 1e-10)
		if (got.Flag != "") != (*c.SD == 0) {
			t.Errorf("%v: flag %q", c.X, got.Flag)
		}
	}
	if math.Abs(tQuantile(4)-2.776445105197793) > 1e-14 {
		t.Errorf("t of 4 is %.17g", tQuantile(4))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestSpread(t *testing.T) {
	beyond := Scalar{Refused: "beyond", Beyond: true}
	unattainable := Scalar{Refused: "unattainable", Beyond: true}
	unknown := Scalar{Refused: "empty"}
	tests := []struct {
		name    string
		repeats []Scalar
		heavy   bool
		want    Spread
	}{
		{"values in the order of repeats, verdicts in order of size", scalars(3, 1, 2), true, Spread{Name: "x", N: 3, Lead: LeadMedian,
			Values: []*float64{of(3.0), of(1.0), of(2.0)}, Verdicts: []string{"1", "2", "3"},
			Median: of(2.0), Least: of(1.0), Most: of(3.0), Mean: of(2.0), SD: of(1.0), Low: of(-0.48413771175033), High: of(4.48413771175033)}},
		{"even number", scalars(4, 1, 2, 3), false, Spread{Name: "x", N: 4, Lead: LeadMean,
			Values: []*float64{of(4.0), of(1.0), of(2.0), of(3.0)}, Verdicts: []string{"1", "2", "3", "4"},
			Median: of(2.5), Least: of(1.0), Most: of(4.0), Mean: of(2.5), SD: of(1.2909944487358056), Low: of(0.445739743239121), High: of(4.554260256760879)}},
		// A mean of the four that recovered would reward the one that did not.
		{"one beyond", []Scalar{{Value: 3}, beyond, {Value: 1}, {Value: 2}, {Value: 5}}, false, Spread{Name: "x", N: 5, Refused: 1, Lead: LeadMedian,
			Values: []*float64{of(3.0), nil, of(1.0), of(2.0), of(5.0)}, Verdicts: []string{"1", "2", "3", "5", "beyond"},
			Median: of(3.0), Least: of(1.0), Reason: "no mean: refused in 1 of 5 repeats: 1, 2, 3, 5, beyond"}},
		{"most beyond", []Scalar{unattainable, beyond, {Value: 1}}, false, Spread{Name: "x", N: 3, Refused: 2, Lead: LeadMedian,
			Values: []*float64{nil, nil, of(1.0)}, Verdicts: []string{"1", "beyond", "unattainable"},
			Least: of(1.0), Reason: "no mean: refused in 2 of 3 repeats: 1, beyond, unattainable"}},
		// Half of four: the upper of the two in the middle is not known.
		{"even, half beyond", []Scalar{unattainable, beyond, {Value: 1}, {Value: 2}}, false, Spread{Name: "x", N: 4, Refused: 2, Lead: LeadMedian,
			Values: []*float64{nil, nil, of(1.0), of(2.0)}, Verdicts: []string{"1", "2", "beyond", "unattainable"},
			Least: of(1.0), Reason: "no mean: refused in 2 of 4 repeats: 1, 2, beyond, unattainable"}},
		// Nothing is known of the size of one: there is no order, and no median.
		{"not comparable", []Scalar{{Value: 1}, unknown, {Value: 2}}, false, Spread{Name: "x", N: 3, Refused: 1, Lead: LeadMedian,
			Values: []*float64{of(1.0), nil, of(2.0)}, Verdicts: []string{"1", "2", "empty"},
			Reason: "no mean: refused in 1 of 3 repeats: 1, 2, empty"}},
		{"all refused", []Scalar{beyond, beyond}, false, Spread{Name: "x", N: 2, Refused: 2, Lead: LeadMedian,
			Values: []*float64{nil, nil}, Verdicts: []string{"beyond", "beyond"}, Reason: "no mean: refused in 2 of 2 repeats: beyond, beyond"}},
		{"no number", scalars(math.NaN(), 1), false, Spread{Name: "x", N: 2, Refused: 1, Lead: LeadMedian,
			Values: []*float64{nil, of(1.0)}, Verdicts: []string{"1", "no number"}, Reason: "no mean: refused in 1 of 2 repeats: 1, no number"}},
		{"none", nil, false, Spread{Name: "x", Lead: LeadMean, Values: []*float64{}, Verdicts: []string{}, Reason: "no repeats"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, SpreadOf("x", test.repeats, test.heavy), cmpopts.EquateApprox(0, 1e-10)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestScalarOf(t *testing.T) {
	c := NewCurve(append(latencyObservations(50), Observation{Time: time.Second, Outcome: 2}), time.Second)
	tests := []struct {
		q    Quantile
		want Scalar
	}{
		{c.Quantile(500_000), Scalar{Value: 26}},
		{c.Quantile(990_000), Scalar{Refused: "beyond", Beyond: true}},
		{Quantile{Status: Unattainable}, Scalar{Refused: "unattainable", Beyond: true}},
		{Quantile{Status: Empty}, Scalar{Refused: "empty"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, ScalarOf(test.q)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.q.Status, diff)
		}
	}
}

func latencyObservations(n int) []Observation { return uniform(n, 0, 0) }

func TestRateOf(t *testing.T) {
	tests := []struct {
		name          string
		k, n          int64
		deterministic bool
		share         *float64
		interval      bool
		reason        string
	}{
		{"with chance", 3, 10, false, of(0.3), true, ""},
		{"none of some", 0, 10, false, of(0.0), true, ""},
		{"deterministic", 3, 10, true, of(0.3), false, "the run is deterministic"},
		{"of nothing", 0, 0, false, nil, false, "nothing was counted"},
		{"of nothing, deterministic", 0, 0, true, nil, false, "nothing was counted"},
		{"more than all", 11, 10, false, nil, false, "11 is no part of 10"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := RateOf(test.k, test.n, test.deterministic)
			if diff := cmp.Diff(test.share, r.Share); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (r.Low != nil) != test.interval || (r.High != nil) != test.interval || !strings.Contains(r.Reason, test.reason) || (r.Reason == "") != (test.reason == "") {
				t.Errorf("%+v", r)
			}
			if test.interval {
				if want, err := ClopperPearson(test.k, test.n); err != nil || (Interval{*r.Low, *r.High}) != want {
					t.Errorf("%v to %v, want %v", *r.Low, *r.High, want)
				}
			}
		})
	}
}
