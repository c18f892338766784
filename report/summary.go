package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"brunt/lab"
)

// StepSummaryLimit is the most bytes that GitHub takes as the summary of one step.
// It drops the whole summary of a step that wrote more (GitHub Docs, "Workflow
// commands", "Step isolation and limits": 1 MiB per step).
const StepSummaryLimit = 1 << 20

// StepSummary writes a result as the summary of a step of GitHub Actions, for
// $GITHUB_STEP_SUMMARY: Markdown of at most [StepSummaryLimit] bytes, the verdict
// first, what failed before what holds, and the tables folded. Where the limit needs
// it, tables have fewer rows or are left out, and the end says which.
func StepSummary(w io.Writer, r *lab.Result) error {
	text, err := stepSummary(r, StepSummaryLimit)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the step summary of study %q: %w", r.Study, err)
	}
	return nil
}

const (
	// afterword is kept free for what the end says.
	afterword = 24 << 10
	// mostInHeading is how many characters of a text a heading has.
	mostInHeading = 1000
	// mostNamedCut is of how many sections the end says that they were cut.
	mostNamedCut = 40
)

// stepSummary makes a summary of at most so many bytes, which must be 64 KiB or
// more.
func stepSummary(r *lab.Result, limit int) ([]byte, error) {
	c, err := readConfig(r)
	if err != nil {
		return nil, err
	}
	d := assemble(r, c)
	var text bytes.Buffer
	text.Write(render(func(m *markdown) {
		m.heading(&document{Title: clip(d.Title), Question: clip(d.Question), Facts: clipped(d.Facts)})
	}))
	var cut []string
	for _, s := range verdictsFirst(d.Sections) {
		block, whole := s.fitting(limit - afterword - text.Len())
		text.Write(block)
		if !whole {
			cut = append(cut, clip(s.Title))
		}
	}
	text.Write(render(func(m *markdown) {
		m.block("brunt " + escape(clip(r.Instrument.Version)) + ", SHA-256 of study.yaml " + escape(clip(r.StudySHA256)))
		if len(cut) > 0 {
			words := "**Cut to fit " + strconv.Itoa(limit) + " bytes:** "
			for i, title := range cut[:min(len(cut), mostNamedCut)] {
				if i > 0 {
					words += ", "
				}
				words += escape(title)
			}
			if more := len(cut) - mostNamedCut; more > 0 {
				words += " and " + strconv.Itoa(more) + " more"
			}
			m.block(words + ". All of it stands in report.md and report.html in the folder of the run.")
		}
	}))
	return text.Bytes(), nil
}

// render returns what is written to a Markdown writer.
func render(write func(*markdown)) []byte {
	var b bytes.Buffer
	m := &markdown{bufio.NewWriter(&b)}
	write(m)
	_ = m.w.Flush() // a buffer takes everything
	return b.Bytes()
}

// clip cuts a text to what a heading has room for.
func clip(s string) string {
	if r := []rune(s); len(r) > mostInHeading {
		return string(r[:mostInHeading]) + "…"
	}
	return s
}

func clipped(facts []fact) (list []fact) {
	for _, f := range facts {
		list = append(list, fact{clip(f.Text), f.Tone})
	}
	return list
}

// summarySection is a section as a summary has it.
type summarySection struct {
	section
	folded bool
}

// verdictsFirst puts what the run was held to before everything else but why there
// is no result and what was found; of that, what failed comes first.
func verdictsFirst(sections []section) (list []summarySection) {
	var rest []summarySection
	for _, s := range sections {
		switch s.Title {
		case "Why there is no result", "Findings":
			list = append(list, summarySection{section: s})
		case "Expectations", "Gates":
			failed := failuresFirst(&s)
			list = append(list, summarySection{s, !failed})
		default:
			rest = append(rest, summarySection{s, true})
		}
	}
	return append(list, rest...)
}

// failuresFirst orders the rows of a section on verdicts, and reports whether any
// of them is bad.
func failuresFirst(s *section) (failed bool) {
	if s.Table == nil {
		return false
	}
	bad := func(row []Cell) int {
		if slices.ContainsFunc(row, func(c Cell) bool { return c.Tone == Bad }) {
			return 0
		}
		return 1
	}
	t := *s.Table
	t.Rows = slices.Clone(t.Rows)
	slices.SortStableFunc(t.Rows, func(a, b []Cell) int { return bad(a) - bad(b) })
	s.Table = &t
	return len(t.Rows) > 0 && bad(t.Rows[0]) == 0
}

// fitting returns the section in at most so many bytes, and whether that is all of
// it: else with the first rows of its tables and the first items, or nothing.
func (s *summarySection) fitting(room int) (text []byte, whole bool) {
	most := len(s.Items)
	tables := s.Tables
	if s.Table != nil {
		tables = append([]Table{*s.Table}, tables...)
	}
	for i := range tables {
		most = max(most, len(tables[i].Rows))
	}
	for rows := most; ; rows /= 2 {
		text = render(func(m *markdown) { s.write(m, rows, rows < most) })
		switch {
		case len(text) <= room:
			return text, rows == most
		case rows == 0:
			return nil, false
		}
	}
}

// write writes a section, its tables and lists with so many rows at most.
func (s *summarySection) write(m *markdown, rows int, cut bool) {
	if s.folded { // a line of HTML knows no Markdown
		title := &page{}
		title.text(s.Title)
		m.block("<details><summary>" + title.String() + "</summary>")
	} else {
		m.block("## " + escape(s.Title))
	}
	for _, p := range s.Lead {
		m.block(escape(p))
	}
	m.items(s.Items[:min(len(s.Items), rows)])
	if s.Histograms != nil {
		m.histograms(s.Histograms)
	}
	if s.Table != nil {
		m.table(s.Table.first(rows), s.Title)
	}
	for i := range s.Tables {
		m.table(s.Tables[i].first(rows), s.Title)
	}
	if cut {
		m.block("The first " + strconv.Itoa(rows) + " rows or items are shown.")
	}
	if s.folded {
		m.block("</details>")
	}
}

// first returns the table with so many rows at most, and the footnotes of these.
func (t *Table) first(rows int) *Table {
	if rows >= len(t.Rows) {
		return t
	}
	short := *t
	short.Rows, short.Notes = t.Rows[:rows], nil
	isMark := func(r rune) bool { return slices.Contains(superscripts, r) }
	marks := map[string]bool{}
	for _, row := range short.Rows {
		for _, c := range row {
			for _, mark := range strings.FieldsFunc(c.String(), func(r rune) bool { return !isMark(r) }) {
				marks[mark] = true
			}
		}
	}
	for _, n := range t.Notes {
		if mark, _, _ := strings.Cut(n, " "); marks[mark] || strings.TrimLeftFunc(mark, isMark) != "" {
			short.Notes = append(short.Notes, n)
		}
	}
	return &short
}
