package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Lines draws one line a series over a common axis.
type Lines struct {
	Title    string
	X, Y     Axis
	Series   []Series
	Spans    []Span // shaded stretches of X, with their names above
	Limits   []Mark // broken lines across the plot: an objective, a level to return to
	Uprights []Mark // broken lines from top to bottom: a horizon
	Interval string // what the bands are: "95 % interval over 20 seeds"
	Note     string // further sentences for the caption
}

// Series is a line. Its points need not be in order.
type Series struct {
	Name   string
	Points []Point
	Steps  bool   // the line keeps its height up to the next point
	Flags  []Flag // points that stand out, with a word on each
}

// Flag is a point of a line with a name. Of one whose X is NaN only the height
// is known: it stands at the right border, and is hollow.
type Flag struct {
	X, Y float64
	Name string
}

// Point is a point of a line. A Y that is NaN or infinite is a number that
// is not there: the line breaks, and the caption counts it. Low and High are an
// interval around Y, drawn as a band where Low <= Y <= High.
type Point struct {
	X, Y      float64
	Low, High float64
}

// Span is a stretch of the horizontal axis: a phase.
type Span struct {
	From, To float64
	Name     string
}

// Mark is a number with a name, to hold others against.
type Mark struct {
	At   float64
	Name string
}

const (
	mostLines = 42
	// fewPoints is up to how many points each one gets a mark. Longer lines
	// have a few, to be told apart by.
	fewPoints = 40
)

// SVG draws the chart. Of a line with more than a thousand points it draws
// the lowest and the highest number in each of five hundred columns, which
// looks the same. It draws the first 42 lines.
func (c Lines) SVG() string { return c.svg(false) }

// Inline draws the chart without its style sheet, for a page that has [Style].
func (c Lines) Inline() string { return c.svg(true) }

func (c Lines) svg(bare bool) string {
	p := &plot{canvas: canvas{bare: bare}}
	if slices.ContainsFunc(c.Series, func(s Series) bool { return s.Flags != nil }) {
		p.extra = panelStyle
	}
	p.begin("Line chart", c.Title)

	series := c.Series[:min(len(c.Series), mostLines)]
	traces := make([]trace, len(series))
	var xs, ys extent
	var keys []key
	bands := false
	for i, s := range series {
		traces[i] = newTrace(s, look(i), c.X, c.Y)
		traces[i].reach(&xs, &ys, c.Y)
		bands = bands || traces[i].banded
		keys = append(keys, key{s.Name, traces[i].sample(p), 30})
	}
	spans := c.spans(&xs)
	limits := c.limits(&ys)
	uprights := c.uprights(&xs)
	if len(keys) > 1 || len(keys) == 1 && keys[0].name != "" {
		p.legend(keys)
	}
	strip := 0.0
	if len(spans) > 0 {
		strip = 16
	}
	p.frame(c.X, c.Y, xs, ys, tight, strip)
	p.shade(spans)
	p.lattice()
	for _, t := range traces {
		t.band(p)
	}
	for _, m := range limits {
		p.path("limit", line(p.left, p.up.at(m.At), p.right, p.up.at(m.At)))
	}
	for _, t := range traces {
		t.line(p)
	}
	p.flags(traces)
	if slices.ContainsFunc(traces, func(t trace) bool { return t.drawn > 0 }) {
		p.stand(uprights)
		p.limitNames(limits)
	} else {
		p.nothing()
	}
	p.describe(c, traces)
	return p.finish(c.caption(traces, bands)...)
}

