package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pathsOf are the strokes of the paths of one class, but for those of the legend.
func pathsOf(t *testing.T, svg, class string) [][][2]float64 {
	t.Helper()
	d, err := read(svg)
	if err != nil {
		t.Fatal(err)
	}
	var all [][][2]float64
	for _, p := range d.paths {
		if p.class == class {
			all = append(all, p.strokes...)
		}
	}
	return all
}

// Layers are as high as their numbers, and stand on one another.
func TestAreasHeights(t *testing.T) {
	svg := Panels{Panels: []Panel{Areas{
		Y: Axis{Include: []float64{0, 100}}, Columns: Columns{0, 10},
		Layers: []Layer{{"", Fill{0, Solid}, []float64{50, 20}}, {"", Fill{1, Solid}, []float64{50, 0}}, {"", Fill{2, Solid}, []float64{0, 40}}},
	}}}.SVG()
	box := func(class string) (top, bottom, left, right float64) {
		top, bottom, left, right = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
		for _, s := range pathsOf(t, svg, class) {
			for _, c := range s {
				top, bottom, left, right = min(top, c[1]), max(bottom, c[1]), min(left, c[0]), max(right, c[0])
			}
		}
		return top, bottom, left, right
	}
	top, floor, left, right := box("area c0")
	if high := floor - top; math.Abs(high-panelHeight/2) > 0.2 {
		t.Errorf("50 of 100 is %v high, want half of %v", high, float64(panelHeight))
	}
	upper, lower, _, middle := box("area c1")
	if math.Abs(lower-top) > 0.2 || math.Abs(floor-upper-panelHeight) > 0.2 {
		t.Errorf("the second layer is from %v to %v, want from %v to the top", lower, upper, top)
	}
	if math.Abs(middle-(left+right)/2) > 0.2 {
		t.Errorf("its first column ends at %v, want the middle of %v to %v", middle, left, right)
	}
	upper, lower, begins, _ := box("area c2")
	if math.Abs(lower-upper-0.4*panelHeight) > 0.2 || math.Abs(floor-lower-0.2*panelHeight) > 0.2 || math.Abs(begins-middle) > 0.2 {
		t.Errorf("the third layer is from %v to %v from %v on", lower, upper, begins)
	}
}

// Strokes stay inside of the area that they fill, and one that is large enough
// has some.
func TestStripesStayInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var slabs []slab
		x := rapid.Float64Range(0, 50).Draw(t, "x")
		for range rapid.IntRange(1, 12).Draw(t, "slabs") {
			y := rapid.Float64Range(0, 80).Draw(t, "top")
			s := slab{x, x + rapid.Float64Range(1, 30).Draw(t, "width"), y, y + rapid.SampledFrom([]float64{0, 0.3, 5, 40}).Draw(t, "high")}
			x = s.x1
			slabs = append(slabs, s)
		}
		for f := Rising; f < patterns; f++ {
			data := stripes(f, slabs)
			all, err := strokes(data)
			if err != nil {
				t.Fatal(err)
			}
			for _, stroke := range all {
				for i := 1; i < len(stroke); i++ {
					for k := range 9 {
						w := float64(k) / 8
						x, y := stroke[i-1][0]*(1-w)+stroke[i][0]*w, stroke[i-1][1]*(1-w)+stroke[i][1]*w
						if !inside(slabs, x, y) {
							t.Fatalf("pattern %d: a stroke of %s goes through %v, %v, outside of %v", f, data, x, y, slabs)
						}
					}
				}
			}
			if len(slabs) == 1 && slabs[0].y1-slabs[0].y0 == 40 && slabs[0].x1-slabs[0].x0 > 9 && len(all) == 0 {
				t.Fatalf("pattern %d: %v has no stroke", f, slabs)
			}
		}
	})
}

