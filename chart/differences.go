package chart

import (
	"fmt"
	"math"
)

// Differences draws how much numbers differ from what they were: a dot each, with a
// whisker for its interval, around an upright line at 0, in the order given.
type Differences struct {
	Title    string
	Value    Axis // linear: Log is ignored
	Rows     []Difference
	Within   float64 // what lies farther from 0 is an arrow at the border; 0 leaves room for all
	Interval string  // what the whiskers are
	Note     string  // further sentences for the caption
}

// Difference is one dot. A Value that is NaN or infinite has none, which is said.
// Low and High are its interval, drawn where Low < High and both sides of Value are
// theirs. One that chance can explain is a hollow dot.
type Difference struct {
	Name      string
	Value     float64
	Low, High float64
	Text      string // beside it; its number when empty
	Doubtful  bool
	Limits    []float64 // broken strokes across its line: what it was allowed
}

const (
	mostDifferences = 60
	dotPitch        = 24.0
	hollow          = 4.2
)

// SVG draws the chart, of at most the first 60 numbers.
func (c Differences) SVG() string { return c.svg(false) }

// Inline draws the chart without its style sheet, for a page that has [Style].
func (c Differences) Inline() string { return c.svg(true) }

func (c Differences) svg(bare bool) string {
	c.Value.Log = false
	if v, ok := c.Value.clean(c.Within); !ok || v < 0 {
		c.Within = 0
	} else {
		c.Within = v
	}
	p := &plot{canvas: canvas{bare: bare, extra: panelStyle}}
	p.begin("Differences", c.Title)
	rows := c.Rows[:min(len(c.Rows), mostDifferences)]
	var values extent
	names, texts := 0.0, 0.0
	for _, r := range rows {
		names = max(names, width(r.Name, normal))
		low, high, _ := r.interval()
		for _, v := range append([]float64{r.Value, low, high}, r.Limits...) {
			if v, ok := c.Value.clean(v); ok {
				values.add(c.held(v))
			}
		}
	}
	p.across = c.Value.fit(values, based, wantUp)
	for _, r := range rows {
		texts = max(texts, width(r.text(p, c.Value), little))
	}
	p.left = margin + min(names, 260) + 18
	p.right = Width - margin - 14 - min(texts, 230)
	p.across = c.Value.across(values, based, p.left, p.right)
	p.top = p.y + 6
	p.bottom = p.top + dotPitch*float64(max(1, len(rows))) + 4

	p.backdrop()
	for i, r := range rows {
		y := p.top + 2 + dotPitch*(float64(i)+0.5)
		c.draw(p, r, y)
		p.text(p.left-10, y+4, "end", squeeze(r.Name, normal, p.left-10-margin))
		p.text(p.right+10, y+4, "small", shorten(r.text(p, c.Value), little, Width-margin-p.right-10))
		p.desc = append(p.desc, r.Name+": "+r.text(p, c.Value)+".")
	}
	if len(rows) == 0 {
		p.nothing()
	}
	p.y = p.bottom
	p.belowAxis(c.Value.heading(p.across.unit))
	return p.finish(c.caption(rows)...)
}

// held is a number as far as the axis goes.
func (c Differences) held(v float64) float64 {
	if c.Within > 0 {
		return max(-c.Within, min(v, c.Within))
	}
	return v
}

// beyond reports whether a number is off the axis.
func (c Differences) beyond(v float64) bool { return c.held(v) != v }

// interval is the interval of a difference; its value alone without one.
func (r Difference) interval() (low, high float64, ok bool) {
	low, high, ok = Bar{Value: r.Value, Low: r.Low, High: r.High}.interval()
	if !ok {
		return r.Value, r.Value, false
	}
	return low, high, true
}

func (r Difference) text(p *plot, a Axis) string {
	v, ok := a.clean(r.Value)
	switch {
	case r.Text != "":
		return r.Text
	case !ok:
		return "no number"
	}
	return p.across.text(v)
}

// draw draws a line of the chart around the middle y.
func (c Differences) draw(p *plot, r Difference, y float64) {
	for _, l := range r.Limits {
		if l, ok := c.Value.clean(l); ok && !c.beyond(l) {
			x := p.across.at(l)
			p.path("limit", line(x, y-9, x, y+9))
		}
	}
	v, ok := c.Value.clean(r.Value)
	if !ok {
		return
	}
	if low, high, ok := r.interval(); ok {
		from, to := p.across.at(c.held(low)), p.across.at(c.held(high))
		whisker := line(from, y, to, y)
		for _, end := range []struct{ v, x float64 }{{low, from}, {high, to}} {
			if !c.beyond(end.v) {
				whisker += line(end.x, y-4, end.x, y+4)
			}
		}
		p.path("whisker", whisker)
	}
	x, tip := p.across.at(c.held(v)), both(r.Name, r.text(p, c.Value))
	classes := "mark c0"
	if r.Doubtful {
		classes = "open c0"
	}
	if c.beyond(v) {
		point := math.Copysign(6, v)
		var arrow pen
		arrow.to(x, y)
		arrow.to(x-point, y-5)
		arrow.to(x-point, y+5)
		arrow.close()
		p.raw(`<path class="`, classes, `" d="`, arrow.String(), `"><title>`, escaped(tip), "</title></path>\n")
		return
	}
	p.raw(`<circle class="`, classes, `" cx="`, px(x), `" cy="`, px(y), `" r="`, px(hollow), `"><title>`, escaped(tip), "</title></circle>\n")
}

func (c Differences) caption(rows []Difference) []string {
	var caption []string
	missing, off, doubtful, whiskers, limits := 0, 0, false, false, false
	for _, r := range rows {
		v, ok := c.Value.clean(r.Value)
		switch {
		case !ok:
			missing++
		case c.beyond(v):
			off++
		}
		_, _, spread := r.interval()
		whiskers, doubtful, limits = whiskers || spread, doubtful || r.Doubtful, limits || len(r.Limits) > 0
	}
	switch {
	case whiskers && c.Interval != "":
		caption = append(caption, sentence("Whiskers: "+c.Interval))
	case whiskers:
		caption = append(caption, "Whiskers are intervals.")
	}
	if doubtful {
		caption = append(caption, "Hollow: chance can explain it.")
	}
	if limits {
		caption = append(caption, "Broken strokes: what it was allowed.")
	}
	if off > 0 {
		caption = append(caption, fmt.Sprintf("Arrows: %s of %s farther from 0 than the axis goes.", counted(off, "number", "numbers"), counted(len(rows), "number", "numbers")))
	}
	if missing > 0 {
		caption = append(caption, fmt.Sprintf("Refused or absent: %s.", counted(missing, "number", "numbers")))
	}
	if n := len(c.Rows); n > mostDifferences {
		caption = append(caption, fmt.Sprintf("The first %d of %s are drawn.", mostDifferences, counted(n, "number", "numbers")))
	}
	if c.Note != "" {
		caption = append(caption, sentence(c.Note))
	}
	return caption
}
