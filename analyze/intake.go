package analyze

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"brunt/record"
)

// mostNames is how many groups, or windows, there may be. A column with more is
// no grouping but a name for each row, and a curve for each would say nothing.
const mostNames = 1000

// row is one row of a file before it is judged. The texts are good until the
// next row is read.
type row struct {
	at            int64 // line or row, as in [Fault]
	time          time.Duration
	timeText      []byte // as it stands in the file; for words
	timeErr       error  // what is wrong with the time
	outcome       []byte
	window, group []byte
}

// cell is a window and a group together.
type cell struct{ window, group uint32 }

// intake judges rows, and counts those that are good.
type intake struct {
	horizon time.Duration
	faults  Faults
	tally   *tally

	windows, groups names
	cells           []cell
	cellOf          map[cell]uint32
	counts          []counts // by cell
	last            cell     // of the row before, and its number
	lastNumber      uint32

	latest time.Duration
	// rough counts completions by the length of their time in bits: enough to
	// know where a table of the curve should begin.
	rough    [65]int64
	warnings []string
}

// counts are of the rows of one cell, and their sums.
type counts struct {
	n     [3]int64 // by outcome
	early int64    // censored before the horizon
	late  int64    // completed after it
}

func (c counts) total() int64 { return c.n[0] + c.n[1] + c.n[2] }

func (c counts) plus(o counts) counts {
	for i := range c.n {
		c.n[i] += o.n[i]
	}
	c.early += o.early
	c.late += o.late
	return c
}

// names gives each text of a column a number. The first stands for no text.
type names struct {
	list   []string
	number map[string]uint32
}

func newNames() names { return names{[]string{""}, map[string]uint32{"": 0}} }

// of returns the number of a text; none when there would be too many.
func (n *names) of(text []byte) (uint32, bool) {
	if len(text) == 0 {
		return 0, true
	}
	if i, ok := n.number[string(text)]; ok {
		return i, true
	}
	if len(n.list) > mostNames {
		return 0, false
	}
	i, name := uint32(len(n.list)), string(text)
	n.list = append(n.list, name)
	n.number[name] = i
	return i, true
}

func newIntake(name string, horizon time.Duration, t *tally) *intake {
	in := &intake{horizon: horizon, faults: Faults{Name: name}, tally: t, windows: newNames(), groups: newNames(), cellOf: map[cell]uint32{}}
	in.lastNumber = in.number(cell{})
	return in
}

func (in *intake) number(c cell) uint32 {
	i, ok := in.cellOf[c]
	if !ok {
		i = uint32(len(in.cells))
		in.cellOf[c] = i
		in.cells = append(in.cells, c)
		in.counts = append(in.counts, counts{})
	}
	in.last, in.lastNumber = c, i
	return i
}

// take judges a row and counts it. An error is one of the temporary file.
func (in *intake) take(r *row) error {
	in.faults.Rows++
	outcome, known := outcomeOf(r.outcome)
	censoredLate := known && outcome == record.Censored && in.horizon > 0 && r.time > in.horizon
	if r.timeErr != nil || !known || censoredLate {
		in.faults.add(r.at, in.wrong(r, known, censoredLate))
		return nil
	}
	window, ok := in.windows.of(r.window)
	group, also := in.groups.of(r.group)
	if !ok || !also {
		in.faults.add(r.at, fmt.Sprintf("more than %d groups or windows: a column of that name should have one value for many rows", mostNames))
		return nil
	}
	number := in.lastNumber
	if c := (cell{window, group}); c != in.last {
		number = in.number(c)
	}
	n := &in.counts[number]
	n.n[outcome]++
	switch {
	case outcome == record.Censored && r.time < in.horizon:
		n.early++
	case outcome == record.Completed:
		in.rough[bits.Len64(uint64(r.time))]++
		if in.horizon > 0 && r.time > in.horizon {
			n.late++
		}
	}
	in.latest = max(in.latest, r.time)
	return in.tally.add(r.time, number, outcome)
}

// wrong says everything that is wrong with a row.
func (in *intake) wrong(r *row, known, censoredLate bool) string {
	var all []string
	if r.timeErr == errNoTime {
		all = append(all, "time_ms is missing")
	} else if r.timeErr != nil {
		all = append(all, "time_ms "+quoted(r.timeText)+" "+r.timeErr.Error())
	}
	switch {
	case known:
	case len(r.outcome) == 0:
		all = append(all, "outcome is missing: expected completed, errored or censored")
	default:
		all = append(all, "outcome "+quoted(r.outcome)+" is unknown: expected completed, errored or censored")
	}
	if censoredLate {
		all = append(all, fmt.Sprintf("censored at %v, beyond the horizon of %v: nothing is watched longer than that", r.time, in.horizon))
	}
	return strings.Join(all, "; ")
}

// broken counts a row that is none: half a line.
func (in *intake) broken(at int64, what string) {
	in.faults.Rows++
	in.faults.add(at, what)
}

func outcomeOf(text []byte) (record.Outcome, bool) {
	switch string(text) {
	case "completed":
		return record.Completed, true
	case "errored":
		return record.Errored, true
	case "censored":
		return record.Censored, true
	}
	return 0, false
}

// judge refuses what the rows as a whole cannot carry.
func (in *intake) judge() error {
	if in.faults.Count > 0 {
		return &in.faults
	}
	censored := int64(0)
	for _, n := range in.counts {
		censored += n.n[record.Censored]
	}
	if in.horizon <= 0 && censored > 0 {
		return unusable(in.faults.Name, "%d rows are censored, so a horizon is needed: how long a request was watched before it was given up, as in --horizon 30s", censored)
	}
	return nil
}
