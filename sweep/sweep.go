package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"brunt/lab"
	"brunt/study"
)

// Config says what a sweep runs.
type Config struct {
	Source       string       // of the study, as it was given: a path, the name of a built-in one, or -
	Study        *study.Study // as it was read from there
	Axes         []Axis       // what varies
	Points       int          // of a Latin hypercube; 0 for the grid
	Seeds        int          // at each point; 0 for as many as the study repeats
	Measures     []string     // NAME or NAME@PHASE; none for the default ones
	Compositions []string     // none for all
	Pareto       string       // NAME:max,NAME:min; empty for no front
	Instrument   lab.Instrument
	Workers      int // runs at a time; 0 for one on each processor
}

// Sweep is one study at many points.
type Sweep struct {
	plan       Plan
	source     source
	quantities []quantity
	goals      []Goal
	workers    int
}

// ResultFile holds the sum of a sweep; it comes last.
const ResultFile = "sweep.json"

// New makes the plan of a sweep. An error is one of how it was asked for.
func New(c Config) (*Sweep, error) {
	s := &Sweep{source: source{c.Source, c.Study}, workers: c.Workers}
	base := c.Study
	if base.Clock != study.Virtual {
		return nil, fmt.Errorf("the study runs on the %s clock: a sweep runs on the virtual one, see --clock", base.Clock)
	}
	sum := sha256.Sum256(base.YAML())
	s.plan = Plan{
		Study: base.Name, SHA256: hex.EncodeToString(sum[:]), Files: []File{},
		Seed: base.Seed, Seeds: c.Seeds, Instrument: c.Instrument,
	}
	for _, f := range base.Files() {
		sum := sha256.Sum256(f.Data)
		s.plan.Files = append(s.plan.Files, File{f.Name, hex.EncodeToString(sum[:])})
	}
	if s.plan.Seeds == 0 {
		s.plan.Seeds = base.Repeat
	}
	if s.plan.Seeds < 1 || s.plan.Seeds > mostSeeds {
		return nil, fmt.Errorf("%d seeds: expected 1 to %d", s.plan.Seeds, mostSeeds)
	}
	var err error
	if s.plan.Compositions, err = s.source.choose(c.Compositions); err != nil {
		return nil, err
	}
	if c.Pareto != "" {
		if s.goals, err = parseGoals(c.Pareto); err != nil {
			return nil, err
		}
	}
	if err := s.chooseMeasures(c.Measures); err != nil {
		return nil, err
	}
	return s, s.plan.lay(c.Axes, c.Points)
}

// mostSeeds bounds the seeds of one point.
const mostSeeds = 10_000

// chooseMeasures takes those that are named or the default ones, and those of
// the Pareto goals.
func (s *Sweep) chooseMeasures(named []string) error {
	if len(named) == 0 {
		named = []string{"completed/offered", "attempts/offered", "p99"}
		if s.source.base.SLO != nil {
			named = append(named, goodput)
		}
	}
	for _, g := range s.goals {
		named = append(named, g.Measure)
	}
	seen := map[string]bool{}
	for _, name := range named {
		q, err := parseQuantity(name, s.source.base)
		if err != nil {
			return err
		}
		if !seen[q.text] {
			seen[q.text] = true
			s.quantities = append(s.quantities, q)
			s.plan.Measures = append(s.plan.Measures, q.text)
		}
	}
	return nil
}

// Plan returns what the sweep runs.
func (s *Sweep) Plan() *Plan { return &s.plan }

// Requests returns about how many requests a sweep sends in all, going by the
// study as it is without its settings.
func (s *Sweep) Requests() float64 {
	return float64(s.source.base.Schedule().Expected()) * float64(len(s.plan.Compositions)) * float64(s.plan.Points) * float64(s.plan.Seeds)
}

func (s *Sweep) pass() *pass {
	return &pass{plan: &s.plan, source: &s.source, quantities: s.quantities, workers: s.workers}
}

// Check reads the study at every point of the plan, and returns the fault of
// the first that cannot run.
func (s *Sweep) Check(ctx context.Context) error { return s.pass().check(ctx) }

// Run runs the points that the folder's journal does not hold yet. It tells
// progress how many points of the plan are in the journal, first before any is
// run. When the context ends its error is returned; what is in the journal by
// then stays, and the next Run goes on from there.
func (s *Sweep) Run(ctx context.Context, folder *lab.Folder, progress func(done int)) (err error) {
	j, err := openJournal(filepath.Join(folder.Path(), JournalFile), &s.plan)
	if err != nil {
		return err
	}
	defer func() {
		if closing := j.close(); err == nil {
			err = closing
		}
	}()
	// A result of the points so far would be taken for that of all.
	if j.done < s.plan.Points {
		if err := os.Remove(filepath.Join(folder.Path(), ResultFile)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove what an earlier sweep left: %w", err)
		}
	}
	if err := folder.WriteStudy(s.source.base); err != nil {
		return err
	}
	progress(j.done)
	err = s.pass().from(ctx, j.done, func(points []*Finished) error {
		lines := make([]any, len(points))
		for i, p := range points {
			lines[i] = p
		}
		if err := j.write(lines); err != nil {
			return err
		}
		j.done += len(points)
		progress(j.done)
		return nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Conclude makes the tables, the charts, the report and the result from the
// journal of a sweep that has ended.
func (s *Sweep) Conclude(folder *lab.Folder) (*Result, error) {
	j := &journal{path: filepath.Join(folder.Path(), JournalFile)}
	sum := newSumming(&s.plan, s.quantities, s.goals)
	drawn := newDrawing(&s.plan, s.quantities, s.goals)
	points := 0
	if err := j.each(func(f *Finished) error {
		points++
		sum.add(f)
		drawn.add(f)
		return nil
	}); err != nil {
		return nil, err
	}
	if points != s.plan.Points {
		return nil, fmt.Errorf("the journal %s holds %d of %d points", j.path, points, s.plan.Points)
	}
	result := sum.end()
	result.Question = s.source.base.Question
	t := newTable(&s.plan, s.quantities)
	if err := folder.Write(CSVFile, func(w io.Writer) error { return t.writeCSV(w, j.each) }); err != nil {
		return nil, err
	}
	if err := folder.Write(ParquetFile, func(w io.Writer) error { return t.writeParquet(w, j.each) }); err != nil {
		return nil, err
	}
	var err error
	if result.Charts, err = drawn.write(folder, result); err != nil {
		return nil, err
	}
	if err := folder.Write(lab.ReportFile, func(w io.Writer) error { return Markdown(w, result) }); err != nil {
		return nil, err
	}
	return result, folder.Write(ResultFile, func(w io.Writer) error { return JSON(w, result) })
}

// JSON writes what sweep.json holds.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
