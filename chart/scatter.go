package chart

import (
	"cmp"
	"fmt"
	"slices"
)

// Scatter draws points by two measures, and the front of those that no other
// point beats in both.
type Scatter struct {
	Title  string
	X, Y   Axis // Better of X says on which side of the front its steps lie
	Groups []Group
	Note   string // further sentences for the caption
}

// Group is points with a look of their own.
type Group struct {
	Name string
	Dots []Dot
}

// Dot is a point. One with a number that is NaN or infinite is not drawn, and
// counted. The caller says which lie on the front; the front is joined by
// steps when it goes one way only, as it does when it is of these two measures.
type Dot struct {
	X, Y  float64
	Name  string // written beside it where there is room if it lies on the front
	Front bool
}

const (
	mostGroups = 42
	// dotSpacing is how near, in pixels, two dots of one look may be for both
	// to be drawn when there are more than manyDots of them.
	dotSpacing = 3
	manyDots   = 2000
)

// SVG draws the chart. Where more than two thousand points crowd, one of
// those that cover one another is drawn. It draws the first 42 groups.
func (c Scatter) SVG() string {
	s := &cloud{Scatter: c}
	s.begin("Scatter plot", c.Title)
	var xs, ys extent
	var keys []key
	for i, g := range c.Groups[:min(len(c.Groups), mostGroups)] {
		for _, d := range g.Dots {
			s.add(d, look(i), &xs, &ys)
		}
		if g.Name != "" {
			keys = append(keys, key{g.Name, func(x, y float64) { s.mark(x+5, y, look(i), 1, "", "") }, 10})
		}
	}
	if len(s.front) > 0 {
		keys = append(keys, key{"front of the best trade-offs", s.sample, 30})
	}
	s.legend(keys)
	s.frame(c.X, c.Y, xs, ys, nice, 0)
	s.lattice()
	s.draw()
	if len(s.dots) == 0 {
		s.nothing()
	}
	s.desc = append(s.desc, fmt.Sprintf("Across: %s. Up: %s. %s, %d on the front.",
		reach(c.X.heading(s.across.unit), s.across), reach(c.Y.heading(s.up.unit), s.up), counted(len(s.dots), "point", "points"), len(s.front)))
	return s.finish(s.caption()...)
}

// cloud is a scatter plot while it is drawn.
type cloud struct {
	Scatter
	plot
	dots    []dot
	front   []dot // by X
	missing int
	offLog  int
	taken   []box // where nothing more can be written
}

type dot struct {
	Dot
	look look
}

// box is a rectangle by its corners.
type box struct{ x0, y0, x1, y1 float64 }

func (b box) meets(o box) bool {
	return b.x0 < o.x1 && o.x0 < b.x1 && b.y0 < o.y1 && o.y0 < b.y1
}

func (s *cloud) add(d Dot, l look, xs, ys *extent) {
	x, okX := s.X.clean(d.X)
	y, okY := s.Y.clean(d.Y)
	switch {
	case s.X.offLog(d.X) || s.Y.offLog(d.Y):
		s.offLog++
	case !okX || !okY:
		s.missing++
	default:
		xs.add(x)
		ys.add(y)
		d.X, d.Y = x, y
		s.dots = append(s.dots, dot{d, l})
		if d.Front {
			s.front = append(s.front, dot{d, l})
		}
	}
}

func (s *cloud) place(d dot) (x, y float64) { return s.across.at(d.X), s.up.at(d.Y) }

// draw puts the steps under the points and the front on top of them.
func (s *cloud) draw() {
	slices.SortStableFunc(s.front, func(a, b dot) int {
		return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y))
	})
	s.path("line plain", s.steps())
	type spot struct {
		x, y int
		look look
	}
	seen := make(map[spot]bool)
	for _, d := range s.dots {
		if d.Front {
			continue
		}
		x, y := s.place(d)
		at := spot{int(x / dotSpacing), int(y / dotSpacing), d.look}
		if len(s.dots) > manyDots && seen[at] {
			continue
		}
		seen[at] = true
		tip := ""
		if len(s.dots) <= manyDots {
			tip = s.tip(d)
		}
		s.mark(x, y, d.look, 0.9, "faint "+d.look.class(), tip)
	}
	for _, d := range s.front {
		x, y := s.place(d)
		s.taken = append(s.taken, box{x - 7, y - 7, x + 7, y + 7})
	}
	for _, d := range s.front {
		x, y := s.place(d)
		s.mark(x, y, d.look, 1.5, "chosen "+d.look.class(), s.tip(d))
		s.name(d, x, y)
	}
}

