package chart

import (
	"fmt"
	"strings"
)

// Areas is a panel of layers that are stacked: of each column, how many of what.
type Areas struct {
	Y       Axis // linear, from 0
	Columns Columns
	Layers  []Layer // from the bottom up
	Outline *Layer  // a line over the layers: what they are held against
	Thin    bool    // a ribbon: low
}

// Layer is one layer of areas. What is not a number, or below 0, is 0, and
// counted.
type Layer struct {
	Name    string
	Fill    Fill
	Heights []float64
}

func (a Areas) axis() Axis {
	a.Y.Log = false
	return a.Y
}

func (a Areas) snug() snugness { return based }

func (a Areas) ticks() int {
	if a.Thin {
		return 1
	}
	return 4
}

func (a Areas) height() float64 {
	if a.Thin {
		return thinHeight
	}
	return panelHeight
}

// count is how many columns there are; none where they have no place.
func (a Areas) count() int {
	n := 0
	if !a.Columns.sound() {
		return n
	}
	for _, l := range a.Layers {
		n = max(n, len(l.Heights))
	}
	return n
}

// of is the height of a layer in a column, as it is drawn.
func (l Layer) of(i int) (float64, bool) {
	if i >= len(l.Heights) {
		return 0, false
	}
	v, ok := Axis{}.clean(l.Heights[i])
	return max(v, 0), ok && v >= 0
}

func (a Areas) reach(xs, ys *extent) {
	n := a.count()
	a.Columns.reach(xs, n)
	for i := range n {
		sum := 0.0
		for _, l := range a.Layers {
			v, _ := l.of(i)
			sum += v
		}
		ys.add(sum)
		if a.Outline != nil {
			v, _ := a.Outline.of(i)
			ys.add(v)
		}
	}
}

func (a Areas) keys(p *plot) []key {
	var keys []key
	for _, l := range a.Layers {
		if l.Name == "" {
			continue
		}
		keys = append(keys, key{l.Name, func(x, y float64) {
			p.fill(l.Fill, []slab{{x, x + 22, y - 6, y + 6}})
		}, 22})
	}
	if o := a.Outline; o != nil {
		keys = append(keys, key{o.Name, func(x, y float64) {
			p.path("line "+o.Fill.class(), line(x, y, x+22, y))
		}, 22})
	}
	return keys
}

func (a Areas) draw(p *plot) {
	n := a.count()
	below := make([]float64, n)
	for _, l := range a.Layers {
		slabs := make([]slab, n)
		for i := range n {
			v, _ := l.of(i)
			from, to := a.Columns.at(i)
			slabs[i] = slab{p.across.at(from), p.across.at(to), p.up.at(below[i] + v), p.up.at(below[i])}
			below[i] += v
		}
		p.fill(l.Fill, slabs)
	}
	if o := a.Outline; o != nil {
		var l pen
		for i := range n {
			v, _ := o.of(i)
			from, to := a.Columns.at(i)
			if i == 0 {
				l.to(p.across.at(from), p.up.at(v))
			}
			l.upright(p.up.at(v))
			l.level(p.across.at(to))
		}
		p.path("line "+o.Fill.class(), l.String())
	}
	if n == 0 {
		p.nothing()
	}
}

func (a Areas) words(p *plot) string {
	parts := []string{a.Y.heading(p.up.unit)}
	for _, l := range a.Layers {
		most, sum := 0.0, 0.0
		for i := range l.Heights {
			v, _ := l.of(i)
			most, sum = max(most, v), sum+v
		}
		if a.Thin {
			parts = append(parts, fmt.Sprintf("%s at most %s", l.Name, p.up.text(most)))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s in all, at most %s in a column", l.Name, number(sum), p.up.text(most)))
	}
	return strings.Join(parts, "; ") + "."
}

func (a Areas) caption() []string {
	missing := 0
	for _, l := range a.Layers {
		for i := range l.Heights {
			if _, ok := l.of(i); !ok {
				missing++
			}
		}
	}
	if missing == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Absent numbers are drawn as 0: %s of %s.", counted(missing, "column", "columns"), a.Y.Title)}
}
