package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// Comparison writes how one run differs from another, for a terminal: first
// what became of the rules, then the differences that are shown.
func Comparison(w io.Writer, c *lab.RunComparison, opt TextOptions) error {
	if opt.Width <= 0 {
		opt.Width = usualWidth
	}
	t := &terminal{w: bufio.NewWriter(w), width: max(opt.Width, leastWidth), color: opt.Color}
	d := comparison(c)
	t.heading(d)
	for i := range d.Sections {
		t.section(&d.Sections[i])
	}
	return compared(t.w.Flush())
}

// ComparisonMarkdown writes how one run differs from another as Markdown.
func ComparisonMarkdown(w io.Writer, c *lab.RunComparison) error {
	m := &markdown{bufio.NewWriter(w)}
	d := comparison(c)
	m.heading(d)
	for i := range d.Sections {
		m.section(&d.Sections[i])
	}
	return compared(m.w.Flush())
}

// ComparisonJSON writes every number that was compared, laid out as [JSON]
// does.
func ComparisonJSON(w io.Writer, c *lab.RunComparison) error {
	compact, err := encode(c)
	if err == nil {
		_, err = w.Write(indentJSON(compact))
	}
	return compared(err)
}

func compared(err error) error {
	if err != nil {
		return fmt.Errorf("writing the comparison: %w", err)
	}
	return nil
}

// The titles of the sections of a comparison.
const (
	rulesTitle       = "Verdict on the rules"
	differencesTitle = "What differs"
)

// comparison makes the report that the formats share.
func comparison(c *lab.RunComparison) *document {
	d := &document{Title: c.A.Study + ": B against A", Facts: comparisonFacts(c)}
	if c.A.Study != c.B.Study {
		d.Title = c.B.Study + " (B) against " + c.A.Study + " (A)"
	}
	if len(c.Rules) > 0 {
		s := section{Title: rulesTitle}
		var seen []string
		for i := range c.Rules {
			if text := c.Rules[i].Rule; !slices.Contains(seen, text) {
				seen = append(seen, text)
				s.Tables = append(s.Tables, ruleVerdicts(text, c.Rules))
			}
		}
		d.Sections = append(d.Sections, s)
	}
	s := section{Title: differencesTitle, Lead: []string{comparisonMethod(c)}}
	for i := range c.Compositions {
		comp := &c.Compositions[i]
		t := contrast{}
		for k := range comp.Numbers {
			t.numbers = append(t.numbers, &comp.Numbers[k])
		}
		s.Tables = append(s.Tables, t.table(comp.Name))
	}
	d.Sections = append(d.Sections, s, section{Title: "The two runs", Items: []string{
		comparedRun("A", &c.A), comparedRun("B", &c.B),
	}})
	return d
}

func comparisonFacts(c *lab.RunComparison) (list []fact) {
	switch failed, n := int64(c.FailedRules()), int64(len(c.Rules)); {
	case failed > 0:
		list = append(list, fact{integer(failed) + " of " + plural(n, "rule fails", "rules fail"), Bad})
	case n > 0:
		list = append(list, fact{plural(n, "rule holds", "rules hold"), Good})
	}
	if c.Paired {
		return append(list, fact{Text: "paired by seed, on the same arrivals and the same luck"})
	}
	return append(list, fact{c.Reason, Bad})
}

// comparisonMethod says how the differences were come by.
func comparisonMethod(c *lab.RunComparison) string {
	words := "Names without a phase are of the whole run (pp: percentage points). "
	switch {
	case !c.Paired:
		return words + sentence(c.Reason) + " So the means are set side by side, and a difference is descriptive: it may be chance."
	case len(c.A.Seeds) > 1:
		return words + "The interval is a 95 % t-interval of the paired differences, and the correlation is what pairing bought. " +
			"Intervals are not adjusted for how many numbers are looked at."
	}
	return words + "One run on each side: the difference is paired, and there is no interval."
}

// ruleVerdicts is the table of what became of one rule.
func ruleVerdicts(text string, rules []lab.RuleVerdict) Table {
	b := builder{table: Table{Title: text, Keys: 2}}
	b.column("Verdict")
	b.column(compositionHead)
	b.column("A", counts)
	b.column("B", counts)
	b.column(differenceHead, counts)
	b.column("In % of A", counts)
	intervals := slices.ContainsFunc(rules, func(r lab.RuleVerdict) bool { return r.Rule == text && r.Difference.Low != nil })
	if intervals {
		b.column("95 % interval", counts)
	}
	for i := range rules {
		rule := &rules[i]
		d := &rule.Difference
		if rule.Rule != text {
			continue
		}
		b.row()
		if rule.Failed {
			b.cell(value{words: "✗ " + string(rule.Verdict)})
			b.tone(Bad)
		} else {
			b.cell(value{words: "✓ " + string(rule.Verdict)})
			b.tone(Good)
		}
		b.cell(value{words: rule.Composition})
		_, _, what := named(d.Name)
		scale := scaleOf(what)
		if d.A == nil || d.B == nil || d.Mean == nil {
			for range len(b.table.Head) - 2 {
				b.cell(b.refused(absent, d.Reason))
			}
			continue
		}
		decimals := differenceDecimals(d, scale)
		b.cell(value{words: scale.text(*d.A, decimals)})
		b.cell(value{words: scale.text(*d.B, decimals)})
		b.cell(value{words: scale.change(*d.Mean, decimals)})
		b.cell(b.relative(d))
		switch {
		case !intervals:
		case d.Low == nil || d.High == nil:
			b.cell(b.refused(absent, d.Reason))
		default:
			b.cell(value{words: span95(d, scale, decimals) + b.foot(d.Flag)})
		}
	}
	return b.finish()
}

// relative is a difference in percent of A, which a rule is written in.
func (b *builder) relative(d *measure.Difference) value {
	if *d.A == 0 {
		return b.refused(absent, "A is 0: any difference in the rule's direction is over it")
	}
	return value{words: scale{"", 100}.signed(*d.Mean/math.Abs(*d.A), 1) + " %"}
}

// comparedRun says which run one side is.
func comparedRun(side string, r *lab.ComparedRun) string {
	words := side + ": study " + r.Study
	switch n := len(r.Seeds); {
	case n == 1:
		words += ", seed " + strconv.FormatInt(r.Seeds[0], 10)
	case n > 1:
		words += ", seeds " + strconv.FormatInt(r.Seeds[0], 10) + " to " + strconv.FormatInt(r.Seeds[n-1], 10)
	}
	if r.Instrument.Version != "" {
		words += ", brunt " + r.Instrument.Version
	}
	const short = 12
	return words + ", SHA-256 of study.yaml " + strings.ToLower(r.StudySHA256[:min(short, len(r.StudySHA256))])
}
