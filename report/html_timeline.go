package report

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
	"brunt/record"
)

const (
	// mostDrawn is of how many compositions a page draws pictures; its tables
	// have all of them.
	mostDrawn = 10
	// columnsOfTime is how many stretches a timeline is added up to.
	columnsOfTime = 160
	mostRibbons   = 4 // stages with breakers, of one composition
)

// fills are how outcomes look, the same in all charts. Censored requests have no
// colour, as nothing is known of their end.
var fills = map[string]chart.Fill{
	record.Failure.String():  {Colour: 1, Pattern: chart.Solid},
	record.Timeout.String():  {Colour: 4, Pattern: chart.Rising},
	record.Circuit.String():  {Colour: 3, Pattern: chart.Falling},
	record.Limiter.String():  {Colour: 6, Pattern: chart.Level},
	record.Rate.String():     {Colour: 6, Pattern: chart.Upright},
	record.Throttle.String(): {Colour: 2, Pattern: chart.Upright},
	record.Harness.String():  {Colour: 5, Pattern: chart.Falling},
	record.Overload.String(): {Colour: 1, Pattern: chart.Rising},
	record.Connect.String():  {Colour: 1, Pattern: chart.Upright},
	record.Reset.String():    {Colour: 4, Pattern: chart.Falling},
	record.Status.String():   {Colour: 1, Pattern: chart.Level},
	record.Stream.String():   {Colour: 4, Pattern: chart.Level},
}

var (
	completedFill = chart.Fill{Colour: 0, Pattern: chart.Solid}
	lateFill      = chart.Fill{Colour: 0, Pattern: chart.Rising}
	censoredFill  = chart.Fill{Colour: -1, Pattern: chart.Rising}
)

// drawn returns the compositions that are drawn.
func drawn(r *lab.Result) []measure.Composition {
	return r.Compositions[:min(len(r.Compositions), mostDrawn)]
}

// timelines writes what happened over time, composition by composition.
func (p *page) timelines(r *lab.Result, c *config) {
	if len(r.Compositions) == 0 {
		return
	}
	p.heading("timelines", "What happened when")
	p.element(`p class="caption"`, "Requests stand at their intended instant and attempts at their start. Requests and attempts have one scale in all pictures, so what an area of attempts has above the line of the offered requests is amplification. "+
		"Tinted phases are those in which the study changes a dependency or the load."+omitted(r))
	p.element(`p class="soft sideways"`, "Charts and tables scroll sideways.")
	p.raw("<div class=\"figures stacked\">\n")
	var all []*overTime
	most := 0.
	for i := range drawn(r) {
		t := newTimelines(r, c, &r.Compositions[i], closeup(r, i))
		all, most = append(all, t), max(most, t.most)
	}
	var pictures []chart.Panels
	left := 0.
	for _, t := range all {
		t.most = most
		pictures = append(pictures, t.chart())
		left = max(left, pictures[len(pictures)-1].Margin())
	}
	for i, t := range all {
		pictures[i].Left = left // so that one instant stands in one line in all of them
		p.figure(pictures[i].Inline(), t.data())
	}
	p.raw("</div>\n")
}

// omitted says that not all compositions are drawn.
func omitted(r *lab.Result) string {
	if n := len(r.Compositions); n > mostDrawn {
		return " The first " + strconv.Itoa(mostDrawn) + " of " + strconv.Itoa(n) + " compositions are drawn; the tables have all of them."
	}
	return ""
}

// closeup returns the closeup of a composition; nil where rows were not kept.
func closeup(r *lab.Result, i int) *measure.Closeup {
	if i < len(r.Closeups) && r.Closeups[i].Name == r.Compositions[i].Name {
		return r.Closeups[i]
	}
	return nil
}

// overTime is the timeline of one composition in columns.
type overTime struct {
	result  *lab.Result
	config  *config
	comp    *measure.Composition
	near    *measure.Closeup
	joined  int // steps that make a column
	columns chart.Columns
	n       int
	perStep bool // counts stand as they are; else by the second
	width   float64
	outcome []layerOf
	offered []float64
	again   []float64 // retries
	others  []float64 // attempts that no retry started
	most    float64   // of requests and of attempts
}

type layerOf struct {
	name  string
	fill  chart.Fill
	count []int64
}

