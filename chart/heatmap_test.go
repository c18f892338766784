package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lightness is that of OKLab (see ramp), from sRGB.
func lightness(c [3]int) float64 {
	r, g, b := linear(c[0]), linear(c[1]), linear(c[2])
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return 0.2104542553*l + 0.7936177850*m - 0.0040720468*s
}

// Equal steps of the number are equal steps of lightness, so grey paper keeps
// the order, and text can be read on every shade.
func TestRamp(t *testing.T) {
	for i := range 101 {
		share := float64(i) / 100
		c := shadeOf(share)
		if got, want := lightness(c), 0.965-0.705*share; math.Abs(got-want) > 0.01 {
			t.Errorf("at %v the lightness of %s is %.3f, want %.3f", share, hex(c), got, want)
		}
		if i > 0 && luminance(c) >= luminance(shadeOf(share-0.01)) {
			t.Errorf("at %v it does not get darker in grey", share)
		}
		ink := [3]int{}
		if inkOn(c) == "#ffffff" {
			ink = [3]int{255, 255, 255}
		}
		if got := contrast(ink, c); got < 4.5 {
			t.Errorf("text on %s has contrast %.2f, want 4.5 (WCAG AA)", hex(c), got)
		}
	}
}

// Lines are seen on their paper: WCAG 2.1, 1.4.11, asks 3 of what a graphic
// needs to be understood; the lighter hues of the palette come near, and have
// dashes and marks.
func TestLineContrast(t *testing.T) {
	paper := map[string][]string{"#ffffff": colours, "#16181d": coloursDark}
	for background, lines := range paper {
		for _, c := range lines {
			if got := contrast(rgb(t, background), rgb(t, c)); got < 2.2 {
				t.Errorf("%s on %s has contrast %.2f", c, background, got)
			}
		}
	}
}

func rgb(t *testing.T, s string) (c [3]int) {
	t.Helper()
	if _, err := fmt.Sscanf(s, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatal(err)
	}
	return c
}

// tips are the tooltips of the cells as they are drawn, from the top left.
func tips(svg string) []string {
	var all []string
	for _, part := range strings.Split(svg, "<rect ")[1:] {
		if _, rest, ok := strings.Cut(part, "<title>"); ok {
			tip, _, _ := strings.Cut(rest, "</title>")
			all = append(all, tip)
		}
	}
	return all
}

// Names go right and down; numbers right and up, in order.
func TestHeatMapOrder(t *testing.T) {
	c := HeatMap{
		X:     Levels{Names: []string{"b", "a"}},
		Y:     Levels{Numbers: []float64{20, 10, 30}},
		Cells: [][]float64{{1, 2}, {3, 4}, {5}},
	}
	want := []string{"b, 30: 5", "a, 30: no number", "b, 20: 1", "a, 20: 2", "b, 10: 3", "a, 10: 4"}
	if diff := cmp.Diff(want, tips(c.SVG())); diff != "" {
		t.Error(diff)
	}
}

// The smallest number is lightest, the largest darkest, those that are not there
// are hatched and counted, and one axis scale holds for all.
func TestHeatMapColours(t *testing.T) {
	svg := HeatMap{
		X:     Levels{Numbers: []float64{1, 2, 3, 4}},
		Y:     Levels{Numbers: []float64{1}},
		Value: Axis{Log: true},
		Cells: [][]float64{{1, 1000, nan, -1}},
	}.SVG()
	for _, want := range []string{hex(ramp[0]) + `"><title>1, 1: 1<`, hex(ramp[len(ramp)-1]) + `"><title>2, 1: 1,000<`,
		"Hatched: 1 of 4 cells, whose numbers are refused or absent.", "Hatched: 1 of 4 cells not above 0"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}

// A map of a million cells is thinned by leaving out whole rows and columns.
func TestHeatMapThins(t *testing.T) {
	var numbers []float64
	for i := range 1000 {
		numbers = append(numbers, float64(i))
	}
	svg := HeatMap{
		X: Levels{Numbers: numbers}, Y: Levels{Numbers: numbers[:50]},
		Cells: cells(50, 1000, func(r, c int) float64 { return float64(r * c) }),
	}.SVG()
	d, err := read(svg)
	if err != nil {
		t.Fatal(err)
	}
	if d.rects > 120*50+60 {
		t.Errorf("%d rectangles", d.rects)
	}
	if !slices.ContainsFunc(d.texts, func(l label) bool { return l.text == "One of 9 columns is drawn." }) {
		t.Errorf("the caption does not say what is left out: %v", d.texts)
	}
}

// Numbers are written when all have room, and not when one has none.
func TestHeatMapWrites(t *testing.T) {
	for _, c := range []struct {
		columns int
		value   float64
		want    bool
	}{
		{10, 0.123, true},
		{10, 123_456_789_012, false}, // too long
		{60, 0.123, false},           // too narrow
	} {
		svg := HeatMap{
			X:     Levels{Numbers: curveX(c.columns, 1, float64(c.columns))},
			Y:     Levels{Names: []string{"one"}},
			Cells: cells(1, c.columns, func(int, int) float64 { return c.value }),
		}.SVG()
		if got := strings.Contains(svg, ">"+number(c.value)+"</text>"); got != c.want {
			t.Errorf("%v in %d columns: written is %v, want %v", c.value, c.columns, got, c.want)
		}
	}
}
