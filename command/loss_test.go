package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/fault"
	"brunt/lab"
	"brunt/measure"
	"brunt/record"
)

// lossStudy takes one of two replicas away, in as little time as leaves every
// window something. FAULT is what is done.
const lossStudy = `
study: loss
question: Two replicas behind a front lose one. What do callers see?
clock: real
seed: 1
load: {rate: 40/s}
horizon: 1s
target: {kind: openai, model: mock, max_tokens: 8}
testbed:
  replicas: 2
  behaviour: {first_token: 250ms, token_gap: 10ms, tokens: 8, workers: 64, queue: 64}
  load_for: 300ms
  health: {interval: 100ms, timeout: 300ms, fall: 2, rise: 2}
phases:
  - {name: warm-up,   for: 1s}
  - {name: baseline,  for: 3s}
  - {name: fault,     for: 3500ms}
  - {name: cool-down, for: 500ms}
compositions: {plain: [{call: target}]}
slo: {end_to_end: 800ms}
fault:
  phase: fault
  warmup: 1s
  cooldown: 500ms
  bucket: 500ms
  FAULT
recovery:
  detector: {entry: 90%, exit: 85%, window: 500ms, hold: 1s}
tables: [outcomes, recovery]
`

const holeText = "black_hole: 1500ms\n  partition_heals: true"

// loss is a way to take a replica away, and how the requests end that it has in
// hand.
type loss struct {
	name, text string
	kind       fault.Kind
	lasts      time.Duration
	fate       record.Outcome
	nobody     bool // run by an ordinary user
}

var losses = []loss{
	{name: "kill", text: "inject: {kind: kill, for: 500ms}", kind: fault.Kill, lasts: 500 * time.Millisecond, fate: record.Errored},
	// The connections of what only stands still stay.
	{name: "freeze", text: "inject: {kind: freeze, for: 1500ms}", kind: fault.Freeze, lasts: 1500 * time.Millisecond, fate: record.Censored},
	{name: "stall", text: "inject: {kind: mode, mode: stall, for: 1500ms}", kind: fault.Mode, lasts: 1500 * time.Millisecond, fate: record.Censored},
	{name: "black hole", text: holeText, kind: fault.BlackHole, lasts: 1500 * time.Millisecond, fate: record.Censored},
	{name: "black hole of an ordinary user", text: holeText, kind: fault.BlackHole, lasts: 1500 * time.Millisecond, fate: record.Censored, nobody: true},
}

// TestLoss: one of two replicas goes, in every way that there is. What callers
// saw of it, the fault, the way back and its gates are told as they were, a
// report can be made again, and nothing is left.
func TestLoss(t *testing.T) {
	runs := startLosses(t) // all at once: they wait more than they work
	for i, l := range losses {
		t.Run(l.name, func(t *testing.T) {
			s, p := runs[i].siege, runs[i].process
			if p == nil {
				t.Skip(runs[i].reason)
			}
			folder := "out"
			for try := range 3 {
				if p.status() == statusOK && !tooBusyToTell(s.result(t, folder)) || p.status() == statusFailed && !strings.Contains(p.stderr.String(), tooBusy) {
					break
				} else if try == 2 && p.status() == statusOK {
					t.Skip("the machine is too busy to send on time: run this test by itself")
				}
				folder = fmt.Sprint("again", try) // now it is alone
				p = s.start(t, nil, "run", "study.yaml", "--out", folder)
			}
			p.expect(statusOK)
			s.nothingLeft(t)
			if got, err := filepath.Glob(filepath.Join(s.folder, folder, "testbed/plain/*")); err != nil || len(got) != 1 || filepath.Base(got[0]) != "front.jsonl" {
				t.Errorf("in the testbed's folder: %v, %v", got, err)
			}
			r := s.result(t, folder)
			l.fates(t, r, s.rows(t, folder))
			l.instants(t, r)
			l.gates(t, r)
			s.reports(t, folder)
			if l.kind == fault.Kill {
				s.damaged(t, folder)
			}
		})
	}
}

// lossRun is a loss that is being run; without a process it cannot be tried here,
// for a reason.
type lossRun struct {
	siege   *siege
	process *attacker
	reason  string
}

