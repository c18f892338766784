package analyze

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brunt/measure"

	"github.com/google/go-cmp/cmp"
)

// known is where the answers of package measure are.
const known = "../measure/testdata"

// table is a CSV file, a map from column to value a line.
func table(t testing.TB, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
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

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.17g, want %.17g", what, got, want)
	}
}

// analyzeText reads rows as they would stand in a file.
func analyzeText(t testing.TB, text string, o Options) *Analysis {
	t.Helper()
	a, err := Read(strings.NewReader(text), "rows", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// curve collects the points.
func curve(t testing.TB, a *Analysis, s *Stratum) (all []Point) {
	t.Helper()
	if err := a.Curve(s, func(p *Point) error { all = append(all, *p); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

var outcomes = map[string]string{"0": "censored", "1": "completed", "2": "errored"}

// oracle analyzes the rows of a known answer, which come in seconds. The horizon
// is the last time that was watched.
func oracle(t testing.TB, name string, o Options) *Analysis {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,outcome,time_ms,group\n")
	o.Horizon = 1
	for _, row := range table(t, filepath.Join(known, "rows", name+".csv")) {
		at := seconds(t, row["time"])
		o.Horizon = max(o.Horizon, at)
		fmt.Fprintf(&b, "%s,%s,%v,%s\n", row["id"], outcomes[row["status"]], at.Seconds()*1000, row["group"])
	}
	return analyzeText(t, b.String(), o)
}

func TestCurvesAgainstOracles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(known, "curves", "*.csv"))
	if err != nil || len(files) < 16 {
		t.Fatalf("found %d curves: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		t.Run(name, func(t *testing.T) {
			a := oracle(t, name, Options{})
			points, want := curve(t, a, a.Whole), table(t, file)
			if len(points) != len(want) {
				t.Fatalf("%d points, want %d", len(points), len(want))
			}
			for i, w := range want {
				p := points[i]
				whole := func(column string) int64 { return int64(number(t, w[column])) }
				got := []int64{int64(p.Time), p.AtRisk, p.Completed, p.Errored, p.Censored}
				counts := []int64{int64(seconds(t, w["time"])), whole("at_risk"), whole("completed"), whole("errored"), whole("censored")}
				if diff := cmp.Diff(counts, got); diff != "" {
					t.Fatalf("point %d (-want +got):\n%s", i, diff)
				}
				near(t, "incidence", p.Incidence, number(t, w["incidence"]), 1e-12)
				near(t, "outstanding", p.Outstanding, number(t, w["outstanding"]), 1e-12)
				near(t, "variance", p.Variance, number(t, w["variance"]), 1e-14)
			}
			last := want[len(want)-1]
			near(t, "final", a.Whole.Final, number(t, last["incidence"]), 1e-12)
			near(t, "ceiling", a.Whole.Ceiling, number(t, last["incidence"])+number(t, last["outstanding"]), 1e-12)
		})
	}
}

func TestVerdictsAgainstOracles(t *testing.T) {
	verdicts := map[string]measure.Status{"attained": measure.Reached, "greater_than": measure.Beyond, "unattainable": measure.Unattainable, "refused_empty": measure.Empty}
	for _, w := range table(t, filepath.Join(known, "verdicts.csv")) {
		q := measure.PPM(math.Round(number(t, w["q"]) * 1e6))
		got := oracle(t, w["curve"], Options{Quantiles: []measure.PPM{q}}).Whole.Quantiles[0]
		if got.Status != verdicts[w["verdict"]] {
			t.Errorf("%s %v: %s, want %s", w["curve"], q, got.Status, w["verdict"])
		} else if got.Status != measure.Reached && (got.Millis != nil || got.Reason == "") {
			t.Errorf("%s %v: a refusal with a time, or without words: %+v", w["curve"], q, got)
		} else if got.Status == measure.Reached && *got.Millis != measure.Millis(seconds(t, w["time"])) {
			t.Errorf("%s %v: %v, want %s s", w["curve"], q, *got.Millis, w["time"])
		}
	}
}

func TestGroupsAgainstOracles(t *testing.T) {
	a := oracle(t, "sim_random_horizon_400", Options{})
	var got []string
	for _, g := range a.Groups {
		got = append(got, g.Name)
	}
	if !slices.Equal(got, []string{"A", "B"}) {
		t.Fatalf("groups %v, want A and B", got)
	}
	points := map[string][]Point{"A": curve(t, a, a.Groups[0]), "B": curve(t, a, a.Groups[1])}
	rows := table(t, "testdata/groups.csv")
	if len(rows) != len(points["A"])+len(points["B"]) {
		t.Fatalf("%d and %d points, want %d", len(points["A"]), len(points["B"]), len(rows))
	}
	for _, w := range rows {
		p := points[w["group"]][0]
		points[w["group"]] = points[w["group"]][1:]
		if p.Time != seconds(t, w["time"]) || p.AtRisk != int64(number(t, w["at_risk"])) {
			t.Fatalf("group %s: %v with %d at risk, want %s s with %s", w["group"], p.Time, p.AtRisk, w["time"], w["at_risk"])
		}
		near(t, "incidence", p.Incidence, number(t, w["incidence"]), 1e-12)
		near(t, "outstanding", p.Outstanding, number(t, w["outstanding"]), 1e-12)
		near(t, "variance", p.Variance, number(t, w["variance"]), 1e-14)
	}
	// The cmprsk package of R, cuminc with rho = 0.
	if g := a.Gray; g.Statistic == nil || g.DF != 1 {
		t.Errorf("Gray's test: %+v", g)
	} else {
		near(t, "Gray's statistic", *g.Statistic, 0.895195202442187, 1e-9*0.9)
		near(t, "its p", *g.P, 0.344073329484021, 1e-9*0.4)
	}
}

// Half the requests fail at 0.5 s, half complete at 1 s. A percentile of the
// completed would say p90 = 1 s; no more than half ever complete.
func TestErrorsAreNotFast(t *testing.T) {
	a := analyzeText(t, "time_ms,outcome\n"+strings.Repeat("500,errored\n1000,completed\n", 50), Options{Horizon: 30 * time.Second})
	points := curve(t, a, a.Whole)
	if last := points[len(points)-1]; last.Time != time.Second || last.Incidence != 0.5 || a.Whole.Final != 0.5 || a.Whole.Ceiling != 0.5 {
		t.Errorf("incidence at %v is %v, final %v, ceiling %v", last.Time, last.Incidence, a.Whole.Final, a.Whole.Ceiling)
	}
	want := measure.Quantile{Q: 0.9, Status: measure.Unattainable, Reason: "50 % completed, and at most 50 % could have"}
	if diff := cmp.Diff(want, a.Whole.Quantiles[1].Quantile); diff != "" {
		t.Errorf("p90 (-want +got):\n%s", diff)
	}
	if len(a.Whole.Points) != 2 || a.Whole.Points[0].ErroredSoFar != 50 || a.Whole.Points[1] != points[1] {
		t.Errorf("points for a table: %+v", a.Whole.Points)
	}
	if q := a.Whole.Quantiles[0]; q.Status != measure.Reached || *q.Millis != measure.Millis(time.Second) {
		t.Errorf("p50: %+v", q)
	}
}

// The interval of a quantile stands at the ranks that measures.md names: for a
// thousand requests p95 at [936, 964] and p99 at [983, 997].
func TestIntervalRanks(t *testing.T) {
	var b strings.Builder
	b.WriteString("outcome,time_ms\n")
	for i := 1000; i >= 1; i-- {
		fmt.Fprintf(&b, "completed,%d\n", i)
	}
	a := analyzeText(t, b.String(), Options{Quantiles: []measure.PPM{950_000, 990_000, 999_000}})
	for i, want := range [][2]time.Duration{{936, 964}, {983, 997}} {
		got := a.Whole.Quantiles[i].Interval
		if got.Lower == nil || *got.Lower.Millis != measure.Millis(want[0]*time.Millisecond) || *got.Upper.Millis != measure.Millis(want[1]*time.Millisecond) {
			t.Errorf("interval %d is %+v, want %v", i, got, want)
		}
	}
	if got := a.Whole.Quantiles[2].Interval.Reason; got != "p99.9-CI omitted (sample budget insufficient: 3688 needed, 1000 scheduled)" {
		t.Errorf("p99.9: %s", got)
	}
}

// A bound is a verdict where its rank falls on a request that did not complete.
// The last request that was outstanding is still beyond, the next unattainable.
func TestIntervalVerdicts(t *testing.T) {
	lower, upper := measure.RankInterval(500_000, 100)
	text := func(completed, censored int64) string {
		return "outcome,time_ms\n" + strings.Repeat("completed,1\n", int(completed)) + strings.Repeat("censored,1000\n", int(censored)) +
			strings.Repeat("errored,2\n", int(100-completed-censored))
	}
	cases := []struct {
		completed, outstanding int64
		low, high              measure.Status
	}{
		{upper, 0, measure.Reached, measure.Reached},
		{upper - 1, 1, measure.Reached, measure.Beyond},
		{upper - 1, 0, measure.Reached, measure.Unattainable},
		{lower, upper - lower, measure.Reached, measure.Beyond},
		{lower - 1, upper - lower, measure.Beyond, measure.Unattainable},
		{lower - 1, 0, measure.Unattainable, measure.Unattainable},
	}
	for _, c := range cases {
		a := analyzeText(t, text(c.completed, c.outstanding), Options{Horizon: time.Second, Quantiles: []measure.PPM{500_000}})
		if got := a.Whole.Quantiles[0].Interval; got.Lower.Status != c.low || got.Upper.Status != c.high {
			t.Errorf("%d completed, %d outstanding: %s to %s, want %s to %s", c.completed, c.outstanding, got.Lower.Status, got.Upper.Status, c.low, c.high)
		}
	}
}

// The table of a long curve stands at round times from where completions begin
// to the horizon, and holds what had happened by then, for every stratum.
func TestRoundTimes(t *testing.T) {
	var b strings.Builder
	b.WriteString("outcome,time_ms,group\n")
	for i := 1; i <= 1000; i++ {
		fmt.Fprintf(&b, "completed,%d,%c\n", i, "ab"[i%2])
	}
	b.WriteString("completed,5000,a\n")
	for most, want := range map[int]string{
		3:  "[1s 2s 5s]",
		6:  "[10ms 100ms 1s 2s 5s]",
		12: "[10ms 20ms 50ms 100ms 200ms 500ms 1s 2s 5s]",
		20: "[10ms 15ms 20ms 30ms 40ms 50ms 60ms 80ms 100ms 150ms 200ms 300ms 400ms 500ms 600ms 800ms 1s 1.5s 2s 5s]",
	} {
		a := analyzeText(t, b.String(), Options{Horizon: 2 * time.Second, Points: most})
		var got []time.Duration
		for _, p := range a.Whole.Points {
			got = append(got, p.Time)
			if by := min(int64(p.Time/time.Millisecond), 1000) + int64(p.Time/(5*time.Second)); p.CompletedSoFar != by {
				t.Errorf("%d completed by %v, want %d", p.CompletedSoFar, p.Time, by)
			}
		}
		if fmt.Sprint(got) != want || len(a.Groups[1].Points) != len(got) {
			t.Errorf("at most %d: %v, want %s", most, got, want)
		}
	}
}
