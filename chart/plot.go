package chart

import (
	"math"
	"slices"
)

// plot is a canvas with two axes: what Lines and Scatter share.
type plot struct {
	canvas
	across, up               scale
	left, right, top, bottom float64
	taken                    []box // by names inside of the plot
}

// note writes a name inside of the plot, ending at x or, where it has no room there,
// beginning on the other side of it; not where another name stands.
func (p *plot) note(x, y, gap float64, class, name string) {
	w := width(name, little)
	for _, b := range []box{{x - gap - w, y - 10, x - gap, y + 2}, {x + gap, y - 10, x + gap + w, y + 2}} {
		if b.x0 < p.left || b.x1 > p.right || slices.ContainsFunc(p.taken, b.meets) {
			continue
		}
		p.taken = append(p.taken, b)
		if b.x0 < x {
			class += " end"
			b.x0 = b.x1
		}
		p.text(b.x0, y, class, name)
		return
	}
}

const (
	plotHeight = 300
	wantAcross = 10 // ticks, if their labels have room
	wantUp     = 6
)

// frame sets the axes below what is drawn already, and draws them. The strip
// is a height to keep free above the plot.
func (p *plot) frame(x, y Axis, xs, ys extent, around snugness, strip float64) {
	p.y = math.Ceil(p.y) + 13
	p.top = p.y + 12 + strip
	p.bottom = p.top + plotHeight

	p.up = y.fit(ys, nice, wantUp)
	p.up.from, p.up.to = p.bottom, p.top
	p.text(margin, p.y, "soft", shorten(y.heading(p.up.unit), normal, Width-2*margin))

	widest := 0.0
	for _, t := range p.up.ticks {
		widest = max(widest, width(t.label, little))
	}
	p.left = math.Ceil(margin + min(widest, 180) + 8)
	p.right = Width - margin - 14
	p.across = x.across(xs, around, p.left, p.right)
	p.y = p.bottom
	p.belowAxis(x.heading(p.across.unit))
}

// across fits a horizontal axis, with as many ticks as have room.
func (a Axis) across(e extent, s snugness, left, right float64) scale {
	var sc scale
	for want := wantAcross; want > 1; want-- {
		sc = a.fit(e, s, want)
		sc.from, sc.to = left, right
		if !sc.crowded(little) {
			break
		}
	}
	sc.apart(little)
	return sc
}

// belowAxis writes the horizontal axis under the plot. Labels at the ends stay
// inside of the chart.
func (p *plot) belowAxis(heading string) {
	p.labelsBelow()
	p.headingBelow(heading)
}

func (p *plot) labelsBelow() {
	for _, t := range p.across.ticks {
		p.tickBelow(p.across.place(t.at), t.label)
	}
}

func (p *plot) headingBelow(heading string) {
	p.y += 17
	if heading != "" {
		p.y += 17
		p.text((p.left+p.right)/2, p.y, "mid soft", shorten(heading, normal, p.right-p.left))
	}
	p.y += 6
}

// tickBelow writes the label of a tick under the plot.
func (c *canvas) tickBelow(x float64, label string) {
	c.text(within(x, width(label, little)/2), c.y+16, "small soft mid", label)
}

// lattice draws the grid and the axes, and the labels of the vertical one.
func (p *plot) lattice() {
	p.gridAcross()
	var axis pen
	p.borders(&axis)
	p.ticksBelow(&axis)
	p.path("axis", axis.String())
	p.labelsUp()
}

// gridAcross draws a line at each tick of the vertical axis.
func (p *plot) gridAcross() {
	var grid pen
	for _, t := range p.up.ticks {
		y := p.up.place(t.at)
		grid.to(p.left, y)
		grid.to(p.right, y)
		grid.lift()
	}
	p.path("grid", grid.String())
}

// borders are the lines of the two axes.
func (p *plot) borders(axis *pen) {
	axis.to(p.left, p.top)
	axis.to(p.left, p.bottom)
	axis.to(p.right, p.bottom)
	axis.lift()
}

// ticksBelow are the ticks of the horizontal axis.
func (p *plot) ticksBelow(axis *pen) {
	for _, t := range p.across.ticks {
		x := p.across.place(t.at)
		axis.to(x, p.bottom)
		axis.to(x, p.bottom+4)
		axis.lift()
	}
}

func (p *plot) labelsUp() {
	for _, t := range p.up.ticks {
		p.text(p.left-6, p.up.place(t.at)+4, "small soft end", shorten(t.label, little, p.left-8))
	}
}

// nothing says in the middle of the plot that there is nothing in it.
func (p *plot) nothing() {
	p.text((p.left+p.right)/2, (p.top+p.bottom)/2, "mid soft", "no numbers to draw")
}
