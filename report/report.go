// Package report writes a result for people and for programs: [Text] for a
// terminal, [Markdown] for report.md, [HTML] for report.html, [JSON] for
// result.json; [CSV], [JUnit], [OpenMetrics] and [StepSummary] for what else
// reads results; [Charts] one by one. [Comparison] and its like are of two runs.
//
// A report is a pure function of the result and the environment. It computes
// nothing that is not in them, but for sums over phases and shares; a number
// that the data cannot carry is refused in words, and no cell is ever blank.
// Text that comes from a study is shown, never obeyed: it can neither break a
// table nor bring in markup or control codes.
//
// Functions of this package may be called from any goroutine.
//
//	err := report.Text(os.Stdout, result, env, report.TextOptions{Color: true, Width: 100})
package report

import (
	"slices"
	"strings"
	"unicode"

	"brunt/lab"
	"brunt/study"
)

// document is a report as plain data. Text, Markdown and HTML are written from it.
type document struct {
	Title    string
	Question string
	Facts    []fact
	Sections []section
}

// fact is a part of the line below the title.
type fact struct {
	Text string
	Tone Tone
}

// section is a stretch of a report; what is empty is left out.
type section struct {
	Title      string
	Lead       []string // paragraphs
	Items      []string
	Table      *Table
	Tables     []Table // further ones, each with a title of its own
	Histograms *histograms
	Long       bool // a terminal leaves it to report.md
}

// Tables returns the tables that the study asks for, in its order. A result
// that is not valid has none.
func Tables(r *lab.Result) ([]Table, error) {
	c, err := readConfig(r)
	if err != nil {
		return nil, err
	}
	var tables []Table
	for _, s := range tableSections(r, c) {
		tables = append(tables, *s.Table)
	}
	return tables, nil
}

// assemble makes the part of a report that all formats share.
func assemble(r *lab.Result, c *config) *document {
	d := &document{Title: r.Study, Question: r.Question, Facts: facts(r)}
	add := func(s section) { d.Sections = append(d.Sections, s) }
	if !r.Valid {
		add(section{Title: "Why there is no result", Lead: []string{whyInvalid(r)}})
		if len(r.Gates) > 0 {
			t := gates(r)
			add(section{Title: t.Title, Table: &t})
		}
		return d
	}
	if len(r.Findings) > 0 {
		add(section{Title: "Findings", Items: r.Findings})
	}
	d.Sections = append(d.Sections, tableSections(r, c)...)
	d.Sections = append(d.Sections, overloadSections(r, c)...)
	d.Sections = append(d.Sections, withinSLO(r, c)...)
	d.Sections = append(d.Sections, faultSections(r, c)...)
	d.Sections = append(d.Sections, siteSections(r)...)
	if s, show := replayed(r); show {
		add(s)
	}
	if s, show := declared(r); show {
		add(s)
	}
	if s, show := overRepeats(r, c); show {
		add(s)
	}
	if s, show := againstFirst(r, c); show {
		add(s)
	}
	if s, show := ties(r); show {
		add(s)
	}
	if len(r.Expectations) > 0 {
		t := expectations(r)
		if n := len(r.Repeats); n > 1 {
			t.Caption = "Each was judged on every one of the " + integer(int64(n)) + " repeats, and holds when it does in all of them. What was measured is the worst value of any."
		}
		add(section{Title: t.Title, Table: &t})
	}
	if len(r.Gates) > 0 {
		t := gates(r)
		add(section{Title: t.Title, Table: &t})
	}
	if len(c.Notes) > 0 {
		add(section{Title: "Notes", Items: c.Notes})
	}
	return d
}

