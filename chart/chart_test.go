package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// anyNumber draws numbers of every size, and those that are none.
func anyNumber() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Float64Range(-10, 1000),
		rapid.Float64Range(0, 1),
		rapid.Float64(),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.NaN(), math.Inf(1), math.Inf(-1),
			math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-200, -1e-200, 1e200, -1e200}),
	)
}

// anyText draws what a name can be made of, and what an attacker would send.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-z*]{1,20}(\.[a-z-]{1,20}){0,4}`),
		rapid.SampledFrom([]string{"", " ", "\x00\xff\ufffe", "</text><script>alert(1)</script>", `" onload="x`, "]]>&amp;'",
			"</style>", strings.Repeat("W", 300), strings.Repeat("long name ", 80)}),
	)
}

func anyAxis(t *rapid.T, name string) Axis {
	return Axis{
		Title:   anyText().Draw(t, name+" title"),
		Unit:    Unit(rapid.SampledFrom([]string{"", "ms", "requests/s", "<b>"}).Draw(t, name+" unit")),
		Log:     rapid.Bool().Draw(t, name+" log"),
		Better:  Direction(rapid.IntRange(0, 2).Draw(t, name+" better")),
		Include: rapid.SliceOfN(anyNumber(), 0, 2).Draw(t, name+" include"),
	}
}

