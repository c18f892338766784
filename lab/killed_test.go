package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/clock"
	"brunt/measure"
	"brunt/record"
	"brunt/record/spool"
	"brunt/study"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// rowLog keeps rows in the order in which they came.
type rowLog struct{ rows []any }

func (l *rowLog) Request(r *record.Request) { l.rows = append(l.rows, *r) }
func (l *rowLog) Attempt(a *record.Attempt) { l.rows = append(l.rows, *a) }
func (l *rowLog) Event(e *record.Event)     { l.rows = append(l.rows, *e) }

// feed gives the first n rows to a sink, and returns the last instant of them.
func (l *rowLog) feed(n int, sink record.Sink) (last time.Duration) {
	for _, row := range l.rows[:n] {
		switch r := row.(type) {
		case record.Request:
			sink.Request(&r)
			last = max(last, r.End)
		case record.Attempt:
			sink.Attempt(&r)
			last = max(last, r.CleanupEnd)
		case record.Event:
			sink.Event(&r)
			last = max(last, r.At)
		}
	}
	return last
}

// Law: whatever is run, and wherever it breaks off, the rows that are left add
// up: every request that the schedule had by then is there once, and those
// without an outcome are censored no later than that, nor than their horizon.
func TestBrokenOffAddsUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), spool.File)
	rapid.Check(t, func(t *rapid.T) {
		s := randomStudy(t)
		var all rowLog
		if err := runOn(context.Background(), clock.Virtual(), s, "stack", s.Schedule(), &all, true, nil); err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, len(all.rows)).Draw(t, "rows")
		jobs := jobs(s)[:1]
		w, err := spool.Create(path, spool.Header{Compositions: keys(jobs), Dependencies: s.Callees()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		last := all.feed(n, w.Composition(0))
		if rapid.Bool().Draw(t, "silence") { // nothing more came, and the run went on
			last += rapid.SampledFrom([]time.Duration{time.Millisecond, s.Horizon, time.Hour}).Draw(t, "for")
			w.Composition(0).Reach(last)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		rows, err := spool.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		b := &brokenOff{study: s, jobs: jobs, rows: rows}
		m := measure.NewRecorder(plan(s), s.Schedule().Expected())
		var got rowLog
		if err := b.feed(0, record.Sinks{m, &got}); err != nil {
			t.Fatal(err)
		}
		c, err := m.Composition("stack")
		if err != nil {
			t.Fatalf("cut after %d of %d rows, at %v: %v", n, len(all.rows), last, err)
		}
		scheduled := int64(0)
		for at := range s.Schedule().Instants() {
			if at <= last {
				scheduled++
			}
		}
		if c.Whole.Offered != scheduled {
			t.Fatalf("%d requests, the schedule had %d by %v", c.Whole.Offered, scheduled, last)
		}
		whole := n == len(all.rows) // so its end is among them
		if whole && b.censored != 0 {
			t.Fatalf("%d requests of a run that had ended are censored", b.censored)
		}
		known := make(map[int64]record.Request)
		for _, row := range all.rows[:n] {
			if r, ok := row.(record.Request); ok {
				known[r.Index] = r
			}
		}
		aborted := false
		for _, row := range got.rows {
			switch r := row.(type) {
			case record.Event:
				aborted = aborted || r.What == record.WhatAborted
			case record.Request:
				want, ok := known[r.Index]
				if !ok {
					want = record.Request{
						Index: r.Index, Intended: r.Intended, Submitted: r.Intended, End: min(last, r.Intended+s.Horizon), FirstToken: record.Never,
						Outcome: record.Censored, Caller: r.Caller, ServedBy: -1,
					}
				}
				want.Attempts = r.Attempts // those that have a row: the recorder has held them against it
				if diff := cmp.Diff(want, r); diff != "" {
					t.Fatalf("cut at %v (-want +got):\n%s", last, diff)
				}
			}
		}
		if aborted == whole {
			t.Fatalf("aborted: %t, with %d of %d rows", aborted, n, len(all.rows))
		}
	})
}

const killedStudy = `
study: killed
clock: real
load: {rate: 400/s}
horizon: 100ms
dependencies: {service: {latency: 5ms}}
phases: [{name: well, for: 100ms}, {name: slow, for: 100ms, dependencies: {service: {latency: 40ms}}}]
compositions: {plain: [{timeout: {after: 80ms}}], again: [{retry: {attempts: 2}}]}
recovery: {clean_window: 0s}
`

// ranInto runs a study into a folder as far as its rows go: there is no result
// yet, so the spool is there.
func ranInto(t *testing.T, dir, text string) (*study.Study, *Result) {
	t.Helper()
	return ranIntoWith(t, t.Context(), dir, text, nil)
}

func ranIntoWith(t *testing.T, ctx context.Context, dir, text string, progress func(Progress)) (*study.Study, *Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s := read(t, file)
	folder, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := folder.WriteStudy(s); err != nil {
		t.Fatal(err)
	}
	r, _, err := Run(ctx, s, Options{Folder: folder, Rows: true, Instrument: Instrument{Version: "v1"}, Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// asJSON is what of a result is compared.
func asJSON(t *testing.T, r *Result) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// However much of the spool is there, it makes a result that is marked, and that
// is the same when it is made again from its own rows. The whole of it makes the
// numbers of the run.
func TestOpenKilled(t *testing.T) {
	dir := t.TempDir()
	_, ran := ranInto(t, dir, killedStudy)
	path := filepath.Join(dir, spool.File)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the run left no spool: %v", err)
	}
	header := bytes.IndexByte(whole, '}') + 200 // behind the header, and all that it says of the study
	offered := int64(-1)
	for size := header; ; size = min(size+len(whole)/7, len(whole)) {
		if err := os.WriteFile(path, whole[:size], 0o666); err != nil {
			t.Fatal(err)
		}
		f, r, env, err := OpenKilled(dir)
		if err != nil {
			t.Fatalf("%d of %d bytes: %v", size, len(whole), err)
		}
		if !r.Killed || !r.Aborted || r.Kill == nil || r.Instrument.Version != "v1" || env.Go == "" || len(env.Compositions) != 0 {
			t.Errorf("%d bytes: not marked: %+v, %+v", size, r, env)
		}
		if say := r.Findings[0]; !strings.Contains(say, "was killed") {
			t.Errorf("the first finding is %q", say)
		}
		for _, g := range r.Gates {
			if (g.Name == gateCPU || g.Name == gateActive) && (g.Passed || g.Value != nil || !strings.Contains(g.Reason, "was killed")) {
				t.Errorf("the gate %s: %+v", g.Name, g)
			}
		}
		n := int64(0)
		for _, c := range r.Compositions {
			n += c.Whole.Offered
		}
		if n < offered {
			t.Errorf("%d requests of %d bytes, and %d of fewer", n, size, offered)
		}
		offered = n
		again := reopened(t, f, r)
		if diff := cmp.Diff(asJSON(t, r), asJSON(t, again)); diff != "" {
			t.Errorf("%d bytes, made again from its rows (-want +got):\n%s", size, diff)
		}
		if size == len(whole) {
			for i := range ran.Compositions {
				want, got := ran.Compositions[i], r.Compositions[i]
				want.Stability, got.Stability = nil, nil
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the whole spool makes other numbers (-want +got):\n%s", diff)
				}
			}
			break
		}
	}
	if offered != 160 {
		t.Errorf("%d requests, expected 2 times 80", offered)
	}
}

// Of a run that is killed while it drains, what was to come after arrivals were
// stopped never came: it is not censored.
func TestOpenKilledInDrain(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	text := strings.NewReplacer("for: 100ms", "for: 10s", "horizon: 100ms", "horizon: 2s", "latency: 5ms", "latency: 500ms", "after: 80ms", "after: 1s").Replace(killedStudy)
	_, ran := ranIntoWith(t, ctx, dir, text, func(p Progress) {
		if p.At > 0 {
			stop()
		}
	})
	f, r, _, err := OpenKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, got := ran.Compositions[0].Whole, r.Compositions[0].Whole
	if want.Offered == 0 || got.Offered != want.Offered || got.Completed != want.Completed || got.Censored != 0 || r.Kill.Censored != 0 {
		t.Errorf("%d offered, %d completed, %d censored; the run had %d and %d", got.Offered, got.Completed, got.Censored, want.Offered, want.Completed)
	}
}

// reopened writes result.json and makes the result again, and takes result.json
// away again.
func reopened(t *testing.T, f *Folder, r *Result) *Result {
	t.Helper()
	defer f.Close()
	if err := f.Write(ResultFile, func(w io.Writer) error { return json.NewEncoder(w).Encode(r) }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(f.Path(), spool.File)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the spool is still there, beside a result: %v", err)
	}
	_, again, _, err := Open(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(f.Path(), ResultFile)); err != nil {
		t.Fatal(err)
	}
	return again
}

// Each error says what to do.
func TestOpenKilledErrors(t *testing.T) {
	dir := t.TempDir()
	ranInto(t, dir, strings.ReplaceAll(killedStudy, "100ms", "20ms"))
	files := make(map[string][]byte)
	for _, name := range []string{spool.File, StudyFile, EnvironmentFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = b
	}
	if _, err := NewFolder(dir); err == nil || !strings.Contains(err.Error(), "holds the rows of a run that did not end (rows.spool)") {
		t.Errorf("the rows of a killed run can be written over: %v", err)
	}
	if _, _, _, err := Open(dir); !errors.Is(err, ErrNoResult) || !strings.Contains(err.Error(), "brunt report "+dir) {
		t.Errorf("Open says %v", err)
	}
	cases := []struct {
		name  string
		spoil func(dir string)
		say   string
	}{
		// A folder that is still claimed by its run.
		{"running", func(dir string) {
			f := &Folder{path: dir}
			var err error
			if f.lock, err = os.Open(dir); err == nil {
				_, err = lock(f.lock)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
		}, "is still running"},
		{"no rows", func(dir string) { os.Remove(filepath.Join(dir, spool.File)) }, "holds no result.json"},
		{"no environment", func(dir string) { os.Remove(filepath.Join(dir, EnvironmentFile)) }, "holds no environment.json"},
		{"another study", func(dir string) {
			b := bytes.ReplaceAll(files[StudyFile], []byte("400/s"), []byte("500/s"))
			os.WriteFile(filepath.Join(dir, StudyFile), b, 0o666)
		}, "is not the study that was run"},
		{"a spool of noise", func(dir string) { os.WriteFile(filepath.Join(dir, spool.File), make([]byte, 100), 0o666) }, "not a spool"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, b := range files {
				if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			c.spoil(dir)
			_, _, _, err := OpenKilled(dir)
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, expected %q", err, c.say)
			}
			if _, err := os.Stat(filepath.Join(dir, "requests.parquet")); err == nil {
				t.Error("row files were written")
			}
		})
	}
}

// What was cut short is compared with nothing.
func TestCompareAborted(t *testing.T) {
	whole := measured(t, read(t, "outage", "ties.runs=0", "phases.*.for=1s"))
	cut := *whole
	cut.Aborted = true
	for _, pair := range [][2]*Result{{whole, &cut}, {&cut, whole}} {
		if _, err := CompareRuns(pair[0], pair[1], nil); err == nil || !strings.Contains(err.Error(), "was aborted") {
			t.Errorf("got %v", err)
		}
	}
}

// A standing adds up at each beat, and says in the end what the rows say.
func TestStandings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "study.yaml")
	text := strings.NewReplacer("horizon: 100ms", "horizon: 100ms\nwarmup: 50ms", "rate: 400/s", "rate: 400/s, max_in_flight: 8").Replace(killedStudy)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	var seen []Progress
	r, _, err := Run(t.Context(), read(t, file), Options{Progress: func(p Progress) { seen = append(seen, p) }})
	if err != nil {
		t.Fatal(err)
	}
	last := make(map[string]Progress)
	var order []string
	for _, p := range seen {
		name := p.Composition
		if p.Warmup {
			name += " warm-up"
		}
		if _, ok := last[name]; !ok {
			order = append(order, name)
			if p.At != 0 || p.Arrived != 0 {
				t.Errorf("%s begins with %+v", name, p)
			}
		}
		last[name] = p
		if sum := p.Completed + p.Errored + p.Censored + p.Shed + p.InFlight; sum != p.Arrived {
			t.Errorf("%d arrived, %d are accounted for: %+v", p.Arrived, sum, p)
		}
	}
	if want := []string{"plain warm-up", "plain", "again warm-up", "again"}; !slices.Equal(order, want) {
		t.Errorf("%v were told of, expected %v", order, want)
	}
	for i, name := range []string{"plain", "again"} {
		p, c := last[name], r.Compositions[i]
		if p.Arrived != c.Whole.Offered || p.Completed != c.Whole.Completed || p.Errored+p.Shed != c.Whole.Errored || p.Shed != c.Whole.Causes["harness"] || p.Censored != c.Whole.Censored ||
			p.Attempts != c.Whole.Attempts || p.InFlight != 0 || p.Active != 0 || p.PeakInFlight != c.Peak.Requests || p.PeakActive != c.Peak.Attempts || !p.Drains {
			t.Errorf("%s ends as %+v, the rows say %+v", name, p, c.Whole)
		}
	}
}

