package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"brunt/measure"
	"brunt/record"
	"brunt/record/parquet"
	"brunt/record/spool"
	"brunt/study"
)

// Kill says where a run broke off that was killed, or could not go on. Nothing is
// known of what came later.
type Kill struct {
	Why         string         `json:"why,omitempty"` // it could not go on; "" for one that was killed
	Composition string         `json:"composition"`   // that was on; with @SEED behind it in a repeat
	At          measure.Millis `json:"at_ms"`         // the last instant known of it; of a run that could not go on, when arrivals were stopped
	Censored    int64          `json:"censored"`      // requests without an outcome by then, censored at that instant
	Torn        int64          `json:"torn_bytes"`    // at the end of the spool, of rows that were being written
}

// OpenKilled makes the result of a run that did not come to its end, from the
// rows that it had written by then: they become row files as those of any run.
// The result is marked. It refuses a run that is still on; until the folder is
// closed nobody else can do the same. The error for a folder without such rows is
// [ErrNoResult].
func OpenKilled(path string) (_ *Folder, _ *Result, _ *Environment, err error) {
	f := &Folder{path: path}
	if f.lock, err = os.Open(path); err != nil {
		return nil, nil, nil, fmt.Errorf("read the results: %w", err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // nothing was written that it could lose
		}
	}()
	r, env, err := f.openKilled()
	return f, r, env, err
}

func (f *Folder) openKilled() (*Result, *Environment, error) {
	path := f.path
	if held, err := lock(f.lock); err != nil {
		return nil, nil, fmt.Errorf("claim the folder %s: %w", path, err)
	} else if held {
		return nil, nil, fmt.Errorf("the run in %s is still running: wait for its end, or end it", path)
	}
	rows, err := spool.Open(filepath.Join(path, spool.File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, f.without(ResultFile)
	}
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var of about
	if err := json.Unmarshal(rows.Header().About, &of); err != nil {
		return nil, nil, fmt.Errorf("%s: the file is damaged (what it says of its run: %w)", filepath.Join(path, spool.File), err)
	}
	env := &Environment{}
	if err := f.read(EnvironmentFile, env); err != nil {
		return nil, nil, err
	}
	s, err := f.study(of.StudySHA256, spool.File)
	if err != nil {
		return nil, nil, err
	}
	b := &brokenOff{study: s, jobs: jobs(s), rows: rows}
	if h := rows.Header(); !slices.Equal(h.Compositions, keys(b.jobs)) || !slices.Equal(h.Dependencies, s.Callees()) {
		return nil, nil, fmt.Errorf("%s holds rows of %v at %v, the study has %v and %v: they are not of one run",
			filepath.Join(path, spool.File), h.Compositions, h.Dependencies, keys(b.jobs), s.Callees())
	}
	outcomes, err := b.measure(path)
	if err != nil {
		return nil, nil, err
	}
	r := newResult(s, of.Instrument)
	r.Aborted, r.Killed, r.Kill, r.Calibration = true, true, b.kill(env.Failure), of.Calibration
	r.TiesReason = "the run " + r.Kill.How()
	return r, env, r.conclude(s, outcomes, nil)
}

// brokenOff is a run that was killed.
type brokenOff struct {
	study    *study.Study
	jobs     []job
	rows     *spool.Reader
	last     int           // the last job that began
	stopped  time.Duration // when its arrivals were stopped; record.Never when they were not
	censored int64
}

func (b *brokenOff) kill(why string) *Kill {
	at := max(b.rows.Reached(b.last), 0)
	if why != "" && b.stopped != record.Never { // what came behind that was the drain
		at = min(at, b.stopped)
	}
	return &Kill{Why: why, Composition: b.jobs[b.last].key, At: measure.Millis(at), Censored: b.censored, Torn: b.rows.Torn()}
}

// measure measures what is known, and writes it to the row files.
func (b *brokenOff) measure(path string) (_ []outcome, err error) {
	files, err := parquet.Create(path, keys(b.jobs), b.study.Callees())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			files.Abort()
		}
	}()
	for i := range b.jobs {
		if b.rows.Reached(i) != record.Never {
			b.last = i
		}
	}
	outcomes, err := measureAll(b.study, b.jobs, 1, true, func(i int, m record.Sink) error {
		file := files.Composition(i)
		defer file.Close()
		return b.feed(i, record.Sinks{m, file})
	})
	if err != nil {
		return nil, err
	}
	if err := files.Close(); err != nil {
		return nil, fmt.Errorf("write rows: %w", err)
	}
	return outcomes, nil
}

