package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"brunt/lab"
	"brunt/sweep"
)

// sweepFlags are what `brunt sweep` can be told besides the study.
type sweepFlags struct {
	settings
	vary         []string
	steps        int
	points       int
	seeds        int
	measures     []string
	compositions []string
	pareto       string
	out          string
	json         bool
}

const valuesHelp = `VALUES are a list, or a range:
  1,2,4                  these values; any value that --set takes
  1..6                   every whole number from 1 to 6
  50/s..500/s            ten values evenly, or so many as --steps says
  50/s..500/s in 4       four values evenly
  50/s..500/s by 50/s    every 50/s
  10ms..10s log 7        seven values evenly in the logarithm
Values in a range are rounded to three significant digits, but for its ends.`

func (c *command) sweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep STUDY --vary PATH=VALUES",
		Short: "Run a study at many points: which settings matter, and how",
		Long: `Sweep runs a study on the virtual clock with settings varied: over the grid of
all their values or, with --points, over a Latin hypercube of so many points.
PATH is that of --set.

` + valuesHelp + `

Each point runs on the seeds of --seeds; a row for each point and composition
has the mean, its 95 % t-interval, and how often the number was refused. The
folder gets points.csv, points.parquet, sweep.json, report.md and charts/.

A stopped sweep goes on when the same command is given with --out and its
folder.

Exit status: 0 when it ended, 2 for usage and points that are no study, 4 when
it could not be completed, 130 and 143 when it was stopped.`,
		Example: `  brunt sweep outage --vary 'compositions.*.retry.attempts=1..6' --vary load.rate=50/s..500/s
  brunt sweep mine.yaml --vary 'load.rate=50/s..500/s log 8' --seeds 20 --measure p99@overload,attempts/offered
  brunt sweep mine.yaml --vary load.rate=50/s..500/s --vary seed=1..9 --points 200 --pareto 'completed/offered:max,attempts/offered:min'`,
		Args:              exactly("STUDY", "a file, the name of a built-in study (brunt studies), or - for stdin"),
		ValidArgsFunction: completeStudy,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("points") && f.points < 1 {
				return usagef("--points %d: expected a number of points above 0", f.points)
			}
			if cmd.Flags().Changed("seeds") && f.seeds < 1 {
				return usagef("--seeds %d: expected a number of seeds above 0", f.seeds)
			}
			return c.sweep(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.StringArrayVar(&f.vary, "vary", nil, "vary a setting: `PATH=VALUES`, such as load.rate=50/s..500/s; may be given again")
	flags.IntVar(&f.steps, "steps", 10, "how many values a range has that says nothing else and is not of whole numbers")
	flags.IntVar(&f.points, "points", 0, "sample so many points (a Latin hypercube) in place of the grid")
	flags.IntVar(&f.seeds, "seeds", 0, "run each point on so many seeds, from the study's on (default: as often as the study repeats)")
	flags.StringSliceVar(&f.measures, "measure", nil, "what to measure: `NAME[@PHASE]`,… (default: completed/offered, attempts/offered, p99, and goodput with an slo)")
	flags.StringSliceVar(&f.compositions, "composition", nil, "run these compositions alone: `NAME`,…")
	flags.StringVar(&f.pareto, "pareto", "", "find what nothing beats: `NAME:max,NAME:min`")
	flags.StringVarP(&f.out, "out", "o", "", "the `folder` for the results (default: a new one under runs/)")
	flags.BoolVar(&f.json, "json", false, "print sweep.json")
	return cmd
}

func (c *command) sweep(ctx context.Context, source string, f sweepFlags) error {
	var axes []sweep.Axis
	for _, text := range f.vary {
		a, err := sweep.ParseAxis(text, f.steps)
		if err != nil {
			return usageError{err}
		}
		axes = append(axes, a)
	}
	s, err := c.read(source, f.settings)
	if err != nil {
		return err
	}
	w, err := sweep.New(sweep.Config{
		Source: source, Study: s, Axes: axes, Points: f.points, Seeds: f.seeds, Measures: f.measures,
		Compositions: f.compositions, Pareto: f.pareto, Instrument: lab.ThisInstrument(),
	})
	if err != nil {
		return usageError{err}
	}
	path := f.out
	if path == "" {
		path = freshFolder(s.Name + "-sweep")
	}
	shown := c.pointProgress("points", w.Plan().Points, w.Requests())
	ctx, signals := watchSignals(ctx, shown)
	result, err := perform(ctx, w, path, shown)
	number := signals.stop()
	if number != 0 {
		if err != nil {
			err = fmt.Errorf("stopped after %d of %d points; the same command goes on with --out %s", shown.done, shown.of, path)
		}
		return interrupted{number, err}
	}
	if err != nil {
		return err
	}
	if f.json {
		return sweep.JSON(c.stdout, result)
	}
	return sweep.Text(c.stdout, result, path)
}

