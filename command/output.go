package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"brunt/lab"
	"brunt/report"
)

// formats are the ways to write numbers on stdout, those for a comparison of runs,
// and those for a run.
var (
	formats        = []string{"text", "markdown", "json"}
	compareFormats = []string{"text", "markdown", "html", "json"}
	runFormats     = []string{"text", "markdown", "html", "json", "csv", "junit", "github", "openmetrics", "svg"}
)

const runFormatUsage = "what to print: text, markdown, html (the page), json, csv (a number a line), junit, github (a step summary), " +
	"openmetrics or svg (what callers got over time)"

// checkFormat is asked before anything is read or run.
func checkFormat(format string, known []string) error {
	if slices.Contains(known, format) {
		return nil
	}
	return usagef("--format %q is unknown: expected %s", format, oneOf(known))
}

// oneOf joins words as a sentence does.
func oneOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// print writes a result on stdout.
func (c *command) print(format string, r *lab.Result, env *lab.Environment, o report.TextOptions) error {
	o.Color, o.Width = c.color(), width(c.stdout)
	var err error
	switch format {
	case "markdown":
		err = report.Markdown(c.stdout, r, env)
	case "html":
		err = report.HTML(c.stdout, r, env)
	case "json":
		err = report.JSON(c.stdout, r)
	case "csv":
		err = report.CSV(c.stdout, r)
	case "junit":
		err = report.JUnit(c.stdout, r, env)
	case "github":
		err = report.StepSummary(c.stdout, r)
	case "openmetrics":
		err = report.OpenMetrics(c.stdout, r)
	case "svg":
		picture := report.Picture(r)
		if picture == "" {
			return errors.New("print the picture: the result shows no numbers: see --format text for why")
		}
		_, err = io.WriteString(c.stdout, picture)
	default:
		err = report.Text(c.stdout, r, env, o)
	}
	if err != nil && o.Folder != "" {
		return fmt.Errorf("print the report (the results are in %s): %w", o.Folder, err)
	} else if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}

// color reports whether to colour what is written on stdout: a terminal that
// can, and nobody has said NO_COLOR (no-color.org).
func (c *command) color() bool { return c.capable(c.stdout) && c.getenv("NO_COLOR") == "" }

// capable reports whether w is a terminal that knows escape codes.
func (c *command) capable(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && c.getenv("TERM") != "dumb"
}

// width is the width of a terminal, and 100 for anything else.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 100
}
