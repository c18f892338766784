package chart

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

var nan = math.NaN()

// curve makes a line of n points from a function of x.
func curve(n int, from, to float64, y func(x float64) float64) []Point {
	points := make([]Point, n)
	for i := range points {
		x := from + (to-from)*float64(i)/float64(n-1)
		points[i] = Point{X: x, Y: y(x)}
	}
	return points
}

// around puts an interval around each point.
func around(points []Point, half float64) []Point {
	for i, p := range points {
		points[i].Low, points[i].High = p.Y-half, p.Y+half
	}
	return points
}

// without takes the numbers of some points.
func without(points []Point, at ...int) []Point {
	for _, i := range at {
		points[i] = Point{points[i].X, nan, nan, nan}
	}
	return points
}

func cells(rows, columns int, value func(row, column int) float64) [][]float64 {
	all := make([][]float64, rows)
	for r := range all {
		for c := range columns {
			all[r] = append(all[r], value(r, c))
		}
	}
	return all
}

func series(n int) []Series {
	var all []Series
	for i := range n {
		all = append(all, Series{Name: fmt.Sprintf("composition-%d", i+1), Points: curve(12, 50, 500, func(x float64) float64 {
			return float64(i+1) * (1 + x/500)
		})})
	}
	return all
}

// charts are drawn into testdata, and looked at by people after a change.
var charts = []struct {
	name string
	svg  func() string
}{
	// A measure over one setting: bands, gaps in the middle and at an end, a
	// point that stands alone.
	{"lines", Lines{
		Title: "Goodput over offered load",
		X:     Axis{Title: "load.rate", Unit: "requests/s"},
		Y:     Axis{Title: "completed/offered", Better: Higher, Include: []float64{0, 1}},
		Series: []Series{
			{Name: "retry", Points: around(curve(10, 50, 500, func(x float64) float64 { return 1 / (1 + math.Exp((x-250)/30)) }), 0.04)},
			{Name: "retry-breaker", Points: without(around(curve(10, 50, 500, func(x float64) float64 { return 0.95 - x/1500 }), 0.03), 4, 5)},
			{Name: "limit-retry-breaker", Points: without(around(curve(10, 50, 500, func(x float64) float64 { return 0.9 - x/4000 }), 0.02), 7, 9)},
		},
		Interval: "95 % interval of the mean over 20 seeds",
	}.SVG},
	// Two minutes in phases, milliseconds read as seconds, a level to return to, long
	// lines that are thinned.
	{"phases", Lines{
		Title: "Attempts in flight while the service slows, fails and recovers",
		X:     Axis{Title: "time", Unit: Milliseconds},
		Y:     Axis{Title: "attempts in flight"},
		Series: []Series{
			{Name: "retry", Points: curve(20_000, 0, 120_000, func(x float64) float64 { return 300 + 200*math.Sin(x/9_000) + 60*math.Sin(x*7) })},
			{Name: "retry-breaker", Points: curve(20_000, 0, 120_000, func(x float64) float64 { return 1500 * math.Exp(-math.Pow((x-60_000)/20_000, 2)) })},
		},
		Spans: []Span{{0, 30_000, "healthy"}, {30_000, 60_000, "slowdown"}, {60_000, 90_000, "outage"}, {90_000, 93_000, "blip"},
			{93_000, 120_000, "recovery <with> & a name that is longer than its place"}},
		Limits: []Mark{{1000, "permits: 1,000"}},
	}.SVG},
	// Both axes logarithmic; one number is not above 0.
	{"logarithmic", Lines{
		Title: "Time to an answer over callers",
		X:     Axis{Title: "callers", Log: true},
		Y:     Axis{Title: "p99", Unit: Milliseconds, Log: true, Better: Lower},
		Series: []Series{
			{Name: "shared", Points: []Point{{X: 1, Y: 3}, {X: 10, Y: 4}, {X: 100, Y: 60}, {X: 1000, Y: 900}, {X: 10_000, Y: 9_500}}},
			{Name: "per caller", Points: []Point{{X: 1, Y: 3}, {X: 10, Y: 0}, {X: 100, Y: 5}, {X: 1000, Y: 7}, {X: 10_000, Y: 6}}},
		},
	}.SVG},
	// Every colour, dash and mark, and a legend of several lines.
	{"many", Lines{
		Title:  "Ten compositions",
		X:      Axis{Title: "load.rate", Unit: "requests/s"},
		Y:      Axis{Title: "attempts/offered", Better: Lower},
		Series: series(10),
	}.SVG},
	{"empty", Lines{Title: "Nothing was measured", Series: []Series{{Name: "retry", Points: []Point{{X: 1, Y: nan}}}}}.SVG},
	// Names across and down, written values, two refused ones.
	{"heatmap", HeatMap{
		Title: "p99 by policy and fault",
		X:     Levels{Title: "fault", Names: []string{"slowdown", "outage", "brownout of one replica", "pause", "loss"}},
		Y:     Levels{Title: "composition", Names: []string{"retry", "retry-breaker", "limit-retry-breaker", "limit-hedge-breaker"}},
		Value: Axis{Title: "p99", Unit: Milliseconds, Log: true, Better: Lower},
		Cells: cells(4, 5, func(r, c int) float64 {
			if r == 0 && c > 0 && c < 3 {
				return nan
			}
			return 3 * math.Pow(5, float64(c)) / float64(r+1)
		}),
		Note: "A percentile is refused when its rank falls among censored requests",
	}.SVG},
	// Numbers across and up, cells too small to write into.
	{"heatgrid", HeatMap{
		Title: "Goodput over load and attempts",
		X:     Levels{Title: "load.rate", Unit: "requests/s", Numbers: curveX(40, 50, 2000)},
		Y:     Levels{Title: "retry.attempts", Numbers: curveX(24, 1, 24)},
		Value: Axis{Title: "completed/offered", Better: Higher, Include: []float64{0, 1}},
		Cells: cells(24, 40, func(r, c int) float64 { return 1 / (1 + math.Exp(float64(r+c)/4-8)) }),
	}.SVG},
	// A front of four, names where they have room, a number that is not there.
	{"scatter", Scatter{
		Title: "What more attempts buy",
		X:     Axis{Title: "attempts/offered", Better: Lower},
		Y:     Axis{Title: "completed/offered", Better: Higher},
		Groups: []Group{
			{"retry", []Dot{
				{1, 0.6, "attempts=1", true}, {1.4, 0.8, "attempts=2", true}, {1.42, 0.81, "attempts=2, jitter", true},
				{2.3, 0.9, "attempts=3", true}, {3.4, 0.86, "attempts=4", false}, {4, 0.7, "attempts=6", false}}},
			{"budget", []Dot{{1.2, 0.55, "ratio=0.1", false}, {1.3, 0.75, "ratio=0.2", true}, {1.9, 0.76, "", false}, {nan, 1, "refused", false}}},
		},
	}.SVG},
	// Which setting matters: a floor of noise, an interval, a refusal.
	{"bars", Bars{
		Title: "Which setting matters most for completed/offered",
		Value: Axis{Title: "share of the variance of the means", Include: []float64{1}},
		Bars: []Bar{
			{"load.rate", 0.62, 0.55, 0.7}, {"compositions.*.retry.attempts", 0.21, 0.1, 0.3},
			{"compositions.limit-retry-breaker.limit.permits", 0.03, 0, 0}, {Name: "horizon", Value: nan},
		},
		Limit:    Mark{0.05, "noise: 0.05"},
		Interval: "95 % bootstrap interval",
	}.SVG},
	// What panels share: one axis, phases, a tinted fault, an event. Layers that are
	// stacked, one of them with a gap; a ribbon; cells with lines; a deficit.
	{"panels", Panels{
		Title:  "limit-retry-breaker",
		X:      Axis{Title: "time", Unit: Milliseconds},
		Spans:  []Span{{0, 30_000, "healthy"}, {30_000, 60_000, "outage"}, {60_000, 62_000, "blip"}, {62_000, 90_000, "recovery <b>"}},
		Faults: []Span{{30_000, 60_000, "service fails"}},
		Events: []Mark{{30_000, "fired"}, {31_000, "effect"}, {64_000, "heal"}},
		Panels: []Panel{
			Areas{Y: Axis{Title: "Requests", Unit: "requests/s"}, Columns: Columns{0, 1000}, Outline: &Layer{"offered", Fill{Colour: 5}, heights(90, func(int) float64 { return 100 })},
				Layers: []Layer{
					{"completed", Fill{0, Solid}, heights(90, func(i int) float64 { return float64(100 * b(i < 30 || i >= 60)) })},
					{"errored: failure", Fill{1, Rising}, heights(90, func(i int) float64 { return float64(60 * b(i >= 30 && i < 60)) })},
					{"errored: circuit", Fill{3, Falling}, heights(90, func(i int) float64 { return float64(20 * b(i >= 30 && i < 60 && i != 40)) })},
					{"errored: limiter", Fill{6, Level}, heights(90, func(i int) float64 { return float64(12 * b(i >= 30 && i < 60)) })},
					{"errored: rate", Fill{2, Upright}, heights(90, func(i int) float64 { return float64(8 * b(i >= 30 && i < 60)) })},
					{"censored", Fill{-1, Pale}, []float64{nan, 10, 20}},
				}},
			Density{Y: Axis{Title: "Latency", Unit: Milliseconds, Log: true}, Columns: Columns{0, 1000}, Count: 90, What: "requests",
				Cells: spreadCells(), Lines: []Series{
					{Name: "p50", Points: without(curve(90, 500, 89_500, func(x float64) float64 { return 20 + x/2000 }), 40, 41)},
					{Name: "p95", Points: curve(90, 500, 89_500, func(x float64) float64 { return 80 + x/300 })}}},
			Areas{Y: Axis{Title: "Breaker", Unit: "share of the time", Include: []float64{0, 1}}, Columns: Columns{0, 1000}, Thin: true, Layers: []Layer{
				{"open", Fill{3, Falling}, heights(62, func(i int) float64 { return float64(b(i > 32)) * 0.9 })},
				{"half-open", Fill{4, Upright}, heights(62, func(i int) float64 { return float64(b(i > 32)) * 0.1 })}}},
			Curves{Y: Axis{Title: "Goodput", Unit: "%", Include: []float64{0, 100}}, Limits: []Mark{{99, "baseline 99 %"}, {70, "entry 70 %"}},
				Series:  []Series{{Name: "goodput", Steps: true, Points: curve(91, 0, 90_000, func(x float64) float64 { return float64(98 - 80*b(x >= 30_000 && x < 63_000)) })}},
				Deficit: &Deficit{30_000, 64_000, 99, "lacking"}, Events: []Mark{{64_000, "back"}}},
		},
		Note: "Requests stand at their intended instant",
	}.SVG},
	{"nopanels", Panels{Title: "Nothing happened", Panels: []Panel{Areas{}, Curves{}, Density{}}}.SVG},
	// Steps, a band, flags that are refused, a horizon.
	{"completion", Lines{
		Title: "Phase outage", X: Axis{Title: "time", Unit: Milliseconds, Log: true}, Y: Axis{Title: "completed", Unit: "%", Include: []float64{0, 100}},
		Uprights: []Mark{{30_000, "horizon"}}, Interval: "pointwise 95 % intervals",
		Series: []Series{
			{Name: "retry", Steps: true, Points: around([]Point{{X: 5, Y: 4}, {X: 40, Y: 60}, {X: 300, Y: 90}, {X: 2000, Y: 99.5}, {X: 30_000, Y: 99.5}}, 0.5),
				Flags: []Flag{{40, 50, "p50 40 ms"}, {2000, 95, "p95 2 s"}, {2000, 99, "p99 2 s"}}},
			{Name: "breaker", Steps: true, Points: []Point{{X: 5, Y: 0}, {X: 20, Y: 55}, {X: 30_000, Y: 55}, {X: 30_000, Y: 70}},
				Flags: []Flag{{20, 50, "p50 20 ms"}, {nan, 95, "p95 never"}, {nan, 99, "p99 never"}}},
			{Name: "limit", Steps: true, Points: []Point{{X: 8, Y: 30}, {X: 30_000, Y: 30}}, Flags: []Flag{{nan, 95, "p95 beyond"}}},
		},
	}.SVG},
	// An attempt that was cancelled and lives on, one of no length, long words.
	{"waterfall", Waterfall{
		Title: "Request 1,204: completed after 1.18 s", X: Axis{Unit: Milliseconds}, Marks: []Mark{{1180, "the caller's answer"}},
		Rows: []Stretch{
			{"1 primary", 0, 1000, 1300, Fill{-1, Pale}, "cancelled, 1 s, clean-up 300 ms; first"},
			{"2 primary", 1000, 1000, 0, Fill{1, Solid}, "failure, 0 ms; retry, 1 given up"},
			{"3 a backup with quite a long name", 1000, 1180, 1180, Fill{0, Solid}, "completed, 180 ms; fallback, 2: failure, by the service of another attempt"},
		},
		Note: "Submitted 2 ms after its intended instant",
	}.SVG},
	// Below 0 too.
	{"differences", Bars{
		Title: "Difference of p99 from retry",
		Value: Axis{Title: "difference", Unit: Milliseconds, Better: Lower},
		Bars:  []Bar{{"retry-breaker", -12_500, -14_000, -9_000}, {"hedge", 2_100, 1_000, 4_000}, {"same", 0, 0, 0}},
	}.SVG},
}

func heights(n int, of func(i int) float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

func b(is bool) int {
	if is {
		return 1
	}
	return 0
}

// spreadCells are cells whose latency rises, one of them from 0.
func spreadCells() []Cell {
	cells := []Cell{{0, 0, 5, 3}}
	for i := range 90 {
		for k := range 5 {
			from := 10 * math.Pow(2, float64(k)) * (1 + float64(i)/60)
			cells = append(cells, Cell{i, from, 2 * from, math.Pow(3, float64(4-k))})
		}
	}
	return cells
}

func curveX(n int, from, to float64) []float64 {
	var xs []float64
	for _, p := range curve(n, from, to, func(float64) float64 { return 0 }) {
		xs = append(xs, math.Round(p.X))
	}
	return xs
}

func TestGolden(t *testing.T) {
	for _, c := range charts {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join("testdata", c.name+".svg")
			got := c.svg()
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
		})
	}
}