// A warm-up does not last until the last phase of the run would begin.
func TestWarmupHasNoTimeline(t *testing.T) {
	s := read(t, "outage")
	for sink, want := range map[record.Sink]int{nowhere{}: 0, &rowLog{}: len(s.Phases)} {
		r := newRunner(clock.Virtual(), s, s.Compositions.Names()[0], s.Schedule(), sink, false)
		if r.setTimeline(); len(r.timeline) != want {
			t.Errorf("%T: %d changes, expected %d", sink, len(r.timeline), want)
		}
	}
}

// The rate is that of the last second, and before there was one that since the
// start.
func TestRateOfArrivals(t *testing.T) {
	var now tally
	for i := range 20 {
		at := time.Duration(i) * beatEvery
		arrived := int64(at / (10 * time.Millisecond))
		if at > 2*time.Second {
			arrived = 200
		}
		want := 100.0
		switch {
		case i == 0 || at >= 3*time.Second:
			want = 0
		case at > 2*time.Second:
			want = 100 * (3 - at.Seconds())
		}
		if got := now.rate(arrived, at); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("at %v: %v/s, expected %v/s", at, got, want)
		}
	}
}

// What comes next is the next instant of the study's timeline.
func TestChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "study.yaml")
	err := os.WriteFile(file, []byte(`
study: faulty
load: {rate: 10/s}
horizon: 1s
slo: {end_to_end: 1s}
dependencies: {service: {latency: 5ms}}
phases: [{name: well, for: 10s}, {name: outage, for: 20s}, {name: after, for: 30s}]
fault: {phase: outage}
compositions: {plain: [{timeout: {after: 80ms}}]}
`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	s := read(t, file)
	for _, c := range []struct {
		at          time.Duration
		phase, next string
		in          time.Duration
	}{
		{0, "well", "phase outage and the fault", 10 * time.Second},
		{9999 * time.Millisecond, "well", "phase outage and the fault", time.Millisecond},
		{10 * time.Second, "outage", "phase after", 20 * time.Second},
		{40 * time.Second, "after", "end of the schedule", 20 * time.Second},
		// While requests drain nothing changes.
		{60 * time.Second, "after", "", 0},
	} {
		if phase, next, in := changes(s, c.at); phase != c.phase || next != c.next || in != c.in {
			t.Errorf("at %v: %q, then %q in %v", c.at, phase, next, in)
		}
	}
}
