package brunttest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/brunttest"
	"brunt/lab"
	"brunt/study"
)

// program runs a study with one client, as a program does that is no test.
func program(t *testing.T, clock string, guest *lab.Guest) (*lab.Result, error) {
	t.Helper()
	s, err := study.Read("-", study.Options{Folder: ".", Measure: lab.CheckName, Stdin: strings.NewReader(`
study: program
clock: ` + clock + `
repeat: 2
load: {rate: 100/s}
horizon: 300ms
dependencies: {service: {latency: 5ms}}
phases:
  - {name: healthy, for: 100ms}
  - {name: outage, for: 100ms, dependencies: {service: {fail_after: 5ms}}}
compositions:
  mine: [{go: anything}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := lab.Run(t.Context(), s, lab.Options{Instrument: lab.ThisInstrument(), Guests: map[string]*lab.Guest{"mine": guest}})
	return r, err
}

// A client runs without a test, on either clock: it is made anew for each repeat,
// and what it registered is called once for each, the last first.
func TestGuestOfAProgram(t *testing.T) {
	for _, clock := range []string{"virtual", "real"} {
		var made, first, last atomic.Int64
		r, err := program(t, clock, brunttest.NewGuest(func(dep brunttest.Dependency) brunttest.Client {
			made.Add(1)
			stop, stopped := make(chan struct{}), make(chan struct{})
			go func() { defer close(stopped); <-stop }() // what nobody ended would be left over
			dep.Cleanup(func() {
				last.Add(1)
				if first.Load() != last.Load() {
					t.Errorf("%s: cleanups came in the order in which they were registered", clock)
				}
				close(stop)
				<-stopped
			})
			dep.Cleanup(func() { first.Add(1) })
			return dep.Do
		}))
		if err != nil {
			t.Fatalf("%s: %v", clock, err)
		}
		for i := range r.Repeats {
			w := &r.Repeats[i].Compositions[0].Whole
			if w.Offered != 20 || w.Offered != w.Completed+w.Errored+w.Censored || w.Completed == 0 || w.Causes["failure"] == 0 || w.Attempts != 20 {
				t.Errorf("%s: %d offered, %d completed, %d errored, %d attempts", clock, w.Offered, w.Completed, w.Errored, w.Attempts)
			}
		}
		if made.Load() != 2 || first.Load() != 2 || last.Load() != 2 {
			t.Errorf("%s: made %d times, cleaned up %d and %d times: expected 2", clock, made.Load(), first.Load(), last.Load())
		}
	}
}

// The options of a client: its own errors, and how long time may stand still.
func TestGuestOptions(t *testing.T) {
	mine := errors.New("turned away")
	r, err := program(t, "virtual", brunttest.NewGuest(func(brunttest.Dependency) brunttest.Client {
		return func(context.Context) error { return mine }
	}, brunttest.Causes(func(err error) (brunttest.Cause, bool) { return brunttest.Limiter, errors.Is(err, mine) })))
	if err != nil || r.Compositions[0].Whole.Causes["limiter"] != 20 {
		t.Errorf("%v: the error was not told to be a limiter's", err)
	}
	outside := make(chan struct{}) // nothing in the bubble closes it
	defer close(outside)
	_, err = program(t, "virtual", brunttest.NewGuest(func(brunttest.Dependency) brunttest.Client {
		return func(context.Context) error { <-outside; return nil }
	}, brunttest.Patience(50*time.Millisecond)))
	if err == nil || !strings.Contains(err.Error(), "virtual time has stood still") {
		t.Errorf("a client that waits for what is outside of its bubble: %v", err)
	}
}

// A client that panics ends its run, not the program.
func TestGuestPanics(t *testing.T) {
	for _, clock := range []string{"virtual", "real"} {
		_, err := program(t, clock, brunttest.NewGuest(func(brunttest.Dependency) brunttest.Client {
			return func(context.Context) error { panic("boom") }
		}))
		if err == nil || !strings.Contains(err.Error(), "the client panicked in request") || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%s: %v", clock, err)
		}
	}
}
