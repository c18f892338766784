package chart

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Numbers on both sides of 0: with an interval, one that chance can explain, one
// without, one that is too far, limits, one that is refused.
var changed = Differences{
	Title: "What differs: retry", Value: Axis{Title: "B − A, in % of A", Unit: "%"}, Within: 200,
	Rows: []Difference{
		{Name: "outage.attempts/offered", Value: 29.7, Low: 27.2, High: 32.1, Text: "1 → 1.3 (+29.7 %)", Limits: []float64{10, -5}},
		{Name: "p95", Value: 7.2, Low: -20, High: 34, Doubtful: true},
		{Name: "recovery.p99 of a phase with a very long name of its own", Value: 4300, Low: 150, High: 8000, Text: "5 ms → 220 ms (+4,300 %)"},
		{Name: "completed/offered", Value: -12.5},
		{Name: "cost", Value: -250, Limits: []float64{300}},
		{Name: "whole.p99.9", Value: math.NaN(), Text: "refused"},
	},
	Interval: "95 % t-intervals", Note: "Two are not shown",
}

func TestGoldenDifferences(t *testing.T) {
	path := filepath.Join("testdata", "changes.svg")
	got := changed.SVG()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", path, diff)
	}
	if _, err := read(got); err != nil {
		t.Error(err)
	}
}

// Dots lie where the axis says: on a line through 0, left of it for less.
func TestDifferencesLieOnTheirAxis(t *testing.T) {
	dots := regexp.MustCompile(`<circle class="(?:mark|open) c0" cx="([0-9.]+)"`)
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-150, 150), 3, 8).Draw(rt, "values")
		c := Differences{Rows: []Difference{{Value: 0}, {Value: 100}}, Within: 200}
		for _, v := range values {
			c.Rows = append(c.Rows, Difference{Value: v})
		}
		var at []float64
		for _, m := range dots.FindAllStringSubmatch(c.SVG(), -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				rt.Fatal(err)
			}
			at = append(at, x)
		}
		if len(at) != len(c.Rows) {
			rt.Fatalf("%d dots of %d", len(at), len(c.Rows))
		}
		for i, r := range c.Rows {
			if want := at[0] + (at[1]-at[0])*r.Value/100; math.Abs(at[i]-want) > 0.3 {
				rt.Fatalf("%v lies at %v, not at %v", r.Value, at[i], want)
			}
		}
	})
}

// Whatever it is given, the chart is sound.
func TestAnyDifferences(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := Differences{Title: anyText().Draw(rt, "title"), Value: anyAxis(rt, "value"), Within: anyNumber().Draw(rt, "within"), Interval: anyText().Draw(rt, "interval"), Note: anyText().Draw(rt, "note")}
		for range rapid.IntRange(0, 70).Draw(rt, "rows") {
			c.Rows = append(c.Rows, Difference{
				Name: anyText().Draw(rt, "name"), Value: anyNumber().Draw(rt, "number"), Low: anyNumber().Draw(rt, "low"), High: anyNumber().Draw(rt, "high"),
				Text: anyText().Draw(rt, "text"), Doubtful: rapid.Bool().Draw(rt, "doubtful"), Limits: rapid.SliceOfN(anyNumber(), 0, 2).Draw(rt, "limits"),
			})
		}
		if _, err := read(c.SVG()); err != nil {
			rt.Fatal(err)
		}
	})
}
