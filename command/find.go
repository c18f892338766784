package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/sweep"
)

// findFlags are what `brunt find` can be told besides the study and the
// setting.
type findFlags struct {
	settings
	until        string
	seeds        int
	tolerance    string
	compositions []string
	json         bool
}

func (c *command) findCommand() *cobra.Command {
	var f findFlags
	cmd := &cobra.Command{
		Use:   "find STUDY PATH[=FROM..TO] --until EXPR",
		Short: "Find the edge of a setting from which something becomes true",
		Long: `Find bisects a setting of a study to the edge where a statement about a number
becomes true, on the virtual clock, on each of several seeds. PATH is that of
--set. Without FROM..TO the range goes from a tenth to ten times of what the
study says, evenly in the logarithm; FROM..TO log spaces any range so.

EXPR is NAME[@PHASE] OP VALUE, where OP is one of < <= > >= = != and NAME that
of an expectation; NAME alone asks whether the number is above 0. A number that
lies above any that could be measured, such as a p99 that too few requests
reach, is above every limit; one that is refused for another reason decides
nothing.

First eight values are tried over the whole range: where the statement changes
more than once between them the first edge is taken, and a warning says so; an
edge just short of where the number is refused is looked for too. Where it does
not change there is no edge, and nothing is said of what lies beyond the range.

Exit status: 0 when the seeds agree (also that there is no edge), 2 for usage
and study errors, 3 when they do not or a number is refused, 4 when it could not
be completed, 130 and 143 when it was stopped.`,
		Example: `  brunt find mine.yaml load.rate=50/s..500/s --until 'completed/offered < 0.99'
  brunt find mine.yaml load.rate --until 'p99@overload > 500ms' --composition retry
  brunt find outage compositions.retry.retry.attempts=1..10 --until 'attempts/offered@outage >= 4'`,
		Args:              studyAndPath,
		ValidArgsFunction: completeStudy,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.find(cmd.Context(), args[0], args[1], f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringVar(&f.until, "until", "", "the statement: an `EXPR` such as 'completed/offered < 0.99'")
	flags.IntVar(&f.seeds, "seeds", 10, "on how many seeds, from the study's on")
	flags.StringVar(&f.tolerance, "tolerance", "1%", "how near to the edge to come, as a share of it")
	flags.StringSliceVar(&f.compositions, "composition", nil, "in these compositions alone: `NAME`,…")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// studyAndPath takes a study and a setting. One argument alone that can be no
// study is the setting.
func studyAndPath(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 2:
		return tooMany(cmd, args[2], "takes a STUDY and a PATH")
	case len(args) == 2:
		return nil
	case len(args) == 1 && isSetting(args[0]):
		return usagef("STUDY is missing: expected `%s STUDY %s`; %s", cmd.CommandPath(), args[0], seeHelp(cmd))
	case len(args) == 1:
		return usagef("PATH is missing: expected the setting along which to look, such as load.rate=50/s..500/s; %s", seeHelp(cmd))
	}
	return usagef("STUDY and PATH are missing: expected `%s STUDY PATH=FROM..TO`; %s", cmd.CommandPath(), seeHelp(cmd))
}

// isSetting reports whether an argument looks like a path into a study, and
// not like a study: load.rate, and load.rate=50/s..500/s.
func isSetting(arg string) bool {
	path, _, isSet := strings.Cut(arg, "=")
	if isSet {
		return true
	}
	for _, ending := range []string{".yaml", ".yml", ".json"} {
		if strings.HasSuffix(path, ending) {
			return false
		}
	}
	return strings.Contains(path, ".") && !strings.ContainsAny(path, `/\`)
}

func (c *command) find(ctx context.Context, source, setting string, f findFlags) error {
	if f.until == "" {
		return usagef("--until is missing: expected a statement such as 'completed/offered < 0.99'")
	}
	number, isPercent := strings.CutSuffix(strings.TrimSpace(f.tolerance), "%")
	tolerance, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return usagef("--tolerance %q is no share: expected one such as 1%% or 0.01", f.tolerance)
	}
	if isPercent {
		tolerance /= 100
	}
	s, err := c.read(source, f.settings)
	if err != nil {
		return err
	}
	search, err := sweep.NewSearch(sweep.SearchConfig{
		Source: source, Study: s, Setting: setting, Until: f.until, Seeds: f.seeds, Tolerance: tolerance,
		Compositions: f.compositions, Instrument: lab.ThisInstrument(),
	})
	if err != nil {
		return usageError{flat(err)}
	}
	shown := c.pointProgress("seeds", search.Seeds(), search.Requests())
	ctx, signals := watchSignals(ctx, shown)
	shown.update(0)
	edges, err := search.Run(ctx, shown.update)
	shown.stop()
	if came := signals.stop(); came != 0 {
		if err != nil {
			err = fmt.Errorf("stopped: %d of %d seeds were looked at", shown.done, shown.of)
		}
		return interrupted{came, err}
	}
	if err != nil {
		return flat(err)
	}
	if f.json {
		for _, w := range edges.Warnings { // the text has them
			fmt.Fprintln(c.stderr, "warning:", w)
		}
		err = sweep.JSON(c.stdout, edges)
	} else {
		err = sweep.EdgesText(c.stdout, edges)
	}
	if err == nil && !edges.Conclusive() {
		err = statusError(statusInvalid)
	}
	return err
}