// tableSections returns a section for each table that the study asks for.
func tableSections(r *lab.Result, c *config) (list []section) {
	if !r.Valid || len(r.Compositions) == 0 {
		return nil
	}
	for _, name := range c.tables() {
		var t Table
		var herds *histograms
		title := ""
		switch study.Table(name) {
		case study.Outcomes:
			t = outcomes(r, c)
		case study.Amplification:
			t = amplification(r, c)
		case study.RecoveryTable:
			t = recovery(r, c)
		case study.HerdTable:
			t = herdPeaks(r, c)
			herds = herdHistograms(r)
			title = "When retries arrive"
		case study.Providers:
			t = providers(r, c)
		default:
			continue
		}
		if title == "" {
			title = t.Title
		}
		list = append(list, section{Title: title, Table: &t, Histograms: herds})
		if study.Table(name) == study.Outcomes && !r.Deterministic {
			done := completion(r)
			list = append(list, section{Title: done.Title, Table: &done})
		}
	}
	return list
}

func (c *config) tables() []string {
	if len(c.Tables) > 0 {
		return c.Tables
	}
	return []string{string(study.Outcomes), string(study.Amplification), string(study.RecoveryTable)}
}

func facts(r *lab.Result) []fact {
	list := []fact{{Text: string(r.Clock) + " clock"}, {Text: seeds(r)}}
	if p := r.Protocol; p != nil {
		list = append(list, fact{Text: "protocol " + p.Name + "@" + p.Version})
	}
	if s := requests(r); s != "" {
		list = append(list, fact{Text: s})
	}
	list = append(list, replayFacts(r)...)
	list = append(list, validity(r))
	if r.Kill != nil {
		list = append(list, fact{"aborted: " + kill(r.Kill) + " " + millis(r.Kill.At) + " into " + clean(r.Kill.Composition) + ", not to be published", Bad})
	} else if r.Aborted {
		list = append(list, fact{"aborted: arrivals were stopped early", Bad})
	}
	if r.Valid && r.Deterministic {
		list = append(list, fact{Text: "no draw of chance, so no sampling error and no intervals"})
	}
	if n := int64(len(r.Expectations)); n > 0 && r.Valid {
		if r.Aborted {
			list = append(list, fact{plural(n, "expectation was", "expectations were") + " not judged", Bad})
		} else if failed := failedExpectations(r); failed > 0 {
			list = append(list, fact{integer(failed) + " of " + plural(n, "expectation fails", "expectations fail"), Bad})
		} else {
			list = append(list, fact{plural(n, "expectation holds", "expectations hold"), Good})
		}
	}
	return list
}

// kill says how a run broke off, in short.
func kill(k *lab.Kill) string { return strings.TrimPrefix(k.How(), "was ") }

// validity says whether the run counts, and of one that does, which gates it
// failed all the same.
func validity(r *lab.Result) fact {
	if !r.Valid {
		return fact{"NOT VALID", Bad}
	}
	failed := int64(0)
	for _, g := range r.Gates {
		if g.Applies && !g.Passed {
			failed++
		}
	}
	if failed > 0 { // none of them enforced
		return fact{"valid, but " + plural(failed, "gate", "gates") + " failed (not enforced)", Bad}
	}
	return fact{"valid", Good}
}

// requests says how many requests the numbers rest on.
func requests(r *lab.Result) string {
	if !r.Valid || len(r.Compositions) == 0 {
		return ""
	}
	var all []int64
	total := int64(0)
	for i := range r.Compositions {
		all = append(all, r.Compositions[i].Whole.Offered)
		total += all[i]
	}
	n := int64(len(all))
	if slices.Min(all) == slices.Max(all) && n > 1 {
		return plural(all[0], "request", "requests") + " to each of " + plural(n, "composition", "compositions")
	}
	return plural(total, "request", "requests") + " to " + plural(n, "composition", "compositions")
}

// clean takes control characters, and those that change the direction of
// writing, out of a text, and makes it one line.
func clean(s string) string {
	return strings.Join(strings.FieldsFunc(s, unprintable), " ")
}

// unprintable includes what is no text of its own: control codes, and format
// characters such as those that turn the direction of writing.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || r == unicode.ReplacementChar
}
