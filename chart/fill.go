package chart

import "math"

// Fill is how an area is told from others: a colour, and a pattern that shows
// it without colours too.
type Fill struct {
	Colour  int // of the palette; below 0 for grey
	Pattern Pattern
}

// Pattern is what an area is filled with, over a paler shade of its colour.
type Pattern uint8

// The patterns. Solid is the full colour, Pale a light one.
const (
	Solid Pattern = iota
	Pale
	Rising  // strokes from the lower left to the upper right
	Falling // the other way
	Level
	Upright
	patterns
)

// class is the colour of a fill.
func (f Fill) class() string {
	if f.Colour < 0 {
		return "plain"
	}
	return look(f.Colour).class()
}

// slab is a part of an area between two upright lines: from the upper edge y0
// down to y1.
type slab struct{ x0, x1, y0, y1 float64 }

// fill draws an area that is made of slabs from left to right. Neighbours that
// do not touch are areas of their own.
func (c *canvas) fill(f Fill, slabs []slab) {
	classes := "area "
	if f.Pattern != Solid {
		classes += "pale "
	}
	c.path(classes+f.class(), outline(slabs))
	if f.Pattern > Pale {
		c.path("stripe "+f.class(), stripes(f.Pattern, slabs))
	}
}

// thick is the least height that is drawn, in pixels.
const thick = 0.05

// outline is the border of an area, in steps, as one closed path a stretch.
func outline(slabs []slab) string {
	var p pen
	for i := 0; i < len(slabs); {
		if slabs[i].y1-slabs[i].y0 < thick {
			i++
			continue
		}
		n := i + 1
		for n < len(slabs) && slabs[n].y1-slabs[n].y0 >= thick && slabs[n].x0 <= slabs[n-1].x1+thick {
			n++
		}
		p.to(slabs[i].x0, slabs[i].y0)
		for k := i; k < n; k++ {
			p.upright(slabs[k].y0)
			p.level(slabs[k].x1)
		}
		for k := n - 1; k >= i; k-- {
			p.upright(slabs[k].y1)
			p.level(slabs[k].x0)
		}
		p.close()
		i = n
	}
	return p.String()
}

// stripes fills an area with strokes. Those of one pattern meet where areas
// with it touch, as the distance counts from the corner of the chart.
func stripes(f Pattern, slabs []slab) string {
	const apart = 6.0
	var p pen
	if len(slabs) == 0 {
		return ""
	}
	switch f {
	case Level:
		top, bottom := reachOf(slabs)
		for y := math.Ceil(top/apart) * apart; y < bottom; y += apart {
			p.runs(slabs, func(s slab) (x0, y0, x1, y1 float64, ok bool) {
				return s.x0, y, s.x1, y, s.y0 <= y && y <= s.y1
			})
		}
	case Upright:
		left, right := slabs[0].x0, slabs[len(slabs)-1].x1
		i := 0
		for x := math.Ceil(left/apart) * apart; x < right; x += apart {
			for i < len(slabs)-1 && slabs[i].x1 < x {
				i++
			}
			if s := slabs[i]; s.y1-s.y0 >= 0.5 && s.x0 <= x {
				p.to(x, s.y0)
				p.upright(s.y1)
				p.lift()
			}
		}
	default:
		sign := 1.0 // of x in what a line has in common: x+y rises to the right
		if f == Falling {
			sign = -1
		}
		top, bottom := reachOf(slabs)
		left, right := slabs[0].x0, slabs[len(slabs)-1].x1
		low, high := min(sign*left, sign*right)+top, max(sign*left, sign*right)+bottom
		const steep = apart * math.Sqrt2
		for sum := math.Ceil(low/steep) * steep; sum < high; sum += steep {
			p.runs(slabs, func(s slab) (x0, y0, x1, y1 float64, ok bool) {
				// Where the line sign*x + y = sum is inside of the slab.
				at := func(y float64) float64 { return sign * (sum - y) }
				from, to := min(at(s.y0), at(s.y1)), max(at(s.y0), at(s.y1))
				from, to = max(from, s.x0), min(to, s.x1)
				return from, sum - sign*from, to, sum - sign*to, from < to
			})
		}
	}
	return p.String()
}

// runs draws one line through slabs, in as few strokes as it takes.
func (p *pen) runs(slabs []slab, inside func(slab) (x0, y0, x1, y1 float64, ok bool)) {
	open := false
	var endX, endY float64
	for _, s := range slabs {
		x0, y0, x1, y1, ok := inside(s)
		if !ok || s.y1-s.y0 < 0.5 {
			continue
		}
		if open && math.Abs(x0-endX) > thick {
			p.to(endX, endY)
			p.lift()
			open = false
		}
		if !open {
			p.to(x0, y0)
			open = true
		}
		endX, endY = x1, y1
	}
	if open {
		p.to(endX, endY)
		p.lift()
	}
}

func reachOf(slabs []slab) (top, bottom float64) {
	top, bottom = slabs[0].y0, slabs[0].y1
	for _, s := range slabs {
		top, bottom = min(top, s.y0), max(bottom, s.y1)
	}
	return top, bottom
}
