package chart

import (
	"fmt"
	"strings"
)

// Curves is a panel of lines.
type Curves struct {
	Y      Axis
	Series []Series
	Limits []Mark // broken lines across: a baseline, what counts as recovered
	Events []Mark // broken lines from top to bottom, in this panel alone
	// Deficit fills what the first series lacks to a level, over a stretch of the
	// horizontal axis.
	Deficit *Deficit
}

// Deficit is a level that a line should have been at.
type Deficit struct {
	From, To float64
	Level    float64
	Name     string
}

// sound reports whether there is a deficit of numbers that can be drawn.
func (d *Deficit) sound() bool {
	if d == nil {
		return false
	}
	for _, v := range []float64{d.From, d.To, d.Level} {
		if _, ok := (Axis{}).clean(v); !ok {
			return false
		}
	}
	return true
}

func (c Curves) axis() Axis      { return c.Y }
func (c Curves) snug() snugness  { return nice }
func (c Curves) ticks() int      { return 4 }
func (c Curves) height() float64 { return panelHeight }

func (c Curves) reach(xs, ys *extent) {
	for _, s := range c.Series {
		s.reach(xs, ys, c.Y)
	}
	if c.Deficit.sound() {
		if level, ok := c.Y.clean(c.Deficit.Level); ok {
			ys.add(level)
		}
	}
	for _, m := range c.Limits {
		if at, ok := c.Y.clean(m.At); ok {
			ys.add(at)
		}
	}
}

func (c Curves) keys(p *plot) []key {
	var keys []key
	for i, s := range c.Series {
		if len(c.Series) == 1 && !c.Deficit.sound() && len(c.Limits) == 0 {
			break
		}
		keys = append(keys, key{s.Name, func(x, y float64) {
			p.path("line "+look(i).class(), line(x, y, x+26, y), attribute("stroke-dasharray", look(i).dash()))
		}, 26})
	}
	if c.Deficit.sound() {
		keys = append(keys, key{c.Deficit.Name, func(x, y float64) {
			p.fill(Fill{1, Rising}, []slab{{x, x + 22, y - 6, y + 6}})
		}, 22})
	}
	var limits []string
	for _, m := range c.Limits {
		if _, ok := c.Y.clean(m.At); ok && m.Name != "" {
			limits = append(limits, m.Name)
		}
	}
	if limits != nil {
		keys = append(keys, key{strings.Join(limits, ", "), func(x, y float64) {
			p.path("limit", line(x, y, x+26, y))
		}, 26})
	}
	return keys
}

func (c Curves) draw(p *plot) {
	drawn := false
	for i, s := range c.Series {
		t := newTrace(s, look(i), Axis{}, c.Y)
		drawn = drawn || t.drawn > 0
		if d := c.Deficit; i == 0 && d.sound() {
			p.fill(Fill{1, Rising}, t.lacks(p, *d))
		}
		l := t.path(p, t.thin(p.across))
		p.path("line "+t.look.class(), l, attribute("stroke-dasharray", t.look.dash()))
	}
	for _, m := range c.Limits {
		if at, ok := c.Y.clean(m.At); ok {
			p.path("limit", line(p.left, p.up.at(at), p.right, p.up.at(at)))
		}
	}
	if !drawn {
		p.nothing()
		return
	}
	p.stand(Lines{X: Axis{}, Uprights: c.Events}.uprights(&extent{}))
}

// lacks are the slabs between a line and the level above it.
func (t *trace) lacks(p *plot, d Deficit) []slab {
	var slabs []slab
	for i, v := range t.points {
		if !v.there || i+1 >= len(t.points) || v.Y >= d.Level {
			continue
		}
		from, to := max(v.X, d.From), min(t.points[i+1].X, d.To)
		if from < to {
			slabs = append(slabs, slab{p.across.at(from), p.across.at(to), p.up.at(d.Level), p.up.at(v.Y)})
		}
	}
	return slabs
}

func (c Curves) words(p *plot) string {
	parts := []string{c.Y.heading(p.up.unit)}
	for _, s := range c.Series {
		parts = append(parts, s.words(p.up, c.Y))
	}
	for _, m := range c.Limits {
		if at, ok := c.Y.clean(m.At); ok {
			parts = append(parts, fmt.Sprintf("%s %s", m.Name, p.up.text(at)))
		}
	}
	return strings.Join(parts, "; ") + "."
}

func (c Curves) caption() []string {
	var traces []trace
	for _, s := range c.Series {
		t := trace{series: s}
		for _, p := range s.Points {
			if _, ok := c.Y.clean(p.Y); !ok && !c.Y.offLog(p.Y) {
				t.missing++
			}
		}
		traces = append(traces, t)
	}
	return absent("Gaps are refused or absent numbers: ", traces, func(t trace) int { return t.missing })
}
