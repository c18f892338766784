package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/measure"
	"brunt/record"
)

// Options say how rows are read and what is asked of them. The zero value reads
// rows of which none is censored.
type Options struct {
	// Horizon is how long a request was watched before it was given up; 0 for
	// none. Rows that are censored need one.
	Horizon time.Duration
	// Quantiles are those of interest, in any order; by default p50, p90, p95, p99
	// and p99.9.
	Quantiles []measure.PPM
	// Points is how many points [Stratum.Points] has at most; 0 means 12.
	Points int

	dir  string // of the temporary file
	most int    // entries in memory
}

// defaultQuantiles are asked for when no others are.
var defaultQuantiles = []measure.PPM{500_000, 900_000, 950_000, 990_000, 999_000}

const usualPoints = 12

// Analysis holds the numbers of a file's rows.
type Analysis struct {
	Name     string // of the file
	Horizon  time.Duration
	Whole    *Stratum
	Groups   []*Stratum       // by name; nil when no row has a group
	Windows  []*Stratum       // by name; nil when no row has a window
	Gray     measure.GrayTest // compares the groups; refused with a reason
	Warnings []string         // doubts about the file
	// Spilled says that there were more distinct times than memory holds.
	Spilled bool

	cells []cell
	tally *tally
}

// Stratum holds the numbers of a part of the rows.
type Stratum struct {
	Name      string // of the group or window; "" for all rows, and for those that name none
	Scheduled int64
	Completed int64
	Errored   int64
	Censored  int64
	// CensoredBeforeHorizon counts those that were not watched up to the
	// horizon. Without any the curve is plain counting.
	CensoredBeforeHorizon int64
	Late                  int64 // completed after the horizon: on the curve, but of no quantile
	Plain                 bool  // nothing was censored before the last event: plain counting
	Final, Ceiling        float64
	Quantiles             []Quantile
	Points                []Point // a few of the curve's, at round times, for a table

	holds func(cell) bool
}

// Quantile is a quantile of the curve, or its refusal, and its interval, or the
// refusal of that.
type Quantile struct {
	measure.Quantile
	Interval measure.QuantileInterval
}

// newAnalysis makes the numbers. The tally is the analysis's from then on, also
// when there is an error.
func newAnalysis(in *intake, o Options) (*Analysis, error) {
	a := &Analysis{Name: in.faults.Name, Horizon: o.Horizon, Warnings: in.warnings, cells: in.cells, tally: in.tally, Spilled: in.tally.spill != nil}
	a.Whole = stratum(in, "", func(cell) bool { return true })
	a.Groups = strata(in, in.groups, func(c cell) uint32 { return c.group })
	a.Windows = strata(in, in.windows, func(c cell) uint32 { return c.window })
	grid, err := a.grid(in, cmp.Or(max(o.Points, 0), usualPoints))
	if err != nil {
		return nil, err
	}
	if err := a.summarise(quantilesOf(o), grid); err != nil {
		return nil, err
	}
	a.Gray, err = a.compare()
	return a, err
}

func quantilesOf(o Options) []measure.PPM {
	if len(o.Quantiles) == 0 {
		return defaultQuantiles
	}
	list := slices.Clone(o.Quantiles)
	slices.Sort(list)
	return slices.Compact(list)
}

// ParseQuantiles reads a list such as p50,p99.9 or 0.5,0.999.
func ParseQuantiles(list string) ([]measure.PPM, error) {
	var all []measure.PPM
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		number, percent := strings.CutPrefix(text, "p")
		places := 6
		if percent {
			places = 4
		}
		whole, fraction, _ := strings.Cut(number, ".")
		if number == "" {
			return nil, fmt.Errorf("quantile %q: expected one such as p99.9 or 0.999", text)
		}
		if len(fraction) > places {
			return nil, fmt.Errorf("quantile %q: finer than a millionth", text)
		}
		n, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 32)
		if err != nil || measure.PPM(n) > measure.Million {
			return nil, fmt.Errorf("quantile %q: expected one such as p99.9 or 0.999", text)
		}
		all = append(all, measure.PPM(n))
	}
	return all, nil
}

func stratum(in *intake, name string, holds func(cell) bool) *Stratum {
	var sum counts
	for i, c := range in.cells {
		if holds(c) {
			sum = sum.plus(in.counts[i])
		}
	}
	return &Stratum{
		Name: name, Scheduled: sum.total(),
		Completed: sum.n[record.Completed], Errored: sum.n[record.Errored], Censored: sum.n[record.Censored],
		CensoredBeforeHorizon: sum.early, Late: sum.late, holds: holds,
	}
}

// strata makes a stratum for each name of a column that some row has, by name.
func strata(in *intake, n names, of func(cell) uint32) []*Stratum {
	if len(n.list) == 1 {
		return nil // no row names any
	}
	var all []*Stratum
	for i, name := range n.list {
		s := stratum(in, name, func(c cell) bool { return of(c) == uint32(i) })
		if s.Scheduled > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *Stratum) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Curve calls each for every point of the stratum's curve, in order of time,
// until it returns an error. The point is good for the call alone. The curve is
// not held in memory: each call makes it again.
func (a *Analysis) Curve(s *Stratum, each func(*Point) error) error {
	belongs := make([]bool, len(a.cells))
	for i, c := range a.cells {
		belongs[i] = s.holds(c)
	}
	w := newWalker(s.Scheduled)
	var b bands
	var stopped error
	emit := func() bool {
		w.point.Band = b.of(&w.point, s.Scheduled)
		stopped = each(&w.point)
		return stopped == nil
	}
	err := a.tally.each(func(e entry) bool {
		if !belongs[e.cell()] || !w.count(e) {
			return true
		}
		return emit()
	})
	if err != nil || stopped != nil {
		return cmp.Or(stopped, err)
	}
	if w.end() {
		emit()
	}
	return stopped
}

// Close removes what the analysis holds outside of memory. [Analysis.Curve] may
// not be called after it.
func (a *Analysis) Close() error { return a.tally.close() }
