package chart

import (
	"cmp"
	"math"
	"slices"
)

// trace is a series as it is drawn: in order, without what cannot be drawn.
type trace struct {
	series  Series
	look    look
	points  []vertex
	banded  bool // an interval has a width: not all of them are zero values
	drawn   int  // points with a number
	missing int  // points without one
	offLog  int  // points that a logarithmic axis cannot hold
	lowest  float64
	highest float64
}

// vertex is a point that is clean, or one without a number.
type vertex struct {
	Point
	there bool
	band  bool
}

func newTrace(s Series, l look, x, y Axis) trace {
	t := trace{series: s, look: l}
	for _, p := range s.Points {
		at, okX := x.clean(p.X)
		v, okY := y.clean(p.Y)
		switch {
		case x.offLog(p.X) || y.offLog(p.Y):
			t.offLog++
		case !okX || !okY:
			t.missing++
		}
		if !okX {
			continue
		}
		p.X, p.Y = at, v
		d := vertex{Point: p, there: okY}
		if okY {
			t.number(&d, y)
		}
		t.points = append(t.points, d)
	}
	slices.SortStableFunc(t.points, func(a, b vertex) int { return cmp.Compare(a.X, b.X) })
	return t
}

// number counts a vertex that has one, and cleans its interval.
func (t *trace) number(d *vertex, y Axis) {
	if t.drawn == 0 {
		t.lowest, t.highest = d.Y, d.Y
	}
	t.drawn++
	t.lowest, t.highest = min(t.lowest, d.Y), max(t.highest, d.Y)
	low, okLow := Axis{}.clean(d.Low)
	high, okHigh := Axis{}.clean(d.High)
	if d.band = okLow && okHigh && low <= d.Y && d.Y <= high; !d.band {
		return
	}
	d.Low, d.High = low, high
	t.banded = t.banded || low < high
}

// reach widens the extents of the axes to hold the trace. A lower end that a
// logarithmic axis cannot hold lies at its border.
func (t *trace) reach(xs, ys *extent, y Axis) {
	for _, d := range t.points {
		xs.add(d.X)
		if d.there {
			ys.add(d.Y)
		}
		if !d.band {
			continue
		}
		ys.add(d.High)
		if low, ok := y.clean(d.Low); ok {
			ys.add(low)
		}
	}
}

// reach widens extents to hold the points of a line in a panel.
func (s Series) reach(xs, ys *extent, y Axis) {
	for _, p := range s.Points {
		at, ok := Axis{}.clean(p.X)
		if !ok {
			continue
		}
		xs.add(at)
		if v, ok := y.clean(p.Y); ok {
			ys.add(v)
		}
	}
}

// words say from where to where a line goes.
func (s Series) words(up scale, y Axis) string {
	var xs, ys extent
	s.reach(&xs, &ys, y)
	if !ys.any {
		return s.Name + " no numbers"
	}
	return s.Name + " " + up.text(ys.lo) + " to " + up.text(ys.hi)
}

// sample draws the legend's sample of the line.
func (t *trace) sample(p *plot) func(x, y float64) {
	return func(x, y float64) {
		p.path("line "+t.look.class(), line(x, y, x+30, y), attribute("stroke-dasharray", t.look.dash()))
		p.mark(x+15, y, t.look, 1, "", "")
	}
}

// columns is in how many columns a long line is thinned. Each gives two
// points: the lowest and the highest, in their order. With as many columns as
// pixels the drawing is the same as that of all points (Jugel and others, "M4",
// VLDB 2014, keep the first and last of a column too, for the joints
// between columns, which are less than a pixel wide here).
const columns = 500

// thin returns the vertices to draw. A gap within a column is too narrow to
// see; a column without any number is one.
func (t *trace) thin(x scale) []vertex {
	if len(t.points) <= 2*columns {
		return t.points
	}
	var kept []vertex
	for rest := t.points; len(rest) > 0; {
		column := columnOf(rest[0].X, x)
		n := 1
		for n < len(rest) && columnOf(rest[n].X, x) == column {
			n++
		}
		kept = append(kept, extremes(rest[:n])...)
		rest = rest[n:]
	}
	return kept
}

