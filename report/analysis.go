package report

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"brunt/analyze"
	"brunt/measure"
)

// mostStrata is how many groups, or windows, a report for people shows. JSON
// has all of them.
const mostStrata = 20

// mostBeside is how many curves stand beside each other.
const mostBeside = 6

// AnalysisText writes an analysis of another tool's rows for a terminal.
func AnalysisText(w io.Writer, a *analyze.Analysis, opt TextOptions) error {
	if opt.Width <= 0 {
		opt.Width = usualWidth
	}
	t := &terminal{w: bufio.NewWriter(w), width: max(opt.Width, leastWidth), color: opt.Color}
	d := analysis(a)
	t.heading(d)
	for i := range d.Sections {
		t.section(&d.Sections[i])
	}
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("writing the analysis of %s: %w", a.Name, err)
	}
	return nil
}

// AnalysisMarkdown writes an analysis of another tool's rows as Markdown.
func AnalysisMarkdown(w io.Writer, a *analyze.Analysis) error {
	m := &markdown{bufio.NewWriter(w)}
	d := analysis(a)
	m.heading(d)
	for i := range d.Sections {
		m.section(&d.Sections[i])
	}
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("writing the analysis of %s: %w", a.Name, err)
	}
	return nil
}

// analysis makes the report that both formats share.
func analysis(a *analyze.Analysis) *document {
	d := &document{Title: a.Name, Facts: analysisFacts(a)}
	add := func(title string, t Table) {
		d.Sections = append(d.Sections, section{Title: title, Table: &t})
	}
	add("What became of the requests", analysisOutcomes(a))
	if a.Whole.Scheduled > 0 {
		add("When they completed", analysisCurve(a))
	}
	for _, part := range analysisParts(a) {
		if n := len(part.strata); n > 0 && n <= mostBeside {
			add("When they completed, by "+part.name, analysisBeside(part))
		}
	}
	add("Quantiles", analysisQuantiles(a))
	if len(a.Groups) > 1 {
		d.Sections = append(d.Sections, section{Title: "Do the groups differ", Lead: []string{graySentence(&a.Gray)}})
	}
	d.Sections = append(d.Sections, section{Title: "What this does not say", Items: analysisLimits(a)})
	return d
}

// analysisPart is the strata of one column.
type analysisPart struct {
	name   string
	strata []*analyze.Stratum
}

func analysisParts(a *analyze.Analysis) []analysisPart {
	return []analysisPart{{"group", a.Groups}, {"window", a.Windows}}
}

func analysisFacts(a *analyze.Analysis) []fact {
	s := a.Whole
	list := []fact{{Text: plural(s.Scheduled, "request", "requests")}}
	if a.Horizon > 0 {
		list = append(list, fact{Text: "horizon " + duration(a.Horizon)})
	} else {
		list = append(list, fact{Text: "no horizon: nothing is censored"})
	}
	if n := int64(len(a.Groups)); n > 0 {
		list = append(list, fact{Text: plural(n, "group", "groups")})
	}
	if n := int64(len(a.Windows)); n > 0 {
		list = append(list, fact{Text: plural(n, "window", "windows")})
	}
	if n := s.CensoredBeforeHorizon; n > 0 {
		list = append(list, fact{integer(n) + " censored before the horizon", Bad})
	}
	for _, w := range a.Warnings {
		list = append(list, fact{w, Bad})
	}
	return list
}

// shares are shares of requests in percent, finely.
var shares = form{least: 1, most: 2, unit: percentages.unit}

// stratumName says what a stratum is of.
func stratumName(kind string, s *analyze.Stratum) string {
	switch {
	case kind == "":
		return "all"
	case s.Name == "":
		return "no " + kind
	}
	return kind + " " + s.Name
}

// eachStratum calls see for the whole and the strata that are shown, and notes
// those that are not.
func eachStratum(a *analyze.Analysis, b *builder, see func(name string, s *analyze.Stratum)) {
	see(stratumName("", a.Whole), a.Whole)
	for _, part := range analysisParts(a) {
		for i, s := range part.strata {
			if i == mostStrata {
				b.note(integer(int64(len(part.strata)-i)) + " more " + part.name + "s are not shown; JSON has all of them.")
				break
			}
			see(stratumName(part.name, s), s)
		}
	}
}

func analysisOutcomes(a *analyze.Analysis) Table {
	b := builder{table: Table{Keys: 1, Caption: "Of all scheduled requests. Completed in the end is the incidence at the end of the curve; " +
		"at most is what it would be had every outstanding request completed later. Errors lower both."}}
	b.column("Requests")
	b.column("Scheduled", counts)
	b.column("Completed / errored / censored", counts, counts, counts)
	b.column("Completed in the end", shares)
	b.column("At most", shares)
	eachStratum(a, &b, func(name string, s *analyze.Stratum) {
		b.row(name)
		b.cell(num(s.Scheduled))
		b.cell(num(s.Completed), num(s.Errored), num(s.Censored))
		if s.Scheduled == 0 {
			refused := b.refused(absent, "no request was scheduled")
			b.cell(refused)
			b.cell(refused)
			return
		}
		b.cell(num(100 * s.Final))
		b.cell(num(100 * s.Ceiling))
	})
	return b.finish()
}

