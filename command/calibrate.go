package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
)

// calibrateFlags are what `brunt calibrate` can be told besides the study.
type calibrateFlags struct {
	settings
	composition string
	out         string
	format      string
	json        bool
	yes         bool // call targets on other machines
}

func (c *command) calibrateCommand() *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate STUDY",
		Short: "Measure the capacity of what a study calls: the highest rate that it sustains",
		Long: `Calibrate runs a composition of a study at one rate after the other, each as a
run of its own, undisturbed by the study's phases: the load settles, is measured,
and drains. The rate is doubled until it is not sustained; from the last one that
was, it goes up in steps of 10 % until one is not. This is done twice, on two
seeds; of two that differ by more than a step a third decides.

A rate is sustained when the goodput (within the slo; without one, what completes
within the horizon) is at least gates.baseline_goodput, no request is shed, and
in flight does not grow through the second half of the step by more than chance
allows. A step is measured on calibrate.requests requests at least: n of them
tell an overload of about the root of 2/n.

Settings of calibrate in the study, or from --set: from, most, settle, step,
requests, rest, trials, share (see brunt explain calibrate). On the real clock a
step whose requests were sent too late says nothing about the system; it is run
again, and the third in a row ends the calibration: the client is the limit.

Exit status: 0 when a capacity was found, 2 for usage and study errors, 3 when
there is none to tell (not even the lowest rate is sustained, the highest one is,
or the client was the limit), 4 when it could not be completed, 130 and 143 when
it was stopped.`,
		Example: `  brunt calibrate mine.yaml
  brunt calibrate mine.yaml --composition retry --out calibrated
  brunt calibrate mine.yaml --set calibrate.from=1/s --set calibrate.step=30s --json | jq .capacity_per_s`,
		Args:              exactly("STUDY", "a file, the name of a built-in study (brunt studies), or - for stdin"),
		ValidArgsFunction: completeStudy,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.json && cmd.Flags().Changed("format") {
				return usagef("--json and --format both say what to print: give one of them")
			}
			return c.calibrate(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringVar(&f.composition, "composition", "", "calibrate this composition: `NAME` (default: the study's first)")
	flags.StringVarP(&f.out, "out", "o", "", "write "+lab.CalibrationFile+" to this `folder`")
	flags.StringVar(&f.format, "format", "text", "what to print: text, markdown or json")
	flags.BoolVar(&f.json, "json", false, "print "+lab.CalibrationFile)
	flags.BoolVar(&f.yes, "yes", false, yesUsage)
	offer(cmd, "format", formats...)
	offer(cmd, "clock", string(study.Virtual), string(study.Real))
	return cmd
}

func (c *command) calibrate(ctx context.Context, source string, f calibrateFlags) error {
	if f.json {
		f.format = "json"
	}
	if err := checkFormat(f.format, formats); err != nil {
		return err
	}
	s, err := c.read(source, f.settings)
	if err != nil {
		return err
	}
	if names := s.Compositions.Names(); f.composition != "" {
		if _, ok := s.Compositions.Get(f.composition); !ok {
			return usagef("--composition %s: the study has none of that name: expected %s", f.composition, known(names))
		}
	}
	if !s.Load.Rated() {
		return usagef("study %s has arrivals: %s, which have no rate to be found: expected constant or poisson", s.Name, s.Load.Arrivals)
	}
	var folder *lab.Folder
	if f.out != "" {
		if folder, err = lab.NewFolder(f.out, lab.CalibrationFile); err != nil {
			return usageError{err}
		}
		defer folder.Close()
	}
	shown := c.stepProgress(s)
	ctx, signals := watchSignals(ctx, c.stderr)
	found, err := c.search(ctx, s, f.composition, f.yes, shown)
	number := signals.stop()
	if found != nil { // also of one that was stopped
		if writing := c.tell(found, source, folder, f.format); writing != nil {
			return errors.Join(err, writing)
		}
	}
	switch {
	case number != 0:
		return interrupted{number, nil}
	case err != nil:
		return err
	case found.Status != lab.CapacityFound:
		return statusError(statusInvalid)
	}
	return nil
}

