package command

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/study"
)

// command is one call of brunt.
type command struct {
	args, env      []string
	stdin          io.Reader
	stdout, stderr io.Writer
	libraries      func(*study.Study, string) (*lab.Guest, error)
	started        bool // flags and arguments were understood: what fails now is no usage error
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "brunt",
		Short: "See what retries, breakers, limits, hedges and fallbacks do when a dependency fails",
		Long: `brunt runs a study: load, through stacks of resilience policies, to a dependency
that slows, fails or vanishes. It reports what callers see, what the dependency
gets hit with, and how long it takes until both are well again.

  brunt run outage          run a built-in study
  brunt studies             list the built-in studies
  brunt init outage         write one to a file, to start from
  brunt explain phases      what a setting of a study means

Exit status: 0 as expected, 1 an expectation failed, 2 usage or study error,
3 invalid or inconclusive, 4 could not be completed, 130 and 143 signals.`,
		SilenceErrors:    true,
		SilenceUsage:     true,
		Args:             unknownCommand,
		PersistentPreRun: func(*cobra.Command, []string) { c.started = true },
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(badFlag)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(c.runCommand(), c.checkCommand(), c.studiesCommand(), c.initCommand(),
		c.reportCommand(), c.compareCommand(), c.chartCommand(), c.replicaCommand(), c.sweepCommand(), c.findCommand(), c.calibrateCommand(), c.analyzeCommand(), c.explainCommand(), c.schemaCommand(), c.frontCommand(), c.dependencyCommand(), c.serveCommand(), c.undoCommand(), c.reapCommand(), c.versionCommand())
	completionCommand(root)
	return root
}

func (c *command) getenv(name string) string {
	for _, kv := range slices.Backward(c.env) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}