func startLosses(t *testing.T) (runs []lossRun) {
	t.Helper()
	for _, l := range losses {
		r := lossRun{siege: besiege(t)}
		r.siege.file(t, "study.yaml", at(lossStudy, "FAULT", l.text))
		if l.nobody {
			r.reason = r.siege.asNobody(t)
		} else if l.kind == fault.BlackHole && os.Geteuid() == 0 {
			if err := fault.CanBlackHole(); err != nil {
				r.reason = "no black hole can be made here: " + err.Error()
			}
		}
		if r.reason == "" {
			r.process = r.siege.start(t, nil, "run", "study.yaml", "--out", "out")
		}
		runs = append(runs, r)
	}
	return runs
}

// tooBusyToTell reports whether the machine kept the client from sending on time.
// A fault fires late then too, what is well takes longer than the horizon, and a
// front takes replicas out whose health is not answered in time.
func tooBusyToTell(r *lab.Result) bool {
	p99 := r.Compositions[0].Whole.SchedulerLag.P99
	return p99 == nil || time.Duration(*p99) > 20*time.Millisecond
}

// fates holds what became of the requests against the way of the loss.
func (l loss) fates(t *testing.T, r *lab.Result, all *rows) {
	t.Helper()
	c := &r.Compositions[0]
	if w := c.Whole; w.Offered != 320 || w.Completed+w.Errored+w.Censored != w.Offered {
		t.Errorf("of %d requests %d completed, %d errored, %d censored: expected all of 320", w.Offered, w.Completed, w.Errored, w.Censored)
	}
	f := c.InFlight
	if f == nil || f.Victim == nil {
		t.Fatalf("in flight at the fire: %+v", f)
	}
	lost, other := f.Victim.Errored, f.Victim.Censored
	if l.fate == record.Censored {
		lost, other = other, lost
	}
	const before = 3 // may have had its answer when the fault was really there
	if lost == 0 || other != 0 || lost < f.Victim.Open-before {
		t.Errorf("of the victim's requests in flight %+v: expected all %s, but for what ended before", f.Victim, l.fate)
	}
	if f.Others.Open < 3 || f.Others.Completed != f.Others.Open {
		t.Errorf("of the others' requests in flight %+v: expected all completed", f.Others)
	}
	for _, q := range all.requests {
		if q.Outcome == record.Censored && q.End != q.Intended+time.Second {
			t.Errorf("request %d is censored %v after its instant: expected exactly the horizon", q.Index, q.End-q.Intended)
		}
	}
}

// instants holds what the fault went through against the order of things.
func (l loss) instants(t *testing.T, r *lab.Result) {
	t.Helper()
	site := r.Compositions[0].Site
	if site == nil || site.Fault == nil {
		t.Fatal("nothing is told of the fault")
	}
	at := map[string]time.Duration{}
	for _, i := range site.Fault.Instants {
		if i.At != nil {
			at[i.What] = time.Duration(*i.At)
		}
	}
	order := []string{"armed", "fired", "effect", "expired", "heal"}
	for i, what := range order {
		got, seen := at[what]
		if !seen {
			t.Errorf("no instant of %s among %v", what, at)
		} else if before := order[max(0, i-1)]; got < at[before] {
			t.Errorf("%s at %v, before %s at %v", what, got, before, at[before])
		}
	}
	if planned := time.Duration(site.Fault.Planned); site.Fault.Victim != "b" || planned != 4*time.Second || at["fired"] < planned {
		t.Errorf("%s was fired at at %v, planned at %v: expected b, not before 4s", site.Fault.Victim, at["fired"], planned)
	}
	if got := at["expired"] - at["fired"]; got < l.lasts {
		t.Errorf("it lasted %v: expected %v", got, l.lasts)
	}
	seen := map[string]bool{}
	for _, g := range site.Fault.Segments {
		seen[g.Name] = g.Length != nil
		if g.Length == nil && g.Reason == "" || g.Length != nil && (g.From == nil || g.To == nil || *g.Length != *g.To-*g.From || *g.Length < 0) {
			t.Errorf("%+v", g)
		}
	}
	want := map[string]bool{
		"effect to out of the front": l.kind != fault.Mode, // a stalled one passes its health checks
		"effect to start again":      l.kind == fault.Kill,
		measure.ReadyToRestored:      true,
	}
	for name, told := range want {
		if got, there := seen[name]; !there || got != told {
			t.Errorf("%s: told %v, there %v, among %v", name, got, there, seen)
		}
	}
	if l.kind == fault.BlackHole && site.Fault.Stale == nil {
		t.Error("nothing is told of the stale route")
	}
	if len(site.Shares) != 2 {
		t.Fatalf("the shares: %+v", site.Shares)
	}
	for _, share := range site.Shares {
		if share.Share == nil || *share.Share < 0.45 || *share.Share > 0.55 {
			t.Errorf("the share of %+v: expected half", share)
		}
	}
}

