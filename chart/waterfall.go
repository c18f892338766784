package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Waterfall draws stretches of time under one another, in the order given: the
// attempts of a request.
type Waterfall struct {
	Title string
	X     Axis // linear
	Rows  []Stretch
	Marks []Mark // upright broken lines: when the caller had its answer
	Note  string // further sentences for the caption
}

// Stretch is one row: what went on from one instant to another, and what of it
// is left after that.
type Stretch struct {
	Name     string
	From, To float64
	After    float64 // where the pale end of the row is; no more than To for none
	Fill     Fill
	Text     string // behind it
}

const (
	mostStretches = 40
	rowPitch      = 22.0
	rowHigh       = 14.0
	mostWords     = 310.0 // behind a row, in pixels
)

// SVG draws the chart, of at most the first 40 rows.
func (c Waterfall) SVG() string { return c.svg(false) }

// Inline draws the chart without its style sheet, for a page that has [Style].
func (c Waterfall) Inline() string { return c.svg(true) }

func (c Waterfall) svg(bare bool) string {
	c.X.Log = false
	p := &plot{canvas: canvas{bare: bare}}
	p.extra = panelStyle
	p.begin("Waterfall", c.Title)
	var rows []Stretch
	for _, r := range c.Rows[:min(len(c.Rows), mostStretches)] {
		rows = append(rows, r.cleaned(c.X))
	}
	var xs extent
	names, words := 0.0, 0.0
	for _, r := range rows {
		names, words = max(names, width(r.Name, little)), max(words, width(r.Text, little))
		if r.known() {
			xs.add(r.From)
			xs.add(max(r.To, r.After))
		}
	}
	c.Marks = Lines{X: c.X, Uprights: c.Marks}.uprights(&xs)
	slices.SortStableFunc(c.Marks, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	p.left = margin + min(names, 200) + 10
	p.right = Width - margin - 8 - min(words, mostWords)
	p.across = c.X.across(xs, tight, p.left, p.right)
	p.top = p.y + 2
	if len(c.Marks) > 0 {
		p.top += 14
	}
	p.bottom = p.top + rowPitch*float64(max(1, len(rows))) + 2
	p.backdrop()
	for i, r := range rows {
		p.stretch(r, p.top+3+float64(i)*rowPitch)
	}
	end := math.Inf(-1)
	for _, m := range c.Marks {
		name := shorten(m.Name, little, 300)
		if half := width(name, little) / 2; within(p.across.at(m.At), half)-half < end {
			name = ""
		} else {
			end = within(p.across.at(m.At), half) + half
		}
		p.limit(m.At, name)
	}
	for i, r := range rows {
		p.stretchText(r, p.top+3+float64(i)*rowPitch)
	}
	if len(rows) == 0 {
		p.nothing()
	}
	p.y = p.bottom
	p.belowAxis(c.X.heading(p.across.unit))
	for _, r := range rows {
		if !r.known() {
			p.desc = append(p.desc, fmt.Sprintf("%s: no times, %s.", r.Name, r.Text))
			continue
		}
		p.desc = append(p.desc, fmt.Sprintf("%s: from %s to %s, %s.", r.Name, p.across.text(r.From), p.across.text(r.To), r.Text))
	}
	var caption []string
	if n := len(c.Rows); n > mostStretches {
		caption = append(caption, fmt.Sprintf("The first %d of %s are drawn.", mostStretches, counted(n, "row", "rows")))
	}
	if c.Note != "" {
		caption = append(caption, sentence(c.Note))
	}
	return p.finish(caption...)
}

// cleaned is a row with numbers that can be drawn. One without them has NaN.
func (r Stretch) cleaned(a Axis) Stretch {
	from, okFrom := a.clean(r.From)
	to, okTo := a.clean(r.To)
	after, okAfter := a.clean(r.After)
	if !okFrom || !okTo || to < from {
		from = math.NaN()
	}
	if !okAfter {
		after = to
	}
	r.From, r.To, r.After = from, to, after
	return r
}

func (r Stretch) known() bool { return !math.IsNaN(r.From) }

// stretch draws one row with its top at y. One of no length is a tick.
func (p *plot) stretch(r Stretch, y float64) {
	if !r.known() {
		return
	}
	from, to := p.across.at(r.From), p.across.at(r.To)
	p.fill(r.Fill, []slab{{from, max(to, from+1.5), y, y + rowHigh}})
	if r.After > r.To {
		p.fill(Fill{-1, Rising}, []slab{{to, p.across.at(r.After), y + 3, y + rowHigh - 3}})
	}
}

// stretchText writes the name of a row before it, and its words behind it.
func (p *plot) stretchText(r Stretch, y float64) {
	y += rowHigh/2 + 4
	p.text(p.left-8, y, "small end", squeeze(r.Name, little, p.left-8-margin))
	end := p.left + 6
	if r.known() {
		end = p.across.at(max(r.To, r.After)) + 6
	}
	p.text(end, y, "small halo", shorten(r.Text, little, Width-4-end))
}
