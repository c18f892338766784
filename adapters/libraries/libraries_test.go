package libraries

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/brunttest"
	"brunt/lab"
	"brunt/measure"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

// read reads a study, with one dependency that is well unless the text has its
// own.
func read(t *testing.T, text string) *study.Study {
	t.Helper()
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(text), Folder: ".", Measure: lab.CheckName})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stacked reads a study with one composition, named it.
func stacked(t *testing.T, stack string) *study.Study {
	t.Helper()
	return read(t, "study: x\nload: {rate: 10/s}\nhorizon: 5s\ndependencies: {service: {latency: 5ms}}\nphases: [{name: healthy, for: 1s}]\ncompositions:\n  it: "+stack+"\n")
}

// perform runs a study with its libraries.
func perform(t *testing.T, s *study.Study) *lab.Result {
	t.Helper()
	guests := map[string]*lab.Guest{}
	for _, name := range s.Compositions.Names() {
		if s.Library(name) == "" {
			continue
		}
		guest, err := New(s, name)
		if err != nil {
			t.Fatalf("composition %s: %v", name, err)
		}
		guests[name] = guest
	}
	r, _, err := lab.Run(t.Context(), s, lab.Options{Instrument: lab.ThisInstrument(), Guests: guests})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// addsUp fails when requests were lost, or attempts left over.
func addsUp(t *testing.T, r *lab.Result) {
	t.Helper()
	for i := range r.Compositions {
		c := &r.Compositions[i]
		w := &c.Whole
		causes := int64(0)
		for _, n := range w.Causes {
			causes += n
		}
		if w.Offered == 0 || w.Offered != w.Completed+w.Errored+w.Censored || causes != w.Errored || c.ActiveAfterDrain != 0 {
			t.Errorf("%s: %d offered, %d completed, %d errored (%d by cause), %d censored, %d active after the drain",
				c.Name, w.Offered, w.Completed, w.Errored, causes, w.Censored, c.ActiveAfterDrain)
		}
	}
}

// What a library cannot express is refused in words, before anything runs.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ stack, want string }{
		// names
		{`[{go: resilience}]`, `there is no library "resilience" here: expected one of failsafe-go, gobreaker, backoff, go-retryablehttp, go-resiliency`},
		{`[{go: gobreaker + nothing}]`, `there is no library "nothing"`},
		// a policy that nobody has
		{`[{hedge: {after: 1ms}}, {go: gobreaker + backoff}]`, `stage 1 (hedge): gobreaker + backoff has no hedge: expected breaker, retry`},
		{`[{throttle: {}}, {go: failsafe-go defaults}]`, `failsafe-go has no throttle: expected retry, timeout, breaker, limit, rate, hedge`},
		{`[{breaker: {consecutive: 5, open_for: 1s}, shared: true}, {go: gobreaker}]`, `expected no shared`},
		// retries
		{`[{retry: {}}, {go: failsafe-go}]`, `stage 1 (retry): failsafe-go has no jitter that is full: expected jitter: none or proportional(r)`},
		{`[{retry: {backoff: {jitter: equal}}}, {go: backoff}]`, `backoff has no jitter that is equal`},
		{`[{retry: {backoff: {jitter: proportional(0.5)}}}, {go: go-retryablehttp}]`, `go-retryablehttp has no jitter that is proportional(0.5): expected jitter: none`},
		{`[{retry: {backoff: {jitter: decorrelated}}}, {go: go-resiliency}]`, `go-resiliency has no jitter that is decorrelated`},
		{`[{retry: {backoff: {kind: linear, jitter: none}}}, {go: failsafe-go}]`, `failsafe-go has no backoff that is linear: expected kind: none, constant, exponential`},
		{`[{retry: {backoff: {kind: linear, jitter: none}}}, {go: backoff}]`, `backoff has no backoff that is linear`},
		{`[{retry: {backoff: {factor: 3, jitter: none}}}, {go: go-retryablehttp}]`, `expected factor: 2`},
		{`[{retry: {backoff: {kind: linear, cap: 1s, jitter: none}}}, {go: go-retryablehttp}]`, `has no cap on a linear backoff`},
		{`[{retry: {needs: 1s, backoff: {kind: none}}}, {go: failsafe-go}]`, `expected no needs`},
		{`[{retry: {retry_after: {}, backoff: {kind: none}}}, {go: go-retryablehttp}]`, `expected no retry_after`},
		{`[{retry: {on: [circuit], backoff: {kind: none}}}, {go: failsafe-go defaults}]`, `expected no on`},
		{`[{retry: {budget: {grpc: {}}, backoff: {kind: none}}}, {go: failsafe-go}]`, `a budget by calls in flight alone`},
		{`[{retry: {budget: {in_flight: {of: attempts}}, backoff: {kind: none}}}, {go: failsafe-go}]`, `a budget by calls in flight alone`},
		{`[{retry: {budget: {in_flight: {}}, backoff: {kind: none}}}, {go: backoff}]`, `backoff has no budget`},
		{`[{retry: {budget: {in_flight: {}}, backoff: {kind: none}}}, {go: go-retryablehttp}]`, `go-retryablehttp has no budget`},
		{`[{retry: {budget: {in_flight: {}}, backoff: {kind: none}}}, {go: go-resiliency}]`, `go-resiliency has no budget`},
		// breakers
		{`[{breaker: {ratio: 0.5, calls: 10, open_for: 1s}}, {go: gobreaker}]`, `gobreaker has no breaker by ratio with calls: expected a window, or consecutive`},
		{`[{breaker: {ratio: 0.5, window: 1s, open_for: 1s}}, {go: go-resiliency}]`, `go-resiliency has no breaker by ratio: expected consecutive`},
		{`[{breaker: {consecutive: 5, open_for: 61s}}, {go: go-resiliency}]`, `expected an open_for of at most 1m0s`},
		{`[{breaker: {consecutive: 5, probes: 2, open_for: 1s}}, {go: gobreaker}]`, `expected probes (2) to be close_after (1)`},
		{`[{breaker: {consecutive: 5, close_after: 3, open_for: 1s}}, {go: failsafe-go}]`, `expected probes (1) to be close_after (3)`},
		// limits and rates
		{`[{limit: {permits: 1, queue: 1}}, {go: failsafe-go}]`, `bounds how long a call waits, not how many do: expected a queue_timeout`},
		{`[{limit: {permits: 1, queue: 1, queue_timeout: 1s, order: lifo}}, {go: failsafe-go}]`, `expected order: fifo`},
		{`[{limit: {permits: 1}}, {go: go-resiliency}]`, `expected a queue and a queue_timeout`},
		{`[{rate: {rate: 10/s, burst: 5}}, {go: failsafe-go}]`, `expected burst: 1`},
		// hedges
		{`[{hedge: {after: 1ms}}, {go: failsafe-go}]`, `expected on_failure: false`},
		{`[{hedge: {after: 1ms, quantile: 95%, on_failure: false}}, {go: failsafe-go}]`, `expected after alone`},
		{`[{hedge: {after: 1ms, on_failure: false, budget: {recent: {}}}}, {go: failsafe-go}]`, `a budget by calls in flight alone`},
	} {
		s := stacked(t, c.stack)
		_, err := New(s, "it")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nexpected: %s", c.stack, err, c.want)
		}
		if _, noted := Notes(s, "it"); (noted == nil) != (err == nil) {
			t.Errorf("%s: Notes says %v", c.stack, noted)
		}
	}
}

