package e2e

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawing is a chart as the browser shows it.
type drawing struct {
	Label   string  `json:"label"`
	Section string  `json:"section"`
	Plot    string  `json:"plot"`
	Shapes  []shape `json:"shapes"`
}

// shape is an element of a chart. Its matrix takes its coordinates to those of the
// chart.
type shape struct {
	Tag    string     `json:"tag"`
	Class  string     `json:"class"`
	D      string     `json:"d"`
	X      float64    `json:"x"`
	Y      float64    `json:"y"`
	W      float64    `json:"w"`
	H      float64    `json:"h"`
	Matrix [6]float64 `json:"m"`
	Text   string     `json:"text"`
	Title  string     `json:"title"`
}

func (s *shape) has(class string) bool { return slices.Contains(strings.Fields(s.Class), class) }

type point struct{ x, y float64 }

func (s *shape) place(x, y float64) point {
	m := &s.Matrix
	return point{m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]}
}

// at is where a shape stands.
func (s *shape) at() point { return s.place(s.X, s.Y) }

// lines are the corners of a path, stretch by stretch.
func (s *shape) lines() (all [][]point) {
	var now, start point
	var open []point
	rest := s.D
	number := func() float64 {
		rest = strings.TrimLeft(rest, " ,")
		n := 0
		for n < len(rest) && strings.IndexByte("+-.0123456789", rest[n]) >= 0 && (n == 0 || rest[n] != '-') {
			n++
		}
		v, _ := strconv.ParseFloat(rest[:n], 64)
		rest = rest[n:]
		return v
	}
	for letter := byte(0); ; {
		if rest = strings.TrimLeft(rest, " "); rest == "" {
			break
		}
		if c := rest[0]; c >= 'A' {
			letter, rest = c, rest[1:]
		}
		switch letter {
		case 'M':
			all, open = append(all, open), nil
			now = point{number(), number()}
			start = now
		case 'L':
			now = point{number(), number()}
		case 'H':
			now.x = number()
		case 'h':
			now.x += number()
		case 'V':
			now.y = number()
		case 'v':
			now.y += number()
		case 'Z', 'z':
			now = start
		default:
			panic(fmt.Sprintf("path command %q", letter))
		}
		open = append(open, s.place(now.x, now.y))
	}
	all = append(all, open)
	return slices.DeleteFunc(all, func(l []point) bool { return len(l) == 0 })
}

// upright is the vertical reach of an area in steps at an x.
func (s *shape) upright(x float64) (top, bottom float64, ok bool) {
	var ys []float64
	for _, l := range s.lines() {
		for i := 1; i < len(l); i++ {
			if a, b := l[i-1], l[i]; a.y == b.y && min(a.x, b.x) <= x && x < max(a.x, b.x) {
				ys = append(ys, a.y)
			}
		}
	}
	if len(ys) < 2 {
		return 0, 0, false
	}
	return slices.Min(ys), slices.Max(ys), true
}

// height is the height of a line in steps at an x.
func (s *shape) height(x float64) (float64, bool) {
	for _, l := range s.lines() {
		for i := 1; i < len(l); i++ {
			if a, b := l[i-1], l[i]; min(a.x, b.x) <= x && x <= max(a.x, b.x) && a.x != b.x {
				return a.y + (b.y-a.y)*(x-a.x)/(b.x-a.x), true
			}
		}
	}
	return 0, false
}

// corner is the height of a line's corner that stands at an x, to a tenth of a pixel.
func (s *shape) corner(x float64) (float64, bool) {
	for _, l := range s.lines() {
		for _, c := range l {
			if math.Abs(c.x-x) < 0.1 {
				return c.y, true
			}
		}
	}
	return 0, false
}

// ruler takes pixels to the numbers of an axis, by its ticks.
type ruler struct {
	log    bool
	p0, v0 float64 // of one tick
	p1, v1 float64 // and of another
}

// newRuler makes a ruler from ticks: pixel and number in turn. The axis is what
// its labels say, and nothing else.
func newRuler(t *testing.T, log bool, ticks []tick) ruler {
	t.Helper()
	if len(ticks) < 2 {
		t.Fatalf("an axis with ticks %v: two are needed", ticks)
	}
	a, b := ticks[0], ticks[len(ticks)-1]
	r := ruler{log, a.at, a.value, b.at, b.value}
	for _, k := range ticks { // all of them tell the same
		if got := r.pixel(k.value); math.Abs(got-k.at) > 0.5 {
			t.Errorf("the tick at %v stands at pixel %v, by others it would at %v", k.value, k.at, got)
		}
	}
	return r
}

