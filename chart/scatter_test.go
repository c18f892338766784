package chart

import (
	"strings"
	"testing"
)

// The steps of a front go through what is as bad as both neighbours, whichever
// way is better; a front that turns is not joined.
func TestFrontSteps(t *testing.T) {
	falling := []Dot{{X: 3, Y: 1, Front: true}, {X: 1, Y: 3, Front: true}} // unordered on purpose
	rising := []Dot{{X: 1, Y: 1, Front: true}, {X: 3, Y: 3, Front: true}}
	for _, c := range []struct {
		name    string
		x       Direction
		dots    []Dot
		corners int
		high    bool // the corner is at the upper of the two, or the lower
		right   bool // and at the right one, or the left
	}{
		{"both low", Lower, falling, 3, true, true},
		{"both high", Higher, falling, 3, false, false},
		{"low x, high y", Lower, rising, 3, false, true},
		{"high x, low y", Higher, rising, 3, true, false},
		{"nothing is said", Neither, falling, 3, true, true},
		{"of three measures", Lower, append([]Dot{{X: 2, Y: 9, Front: true}}, falling...), 0, false, false},
		{"a single one", Lower, rising[:1], 0, false, false},
	} {
		d, err := read(Scatter{X: Axis{Better: c.x}, Groups: []Group{{Dots: c.dots}}}.SVG())
		if err != nil {
			t.Fatal(err)
		}
		var steps [][][2]float64
		for _, p := range d.paths[1:] { // the first is the legend's
			if p.class == "line plain" {
				steps = append(steps, p.strokes...)
			}
		}
		if c.corners == 0 {
			if len(steps) != 0 {
				t.Errorf("%s: joined by %v", c.name, steps)
			}
			continue
		}
		if len(steps) != 1 || len(steps[0]) != c.corners {
			t.Errorf("%s: steps %v", c.name, steps)
			continue
		}
		a, corner, b := steps[0][0], steps[0][1], steps[0][2]
		if got := corner[1] == min(a[1], b[1]); got != c.high {
			t.Errorf("%s: the corner of %v is high: %v, want %v", c.name, steps[0], got, c.high)
		}
		if got := corner[0] == max(a[0], b[0]); got != c.right {
			t.Errorf("%s: the corner of %v is at the right: %v, want %v", c.name, steps[0], got, c.right)
		}
	}
}

// A hundred thousand points in a heap become a few; the front is kept whole.
func TestScatterThins(t *testing.T) {
	var dots []Dot
	for i := range 100_000 {
		dots = append(dots, Dot{X: 0.5 + float64(i%317)/5000, Y: 0.5 + float64(i%611)/5000})
	}
	dots = append(dots, Dot{X: 0, Y: 1, Front: true}, Dot{X: 0.0001, Y: 0.9999, Front: true}, Dot{X: 1, Y: 0, Front: true})
	svg := Scatter{Groups: []Group{{Dots: dots}}}.SVG()
	if n := strings.Count(svg, "<circle"); n > 1500 || n < 100 {
		t.Errorf("%d circles", n)
	}
	if n := strings.Count(svg, `class="mark chosen c0"`); n != 3 {
		t.Errorf("%d points of the front are drawn, want 3", n)
	}
}

// Names are written where they have room: of two points in one place one has.
func TestFrontNames(t *testing.T) {
	d, err := read(Scatter{Groups: []Group{{Dots: []Dot{
		{X: 1, Y: 3, Name: "first", Front: true}, {X: 2, Y: 2, Name: "second", Front: true},
		{X: 3, Y: 1, Name: "third", Front: true}, {X: 2, Y: 2, Name: "hidden", Front: false},
	}}}}.SVG())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range d.texts {
		if strings.ContainsAny(l.text, "fsth") && !strings.Contains(l.text, " ") {
			names = append(names, l.text)
		}
	}
	if got := strings.Join(names, " "); got != "first second third" {
		t.Errorf("written are %s", got)
	}
}
