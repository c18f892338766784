package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// JournalFile holds the finished points of a sweep: the plan in its first line,
// then a line for each point, in their order.
const JournalFile = "points.jsonl"

// Finished is a point that was run on all of its seeds.
type Finished struct {
	Point        int    `json:"point"`
	Compositions []Cell `json:"compositions"`
}

// Cell is what was found of one composition at one point.
type Cell struct {
	Name    string  `json:"name"`
	Numbers []Found `json:"numbers"` // by measure
}

// Found is one number on every seed.
type Found struct {
	Values  []*float64 `json:"values"` // by seed; null where refused
	Refused []Refusal  `json:"refused,omitempty"`
}

// Refusal is a number that the data of one seed cannot carry.
type Refusal struct {
	Seed   int    `json:"seed"` // its position among the seeds of the point
	Reason string `json:"reason"`
	Beyond bool   `json:"beyond,omitempty"` // it lies above any that could have been measured
}

// add notes the number of the next seed.
func (f *Found) add(n lab.Number) {
	if n.Refusal == "" && (math.IsNaN(n.Value) || math.IsInf(n.Value, 0)) {
		n.Refusal = "no number"
	}
	if n.Refusal != "" {
		f.Refused = append(f.Refused, Refusal{len(f.Values), n.Refusal, n.Beyond})
		f.Values = append(f.Values, nil)
		return
	}
	f.Values = append(f.Values, &n.Value)
}

// spread sums the number up over its seeds. The interval of a verdict, which is
// yes or no on each seed, is the exact one of a share (Clopper and Pearson): a t-interval
// would reach below 0 and above 1, and have no width where all seeds agree.
//
// A t-interval knows no bounds. It is cut to what the number can be, which no
// true mean lies outside of: so it covers as often as before.
func (f *Found) spread(name string) measure.Spread {
	scalars := make([]measure.Scalar, len(f.Values))
	for i, v := range f.Values {
		if v != nil {
			scalars[i].Value = *v
		}
	}
	for _, r := range f.Refused {
		if r.Seed >= 0 && r.Seed < len(scalars) {
			scalars[r.Seed] = measure.Scalar{Refused: r.Reason, Beyond: r.Beyond}
		}
	}
	s := measure.SpreadOf("", scalars, false)
	switch {
	case len(f.Refused) == 1 && len(f.Values) == 1:
		s.Reason = "refused: " + f.Refused[0].Reason
	case len(f.Values) == 1:
		s.Reason = "no interval: there is one seed"
	case len(f.Refused) > 0:
		s.Reason = fmt.Sprintf("refused on %d of %d seeds, first: %s", len(f.Refused), len(f.Values), f.Refused[0].Reason)
	case isVerdict(name):
		yes := int64(0)
		for _, v := range f.Values {
			if *v != 0 {
				yes++
			}
		}
		rate := measure.RateOf(yes, int64(len(f.Values)), false)
		s.Low, s.High, s.Flag = rate.Low, rate.High, ""
	case s.Low != nil && s.High != nil:
		low, high := max(*s.Low, 0), *s.High // nothing that is measured is below 0
		if isShare(name) {
			high = min(high, 1)
		}
		s.Low, s.High = &low, &high
	}
	return s
}

// ErrOtherPlan is why a folder is not gone on with: what was begun there is not
// what was asked for.
var ErrOtherPlan = errors.New("another sweep")

// journal is the open journal of a sweep.
type journal struct {
	path string
	file *os.File
	done int // points in it
}

// head is the first line.
type head struct {
	Plan *Plan `json:"plan"`
}

// openJournal opens the journal of a plan, or begins it. A last line that was
// half written is dropped. A journal of another plan is refused.
func openJournal(path string, plan *Plan) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() { // a device may have no end
		return nil, errors.Join(fmt.Errorf("%s is no plain file", path), err, file.Close())
	}
	j := &journal{path: path, file: file}
	if err := j.resume(plan); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

func (j *journal) resume(plan *Plan) error {
	kept, err := readJournal(j.file, func(p *Plan) error {
		different, err := plan.differences(p)
		if err == nil && len(different) > 0 {
			err = fmt.Errorf("%s holds %w: name another folder with --out, or give the command of that one; it differs in\n  %s",
				j.path, ErrOtherPlan, strings.Join(different, "\n  "))
		}
		return err
	}, func(f *Finished) error {
		if f.Point != j.done || j.done >= plan.Points || len(f.Compositions) != len(plan.Compositions) {
			return fmt.Errorf("%s is damaged: point %d stands where %d belongs; remove it to run the sweep anew", j.path, f.Point, j.done)
		}
		j.done++
		return nil
	})
	if err != nil {
		return err
	}
	if err := j.file.Truncate(kept); err != nil {
		return fmt.Errorf("drop what was half written to the journal: %w", err)
	}
	if _, err := j.file.Seek(kept, io.SeekStart); err != nil {
		return fmt.Errorf("find the end of the journal: %w", err)
	}
	if kept > 0 {
		return nil
	}
	return j.write([]any{head{plan}})
}

// write appends lines and waits until the disk has them.
func (j *journal) write(lines []any) error {
	var b bytes.Buffer
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
		b.Write(append(text, '\n'))
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

func (j *journal) close() error {
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}

// readJournal hands on what a journal holds, and returns how many bytes of it
// are whole lines. The point that is handed on is good until the next one.
func readJournal(in io.ReadSeeker, plan func(*Plan) error, point func(*Finished) error) (kept int64, err error) {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return 0, fmt.Errorf("read the journal: %w", err)
	}
	lines := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // without its newline a line was not finished
			return kept, nil
		}
		if err != nil {
			return kept, fmt.Errorf("read the journal: %w", err)
		}
		bad := func(err error) (int64, error) {
			if _, more := lines.Peek(1); errors.Is(more, io.EOF) && n > 1 { // a disk may have lost the last line's text
				return kept, nil
			}
			return kept, fmt.Errorf("read the journal: line %d: %w", n, err)
		}
		if n == 1 {
			var h head
			if err := json.Unmarshal(line, &h); err != nil {
				return bad(err)
			}
			if h.Plan == nil {
				return bad(errors.New("expected a plan"))
			}
			if err := plan(h.Plan); err != nil {
				return kept, err
			}
		} else {
			var f Finished
			if err := json.Unmarshal(line, &f); err != nil {
				return bad(err)
			}
			if err := point(&f); err != nil {
				return kept, err
			}
		}
		kept += int64(len(line))
	}
}

// each hands on the finished points of a journal file, in their order.
func (j *journal) each(point func(*Finished) error) error {
	file, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the journal %s has gone: %w", j.path, err)
	} else if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	defer file.Close()
	_, err = readJournal(file, func(*Plan) error { return nil }, point)
	return err
}
