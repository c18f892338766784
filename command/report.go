package command

import (
	"errors"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/report"
)

func (c *command) reportCommand() *cobra.Command {
	var (
		format      string
		showInvalid bool
	)
	cmd := &cobra.Command{
		Use:   "report FOLDER",
		Short: "Make the reports of a run again, from its rows",
		Long: `Make the reports of a run again: from its rows or, when it kept none, from
result.json. report.md, report.html and result.json are written anew.

A run on the real clock that was killed, or could not go on, is reported from the
rows that it had written by then; those of its last second may be missing. Its
result is marked: it is aborted, not to be published, and the exit status is 3.`,
		Args:              exactly("FOLDER", "a folder that `brunt run` wrote"),
		ValidArgsFunction: completeFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, runFormats); err != nil {
				return err
			}
			folder, result, env, err := openRun(args[0])
			if err != nil {
				return err
			}
			defer folder.Close()
			if err := report.WriteFolder(folder, result, env); err != nil {
				return err
			}
			if err := c.print(format, result, env, report.TextOptions{Folder: folder.Path(), Invalid: showInvalid}); err != nil {
				return err
			}
			return verdict(result)
		},
	}
	cmd.Flags().BoolVar(&showInvalid, "show-invalid", false, showInvalidUsage)
	cmd.Flags().StringVar(&format, "format", "text", runFormatUsage)
	offer(cmd, "format", runFormats...)
	return cmd
}

// openRun reads a run, also one that was killed. The folder is to be closed.
func openRun(path string) (*lab.Folder, *lab.Result, *lab.Environment, error) {
	folder, result, env, err := lab.Open(path)
	if errors.Is(err, lab.ErrNoResult) {
		folder, result, env, err = lab.OpenKilled(path)
	}
	if err != nil {
		return nil, nil, nil, usageError{err}
	}
	return folder, result, env, nil
}