// All that is wrong is said at once.
func TestRefusesAllAtOnce(t *testing.T) {
	_, err := New(stacked(t, `[{retry: {backoff: {jitter: equal}}}, {breaker: {ratio: 0.5, calls: 10, open_for: 1s}}, {go: backoff + gobreaker}]`), "it")
	for _, want := range []string{"stage 1 (retry)", "stage 2 (breaker)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

// Where a library has a near form of its own, it is said what is different.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		stack string
		want  []string // one in each note
	}{
		// nothing is different
		{`[{retry: {backoff: {kind: none}}}, {go: failsafe-go}]`, nil},
		{`[{retry: {backoff: {jitter: none, cap: 1s}}}, {go: backoff}]`, nil},
		{`[{limit: {permits: 3}}, {go: failsafe-go}]`, nil},
		// the jitter goes past the cap, by its share
		{`[{retry: {backoff: {jitter: proportional(0.25), cap: 1s}}}, {go: backoff}]`, []string{"waits reach 1.25s"}},
		// the first is built with the first that has it
		{`[{retry: {backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 1s}}, {go: backoff + gobreaker}]`, []string{"stage 2 (breaker): gobreaker lets its probe in after open_for"}},
		{`[{retry: {backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 1s}}, {go: backoff + gobreaker defaults}]`, []string{"repeats after any error", "after open_for", "counts any error as a failure"}},
		// min_calls is known by time alone
		{`[{breaker: {ratio: 0.5, calls: 10, open_for: 1s}}, {go: failsafe-go}]`, []string{"opens on 5 failures among the last 10 calls also before min_calls (10)", "heeds results", "as a success"}},
		{`[{breaker: {ratio: 0.5, calls: 10, min_calls: 5, open_for: 1s}}, {go: failsafe-go}]`, []string{"heeds results", "as a success"}},
		{`[{breaker: {ratio: 0.5, window: 10s, open_for: 1s}}, {go: failsafe-go}]`, []string{"two digits", "heeds results", "as a success"}},
		{`[{breaker: {ratio: 0.5, window: 10s, open_for: 1s}}, {go: gobreaker}]`, []string{"in which its call began", "after open_for"}},
		{`[{breaker: {consecutive: 5, open_for: 1s}}, {go: go-resiliency}]`, []string{"a success between them clears nothing", "every call in while it is half-open", "cannot be told otherwise"}},
		{`[{limit: {permits: 1, queue: 7, queue_timeout: 1s}}, {go: go-resiliency}]`, []string{"a queue of 7 is not kept", "keeps a waiter in line"}},
		{`[{timeout: {after: 1s}}, {rate: {rate: 10/s}}, {go: failsafe-go}]`, []string{"waits, when the time is over", "keeps the permit"}},
	} {
		notes, err := Notes(stacked(t, c.stack), "it")
		if err != nil {
			t.Errorf("%s: %v", c.stack, err)
			continue
		}
		ok := len(notes) == len(c.want)
		for i := range min(len(notes), len(c.want)) {
			ok = ok && strings.Contains(notes[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s:\n%s\nexpected: %q", c.stack, strings.Join(notes, "\n"), c.want)
		}
	}
}

// The versions that are told are those of go.mod.
func TestVersions(t *testing.T) {
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		module, version, _ := strings.Cut(Version(name), " ")
		if !slices.ContainsFunc(strings.Split(string(mod), "\n"), func(line string) bool {
			f := strings.Fields(line)
			return len(f) == 2 && strings.HasPrefix(f[0], "github.com/"+module) && f[1] == "v"+version
		}) {
			t.Errorf("%s is told as %s %s, which go.mod does not have", name, module, version)
		}
	}
	if got := Version("gobreaker + backoff defaults"); got != "sony/gobreaker 2.4.0 + cenkalti/backoff 5.0.3" {
		t.Error(got)
	}
	if got := Version("other"); got != "other" {
		t.Error(got)
	}
}

// What a retry of brunt repeats, a library is told to.
func TestRepeats(t *testing.T) {
	failure := &brunttest.Error{Dependency: "service", Cause: brunttest.Failure}
	full := &brunttest.Error{Dependency: "service", Cause: record.Overload}
	slow := failsafeErrors[3].err
	open, many, late := failsafeErrors[0].err, failsafeErrors[1].err, failsafeErrors[2].err
	for _, c := range []struct {
		on   []policy.Retryable
		err  error
		want bool
	}{
		// without on: failures and timeouts
		{nil, failure, true}, {nil, full, true}, {nil, slow, true}, {nil, open, false}, {nil, many, false}, {nil, late, false},
		// what its caller has left is over
		{nil, fmt.Errorf("call: %w", context.Canceled), false}, {nil, errors.Join(errStopped, context.Canceled), false},
		// one of them narrows
		{[]policy.Retryable{policy.OnFailure}, slow, false}, {[]policy.Retryable{policy.OnTimeout}, failure, false},
		{[]policy.Retryable{policy.OnTimeout}, full, false}, {[]policy.Retryable{policy.OnTimeout}, slow, true},
		// refusals are added
		{[]policy.Retryable{policy.OnCircuit}, open, true}, {[]policy.Retryable{policy.OnCircuit}, failure, true}, {[]policy.Retryable{policy.OnCircuit}, many, false},
		{[]policy.Retryable{policy.OnLimiter, policy.OnRate}, many, true}, {[]policy.Retryable{policy.OnLimiter, policy.OnRate}, late, true},
		{[]policy.Retryable{policy.OnFailure, policy.OnCircuit}, slow, false},
		// answers by their status
		{nil, statusError(500), true}, {[]policy.Retryable{policy.OnTimeout}, statusError(504), true}, {[]policy.Retryable{policy.OnTimeout}, statusError(503), false},
	} {
		if got := repeats(&policy.Retry{On: c.on}, c.err); got != c.want {
			t.Errorf("on %v, %v: %v", c.on, c.err, got)
		}
	}
}

// Without jitter each library waits as brunt does, to the nanosecond.
func TestWaits(t *testing.T) {
	for _, c := range []struct{ backoff, libraries string }{
		{`{kind: none}`, "failsafe-go, backoff, go-retryablehttp, go-resiliency"},
		{`{kind: constant, base: 70ms, jitter: none}`, "failsafe-go, backoff, go-retryablehttp, go-resiliency"},
		{`{kind: linear, base: 70ms, jitter: none}`, "go-retryablehttp, go-resiliency"},
		{`{kind: linear, base: 70ms, cap: 150ms, jitter: none}`, "go-resiliency"},
		{`{kind: exponential, base: 70ms, factor: 2, jitter: none}`, "failsafe-go, backoff, go-retryablehttp, go-resiliency"},
		{`{kind: exponential, base: 70ms, factor: 3, cap: 500ms, jitter: none}`, "failsafe-go, backoff, go-resiliency"},
		{`{kind: exponential, base: 70ms, factor: 2, cap: 200ms, jitter: none}`, "failsafe-go, backoff, go-retryablehttp, go-resiliency"},
		{`{kind: exponential, base: 70ms, factor: 2, cap: 50ms, jitter: none}`, "failsafe-go, backoff, go-retryablehttp, go-resiliency"},
	} {
		text := "study: waits\nload: {rate: 1/s}\nhorizon: 60s\ndependencies: {service: {fail_after: 1ms}}\nphases: [{name: outage, for: 1s}]\ncompositions:\n"
		stack := "[{retry: {attempts: 5, backoff: " + c.backoff + "}}"
		text += "  brunt: " + stack + "]\n"
		for name := range strings.SplitSeq(c.libraries, ", ") {
			text += "  " + name + ": " + stack + ", {go: " + name + "}]\n"
			text += "  " + name + "-defaults: " + stack + ", {go: " + name + " defaults}]\n"
		}
		r := perform(t, read(t, text))
		addsUp(t, r)
		want := r.Compositions[0].Whole
		for i := range r.Compositions {
			got := &r.Compositions[i].Whole
			if got.Attempts != want.Attempts || *got.Latency.Submitted.Max != *want.Latency.Submitted.Max {
				t.Errorf("%s: %s makes %d attempts in %v, brunt %d in %v", c.backoff, r.Compositions[i].Name,
					got.Attempts, time.Duration(*got.Latency.Submitted.Max), want.Attempts, time.Duration(*want.Latency.Submitted.Max))
			}
		}
	}
}

// Libraries that are told what errors mean do what brunt does where nothing of
// what sets them apart is at work. A name begins with that of brunt's own stack.
func TestAgree(t *testing.T) {
	r := perform(t, read(t, `
study: agree
seed: 3
load: {rate: 50/s}
horizon: 10s
dependencies: {service: {latency: 5ms}}
phases:
  - {name: healthy, for: 2s}
  - {name: outage, for: 4s, dependencies: {service: {fail_after: 20ms}}}
  - {name: recovery, for: 3s}
  - {name: slow, for: 1s, dependencies: {service: {latency: 700ms}}}
compositions:
  guarded: [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 510ms}}]
  guarded.failsafe-go: [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 510ms}}, {go: failsafe-go}]
  guarded.backoff-gobreaker: [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 510ms}}, {go: backoff + gobreaker}]
  guarded.retryablehttp-gobreaker: [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 510ms}}, {go: go-retryablehttp + gobreaker}]
  guarded.go-resiliency: [{retry: {attempts: 3, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 510ms}}, {go: go-resiliency}]
  windowed: [{breaker: {ratio: 0.5, window: 1s, min_calls: 20, open_for: 3010ms}}]
  windowed.failsafe-go: [{breaker: {ratio: 0.5, window: 1s, min_calls: 20, open_for: 3010ms}}, {go: failsafe-go}]
  windowed.gobreaker: [{breaker: {ratio: 0.5, window: 1s, min_calls: 20, open_for: 3010ms}}, {go: gobreaker}]
  nested: [{breaker: {consecutive: 8, open_for: 3010ms}}, {breaker: {consecutive: 5, open_for: 510ms}}]
  nested.gobreaker: [{breaker: {consecutive: 8, open_for: 3010ms}}, {breaker: {consecutive: 5, open_for: 510ms}}, {go: gobreaker}]
  timed: [{retry: {attempts: 2, backoff: {kind: none}}}, {timeout: {after: 510ms}}]
  timed.failsafe-go: [{retry: {attempts: 2, backoff: {kind: none}}}, {timeout: {after: 510ms}}, {go: failsafe-go}]
  timed.go-resiliency: [{retry: {attempts: 2, backoff: {kind: none}}}, {timeout: {after: 510ms}}, {go: go-resiliency}]
  limited: [{limit: {permits: 4, queue: 100, queue_timeout: 1s}}]
  limited.failsafe-go: [{limit: {permits: 4, queue: 100, queue_timeout: 1s}}, {go: failsafe-go}]
  limited.go-resiliency: [{limit: {permits: 4, queue: 100, queue_timeout: 1s}}, {go: go-resiliency}]
  rated: [{rate: {rate: 25/s}}]
  rated.failsafe-go: [{rate: {rate: 25/s}}, {go: failsafe-go}]
  hedged: [{hedge: {extra: 2, after: 15ms, on_failure: false}}]
  hedged.failsafe-go: [{hedge: {extra: 2, after: 15ms, on_failure: false}}, {go: failsafe-go}]
`))
	addsUp(t, r)
	type numbers struct {
		Completed, Errored, Attempts int64
		Causes                       map[string]int64
		Cancelled                    int64
	}
	of := func(c *measure.Composition) (all []numbers) {
		for _, p := range c.Phases {
			all = append(all, numbers{p.Completed, p.Errored, p.Attempts, p.Causes, c.Cancelled})
		}
		return all
	}
	own := map[string]*measure.Composition{}
	for i := range r.Compositions {
		c := &r.Compositions[i]
		name, _, library := strings.Cut(c.Name, ".")
		if !library {
			own[name] = c
			continue
		}
		if diff := cmp.Diff(of(own[name]), of(c)); diff != "" {
			t.Errorf("%s differs from %s (-, +):\n%s", c.Name, name, diff)
		}
	}
	// what the stacks are about was at work
	for name, cause := range map[string]string{"guarded": "circuit", "windowed": "circuit", "timed": "timeout", "limited": "limiter", "rated": "rate"} {
		if own[name].Whole.Causes[cause] == 0 {
			t.Errorf("%s: no request ended with %s", name, cause)
		}
	}
	if own["hedged"].Whole.Attempts < 700 {
		t.Errorf("hedged: %d attempts", own["hedged"].Whole.Attempts)
	}
}

// A hedge that is told waits for a success, as brunt's does; by its defaults the
// first end is that of all. The hedge of a request near the end of the first phase
// falls into the second, and fails.
func TestHedgeFails(t *testing.T) {
	r := perform(t, read(t, `
study: hedge
load: {rate: 100/s}
horizon: 5s
dependencies: {service: {latency: 100ms}}
phases:
  - {name: slow, for: 100ms}
  - {name: outage, for: 10ms, dependencies: {service: {fail_after: 1ms}}}
compositions:
  brunt: [{hedge: {extra: 1, after: 25ms, on_failure: false}}]
  told: [{hedge: {extra: 1, after: 25ms, on_failure: false}}, {go: failsafe-go}]
  defaults: [{hedge: {extra: 1, after: 25ms, on_failure: false}}, {go: failsafe-go defaults}]
`))
	for i, want := range []int64{10, 10, 8} {
		if c := &r.Compositions[i]; c.Phases[0].Completed != want {
			t.Errorf("%s: %d completed, expected %d", c.Name, c.Phases[0].Completed, want)
		}
	}
}
