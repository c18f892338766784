package e2e

import (
	"math"
	"slices"
	"strings"
	"testing"

	"brunt/lab"
	"brunt/measure"
)

// columns is how a page joins the steps of a timeline: as many to a column as keep
// it to 160.
type columns struct {
	joined int
	from   float64 // ms
	width  float64
	n      int
}

func columnsOf(c *measure.Composition) columns {
	steps := len(c.Timeline.Offered)
	k := columns{joined: (steps-1)/160 + 1, from: millis(c.Phases[0].From)}
	k.width = millis(c.Timeline.Step) * float64(k.joined)
	k.n = (steps + k.joined - 1) / k.joined
	return k
}

func (k columns) middle(i int) float64 { return k.from + (float64(i)+0.5)*k.width }

// sum adds the steps of a column.
func (k columns) sum(steps []int64, i int) (sum float64) {
	for _, v := range steps[i*k.joined : min((i+1)*k.joined, len(steps))] {
		sum += float64(v)
	}
	return sum
}

func (k columns) rate(steps []int64, i int) float64 { return k.sum(steps, i) * 1000 / k.width }

func millis(m measure.Millis) float64 { return float64(m) / 1e6 }

// judge compares numbers read from a chart with those of the result. They agree
// when they are less than a pixel apart.
type judge struct {
	t    *testing.T
	what string
	seen int
}

func (j *judge) same(r ruler, pixel, want float64, of string) {
	j.t.Helper()
	j.seen++
	if math.Abs(pixel-r.pixel(want)) > 1 {
		j.t.Errorf("%s: %s is drawn at %.4g, the result has %.4g", j.what, of, r.value(pixel), want)
	}
}

// enough fails a test that has compared too little to tell.
func (j *judge) enough(n int) {
	j.t.Helper()
	if j.seen < n {
		j.t.Errorf("%s: only %d numbers were read, want %d or more", j.what, j.seen, n)
	}
}

func composition(t *testing.T, r *lab.Result, name string) *measure.Composition {
	t.Helper()
	i := slices.IndexFunc(r.Compositions, func(c measure.Composition) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the page has a chart of %q, which is no composition", name)
	}
	return &r.Compositions[i]
}

// Areas and lines over time stand at the counts of the result's timeline, in every
// column and every composition.
func TestTimelineMarks(t *testing.T) {
	r := runOf(t, "outage")
	list := charts(t, r, "timelines")
	if len(list) != len(r.result.Compositions) {
		t.Fatalf("%d timelines of %d compositions", len(list), len(r.result.Compositions))
	}
	for _, d := range list {
		c := composition(t, r.result, d.Label)
		k, x, tl := columnsOf(c), d.across(t), &c.Timeline
		j := &judge{t: t, what: d.Label}
		requests, attempts, flight := d.panel(t, "Requests"), d.panel(t, "Attempts"), d.panel(t, "In flight")
		layer := func(p *panel, name string, steps []int64) {
			s, up := p.named(t, name), newRuler(t, false, p.up)
			for i := range k.n {
				want := k.rate(steps, i)
				top, bottom, ok := s.upright(x.pixel(k.middle(i)))
				if !ok { // what is not drawn is too low to be seen
					top, bottom = up.pixel(0), up.pixel(0)
				}
				// Layers stand on one another: what counts is how high one is.
				j.same(up, up.pixel(0)-(bottom-top), want, name)
			}
		}
		layer(requests, "completed", tl.Completed)
		for cause, steps := range tl.Errored {
			if k.most(steps) > 0 {
				layer(requests, "errored: "+cause, steps)
			}
		}
		if k.most(tl.Retries) > 0 {
			layer(attempts, "retries", tl.Retries)
		}
		outline := attempts.named(t, "requests offered")
		inFlight := flight.line(t)
		for i := range k.n {
			y, _ := outline.height(x.pixel(k.middle(i)))
			j.same(newRuler(t, false, attempts.up), y, k.rate(tl.Offered, i), "offered")
			y, _ = inFlight.corner(x.pixel(k.middle(i)))
			most := float64(slices.Max(tl.InFlight[i*k.joined : min((i+1)*k.joined, len(tl.InFlight))]))
			j.same(newRuler(t, false, flight.up), y, most, "in flight")
		}
		j.enough(4 * k.n)
	}
}

