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
	Left   float64 // the least room before the plots, for charts that stand under one another: the most of their Margin
	Note   string  // further sentences for the caption
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

// SVG draws the chart. Scripts can zoom in: what depends on the horizontal axis
// stands in an inner picture for each plot, of the class view, and texts and ticks
// besides, with their places in data-at. Where the plots begin and end, in pixels and
// in the unit of the axis, stands in data-plot, with what the labels are divided by.
func (c Panels) SVG() string { return c.svg(false) }

// Inline draws the chart without its style sheet, for a page that has [Style].
func (c Panels) Inline() string { return c.svg(true) }

// Margin is how much room the labels of the vertical axes take.
func (c Panels) Margin() float64 {
	left := 0.0
	for _, panel := range c.Panels {
		left = max(left, roomOf(upright(panel, &extent{})))
	}
	return left
}

// upright fits the vertical axis of a panel.
func upright(panel Panel, xs *extent) scale {
	var ys extent
	panel.reach(xs, &ys)
	return panel.axis().fit(ys, panel.snug(), panel.ticks())
}

// roomOf is where a plot may begin beside the labels of its axis.
func roomOf(up scale) float64 {
	widest := 0.0
	for _, t := range up.ticks {
		widest = max(widest, width(t.label, little))
	}
	return math.Ceil(margin + min(widest, 120) + 8)
}

func (c Panels) svg(bare bool) string {
	c.X.Log = false
	p := &plot{canvas: canvas{bare: bare}}
	p.extra = panelStyle
	p.begin("Panels over one axis", c.Title)
	var xs extent
	ups := make([]scale, len(c.Panels))
	p.left = max(c.Left, margin+8)
	for i, panel := range c.Panels {
		ups[i] = upright(panel, &xs)
		p.left = max(p.left, roomOf(ups[i]))
	}
	c.Spans = Lines{X: c.X, Spans: c.Spans}.spans(&xs)
	c.Faults = Lines{X: c.X, Spans: c.Faults}.spans(&extent{})
	c.Events = Lines{X: c.X, Uprights: c.Events}.uprights(&xs)
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
	p.raw("<g class=\"ticks\">\n")
	p.labelsBelow()
	p.raw("</g>\n")
	p.headingBelow(c.X.heading(p.across.unit))
	p.attributes = attribute("data-plot", strings.Join([]string{px(p.left), px(p.right),
		exact(p.across.lo * p.across.divisor), exact(p.across.hi * p.across.divisor), exact(p.across.divisor)}, " "))
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
		p.row(slices.Clone(spans), "small soft mid")
	}
	if len(events) > 0 {
		p.y += 14
		var list []Span
		for _, e := range events {
			list = append(list, Span{e.At, e.At, e.Name})
		}
		slices.SortStableFunc(list, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
		p.row(list, "small mid")
	}
	return len(spans)+len(events) > 0
}

// row writes names over their stretches: whole where they leave their neighbours
// room, else as much as their stretch has room for. The others wait unseen for
// scripts that zoom in.
func (p *plot) row(spans []Span, class string) {
	const most = 300 // pixels
	whole := make([]box, len(spans))
	full := make([]string, len(spans))
	for i, s := range spans {
		full[i], spans[i].Name = s.Name, shorten(s.Name, little, most)
		half := width(spans[i].Name, little) / 2
		middle := within((p.across.at(s.From)+p.across.at(s.To))/2, half)
		whole[i] = box{middle - half - 2, 0, middle + half + 2, 1}
	}
	end := math.Inf(-1)
	for i, s := range spans {
		from, to := p.across.at(s.From), p.across.at(s.To)
		name, middle := s.Name, (whole[i].x0+whole[i].x1)/2
		if i > 0 && whole[i-1].meets(whole[i]) || i+1 < len(spans) && whole[i].meets(whole[i+1]) {
			if to-from >= 20 {
				name, middle = shorten(s.Name, little, to-from-4), (from+to)/2
			} else if from < to {
				name = ""
			}
		}
		p.tag = stands(from, to)
		half := width(name, little) / 2
		if name == "" || middle-half <= end {
			p.text((whole[i].x0+whole[i].x1)/2, p.y, class+" spare", s.Name)
		} else {
			if name != full[i] {
				p.tag += attribute("data-name", full[i])
			}
			p.text(middle, p.y, class, name)
			end = middle + half
		}
		p.tag = ""
	}
}

// stands are attributes for scripts: between which pixels something stands.
func stands(from, to float64) string { return attribute("data-at", px(from)+" "+px(to)) }

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
	p.gridAcross()
	var axis, ticks pen
	p.borders(&axis)
	p.path("axis", axis.String())
	p.ticksBelow(&ticks)
	p.path("axis tick", ticks.String())
	p.labelsUp()
	over := &strings.Builder{}
	p.over = over
	p.view(panel, c)
	p.over = nil
	p.raw(over.String())
	p.y = p.bottom + 6
	p.desc = append(p.desc, panel.words(p))
}

// view draws what belongs to the horizontal axis into a picture of its own, which is
// cut at the borders of the plot. A line along the upper or the lower one is not.
func (p *plot) view(panel Panel, c Panels) {
	const brim = 3
	where := []string{px(p.left), px(p.top - brim), px(p.right - p.left), px(p.bottom - p.top + 2*brim)}
	p.raw(`<svg class="view" x="`, where[0], `" y="`, where[1], `" width="`, where[2], `" height="`, where[3],
		`" viewBox="`, strings.Join(where, " "), "\" preserveAspectRatio=\"none\">\n")
	var borders, events pen
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
	panel.draw(p)
	for _, e := range c.Events {
		x := p.across.at(e.At)
		events.to(x, p.top)
		events.to(x, p.bottom)
		events.lift()
	}
	p.path("limit", events.String())
	p.raw("</svg>\n")
}
