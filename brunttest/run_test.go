package brunttest_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/brunttest"
	"brunt/lab"
	"brunt/measure"
	"brunt/report"
)

// retrying is a client that calls up to so many times, without a wait.
func retrying(attempts int) brunttest.New {
	return func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) (err error) {
			for range attempts {
				if err = dep.Do(ctx); err == nil || ctx.Err() != nil {
					return err
				}
			}
			return err
		}
	}
}

// find returns a composition of a result.
func find(t *testing.T, r *lab.Result, name string) *measure.Composition {
	t.Helper()
	i := slices.IndexFunc(r.Compositions, func(c measure.Composition) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the result has no composition %s", name)
	}
	return &r.Compositions[i]
}

// number returns a number of a composition by its name in expectations, of a
// phase or, where that is "", of the whole run.
func number(t *testing.T, c *measure.Composition, phase, name string) float64 {
	t.Helper()
	var p *measure.Phase
	if phase != "" {
		p = &c.Phases[slices.IndexFunc(c.Phases, func(p measure.Phase) bool { return p.Name == phase })]
	}
	n, err := lab.Find(c, p, name)
	if err != nil || n.Refusal != "" {
		t.Fatalf("%s of %s in %q: %v %s", name, c.Name, phase, err, n.Refusal)
	}
	return n.Value
}

const agreement = `
study: agreement
seed: 3
load: {rate: 60/s, arrivals: poisson}
horizon: 10s
dependencies:
  service: {latency: {lognormal: {p50: 20ms, p99: 90ms}}, fail: {ratio: 0.05}, workers: 4, cancel_cleanup: 5ms, on_cancel: stops}
phases:
  - {name: healthy, for: 20s}
  - {name: slow, for: 20s, dependencies: {service: {slowdown: 3}}}
  - {name: down, for: 20s, dependencies: {service: {fail_after: 20ms}}}
  - {name: dead, for: 10s, dependencies: {service: {hang: true}}}
  - {name: recovery, for: 20s}
compositions:
  own: [{timeout: {after: 2s}}, {retry: {attempts: 3, backoff: {base: 50ms, jitter: none}}}, {timeout: {after: 400ms}}]
  client: []
`

// A client by hand does what brunt's own stack of the same policies does.
func TestAgreesWithOwnStack(t *testing.T) {
	r := brunttest.Run(t, agreement, func(dep brunttest.Dependency) brunttest.Client {
		try := func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
			defer cancel()
			return dep.Do(ctx)
		}
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			for n := 0; ; n++ {
				err := try(ctx)
				if err == nil || n == 2 || ctx.Err() != nil {
					return err
				}
				select {
				case <-time.After(50 * time.Millisecond << n):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
	}, brunttest.Set("repeat=1"))
	own, client := find(t, r, "own"), find(t, r, "client")
	for i := range own.Phases {
		a, b := &own.Phases[i], &client.Phases[i]
		for _, n := range []string{"offered", "completed", "errored", "censored", "attempts", "errored.failure", "errored.timeout"} {
			x, y := number(t, own, a.Name, n), number(t, client, b.Name, n)
			if math.Abs(x-y) > max(5, 0.02*x) {
				t.Errorf("%s in %s: %v by brunt's own stack, %v by the client", n, a.Name, x, y)
			}
		}
		x, y := number(t, own, a.Name, "submitted.p95"), number(t, client, b.Name, "submitted.p95")
		if math.Abs(x-y) > 10 {
			t.Errorf("p95 in %s: %v ms by brunt's own stack, %v ms by the client", a.Name, x, y)
		}
		if n := b.Completed + b.Errored + b.Censored; n != b.Offered || n == 0 {
			t.Errorf("%s: %d of %d requests have an outcome", b.Name, n, b.Offered)
		}
	}
	if own.Cancelled == 0 || math.Abs(float64(own.Cancelled-client.Cancelled)) > max(5, 0.02*float64(own.Cancelled)) {
		t.Errorf("cancelled attempts: %d by brunt's own stack, %d by the client", own.Cancelled, client.Cancelled)
	}
	if r.Deterministic || r.Irreproducible == "" {
		t.Errorf("the result claims to be reproducible: %v %q", r.Deterministic, r.Irreproducible)
	}
}

// The built-in study, with no more than the client: two minutes are soon over, and
// the client stands beside the stack that does the same.
func TestBuiltIn(t *testing.T) {
	began := time.Now()
	r := brunttest.Run(t, "outage", retrying(3), brunttest.Set("repeat=1"))
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("two minutes take %v", took)
	}
	own, client := find(t, r, "retry"), find(t, r, "client")
	for i := range own.Phases {
		if a, b := own.Phases[i].Attempts, client.Phases[i].Attempts; a != b {
			t.Errorf("attempts in %s: %d by brunt's own stack, %d by the client", own.Phases[i].Name, a, b)
		}
	}
	if r.Deterministic || r.Irreproducible == "" {
		t.Errorf("the result claims to be reproducible: %v %q", r.Deterministic, r.Irreproducible)
	}
	if len(r.Guests) != 1 || r.Guests[0].Unattributed+r.Guests[0].Unserved+r.Guests[0].CutOff != 0 {
		t.Errorf("the client's notes: %+v", r.Guests)
	}
}

