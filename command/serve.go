package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/serve"
)

// serveFlags are what `brunt serve` can be told besides the folder.
type serveFlags struct {
	listen  string
	studies []string
}

func (c *command) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [FOLDER]",
		Short: "Show the runs of a folder in a browser, and try studies with other values",
		Long: `Serve a page, to this machine alone: it lists the runs of a folder (default:
runs), opens their reports, compares any two, and runs a study on the virtual
clock with values that sliders change. Such a run is not written anywhere unless
it is kept, and the page shows the command that does the same.

The address is printed on stdout, with a token that is new at each start. Nobody
gets an answer without it, and no other page that the browser has open does.

Studies that read files, start commands, call anything real or need the real
clock are refused, and those that make too much work.

An interrupt or SIGTERM ends it.

Exit status: 130 and 143 when a signal has ended it, 2 for usage, 4 when it
cannot serve.`,
		Example: `  brunt serve
  brunt serve results --listen 127.0.0.1:8080
  brunt serve --study mine.yaml --study experiments/`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return tooMany(cmd, args[1], "takes one FOLDER")
			}
			return nil
		},
		ValidArgsFunction: completeFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			config := serve.Config{Folder: "runs", Studies: f.studies, Instrument: lab.ThisInstrument(), Log: c.stderr}
			if len(args) > 0 {
				config.Folder = args[0]
			}
			if err := f.check(config.Folder, len(args) > 0); err != nil {
				return err
			}
			return c.serve(cmd.Context(), config, f.listen)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:0", "the `address`, on loopback; port 0 takes a free one")
	flags.StringArrayVar(&f.studies, "study", []string{"."}, "a study `file` to offer, or a folder of them")
	return cmd
}

// check refuses folders and studies that are not there. The usual folder may
// come later.
func (f *serveFlags) check(folder string, named bool) error {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return usagef("%s is no folder: expected one that holds runs", folder)
	} else if err != nil && (named || !errors.Is(err, os.ErrNotExist)) {
		return usagef("look for runs: %w", err)
	}
	for _, path := range f.studies {
		if _, err := os.Stat(path); err != nil {
			return usagef("--study: %w", err)
		}
	}
	return nil
}

func (c *command) serve(ctx context.Context, config serve.Config, address string) error {
	ctx, signals := watchSignals(ctx, io.Discard) // there are no arrivals to stop
	err := c.serveOn(ctx, config, address)
	if number := signals.stop(); number != 0 {
		return interrupted{number, err}
	}
	return err
}

func (c *command) serveOn(ctx context.Context, config serve.Config, address string) error {
	listener, err := serve.Listen(ctx, address)
	if errors.Is(err, serve.ErrNotLoopback) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	defer listener.Close()
	s := serve.New(config)
	if _, err := fmt.Fprintln(c.stdout, s.Address(listener)); err != nil {
		return fmt.Errorf("print the address: %w", err) // nobody could find it
	}
	fmt.Fprintf(c.stderr, "brunt: serving the runs in %s; an interrupt ends it\n", config.Folder)
	return s.Serve(ctx, listener)
}