// spans returns those that can be drawn, and makes room for them.
func (c Lines) spans(xs *extent) []Span {
	var spans []Span
	for _, s := range c.Spans {
		from, okFrom := Axis{}.clean(s.From)
		to, okTo := c.X.clean(s.To)
		if !okFrom || !okTo || from >= to {
			continue
		}
		// A span from 0 begins where a logarithmic axis does.
		if from, ok := c.X.clean(from); ok {
			xs.add(from)
		}
		xs.add(to)
		spans = append(spans, Span{from, to, s.Name})
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	return spans
}

func (c Lines) limits(ys *extent) []Mark {
	var limits []Mark
	for _, m := range c.Limits {
		if at, ok := c.Y.clean(m.At); ok {
			ys.add(at)
			limits = append(limits, Mark{at, m.Name})
		}
	}
	return limits
}

// uprights returns those that can be drawn, and makes room for them.
func (c Lines) uprights(xs *extent) []Mark {
	var uprights []Mark
	for _, m := range c.Uprights {
		if at, ok := c.X.clean(m.At); ok {
			xs.add(at)
			uprights = append(uprights, Mark{at, m.Name})
		}
	}
	return uprights
}

// stand draws upright lines, with their names beside them at the bottom. In panels,
// which can be zoomed, the names say what they belong to.
func (p *plot) stand(marks []Mark) {
	for _, m := range marks {
		x := p.across.at(m.At)
		p.path("limit", line(x, p.top, x, p.bottom))
		if p.over != nil {
			p.tag = stands(x, x)
		}
		p.note(x, p.bottom-6, 4, "small halo", shorten(m.Name, little, 160))
		p.tag = ""
	}
}

// flags draws the points that stand out, over all lines.
func (p *plot) flags(traces []trace) {
	hollow := map[float64]float64{} // by height, how far the next one stands inside
	for _, t := range traces {
		for _, f := range t.series.Flags {
			level, ok := Axis{}.clean(f.Y)
			if !ok {
				continue
			}
			y := p.up.at(level)
			if at, ok := (Axis{}).clean(f.X); ok {
				p.mark(p.across.at(at), y, t.look, 1.2, "", both(t.series.Name, f.Name))
				continue
			}
			x := p.right - 7 - hollow[level]
			if hollow[level] += 14; x > p.left {
				p.mark(x, y, t.look, 1, "open "+t.look.class(), both(t.series.Name, f.Name))
			}
		}
	}
}

// shade draws spans behind everything: every second one is shaded, and a line
// stands where one begins. Spans that overlap leave room for some names only.
func (p *plot) shade(spans []Span) {
	end := math.Inf(-1) // of the last name
	for i, s := range spans {
		from, to := p.across.at(s.From), p.across.at(s.To)
		if i%2 == 0 {
			p.rect(from, p.top-16, to-from, plotHeight+16, s.Name, class("shade"))
		}
		p.path("grid", line(from, p.top-16, from, p.bottom)+line(to, p.top-16, to, p.bottom))
		name := shorten(s.Name, little, to-from-4)
		middle, half := (from+to)/2, width(name, little)/2
		if to-from >= 20 && middle-half > end {
			p.text(middle, p.top-4, "small soft mid", name)
			end = middle + half
		}
	}
}

// limitNames writes the names over their lines at the right, where the one
// before leaves room.
func (p *plot) limitNames(limits []Mark) {
	var taken []float64
	for _, m := range limits {
		y := p.up.at(m.At) - 5
		if y < p.top+10 {
			y = p.up.at(m.At) + 13
		}
		name := shorten(m.Name, little, (p.right-p.left)/2)
		b := box{p.right - 4 - width(name, little), y - 10, p.right - 4, y + 2}
		if slices.ContainsFunc(taken, func(t float64) bool { return math.Abs(t-y) < 13 }) || slices.ContainsFunc(p.taken, b.meets) {
			continue
		}
		taken = append(taken, y)
		p.text(p.right-4, y, "small end halo", name)
	}
}

// describe says in words what the lines show.
func (p *plot) describe(c Lines, traces []trace) {
	const most = 12
	p.desc = append(p.desc, fmt.Sprintf("Across: %s. Up: %s.",
		reach(c.X.heading(p.across.unit), p.across), reach(c.Y.heading(p.up.unit), p.up)))
	for _, t := range traces[:min(len(traces), most)] {
		if t.drawn == 0 {
			p.desc = append(p.desc, t.series.Name+": no numbers.")
			continue
		}
		words := fmt.Sprintf("%s: %s, %s to %s", t.series.Name,
			counted(t.drawn, "point", "points"), p.up.text(t.lowest), p.up.text(t.highest))
		for _, f := range t.series.Flags {
			words += "; " + f.Name
		}
		p.desc = append(p.desc, words+".")
	}
	if len(traces) > most {
		p.desc = append(p.desc, fmt.Sprintf("And %s.", counted(len(traces)-most, "more line", "more lines")))
	}
}

// reach says what an axis is and where it ends.
func reach(heading string, s scale) string {
	if heading == "" {
		heading = "numbers"
	}
	return fmt.Sprintf("%s, %s to %s", heading, number(s.lo), number(s.hi))
}

func (c Lines) caption(traces []trace, bands bool) []string {
	var caption []string
	switch {
	case bands && c.Interval != "":
		caption = append(caption, sentence("Bands: "+c.Interval))
	case bands:
		caption = append(caption, "Bands are intervals.")
	}
	caption = append(caption, absent("Gaps are refused or absent numbers: ", traces, func(t trace) int { return t.missing })...)
	caption = append(caption, absent("Not above 0, so not on a logarithmic axis: ", traces, func(t trace) int { return t.offLog })...)
	if n := len(c.Series); n > mostLines {
		caption = append(caption, fmt.Sprintf("The first %d of %s are drawn.", mostLines, counted(n, "line", "lines")))
	}
	if c.Note != "" {
		caption = append(caption, sentence(c.Note))
	}
	return caption
}

// absent counts, in one sentence, what is not drawn of each line.
func absent(what string, traces []trace, count func(trace) int) []string {
	const most = 6
	var of []string
	more := 0
	for _, t := range traces {
		switch n := count(t); {
		case n == 0:
		case len(of) == most:
			more++
		default:
			s := fmt.Sprintf("%s of %s", group(fmt.Sprint(n)), counted(len(t.series.Points), "point", "points"))
			if t.series.Name != "" {
				s += " of " + t.series.Name
			}
			of = append(of, s)
		}
	}
	if len(of) == 0 {
		return nil
	}
	s := what + strings.Join(of, ", ")
	if more > 0 {
		s += ", and some of " + counted(more, "more line", "more lines")
	}
	return []string{s + "."}
}

// sentence ends s as a sentence.
func sentence(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
