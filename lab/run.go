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
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"brunt/clock"
	"brunt/load"
	"brunt/measure"
	"brunt/record"
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
	// Self calls this program again: its path and what comes before the name of a
	// command. Testbeds and real faults need it.
	Self []string
	// Guests are the clients that compositions of the study stand for, by name.
	Guests map[string]*Guest
	// Remote lets a study call targets that are not on this machine.
	Remote bool
	// Calibration is what the study's load was taken from; nil for none.
	Calibration *Calibrated
	// Command is noted in the environment.
	Command []string
	// Progress is told how far the run is, from one goroutine at a time; nil
	// for nobody.
	Progress func(Progress)
}

// Run runs a study. Cancelling the context stops arrivals; what is in flight
// drains, and the result is marked aborted. An error means that there is no
// result; a result that is not valid is no error.
func Run(ctx context.Context, s *study.Study, o Options) (_ *Result, _ *Environment, err error) {
	env := environment(o.Command)
	started := wallClock()
	all := jobs(s)
	for i := range all {
		all[i].guest = guestOf(s, all[i].name, o.Guests)
	}

	ground, err := newGround(ctx, s, o)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, ground.close()) }()
	env.Compositions = []Wall{}
	if o.Folder != nil { // what is known by now, for a report of a run that is killed
		if err := o.Folder.WriteEnvironment(env); err != nil {
			return nil, nil, err
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var rows *keeper
	if o.Folder != nil && o.Rows {
		if rows, err = keepRows(s, all, o, stop); err != nil {
			return nil, nil, err
		}
	}
	var mu sync.Mutex // compositions on the virtual clock report at the same time
	progress := o.Progress
	if progress != nil {
		progress = func(p Progress) {
			mu.Lock()
			defer mu.Unlock()
			o.Progress(p)
		}
	}
	var machine *client
	if s.Clock == study.Real {
		machine = watchClient()
	}
	env.Compositions = make([]Wall, len(all))
	outcomes, err := measureAll(s, all, workers(s), rows != nil, func(i int, m record.Sink) error {
		begun := wallClock()
		told := progress
		if rows != nil {
			kept := rows.composition(i)
			defer kept.file.Close()
			m, told = append(record.Sinks{m}, kept.Sinks...), kept.hears(progress)
			if kept.spool != nil && i > 0 { // so that what breaks off before it begins is known for the one that did
				kept.spool.Reach(0)
			}
		}
		err := runJob(ctx, all, i, m, rows != nil, told, machine, ground)
		env.Compositions[i] = Wall{all[i].key, sinceMillis(begun)}
		return err
	})
	var watched []Gate
	if machine != nil {
		watched = machine.end()
	}
	result := newResult(s, o.Instrument)
	result.Aborted = ctx.Err() != nil
	result.Calibration = o.Calibration
	if err == nil { // while the last rows are being written
		result.Ties, result.TiesReason, err = findTies(ctx, s, outcomes)
	}
	if err == nil {
		result.LoadCuts, err = findLoadCuts(ctx, s, outcomes)
	}
	if rows != nil {
		err = rows.end(err)
	}
	if err != nil {
		env.WallMillis = sinceMillis(started)
		return nil, nil, rows.leave(err, env)
	}
	if ctx.Err() != nil && !result.Aborted { // noisy runs that were cut short prove nothing
		result.Ties, result.TiesReason = nil, "interrupted while they were looked for"
	}
	if err := result.conclude(s, outcomes, watched); err != nil {
		return nil, nil, err
	}
	env.WallMillis = sinceMillis(started)
	return result, env, nil
}

// job is one composition of one repeat.
type job struct {
	study       *study.Study // with the seed of the repeat
	composition int          // position in the study
	name        string
	key         string // of its rows: the name, and @SEED behind it but for the first repeat
	guest       *Guest // its client; nil for brunt's own stacks
}

// jobs lists the compositions of all repeats, repeat by repeat.
func jobs(s *study.Study) []job {
	var all []job
	for k := range int64(s.Repeat) {
		seeded := *s
		seeded.Seed = s.Seed + k
		for i, name := range s.Compositions.Names() {
			key := name
			if k > 0 {
				key = fmt.Sprintf("%s@%d", name, seeded.Seed)
			}
			all = append(all, job{study: &seeded, composition: i, name: name, key: key})
		}
	}
	return all
}

func keys(all []job) []string {
	list := make([]string, len(all))
	for i := range all {
		list[i] = all[i].key
	}
	return list
}

// outcome is what was measured of one job.
type outcome struct {
	composition measure.Composition
	rows        measure.Rows          // nil when there are too many to keep
	replayed    *replays              // nil when nothing is replayed
	site        *measure.SiteRecorder // nil where nothing real is called
	closeup     *measure.Closeup      // nil where none is wanted
}

// measureAll measures what feed sends of each job, so many jobs at a time.
// Closely, it also looks at what pictures of the first repeat show.
func measureAll(s *study.Study, all []job, workers int, closely bool, feed func(i int, m record.Sink) error) ([]outcome, error) {
	expected := s.Schedule().Expected()
	keep := expected*int64(len(all)) <= rowsMost
	outcomes := make([]outcome, len(all))
	err := each(len(all), workers, func(i int) error {
		m := measure.NewRecorder(plan(s), expected)
		sink := record.Sink(m)
		if keep {
			outcomes[i].rows = make(measure.Rows, 0, expected)
			sink = record.Sinks{m, &outcomes[i].rows}
		}
		if s.CallsReal() {
			outcomes[i].site = measure.NewSiteRecorder(sitePlan(s))
			sink = record.Sinks{sink, outcomes[i].site}
		}
		if outcomes[i].replayed = newReplays(s); outcomes[i].replayed != nil {
			sink = record.Sinks{sink, outcomes[i].replayed}
		}
		guest := newGuestCounts(s, all[i].name)
		if guest != nil {
			sink = record.Sinks{sink, guest}
		}
		var near *measure.CloseupRecorder
		if closely && i < s.Compositions.Len() {
			near = measure.NewCloseup(plan(s))
			sink = record.Sinks{sink, near}
		}
		if err := feed(i, sink); err != nil {
			return err
		}
		if near != nil {
			outcomes[i].closeup = near.Closeup(all[i].name)
		}
		c, err := m.Composition(all[i].name)
		if err != nil {
			return fmt.Errorf("composition %s: %w", all[i].key, err)
		}
		if guest != nil && guest.told {
			c.Guest = &guest.Guest
		}
		outcomes[i].composition = c
		return nil
	})
	return outcomes, err
}

// workers is how many compositions run at a time.
func workers(s *study.Study) int {
	if s.Clock == study.Real || s.HasGuests() { // bubbles do not run well side by side
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// each calls f for 0 to n-1, in order, at most so many at a time, and returns
// the first error by position. After an error it calls f for no more. A panic
// becomes an error.
func each(n, workers int, f func(int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	var failed atomic.Bool
	for range min(n, workers) {
		wg.Go(func() {
			for i := range next {
				if failed.Load() {
					continue
				}
				if errs[i] = guarded(i, f); errs[i] != nil {
					failed.Store(true)
				}
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

// runJob runs one composition of one repeat to its end. machine is watched on
// the real clock; nil for nobody. ground is nil where nothing real is called.
func runJob(ctx context.Context, all []job, i int, sink record.Sink, events bool, progress func(Progress), machine *client, ground *ground) (err error) {
	s, name := all[i].study, all[i].name
	told := func(warmup bool, length time.Duration) func(time.Duration, Standing) {
		if progress == nil {
			return nil
		}
		return func(at time.Duration, s Standing) {
			if warmup {
				if s.Phase, s.Next, s.NextIn = "", "the run", length-at; s.Drains || at >= length {
					s.Next, s.NextIn = "", 0
				}
			}
			progress(Progress{all[i].key, i, len(all), warmup, at, length, s})
		}
	}
	if s.HasGuest(name) && s.Clock == study.Virtual {
		return runGuest(&all[i], sink, events)
	}
	if s.Clock == study.Virtual {
		return runOn(ctx, clock.Virtual(), s, name, s.Schedule(), sink, events, told(false, s.Length()))
	}
	stand, err := ground.stand(ctx, all[i].key, name, s.Seed)
	if err != nil {
		interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
		if interrupted || i > 0 { // of a run of which nothing began nothing is kept
			sink.Event(&record.Event{What: record.WhatAborted, Caller: -1})
		}
		if interrupted {
			return nil
		}
		return fmt.Errorf("composition %s: %w", all[i].key, err)
	}
	defer func() { err = errors.Join(err, stand.close()) }()
	if s.Warmup > 0 && s.Load.Rated() {
		warmup := load.New(load.Load{Arrivals: load.Constant}, []load.Segment{{To: s.Warmup, Rate: s.Rate(0)}}, s.Luck())
		if err := runReal(ctx, &all[i], warmup, nowhere{}, false, told(true, s.Warmup), stand, nil); err != nil {
			return err
		}
	}
	runtime.GC() // what came before must not be collected in the middle of this run
	site, err := stand.arm(ctx)
	if err != nil {
		return fmt.Errorf("composition %s: %w", all[i].key, err)
	}
	defer func() { err = errors.Join(err, site.close()) }()
	run := func() error {
		return runReal(ctx, &all[i], s.Schedule(), sink, events, told(false, s.Length()), stand, site)
	}
	if machine == nil {
		return run()
	}
	return machine.window(run)
}

func runReal(ctx context.Context, j *job, schedule *load.Schedule, sink record.Sink, events bool, told func(time.Duration, Standing), stand *stand, site *site) error {
	loop, err := clock.Real()
	if err != nil {
		return err
	}
	defer loop.Close()
	r := newRunner(loop, j.study, j.name, schedule, sink, events)
	r.told = told
	stand.attach(r)
	leave, err := receive(r, j, stand)
	if err != nil {
		return err
	}
	left := false
	defer func() {
		if !left { // by a panic: what waits for the run must not wait for ever
			_ = leave()
		}
	}()
	site.begin(r)
	err = runAll(ctx, r, j.name)
	left = true
	return errors.Join(err, leave(), site.end())
}

func runOn(ctx context.Context, loop *clock.Loop, s *study.Study, name string, schedule *load.Schedule, sink record.Sink, events bool, told func(time.Duration, Standing)) error {
	if s.HasGuest(name) {
		return runGuest(&job{name: name}, nil, false)
	}
	r := newRunner(loop, s, name, schedule, sink, events)
	r.told = told
	return runAll(ctx, r, name)
}

// runAll runs a composition until it has drained.
func runAll(ctx context.Context, r *runner, name string) error {
	loop := r.loop
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

func newResult(s *study.Study, instrument Instrument) *Result {
	r := &Result{
		Schema: Schema, Study: s.Name, Question: s.Question, Seed: s.Seed, Clock: s.Clock,
		Deterministic: deterministic(s),
		Config:        s.Config(), Instrument: instrument, StudySHA256: studySum(s),
	}
	if p := s.Protocol(); p != nil {
		r.Protocol = &Protocol{p.Name, p.Version, p.SHA256}
	}
	return r
}

// studySum is the SHA-256 of the study as it was run.
func studySum(s *study.Study) string {
	sum := sha256.Sum256(s.YAML())
	return hex.EncodeToString(sum[:])
}

// conclude adds the numbers, and what follows from them.
func (r *Result) conclude(s *study.Study, outcomes []outcome, watched []Gate) error {
	var err error
	if r.Killed {
		r.FaultReason = r.Kill.noRecoveries(s, outcomes)
	} else if r.FaultReason, err = recoveries(s, outcomes); err != nil {
		return err
	}
	if err := services(s, outcomes); err != nil {
		return err
	}
	sites(s, outcomes)
	repeats := split(s, outcomes)
	r.Compositions = repeats[0].Compositions
	for i := range r.Compositions {
		if near := outcomes[i].closeup; near != nil {
			r.Closeups = append(r.Closeups, near)
		}
	}
	r.Comparisons = compareAll(s, repeats, outcomes)
	if r.Secondary, err = secondaries(s, repeats); err != nil {
		return err
	}
	if len(repeats) > 1 {
		r.Repeats = repeats
		summarize(repeats)
	}
	var every []measure.Composition
	for _, repeat := range repeats {
		every = append(every, repeat.Compositions...)
	}
	r.Replays = replayed(s, outcomes)
	if r.Guests = guestNotes(s, outcomes); s.HasGuests() {
		r.Irreproducible = notDeterministic
	}
	r.Gates = gates(s, every, watched, r.Aborted)
	if r.Killed {
		r.notJudged()
	}
	r.Valid = valid(r.Gates)
	r.NodeLoss = representsNodeLoss(s, r.Gates)
	r.Findings = findings(s, r)
	r.Expectations = judge(s, repeats)
	if r.Aborted {
		notJudged(r.Expectations)
	}
	if !r.Valid {
		shown := *r
		r.Hidden = &shown
		r.Compositions, r.Repeats, r.Comparisons, r.Secondary, r.Ties, r.LoadCuts = nil, nil, []Comparison{}, []Secondary{}, nil, nil
		r.TiesReason, r.Closeups = "the run is not valid", nil
		r.Findings, r.Expectations = []string{}, []Verdict{}
	}
	return nil
}

// split sorts the outcomes of all jobs into repeats.
func split(s *study.Study, outcomes []outcome) []Repeat {
	n := s.Compositions.Len()
	repeats := make([]Repeat, len(outcomes)/n)
	for i := range outcomes {
		r := &repeats[i/n]
		r.Seed = s.Seed + int64(i/n)
		r.Compositions = append(r.Compositions, outcomes[i].composition)
	}
	return repeats
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
