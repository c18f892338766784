package report

import (
	"io"
	"math"
	"slices"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
)

// ComparisonHTML writes how one run differs from another as one page that needs
// nothing from outside, in the style of [HTML]: what became of the rules, the
// differences as pictures and tables, and which the two runs are.
func ComparisonHTML(w io.Writer, c *lab.RunComparison) error {
	d := comparison(c)
	body := &page{}
	for i := range d.Sections {
		switch s := &d.Sections[i]; s.Title {
		case rulesTitle:
			body.heading("rules", s.Title)
			body.comparedTables(s)
		case differencesTitle:
			body.heading("differences", s.Title)
			for _, l := range s.Lead {
				body.element("p", l)
			}
			body.differences(c, s)
		default:
			body.heading("runs", s.Title)
			body.list("ul", s.Items)
		}
	}
	head, foot := &page{}, &page{}
	head.open(d.Title+" · brunt", "valid")
	head.raw("<a class=\"skip\" href=\"#main\">Skip to the comparison</a>\n")
	head.header(d)
	head.contents(body.parts)
	head.raw("<main id=\"main\">\n")
	foot.raw("</main>\n<footer>Made by brunt compare. This page is one file; it loads nothing and sends nothing.</footer>\n")
	foot.close()
	for _, p := range []*page{head, body, foot} {
		if _, err := w.Write(p.Bytes()); err != nil {
			return compared(err)
		}
	}
	return nil
}

func (p *page) comparedTables(s *section) {
	for i := range s.Tables {
		p.table(&s.Tables[i], "")
	}
}

// differences writes a picture and a table for each composition.
func (p *page) differences(c *lab.RunComparison, s *section) {
	p.element(`p class="caption"`, "In the pictures a difference stands in percent of A, and what it is in its own unit beside it. What is the same on both sides is left out of them.")
	for i := range c.Compositions {
		comp := &c.Compositions[i]
		p.element("h3", comp.Name)
		if picture, data := differencePicture(c, comp); picture != "" {
			p.figure(picture, data)
		}
		if i < len(s.Tables) {
			p.table(&s.Tables[i], comp.Name)
		}
	}
}

// mostPercent is how far the axis of a picture goes at most: one number that has
// grown a hundredfold would press all others together.
const mostPercent = 200

// differencePicture draws the numbers of a composition that differ, and beside them
// those that rules are about; nothing when none differs.
func differencePicture(c *lab.RunComparison, comp *lab.ComparedComposition) (svg string, data *series) {
	ch := chart.Differences{
		Title: comp.Name + ": B against A", Value: chart.Axis{Title: "Difference from A", Unit: "% of A"},
		Within: mostPercent, Interval: "95 % t-intervals",
	}
	data = &series{head: []string{"Number", "A", "B", differenceHead, "Low", "High"}}
	differs := false
	for _, d := range pictured(c, comp) {
		differs = differs || d.Mean != nil && *d.Mean != 0
		name, _, what := named(d.Name)
		scale := scaleOf(what)
		row := chart.Difference{Name: name, Value: math.NaN(), Limits: limitsOf(c, comp.Name, d.Name)}
		cells := []string{name, absent, absent, absent, absent, absent}
		if d.A == nil || d.B == nil || d.Mean == nil {
			row.Text = "refused"
		} else {
			decimals := differenceDecimals(d, scale)
			row.Text = scale.text(*d.A, decimals) + " → " + scale.text(*d.B, decimals) + " (" + scale.change(*d.Mean, decimals) + ")"
			row.Value = percentOf(d, *d.Mean)
			row.Doubtful = d.Verdict == measure.NoDifference
			copy(cells[1:], []string{scale.text(*d.A, decimals), scale.text(*d.B, decimals), scale.change(*d.Mean, decimals)})
			if d.Low != nil && d.High != nil {
				row.Low, row.High = percentOf(d, *d.Low), percentOf(d, *d.High)
				copy(cells[4:], []string{scale.change(*d.Low, decimals), scale.change(*d.High, decimals)})
			}
		}
		ch.Rows = append(ch.Rows, row)
		data.rows = append(data.rows, cells)
	}
	if !differs {
		return "", nil
	}
	if slices.ContainsFunc(ch.Rows, func(r chart.Difference) bool { return math.IsNaN(r.Value) && r.Text != "refused" }) {
		ch.Note = "Without a dot: A is 0, or a side has no value"
	}
	return ch.Inline(), data
}

// pictured are the numbers of a composition that are drawn.
func pictured(c *lab.RunComparison, comp *lab.ComparedComposition) (list []*measure.Difference) {
	for i := range comp.Numbers {
		d := &comp.Numbers[i]
		if d.Mean != nil && *d.Mean != 0 || len(limitsOf(c, comp.Name, d.Name)) > 0 {
			list = append(list, d)
		}
	}
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Composition == comp.Name && !slices.ContainsFunc(list, func(d *measure.Difference) bool { return d.Name == r.Difference.Name }) {
			list = append(list, &r.Difference)
		}
	}
	return list
}

// limitsOf are what rules allow a number, in percent of A.
func limitsOf(c *lab.RunComparison, composition, name string) (limits []float64) {
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Composition != composition || r.Difference.Name != name {
			continue
		}
		if rule, err := lab.ParseRule(r.Rule, nil); err == nil && !slices.Contains(limits, 100*rule.Limit) {
			limits = append(limits, 100*rule.Limit)
		}
	}
	return limits
}

// percentOf is a part of a difference in percent of A; NaN when that is 0.
func percentOf(d *measure.Difference, v float64) float64 {
	switch {
	case *d.A != 0:
		return 100 * v / math.Abs(*d.A)
	case v == 0:
		return 0
	}
	return math.NaN()
}