func (k columns) most(steps []int64) (most float64) {
	for i := range k.n {
		if len(steps) > 0 {
			most = max(most, k.sum(steps, i))
		}
	}
	return most
}

// line is the only line of a panel.
func (p *panel) line(t *testing.T) *shape {
	t.Helper()
	var found *shape
	for i := range p.shapes {
		if p.shapes[i].has("line") {
			if found != nil {
				t.Fatalf("%s: more than one line", p.head)
			}
			found = &p.shapes[i]
		}
	}
	if found == nil {
		t.Fatalf("%s: no line", p.head)
	}
	return found
}

// Percentiles on the heat map are those of the result's steps, on a logarithmic axis,
// where all steps of a column have the same.
func TestLatencyMarks(t *testing.T) {
	r := runOf(t, "outage")
	for _, d := range charts(t, r, "timelines") {
		c := composition(t, r.result, d.Label)
		k, x, panel := columnsOf(c), d.across(t), d.panel(t, "Latency")
		j := &judge{t: t, what: d.Label}
		up := newRuler(t, true, panel.up)
		for name, steps := range map[string][]*measure.Millis{"p50": c.Timeline.P50, "p95": c.Timeline.P95} {
			s := panel.named(t, name)
			for i := range k.n {
				first := steps[i*k.joined]
				same := !slices.ContainsFunc(steps[i*k.joined:min((i+1)*k.joined, len(steps))], func(m *measure.Millis) bool {
					return m == nil || first == nil || *m != *first
				})
				if y, ok := s.corner(x.pixel(k.middle(i))); same && ok {
					j.same(up, y, millis(*first), name)
				}
			}
		}
		j.enough(60)
	}
}

// Marks on completion curves stand at the quantiles of the result, and hollow ones at
// the border where it refuses them.
func TestCompletionMarks(t *testing.T) {
	r := runOf(t, "outage")
	hollow := 0
	j := &judge{t: t, what: "completion"}
	for i, d := range charts(t, r, "completion") {
		var x, y []tick
		for _, s := range d.Shapes {
			v, ok := number(s.Text)
			switch {
			case !ok || s.Tag != "text":
			case s.has("end"):
				y = append(y, tick{s.at().y - 4, v})
			case s.has("mid"):
				x = append(x, tick{s.at().x, v})
			}
		}
		// Labels at the ends are moved inside; those between stand at their ticks.
		across, up := newRuler(t, true, x[1:len(x)-1]), newRuler(t, false, y)
		for _, s := range d.Shapes {
			name, mark, ok := strings.Cut(s.Title, ", p")
			if !ok {
				continue
			}
			c := composition(t, r.result, name)
			in := &c.Phases[i].Incidence
			digits, _, _ := strings.Cut(mark, " ")
			percent, _ := number(digits)
			q := in.Quantiles[slices.IndexFunc(in.Quantiles, func(q measure.Quantile) bool { return math.Abs(100*q.Q-percent) < 1e-9 })]
			at := s.centre()
			j.same(up, at.y, percent, s.Title)
			if s.has("open") {
				hollow++
				if q.Millis != nil {
					t.Errorf("%s is hollow, the result has %v", s.Title, *q.Millis)
				}
				continue
			}
			if q.Millis == nil {
				t.Errorf("%s is full, the result has none", s.Title)
				continue
			}
			j.same(across, at.x, millis(*q.Millis), s.Title)
		}
	}
	j.enough(40)
	if hollow < 10 {
		t.Errorf("%d hollow marks: the outage refuses more", hollow)
	}
}

// centre is where a mark stands: the middle of a circle, the origin of other shapes,
// which is the mean of their corners for all but the triangles. Those have their
// base 3.2 and their tip 4.8 from it, by a factor.
func (s *shape) centre() point {
	if s.Tag == "circle" {
		return s.at()
	}
	corners := s.lines()[0]
	corners = corners[:min(len(corners), 4)]
	if len(corners) == 4 && corners[3] == corners[0] {
		corners = corners[:3]
	}
	var x, low, high float64
	low, high = math.Inf(1), math.Inf(-1)
	for _, c := range corners {
		x += c.x
		low, high = min(low, c.y), max(high, c.y)
	}
	x /= float64(len(corners))
	if len(corners) == 3 {
		tip := corners[0].y
		return point{x, tip + (4.8/8)*(low+high-2*tip)}
	}
	return point{x, (low + high) / 2}
}

