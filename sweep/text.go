package sweep

import (
	"fmt"
	"io"
	"strings"
)

// mostMembers is how many members of a front are listed; sweep.json has all.
const mostMembers = 20

// section is one part of a report: a title over sentences or a table.
type section struct {
	title     string
	grid      *grid
	sentences []string
	charts    []string
}

// Text writes a result for a terminal. folder is where the rest lies, or empty.
func Text(w io.Writer, r *Result, folder string) error {
	if _, err := fmt.Fprintf(w, "%s\n%s\n", r.Plan.Study, r.headline()); err != nil {
		return err
	}
	for _, s := range r.sections() {
		if len(s.charts) > 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", strings.ToUpper(s.title)); err != nil {
			return err
		}
		if err := s.text(w); err != nil {
			return err
		}
	}
	if folder == "" {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", folder)
	return err
}

func (s *section) text(w io.Writer) error {
	if s.grid != nil {
		if err := s.grid.text(w, "  "); err != nil {
			return err
		}
	}
	for _, line := range s.sentences {
		if _, err := fmt.Fprintf(w, "  %s\n", line); err != nil {
			return err
		}
	}
	return nil
}

// Markdown writes a result as report.md.
func Markdown(w io.Writer, r *Result) error {
	if _, err := fmt.Fprintf(w, "# %s\n\n", escaped(r.Plan.Study)); err != nil {
		return err
	}
	if r.Question != "" {
		if _, err := fmt.Fprintf(w, "%s\n\n", escaped(r.Question)); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n", escaped(r.headline())); err != nil {
		return err
	}
	for _, s := range r.sections() {
		if err := s.markdown(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "\nEvery point is in `%s` and `%s`: mean and 95 %% t-interval over the seeds, and how often a number was refused. Durations are in milliseconds. `%s` holds this summary, `%s` each seed. Study %s.\n",
		CSVFile, ParquetFile, ResultFile, JournalFile, r.Plan.SHA256)
	return err
}

func (s *section) markdown(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "\n## %s\n\n", s.title); err != nil {
		return err
	}
	if s.grid != nil {
		if err := s.grid.markdown(w); err != nil {
			return err
		}
	}
	for i, line := range s.sentences {
		if i == 0 && s.grid != nil {
			line = "\n" + escaped(line)
		} else {
			line = "- " + escaped(line)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	for _, file := range s.charts {
		if _, err := fmt.Fprintf(w, "![%s](%s)\n\n", strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".svg"), file); err != nil {
			return err
		}
	}
	return nil
}

// headline says what was run.
func (r *Result) headline() string {
	p := r.Plan
	design := "a grid"
	if p.Design == LatinHypercube {
		design = "a Latin hypercube"
	}
	return fmt.Sprintf("%s of %s, %s each, %s, virtual clock", design, plural(p.Points, "point"), plural(p.Seeds, "seed"), plural(len(p.Compositions), "composition"))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// sections are the parts of a report, in their order.
func (r *Result) sections() []section {
	all := []section{{title: "What varies", grid: r.settings()}}
	if len(r.Findings) > 0 {
		all = append(all, section{title: "Findings", sentences: r.Findings})
	}
	all = append(all, section{title: "Lowest and highest means", grid: r.extremes()})
	if g := r.matters(); len(g.rows) > 0 && len(r.Plan.Vary) > 1 {
		all = append(all, section{title: "Which setting matters most", grid: g,
			sentences: []string{"Share of the variance of the point means that each setting explains alone. Luck is what the seeds explain, at most."}})
	}
	if r.Pareto != nil {
		s := section{title: "Pareto front", grid: r.front()}
		if hidden := len(r.Pareto.Members) - len(s.grid.rows); hidden > 0 {
			s.sentences = []string{fmt.Sprintf("%s more are in %s.", count(hidden), ResultFile)}
		}
		all = append(all, s)
	}
	if len(r.Charts) > 0 {
		all = append(all, section{title: "Charts", charts: r.Charts})
	}
	return all
}

func (r *Result) settings() *grid {
	g := &grid{heads: []string{"setting", "path", "values"}, right: make([]bool, 3)}
	names := r.Plan.shortNames()
	for k, v := range r.Plan.Vary {
		values := strings.Join(v.Values, ", ")
		if n := len(v.Values); n > 8 {
			values = fmt.Sprintf("%s, %s … %s (%d values)", v.Values[0], v.Values[1], v.Values[n-1], n)
		} else if n == 0 {
			values = v.From + " to " + v.To
			if v.Log {
				values += ", evenly in the logarithm"
			}
		}
		g.rows = append(g.rows, []string{names[k], v.Path, values})
	}
	return g
}

func (r *Result) extremes() *grid {
	g := &grid{heads: []string{"measure", "composition", "lowest", "at", "highest", "at"}, right: []bool{false, false, true, false, true, false}}
	for i := range r.Summaries {
		s := &r.Summaries[i]
		row := []string{s.Measure, s.Composition, "refused", "everywhere", "", ""}
		if s.Lowest != nil {
			row = []string{s.Measure, s.Composition, s.Lowest.text(s.Unit), s.Lowest.label, s.Highest.text(s.Unit), s.Highest.label}
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// text writes a mean, and the interval where there is one with a width.
func (e *Extreme) text(unit string) string {
	text := number(e.Mean, unit)
	if e.Low != nil && e.High != nil && *e.High > *e.Low {
		text += fmt.Sprintf(" [%s, %s]", number(*e.Low, ""), number(*e.High, ""))
	}
	return text
}

func (r *Result) matters() *grid {
	g := &grid{heads: []string{"measure", "composition"}, right: []bool{false, false}}
	for _, name := range r.Plan.shortNames() {
		g.heads, g.right = append(g.heads, name, "floor"), append(g.right, true, true)
	}
	g.heads, g.right = append(g.heads, "none alone", "luck"), append(g.right, true, true)
	for i := range r.Summaries {
		s := &r.Summaries[i]
		if s.Importance == nil {
			continue
		}
		row := []string{s.Measure, s.Composition}
		for _, e := range s.Importance.Settings {
			row = append(row, share(e.Share), e.floor())
		}
		alone, luck := "unknown", "unknown"
		if rest, known := s.Importance.rest(); known {
			alone = share(rest)
		}
		if s.Importance.Luck != nil {
			luck = share(*s.Importance.Luck)
		}
		g.rows = append(g.rows, append(row, alone, luck))
	}
	return g
}

func (r *Result) front() *grid {
	g := &grid{}
	units := make([]string, len(r.Pareto.Goals))
	for i, goal := range r.Pareto.Goals {
		for _, s := range r.Summaries {
			if s.Measure == goal.Measure {
				units[i] = s.Unit
			}
		}
		g.heads, g.right = append(g.heads, goal.Measure+" "+goal.Better), append(g.right, true)
	}
	g.heads, g.right = append(g.heads, "composition", "at"), append(g.right, false, false)
	for _, m := range r.Pareto.Members[:min(len(r.Pareto.Members), mostMembers)] {
		var row []string
		for i, v := range m.Means {
			row = append(row, number(v, units[i]))
		}
		at := m.label
		if m.Equal > 0 {
			at += fmt.Sprintf(" (and %s with the same means)", count(m.Equal))
		}
		g.rows = append(g.rows, append(row, m.Composition, at))
	}
	return g
}