// feed gives sink what is known of one composition, so that it adds up:
//
//   - A request that the schedule had by the last instant known, and that has no
//     row, is censored at that instant: it had no outcome by then, or had one that
//     did not reach the disk. When it was submitted is not known; it counts as
//     submitted when it was intended. When arrivals had been stopped, by a signal
//     or because the run could not go on, the rest of the schedule never came.
//   - Attempts without a row are not known, so requests do not tell of them.
func (b *brokenOff) feed(i int, sink record.Sink) error {
	reached := b.rows.Reached(i)
	if reached == record.Never { // it never began
		if i > b.last {
			sink.Event(&record.Event{What: record.WhatAborted, Caller: -1})
		}
		return nil
	}
	known := &lookThrough{came: math.MaxInt64, stopped: record.Never}
	if err := b.rows.Feed(i, known); err != nil {
		return err
	}
	if err := b.rows.Feed(i, &corrected{sink, known}); err != nil {
		return err
	}
	s := b.jobs[i].study
	index, cut := int64(0), int64(0)
	for at := range s.Schedule().Instants() {
		if at > reached || index >= known.came {
			break
		}
		if !known.has(index) {
			cut++
			sink.Request(&record.Request{
				Index: index, Intended: at, Submitted: at, End: min(reached, at+s.Horizon), FirstToken: record.Never,
				Outcome: record.Censored, Attempts: known.attemptsOf(index), Caller: s.Caller(index), ServedBy: -1,
			})
		}
		index++
	}
	b.censored += cut
	if i == b.last {
		b.stopped = known.stopped
	}
	if !known.ended && known.came == math.MaxInt64 {
		sink.Event(&record.Event{At: reached, What: record.WhatAborted, Value: index, Caller: -1})
	}
	return nil
}

// lookThrough notes which requests have a row, how many attempts each of them
// has, how many came before arrivals were stopped, and whether the composition
// came to its end. It is a [record.Sink].
type lookThrough struct {
	rows     []bool
	attempts []int32
	came     int64
	stopped  time.Duration
	ended    bool
}

func (l *lookThrough) Request(r *record.Request) {
	l.rows = reach(l.rows, r.Index)
	l.rows[r.Index] = true
}

func (l *lookThrough) Attempt(a *record.Attempt) {
	if a.Request < 0 { // a stranger's
		return
	}
	l.attempts = reach(l.attempts, a.Request)
	l.attempts[a.Request]++
}

func (l *lookThrough) Event(e *record.Event) {
	switch e.What {
	case record.WhatAborted:
		l.came, l.stopped = e.Value, e.At
	case record.WhatActive: // what a run tells last
		l.ended = true
	}
}

// reach makes room for an index.
func reach[T any](list []T, index int64) []T {
	if n := index + 1 - int64(len(list)); n > 0 {
		list = append(list, make([]T, n)...)
	}
	return list
}

func (l *lookThrough) has(request int64) bool {
	return request < int64(len(l.rows)) && l.rows[request]
}

func (l *lookThrough) attemptsOf(request int64) int32 {
	if request < int64(len(l.attempts)) {
		return l.attempts[request]
	}
	return 0
}

// corrected has requests tell of no more attempts than there are rows of.
type corrected struct {
	record.Sink
	known *lookThrough
}

func (c *corrected) Request(r *record.Request) {
	known := *r
	known.Attempts = min(r.Attempts, c.known.attemptsOf(r.Index))
	c.Sink.Request(&known)
}

// notJudged takes back the gates that only the end of a run could have judged.
func (r *Result) notJudged() {
	for i := range r.Gates {
		switch g := &r.Gates[i]; g.Name {
		case gateActive:
			g.Value, g.Passed, g.Applies, g.Enforced = nil, false, false, false
			g.Reason = "does not apply: the run " + r.Kill.How() + " before it drained"
		case gateCPU, gateGC, gateBaseline:
			if g.Value == nil && g.Applies {
				g.Reason = "not measured: the run " + r.Kill.How()
			}
		case gateFire, gateEffect, gateHeal: // a run tells of its fault when it has drained
			if !g.Passed && g.Applies {
				g.Value, g.Reason = nil, "not measured: the run "+r.Kill.How()
			}
		}
	}
}

// How says what happened to the run, as a verb.
func (k *Kill) How() string {
	if k.Why != "" {
		return "broke off"
	}
	return "was killed"
}

// sentence says in words what happened to the run.
func (k *Kill) sentence() string {
	at := time.Duration(k.At).Round(time.Millisecond)
	text := fmt.Sprintf("The run %s %v into %s: nothing later is known, and no number here is one to publish.", k.How(), at, k.Composition)
	if k.Why != "" {
		text += " It met this: " + k.Why + "."
	}
	switch k.Censored {
	case 0:
	case 1:
		text += " 1 request without an outcome by then is censored at that instant."
	default:
		text += fmt.Sprintf(" %s requests without an outcome by then are censored at that instant.", thousands(k.Censored))
	}
	return text
}

// noRecoveries says why recovery from the study's fault is not computed: what
// was not seen after it would count as failed.
func (k *Kill) noRecoveries(s *study.Study, outcomes []outcome) (reason string) {
	if s.Fault == nil {
		return ""
	}
	for i := range outcomes {
		outcomes[i].composition.Recovery.GoodputReason = "not computed: see fault_reason"
	}
	return "not computed: the run " + k.How()
}