func newTimelines(r *lab.Result, c *config, comp *measure.Composition, near *measure.Closeup) *overTime {
	tl := &comp.Timeline
	t := &overTime{result: r, config: c, comp: comp, near: near, joined: 1}
	if len(tl.Offered) > 0 {
		t.joined = (len(tl.Offered)-1)/columnsOfTime + 1
	}
	t.n = (len(tl.Offered) + t.joined - 1) / t.joined
	t.width = inMillis(tl.Step) * float64(t.joined)
	t.columns = chart.Columns{Width: t.width}
	if len(comp.Phases) > 0 {
		t.columns.From = inMillis(comp.Phases[0].From)
	}
	t.perStep = c.Load.Arrivals == "burst"
	completed := t.join(tl.Completed)
	if tl.Good != nil {
		good := t.join(tl.Good)
		late := make([]int64, len(good))
		for i := range good {
			late[i] = completed[i] - good[i]
		}
		t.add("completed within the SLO", completedFill, good)
		t.add("completed later", lateFill, late)
	} else {
		t.add("completed", completedFill, completed)
	}
	for _, cause := range record.Causes() {
		if counts := tl.Errored[cause.String()]; counts != nil {
			t.add("errored: "+cause.String(), fills[cause.String()], t.join(counts))
		}
	}
	t.add("censored", censoredFill, t.join(tl.Censored))
	t.offered = t.heights(t.join(tl.Offered))
	retries := t.join(tl.Retries)
	others := t.join(tl.Attempts)
	for i := range retries {
		others[i] -= retries[i]
	}
	t.again, t.others = t.heights(retries), t.heights(others)
	for i := range t.n {
		t.most = max(t.most, t.offered[i], t.others[i])
		if i < len(t.again) {
			t.most = max(t.most, t.others[i]+t.again[i])
		}
	}
	return t
}

// add adds a layer, unless there is nothing in it.
func (t *overTime) add(name string, fill chart.Fill, count []int64) {
	if some(count) || name == "completed" {
		t.outcome = append(t.outcome, layerOf{name, fill, count})
	}
}

// some reports whether anything was counted.
func some(count []int64) bool {
	return slices.ContainsFunc(count, func(k int64) bool { return k > 0 })
}

// join adds steps up to columns; nil stays nil.
func (t *overTime) join(steps []int64) []int64 {
	if steps == nil {
		return nil
	}
	sums := make([]int64, t.n)
	for i, v := range steps {
		sums[i/t.joined] += v
	}
	return sums
}

// peak takes the most of each column's samples.
func (t *overTime) peak(steps []int64) []float64 {
	most := make([]float64, t.n)
	for i, v := range steps {
		most[i/t.joined] = max(most[i/t.joined], float64(v))
	}
	return most
}

// heights are counts as they are drawn: by the second, or as they are.
func (t *overTime) heights(count []int64) []float64 {
	if count == nil {
		return nil
	}
	h := make([]float64, len(count))
	for i, v := range count {
		h[i] = float64(v)
		if !t.perStep {
			h[i] *= 1000 / t.width
		}
	}
	return h
}

// unit is what a height counts.
func (t *overTime) unit(what string) chart.Unit {
	if t.perStep {
		return chart.Unit(what + " in " + duration(inDuration(t.width)))
	}
	return chart.Unit(what + "/s")
}

func (t *overTime) chart() chart.Panels {
	return chart.Panels{
		Title:  t.comp.Name,
		X:      chart.Axis{Title: "Time from the start of the run", Unit: chart.Milliseconds},
		Spans:  phaseSpans(t.comp),
		Faults: faultSpans(t.config, t.comp),
		Events: events(t.result, t.comp),
		Panels: t.panels(),
	}
}

