package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"brunt/lab"
)

// Markdown writes report.md: what a terminal shows, and then what the study
// was, where it ran and how to run it again. env may be nil.
func Markdown(w io.Writer, r *lab.Result, env *lab.Environment) error {
	c, err := readConfig(r)
	if err != nil {
		return err
	}
	d := assemble(r, c)
	d.Sections = append(d.Sections, configuration(r, c), limits(r), environment(r, env))
	m := &markdown{bufio.NewWriter(w)}
	m.heading(d)
	for i := range d.Sections {
		m.section(&d.Sections[i])
	}
	m.block("## Reproduce")
	m.block("In the folder of this report:")
	m.block("```sh\nbrunt run study.yaml\n```")
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("writing the report of study %q: %w", r.Study, err)
	}
	return nil
}

// markdown writes blocks with an empty line between them.
type markdown struct {
	w *bufio.Writer // keeps its first error until it is flushed
}

func (m *markdown) block(s string) {
	m.w.WriteString(s)
	m.w.WriteString("\n\n")
}

func (m *markdown) heading(d *document) {
	m.w.WriteString("# " + escape(d.Title) + "\n\n")
	if d.Question != "" {
		m.block(escape(d.Question))
	}
	var words []string
	for _, f := range d.Facts {
		s := escape(f.Text)
		if f.Tone == Bad {
			s = "**" + s + "**"
		}
		words = append(words, s)
	}
	m.block(strings.Join(words, " · "))
}

func (m *markdown) section(s *section) {
	m.block("## " + escape(s.Title))
	for _, p := range s.Lead {
		m.block(escape(p))
	}
	m.items(s.Items)
	if s.Histograms != nil {
		m.histograms(s.Histograms)
	}
	if s.Table != nil {
		m.table(s.Table, s.Title)
	}
	for i := range s.Tables {
		m.table(&s.Tables[i], "")
	}
}

func (m *markdown) items(items []string) {
	if len(items) == 0 {
		return
	}
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + escape(item))
	}
	m.block(b.String())
}

func (m *markdown) histograms(hs *histograms) {
	const width = 60
	each := hs.scale(width)
	m.block(escape(hs.caption(each)))
	for _, h := range hs.Herds {
		m.block("**" + escape(h.Name) + "**")
		if h.Note != "" {
			m.block(escape(h.Note))
			continue
		}
		m.block("```text\n" + strings.Join(h.lines(each), "\n") + "\n```")
	}
}

func (m *markdown) table(t *Table, under string) {
	if t.Title != "" && t.Title != under {
		m.block("### " + escape(t.Title))
	}
	if t.Caption != "" {
		m.block(escape(t.Caption))
	}
	if len(t.Rows) > 0 {
		m.rows(t)
	}
	for _, n := range t.Notes {
		m.block(escape(n))
	}
}

func (m *markdown) rows(t *Table) {
	row := func(cells []string) { m.w.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	head := make([]string, len(t.Head))
	rule := make([]string, len(t.Head))
	for c, name := range t.Head {
		head[c], rule[c] = escape(name), "---"
		if t.Align[c] == Right {
			rule[c] = "---:"
		}
	}
	row(head)
	row(rule)
	for _, cells := range t.Rows {
		line := make([]string, len(cells))
		for c, cell := range cells {
			line[c] = escape(cell.String())
		}
		row(line)
	}
	m.w.WriteByte('\n')
}

// escape makes a text mean itself in Markdown: one line, without markup and
// without HTML, also within a table. An underscore within a word has no
// meaning and stays as it is.
func escape(s string) string {
	s = strings.TrimSpace(clean(s))
	runes := []rune(s)
	var b strings.Builder
	for i, c := range runes {
		switch {
		case c == '&':
			b.WriteString("&amp;")
			continue
		case c == '<':
			b.WriteString("&lt;")
			continue
		case c == '>':
			b.WriteString("&gt;")
			continue
		case strings.ContainsRune("\\`*[]|~", c),
			c == '_' && !(i > 0 && i+1 < len(runes) && wordRune(runes[i-1]) && wordRune(runes[i+1])),
			i == 0 && strings.ContainsRune("#+-=", c) && !(len(runes) > 1 && '0' <= runes[1] && runes[1] <= '9'), // -1 is a number
			(c == '.' || c == ')') && leadingNumber(runes[:i]) && (i+1 == len(runes) || runes[i+1] == ' '):
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func wordRune(c rune) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// leadingNumber reports whether a text so far is what begins a numbered list.
func leadingNumber(runes []rune) bool {
	for _, c := range runes {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(runes) > 0
}

// environment says where and by what a result was made.
func environment(r *lab.Result, env *lab.Environment) section {
	s := section{Title: "Environment"}
	add := func(name, v string) {
		if v != "" {
			s.Items = append(s.Items, name+": "+v)
		}
	}
	version := r.Instrument.Version
	switch {
	case r.Instrument.Commit != nil:
		version += ", commit " + *r.Instrument.Commit
	case r.Instrument.CommitReason != "":
		version += ", commit not known: " + r.Instrument.CommitReason
	}
	add("brunt", version)
	add("SHA-256 of study.yaml", r.StudySHA256)
	if p := r.Protocol; p != nil {
		add("SHA-256 of protocol "+p.Name+"@"+p.Version, p.SHA256)
	}
	if env == nil {
		add("Machine", "not recorded")
		return s
	}
	add("Started", env.Started)
	add("Go", env.Go+", GOMAXPROCS "+integer(int64(env.GOMAXPROCS)))
	system := env.OS + ", " + env.Arch
	if env.Kernel != "" {
		system += ", kernel " + env.Kernel
	}
	add("System", system)
	cpu := plural(int64(env.CPUs), "CPU", "CPUs")
	if env.CPU != "" {
		cpu += ", " + env.CPU
	}
	add("Processor", cpu)
	add("Command", CommandLine(env.Command))
	if r.Kill != nil { // it did not live to say
		return s
	}
	wall := wallTime(env.WallMillis)
	var each []string
	for _, comp := range env.Compositions {
		each = append(each, comp.Name+" "+wallTime(comp.WallMillis))
	}
	if each != nil {
		wall += " in all; " + list(each)
	}
	add("Wall time", wall)
	return s
}

// wallTime writes how long something took, in whole milliseconds unless it
// was quick.
func wallTime(ms float64) string {
	grain := time.Millisecond
	if ms < 10 {
		grain = 10 * time.Microsecond
	}
	return duration(time.Duration(ms * 1e6).Round(grain))
}
