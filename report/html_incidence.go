package report

import (
	"math"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
)

// mostPhases is of how many phases a page draws the completion curve.
const mostPhases = 12

// completionTitle is that of the table in other formats too.
const completionTitle = "By when requests are done"

// marked are the quantiles that stand out on a completion curve.
var marked = []float64{0.5, 0.95, 0.99}

// incidence writes by when requests are done, phase by phase.
func (p *page) incidence(r *lab.Result, c *config) {
	if len(r.Compositions) == 0 {
		return
	}
	p.heading("completion", completionTitle)
	words := "The share of all offered requests that has completed by a time from their intended instant; errors are a competing end, so they cannot make a curve look fast. " +
		"Marks are p50, p95 and p99; a hollow mark at the right border is one that is refused: no time was seen by which so many were done. The broken line is the horizon."
	if r.Deterministic {
		words += " " + noChance
	} else {
		words += " Bands are pointwise 95 % intervals; they describe this run, whose requests are not independent."
	}
	p.element(`p class="caption"`, words+omitted(r))
	p.raw("<div class=\"figures\">\n")
	for i := range r.Compositions[0].Phases {
		if i == mostPhases {
			break
		}
		if svg := completionChart(r, c, i); svg != "" {
			p.figure(svg, nil)
		}
	}
	p.raw("</div>\n")
	t := completionTable(r)
	p.table(&t, t.Title)
}

// completionChart draws the curves of one phase; nothing where rows were not kept.
func completionChart(r *lab.Result, c *config, phase int) string {
	l := chart.Lines{
		Title: "Phase " + r.Compositions[0].Phases[phase].Name,
		X:     chart.Axis{Title: "Time from the intended instant", Unit: chart.Milliseconds, Log: true},
		Y:     chart.Axis{Title: "Completed, of all offered", Unit: "%", Include: []float64{0, 100}},

		Interval: "pointwise 95 % intervals",
	}
	low := leastLatency(r, phase)
	if low > 0 { // so that curves rise inside of the plot
		l.X.Include = []float64{low / 2}
	}
	if h := inMillis(measure.Millis(c.Horizon)); h > 0 {
		l.Uprights = []chart.Mark{{At: h, Name: "horizon"}}
	}
	for i := range drawn(r) {
		near := closeup(r, i)
		if near == nil || phase >= len(near.Curves) {
			return ""
		}
		l.Series = append(l.Series, completionSeries(&r.Compositions[i], near, phase, low, c))
	}
	return l.Inline()
}

// leastLatency is where the plot begins: at the time of the first completions of
// any composition, but for a few that would take most of a logarithmic axis.
func leastLatency(r *lab.Result, phase int) float64 {
	least := 0.
	for i := range drawn(r) {
		near := closeup(r, i)
		if near == nil || phase >= len(near.Curves) {
			continue
		}
		shape := &near.Curves[phase]
		for _, at := range shape.Points {
			if x := inMillis(at.At); x > 0 && at.Share >= leastShown*shape.Final {
				if least == 0 || x < least {
					least = x
				}
				break
			}
		}
	}
	return least
}

func completionSeries(comp *measure.Composition, near *measure.Closeup, phase int, low float64, c *config) chart.Series {
	shape := &near.Curves[phase]
	s := chart.Series{Name: comp.Name, Steps: true, Flags: []chart.Flag{}}
	point := func(at, share float64) {
		p := chart.Point{X: at, Y: 100 * share, Low: math.NaN(), High: math.NaN()}
		if low, high, ok := bandAt(shape.Band, share); ok {
			p.Low, p.High = 100*min(low, share), 100*max(high, share)
		}
		s.Points = append(s.Points, p)
	}
	last := 0.
	for _, at := range shape.Points {
		if x := inMillis(at.At); x >= low && x > 0 {
			if len(s.Points) == 0 { // it rises from what came before
				point(low/2, last)
			}
			point(x, at.Share)
		}
		last = at.Share
	}
	if h := inMillis(measure.Millis(c.Horizon)); h > 0 && len(shape.Points) > 0 {
		point(h, last)
		if shape.Ceiling > last { // what the outstanding could still bring
			point(h, shape.Ceiling)
		}
	}
	in := &comp.Phases[phase].Incidence
	for _, q := range marked {
		for _, of := range in.Quantiles {
			if of.Q != q {
				continue
			}
			name := "p" + precise(100*q) + " "
			if of.Millis != nil {
				s.Flags = append(s.Flags, chart.Flag{X: inMillis(*of.Millis), Y: 100 * q, Name: name + millis(*of.Millis)})
			} else {
				s.Flags = append(s.Flags, chart.Flag{X: math.NaN(), Y: 100 * q, Name: name + end(nil, of.Status)})
			}
		}
	}
	return s
}

// bandAt is the interval at a share, between those that were computed. There is
// none below the first.
func bandAt(band []measure.ShapeBand, share float64) (low, high float64, ok bool) {
	if len(band) == 0 || share < band[0].Share {
		return 0, 0, false
	}
	at := 0
	for at+1 < len(band) && band[at].Share < share {
		at++
	}
	if at == 0 || band[at].Share <= band[at-1].Share {
		return band[at].Low, band[at].High, true
	}
	a, b := &band[at-1], &band[at]
	w := min((share-a.Share)/(b.Share-a.Share), 1)
	return a.Low + w*(b.Low-a.Low), a.High + w*(b.High-a.High), true
}

// completionTable has the quantiles of all phases, or what is refused of them.
func completionTable(r *lab.Result) Table {
	b := builder{table: Table{Title: completionTitle, Keys: 2, Grouped: true}}
	chance := !r.Deterministic
	b.column(phaseHead)
	b.column(compositionHead)
	b.column("Offered", counts)
	for _, q := range marked {
		b.column("p"+precise(100*q), counts)
	}
	b.column("Done in the end", percentages)
	b.column("At most", percentages)
	for phase := range r.Compositions[0].Phases {
		for i := range r.Compositions {
			if phase >= len(r.Compositions[i].Phases) {
				continue
			}
			ph := &r.Compositions[i].Phases[phase]
			b.row(ph.Name, r.Compositions[i].Name)
			b.cell(num(ph.Offered))
			for _, q := range marked {
				b.cell(b.quantileOf(ph, q, chance))
			}
			b.cell(b.part(ph.Incidence.Final, 100, ph.Incidence.Reason))
			b.cell(b.part(ph.Incidence.Ceiling, 100, ph.Incidence.Reason))
		}
	}
	return b.finish()
}

// quantileOf is a quantile as a time, with its interval where there is chance, or its
// refusal.
func (b *builder) quantileOf(p *measure.Phase, q float64, chance bool) value {
	for _, of := range p.Incidence.Quantiles {
		if of.Q != q {
			continue
		}
		if of.Millis == nil {
			return b.refused(end(nil, of.Status), of.Reason)
		}
		words := millis(*of.Millis)
		if of.Lower != nil || of.Upper != nil {
			words += " [" + boundWords(of.Lower, of.LowerStatus) + ", " + boundWords(of.Upper, of.UpperStatus) + "]"
		} else if chance && of.Refused != "" {
			return b.refused(words, of.Refused)
		}
		return value{words: words}
	}
	return b.refused(absent, p.Incidence.Reason)
}
