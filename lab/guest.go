package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"brunt/clock"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

// Guest is a client that is not brunt's, for a composition of the study. It
// makes its calls from goroutines of its own, in a bubble whose time is the
// run's.
type Guest struct {
	// Enter runs f in a bubble of its own, and returns its error or why the bubble
	// came to no end. run names the composition and its repeat.
	Enter func(run string, f func(Bubble) error) error
	// New makes the client of one caller. It is called in the bubble, before the
	// first request; what it returns is called on a goroutine for each request, with
	// a context that carries the request and ends at the horizon.
	New func(*Door) (func(context.Context) error, error)
	// Cause says why a request failed, by what its client returned.
	Cause func(error) record.Cause
	// Leave ends what the clients have set up, once a run on the real clock is over;
	// nil for nothing. In a bubble Enter does that.
	Leave func() error
}

// guestClient makes one request.
type guestClient = func(context.Context) error

// Bubble is a stretch of time of its own.
type Bubble struct {
	// Settle returns once no other goroutine of the bubble can go on at the present
	// instant.
	Settle func()
	// Began is what package time says at the start of the run.
	Began time.Time
}

// GuestError says that a client broke off its run: it panicked, say, or never
// returned.
type GuestError struct {
	Run string // the composition and its repeat
	Err error
}

// Error implements error.
func (e *GuestError) Error() string { return fmt.Sprintf("composition %s: %v", e.Run, e.Err) }

// Unwrap returns what happened.
func (e *GuestError) Unwrap() error { return e.Err }

// runGuest runs a composition that a guest has a part in, in a bubble.
func runGuest(j *job, sink record.Sink, events bool) error {
	if j.guest == nil {
		return fmt.Errorf("composition %s is a client of a Go test, or of a library that this program does not carry: expected a test with brunttest.Run, or `go run -C adapters .`, to run it", j.name)
	}
	err := j.guest.Enter(j.key, func(b Bubble) error {
		loop := clock.InBubble(b.Settle)
		defer loop.Close()
		r := newRunner(loop, j.study, j.name, j.study.Schedule(), sink, events)
		h := newHost(r, j.guest, b.Began, true)
		if err := h.admit(j.study.Callers); err != nil {
			return err
		}
		h.begin()
		err := runAll(context.Background(), r, j.name)
		h.end()
		return errors.Join(h.failure(), err)
	})
	if err != nil {
		return &GuestError{j.key, err}
	}
	return nil
}

// admit makes the clients.
func (h *host) admit(callers int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the function that makes the client panicked: %v\n%s", p, debug.Stack())
		}
	}()
	for range callers {
		client, err := h.guest.New(h.door)
		if err != nil {
			return err
		}
		if client == nil {
			return errors.New("the function that makes the client returned none")
		}
		h.clients = append(h.clients, client)
	}
	return nil
}

// guestStage is the innermost stage of a composition that ends in a Go client:
// each call of it is one call of the client, on a goroutine of its own.
type guestStage struct{ runner *runner }

// Start implements [policy.Stage].
func (g guestStage) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	h := g.runner.host
	c := h.newCall(call, to)
	ctx, stop := context.WithCancelCause(context.WithValue(context.Background(), callKey{}, c))
	c.leave = func() { stop(errLeft) }
	go c.make(ctx, h.clients[call.Request.Caller])
	return c, policy.Outcome{}
}

// callKey finds the call in a context.
type callKey struct{}

// errLeft is the cause of a context whose caller does not wait any more.
var errLeft = errors.New("brunt: the caller has left: the horizon, or a stage around the client")

// make calls the client, on the call's own goroutine.
func (c *guestCall) make(ctx context.Context, client guestClient) {
	var failed error
	returned := false
	defer func() {
		if p := recover(); p != nil {
			failed = fmt.Errorf("the client panicked in request %d: %v\n%s", c.request.Index, p, debug.Stack())
			c.host.fail(failed)
		} else if !returned {
			failed = fmt.Errorf("the client ended its goroutine in request %d (runtime.Goexit, or FailNow of a test): expected it to return an error", c.request.Index)
			c.host.fail(failed)
		}
		loop := c.host.runner.loop
		at := record.Never
		if !c.host.bubble {
			at = loop.Elapsed() // what the loop is late by is not the client's
		}
		loop.Post(func() {
			loop.After(0, clock.Func(func() { c.returned(c.outcome(failed), at) }))
		})
	}()
	failed = client(ctx)
	returned = true
}

// outcome is how the call ended, by what the client returned.
func (c *guestCall) outcome(err error) policy.Outcome {
	if err == nil {
		return policy.Completed(max(c.served, 0), c.firstToken)
	}
	o := policy.Ended(c.host.guest.Cause(err))
	if o.Refused() {
		c.request.Refusals++
	}
	return o
}

// guestOf returns the guest of a job's composition; nil for brunt's own stacks.
func guestOf(s *study.Study, name string, guests map[string]*Guest) *Guest {
	if !s.HasGuest(name) {
		return nil
	}
	return guests[name]
}