func anyLines(t *rapid.T) Lines {
	c := Lines{Title: anyText().Draw(t, "title"), X: anyAxis(t, "x"), Y: anyAxis(t, "y"), Note: anyText().Draw(t, "note"), Interval: anyText().Draw(t, "interval")}
	for range rapid.IntRange(0, 4).Draw(t, "series") {
		s := Series{Name: anyText().Draw(t, "name"), Steps: rapid.Bool().Draw(t, "steps")}
		for range rapid.IntRange(0, 3).Draw(t, "flags") {
			s.Flags = append(s.Flags, Flag{anyNumber().Draw(t, "x"), anyNumber().Draw(t, "y"), anyText().Draw(t, "flag")})
		}
		for range rapid.IntRange(0, 12).Draw(t, "points") {
			s.Points = append(s.Points, Point{anyNumber().Draw(t, "x"), anyNumber().Draw(t, "y"), anyNumber().Draw(t, "low"), anyNumber().Draw(t, "high")})
		}
		c.Series = append(c.Series, s)
	}
	for range rapid.IntRange(0, 3).Draw(t, "spans") {
		c.Spans = append(c.Spans, Span{anyNumber().Draw(t, "from"), anyNumber().Draw(t, "to"), anyText().Draw(t, "span")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "limits") {
		c.Limits = append(c.Limits, Mark{anyNumber().Draw(t, "at"), anyText().Draw(t, "limit")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "uprights") {
		c.Uprights = append(c.Uprights, Mark{anyNumber().Draw(t, "at"), anyText().Draw(t, "upright")})
	}
	return c
}

func anyHeatMap(t *rapid.T) HeatMap {
	levels := func(name string) Levels {
		l := Levels{Title: anyText().Draw(t, name), Unit: Milliseconds}
		if n := rapid.IntRange(0, 12).Draw(t, name+" levels"); rapid.Bool().Draw(t, name+" named") {
			l.Names = rapid.SliceOfN(anyText(), n, n).Draw(t, name+" names")
		} else {
			l.Numbers = rapid.SliceOfN(anyNumber(), n, n).Draw(t, name+" numbers")
		}
		return l
	}
	return HeatMap{
		Title: anyText().Draw(t, "title"), X: levels("x"), Y: levels("y"), Value: anyAxis(t, "value"),
		Cells: rapid.SliceOfN(rapid.SliceOfN(anyNumber(), 0, 12), 0, 12).Draw(t, "cells"), Note: anyText().Draw(t, "note"),
	}
}

func anyScatter(t *rapid.T) Scatter {
	c := Scatter{Title: anyText().Draw(t, "title"), X: anyAxis(t, "x"), Y: anyAxis(t, "y"), Note: anyText().Draw(t, "note")}
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		g := Group{Name: anyText().Draw(t, "group")}
		for range rapid.IntRange(0, 12).Draw(t, "dots") {
			g.Dots = append(g.Dots, Dot{anyNumber().Draw(t, "x"), anyNumber().Draw(t, "y"), anyText().Draw(t, "name"), rapid.Bool().Draw(t, "front")})
		}
		c.Groups = append(c.Groups, g)
	}
	return c
}

func anyBars(t *rapid.T) Bars {
	c := Bars{Title: anyText().Draw(t, "title"), Value: anyAxis(t, "value"), Note: anyText().Draw(t, "note"),
		Limit: Mark{anyNumber().Draw(t, "limit"), anyText().Draw(t, "limit name")}}
	for range rapid.IntRange(0, 8).Draw(t, "bars") {
		c.Bars = append(c.Bars, Bar{anyText().Draw(t, "name"), anyNumber().Draw(t, "value"), anyNumber().Draw(t, "low"), anyNumber().Draw(t, "high")})
	}
	return c
}

func anyPanels(t *rapid.T) Panels {
	l := anyLines(t)
	c := Panels{Title: l.Title, X: l.X, Spans: l.Spans, Faults: l.Spans, Events: l.Uprights, Note: l.Note}
	columns := Columns{anyNumber().Draw(t, "first"), anyNumber().Draw(t, "width")}
	fill := func() Fill {
		return Fill{rapid.IntRange(-1, 9).Draw(t, "colour"), Pattern(rapid.IntRange(0, int(patterns)-1).Draw(t, "pattern"))}
	}
	for range rapid.IntRange(0, 4).Draw(t, "panels") {
		axis := anyAxis(t, "panel")
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			a := Areas{Y: axis, Columns: columns, Thin: rapid.Bool().Draw(t, "thin")}
			for range rapid.IntRange(0, 4).Draw(t, "layers") {
				a.Layers = append(a.Layers, Layer{anyText().Draw(t, "layer"), fill(), rapid.SliceOfN(anyNumber(), 0, 12).Draw(t, "heights")})
			}
			if rapid.Bool().Draw(t, "outlined") {
				a.Outline = &Layer{anyText().Draw(t, "outline"), fill(), rapid.SliceOfN(anyNumber(), 0, 12).Draw(t, "heights")}
			}
			c.Panels = append(c.Panels, a)
		case 1:
			d := Density{Y: axis, Columns: columns, Count: rapid.IntRange(0, 12).Draw(t, "columns"), What: anyText().Draw(t, "what"), Lines: l.Series}
			for range rapid.IntRange(0, 12).Draw(t, "cells") {
				d.Cells = append(d.Cells, Cell{rapid.IntRange(-1, 20).Draw(t, "column"), anyNumber().Draw(t, "from"), anyNumber().Draw(t, "to"), anyNumber().Draw(t, "count")})
			}
			c.Panels = append(c.Panels, d)
		default:
			k := Curves{Y: axis, Series: l.Series, Limits: l.Limits, Events: l.Uprights}
			if rapid.Bool().Draw(t, "lacking") {
				k.Deficit = &Deficit{anyNumber().Draw(t, "from"), anyNumber().Draw(t, "to"), anyNumber().Draw(t, "level"), anyText().Draw(t, "lacks")}
			}
			c.Panels = append(c.Panels, k)
		}
	}
	return c
}

func anyWaterfall(t *rapid.T) Waterfall {
	c := Waterfall{Title: anyText().Draw(t, "title"), X: anyAxis(t, "x"), Note: anyText().Draw(t, "note")}
	for range rapid.IntRange(0, 6).Draw(t, "rows") {
		c.Rows = append(c.Rows, Stretch{anyText().Draw(t, "name"), anyNumber().Draw(t, "from"), anyNumber().Draw(t, "to"), anyNumber().Draw(t, "after"),
			Fill{rapid.IntRange(-1, 9).Draw(t, "colour"), Pattern(rapid.IntRange(0, int(patterns)-1).Draw(t, "pattern"))}, anyText().Draw(t, "text")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "marks") {
		c.Marks = append(c.Marks, Mark{anyNumber().Draw(t, "at"), anyText().Draw(t, "mark")})
	}
	return c
}

// Whatever the numbers and names are, a chart is well-formed, carries nothing foreign,
// all of it is within its borders, no text stands on another, and the inputs
// are left as they were.
func TestAnything(t *testing.T) {
	draws := map[string]func(*rapid.T) (svg string, before, after any){
		"lines": func(t *rapid.T) (string, any, any) {
			c := anyLines(t)
			before := c
			before.Series = slices.Clone(c.Series)
			for i := range before.Series {
				before.Series[i].Points = slices.Clone(before.Series[i].Points)
			}
			return c.SVG(), before, c
		},
		"heat map":  func(t *rapid.T) (string, any, any) { c := anyHeatMap(t); return c.SVG(), nil, nil },
		"scatter":   func(t *rapid.T) (string, any, any) { c := anyScatter(t); return c.SVG(), nil, nil },
		"bars":      func(t *rapid.T) (string, any, any) { c := anyBars(t); return c.SVG(), nil, nil },
		"panels":    func(t *rapid.T) (string, any, any) { c := anyPanels(t); return c.SVG(), nil, nil },
		"waterfall": func(t *rapid.T) (string, any, any) { c := anyWaterfall(t); return c.SVG(), nil, nil },
	}
	for name, draw := range draws {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				svg, before, after := draw(t)
				if _, err := read(svg); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(before, after, cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("drawing changed its input:\n%s", diff)
				}
			})
		})
	}
}

