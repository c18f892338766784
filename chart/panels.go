package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Panels draws several plots under one another over one horizontal axis, so
// that what happened at one time stands on one line.
type Panels struct {
	Title  string
	X      Axis   // linear
	Spans  []Span // stretches with their names above: phases
	Faults []Span // of those, or others: what is wrong, tinted
	Events []Mark // upright broken lines through all panels: a fault that fires
	Panels []Panel
	Note   string // further sentences for the caption
}

// Panel is one plot of [Panels]: [Areas], [Density] or [Curves].
type Panel interface {
	axis() Axis
	reach(xs, ys *extent)
	snug() snugness
	ticks() int // about how many on the vertical axis
	height() float64
	keys(p *plot) []key
	draw(p *plot)
	words(p *plot) string
	caption() []string
}

// Columns are stretches of one width that lie side by side on the horizontal
// axis.
type Columns struct {
	From, Width float64
}

// sound reports whether columns can be drawn.
func (c Columns) sound() bool {
	_, okFrom := Axis{}.clean(c.From)
	_, okWidth := Axis{}.clean(c.Width)
	return okFrom && okWidth && c.Width > 0
}

func (c Columns) at(i int) (from, to float64) {
	return c.From + float64(i)*c.Width, c.From + float64(i+1)*c.Width
}

func (c Columns) reach(xs *extent, n int) {
	if n > 0 {
		xs.add(c.From)
		_, to := c.at(n - 1)
		xs.add(to)
	}
}

const (
	panelHeight = 104
	thinHeight  = 22
)

// SVG draws the chart. Where the plots begin and end, in pixels and in the
// unit of the axis, stands in its data-plot, for scripts.
func (c Panels) SVG() string { return c.svg(false) }

// Inline draws the chart without its style sheet, for a page that has [Style].
func (c Panels) Inline() string { return c.svg(true) }

func (c Panels) svg(bare bool) string {
	c.X.Log = false
	p := &plot{canvas: canvas{bare: bare}}
	p.extra = panelStyle
	p.begin("Panels over one axis", c.Title)
	var xs extent
	ups := make([]scale, len(c.Panels))
	widest := 0.0
	for i, panel := range c.Panels {
		var ys extent
		panel.reach(&xs, &ys)
		ups[i] = panel.axis().fit(ys, panel.snug(), panel.ticks())
		for _, t := range ups[i].ticks {
			widest = max(widest, width(t.label, little))
		}
	}
	c.Spans = Lines{X: c.X, Spans: c.Spans}.spans(&xs)
	c.Faults = Lines{X: c.X, Spans: c.Faults}.spans(&extent{})
	c.Events = Lines{X: c.X, Uprights: c.Events}.uprights(&xs)
	p.left = math.Ceil(margin + min(widest, 120) + 8)
	p.right = Width - margin - 14
	p.across = c.X.across(xs, tight, p.left, p.right)
	names := p.names(c.Spans, c.Events)
	for i, panel := range c.Panels {
		p.panel(panel, ups[i], c)
		if i == 0 && names {
			p.desc = append(p.desc, c.stretches(p)...)
		}
	}
	if len(c.Panels) == 0 {
		p.top, p.bottom = p.y, p.y+panelHeight
		p.nothing()
		p.y = p.bottom
	}
	p.belowAxis(c.X.heading(p.across.unit))
	p.attributes = attribute("data-plot", strings.Join([]string{px(p.left), px(p.right), exact(p.across.lo * p.across.divisor), exact(p.across.hi * p.across.divisor)}, " "))
	var caption []string
	for _, panel := range c.Panels {
		caption = append(caption, panel.caption()...)
	}
	if c.Note != "" {
		caption = append(caption, sentence(c.Note))
	}
	return p.finish(caption...)
}

// exact is a number as scripts read it.
func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// names writes the names of spans and events above the first panel.
func (p *plot) names(spans []Span, events []Mark) bool {
	if len(spans) > 0 {
		p.y += 14
		end := math.Inf(-1)
		for _, s := range spans {
			from, to := p.across.at(s.From), p.across.at(s.To)
			name := shorten(s.Name, little, to-from-4)
			middle, half := (from+to)/2, width(name, little)/2
			if to-from >= 20 && middle-half > end {
				p.text(middle, p.y, "small soft mid", name)
				end = middle + half
			}
		}
	}
	if len(events) > 0 {
		p.y += 14
		end := math.Inf(-1)
		sorted := slices.Clone(events)
		slices.SortStableFunc(sorted, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
		for _, e := range sorted {
			name := shorten(e.Name, little, 200)
			half := width(name, little) / 2
			middle := within(p.across.at(e.At), half)
			if middle-half > end+4 {
				p.text(middle, p.y, "small mid", name)
				end = middle + half
			}
		}
	}
	return len(spans)+len(events) > 0
}

// stretches tells of spans and events in words.
func (c Panels) stretches(p *plot) []string {
	var words []string
	for _, s := range c.Spans {
		words = append(words, fmt.Sprintf("%s from %s to %s.", s.Name, p.across.text(s.From), p.across.text(s.To)))
	}
	for _, e := range c.Events {
		words = append(words, fmt.Sprintf("%s at %s.", e.Name, p.across.text(e.At)))
	}
	return words
}

// thin leaves out ticks whose labels would stand on one another: on a low panel
// those of a logarithmic axis come close.
func (s *scale) thin() {
	const apart = 10 // pixels from label to label
	last := math.Inf(1)
	s.ticks = slices.DeleteFunc(slices.Clone(s.ticks), func(t tick) bool {
		at := s.place(t.at)
		if math.Abs(at-last) < apart {
			return true
		}
		last = at
		return false
	})
}

// panel draws one plot below what is there.
func (p *plot) panel(panel Panel, up scale, c Panels) {
	p.y += 20
	p.text(margin, p.y, "head", shorten(panel.axis().heading(up.unit), normal, Width-2*margin))
	if keys := panel.keys(p); len(keys) > 0 {
		p.y += 8
		p.legend(keys)
		p.y -= 6
	}
	p.top = p.y + 10
	p.bottom = p.top + panel.height()
	p.taken = nil
	p.up = up
	p.up.from, p.up.to = p.bottom, p.top
	p.up.thin()
	var borders pen
	for i, s := range c.Spans {
		from, to := p.across.at(s.From), p.across.at(s.To)
		if i%2 == 0 && len(c.Faults) == 0 && len(c.Spans) > 1 {
			p.rect(from, p.top, to-from, p.bottom-p.top, "", class("shade"))
		}
		borders.to(from, p.top)
		borders.to(from, p.bottom)
		borders.lift()
	}
	for _, s := range c.Faults {
		from, to := p.across.at(s.From), p.across.at(s.To)
		p.rect(from, p.top, to-from, p.bottom-p.top, s.Name, class("fault"))
	}
	p.path("grid", borders.String())
	p.lattice()
	panel.draw(p)
	var at pen
	for _, e := range c.Events {
		x := p.across.at(e.At)
		at.to(x, p.top)
		at.to(x, p.bottom)
		at.lift()
	}
	p.path("limit", at.String())
	p.y = p.bottom + 6
	p.desc = append(p.desc, panel.words(p))
}
