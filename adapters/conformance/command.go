package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// The exit statuses, as brunt has them.
const (
	statusOK     = 0
	statusUsage  = 2
	statusFailed = 4
)

// Command is the command conformance: it runs scenarios, prints what was seen,
// and returns the exit status. A finding that differs is an answer, no failure.
func Command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print the findings as JSON")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: conformance [--json] [SCENARIO...]\n\nscenarios: %s\n", strings.Join(Names(), ", "))
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusUsage
	}
	for _, name := range flags.Args() {
		if strings.HasPrefix(name, "-") {
			fmt.Fprintf(stderr, "brunt: %s stands behind a scenario: flags come first\n", name)
			return statusUsage
		}
	}
	report, err := Run(ctx, flags.Args()...)
	if err != nil {
		fmt.Fprintln(stderr, "brunt:", err)
		if errors.Is(err, errUnknown) {
			return statusUsage
		}
		return statusFailed
	}
	write := report.Text
	if *asJSON {
		write = report.JSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintln(stderr, "brunt: print the findings:", err)
		return statusFailed
	}
	return statusOK
}

// JSON writes a report for programs.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
