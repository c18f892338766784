package chart

import (
	"fmt"
	"math"
	"strings"
)

// Density is a panel of cells, light where there are few and dark where there are
// many, with lines over them: how latencies spread over time.
type Density struct {
	Y       Axis
	Columns Columns
	Count   int // of columns
	Cells   []Cell
	What    string   // what a cell counts: "requests"
	Lines   []Series // over the cells
}

// Cell is a stretch of the vertical axis in one column.
type Cell struct {
	Column   int
	From, To float64
	Count    float64
}

// shades is how many steps of the ramp cells have.
const shades = 8

func (d Density) axis() Axis      { return d.Y }
func (d Density) snug() snugness  { return nice }
func (d Density) ticks() int      { return 6 }
func (d Density) height() float64 { return panelHeight * 1.5 }

func (d Density) reach(xs, ys *extent) {
	if d.Columns.sound() {
		d.Columns.reach(xs, d.Count)
	}
	for _, c := range d.Cells {
		if !d.holds(c) {
			continue
		}
		for _, v := range []float64{c.From, c.To} {
			if v, ok := d.Y.clean(v); ok {
				ys.add(v)
			}
		}
	}
	for _, s := range d.Lines {
		s.reach(xs, ys, d.Y)
	}
}

// overlay is the look of a line over cells: not blue as they are.
func overlay(i int) look { return look(i*4 + 1) }

// holds reports whether a cell has a place in the panel, and something in it.
func (d Density) holds(c Cell) bool {
	_, okCount := Axis{}.clean(c.Count)
	_, okFrom := Axis{}.clean(c.From)
	_, okTo := d.Y.clean(c.To)
	return d.Columns.sound() && c.Column >= 0 && c.Column < d.Count && okCount && c.Count > 0 && okFrom && okTo && c.From < c.To
}

func (d Density) most() float64 {
	most := 0.0
	for _, c := range d.Cells {
		if d.holds(c) {
			most = max(most, c.Count)
		}
	}
	return most
}

func (d Density) keys(p *plot) []key {
	var keys []key
	if most := d.most(); most > 0 {
		name := fmt.Sprintf("1 to %s %s in a cell", number(most), d.What)
		keys = append(keys, key{name, func(x, y float64) {
			for i := range shades {
				p.rect(x+float64(i)*5, y-6, 5, 12, "", class("h"+string(rune('0'+i))))
			}
		}, 5 * shades})
	}
	for i, s := range d.Lines {
		keys = append(keys, key{s.Name, func(x, y float64) {
			p.path("line over "+overlay(i).class(), line(x, y, x+26, y), attribute("stroke-dasharray", look(i).dash()))
		}, 26})
	}
	return keys
}

func (d Density) draw(p *plot) {
	most := d.most()
	boxes := make([]pen, shades)
	for _, c := range d.Cells {
		if !d.holds(c) {
			continue
		}
		low, ok := d.Y.clean(c.From)
		if !ok { // it begins where a logarithmic axis does
			low = p.up.lo * p.up.divisor
		}
		from, to := d.Columns.at(c.Column)
		x0, x1, y0, y1 := p.across.at(from), p.across.at(to), p.up.at(c.To), p.up.at(low)
		boxes[shade(c.Count, most)].box(x0, y0, x1, max(y1, y0+1))
	}
	for i := range boxes {
		p.path("h"+string(rune('0'+i)), boxes[i].String())
	}
	for i, s := range d.Lines {
		t := newTrace(s, overlay(i), Axis{}, d.Y)
		l := t.path(p, t.thin(p.across))
		p.path("line under", l)
		p.path("line over "+t.look.class(), l, attribute("stroke-dasharray", look(i).dash()))
	}
	if len(d.Cells) == 0 && len(d.Lines) == 0 {
		p.nothing()
	}
}

// shade is the step of the ramp for a count, by its logarithm.
func shade(count, most float64) int {
	if most <= 1 || count <= 1 {
		return 0
	}
	return int(min(math.Log(count)/math.Log(most)*shades, shades-1))
}

func (d Density) words(p *plot) string {
	parts := []string{d.Y.heading(p.up.unit)}
	for _, s := range d.Lines {
		parts = append(parts, s.words(p.up, d.Y))
	}
	return strings.Join(parts, "; ") + "."
}

func (d Density) caption() []string { return nil }
