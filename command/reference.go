package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/study"
)

func (c *command) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "explain [PATH]",
		Short:   "Say what a setting of a study means",
		Example: "  brunt explain compositions.retry.backoff.jitter\n  brunt explain backoff.jitter\n  brunt explain phases",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return tooMany(cmd, args[1], "takes one PATH")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			text, err := study.Explain(path)
			if err != nil {
				return usageError{err}
			}
			_, err = fmt.Fprint(c.stdout, text)
			return err
		},
	}
}

func (c *command) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a study file",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := c.stdout.Write(study.Schema())
			return err
		},
	}
}

func (c *command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			i := lab.ThisInstrument()
			commit := i.CommitReason
			switch {
			case i.Commit != nil && commit != "":
				commit = *i.Commit + " (" + commit + ")"
			case i.Commit != nil:
				commit = *i.Commit
			}
			_, err := fmt.Fprintf(c.stdout, "brunt %s, commit: %s\n", i.Version, commit)
			return err
		},
	}
}