func analysisCurve(a *analyze.Analysis) Table {
	b := builder{table: Table{Keys: 1, Caption: "Counts are those so far. Incidence is the share of all scheduled requests that had completed by then: " +
		"the Aalen-Johansen estimate, with errors as a competing end. The band is pointwise, 95 %."}}
	b.column("By")
	b.column("Completed / errored", counts, counts)
	b.column("Incidence", shares)
	b.column("from / to", shares, shares)
	for _, p := range a.Whole.Points {
		b.row(byTime(a, p.Time))
		b.cell(num(p.CompletedSoFar), num(p.ErroredSoFar))
		b.cell(num(100 * p.Incidence))
		b.cell(num(100*p.Band.Low), num(100*p.Band.High))
	}
	return b.finish()
}

// byTime says a time, and what it is.
func byTime(a *analyze.Analysis, t time.Duration) string {
	switch {
	case a.Horizon > 0 && t == a.Horizon:
		return duration(t) + ", the horizon"
	case a.Horizon > 0 && t > a.Horizon:
		return duration(t) + ", too late"
	}
	return duration(t)
}

// analysisBeside sets the curves of strata beside each other.
func analysisBeside(part analysisPart) Table {
	b := builder{table: Table{Keys: 1, Caption: "Incidence of completion, as above."}}
	b.column("By")
	for _, s := range part.strata {
		b.column(stratumName(part.name, s), shares)
	}
	for i := range part.strata[0].Points {
		b.row(duration(part.strata[0].Points[i].Time))
		for _, s := range part.strata {
			b.cell(num(100 * s.Points[i].Incidence))
		}
	}
	return b.finish()
}

func analysisQuantiles(a *analyze.Analysis) Table {
	b := builder{table: Table{Keys: 2, Grouped: true, Caption: "The time by which so many of all scheduled requests had completed, or why there is none. " +
		"The 95 % interval is of order statistics and assumes no distribution."}}
	b.column("Requests")
	b.column("Quantile")
	b.column("Completed by")
	b.column("95 % interval")
	eachStratum(a, &b, func(name string, s *analyze.Stratum) {
		for _, q := range s.Quantiles {
			b.row(name, "p"+number(100*q.Q))
			b.cell(quantileValue(a, &b, q.Quantile, q.Reason))
			if q.Status != measure.Reached {
				b.tone(Bad)
			}
			if q.Interval.Lower == nil {
				b.cell(b.refused("omitted", "interval: "+q.Interval.Reason))
				continue
			}
			low, high := quantileValue(a, &b, *q.Interval.Lower, ""), quantileValue(a, &b, *q.Interval.Upper, "")
			if low != high { // else both are the same verdict
				low.words += " to " + high.words
			}
			b.cell(low)
		}
	})
	return b.finish()
}

// quantileValue writes a verdict on a quantile, with a footnote when a reason
// is given.
func quantileValue(a *analyze.Analysis, b *builder, q measure.Quantile, reason string) value {
	switch q.Status {
	case measure.Reached:
		return value{words: millis(*q.Millis)}
	case measure.Beyond:
		if a.Horizon > 0 {
			return b.refused("> "+duration(a.Horizon), reason)
		}
		return b.refused("beyond the time watched", reason)
	case measure.Unattainable:
		return b.refused("unattainable", reason)
	}
	return b.refused(absent, reason)
}

func graySentence(g *measure.GrayTest) string {
	if g.Statistic == nil || g.P == nil {
		return "Gray's test of equal incidence curves: " + stopped(g.Reason)
	}
	return fmt.Sprintf("Gray's test of equal incidence curves: chi-squared %s with %s, p = %s. It describes: it takes requests as independent.",
		precise(*g.Statistic), plural(int64(g.DF), "degree of freedom", "degrees of freedom"), precise(*g.P))
}

// analysisLimits says what the numbers cannot carry.
func analysisLimits(a *analyze.Analysis) []string {
	items := []string{
		"The band is pointwise: it holds at each time by itself, not along the whole curve at once.",
		"Requests within one run are not independent, so bands and intervals describe this run. How runs differ, only several of them can say.",
	}
	switch s := a.Whole; {
	case s.Scheduled == 0:
	case s.CensoredBeforeHorizon > 0:
		items = append(items, plural(s.CensoredBeforeHorizon, "request was", "requests were")+" not watched up to the horizon. The estimate takes such requests to be like those that were watched for longer; "+
			"intervals of quantiles are omitted.")
	case s.Plain:
		items = append(items, "Nothing was censored before the last event, so the incidence is plain counting: completed by then, of all scheduled.")
	default:
		items = append(items, "Requests were censored at the horizon, and others ended after it: beyond it the incidence is an estimate, not plain counting.")
	}
	if n := a.Whole.Late; n > 0 {
		items = append(items, plural(n, "request", "requests")+" completed after the horizon: on the curve, but of no quantile.")
	}
	return append(items, "Whether the times begin at the intended instant, only the tool that wrote them can say. If it waited for an answer before it sent the next request, stalls are missing from them.")
}
