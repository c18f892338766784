package command

import (
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"brunt/analyze"
	"brunt/report"
)

// analyzeFlags are what `brunt analyze` can be told besides the file.
type analyzeFlags struct {
	horizon   time.Duration
	quantiles string
	points    int
	format    string
	json      bool
}

func (c *command) analyzeCommand() *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use:   "analyze FILE",
		Short: "Honest numbers from rows that another tool wrote (time, outcome)",
		Long: `Analyze reads rows that another tool wrote, one for each scheduled request: CSV with
a header, JSON Lines or Parquet, or - for stdin (CSV or JSON Lines). The columns

  time_ms   from the instant at which the request was to be sent to its end
  outcome   completed, errored, or censored: no outcome by then
  group     (optional) numbers for each group, and a test whether they differ
  window    (optional) numbers for each window

stand in any order; others are skipped. A requests.parquet of brunt's own is read
too, its compositions as groups. Rows that cannot be used are listed with their
line, and nothing is computed.`,
		Args: cobra.ExactArgs(1),
		Example: `  brunt analyze rows.csv --horizon 30s
  wrangle log.txt | brunt analyze - --horizon 5s --json | jq .quantiles
  brunt analyze runs/outage/requests.parquet --horizon 30s --format markdown`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.analyze(cmd, args[0], f) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&f.horizon, "horizon", 0, "how long a request was watched before it was given up, such as 30s; needed when any is censored")
	flags.StringVar(&f.quantiles, "quantiles", "p50,p90,p95,p99,p99.9", "the quantiles, such as p50,p99.9 or 0.5,0.999")
	flags.IntVar(&f.points, "curve", 12, "at most so many points of the curve; JSON has all of them")
	flags.StringVar(&f.format, "format", "text", "what to print: text, markdown or json")
	flags.BoolVar(&f.json, "json", false, "the same as --format json")
	return cmd
}

func (c *command) analyze(cmd *cobra.Command, path string, f analyzeFlags) (err error) {
	if f.json {
		f.format = "json"
	}
	if err := checkFormat(f.format, formats); err != nil {
		return err
	}
	if cmd.Flags().Changed("horizon") && f.horizon <= 0 {
		return usagef("--horizon %v: expected a time above 0", f.horizon)
	}
	if f.points < 2 {
		return usagef("--curve %d: expected 2 points or more", f.points)
	}
	quantiles, err := analyze.ParseQuantiles(f.quantiles)
	if err != nil {
		return usageError{err}
	}
	o := analyze.Options{Horizon: f.horizon, Quantiles: quantiles, Points: f.points}
	var a *analyze.Analysis
	if path == "-" {
		a, err = analyze.Read(c.stdin, "stdin", o)
	} else {
		a, err = analyze.File(path, o)
	}
	if faults := (*analyze.Faults)(nil); errors.As(err, &faults) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return usageError{err}
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	switch f.format {
	case "markdown":
		return report.AnalysisMarkdown(c.stdout, a)
	case "json":
		return report.AnalysisJSON(c.stdout, a)
	}
	return report.AnalysisText(c.stdout, a, report.TextOptions{Color: c.color(), Width: width(c.stdout)})
}