func (s *cloud) tip(d dot) string {
	at := fmt.Sprintf("%s, %s", s.across.text(d.X), s.up.text(d.Y))
	if d.Name == "" {
		return at
	}
	return d.Name + ": " + at
}

// name writes a name beside its point, where nothing stands yet; at best on
// the better side of it, where there are no points.
func (s *cloud) name(d dot, x, y float64) {
	label := shorten(d.Name, little, 200)
	w := width(label, little)
	type anchor struct {
		class      string
		left, x, y float64
	}
	before, behind := anchor{"end", x - 9 - w, x - 9, 0}, anchor{"", x + 9, x + 9, 0}
	sides, heights := []anchor{behind, before}, []float64{y - 6, y + 14}
	if s.X.Better == Lower {
		slices.Reverse(sides)
	}
	if s.Y.Better == Lower {
		slices.Reverse(heights)
	}
	var places []anchor
	for _, side := range sides {
		for _, side.y = range heights {
			places = append(places, side)
		}
	}
	for _, at := range places {
		b := box{at.left, at.y - 10, at.left + w, at.y + 3}
		inside := b.x0 >= s.left+2 && b.x1 <= Width-margin && b.y0 >= s.top-8 && b.y1 <= s.bottom-1
		if !inside || slices.ContainsFunc(s.taken, b.meets) {
			continue
		}
		s.taken = append(s.taken, b)
		s.text(at.x, at.y, "small halo "+at.class, label)
		return
	}
}

// steps joins the front. Between two neighbours it goes through the corner
// that is as bad as either in each measure: that is what both make sure of.
// A front that turns is not one of these two measures, and is not joined.
func (s *cloud) steps() string {
	if len(s.front) < 2 {
		return ""
	}
	var p pen
	var segments []box
	up, down := false, false
	for i, d := range s.front {
		x, y := s.place(d)
		if i > 0 {
			before := s.front[i-1]
			up, down = up || d.Y > before.Y, down || d.Y < before.Y
			x0, y0 := s.place(before)
			cornerX, cornerY := x, y0
			if s.X.Better == Higher {
				cornerX, cornerY = x0, y
			}
			p.to(cornerX, cornerY)
			segments = append(segments, segment(x0, y0, cornerX, cornerY), segment(cornerX, cornerY, x, y))
		}
		p.to(x, y)
	}
	if up && down {
		return ""
	}
	s.taken = append(s.taken, segments...)
	return p.String()
}

// segment is a box around a level or upright line.
func segment(x0, y0, x1, y1 float64) box {
	return box{min(x0, x1) - 2, min(y0, y1) - 2, max(x0, x1) + 2, max(y0, y1) + 2}
}

// sample draws the legend's sample of the front.
func (s *cloud) sample(x, y float64) {
	s.path("line plain", "M"+px(x)+" "+px(y+4)+"L"+px(x+15)+" "+px(y+4)+"L"+px(x+15)+" "+px(y-4)+"L"+px(x+30)+" "+px(y-4))
	s.raw(`<circle class="mark chosen plain" cx="`, px(x+15), `" cy="`, px(y+4), `" r="4"/>`, "\n")
}

func (s *cloud) caption() []string {
	var caption []string
	all := group(fmt.Sprint(len(s.dots) + s.missing + s.offLog))
	if s.missing > 0 {
		caption = append(caption, fmt.Sprintf("Not drawn, for a number is refused or absent: %s of %s points.", group(fmt.Sprint(s.missing)), all))
	}
	if s.offLog > 0 {
		caption = append(caption, fmt.Sprintf("Not above 0, so not on a logarithmic axis: %s of %s points.", group(fmt.Sprint(s.offLog)), all))
	}
	if n := len(s.Groups); n > mostGroups {
		caption = append(caption, fmt.Sprintf("The first %d of %s are drawn.", mostGroups, counted(n, "group", "groups")))
	}
	if s.Note != "" {
		caption = append(caption, sentence(s.Note))
	}
	return caption
}
