package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"brunt/adapters/studies"
	"brunt/command"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// called calls the command.
func called(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), command.Process{
		Args: args, Env: []string{"NO_COLOR=1"}, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
	})
	return status, out.String(), errs.String()
}

type numbers struct {
	Compositions []struct {
		Name  string
		Whole struct {
			Offered, Completed, Errored, Censored, Attempts int64
			Causes                                          map[string]int64
		}
		ActiveAfterDrain int64 `json:"active_after_drain"`
	}
}

// small is a study that each library has a part in.
const small = `
study: small
load: {rate: 50/s}
horizon: 300ms
dependencies: {service: {latency: 5ms}}
phases:
  - {name: healthy, for: 300ms}
  - {name: outage, for: 400ms, dependencies: {service: {fail_after: 20ms}}}
  - {name: recovery, for: 300ms}
compositions:
  brunt: [{retry: {attempts: 2, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 100ms}}]
  failsafe-go: [{timeout: {after: 250ms}}, {limit: {permits: 20}}, {rate: {rate: 1000/s}}, {retry: {attempts: 2, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 100ms}}, {go: failsafe-go}]
  hedge: [{hedge: {extra: 1, after: 15ms, on_failure: false}}, {go: failsafe-go}]
  pair: [{retry: {attempts: 2, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 100ms}}, {go: backoff + gobreaker}]
  retryablehttp: [{retry: {attempts: 2, backoff: {kind: none}}}, {go: go-retryablehttp}]
  go-resiliency: [{timeout: {after: 250ms}}, {limit: {permits: 20, queue: 20, queue_timeout: 200ms}}, {retry: {attempts: 2, backoff: {kind: none}}}, {breaker: {consecutive: 5, open_for: 100ms}}, {go: go-resiliency}]
`

// The command runs each library on either clock, and nothing is lost.
func TestRun(t *testing.T) {
	for _, clock := range []string{"virtual", "real"} {
		status, stdout, stderr := called(t, small, "run", "-", "--json", "--set", "clock="+clock)
		if status != 0 {
			t.Fatalf("%s: status %d\n%s", clock, status, stderr)
		}
		var r numbers
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Compositions {
			w, causes := c.Whole, int64(0)
			for _, n := range w.Causes {
				causes += n
			}
			if w.Offered != 50 || w.Offered != w.Completed+w.Errored+w.Censored || causes != w.Errored || c.ActiveAfterDrain != 0 {
				t.Errorf("%s, %s: %+v", clock, c.Name, w)
			}
			if w.Completed < 10 || w.Errored < 10 {
				t.Errorf("%s, %s: %d completed and %d errored: expected 10 of each at least", clock, c.Name, w.Completed, w.Errored)
			}
			if guarded := c.Name != "hedge" && c.Name != "retryablehttp"; guarded && w.Causes["circuit"] == 0 {
				t.Errorf("%s, %s: the breaker has refused nothing", clock, c.Name)
			}
		}
		if len(r.Compositions) != 6 || !strings.Contains(stderr, "note: composition pair, stage 2 (breaker): gobreaker lets its probe in after open_for") {
			t.Errorf("%s: %d compositions\n%s", clock, len(r.Compositions), stderr)
		}
	}
}

// A study that a library cannot express is a study error, in words.
func TestRefusal(t *testing.T) {
	status, _, stderr := called(t, strings.Replace(small, "{go: backoff + gobreaker}", "{go: gobreaker}", 1), "run", "-", "--json")
	if status != 2 || !strings.Contains(stderr, "composition pair: stage 1 (retry): gobreaker has no retry: expected breaker") {
		t.Errorf("status %d\n%s", status, stderr)
	}
}

// The studies of the comparison load, and their stacks can be built.
func TestStudies(t *testing.T) {
	files, err := fs.Glob(studies.Files, "*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d studies (%v)", len(files), err)
	}
	for _, file := range files {
		if !strings.HasPrefix(file, "libraries") {
			continue // package conformance runs them
		}
		status, _, stderr := called(t, "", "run", filepath.Join("studies", file), "--json",
			"--set", "phases.*.for=200ms", "--set", "repeat=1")
		if status != 0 {
			t.Errorf("%s: status %d\n%s", file, status, stderr)
		}
	}
}

// The findings are a command of their own beside those of brunt.
func TestConformance(t *testing.T) {
	status, stdout, stderr := called(t, "", "conformance", "hedge-losers")
	if status != 0 || !strings.Contains(stdout, "15 of 20") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if status, stdout, _ = called(t, "", "studies"); status != 0 || !strings.Contains(stdout, "outage") {
		t.Errorf("brunt's own commands: status %d\n%s", status, stdout)
	}
}
