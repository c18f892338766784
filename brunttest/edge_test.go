package brunttest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"brunt/brunttest"
	"brunt/record"
	"brunt/record/parquet"
)

// An answer at exactly the end of a client's timeout is one, as of brunt's own.
func TestAnswerAtTheTimeout(t *testing.T) {
	r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			return dep.Do(ctx)
		}
	}, brunttest.Set("repeat=1", "phases=[{name: healthy, for: 3s}]"))
	if c := find(t, r, "client"); c.Whole.Completed != 60 || c.Cancelled != 0 {
		t.Errorf("%d of 60 completed, %d attempts were cancelled", c.Whole.Completed, c.Cancelled)
	}
}

// A call at exactly the start of a phase is one of that phase, whoever woke up
// first.
func TestCallAtThePhase(t *testing.T) {
	r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			time.Sleep(50 * time.Millisecond) // until the next arrival, or the next phase
			return dep.Do(ctx)
		}
	}, brunttest.Set("repeat=3"))
	for i := range r.Repeats {
		p := r.Repeats[i].Compositions[0].Phases
		if p[0].Completed != 59 || p[1].Completed != 1 {
			t.Errorf("repeat %d: %d and %d completed, expected 59 and 1", i, p[0].Completed, p[1].Completed)
		}
	}
}

// What a client leaves behind when it returns is its request's until the horizon,
// and is cancelled then; what comes later is late, and counts where it starts.
func TestLeftBehind(t *testing.T) {
	for _, c := range []struct {
		name      string
		behind    func(ctx context.Context, dep brunttest.Dependency)
		cancelled int64
		attempts  float64
		late      int64
	}{
		{"an attempt that hangs", func(ctx context.Context, dep brunttest.Dependency) { _ = dep.Do(ctx) }, 20, 20, 0},
		{"one that begins later", func(ctx context.Context, dep brunttest.Dependency) {
			time.Sleep(time.Second)
			_ = dep.Do(ctx)
		}, 20, 20, 0},
		{"one that begins after the horizon", func(ctx context.Context, dep brunttest.Dependency) {
			time.Sleep(2100 * time.Millisecond)
			if err := dep.Do(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a call after the horizon: %v", err)
			}
		}, 0, 0, 0},
		{"one without an end that begins after the horizon", func(ctx context.Context, dep brunttest.Dependency) {
			time.Sleep(2100 * time.Millisecond)
			if brunttest.Request(ctx) == "0" { // the run goes on for longer than that
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Millisecond)
				defer cancel()
				_ = dep.Do(ctx)
			}
		}, 1, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
				return func(ctx context.Context) error {
					go c.behind(ctx, dep)
					return nil
				}
			}, brunttest.Set("repeat=1", "phases=[{name: dead, for: 1s}]", "dependencies.service.hang=true"))
			client, g := find(t, r, "client"), r.Guests[0]
			if client.Cancelled != c.cancelled || number(t, client, "", "attempts") != c.attempts || g.Late != c.late || g.Unattributed != 0 || g.CutOff != 0 {
				t.Errorf("%d cancelled, %v attempts, %+v", client.Cancelled, number(t, client, "", "attempts"), g)
			}
		})
	}
}

// A dependency that heeds deadlines knows those of the client's contexts.
func TestDeadlines(t *testing.T) {
	r := brunttest.Run(t, `
		study: deadlines
		load: {rate: 10/s}
		dependencies: {service: {latency: 100ms, workers: 9, on_cancel: burns, deadline: heeded}}
		phases: [{name: slow, for: 2s}]
		compositions: {own: [{timeout: {after: 30ms}}], client: []}
	`, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
			defer cancel()
			return dep.Do(ctx)
		}
	}, brunttest.Set("repeat=1"))
	for _, name := range []string{"own", "client"} {
		if c := find(t, r, name); c.Cancelled != 20 || *c.Cleanup.Max != 0 {
			t.Errorf("%s: %d cancelled, the longest clean-up %v", name, c.Cancelled, *c.Cleanup.Max)
		}
	}
}

