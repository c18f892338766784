package conformance

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// words are verdicts as people read them.
var words = map[Verdict]string{AsExpected: "as expected", Differs: "differs", NotApplicable: "not applicable"}

// Text writes a report for people.
func (r *Report) Text(w io.Writer) error {
	out := bufio.NewWriter(w) // keeps its first error until it is flushed
	for i := range r.Scenarios {
		if i > 0 {
			fmt.Fprintln(out)
		}
		r.Scenarios[i].text(out)
	}
	return out.Flush()
}

func (o *Outcome) text(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", o.Scenario, o.Question)
	fmt.Fprintf(w, "  expected: %s\n  by:       %s\n  study:    studies/%s\n\n", o.Expected, o.Standard, o.Study)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"composition", "library", "verdict"}
	for _, s := range o.Findings[0].Seen {
		head = append(head, s.What)
	}
	fmt.Fprintf(table, "  %s\tits documentation\n", strings.Join(head, "\t"))
	var absent []string
	for _, f := range o.Findings {
		if f.Verdict == NotApplicable {
			absent = append(absent, f.Library+" ("+f.Says+")")
			continue
		}
		row := []string{f.Composition, f.Library, words[f.Verdict]}
		for _, s := range f.Seen {
			row = append(row, s.String())
		}
		fmt.Fprintf(table, "  %s\t%s\n", strings.Join(row, "\t"), f.Own)
	}
	_ = table.Flush() // w keeps the error
	fmt.Fprintln(w)
	for _, f := range o.Findings {
		if f.Says != "" && f.Verdict != NotApplicable {
			fmt.Fprintf(w, "  %s: %s (%s)\n", f.Composition, f.Says, f.Source)
		}
	}
	if absent != nil {
		fmt.Fprintf(w, "  not applicable: %s\n", strings.Join(absent, ", "))
	}
}
