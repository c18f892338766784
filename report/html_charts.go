package report

import (
	"math"
	"slices"
	"strings"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
	"brunt/study"
)

// asks reports whether the study asks for a table.
func (c *config) asks(t study.Table) bool { return slices.Contains(c.tables(), string(t)) }

// providerBars writes what each configuration of providers delivers, as bars.
func (p *page) providerBars(r *lab.Result, c *config) {
	if !c.asks(study.Providers) || len(r.Compositions) == 0 {
		return
	}
	p.heading("providers", "What each configuration delivers")
	outages := c.outages()
	during := outagePhases(c, outages)
	p.element(`p class="caption"`, providersCaption(outages, nil, true))
	p.raw("<div class=\"figures\">\n")
	bars := func(title string, axis chart.Axis, of func(*measure.Composition) float64) {
		b := chart.Bars{Title: title, Value: axis}
		some := false
		data := &series{head: []string{"Configuration", title + ", " + axis.Title}}
		for i := range r.Compositions {
			v := of(&r.Compositions[i])
			b.Bars = append(b.Bars, chart.Bar{Name: r.Compositions[i].Name, Value: v})
			some = some || v != 0
			data.rows = append(data.rows, []string{r.Compositions[i].Name, barText(v, axis)})
		}
		if some {
			p.figure(b.Inline(), data)
		}
	}
	share := func(k, n int64) float64 {
		if n == 0 {
			return math.NaN()
		}
		return 100 * float64(k) / float64(n)
	}
	percent := chart.Axis{Title: "of those offered", Unit: "%", Better: chart.Higher, Include: []float64{0, 100}}
	bars("Success, whole run", percent, func(c *measure.Composition) float64 { return share(c.Whole.Completed, c.Whole.Offered) })
	if len(during) > 0 {
		bars("Success during the outage", percent, func(c *measure.Composition) float64 { return share(sumOver(c, during)) })
	}
	for _, q := range []struct {
		name string
		of   func(measure.Percentiles) *measure.Millis
	}{
		{"p50", func(p measure.Percentiles) *measure.Millis { return p.P50 }},
		{"p95", func(p measure.Percentiles) *measure.Millis { return p.P95 }},
		{"p99", func(p measure.Percentiles) *measure.Millis { return p.P99 }},
	} {
		bars(q.name+" of the time to any outcome", chart.Axis{Title: "over all submitted", Unit: chart.Milliseconds, Better: chart.Lower}, func(c *measure.Composition) float64 {
			if m := q.of(c.Whole.Latency.Submitted); m != nil {
				return inMillis(*m)
			}
			return math.NaN()
		})
	}
	for _, o := range outages {
		bars("Calls to "+o.Dependency+" while it is dead", chart.Axis{Title: "attempts that start there", Better: chart.Lower},
			func(c *measure.Composition) float64 { return float64(callsDuring(c, o)) })
	}
	bars("Upstream calls", chart.Axis{Title: "attempts in the whole run", Better: chart.Lower}, func(c *measure.Composition) float64 { return float64(c.Whole.Attempts) })
	bars("Cost", chart.Axis{Title: "in the study's unit", Better: chart.Lower}, func(c *measure.Composition) float64 { return c.Whole.Cost })
	p.raw("</div>\n")
}

// barText is the number of a bar with its unit.
func barText(v float64, axis chart.Axis) string {
	if math.IsNaN(v) {
		return "refused"
	}
	return strings.TrimSpace(number(v) + " " + string(axis.Unit))
}

// mostHerd is how many columns a histogram of retries has at most.
const mostHerd = 240

// herdChart writes when retries start, in the same columns and on the same scale
// for all compositions.
func (p *page) herdChart(r *lab.Result, c *config) {
	if !c.asks(study.HerdTable) || len(r.Compositions) == 0 {
		return
	}
	list := drawn(r)
	var width measure.Millis
	from, to, most := measure.Millis(math.MaxInt64), measure.Millis(0), 0.
	for i := range list {
		h := &list[i].Herd
		width = max(width, h.Bucket)
		for _, b := range h.Buckets {
			if b.Attempts > 0 {
				from, to = min(from, b.From), max(to, b.From+h.Bucket)
			}
		}
	}
	p.heading("herd", "When retries arrive")
	if width <= 0 || from >= to {
		p.element("p", "No buckets to draw: "+stopped(list[0].Herd.Reason))
		return
	}
	joined := 1 + int64(to-from)/int64(width)/mostHerd
	width *= measure.Millis(joined)
	from -= from % width
	n := int((to-from-1)/width) + 1
	heights := make([][]float64, len(list))
	data := &series{from: inMillis(from), step: inMillis(width), head: []string{"From"}}
	for i := range list {
		heights[i] = make([]float64, n)
		for _, b := range list[i].Herd.Buckets {
			at := (b.From - from) / width
			heights[i][at] += float64(b.Retries)
			most = max(most, heights[i][at])
		}
		data.head = append(data.head, list[i].Name)
	}
	ch := chart.Panels{Title: "Retries by the instant at which they start",
		X: chart.Axis{Title: "Time from the start of the run", Unit: chart.Milliseconds}}
	for i := range list {
		ch.Panels = append(ch.Panels, chart.Areas{
			Y:       chart.Axis{Title: list[i].Name, Unit: chart.Unit("retries in " + millis(width)), Include: []float64{0, most}},
			Columns: chart.Columns{From: inMillis(from), Width: inMillis(width)},
			Layers:  []chart.Layer{{Name: "retries, at most " + integer(list[i].Herd.RetryPeak) + " in one bucket", Fill: chart.Fill{Colour: 1}, Heights: heights[i]}},
		})
	}
	for k := range n {
		row := []string{millis(from + measure.Millis(k)*width)}
		for i := range list {
			row = append(row, integer(int64(heights[i][k])))
		}
		data.rows = append(data.rows, row)
	}
	p.figure(ch.Inline(), data)
}