// A run ends when the last context has, and not only when a client may be given up.
func TestEnd(t *testing.T) {
	var took time.Duration
	brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		began := time.Now()
		dep.Cleanup(func() { took = time.Since(began) })
		return dep.Do
	}, brunttest.Set("repeat=1"))
	if last := 8950*time.Millisecond + 2*time.Second; took != last {
		t.Errorf("the run took %v, expected %v", took, last)
	}
}

// Attempts beside another are hedges, those at another dependency fallbacks, and
// further ones else retries. Refusals are counted in rows.
func TestRows(t *testing.T) {
	dir := t.TempDir()
	brunttest.Run(t, `
		study: rows
		load: {rate: 10/s}
		dependencies: {primary: {fail_after: 10ms}, backup: {latency: 5ms}}
		phases: [{name: all, for: 500ms}]
	`, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			_ = dep.Do(ctx)
			_ = dep.Do(ctx)
			other := make(chan error)
			go func() { other <- dep.Do(ctx) }()
			time.Sleep(time.Millisecond)
			_ = dep.Do(ctx)
			<-other
			switch brunttest.Request(ctx) {
			case "3":
				return errors.New("the circuit breaker is open")
			case "4":
				return errors.New("no more")
			}
			return dep.Named("backup").Do(ctx)
		}
	}, brunttest.Out(dir), brunttest.Set("repeat=1"))
	rows, err := parquet.Read(dir+"/TestRows", []string{"primary", "backup"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var seen seen
	if err := rows.Feed("client", &seen); err != nil {
		t.Fatal(err)
	}
	if want := [4]int{5, 10, 5, 3}; seen.why != want { // first, retry, hedge, fallback
		t.Errorf("first, retry, hedge, fallback: %v, expected %v", seen.why, want)
	}
	if seen.refusals != 1 || seen.servedBy != [2]int{0, 3} {
		t.Errorf("%d refusals, served by %v", seen.refusals, seen.servedBy)
	}
}

type seen struct {
	why      [4]int
	refusals int32
	servedBy [2]int
}

func (s *seen) Request(q *record.Request) {
	s.refusals += q.Refusals
	if q.ServedBy >= 0 {
		s.servedBy[q.ServedBy]++
	}
}
func (s *seen) Attempt(a *record.Attempt) { s.why[a.Why]++ }
func (s *seen) Event(*record.Event)       {}

// Why a request failed, by the error that its client returned.
func TestCauses(t *testing.T) {
	mine := errors.New("mine")
	errs := []struct {
		err   error
		cause string
	}{
		{errors.New("out of stock"), "failure"},
		{fmt.Errorf("price: %w", &brunttest.Error{Dependency: "service", Cause: record.Overload}), "overload"},
		{fmt.Errorf("price: %w", context.DeadlineExceeded), "timeout"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "timeout"},
		{context.Canceled, "failure"},
		{errors.New("circuit breaker is open"), "circuit"},
		{errors.New("bulkhead full"), "limiter"},
		{errors.New("rate limit exceeded"), "rate"},
		{mine, "throttle"}, // by the option
	}
	r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			i, err := strconv.Atoi(brunttest.Request(ctx))
			if err != nil || i >= len(errs) {
				return dep.Do(ctx)
			}
			return errs[i].err
		}
	}, brunttest.Set("repeat=1", "phases=[{name: healthy, for: 1s}]"), brunttest.Causes(func(err error) (brunttest.Cause, bool) {
		return record.Throttle, errors.Is(err, mine)
	}))
	want := map[string]int64{}
	for _, e := range errs {
		want[e.cause]++
	}
	causes := find(t, r, "client").Whole.Causes
	for _, c := range record.Causes() {
		if causes[c.String()] != want[c.String()] {
			t.Errorf("%v: %d, expected %d", c, causes[c.String()], want[c.String()])
		}
	}
}