func columnOf(v float64, x scale) int { return int(x.share(v/x.divisor) * columns * (1 - 1e-12)) }

// extremes are the lowest and the highest of a column, each with the widest
// interval of the column.
func extremes(column []vertex) []vertex {
	low, high := -1, -1
	var band extent
	for i, d := range column {
		if !d.there {
			continue
		}
		if low < 0 || d.Y < column[low].Y {
			low = i
		}
		if high < 0 || d.Y > column[high].Y {
			high = i
		}
		if d.band {
			band.add(d.Low)
			band.add(d.High)
		}
	}
	if low < 0 {
		return column[:1]
	}
	kept := []vertex{column[min(low, high)], column[max(low, high)]}
	if low == high {
		kept = kept[:1]
	}
	for i := range kept {
		if kept[i].band = band.any; band.any {
			kept[i].Low, kept[i].High = band.lo, band.hi
		}
	}
	return kept
}

// band draws the intervals, there and back for each stretch that has them.
func (t *trace) band(p *plot) {
	if !t.banded {
		return
	}
	var b pen
	for rest := t.thin(p.across); len(rest) > 0; {
		n := 0
		for n < len(rest) && rest[n].there && rest[n].band {
			x, y := p.across.at(rest[n].X), p.up.at(rest[n].High)
			if t.series.Steps && n > 0 {
				b.level(x)
				b.upright(y)
			} else {
				b.to(x, y)
			}
			n++
		}
		for i := n - 1; i >= 0; i-- {
			x, y := p.across.at(rest[i].X), p.up.at(rest[i].Low)
			if t.series.Steps && i < n-1 {
				b.upright(y)
				b.level(x)
			} else {
				b.to(x, y)
			}
		}
		b.close()
		if n == 1 { // a band without width: an interval at a lone point
			x := p.across.at(rest[0].X)
			p.path("line "+t.look.class(), line(x, p.up.at(rest[0].Low), x, p.up.at(rest[0].High)))
		}
		rest = rest[max(n, 1):]
	}
	p.path("band "+t.look.class(), b.String())
}

// line draws the line and its marks.
func (t *trace) line(p *plot) {
	points := t.thin(p.across)
	p.path("line "+t.look.class(), t.path(p, points), attribute("stroke-dasharray", t.look.dash()))
	if t.series.Flags == nil {
		t.marks(p, points)
	}
}

// path is the way of the line through vertices.
func (t *trace) path(p *plot, points []vertex) string {
	var l pen
	for _, d := range points {
		if !d.there {
			l.lift()
			continue
		}
		x, y := p.across.at(d.X), p.up.at(d.Y)
		if t.series.Steps && l.down {
			l.level(x)
			l.upright(y)
			continue
		}
		l.to(x, y)
	}
	return l.String()
}

// marks draws a mark at each point of a short line, at points that stand
// alone, and at some of a long one, at other places for each line.
func (t *trace) marks(p *plot, points []vertex) {
	const apart = 90 // pixels
	next := math.Inf(-1)
	if len(points) > fewPoints {
		next = p.left + float64(int(t.look)*37%apart)
	}
	alone := func(i int) bool {
		return (i == 0 || !points[i-1].there) && (i == len(points)-1 || !points[i+1].there)
	}
	for i, d := range points {
		x := p.across.at(d.X)
		if !d.there || x < next && !alone(i) {
			continue
		}
		if len(points) > fewPoints && x >= next {
			next = x + apart
		}
		tip := ""
		if len(points) <= fewPoints {
			tip = both(t.series.Name, p.across.text(d.X)) + ": " + p.up.text(d.Y)
		}
		p.mark(x, p.up.at(d.Y), t.look, 1, "", tip)
	}
}
