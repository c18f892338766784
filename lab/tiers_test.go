package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/clock"
	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// diary keeps a line for every attempt, in the order of their starts.
type diary struct {
	nowhere
	names []string
	lines map[string]string // by request and index
	opens map[int32]int     // openings of breakers, by caller
}

func (d *diary) Attempt(a *record.Attempt) {
	what := a.Outcome()
	if a.Wasted {
		what += " wasted"
	}
	d.lines[fmt.Sprintf("%d.%d", a.Request, a.Index)] = fmt.Sprintf("%s of %d: %v to %v, wait %v, busy %v, gone %v, %s",
		d.names[a.Dependency], a.Parent, a.Start, a.End, a.Wait, a.Busy, a.CleanupEnd, what)
}

func (d *diary) Event(e *record.Event) {
	if e.What == record.WhatBreaker && e.State == "open" {
		d.opens[e.Caller]++
	}
}

// written reads a study from text.
func written(t *testing.T, text string) *study.Study {
	t.Helper()
	file := filepath.Join(t.TempDir(), "study.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return read(t, file)
}

func diaryOf(t *testing.T, s *study.Study) *diary {
	t.Helper()
	d := &diary{names: s.Callees(), lines: map[string]string{}, opens: map[int32]int{}}
	name := s.Compositions.Names()[0]
	if err := runOn(context.Background(), clock.Virtual(), s, name, s.Schedule(), d, false, nil); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestServices: what a service does for one attempt, line by line.
func TestServices(t *testing.T) {
	const head = "study: x\nload: {arrivals: burst, burst: 1}\nhorizon: 10s\nphases: [{name: all, for: 1s}]\n"
	for _, test := range []struct {
		name, study string
		want        []string // by index of the attempt
	}{
		{"own work comes first, and the worker stays until the calls are over", `
dependencies: {db: {latency: 5ms, workers: 1}}
services: {api: {latency: 2ms, workers: 1, stack: [{call: db}]}}
compositions: {c: [{call: api}]}`, []string{
			"api of -1: 0s to 7ms, wait 0s, busy 7ms, gone 7ms, completed",
			"db of 0: 2ms to 7ms, wait 0s, busy 5ms, gone 7ms, completed",
		}},
		{"a failure inside is a failure, whatever it was", `
dependencies: {db: {latency: 5ms}}
services: {api: {stack: [{timeout: {after: 3ms}}, {call: db}]}}
compositions: {c: [{call: api}]}`, []string{
			"api of -1: 0s to 3ms, wait 0s, busy 0s, gone 3ms, failure",
			"db of 0: 0s to 3ms, wait 0s, busy 0s, gone 3ms, cancelled wasted",
		}},
		{"retries of two tiers multiply", `
dependencies: {db: {latency: 5ms, fail: {ratio: 1}}}
services: {api: {stack: [{retry: {attempts: 2, backoff: {kind: none}}}, {call: db}]}}
compositions: {c: [{retry: {attempts: 2, backoff: {kind: none}}}, {call: api}]}`, []string{
			"api of -1: 0s to 10ms, wait 0s, busy 0s, gone 10ms, failure",
			"db of 0: 0s to 5ms, wait 0s, busy 0s, gone 5ms, failure",
			"db of 0: 5ms to 10ms, wait 0s, busy 0s, gone 10ms, failure",
			"api of -1: 10ms to 20ms, wait 0s, busy 0s, gone 20ms, failure",
			"db of 3: 10ms to 15ms, wait 0s, busy 0s, gone 15ms, failure",
			"db of 3: 15ms to 20ms, wait 0s, busy 0s, gone 20ms, failure",
		}},
		{"it goes on for a caller that has left, retries and all: nobody wants what comes of it", `
dependencies: {db: {latency: 5ms, fail: {ratio: 1}}}
services: {api: {stack: [{retry: {attempts: 3, backoff: {kind: none}}}, {call: db}]}}
compositions: {c: [{timeout: {after: 7ms}}, {call: api}]}`, []string{
			"api of -1: 0s to 7ms, wait 0s, busy 0s, gone 15ms, cancelled wasted",
			"db of 0: 0s to 5ms, wait 0s, busy 0s, gone 5ms, failure",
			"db of 0: 5ms to 10ms, wait 0s, busy 0s, gone 10ms, failure wasted",
			"db of 0: 10ms to 15ms, wait 0s, busy 0s, gone 15ms, failure wasted",
		}},
		{"unless it notices that its caller has left", `
dependencies: {db: {latency: 5ms, fail: {ratio: 1}}}
services: {api: {on_cancel: stops, stack: [{retry: {attempts: 3, backoff: {kind: none}}}, {call: db}]}}
compositions: {c: [{timeout: {after: 7ms}}, {call: api}]}`, []string{
			"api of -1: 0s to 7ms, wait 0s, busy 0s, gone 7ms, cancelled wasted",
			"db of 0: 0s to 5ms, wait 0s, busy 0s, gone 5ms, failure",
			"db of 0: 5ms to 7ms, wait 0s, busy 0s, gone 7ms, cancelled wasted",
		}},
		{"or knows the deadline: a hedge's loser goes on to it, and no further", `
dependencies: {db: {latency: {first: 50ms, later: 5ms}}}
services: {api: {deadline: heeded, stack: [{call: db}]}}
compositions: {c: [{timeout: {after: 30ms}}, {hedge: {extra: 1, after: 10ms}}, {call: api}]}`, []string{
			"api of -1: 0s to 15ms, wait 0s, busy 0s, gone 30ms, cancelled wasted",
			"db of 0: 0s to 30ms, wait 0s, busy 0s, gone 30ms, cancelled wasted",
			"api of -1: 10ms to 15ms, wait 0s, busy 0s, gone 15ms, completed",
			"db of 2: 10ms to 15ms, wait 0s, busy 0s, gone 15ms, completed",
		}},
		{"also when its caller left while it was at its own work", `
dependencies: {db: {latency: {first: 90ms, later: 300ms}}}
services: {api: {latency: 10ms, deadline: heeded, stack: [{call: db}]}}
compositions: {c: [{hedge: {extra: 1, after: 95ms}}, {timeout: {after: 150ms}}, {call: api}]}`, []string{
			"api of -1: 0s to 100ms, wait 0s, busy 0s, gone 100ms, completed",
			"db of 0: 10ms to 100ms, wait 0s, busy 0s, gone 100ms, completed",
			"api of -1: 95ms to 100ms, wait 0s, busy 0s, gone 245ms, cancelled wasted",
			"db of 2: 105ms to 245ms, wait 0s, busy 0s, gone 245ms, cancelled wasted",
		}},
		{"what a full queue turns away has the cause overload, and is retried as a failure", `
dependencies: {db: {latency: 5ms, workers: 1, queue: 0}}
services: {api: {stack: [{hedge: {extra: 1, after: 1ms}}, {retry: {attempts: 2, backoff: {kind: none}}}, {call: db}]}}
compositions: {c: [{call: api}]}`, []string{
			"api of -1: 0s to 5ms, wait 0s, busy 0s, gone 5ms, completed",
			"db of 0: 0s to 5ms, wait 0s, busy 5ms, gone 5ms, completed",
			"db of 0: 1ms to 1ms, wait 0s, busy 0s, gone 1ms, overload",
			"db of 0: 1ms to 1ms, wait 0s, busy 0s, gone 1ms, overload",
		}},
		{"what hangs is given up one horizon after the service began to call it, also for a caller that has left", `
dependencies: {db: {hang: true}}
services: {api: {latency: 2ms, stack: [{call: db}]}}
compositions: {c: [{timeout: {after: 7ms}}, {call: api}]}`, []string{
			"api of -1: 0s to 7ms, wait 0s, busy 0s, gone 10.002s, cancelled wasted",
			"db of 0: 2ms to 10.002s, wait 0s, busy 0s, gone 10.002s, cancelled wasted",
		}},
		{"a service that fails by itself calls nobody", `
dependencies: {db: {latency: 5ms}}
services: {api: {latency: 2ms, fail: {first: 1}, stack: [{call: db}]}}
compositions: {c: [{retry: {attempts: 2, backoff: {kind: none}}}, {call: api}]}`, []string{
			"api of -1: 0s to 2ms, wait 0s, busy 0s, gone 2ms, failure",
			"api of -1: 2ms to 9ms, wait 0s, busy 0s, gone 9ms, completed",
			"db of 1: 4ms to 9ms, wait 0s, busy 0s, gone 9ms, completed",
		}},
	} {
		got := diaryOf(t, written(t, head+test.study)).lines
		for i, want := range test.want {
			if line := got[fmt.Sprintf("0.%d", i)]; line != want {
				t.Errorf("%s: attempt %d\n got %s\nwant %s", test.name, i, line, want)
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: %d attempts, want %d", test.name, len(got), len(test.want))
		}
	}
}

// TestServicesAreAsPatientAsCallers: a service without work of its own makes no
// failure of what is censored, and no attempt after its caller has left.
func TestServicesAreAsPatientAsCallers(t *testing.T) {
	r := measured(t, written(t, `
study: x
load: {arrivals: burst, burst: 2}
horizon: 200ms
dependencies: {db: {latency: 100ms, workers: 1}, dead: {hang: true}}
services: {api: {stack: [{call: db}]}, front: {stack: [{call: dead}]}, outer: {stack: [{call: front}]}}
phases: [{name: a, for: 1s}]
compositions: {db: [{call: db}], api: [{call: api}], dead: [{call: dead}], front: [{call: front}], nested: [{retry: {attempts: 3, backoff: {kind: none}}}, {call: outer}]}`))
	for _, test := range []struct {
		composition                   string
		completed, censored, attempts float64
	}{{"db", 2, 0, 2}, {"api", 2, 0, 4}, {"dead", 0, 2, 2}, {"front", 0, 2, 4}, {"nested", 0, 2, 6}} {
		got := []float64{r.value(t, test.composition, "a", "completed"), r.value(t, test.composition, "a", "censored"), r.value(t, test.composition, "a", "attempts")}
		if want := []float64{test.completed, test.censored, test.attempts}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: completed, censored and attempts %v, want %v", test.composition, got, want)
		}
	}
}

// TestBacklogIsServedAtTheSpeedOfTheDay: 20 attempts a second wait for ten
// seconds for a worker that is twenty times as slow; once it is well, it does 50 a
// second, and 20 come: it is through after about 180/30 s.
func TestBacklogIsServedAtTheSpeedOfTheDay(t *testing.T) {
	r := measured(t, written(t, `
study: x
load: {rate: 20/s}
horizon: 60s
dependencies: {db: {latency: 20ms, workers: 1}}
phases: [{name: before, for: 10s}, {name: slow, for: 10s, dependencies: {db: {slowdown: 20}}}, {name: after, for: 20s}]
compositions: {x: [{call: db}]}`))
	queue := r.composition(t, "x").Timeline.Queue["db"]
	step := time.Duration(r.composition(t, "x").Timeline.Step)
	for at, n := range queue {
		if second := (time.Duration(at) * step).Seconds(); second > 27 && n > 1 {
			t.Fatalf("at %v s %d attempts wait", second, n)
		}
	}
	if most := r.value(t, "x", "after", "queue.db.max"); most < 170 || most > 180 {
		t.Errorf("at most %v attempts wait", most)
	}
}

// TestAbortedInAPause: a run that is interrupted while all stands still drains.
func TestAbortedInAPause(t *testing.T) {
	s := written(t, `
study: x
load: {rate: 100/s}
horizon: 5s
dependencies: {db: {latency: 20ms, workers: 3}}
phases: [{name: before, for: 1s}, {name: pause, for: 5s, dependencies: {db: {paused: true}}}, {name: after, for: 1s}]
compositions: {x: [{timeout: {after: 500ms}}, {call: db}]}`)
	loop := clock.Virtual()
	m := measure.NewRecorder(plan(s), 0)
	r := newRunner(loop, s, "x", s.Schedule(), m, false)
	loop.At(3*time.Second, clock.Work, clock.Func(r.abort))
	r.run(nil)
	if c, err := m.Composition("x"); err != nil || c.ActiveAfterDrain != 0 || !m.Aborted() {
		t.Errorf("%v, %d attempts are active, aborted %v", err, c.ActiveAfterDrain, m.Aborted())
	}
}

// TestLosersPendingOfServices: attempts open, and not cancelled, when the caller
// had its answer; not those that a service starts later, and also those that end
// by themselves.
func TestLosersPendingOfServices(t *testing.T) {
	const head = "study: x\nload: {arrivals: burst, burst: 1}\nhorizon: 2s\nphases: [{name: a, for: 1s}]\n"
	for _, test := range []struct {
		study string
		want  int64
	}{
		// the service is at its own work until 60 ms, after the answer at 50 ms: it was cancelled before that
		{"dependencies: {db: {latency: 300ms}}\nservices: {api: {latency: 60ms, workers: 1, stack: [{timeout: {after: 100ms}}, {call: db}]}}\ncompositions: {x: [{timeout: {after: 50ms}}, {call: api}]}", 0},
		// the call to db goes on
		{"dependencies: {db: {latency: {first: 100ms, later: 90ms}}}\nservices: {api: {latency: 1ms, stack: [{call: db}]}}\ncompositions: {x: [{timeout: {after: 50ms}}, {call: api}]}", 1},
		// the hedge's loser and its call
		{"dependencies: {db: {latency: {first: 100ms, later: 90ms}}}\nservices: {api: {latency: 1ms, stack: [{call: db}]}}\ncompositions: {x: [{hedge: {extra: 1, after: 30ms}}, {call: api}]}", 2},
	} {
		if got := measured(t, written(t, head+test.study)).Compositions[0].LosersPending; got != test.want {
			t.Errorf("%s: %d losers pending, want %d", test.study, got, test.want)
		}
	}
}

// TestSharedStagesKeepTheirDraws: who has the instance of a retry, and whether
// services have retries, changes no wait.
func TestSharedStagesKeepTheirDraws(t *testing.T) {
	const head = "study: x\nload: {rate: 10/s}\nhorizon: 2s\nphases: [{name: a, for: 1s}]\ndependencies: {db: {latency: 5ms, fail: {first: 1}}}\n"
	var medians []float64
	for _, rest := range []string{
		"callers: 2\ncompositions: {x: [{retry: {attempts: 2}}, {retry: {attempts: 2}}, {call: db}]}",
		"callers: 2\ncompositions: {x: [{retry: {attempts: 2}, shared: true}, {retry: {attempts: 2}}, {call: db}]}",
		"callers: 2\ncompositions: {x: [{retry: {attempts: 2}}, {retry: {attempts: 2}, shared: true}, {call: db}]}",
		"compositions: {x: [{retry: {attempts: 2}}, {retry: {attempts: 2}}, {call: db}]}",
		"callers: 2\nservices: {api: {stack: [{retry: {attempts: 2}}, {call: db}]}}\ncompositions: {x: [{retry: {attempts: 2}}, {retry: {attempts: 2}}, {call: db}]}",
		"compositions: {x: [{retry: {attempts: 2}}, {call: db}]}", // the outer one never acts
	} {
		medians = append(medians, measured(t, written(t, head+rest)).value(t, "x", "a", "completed.p50"))
	}
	for _, m := range medians {
		if m != medians[0] {
			t.Fatalf("the median is %v", medians)
		}
	}
}

// TestCancelledAtWork: what becomes of an attempt that its caller gives up after
// 7 ms, when 10 ms of work are before it in the queue.
func TestCancelledAtWork(t *testing.T) {
	const head = `
study: x
load: {arrivals: burst, burst: 2}
horizon: 10s
phases: [{name: all, for: 1s}]
compositions: {c: [{timeout: {after: 7ms}}]}
dependencies: `
	for _, test := range []struct {
		dependency  string
		first, next string
	}{
		// both are worked on to their end
		{"{db: {latency: 10ms, workers: 1}}", "busy 10ms, gone 10ms", "wait 10ms, busy 10ms, gone 20ms"},
		// the waiting one leaves at once
		{"{db: {latency: 10ms, workers: 1, on_cancel: stops}}", "busy 7ms, gone 7ms", "wait 7ms, busy 0s, gone 7ms"},
		// the clean-up keeps the worker of the first; the second has one too, but holds nothing
		{"{db: {latency: 10ms, workers: 1, on_cancel: stops, cancel_cleanup: 2ms}}", "busy 9ms, gone 9ms", "wait 7ms, busy 0s, gone 9ms"},
		// a deadline that is known is as good
		{"{db: {latency: 10ms, workers: 1, deadline: heeded}}", "busy 7ms, gone 7ms", "wait 7ms, busy 0s, gone 7ms"},
		// what hangs holds its worker until it is given up; then the other has it
		{"{db: {hang: true, workers: 1}}", "busy 7ms, gone 7ms", "wait 7ms, busy 0s, gone 7ms"},
		// twice the work
		{"{db: {latency: 10ms, slowdown: 2, workers: 1}}", "busy 20ms, gone 20ms", "wait 20ms, busy 20ms, gone 40ms"},
	} {
		got := diaryOf(t, written(t, head+test.dependency)).lines
		for request, want := range []string{test.first, test.next} {
			if line := got[fmt.Sprintf("%d.0", request)]; !strings.Contains(line, want) || !strings.HasSuffix(line, "cancelled wasted") {
				t.Errorf("%s: request %d\n got %s\nwant %s", test.dependency, request, line, want)
			}
		}
	}
}

// TestCallers: each caller's breaker opens after its own two failures, a shared
// one after anybody's two; a shared stage around callers' own reaches the right
// ones, and a fallback asks each caller's own breaker.
func TestCallers(t *testing.T) {
	const head = `
study: x
load: {rate: 10/s}
callers: 2
horizon: 10s
dependencies: {db: {latency: 1ms, fail: {ratio: 1}}, backup: {latency: 1ms}}
phases: [{name: all, for: 1s}]
compositions: {c: `
	for _, test := range []struct {
		stack    string
		opens    map[int32]int
		attempts int // at db, of ten requests
	}{
		{"[{breaker: {consecutive: 2, open_for: 10s}}, {call: db}]", map[int32]int{0: 1, 1: 1}, 4},
		{"[{breaker: {consecutive: 2, open_for: 10s}, shared: true}, {call: db}]", map[int32]int{-1: 1}, 2},
		{"[{limit: {permits: 5}, shared: true}, {breaker: {consecutive: 2, open_for: 10s}}, {call: db}]", map[int32]int{0: 1, 1: 1}, 4},
		{"[{breaker: {consecutive: 2, open_for: 10s}}, {limit: {permits: 5}, shared: true}, {call: db}]", map[int32]int{0: 1, 1: 1}, 4},
		{"[{fallback: {open: skip, to: [[{breaker: {consecutive: 2, open_for: 10s}}, {call: db}], [{call: backup}]]}}]", map[int32]int{0: 1, 1: 1}, 4},
		{"[{fallback: {open: skip, to: [[{breaker: {consecutive: 2, open_for: 10s}, shared: true}, {call: db}], [{call: backup}]]}}]", map[int32]int{-1: 1}, 2},
		{"[{fallback: {open: skip, to: [[{limit: {permits: 5}, shared: true}, {breaker: {consecutive: 2, open_for: 10s}}, {call: db}], [{call: backup}]]}}]", map[int32]int{0: 1, 1: 1}, 4},
	} {
		d := diaryOf(t, written(t, head+test.stack+"}"))
		if fmt.Sprint(d.opens) != fmt.Sprint(test.opens) {
			t.Errorf("%s: openings by caller %v, want %v", test.stack, d.opens, test.opens)
		}
		n := 0
		for _, line := range d.lines {
			if strings.HasPrefix(line, "db ") {
				n++
			}
		}
		if n != test.attempts {
			t.Errorf("%s: %d attempts at db, want %d", test.stack, n, test.attempts)
		}
	}
}

// TestWhoCalls: callers take turns, and are drawn when arrivals are.
func TestWhoCalls(t *testing.T) {
	s := read(t, "many-callers", "callers=3", "load.arrivals=constant")
	for i, want := range []int32{0, 1, 2, 0, 1} {
		if got := s.Caller(int64(i)); got != want {
			t.Errorf("request %d is of caller %d, want %d", i, got, want)
		}
	}
	s = read(t, "many-callers", "callers=3")
	var count [3]int
	for i := range int64(30_000) {
		count[s.Caller(i)]++
	}
	for caller, n := range count { // binomial, standard deviation 82
		if n < 10_000-4*82 || n > 10_000+4*82 {
			t.Errorf("caller %d makes %d of 30,000 requests", caller, n)
		}
	}
}

// TestOverloadStudies: the built-in studies show what their pages say, whatever
// the seed.
func TestOverloadStudies(t *testing.T) {
	longOnly(t)
	for _, name := range []string{"metastable", "pause", "tiers", "brownout", "many-callers"} {
		for _, seed := range []string{"seed=1", "seed=2"} {
			for _, v := range measured(t, read(t, name, seed)).Expectations {
				if !v.Passed {
					t.Errorf("%s, %s: %s %s %s %s %s: %v %s", name, seed, v.Composition, v.Phase, v.Measure, v.Relation, v.Limit, v.Value, v.Reason)
				}
			}
		}
	}
}

// TestLoadCut: the retry of the pause study needs a cut of its load, and less
// would not do; a backlog alone needs none, only time.
func TestLoadCut(t *testing.T) {
	longOnly(t)
	s := read(t, "pause")
	r := measured(t, s)
	if len(r.LoadCuts) != 1 || r.LoadCuts[0].Composition != "retry" || r.LoadCuts[0].Share == nil {
		t.Fatalf("load cuts: %+v", r.LoadCuts)
	}
	// By the verdict the backlog is about 1.1 workers' capacities times 31 s, and three
	// attempts a request come to 2.1: within 60 s it goes only if the load is cut
	// by about 80 %.
	if share := *r.LoadCuts[0].Share; share < 0.7 || share > 0.9 {
		t.Errorf("the least cut is %v", share)
	}
	judged := time.Duration(*r.composition(t, "retry").Stability.JudgedAt)
	for _, test := range []struct {
		percent int
		ends    bool
	}{{int(*r.LoadCuts[0].Share*100+0.5) - 1, false}, {int(*r.LoadCuts[0].Share*100 + 0.5), true}} {
		c, err := Measure(context.Background(), cutStudy(s, judged, test.percent), "retry")
		if err != nil {
			t.Fatal(err)
		}
		if n := numberOf(&c, whole, "metastable"); (n.Value == 0) != test.ends {
			t.Errorf("a cut of %d %%: metastable is %v %s", test.percent, n.Value, n.Refusal)
		}
	}
}