const short = `
study: short
load: {rate: 20/s}
horizon: 2s
dependencies: {service: {latency: 10ms}}
phases:
  - {name: healthy, for: 3s}
  - {name: outage, for: 3s, dependencies: {service: {fail_after: 5ms}}}
  - {name: recovery, for: 3s}
`

// An expectation that does not hold fails the test, in words and with the table.
func TestExpectations(t *testing.T) {
	const most = `expect=[{composition: client, phase: outage, measure: attempts/offered, at_most: `
	r := observe(t, func(r *recorder) {
		brunttest.Run(r, short, retrying(3), brunttest.Set(most+"1.5}]"))
		brunttest.Run(r, short, retrying(1), brunttest.Set(most+"1.5}]"))
	})
	if len(r.errors) != 1 || r.fatal != "" {
		t.Fatalf("errors: %q, fatal: %q: expected one of the first run", r.errors, r.fatal)
	}
	says(t, r.errors[0], "client, phase outage: attempts/offered is 3", "expected at most 1.5", "5 repeats")
	says(t, r.logs[0], "WHAT CALLERS SEE", "client", "1 of 1 expectation fails", "Not reproducible", "OVER 5 REPEATS")
}

// What is wrong with a study is said with its place.
func TestStudyErrors(t *testing.T) {
	for _, c := range []struct {
		name, study string
		says        []string
	}{
		{"no such file", "testdata/none.yaml", []string{"testdata/none.yaml"}},
		{"no such built-in study", "outrage", []string{`no built-in study "outrage"`, "outage"}},
		{"a typing mistake", strings.Replace(short, "horizon", "horizn", 1), []string{"the study of TestStudyErrors", ":4:1", "horizon"}},
		{"a stack in the client's place", short + "compositions: {client: [{timeout: {after: 1s}}]}", []string{"compositions.client", "the test's own client"}},
		{"the real clock", short + "clock: real", []string{"clock", "virtual"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := observe(t, func(r *recorder) { brunttest.Run(r, c.study, retrying(1)) })
			says(t, r.fatal, c.says...)
		})
	}
}

// Phases begin for the client to the millisecond, and its clock is the study's.
func TestPhases(t *testing.T) {
	type seen struct {
		at time.Duration
		ok bool
	}
	var all []seen // of the last bubble
	brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		began := time.Now()
		all = nil
		return func(ctx context.Context) error {
			at := time.Since(began)
			err := dep.Do(ctx)
			all = append(all, seen{at, err == nil}) // no two at one instant
			if took, want := time.Since(began)-at, map[bool]time.Duration{true: 10 * time.Millisecond, false: 5 * time.Millisecond}[err == nil]; took != want {
				t.Errorf("a call at %v took %v, expected %v", at, took, want)
			}
			return err
		}
	}, brunttest.Set("repeat=1"))
	if len(all) != 180 {
		t.Fatalf("%d calls: expected 180", len(all))
	}
	for i, s := range all {
		at := time.Duration(i) * 50 * time.Millisecond
		if ok := at < 3*time.Second || at >= 6*time.Second; s.at != at || s.ok != ok {
			t.Errorf("call %d: at %v, answered %v: expected %v, %v", i, s.at, s.ok, at, ok)
		}
	}
}

// Results are written when asked for, each in a folder of its own, and brunt makes
// the same report of the rows again.
func TestOut(t *testing.T) {
	dir := t.TempDir()
	var results []*lab.Result
	for range 2 {
		results = append(results, brunttest.Run(t, short, retrying(2), brunttest.Out(dir), brunttest.Set("repeat=2")))
	}
	for i, name := range []string{"TestOut", "TestOut-2"} {
		_, again, _, err := lab.Open(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var was, is bytes.Buffer
		if err := errors.Join(report.JSON(&was, results[i]), report.JSON(&is, again)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(was.Bytes(), is.Bytes()) {
			t.Errorf("%s: the result that is made again from its rows differs", name)
		}
		for _, file := range []string{lab.ReportFile, lab.PageFile} {
			if _, err := os.Stat(filepath.Join(dir, name, file)); err != nil {
				t.Error(err)
			}
		}
	}
}
