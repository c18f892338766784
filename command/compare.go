package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/report"
)

// compareFlags are what `brunt compare` can be told besides the two runs.
type compareFlags struct {
	rules  []string
	format string
	json   bool
}

func (c *command) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two runs, paired where they share seeds and load",
		Long: `Compare holds run B against run A, composition by composition: two folders that
` + "`brunt run`" + ` wrote. Runs with the same seeds, load, phases and dependencies are
paired; of others only the means are set side by side. Runs that repeat
(repeat: 5) give the difference an interval.

A rule makes it a gate: --fail-if 'outage.attempts/offered +10%' fails when B has
over 10 % more of it than A, and -10% when it has over 10 % less. The name is that
of an expectation, with the phase before it, or none for the whole run. A
difference that noise can explain does not fail; one that nobody can judge does.

Exit status: 0 when every rule holds, 1 when one does not, 2 for usage and
folders that cannot be read, 3 when a run is not valid.`,
		Example: `  brunt compare runs/before runs/after
  brunt compare base new --fail-if 'outage.attempts/offered +10%' --fail-if 'availability -1%'
  brunt compare base new --format html >compare.html
  brunt compare base new --json | jq '.compositions[].numbers[]'`,
		Args:              twoRuns,
		ValidArgsFunction: completeTwoFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.json && cmd.Flags().Changed("format") {
				return usagef("--json and --format both say what to print: give one of them")
			}
			return c.compare(args[0], args[1], f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.rules, "fail-if", nil, "exit with 1 when B is worse by more than this: a `rule` such as 'outage.attempts/offered +10%'")
	flags.StringVar(&f.format, "format", "text", "what to print: text, markdown, html (a page) or json")
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	offer(cmd, "format", compareFormats...)
	return cmd
}

func twoRuns(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) < 2:
		return usagef("%d of two runs given: expected two folders that `brunt run` wrote; %s", len(args), seeHelp(cmd))
	case len(args) > 2:
		return tooMany(cmd, args[2], "takes two runs")
	}
	return nil
}

// completeTwoFolders offers folders, twice.
func completeTwoFolders(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func (c *command) compare(pathA, pathB string, f compareFlags) error {
	if f.json {
		f.format = "json"
	}
	if err := checkFormat(f.format, compareFormats); err != nil {
		return err
	}
	var runs [2]*lab.Result
	for i, path := range []string{pathA, pathB} {
		_, r, _, err := lab.Open(path)
		if err != nil {
			return usageError{err}
		}
		if !r.Valid {
			fmt.Fprintf(c.stderr, "brunt: the run in %s is not valid: its numbers cannot be compared\n", path)
			return statusError(statusInvalid)
		}
		runs[i] = r
	}
	compared, err := lab.CompareRuns(runs[0], runs[1], f.rules)
	if err != nil {
		return usageError{fmt.Errorf("compare %s with %s: %w", pathB, pathA, err)}
	}
	switch f.format {
	case "markdown":
		err = report.ComparisonMarkdown(c.stdout, compared)
	case "html":
		err = report.ComparisonHTML(c.stdout, compared)
	case "json":
		err = report.ComparisonJSON(c.stdout, compared)
	default:
		err = report.Comparison(c.stdout, compared, report.TextOptions{Color: c.color(), Width: width(c.stdout)})
	}
	if err != nil {
		return err
	}
	if compared.FailedRules() > 0 {
		return statusError(statusExpected)
	}
	return nil
}