func inside(slabs []slab, x, y float64) bool {
	const off = 0.15 // of rounding
	for _, s := range slabs {
		if x >= s.x0-off && x <= s.x1+off && y >= s.y0-off && y <= s.y1+off {
			return true
		}
	}
	return false
}

// Scripts find the instant under a pixel by what the chart says of its plots.
func TestDataPlot(t *testing.T) {
	svg := Panels{X: Axis{Unit: Milliseconds}, Events: []Mark{{40_000, "here"}}, Panels: []Panel{Areas{Columns: Columns{0, 1000}, Layers: []Layer{{Heights: make([]float64, 60)}}}}}.SVG()
	_, rest, _ := strings.Cut(svg, `data-plot="`)
	rest, _, _ = strings.Cut(rest, `"`)
	var left, right, low, high, divisor float64
	if _, err := fmt.Sscan(rest, &left, &right, &low, &high, &divisor); err != nil {
		t.Fatal(err)
	}
	if low != 0 || high != 60_000 || divisor != 1000 {
		t.Fatalf("the axis is from %v to %v in units of %v, want 0 to 60,000 ms in seconds", low, high, divisor)
	}
	event := pathsOf(t, svg, "limit")[0][0][0]
	if got := low + (event-left)/(right-left)*(high-low); math.Abs(got-40_000) > 60 {
		t.Errorf("the event at 40,000 ms stands at %v", got)
	}
}

// A flag stands at its number; one without a time is hollow, at the right border.
func TestFlags(t *testing.T) {
	svg := Lines{X: Axis{Log: true, Include: []float64{1, 100}}, Y: Axis{Include: []float64{0, 100}}, Series: []Series{
		{Points: []Point{{X: 1, Y: 0}, {X: 100, Y: 100}}, Flags: []Flag{{10, 50, "p50"}, {nan, 95, "p95 never"}}}}}.SVG()
	var at [][2]float64
	var open []bool
	for _, part := range strings.Split(svg, "<circle ")[1:] {
		if !strings.Contains(part, "<title>") {
			continue
		}
		var x, y float64
		_, rest, _ := strings.Cut(part, `cx="`)
		fmt.Sscan(strings.ReplaceAll(rest[:strings.IndexByte(rest, '"')], `"`, ""), &x)
		_, rest, _ = strings.Cut(part, `cy="`)
		fmt.Sscan(rest[:strings.IndexByte(rest, '"')], &y)
		at, open = append(at, [2]float64{x, y}), append(open, strings.Contains(part, " open "))
	}
	line := pathsOf(t, svg, "line c0")
	ends := line[len(line)-1]
	if diff := cmp.Diff([]bool{false, true}, open); diff != "" {
		t.Fatalf("which flags are hollow (-want +got):\n%s", diff)
	}
	if math.Abs(at[0][0]-(ends[0][0]+ends[1][0])/2) > 0.2 || math.Abs(at[0][1]-(ends[0][1]+ends[1][1])/2) > 0.2 {
		t.Errorf("10 of 1 to 100, 50 of 100 stands at %v, want the middle of %v", at[0], ends)
	}
	if at[1][0] < ends[1][0]-15 || at[1][0] > ends[1][0] {
		t.Errorf("the flag without a time stands at %v, want the border %v", at[1], ends[1])
	}
}

// A line in steps has no slanting stroke, and neither has its band.
func TestSteps(t *testing.T) {
	svg := Lines{Series: []Series{{Steps: true, Points: around([]Point{{X: 1, Y: 1}, {X: 2, Y: 5}, {X: 4, Y: 7}}, 0.5)}}}.SVG()
	for _, class := range []string{"line c0", "band c0"} {
		all := pathsOf(t, svg, class)
		if len(all) == 0 {
			t.Fatalf("no path of class %s", class)
		}
		for _, stroke := range all {
			for i := 1; i < len(stroke); i++ {
				if a, b := stroke[i-1], stroke[i]; a[0] != b[0] && a[1] != b[1] {
					t.Errorf("%s slants from %v to %v", class, a, b)
				}
			}
		}
	}
}

