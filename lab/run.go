// Package lab runs a study: arrivals, through a composition of policies, to a
// simulated dependency; rows of what happened; and the result made from them.
//
// [Run] runs a study and writes a folder of results; [Open] makes the result
// again from such a folder. On the virtual clock compositions run in parallel,
// each on its own loop, and the result does not depend on how many at a time;
// on the real clock they run one after the other.
package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"brunt/clock"
	"brunt/load"
	"brunt/measure"
	"brunt/record"
	"brunt/record/parquet"
	"brunt/study"
)

// Options says how a study is run.
type Options struct {
	// Folder takes the results; nil writes none.
	Folder *Folder
	// Rows writes the rows of requests, attempts and events to the folder.
	Rows bool
	// Instrument says which brunt this is.
	Instrument Instrument
	// Command is noted in the environment.
	Command []string
	// Progress is told how far the run is, from one goroutine at a time; nil
	// for nobody.
	Progress func(Progress)
}

// Progress says how far a run is.
type Progress struct {
	Composition string
	Position    int // of the composition, from 0
	Of          int
	Warmup      bool
	At, Length  time.Duration // of the composition's schedule
}

// Run runs a study. Cancelling the context stops arrivals; what is in flight
// drains, and the result is marked aborted. An error means that there is no
// result; a result that is not valid is no error.
func Run(ctx context.Context, s *study.Study, o Options) (*Result, *Environment, error) {
	env := environment(o.Command)
	started := wallClock()
	names := s.Compositions.Names()
	compositions := make([]measure.Composition, len(names))
	env.Compositions = make([]Wall, len(names))

	var mu sync.Mutex // compositions on the virtual clock report at the same time
	progress := o.Progress
	if progress != nil {
		progress = func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			o.Progress(p)
		}
	}
	var rows *parquet.Writer
	if o.Folder != nil && o.Rows {
		var err error
		if rows, err = parquet.Create(o.Folder.Path(), names, s.Dependencies.Names()); err != nil {
			return nil, nil, fmt.Errorf("write rows: %w", err)
		}
	}
	var watched []Gate
	var machine *client
	if s.Clock == study.Real {
		machine = watchClient()
	}
	err := each(len(names), workers(s), func(i int) error {
		begun := wallClock()
		m := measure.NewRecorder(plan(s), s.Schedule().Expected())
		var sink record.Sink = m
		if rows != nil {
			file := rows.Composition(i)
			defer file.Close()
			sink = record.Sinks{m, file}
		}
		if err := runOne(ctx, s, i, sink, rows != nil, progress); err != nil {
			return err
		}
		c, err := m.Composition(names[i])
		if err != nil {
			return fmt.Errorf("composition %s: %w", names[i], err)
		}
		compositions[i] = c
		env.Compositions[i] = Wall{names[i], sinceMillis(begun)}
		return nil
	})
	if machine != nil {
		watched = machine.end()
	}
	if rows != nil {
		if err != nil {
			rows.Abort()
		} else if err = rows.Close(); err != nil {
			err = fmt.Errorf("write rows: %w", err)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	result := newResult(s, o.Instrument, compositions)
	result.Aborted = ctx.Err() != nil
	if result.Ties, result.TiesReason, err = findTies(ctx, s, compositions); err != nil {
		return nil, nil, err
	}
	if ctx.Err() != nil && !result.Aborted { // noisy runs that were cut short prove nothing
		result.Ties, result.TiesReason = nil, "interrupted while they were looked for"
	}
	result.conclude(s, watched)
	env.WallMillis = sinceMillis(started)
	return result, env, nil
}

// workers is how many compositions run at a time.
func workers(s *study.Study) int {
	if s.Clock == study.Real {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// each calls f for 0 to n-1, in order, at most so many at a time, and returns
// the first error by position. A panic becomes an error.
func each(n, workers int, f func(int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(n, workers) {
		wg.Go(func() {
			for i := range next {
				errs[i] = guarded(i, f)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func guarded(i int, f func(int) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("brunt has a fault of its own, please report it: %v\n%s", p, debug.Stack())
		}
	}()
	return f(i)
}

// runOne runs one composition to its end.
func runOne(ctx context.Context, s *study.Study, i int, sink record.Sink, events bool, progress func(Progress)) error {
	name := s.Compositions.Names()[i]
	told := func(warmup bool, length time.Duration) func(time.Duration) {
		if progress == nil {
			return nil
		}
		return func(at time.Duration) {
			progress(Progress{name, i, s.Compositions.Len(), warmup, at, length})
		}
	}
	if s.Clock == study.Virtual {
		return runOn(ctx, clock.Virtual(), s, name, s.Schedule(), sink, events, told(false, s.Length()))
	}
	if s.Warmup > 0 && s.Load.Rated() && ctx.Err() == nil {
		warmup := load.New(load.Load{Arrivals: load.Constant}, []load.Segment{{To: s.Warmup, Rate: s.Rate(0)}}, s.Luck())
		if err := runReal(ctx, s, name, warmup, nowhere{}, false, told(true, s.Warmup)); err != nil {
			return err
		}
	}
	runtime.GC() // what came before must not be collected in the middle of this run
	return runReal(ctx, s, name, s.Schedule(), sink, events, told(false, s.Length()))
}

func runReal(ctx context.Context, s *study.Study, name string, schedule *load.Schedule, sink record.Sink, events bool, told func(time.Duration)) error {
	loop, err := clock.Real()
	if err != nil {
		return err
	}
	defer loop.Close()
	return runOn(ctx, loop, s, name, schedule, sink, events, told)
}

func runOn(ctx context.Context, loop *clock.Loop, s *study.Study, name string, schedule *load.Schedule, sink record.Sink, events bool, told func(time.Duration)) error {
	r := newRunner(loop, s, name, schedule, sink, events)
	r.told = told
	if ctx.Err() != nil { // before the first arrival, so that none comes
		loop.Post(r.abort)
	}
	r.run(ctx.Done())
	if r.inFlight != 0 {
		return fmt.Errorf("composition %s: %d requests reached no end: brunt has a fault of its own, please report it", name, r.inFlight)
	}
	return nil
}

// nowhere is a sink for rows that are thrown away.
type nowhere struct{}

func (nowhere) Request(*record.Request) {}
func (nowhere) Attempt(*record.Attempt) {}
func (nowhere) Event(*record.Event)     {}

func newResult(s *study.Study, instrument Instrument, compositions []measure.Composition) *Result {
	return &Result{
		Schema: Schema, Study: s.Name, Question: s.Question, Seed: s.Seed, Clock: s.Clock,
		Deterministic: s.Clock == study.Virtual && !random(s),
		Config:        s.Config(), Instrument: instrument, StudySHA256: studySum(s),
		Compositions: compositions,
	}
}

// studySum is the SHA-256 of study.yaml.
func studySum(s *study.Study) string {
	sum := sha256.Sum256(s.YAML())
	return hex.EncodeToString(sum[:])
}

// conclude adds what follows from the numbers.
func (r *Result) conclude(s *study.Study, watched []Gate) {
	r.Gates = gates(s, r.Compositions, watched)
	r.Valid = valid(r.Gates)
	r.Findings = findings(s, r)
	r.Expectations = judge(s, r.Compositions)
	if !r.Valid {
		r.Compositions, r.Findings, r.Ties = nil, []string{}, nil
		r.TiesReason = "the run is not valid"
		r.Expectations = []Verdict{}
	}
}

// FailedExpectations counts the expectations that did not hold.
func (r *Result) FailedExpectations() int {
	n := 0
	for _, v := range r.Expectations {
		if !v.Passed {
			n++
		}
	}
	return n
}
