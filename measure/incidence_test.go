package measure

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// table is a CSV file, a map from column to value a line.
func table(t testing.TB, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func seconds(t testing.TB, s string) time.Duration {
	return time.Duration(math.Round(number(t, s) * 1e9))
}

var statuses = map[string]record.Outcome{"0": record.Censored, "1": record.Completed, "2": record.Errored}

func observations(t testing.TB, name string) []Observation {
	var rows []Observation
	for _, row := range table(t, "rows/"+name+".csv") {
		rows = append(rows, Observation{Time: seconds(t, row["time"]), Outcome: statuses[row["status"]]})
	}
	return rows
}

func curveNames(t testing.TB) []string {
	files, err := filepath.Glob("testdata/curves/*.csv")
	if err != nil || len(files) < 16 {
		t.Fatalf("found %d curves: %v", len(files), err)
	}
	for i := range files {
		files[i] = strings.TrimSuffix(filepath.Base(files[i]), ".csv")
	}
	return files
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// swapped exchanges completions and errors.
func swapped(rows []Observation) []Observation {
	other := slices.Clone(rows)
	for i := range other {
		switch other[i].Outcome {
		case record.Completed:
			other[i].Outcome = record.Errored
		case record.Errored:
			other[i].Outcome = record.Completed
		}
	}
	return other
}

func TestCurveAgainstOracles(t *testing.T) {
	for _, name := range curveNames(t) {
		t.Run(name, func(t *testing.T) {
			rows := observations(t, name)
			curve := NewCurve(rows, 0)
			errors := NewCurve(swapped(rows), 0)
			want := table(t, "curves/"+name+".csv")
			if len(curve.Points) != len(want) {
				t.Fatalf("%d points, want %d", len(curve.Points), len(want))
			}
			for i, w := range want {
				p := curve.Points[i]
				whole := func(column string) int64 { return int64(number(t, w[column])) }
				got := []int64{int64(p.Time), p.AtRisk, p.Completed, p.Errored, p.Censored}
				counts := []int64{int64(seconds(t, w["time"])), whole("at_risk"), whole("completed"), whole("errored"), whole("censored")}
				if diff := cmp.Diff(counts, got); diff != "" {
					t.Fatalf("point %d (-want +got):\n%s", i, diff)
				}
				near(t, "incidence", p.Incidence, number(t, w["incidence"]), 1e-12)
				near(t, "errors", p.Errors, number(t, w["errors"]), 1e-12)
				near(t, "errors, as incidence", errors.Points[i].Incidence, number(t, w["errors"]), 1e-12)
				near(t, "outstanding", p.Outstanding, number(t, w["outstanding"]), 1e-12)
				near(t, "variance", p.Variance, number(t, w["variance"]), 1e-14)
				near(t, "variance of errors", errors.Points[i].Variance, number(t, w["errors_variance"]), 1e-14)
				if w["loglog_low"] != "" {
					limits, ok := curve.LogLog(i)
					if !ok {
						t.Fatalf("point %d has no log-log limits", i)
					}
					near(t, "log-log low", limits.Low, number(t, w["loglog_low"]), 1e-10)
					near(t, "log-log high", limits.High, number(t, w["loglog_high"]), 1e-10)
				}
			}
		})
	}
}

func TestVerdictsAgainstOracles(t *testing.T) {
	names := map[string]Status{"attained": Reached, "greater_than": Beyond, "unattainable": Unattainable, "refused_empty": Empty}
	for _, w := range table(t, "verdicts.csv") {
		q := PPM(math.Round(number(t, w["q"]) * 1e6))
		curve := NewCurve(observations(t, w["curve"]), 0)
		got := curve.Quantile(q)
		if got.Status != names[w["verdict"]] {
			t.Errorf("%s %v: %s, want %s", w["curve"], q, got.Status, w["verdict"])
			continue
		}
		if got.Status == Reached {
			if want := Millis(seconds(t, w["time"])); *got.Millis != want {
				t.Errorf("%s %v: %v, want %v", w["curve"], q, *got.Millis, want)
			}
		} else if got.Millis != nil || got.Reason == "" {
			t.Errorf("%s %v: a refusal with a time, or without words: %+v", w["curve"], q, got)
		}
		if w["ceiling"] != "" {
			near(t, "ceiling", curve.Ceiling(), number(t, w["ceiling"]), 1e-12)
		}
	}
}

// Half the requests fail at 0.5 s, half complete at 1 s. A percentile of the
// completed would say p90 = 1 s; no more than half ever complete.
func TestErrorsAreNotFast(t *testing.T) {
	var rows []Observation
	for range 50 {
		rows = append(rows,
			Observation{Time: time.Second / 2, Outcome: record.Errored},
			Observation{Time: time.Second, Outcome: record.Completed})
	}
	c := NewCurve(rows, 30*time.Second)
	if c.Final() != 0.5 || c.Ceiling() != 0.5 {
		t.Errorf("final %v, ceiling %v, want 0.5 and 0.5", c.Final(), c.Ceiling())
	}
	if q := c.Quantile(500_000); q.Status != Reached || *q.Millis != Millis(time.Second) {
		t.Errorf("p50: %+v", q)
	}
	want := Quantile{Q: 0.9, Status: Unattainable, Reason: "50 % completed, and at most 50 % could have"}
	if diff := cmp.Diff(want, c.Quantile(900_000)); diff != "" {
		t.Errorf("p90 (-want +got):\n%s", diff)
	}
}

// A completion after the horizon, from another tool's rows, stays on the curve
// and satisfies no quantile.
func TestCompletionAfterTheHorizon(t *testing.T) {
	rows := []Observation{{Time: 1, Outcome: record.Completed}, {Time: 12, Outcome: record.Completed}}
	c := NewCurve(rows, 10)
	if c.Final() != 1 {
		t.Errorf("final %v, want 1", c.Final())
	}
	if q := c.Quantile(500_000); q.Status != Reached {
		t.Errorf("p50: %+v", q)
	}
	if q := c.Quantile(500_001); q.Status != Beyond {
		t.Errorf("p50.0001: %+v", q)
	}
}

// observed draws rows with many ties.
func observed(t *rapid.T) []Observation {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Observation {
		return Observation{
			Time:    time.Duration(rapid.IntRange(0, 12).Draw(t, "time")),
			Outcome: rapid.SampledFrom([]record.Outcome{record.Completed, record.Errored, record.Censored}).Draw(t, "outcome"),
		}
	}), 1, 60).Draw(t, "rows")
}

func TestCurveLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := observed(t)
		c := NewCurve(rows, 12)
		last := Point{Time: -1, Outstanding: 1}
		for _, p := range c.Points {
			if sum := p.Incidence + p.Errors + p.Outstanding; math.Abs(sum-1) > 1e-12 {
				t.Fatalf("completed + errored + outstanding = %v at %v", sum, p.Time)
			}
			if p.Time <= last.Time || p.Incidence < last.Incidence || p.Errors < last.Errors || p.Outstanding > last.Outstanding {
				t.Fatalf("not monotone: %+v after %+v", p, last)
			}
			last = p
		}
		// A quantile is no earlier than a lower one, and its verdict no better.
		worse := map[Status]int{Reached: 0, Beyond: 1, Unattainable: 2}
		before := Quantile{Status: Reached, Millis: new(Millis)}
		for q := PPM(0); q <= Million; q += 31_250 {
			v := c.Quantile(q)
			if worse[v.Status] < worse[before.Status] || v.Status == Reached && *v.Millis < *before.Millis {
				t.Fatalf("%v: %+v after %+v", q, v, before)
			}
			before = v
		}
		permuted := rapid.Permutation(rows).Draw(t, "permuted")
		if diff := cmp.Diff(c, NewCurve(permuted, 12), cmp.AllowUnexported(Curve{}, Point{})); diff != "" {
			t.Fatalf("the order of rows changes the curve:\n%s", diff)
		}
	})
}

// Where only the horizon censors, the curve is plain counting, and its
// variance and band those of a share.
func TestCurveWithoutEarlyCensoringIsCounting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := observed(t)
		for i := range rows {
			if rows[i].Outcome == record.Censored {
				rows[i].Time = 12
			}
		}
		c := NewCurve(rows, 12)
		if c.CensoredBeforeHorizon != 0 || !c.plain {
			t.Fatalf("%d censored before the horizon, plain %v", c.CensoredBeforeHorizon, c.plain)
		}
		n, k := float64(len(rows)), int64(0)
		for i, p := range c.Points {
			k += p.Completed
			f := float64(k) / n
			if math.Abs(p.Incidence-f) > 1e-12 || math.Abs(p.Variance-f*(1-f)/n) > 1e-14 {
				t.Fatalf("F %v Var %v, want %v %v", p.Incidence, p.Variance, f, f*(1-f)/n)
			}
			want, err := ClopperPearson(k, int64(len(rows)))
			if got := c.Band(i); err != nil || got != want {
				t.Fatalf("band %v, want %v (%v)", got, want, err)
			}
		}
	})
}

// The estimate does not get worse where a million requests tie or not.
func TestVarianceOfManyRequests(t *testing.T) {
	rows := make([]Observation, 200_000)
	for i := range rows {
		rows[i] = Observation{Time: time.Duration(i), Outcome: record.Completed}
		if i%10 == 0 {
			rows[i].Outcome = record.Errored
		}
	}
	c := NewCurve(rows, 0)
	for _, i := range []int{0, 1, 1000, 100_000, 199_990, 199_999} {
		p := c.Points[i]
		want := p.Incidence * (1 - p.Incidence) / float64(len(rows))
		near(t, "variance", p.Variance, want, 1e-9*want+1e-20)
	}
}

func TestBand(t *testing.T) {
	// Four are censored at 1, 2, 3, 4; one completes at 5. There F jumps from 0
	// to 1 with one at risk; at 4 two were at risk and none had completed.
	c := NewCurve(observations(t, "edge_all_censored_before_event"), 0)
	got := c.Band(4)
	near(t, "low at F = 1", got.Low, 0.025, 1e-10)
	near(t, "high at F = 1", got.High, 1, 0)
	if got := c.Band(3); got.Low != 0 || math.Abs(got.High-(1-math.Sqrt(0.025))) > 1e-10 {
		t.Errorf("band at F = 0 with two at risk: %v", got)
	}
	// The last event, an error, had four at risk; censorings after it tell no more.
	c = NewCurve([]Observation{{1, record.Censored}, {2, record.Errored}, {3, record.Censored}, {4, record.Censored}, {4, record.Censored}}, 0)
	near(t, "high at F = 0", c.Band(3).High, 1-math.Pow(0.025, 0.25), 1e-10)
	// Censored before the event: fewer effective requests than scheduled, so
	// the band is that of F*n_eff in n_eff.
	c = NewCurve(observations(t, "edge_three_way_ties"), 0)
	p := c.Points[2]
	n := p.Incidence * (1 - p.Incidence) / p.Variance
	if n >= 12 || n < 6 {
		t.Fatalf("%v effective requests of 12", n)
	}
	if got, want := c.Band(2), clopperPearson(n*p.Incidence, n); got != want {
		t.Errorf("band %v, want %v", got, want)
	}
}