// A chart within a page has all but its style sheet, which the page has once.
func TestInline(t *testing.T) {
	lines := Lines{Series: []Series{{Points: []Point{{X: 1, Y: 1}}}}}
	panels := Panels{Panels: []Panel{Areas{}}}
	for _, c := range [][2]string{{lines.SVG(), lines.Inline()}, {panels.SVG(), panels.Inline()}, {Bars{}.SVG(), Bars{}.Inline()}, {Waterfall{}.SVG(), Waterfall{}.Inline()}} {
		before, rest, _ := strings.Cut(c[0], "<style>")
		sheet, after, found := strings.Cut(rest, "</style>\n")
		if !found || before+after != c[1] || !strings.HasPrefix(Style(), sheet) {
			t.Errorf("inline it is not the same without the style sheet:\n%s\n%s", c[0], c[1])
		}
	}
}

// Ticks of a logarithmic axis come closer than their labels are high: those in
// between go, and the lowest stays.
func TestThinTicks(t *testing.T) {
	s := Axis{Log: true}.fit(extent{10, 22, true}, tight, 4)
	s.from, s.to = 100, 80 // pixels
	all := len(s.ticks)
	s.thin()
	if all < 3 || len(s.ticks) >= all {
		t.Fatalf("%d of %d ticks are left on 20 pixels", len(s.ticks), all)
	}
	for i := 1; i < len(s.ticks); i++ {
		if d := s.place(s.ticks[i-1].at) - s.place(s.ticks[i].at); d < 10 {
			t.Errorf("%s and %s are %.1f pixels apart", s.ticks[i-1].label, s.ticks[i].label, d)
		}
	}
}

// Names of stretches are whole where they have room beside their neighbours, also
// beyond a narrow stretch; else they are cut, or wait unseen with their place.
func TestSpanNames(t *testing.T) {
	svg := Panels{
		Spans:  []Span{{0, 3, "warm-up"}, {3, 50, "baseline"}, {50, 51, "one"}, {51, 52, "two"}, {52, 75, "a phase with far too long a name to stand here"}, {75, 100, "another phase with a name that is as long"}},
		Panels: []Panel{Areas{Columns: Columns{0, 1}, Layers: []Layer{{Heights: make([]float64, 100)}}}},
	}.SVG()
	got := map[string]string{}
	for _, part := range strings.Split(svg, "<text ")[1:] {
		attributes, rest, _ := strings.Cut(part, ">")
		if strings.Contains(attributes, "data-at") {
			name, _, _ := strings.Cut(rest, "<")
			switch {
			case strings.Contains(attributes, " spare"):
				got[name] = "unseen"
			case strings.Contains(attributes, "data-name"):
				got[strings.TrimSuffix(name, "…")] = "cut"
			default:
				got[name] = "whole"
			}
		}
	}
	want := map[string]string{"warm-up": "whole", "baseline": "whole", "one": "unseen", "two": "unseen", "a phase with far too l": "cut", "another phase with a na": "cut"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// Charts with the same room on the left line up, whatever their labels are.
func TestMargin(t *testing.T) {
	at := func(most, left float64) (plot string, margin float64) {
		c := Panels{Left: left, Panels: []Panel{Areas{Columns: Columns{0, 1}, Layers: []Layer{{Heights: []float64{most}}}}}}
		_, rest, _ := strings.Cut(c.SVG(), `data-plot="`)
		plot, _, _ = strings.Cut(rest, " ")
		return plot, c.Margin()
	}
	wide, margin := at(1e6, 0)
	narrow, less := at(1, 0)
	if less >= margin || narrow == wide {
		t.Fatalf("margins %v and %v", less, margin)
	}
	if moved, _ := at(1, margin); moved != wide {
		t.Errorf("with a margin of %v a plot begins at %s, want %s", margin, moved, wide)
	}
}
