package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
	"brunt/sweep"
)

// runFlags are what `brunt run` can be told besides the study.
type runFlags struct {
	settings
	out    string
	format string
	json   bool
	rows   string
	hidden bool // show the numbers of an invalid run
	yes    bool // call targets on other machines
}

const yesUsage = "load a target that is not on this machine: it is yours, or its owner agrees"

const showInvalidUsage = "show the numbers of a run that is not valid, marked as such; in text only"

func (c *command) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run STUDY",
		Short: "Run a study: a file, the name of a built-in one, or - for stdin",
		Args:  exactly("STUDY", "a file, the name of a built-in study (brunt studies), or - for stdin"),
		Example: `  brunt run outage
  brunt run outage --set load.rate=250/s --set 'phases.*.for=10s'
  brunt run mine.yaml --clock real --out results
  brunt run stampede --json | jq .compositions[].herd.retry_peak`,
		ValidArgsFunction: completeStudy,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.json && cmd.Flags().Changed("format") {
				return usagef("--json and --format both say what to print: give one of them")
			}
			return c.run(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringVarP(&f.out, "out", "o", "", "the `folder` for the results (default: a new one under runs/)")
	flags.StringVar(&f.format, "format", "text", runFormatUsage)
	flags.BoolVar(&f.json, "json", false, "print result.json; without --out, write nothing")
	flags.BoolVar(&f.hidden, "show-invalid", false, showInvalidUsage)
	flags.BoolVar(&f.yes, "yes", false, yesUsage)
	flags.StringVar(&f.rows, "rows", "all", "which rows to write: all, or none for long runs")
	offer(cmd, "format", runFormats...)
	offer(cmd, "rows", "all", "none")
	offer(cmd, "clock", string(study.Virtual), string(study.Real))
	return cmd
}

func (c *command) run(ctx context.Context, source string, f runFlags) error {
	if f.json {
		f.format = "json"
	}
	if err := checkFormat(f.format, runFormats); err != nil {
		return err
	}
	if f.rows != "all" && f.rows != "none" {
		return usagef("--rows %q is unknown: expected all or none", f.rows)
	}
	s, err := c.read(source, f.settings)
	if err != nil {
		return err
	}
	if needsNamespace(s) {
		return c.runInNamespace(ctx)
	}
	var folder *lab.Folder
	if !f.json || f.out != "" {
		path := f.out
		if path == "" {
			path = freshFolder(s.Name)
		}
		if folder, err = lab.NewFolder(path, sweep.JournalFile); err != nil {
			return usageError{err}
		}
		defer folder.Close()
	}
	var found *lab.Calibration
	if s.Calibrated() {
		if s, found, err = c.calibrateFirst(ctx, source, s, folder, f); err != nil {
			return err
		}
	}
	bars := c.progress(s)
	ctx, signals := watchSignals(ctx, bars)
	hangups := outlive(signals.came, c.stdout, c.stderr)
	result, env, err := c.perform(ctx, s, found, folder, f, bars)
	hangups.stop()
	number := signals.stop()
	if err == nil {
		// Only now is stdout written: whoever stops reading loses no results.
		err = c.print(f.format, result, env, report.TextOptions{Folder: pathOf(folder), Invalid: f.hidden})
		if err == nil || folder != nil && hangups.unread(err) {
			err = verdict(result)
		}
	}
	if number != 0 {
		return interrupted{number, err}
	}
	return err
}

// perform runs a study and writes what comes of it to the folder, if there is
// one. result.json comes last.
func (c *command) perform(ctx context.Context, s *study.Study, found *lab.Calibration, folder *lab.Folder, f runFlags, bars *progress) (*lab.Result, *lab.Environment, error) {
	defer bars.stop()
	if folder != nil {
		if err := folder.WriteStudy(s); err != nil {
			return nil, nil, err
		}
	}
	again, err := self()
	if err != nil {
		return nil, nil, err
	}
	guests, err := c.guests(s)
	if err != nil {
		return nil, nil, err
	}
	result, env, err := lab.Run(ctx, s, lab.Options{
		Folder: folder, Rows: f.rows == "all", Instrument: lab.ThisInstrument(),
		Command: append([]string{"brunt"}, c.args...), Progress: bars.update,
		Self: again, Guests: guests, Remote: f.yes, Calibration: found.Summary(),
	})
	var remote *lab.RemoteError
	if errors.As(err, &remote) {
		return nil, nil, usageError{err}
	}
	if err != nil || folder == nil {
		return result, env, err
	}
	if err := folder.WriteEnvironment(env); err != nil {
		return nil, nil, err
	}
	return result, env, report.WriteFolder(folder, result, env)
}

func pathOf(folder *lab.Folder) string {
	if folder == nil {
		return ""
	}
	return folder.Path()
}

// freshFolder names a folder under runs/ that is not there yet.
func freshFolder(name string) string {
	base := filepath.Join("runs", name+"-"+time.Now().UTC().Format("20060102-150405"))
	path := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) || n > 1000 {
			return path
		}
		path = base + "-" + strconv.Itoa(n)
	}
}