// gates holds the gates of the fault against what can be told of it.
func (l loss) gates(t *testing.T, r *lab.Result) {
	t.Helper()
	for _, name := range []string{"fault fired within", "effect of the fault seen", "end of the fault seen", "share of the baseline's requests at each replica", "different machines"} {
		if g := gateOf(t, r, name); !g.Applies || !g.Passed {
			t.Errorf("%+v", g)
		}
	}
	silent := gateOf(t, r, "requests of the victim in flight that ended errored")
	if hole := l.kind == fault.BlackHole; silent.Applies != hole || silent.Passed != hole || hole && *silent.Value != 0 {
		t.Errorf("%+v", silent)
	}
	// The route of a front that looks so often is not stale for long.
	if l.kind == fault.BlackHole && (r.NodeLoss == nil || r.NodeLoss.Represents || len(r.NodeLoss.Reasons) == 0) {
		t.Errorf("it may be called the loss of a node: %+v", r.NodeLoss)
	}
}

// reports makes the result again, also where another machine is told of.
func (s *siege) reports(t *testing.T, folder string) {
	t.Helper()
	path := func(name string) string { return filepath.Join(s.folder, folder, name) }
	read := func(name string) string {
		text, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want, report := read(lab.ResultFile), read(lab.ReportFile)
	s.start(t, nil, "report", folder).expect(statusOK)
	if diff := cmp.Diff(want, read(lab.ResultFile)); diff != "" {
		t.Errorf("the result, made again:\n%s", diff)
	}
	if diff := cmp.Diff(report, read(lab.ReportFile)); diff != "" {
		t.Errorf("the report, made again:\n%s", diff)
	}
	environment := read(lab.EnvironmentFile)
	s.file(t, filepath.Join(folder, lab.EnvironmentFile), `{"started": "2026-01-02T03:04:05Z", "go": "go1.27", "os": "another system", "arch": "arm64", "cpus": 96, "cpu": "another processor"}`)
	elsewhere := s.start(t, nil, "report", folder)
	elsewhere.expect(statusOK)
	if diff := cmp.Diff(want, read(lab.ResultFile)); diff != "" {
		t.Errorf("the result of another machine:\n%s", diff)
	}
	if text := read(lab.ReportFile); !strings.Contains(text, "another system") || !strings.Contains(text, "96 CPUs") {
		t.Errorf("the report does not tell of the machine that it was run on:\n%s", text)
	}
	s.file(t, filepath.Join(folder, lab.EnvironmentFile), environment)
}

// damaged has folders reported that lack something: that is refused, and what
// is there stays.
func (s *siege) damaged(t *testing.T, folder string) {
	t.Helper()
	for _, c := range []struct {
		name, file string
		cut        bool // in half; else the file is missing
		says       string
	}{
		{"no attempts", "attempts.parquet", false, "attempts.parquet"},
		{"no requests", "requests.parquet", false, "requests.parquet"},
		{"no events", "events.parquet", false, "events.parquet"},
		{"half the requests", "requests.parquet", true, "requests.parquet"},
		{"half the attempts", "attempts.parquet", true, "attempts.parquet"},
		{"half the events", "events.parquet", true, "events.parquet"},
		{"no study", lab.StudyFile, false, "study.yaml"},
		{"half the study", lab.StudyFile, true, "study.yaml"},
		{"no environment", lab.EnvironmentFile, false, "environment.json"},
		{"half the environment", lab.EnvironmentFile, true, "environment.json"},
		{"half the result", lab.ResultFile, true, "result.json"},
	} {
		copied := filepath.Join(s.folder, "damaged")
		if err := os.CopyFS(copied, os.DirFS(filepath.Join(s.folder, folder))); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(copied, c.file)
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if c.cut {
			err = os.Truncate(file, info.Size()/2)
		} else {
			err = os.Remove(file)
		}
		if err != nil {
			t.Fatal(err)
		}
		before := contents(t, copied)
		p := s.start(t, nil, "report", "damaged")
		p.expect(statusUsage)
		if !strings.Contains(p.stderr.String(), c.says) {
			t.Errorf("%s: it says %q", c.name, p.stderr.String())
		}
		if diff := cmp.Diff(before, contents(t, copied)); diff != "" {
			t.Errorf("%s: the folder has changed:\n%s", c.name, diff)
		}
		if err := os.RemoveAll(copied); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.DeleteFunc(found, isFolder) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = string(text)
	}
	return all
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