// perform runs a sweep into a folder.
func perform(ctx context.Context, w *sweep.Sweep, path string, shown *pointProgress) (*sweep.Result, error) {
	defer shown.stop()
	if err := w.Check(ctx); err != nil {
		if ctx.Err() == nil {
			err = usageError{flat(err)}
		}
		return nil, err
	}
	folder, err := lab.NewFolder(path)
	if err != nil {
		return nil, usageError{err}
	}
	defer folder.Close()
	if err := w.Run(ctx, folder, shown.update); err != nil {
		if errors.Is(err, sweep.ErrOtherPlan) {
			return nil, usageError{err}
		}
		if shown.done > 0 {
			err = fmt.Errorf("%w (%d of %d points are in %s: the same command goes on with --out %s)", flat(err), shown.done, shown.of, path, path)
		}
		return nil, err
	}
	return w.Conclude(folder)
}

// flat keeps the text of an error alone: the faults of a study would be printed
// without the point at which they are.
func flat(err error) error { return errors.New(err.Error()) }

// pointProgress shows on stderr how many points of a long sweep are done, or
// seeds of a search: a bar on a terminal, else a plain line every tenth of the
// way.
type pointProgress struct {
	stderr  io.Writer
	what    string // points
	silent  bool
	done    int
	of      int
	bars    *mpb.Progress // nil without a terminal
	bar     *mpb.Bar
	begun   time.Time
	at      int // points that were done before
	printed int // tenths
}

// pointProgress begins to show the progress of work on about so many requests.
func (c *command) pointProgress(what string, of int, requests float64) *pointProgress {
	p := &pointProgress{stderr: c.stderr, what: what, of: of, silent: requests < worthProgress}
	if !p.silent && c.capable(c.stderr) {
		p.bars = mpb.New(mpb.WithOutput(c.stderr), mpb.WithWidth(40), mpb.WithAutoRefresh())
	}
	return p
}

// update is called from one goroutine at a time.
func (p *pointProgress) update(done int) {
	p.done = done
	if p.silent {
		return
	}
	if p.begun.IsZero() {
		p.begun, p.at, p.printed = time.Now(), done, done*10/p.of
		if p.bars != nil {
			p.bar = p.bars.AddBar(int64(p.of),
				mpb.PrependDecorators(decor.Name(p.what, decor.WCSyncSpaceR)),
				mpb.AppendDecorators(decor.CountersNoUnit("%d of %d"), decor.Any(func(decor.Statistics) string { return "  " + p.left() })))
		} else {
			fmt.Fprintf(p.stderr, "running %d of %d %s\n", p.of-done, p.of, p.what)
		}
	}
	if p.bar != nil {
		p.bar.SetCurrent(int64(done))
		return
	}
	if tenths := done * 10 / p.of; tenths > p.printed && done < p.of {
		p.printed = tenths
		fmt.Fprintf(p.stderr, "%d of %d %s, %s\n", done, p.of, p.what, p.left())
	}
}

// left says how long the rest may take, going by the points so far.
func (p *pointProgress) left() string {
	done := p.done - p.at
	if done <= 0 {
		return ""
	}
	per := time.Since(p.begun) / time.Duration(done)
	rest := per * time.Duration(p.of-p.done)
	return fmt.Sprintf("about %v left", rest.Round(max(time.Second, rest.Truncate(time.Minute)/60)))
}

// Write writes a notice, above the bar if there is one. Any goroutine may call
// it.
func (p *pointProgress) Write(notice []byte) (int, error) {
	if p.bars != nil {
		if _, err := p.bars.Write(append([]byte{'\r'}, notice...)); err == nil {
			return len(notice), nil
		}
	}
	return p.stderr.Write(notice)
}

// stop leaves the terminal as it was found, below the bar.
func (p *pointProgress) stop() {
	complete(p.bar)
	if p.bars != nil {
		p.bars.Wait()
	}
}