func (t *overTime) panels() []chart.Panel {
	tl := &t.comp.Timeline
	same := []float64{0, t.most}
	requests := chart.Areas{Y: chart.Axis{Title: "Requests by what became of them", Unit: t.unit("requests"), Include: same}, Columns: t.columns}
	for _, l := range t.outcome {
		requests.Layers = append(requests.Layers, chart.Layer{Name: l.name, Fill: l.fill, Heights: t.heights(l.count)})
	}
	attempts := chart.Areas{Y: chart.Axis{Title: "Attempts at the dependency", Unit: t.unit("attempts"), Include: same}, Columns: t.columns,
		Layers:  []chart.Layer{{Name: "first attempts, hedges, fallbacks", Fill: chart.Fill{Colour: 2, Pattern: chart.Pale}, Heights: t.others}},
		Outline: &chart.Layer{Name: "requests offered", Fill: chart.Fill{Colour: 5}, Heights: t.offered}}
	if t.again != nil {
		attempts.Layers = append(attempts.Layers, chart.Layer{Name: "retries", Fill: chart.Fill{Colour: 1, Pattern: chart.Rising}, Heights: t.again})
	}
	panels := []chart.Panel{requests, attempts, t.latency()}
	panels = append(panels, t.ribbons()...)
	flight := chart.Curves{Y: chart.Axis{Title: "In flight", Unit: "requests", Include: []float64{0}},
		Series: []chart.Series{{Name: "in flight", Points: t.points(t.peak(tl.InFlight))}}}
	for _, name := range sorted(tl.Queue) {
		if !some(tl.Queue[name]) {
			continue // nobody waits there
		}
		flight.Series = append(flight.Series, chart.Series{Name: "waiting for a worker of " + name, Points: t.points(t.peak(tl.Queue[name]))})
	}
	if len(flight.Series) > 1 {
		flight.Y.Title = "In flight and queued"
	}
	return append(panels, flight)
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// points put one number in the middle of each column.
func (t *overTime) points(v []float64) []chart.Point {
	points := make([]chart.Point, len(v))
	for i := range v {
		points[i] = chart.Point{X: t.columns.From + (float64(i)+0.5)*t.width, Y: v[i]}
	}
	return points
}

// latency is the panel of how long completed requests took: how they spread where
// rows were kept, else their percentiles by the steps of the timeline.
func (t *overTime) latency() chart.Panel {
	axis := chart.Axis{Title: "Latency of the completed", Unit: chart.Milliseconds, Log: true}
	if t.near == nil {
		tl := &t.comp.Timeline
		steps := func(of []*measure.Millis) []chart.Point {
			points := make([]chart.Point, len(of))
			for i, m := range of {
				points[i] = chart.Point{X: t.columns.From + (float64(i)+0.5)*inMillis(tl.Step), Y: math.NaN()}
				if m != nil {
					points[i].Y = inMillis(*m)
				}
			}
			return points
		}
		return chart.Curves{Y: axis, Series: []chart.Series{{Name: "p50", Points: steps(tl.P50)}, {Name: "p95", Points: steps(tl.P95)}}}
	}
	d := chart.Density{Y: axis, Columns: t.columns, Count: t.n, What: "requests"}
	p50, p95 := make([]float64, len(t.near.Columns)), make([]float64, len(t.near.Columns))
	for i := range t.near.Columns {
		col := &t.near.Columns[i]
		p50[i], p95[i] = math.NaN(), math.NaN()
		if col.Completed > 0 {
			p50[i], p95[i] = inMillis(col.P50), inMillis(col.P95)
		}
	}
	d.Cells = cellsOf(t.near.Columns)
	d.Lines = []chart.Series{{Name: "p50", Points: t.points(p50)}, {Name: "p95", Points: t.points(p95)}}
	return d
}

// leastShown is the share of requests below which quick ones are drawn together:
// a few by themselves would take most of a logarithmic axis.
const leastShown = 0.005

// cellsOf joins bins of a sixteenth of an octave to cells that are high enough to
// be seen: quarters of an octave, or more where latencies spread far.
func cellsOf(columns []measure.Column) (list []chart.Cell) {
	counts := map[measure.Millis]int64{} // by the start of a bin
	total := int64(0)
	for i := range columns {
		for _, b := range columns[i].Bins {
			counts[b.From] += b.Count
			total += b.Count
		}
	}
	starts := sorted(counts)
	if len(starts) == 0 {
		return nil
	}
	seen, low := int64(0), 0.
	for _, from := range starts {
		if seen += counts[from]; float64(seen) >= leastShown*float64(total) && from > 0 {
			low = inMillis(from)
			break
		}
	}
	perOctave := 4.
	switch high := inMillis(starts[len(starts)-1]); {
	case low > 0 && high/low > 1e5:
		perOctave = 1
	case low > 0 && high/low > 500:
		perOctave = 2
	}
	for i := range columns {
		first := len(list)
		for _, b := range columns[i].Bins {
			k := math.Floor(math.Log2(max(inMillis(b.From), low))*perOctave + 1e-9)
			from := math.Exp2(k / perOctave)
			if n := len(list); n > first && list[n-1].From == from {
				list[n-1].Count += float64(b.Count)
				continue
			}
			list = append(list, chart.Cell{Column: i, From: from, To: math.Exp2((k + 1) / perOctave), Count: float64(b.Count)})
		}
	}
	return list
}

// ribbons are panels on the states of breakers, one for each stage.
func (t *overTime) ribbons() (list []chart.Panel) {
	if t.near == nil {
		return nil
	}
	for i, b := range t.near.Breakers {
		if i == mostRibbons {
			break
		}
		title := stageWords(b.Stage)
		if b.Callers > 1 {
			title += ", over the " + integer(int64(b.Callers)) + " callers whose breaker opened"
		}
		list = append(list, chart.Areas{Y: chart.Axis{Title: title, Unit: "share of the time", Include: []float64{0, 1}}, Columns: t.columns, Thin: true,
			Layers: []chart.Layer{
				{Name: "open", Fill: chart.Fill{Colour: 3, Pattern: chart.Falling}, Heights: b.Open},
				{Name: "half-open", Fill: chart.Fill{Colour: 4, Pattern: chart.Upright}, Heights: b.HalfOpen},
			}})
	}
	return list
}

// stageWords names a breaker by its place in the stack, where that says more than
// what it is.
func stageWords(path string) string {
	if path == "breaker" {
		return "Breaker"
	}
	return "Breaker " + path
}

func phaseSpans(comp *measure.Composition) (list []chart.Span) {
	for i := range comp.Phases {
		ph := &comp.Phases[i]
		list = append(list, chart.Span{From: inMillis(ph.From), To: inMillis(ph.To), Name: ph.Name})
	}
	return list
}

// faultSpans are the phases in which the study changes something, and the time for which a real fault lasted.
func faultSpans(c *config, comp *measure.Composition) (list []chart.Span) {
	for i := range comp.Phases {
		ph := &comp.Phases[i]
		if i < len(c.Phases) && describePhase(&c.Phases[i]) != unchanged {
			list = append(list, chart.Span{From: inMillis(ph.From), To: inMillis(ph.To), Name: ph.Name + ": " + describePhase(&c.Phases[i])})
		}
	}
	if from, to := fired(comp); from != nil {
		end := comp.Whole.To
		if to != nil {
			end = *to
		}
		list = append(list, chart.Span{From: inMillis(*from), To: inMillis(end), Name: "the fault at " + comp.Site.Fault.Victim})
	}
	return list
}

// fired is when a real fault began and ended, where that was seen.
func fired(comp *measure.Composition) (from, to *measure.Millis) {
	if comp.Site == nil || comp.Site.Fault == nil {
		return nil, nil
	}
	for _, i := range comp.Site.Fault.Instants {
		switch i.What {
		case "fired":
			from = i.At
		case "expired", "heal":
			if to == nil {
				to = i.At
			}
		}
	}
	return from, to
}

// events are the instants that all panels of a composition mark.
func events(r *lab.Result, comp *measure.Composition) (list []chart.Mark) {
	if comp.Site != nil && comp.Site.Fault != nil {
		for _, i := range comp.Site.Fault.Instants {
			if i.At != nil && i.What != "armed" {
				list = append(list, chart.Mark{At: inMillis(*i.At), Name: i.What})
			}
		}
	} else if g := comp.Recovery.Goodput; g != nil {
		list = append(list, chart.Mark{At: inMillis(g.Anchor), Name: "the fault fires"})
	}
	if r.Kill != nil && r.Kill.Composition == comp.Name {
		list = append(list, chart.Mark{At: inMillis(r.Kill.At), Name: kill(r.Kill)})
	}
	return list
}

// data is what stands behind the timeline.
func (t *overTime) data() *series {
	s := &series{from: t.columns.From, step: t.width, head: []string{"From", "Offered"}}
	tl := &t.comp.Timeline
	columns := [][]int64{t.join(tl.Offered)}
	for _, l := range t.outcome {
		s.head = append(s.head, upper(l.name))
		columns = append(columns, l.count)
	}
	s.head = append(s.head, "Attempts")
	columns = append(columns, t.join(tl.Attempts))
	if tl.Retries != nil {
		s.head = append(s.head, "Retries")
		columns = append(columns, t.join(tl.Retries))
	}
	s.head = append(s.head, "Most in flight")
	flight := t.peak(tl.InFlight)
	if t.near != nil {
		s.head = append(s.head, "p50", "p95")
	}
	for i := range t.n {
		row := []string{duration(inDuration(t.columns.From + float64(i)*t.width))}
		for _, c := range columns {
			row = append(row, strconv.FormatInt(c[i], 10))
		}
		row = append(row, strconv.FormatFloat(flight[i], 'f', -1, 64))
		if t.near != nil && i < len(t.near.Columns) {
			if col := &t.near.Columns[i]; col.Completed > 0 {
				row = append(row, millis(col.P50), millis(col.P95))
			} else {
				row = append(row, absent, absent)
			}
		}
		s.rows = append(s.rows, row)
	}
	return s
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
