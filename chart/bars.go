package chart

import "fmt"

// Bars draws numbers as horizontal bars, from 0, in the order given: which
// setting matters most.
type Bars struct {
	Title    string
	Value    Axis // linear: the lengths are compared, so Log is ignored
	Bars     []Bar
	Limit    Mark   // a broken line across the bars, if it has a name: a floor of noise
	Interval string // what the whiskers are
	Note     string // further sentences for the caption
}

// Bar is one bar. A Value that is NaN or infinite has no bar, which is said.
// Low and High are an interval around it, drawn where Low < High and both
// sides of Value are theirs.
type Bar struct {
	Name      string
	Value     float64
	Low, High float64
}

const mostBars = 60

// SVG draws the chart, of at most the first 60 bars.
func (c Bars) SVG() string { return c.svg(false) }

// Inline draws the chart without its style sheet, for a page that has [Style].
func (c Bars) Inline() string { return c.svg(true) }

func (c Bars) svg(bare bool) string {
	c.Value.Log = false
	p := &plot{canvas: canvas{bare: bare}}
	p.begin("Bar chart", c.Title)
	bars := c.Bars[:min(len(c.Bars), mostBars)]
	var values extent
	names, numbers := 0.0, 0.0
	for _, b := range bars {
		names = max(names, width(b.Name, normal))
		if v, ok := c.Value.clean(b.Value); ok {
			values.add(v)
		}
		if low, high, ok := b.interval(); ok {
			values.add(low)
			values.add(high)
		}
	}
	limit, limited := c.Value.clean(c.Limit.At)
	if limited = limited && c.Limit.Name != ""; limited {
		values.add(limit)
	}
	// What is written at the end of a bar needs room beside the longest.
	p.across = c.Value.fit(values, based, wantUp)
	for _, b := range bars {
		numbers = max(numbers, width(b.text(p, c.Value), little))
	}
	p.left = margin + min(names, 280) + 10
	p.right = Width - margin - 12 - min(numbers, 120)
	p.across = c.Value.across(values, based, p.left, p.right)
	p.top = p.y + 6
	if limited {
		p.top += 14
	}
	p.bottom = p.top + barPitch*float64(max(1, len(bars))) + 4

	p.backdrop()
	for i, b := range bars {
		b.draw(p, c.Value, barTop(p, i))
	}
	if limited {
		p.limit(limit, c.Limit.Name)
	}
	for i, b := range bars {
		b.write(p, c.Value, barTop(p, i))
	}
	if len(bars) == 0 {
		p.nothing()
	}
	p.y = p.bottom
	p.belowAxis(c.Value.heading(p.across.unit))
	p.desc = append(p.desc, "Lengths: "+reach(c.Value.heading(p.across.unit), p.across)+".")
	for _, b := range bars {
		p.desc = append(p.desc, b.Name+": "+b.text(p, c.Value)+".")
	}
	return p.finish(c.caption(bars)...)
}

const (
	barPitch = 26.0
	barHigh  = 18.0
)

func barTop(p *plot, i int) float64 { return p.top + 4 + float64(i)*barPitch }

// interval is the interval of a bar, if there is one.
func (b Bar) interval() (low, high float64, ok bool) {
	low, okLow := Axis{}.clean(b.Low)
	high, okHigh := Axis{}.clean(b.High)
	return low, high, okLow && okHigh && low < high && low <= b.Value && b.Value <= high
}

func (b Bar) text(p *plot, a Axis) string {
	v, ok := a.clean(b.Value)
	if !ok {
		return "no number"
	}
	return p.across.text(v)
}

// backdrop draws the grid of a bar chart: upright lines, the one at 0 stronger.
func (p *plot) backdrop() {
	var grid pen
	for _, t := range p.across.ticks {
		grid.to(p.across.place(t.at), p.top)
		grid.to(p.across.place(t.at), p.bottom)
		grid.lift()
	}
	p.path("grid", grid.String())
	p.path("axis", line(p.across.at(0), p.top, p.across.at(0), p.bottom))
}

// draw draws a bar with its top at y.
func (b Bar) draw(p *plot, a Axis, y float64) {
	v, ok := a.clean(b.Value)
	if !ok {
		return
	}
	zero, end := p.across.at(0), p.across.at(v)
	p.rect(min(zero, end), y, max(zero, end)-min(zero, end), barHigh, both(b.Name, b.text(p, a)), class("mark c0"))
	if low, high, ok := b.interval(); ok {
		from, to := p.across.at(low), p.across.at(high)
		mid := y + barHigh/2
		p.path("whisker", line(from, mid, to, mid)+line(from, mid-4, from, mid+4)+line(to, mid-4, to, mid+4))
	}
}

// write writes the name of a bar before it, and its number behind it, over
// whatever is drawn there.
func (b Bar) write(p *plot, a Axis, y float64) {
	y += barHigh/2 + 4
	p.text(p.left-8, y, "end", squeeze(b.Name, normal, p.left-8-margin))
	beyond := p.across.at(0)
	v, ok := a.clean(b.Value)
	if ok {
		beyond = max(beyond, p.across.at(v))
	}
	if _, high, ok := b.interval(); ok {
		beyond = max(beyond, p.across.at(high))
	}
	p.text(beyond+6, y, "small halo", b.text(p, a))
}

// limit draws the broken line and its name above the bars.
func (p *plot) limit(at float64, name string) {
	x := p.across.at(at)
	p.path("limit", line(x, p.top-2, x, p.bottom))
	name = shorten(name, little, 300)
	half := width(name, little) / 2
	p.text(within(x, half), p.top-6, "small mid", name)
}

func (c Bars) caption(bars []Bar) []string {
	var caption []string
	missing, whiskers := 0, false
	for _, b := range bars {
		if _, ok := c.Value.clean(b.Value); !ok {
			missing++
		}
		_, _, ok := b.interval()
		whiskers = whiskers || ok
	}
	switch {
	case whiskers && c.Interval != "":
		caption = append(caption, sentence("Whiskers: "+c.Interval))
	case whiskers:
		caption = append(caption, "Whiskers are intervals.")
	}
	if missing > 0 {
		caption = append(caption, fmt.Sprintf("Refused or absent: the number of %s.", counted(missing, "bar", "bars")))
	}
	if n := len(c.Bars); n > mostBars {
		caption = append(caption, fmt.Sprintf("The first %d of %s are drawn.", mostBars, counted(n, "bar", "bars")))
	}
	if c.Note != "" {
		caption = append(caption, sentence(c.Note))
	}
	return caption
}