// recoveryCharts writes how goodput came back, with what it is held against.
func (p *page) recoveryCharts(r *lab.Result, c *config) {
	if len(r.Compositions) == 0 || len(r.Compositions[0].Phases) < 2 {
		return
	}
	list := drawn(r)
	what := "Requests that completed"
	if list[0].Timeline.Good != nil {
		what = "Requests that completed " + promised(c)
	}
	ch := chart.Panels{
		Title: "Goodput over time", X: chart.Axis{Title: "Intended instant", Unit: chart.Milliseconds},
		Spans: phaseSpans(&list[0]), Faults: faultSpans(c, &list[0]),
	}
	t := newTimelines(r, c, &list[0], nil)
	data := &series{from: t.columns.From, step: t.width, head: []string{"From"}}
	shares := make([][]float64, len(list))
	for i := range list {
		panel, v := returnPanel(r, c, &list[i])
		shares[i] = v
		ch.Panels = append(ch.Panels, panel)
		data.head = append(data.head, list[i].Name)
	}
	for k := range t.n {
		row := []string{duration(inDuration(t.columns.From + float64(k)*t.width))}
		for i := range shares {
			if v := shares[i][k]; math.IsNaN(v) {
				row = append(row, absent)
			} else {
				row = append(row, percentages.write(v, 1, false))
			}
		}
		data.rows = append(data.rows, row)
	}
	p.heading("recovery", "How long until callers are well")
	p.element(`p class="caption"`, what+", of those offered, by the stretch of their intended instant. Broken lines across: what it is held against. Broken lines from top to bottom: when it was back. "+
		"The hatched area is what was lacking until then."+omitted(r))
	p.figure(ch.Inline(), data)
}

// returnPanel is the goodput of one composition with its baseline, what counts as
// back, and when it was.
func returnPanel(r *lab.Result, c *config, comp *measure.Composition) (chart.Curves, []float64) {
	t := newTimelines(r, c, comp, nil)
	good := comp.Timeline.Good
	if good == nil {
		good = comp.Timeline.Completed
	}
	k, n := t.join(good), t.join(comp.Timeline.Offered)
	v := make([]float64, t.n)
	for i := range v {
		if v[i] = math.NaN(); n[i] > 0 {
			v[i] = 100 * float64(k[i]) / float64(n[i])
		}
	}
	points := make([]chart.Point, 0, t.n+1)
	for i := range v {
		points = append(points, chart.Point{X: t.columns.From + float64(i)*t.width, Y: v[i]})
	}
	if t.n > 0 {
		points = append(points, chart.Point{X: t.columns.From + float64(t.n)*t.width, Y: v[t.n-1]})
	}
	curve := chart.Curves{Y: chart.Axis{Title: comp.Name, Unit: "%", Include: []float64{0, 100}},
		Series: []chart.Series{{Name: "goodput", Points: points, Steps: true}}}
	held := func(b *measure.Baseline, from, recovered measure.Millis, back *measure.Millis) {
		if b.Goodput == nil {
			return
		}
		level, d := 100**b.Goodput, measure.Pinned
		curve.Limits = []chart.Mark{{At: level, Name: "baseline " + number(level) + " %"}}
		entry := d.Entry.Float()
		if set, err := measure.ParsePPM(c.Recovery.Detector.Entry); err == nil && set > 0 {
			entry = set.Float()
		}
		curve.Limits = append(curve.Limits, chart.Mark{At: level * entry, Name: "entry " + number(level*entry) + " %"})
		until := recovered
		if back != nil {
			curve.Events = []chart.Mark{{At: inMillis(*back), Name: "back"}}
			until = *back
		}
		curve.Deficit = &chart.Deficit{From: inMillis(from), To: inMillis(until), Level: level, Name: "lacking to the baseline"}
	}
	end := comp.Whole.To
	switch g, st := comp.Recovery.Goodput, comp.Stability; {
	case g != nil:
		var back *measure.Millis
		if d := g.PreFault.Detection; d.Time != nil {
			at := g.Anchor + measure.Millis(*d.Time)
			back = &at
		}
		held(&g.PreFault.Baseline, g.Anchor, end, back)
	case st != nil && st.Trigger != nil && st.Share != nil:
		var back *measure.Millis
		if st.Recovered != nil && st.Degraded {
			at := st.Trigger.To + *st.Recovered
			back = &at
		}
		held(&st.Baseline, st.Trigger.From, end, back)
	default:
		for i := range comp.Phases {
			if ph := &comp.Phases[i]; ph.Name == comp.Recovery.Phase && comp.Recovery.CleanWindow != nil {
				at := ph.From + *comp.Recovery.CleanWindow
				curve.Events = []chart.Mark{{At: inMillis(at), Name: "clean window over"}}
			}
		}
	}
	return curve, v
}