// tell writes a calibration to its folder, if there is one, and to stdout.
func (c *command) tell(found *lab.Calibration, source string, folder *lab.Folder, format string) error {
	if folder != nil {
		if err := folder.Write(lab.CalibrationFile, func(w io.Writer) error { return report.CalibrationJSON(w, found) }); err != nil {
			return err
		}
	}
	switch format {
	case "markdown":
		return report.CalibrationMarkdown(c.stdout, found, source)
	case "json":
		return report.CalibrationJSON(c.stdout, found)
	}
	return report.CalibrationText(c.stdout, found, source, report.TextOptions{Color: c.color(), Width: width(c.stdout), Folder: pathOf(folder)})
}

// known joins the names that would have done.
func known(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return oneOf(names)
}

// stepProgress tells on stderr of each step of a long calibration.
type stepProgress struct {
	stderr io.Writer
	silent bool
	begun  [2]int // the trial and the step that was told of last, from 1
}

func (c *command) stepProgress(s *study.Study) *stepProgress {
	with := s.Calibration()
	silent := s.Clock == study.Virtual && with.Most.Whole(with.Settle+with.Step) < worthProgress
	return &stepProgress{stderr: c.stderr, silent: silent}
}

// update is called from one goroutine.
func (p *stepProgress) update(u lab.CalibrationProgress) {
	at := [2]int{u.Trial + 1, u.Step + 1}
	switch {
	case p.silent:
	case u.Ended != nil && u.Ended.Why != "":
		fmt.Fprintf(p.stderr, "  %s: %s\n", u.Ended.Status, u.Ended.Why)
	case u.Ended != nil:
		fmt.Fprintf(p.stderr, "  %s\n", u.Ended.Status)
	case p.begun != at:
		p.begun = at
		fmt.Fprintf(p.stderr, "trial %d, step %d: %s for %v\n", at[0], at[1], u.Rate, u.Length)
	}
}

// search looks for a capacity.
func (c *command) search(ctx context.Context, s *study.Study, composition string, yes bool, shown *stepProgress) (*lab.Calibration, error) {
	again, err := self()
	if err != nil {
		return nil, err
	}
	found, err := lab.Calibrate(ctx, s, lab.CalibrationOptions{
		Composition: composition, Instrument: lab.ThisInstrument(), Progress: shown.update, Self: again, Remote: yes,
	})
	var remote *lab.RemoteError
	if errors.As(err, &remote) {
		err = usageError{err}
	}
	return found, err
}

// calibrateFirst measures the capacity of what a study calls, and returns the
// study at the share of it that it asks for.
func (c *command) calibrateFirst(ctx context.Context, source string, s *study.Study, folder *lab.Folder, f runFlags) (*study.Study, *lab.Calibration, error) {
	shown := c.stepProgress(s)
	ctx, signals := watchSignals(ctx, c.stderr)
	found, err := c.search(ctx, s, "", f.yes, shown)
	if number := signals.stop(); number != 0 {
		return nil, nil, interrupted{number, nil}
	}
	if err != nil {
		return nil, nil, err
	}
	if folder != nil {
		if err := folder.Write(lab.CalibrationFile, func(w io.Writer) error { return report.CalibrationJSON(w, found) }); err != nil {
			return nil, nil, err
		}
	}
	rate, ok := found.Rate()
	if !ok {
		fmt.Fprintf(c.stderr, "brunt: no capacity was found to take a share of: %s\n", found.Reason)
		return nil, nil, statusError(statusInvalid)
	}
	f.sets = append(f.sets, "load.rate="+rate.String())
	s, err = c.read(source, f.settings)
	return s, found, err
}