// Labels too wide to stand side by side, at places where few have room, still
// do not run into each other or out of the chart.
func TestWideLabels(t *testing.T) {
	far := 123_456_789_012_345.0
	near := far + 950_000
	numbers := []float64{far, near, far + 2, far + 3, far + 4, far + 5, far + 6, far + 7}
	axis := Axis{Title: strings.Repeat("title ", 40), Unit: "requests/s"}
	levels := Levels{Title: axis.Title, Numbers: numbers}
	for name, svg := range map[string]string{
		"lines":    Lines{X: axis, Y: axis, Series: []Series{{Name: "", Points: []Point{{X: far, Y: far}, {X: near, Y: near}}}}}.SVG(),
		"heat map": HeatMap{X: levels, Y: levels, Value: axis, Cells: [][]float64{numbers}}.SVG(),
		"bars":     Bars{Value: axis, Bars: []Bar{{strings.Repeat("W", 50), far, far - 1, near}}}.SVG(),
		"phases": Lines{Spans: []Span{{0, 2, "one and another"}, {0.5, 1.8, "overlapping spans"}, {2, 2.01, "short"}},
			Limits: []Mark{{1, "a limit"}, {1.01, "one near it"}, {0, "at the bottom"}}}.SVG(),
	} {
		if _, err := read(svg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The golden charts are held to the same.
func TestGoldenAreSound(t *testing.T) {
	for _, c := range charts {
		if _, err := read(c.svg()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Text comes out as it went in.
func TestEscaping(t *testing.T) {
	const title = `p99 < 500 ms & "tier" > 'edge' </title><script>`
	d, err := read(Lines{Title: title, Series: []Series{{Name: title}}}.SVG())
	if err != nil {
		t.Fatal(err)
	}
	if d.title != title {
		t.Errorf("the title is %q, want %q", d.title, title)
	}
	if !slices.ContainsFunc(d.texts, func(l label) bool { return l.text == title }) {
		t.Errorf("the name of the series is not in %v", d.texts)
	}
}

// The zero values draw an empty chart, and say so.
func TestZeroValues(t *testing.T) {
	for name, svg := range map[string]string{
		"lines": Lines{}.SVG(), "heat map": HeatMap{}.SVG(), "scatter": Scatter{}.SVG(), "bars": Bars{}.SVG(),
		"panels": Panels{}.SVG(), "areas": Panels{Panels: []Panel{Areas{}}}.SVG(), "waterfall": Waterfall{}.SVG(),
	} {
		d, err := read(svg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(d.texts, func(l label) bool { return l.text == "no numbers to draw" }) {
			t.Errorf("%s: does not say that there is nothing: %v", name, d.texts)
		}
	}
}

// An axis says its unit as it is written, and which numbers are better.
func TestHeading(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		unit Unit
		want string
	}{
		{Axis{Title: "p99"}, "ms", "p99 (ms)"},
		{Axis{Title: "p99", Better: Lower}, "s", "p99 (s, lower is better)"},
		{Axis{Title: "ratio", Better: Higher}, "", "ratio (higher is better)"},
		{Axis{}, "s", "s"}, // no title: the unit by itself
		{Axis{}, "", ""},
	} {
		if got := c.axis.heading(c.unit); got != c.want {
			t.Errorf("%+v: %q, want %q", c.axis, got, c.want)
		}
	}
}
