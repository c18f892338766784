package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"brunt/fault"
)

func (c *command) undoCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "undo [JOURNAL...]",
		Short: "End what a killed run has left behind: faults, processes, tables of the kernel",
		Long: `Undo ends what a run has left that was killed together with its reaper: a frozen
process goes on, a black hole is taken out of the kernel, a replica leaves its
mode, undo commands of the study are run, and replicas that the run had started
are killed. It goes by the journals that runs keep while they do harm, in
$XDG_RUNTIME_DIR/brunt or else $TMPDIR/brunt-UID, and touches nothing that no
journal names. A run that goes on is left alone.

Doing it again does no harm.

Exit status: 0 when nothing is left, 2 for usage, 4 when something could not be
undone, or a journal that was named belongs to a run that goes on.`,
		Example: `  brunt undo
  brunt undo --force /run/user/1000/brunt/replica-loss-1.journal`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.undo(cmd.Context(), args, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "also end the faults and the processes of a run that goes on")
	return cmd
}

func (c *command) undo(ctx context.Context, journals []string, force bool) error {
	named := len(journals) > 0
	if !named {
		var err error
		if journals, err = fault.Journals(fault.StateDir(c.getenv)); err != nil {
			return err
		}
	}
	ctx, signals := watchSignals(ctx, io.Discard)
	failed, found := 0, 0
	for _, path := range journals {
		left, err := fault.Undo(ctx, path, force)
		if errors.Is(err, fs.ErrNotExist) && !named {
			continue // its reaper was faster
		}
		found++
		if err != nil {
			failed++
			fmt.Fprintln(c.stderr, "brunt:", err)
			continue
		}
		c.tellLeft(left, force)
		if len(left.Failed) > 0 || named && left.Live && !force {
			failed++
		}
	}
	if number := signals.stop(); number != 0 {
		return interrupted{number, nil}
	}
	if found == 0 {
		fmt.Fprintln(c.stdout, "nothing is left")
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d journals could not be undone", failed, found)
	}
	return nil
}

// tellLeft says what was found of one run, and done.
func (c *command) tellLeft(left fault.Left, force bool) {
	if left.Live && !force {
		fmt.Fprintf(c.stdout, "run %s goes on (process %d): left alone\n", left.Run, left.Owner.PID)
		return
	}
	fmt.Fprintf(c.stdout, "run %s (process %d):\n", left.Run, left.Owner.PID)
	for _, did := range left.Done {
		fmt.Fprintln(c.stdout, " ", did)
	}
	for _, err := range left.Failed {
		fmt.Fprintln(c.stderr, "brunt:", err)
	}
	if len(left.Failed) > 0 {
		fmt.Fprintf(c.stdout, "  the journal is kept: %s\n", left.Path)
		return
	}
	fmt.Fprintln(c.stdout, "  nothing is left of it")
}

// reapCommand is the life of a reaper, the process that outlives a run.
func (c *command) reapCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "reap JOURNAL",
		Short:  "Undo what a journal holds once standard input ends",
		Hidden: true, // runs start it; without one it means nothing
		Args:   exactly("JOURNAL", "the journal of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			out, ok := c.stdout.(io.WriteCloser)
			if !ok {
				return errors.New("reap: standard output is no stream that can be closed")
			}
			return fault.Reap(args[0], c.stdin, out)
		},
	}
}
