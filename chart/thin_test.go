package chart

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lines returns the strokes of the lines of a chart, without its legend.
func drawn(t *testing.T, c Lines) [][][2]float64 {
	t.Helper()
	d, err := read(c.SVG())
	if err != nil {
		t.Fatal(err)
	}
	var all [][][2]float64
	for _, p := range d.paths {
		if p.class == "line c0" {
			all = append(all, p.strokes...)
		}
	}
	return all
}

// A hundred thousand points become at most a thousand; a single one that stands
// out is still drawn, as high as it is.
func TestThin(t *testing.T) {
	points := curve(100_000, 0, 1, func(x float64) float64 { return 10 + math.Sin(x*50) })
	points[54_321].Y = 100
	strokes := drawn(t, Lines{Series: []Series{{Points: points}}})
	if len(strokes) != 1 || len(strokes[0]) > 1000 || len(strokes[0]) < 900 {
		t.Fatalf("%d strokes, the first of %d points", len(strokes), len(strokes[0]))
	}
	top := slices.MinFunc(strokes[0], func(a, b [2]float64) int { return int(math.Copysign(1, a[1]-b[1])) })
	flat := strokes[0][0][1]
	x := points[54_321].X
	left, right := strokes[0][0][0], strokes[0][len(strokes[0])-1][0]
	if got := (top[0] - left) / (right - left); math.Abs(got-x) > 0.001 {
		t.Errorf("the peak stands at %v of the axis, want %v", got, x)
	}
	if flat-top[1] < 200 {
		t.Errorf("the peak rises by %v pixels of 300", flat-top[1])
	}
}

// Of long lines, a gap that can be seen breaks the line, and one that is
// narrower than a column does not.
func TestThinGaps(t *testing.T) {
	line := func() []Point { return curve(100_000, 0, 1, func(x float64) float64 { return x }) }
	wide, narrow := line(), line()
	for i := 40_000; i < 41_000; i++ {
		wide[i].Y = math.NaN()
	}
	for i := 40_000; i < 40_010; i++ {
		narrow[i].Y = math.NaN()
	}
	if n := len(drawn(t, Lines{Series: []Series{{Points: wide}}})); n != 2 {
		t.Errorf("a gap of a hundredth: %d strokes, want 2", n)
	}
	if n := len(drawn(t, Lines{Series: []Series{{Points: narrow}}})); n != 1 {
		t.Errorf("a gap of a ten-thousandth: %d strokes, want 1", n)
	}
}

// Thinning keeps the least and the greatest number and interval, and order.
func TestThinLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := make([]Point, 2*columns+rapid.IntRange(1, 3000).Draw(t, "more"))
		seed := rapid.IntRange(1, 1000).Draw(t, "seed")
		for i := range points {
			y := math.Sin(float64(i * seed))
			points[i] = Point{X: float64(i), Y: y, Low: y - math.Abs(math.Cos(float64(i))), High: y + math.Abs(math.Sin(float64(i)))}
			if (i*seed)%7 == 0 {
				points[i].Y = math.NaN()
			}
		}
		tr := newTrace(Series{Points: points}, 0, Axis{}, Axis{})
		var xs, all, kept extent
		tr.reach(&xs, &all, Axis{})
		thinned := trace{points: tr.thin(Axis{}.fit(xs, tight, 5))}
		thinned.reach(&xs, &kept, Axis{})
		if len(thinned.points) > 2*columns || all != kept {
			t.Errorf("%d points from %v to %v became %d from %v to %v", len(points), all.lo, all.hi, len(thinned.points), kept.lo, kept.hi)
		}
		if !slices.IsSortedFunc(thinned.points, func(a, b vertex) int { return int(a.X - b.X) }) {
			t.Error("out of order")
		}
	})
}

// The order of points does not matter, and a series is left as it was.
func TestPointsInAnyOrder(t *testing.T) {
	points := without(around(curve(30, 0, 10, math.Sqrt), 0.2), 3, 4)
	want := Lines{Series: []Series{{Points: points}}}.SVG()
	slices.Reverse(points)
	if diff := cmp.Diff(want, Lines{Series: []Series{{Points: points}}}.SVG()); diff != "" {
		t.Errorf("reversed points are drawn in another way:\n%s", diff)
	}
}

// A line breaks at what is not there, and the caption counts it by its kind.
func TestGaps(t *testing.T) {
	c := Lines{
		Y: Axis{Log: true},
		Series: []Series{{Name: "retry", Points: []Point{
			{X: 1, Y: 5}, {X: 2, Y: 6}, {X: 3, Y: math.NaN()}, {X: 4, Y: 7}, {X: 5, Y: 8},
			{X: 6, Y: 0}, {X: 7, Y: math.Inf(1)}, {X: 8, Y: 9}, {X: math.NaN(), Y: 9},
		}}},
	}
	d, err := read(c.SVG())
	if err != nil {
		t.Fatal(err)
	}
	var caption []string
	for _, l := range d.texts[len(d.texts)-2:] {
		caption = append(caption, l.text)
	}
	want := []string{
		"Gaps are refused or absent numbers: 3 of 9 points of retry. Not above 0, so not on a logarithmic axis: 1 of 9",
		"points of retry.",
	}
	if diff := cmp.Diff(want, caption); diff != "" {
		t.Error(diff)
	}
	var lengths []int
	for _, s := range drawn(t, c)[1:] { // the first is the legend's
		lengths = append(lengths, len(s))
	}
	if diff := cmp.Diff([]int{2, 2, 1}, lengths); diff != "" {
		t.Errorf("points in each stroke:\n%s", diff)
	}
}

// A band is drawn where there are intervals, goes there and back, and zero
// values are none.
func TestBands(t *testing.T) {
	for _, c := range []struct {
		name   string
		points []Point
		want   []int // corners of each stretch
	}{
		{"none", []Point{{X: 1, Y: 1}, {X: 2, Y: 0}}, nil},
		{"throughout", []Point{{1, 1, 0, 2}, {2, 1, 1, 1}, {3, 1, 0, 3}}, []int{6}},
		{"broken by a gap", []Point{{1, 1, 0, 2}, {2, 1, 0, 2}, {3, nan, nan, nan}, {4, 1, 0, 2}, {5, 1, 0, 2}}, []int{4, 4}},
		{"not around its number", []Point{{1, 1, 0, 2}, {2, 1, 0, 2}, {3, 9, 0, 2}}, []int{4}},
	} {
		d, err := read(Lines{Series: []Series{{Points: c.points}}}.SVG())
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, p := range d.paths {
			if p.class == "band c0" {
				for _, s := range p.strokes {
					got = append(got, len(s))
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}