// Bars are as long as the numbers of the result.
func TestProviderBars(t *testing.T) {
	r := runOf(t, "provider-failure")
	want := map[string]func(*measure.Composition) float64{
		"Success, whole run": func(c *measure.Composition) float64 {
			return 100 * float64(c.Whole.Completed) / float64(c.Whole.Offered)
		},
		"p50 of the time to any outcome": func(c *measure.Composition) float64 { return millis(*c.Whole.Latency.Submitted.P50) },
		"p95 of the time to any outcome": func(c *measure.Composition) float64 { return millis(*c.Whole.Latency.Submitted.P95) },
		"p99 of the time to any outcome": func(c *measure.Composition) float64 { return millis(*c.Whole.Latency.Submitted.P99) },
		"Upstream calls":                 func(c *measure.Composition) float64 { return float64(c.Whole.Attempts) },
		"Cost":                           func(c *measure.Composition) float64 { return c.Whole.Cost },
	}
	charted := 0
	for _, d := range charts(t, r, "providers") {
		of := want[d.Label]
		if of == nil {
			continue
		}
		charted++
		j := &judge{t: t, what: d.Label}
		x := d.below(t)
		for _, s := range d.Shapes {
			if s.Tag != "rect" || !s.has("mark") {
				continue
			}
			name, _, _ := strings.Cut(s.Title, ", ")
			v := of(composition(t, r.result, name))
			j.same(x, s.place(s.X, 0).x, 0, name+" begins")
			j.same(x, s.place(s.X+s.W, 0).x, v, name)
		}
		j.enough(2 * len(r.result.Compositions))
	}
	if charted != len(want) {
		t.Errorf("%d of %d charts are there", charted, len(want))
	}
}

// below is the horizontal axis under a plot, in the unit of the data: seconds are
// taken to milliseconds.
func (d *drawing) below(t *testing.T) ruler {
	t.Helper()
	var ticks []tick
	factor := 1.0
	for _, s := range d.Shapes {
		if s.Tag != "text" || !s.has("mid") {
			continue
		}
		if v, ok := number(s.Text); ok {
			ticks = append(ticks, tick{s.at().x, v})
		} else if strings.Contains(s.Text, "(s") {
			factor = 1000
		}
	}
	for i := range ticks {
		ticks[i].value *= factor
	}
	return newRuler(t, false, ticks)
}

// The histogram of retries holds the result's buckets.
func TestHerdBuckets(t *testing.T) {
	r := runOf(t, "stampede")
	j := &judge{t: t, what: "herd"}
	for _, d := range charts(t, r, "herd") {
		x := d.across(t)
		for _, panel := range d.panels() {
			name, _, _ := strings.Cut(panel.head, " (")
			c := composition(t, r.result, name)
			up := newRuler(t, false, panel.up)
			var area *shape
			for i := range panel.shapes {
				if panel.shapes[i].has("area") && !panel.isSample(i) {
					area = &panel.shapes[i]
				}
			}
			for _, b := range c.Herd.Buckets {
				top, _, ok := area.upright(x.pixel(millis(b.From + c.Herd.Bucket/2)))
				if !ok {
					top = up.pixel(0)
				}
				j.same(up, top, float64(b.Retries), "retries of "+name)
			}
		}
	}
	j.enough(20)
}

// Goodput over time is the share of the timeline's requests.
func TestGoodputLine(t *testing.T) {
	r := runOf(t, "outage")
	for _, d := range charts(t, r, "recovery") {
		x := d.across(t)
		for _, panel := range d.panels() {
			name, _, _ := strings.Cut(panel.head, " (")
			c := composition(t, r.result, name)
			k := columnsOf(c)
			j := &judge{t: t, what: name}
			up, l := newRuler(t, false, panel.up), panel.line(t)
			for i := range k.n {
				if y, ok := l.height(x.pixel(k.middle(i))); ok {
					j.same(up, y, 100*k.sum(c.Timeline.Completed, i)/k.sum(c.Timeline.Offered, i), "goodput")
				}
			}
			j.enough(k.n)
		}
	}
}