type tick struct{ at, value float64 }

func (r ruler) value(pixel float64) float64 {
	share := (pixel - r.p0) / (r.p1 - r.p0)
	if r.log {
		return r.v0 * math.Pow(r.v1/r.v0, share)
	}
	return r.v0 + share*(r.v1-r.v0)
}

func (r ruler) pixel(v float64) float64 {
	if r.log {
		return r.p0 + (r.p1-r.p0)*math.Log(v/r.v0)/math.Log(r.v1/r.v0)
	}
	return r.p0 + (r.p1-r.p0)*(v-r.v0)/(r.v1-r.v0)
}

// number reads a label.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return v, err == nil
}

// panel is one plot of a chart: what stands between two headings.
type panel struct {
	head   string
	shapes []shape
	up     []tick
	top    float64
}

// panels are the plots of a chart over one axis.
func (d *drawing) panels() (list []panel) {
	for _, s := range d.Shapes {
		if s.has("head") {
			list = append(list, panel{head: s.Text, top: s.at().y})
			continue
		}
		if len(list) == 0 {
			continue
		}
		p := &list[len(list)-1]
		if s.Tag == "text" && s.has("end") && !s.has("halo") {
			if v, ok := number(s.Text); ok {
				p.up = append(p.up, tick{s.at().y - 4, v})
			}
			continue
		}
		p.shapes = append(p.shapes, s)
	}
	return list
}

// panel finds a plot by how its heading begins.
func (d *drawing) panel(t *testing.T, head string) *panel {
	t.Helper()
	list := d.panels()
	for i := range list {
		if strings.HasPrefix(list[i].head, head) {
			return &list[i]
		}
	}
	t.Fatalf("%s: no panel %q", d.Label, head)
	return nil
}

// named finds what is drawn of one name of the legend: the shape that looks as its
// sample does.
func (p *panel) named(t *testing.T, name string) *shape {
	t.Helper()
	sample := -1
	for i := range p.shapes {
		if p.shapes[i].Text != name || i == 0 {
			continue
		}
		for sample = i - 1; p.shapes[sample].has("stripe"); sample-- {
		}
	}
	if sample < 0 {
		t.Fatalf("%s: no legend for %q", p.head, name)
	}
	var found *shape
	for i := sample + 1; i < len(p.shapes); i++ {
		s := &p.shapes[i]
		if s.Class == p.shapes[sample].Class && s.Tag == "path" && !p.isSample(i) {
			if found != nil {
				t.Fatalf("%s: two shapes look like %q", p.head, name)
			}
			found = s
		}
	}
	if found == nil {
		t.Fatalf("%s: nothing is drawn of %q", p.head, name)
	}
	return found
}

// isSample reports whether a shape belongs to the legend: a text follows it.
func (p *panel) isSample(i int) bool {
	for i++; i < len(p.shapes) && p.shapes[i].has("stripe"); i++ {
	}
	return i < len(p.shapes) && p.shapes[i].Tag == "text" && p.shapes[i].Class == ""
}

// across is the horizontal axis of a chart over one axis, in milliseconds.
func (d *drawing) across(t *testing.T) ruler {
	t.Helper()
	f := strings.Fields(d.Plot)
	if len(f) < 4 {
		t.Fatalf("%s: its plot is %q", d.Label, d.Plot)
	}
	v := make([]float64, len(f))
	for i := range f {
		v[i], _ = strconv.ParseFloat(f[i], 64)
	}
	return ruler{p0: v[0], v0: v[2], p1: v[1], v1: v[3]}
}

// charts are all charts of a section, as a browser shows them. Tests that only look
// share one look.
func charts(t *testing.T, r *run, section string) (list []drawing) {
	t.Helper()
	if r.drawings == nil {
		r.drawings = js[[]drawing](open(t, r.folder, wide), "reader.charts()")
	}
	for _, d := range r.drawings {
		if d.Section == section {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no chart in section %q", section)
	}
	return list
}
