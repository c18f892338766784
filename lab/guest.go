package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
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
	New func(*Door) (client func(context.Context) error, err error)
	// Cause says why a request failed, by what its client returned.
	Cause func(error) record.Cause
}

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

// patience is how long, in the bubble's time, a client may take to return once
// its context is cancelled. It costs nothing to wait.
const patience = time.Hour

// runGuest runs a composition that a guest has a part in.
func runGuest(j *job, sink record.Sink, events bool) error {
	if j.guest == nil {
		return fmt.Errorf("composition %s is a client of a Go test: expected a test with brunttest.Run to run it", j.name)
	}
	failed := func(err error) error {
		if err == nil {
			return nil
		}
		return &GuestError{j.key, err}
	}
	return failed(j.guest.Enter(j.key, func(b Bubble) error {
		loop := clock.InBubble(b.Settle)
		defer loop.Close()
		r := newRunner(loop, j.study, j.name, j.study.Schedule(), sink, events)
		h := newHost(r, j.guest, b)
		if err := h.admit(j.study.Callers); err != nil {
			return err
		}
		h.setLimits()
		h.door.over.Store(false)
		err := runAll(context.Background(), r, j.name)
		h.door.over.Store(true)
		h.tell()
		return errors.Join(h.failure(), err)
	}))
}

// host has the guest's part in a run. Its methods are for the loop, unless they
// say otherwise.
type host struct {
	runner  *runner
	guest   *Guest
	bubble  Bubble
	door    *Door
	clients []func(context.Context) error // by caller
	stages  []policy.Stage                // what calls each dependency

	calls     map[int64]*guestCall // that may still call, by request
	live      int                  // such calls, one of which a later try of its request may hide
	errands   map[*errand]struct{} // under way
	strangers int64                // attempts that belong to no request
	unserved  int64                // requests that completed without an answer from a dependency
	cutOff    int64                // attempts that were still open when everybody had left

	cut, late clock.Timer

	mu     sync.Mutex
	failed error // guarded by mu: the first failure
}

func newHost(r *runner, g *Guest, b Bubble) *host {
	h := &host{runner: r, guest: g, bubble: b, calls: map[int64]*guestCall{}, errands: map[*errand]struct{}{}}
	r.host, r.late = h, true
	for i := range r.clusters {
		h.stages = append(h.stages, &caller{r, int32(i)})
	}
	h.door = &Door{host: h}
	h.door.over.Store(true) // until the run begins
	return h
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

// setLimits ends, after the last request, what would never end.
func (h *host) setLimits() {
	loop := h.runner.loop
	gone := h.runner.study.Length() + 2*h.runner.horizon // every context has ended a horizon ago
	h.cut = loop.At(gone, clock.Arrival, clock.Func(h.cutAll))
	h.late = loop.At(gone+patience, clock.Arrival, clock.Func(h.giveUp))
	h.rest()
}

// rest takes the limits back once everything has ended by itself.
func (h *host) rest() {
	if r := h.runner; !r.arrival.more && r.arrival.index > 0 && h.live == 0 && len(h.errands) == 0 {
		r.loop.Cancel(h.cut)
		r.loop.Cancel(h.late)
	}
}

// cutAll ends attempts that nobody has cancelled.
func (h *host) cutAll() {
	for e := range h.errands {
		h.cutOff++
		e.reply.Err = ErrOver
		e.cancel()
	}
	h.rest()
}

// giveUp ends the run although clients have not returned.
func (h *host) giveUp() {
	for _, c := range h.calls {
		if !c.back {
			h.fail(fmt.Errorf("the client did not return from request %d, %v after its context was cancelled: does it wait for something without looking at the context?",
				c.request.Index, duration(h.runner.loop.Now()-c.request.row.Intended-h.runner.horizon)))
			break
		}
	}
	for range h.live {
		h.runner.loop.Release()
	}
	h.live = 0
}

// fail ends the run after what is in flight; the first failure is the one that
// counts. Any goroutine of the bubble may call it.
func (h *host) fail(err error) {
	h.mu.Lock()
	first := h.failed == nil
	if first {
		h.failed = err
	}
	h.mu.Unlock()
	if first {
		h.runner.loop.Post(h.runner.abort)
	}
}

func (h *host) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// The states of the events of a guest, whose values are counts.
const (
	guestStrangers = "unattributed"
	guestUnserved  = "unserved"
	guestCutOff    = "cut off"
)

// tell writes what rows do not say.
func (h *host) tell() {
	now := h.runner.loop.Now()
	for _, e := range []record.Event{
		{State: guestStrangers, Value: h.strangers},
		{State: guestUnserved, Value: h.unserved},
		{State: guestCutOff, Value: h.cutOff},
	} {
		e.At, e.What = now, record.WhatGuest
		h.runner.tell(e)
	}
}

// guestStage is the innermost stage of a composition that ends in a guest: each
// call of it is one call of the client, on a goroutine of its own.
type guestStage struct{ runner *runner }

// Start implements [policy.Stage].
func (g guestStage) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	r := g.runner
	q, _ := owners(call.Request)
	c := &guestCall{host: r.host, request: q, call: call, to: to, served: -1, firstToken: record.Never, first: -1}
	c.ctx, c.stop = context.WithCancelCause(context.WithValue(context.Background(), callKey{}, c))
	q.alive++ // keeps q until the client has let go of it
	r.loop.Hold()
	r.host.live++
	r.host.calls[q.Index] = c
	r.loop.At(q.row.Intended+r.horizon, clock.Horizon, c)
	go c.make(r.host.clients[call.Request.Caller])
	return c, policy.Outcome{}
}

// callKey finds the call in a context.
type callKey struct{}

// guestCall is one call of a client, until nothing can come of it any more: the
// client has returned, its context has ended, and no attempt is open. A client
// may leave attempts behind when it returns, as a hedge does with its losers;
// nobody but the horizon cancels them for it.
type guestCall struct {
	host    *host
	request *request
	call    policy.Call
	to      policy.Receiver // nil once nobody waits for the client
	ctx     context.Context
	stop    context.CancelCauseFunc

	back   bool // the client has returned
	spent  bool // the horizon has come
	closed bool
	err    error // what the client returned

	open       int   // attempts under way
	tries      int   // attempts so far
	first      int32 // the dependency of the first; -1 before it
	served     int32 // the dependency of the last that succeeded; -1 for none
	firstToken time.Duration
}

// make calls the client, on the call's own goroutine.
func (c *guestCall) make(client func(context.Context) error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			c.err = fmt.Errorf("the client panicked in request %d: %v\n%s", c.request.Index, p, debug.Stack())
			c.host.fail(c.err)
		} else if !returned {
			c.err = fmt.Errorf("the client ended its goroutine in request %d (runtime.Goexit, or FailNow of a test): expected it to return an error", c.request.Index)
			c.host.fail(c.err)
		}
		c.host.runner.loop.Post(func() { c.host.runner.loop.After(0, clock.Func(c.returned)) })
	}()
	c.err = client(c.ctx)
	returned = true
}

// returned ends the call for whoever waits for it.
func (c *guestCall) returned() {
	c.back = true
	if to := c.to; to != nil {
		c.to = nil
		o := c.outcome()
		to.Ended(o)
		if q := c.request; o.Success() && c.served < 0 && q.Over && q.row.Outcome == record.Completed {
			q.row.ServedBy = -1
			c.host.unserved++
		}
	}
	c.end()
}

// outcome is how the call ended, by what the client returned.
func (c *guestCall) outcome() policy.Outcome {
	if c.err == nil {
		return policy.Completed(max(c.served, 0), c.firstToken)
	}
	o := policy.Ended(c.host.guest.Cause(c.err))
	if o.Refused() {
		c.request.Refusals++
	}
	return o
}

// Cancel implements [policy.Running]: the client's context ends.
func (c *guestCall) Cancel() {
	c.to = nil
	c.stop(errLeft)
}

// errLeft is the cause of a context whose caller does not wait any more.
var errLeft = errors.New("brunt: the caller has left: the horizon, or a stage around the client")

// Happen implements [clock.Event]: the horizon has come, also for what the client
// has left behind.
func (c *guestCall) Happen() {
	c.spent = true
	c.stop(errLeft)
	c.end()
}

// end closes the call once nothing can come of it any more.
func (c *guestCall) end() {
	if !c.back || !c.spent || c.open > 0 || c.closed {
		return
	}
	c.closed = true
	h, q := c.host, c.request
	if h.calls[q.Index] == c {
		delete(h.calls, q.Index)
	}
	h.live--
	h.runner.loop.Release()
	q.alive--
	q.recycle()
	h.rest()
}

// why says why the next attempt is made. Nobody asks the client; one that is
// made beside another is taken for a hedge.
func (c *guestCall) why(target int32) record.Why {
	switch {
	case c.tries == 0:
		return c.call.Why
	case c.open > 0:
		return record.Hedge
	case target != c.first:
		return record.Fallback
	}
	return record.Retry
}

// guestOf returns the guest of a job's composition; nil for brunt's own stacks.
func guestOf(s *study.Study, name string, guests map[string]*Guest) *Guest {
	if !s.HasGuest(name) {
		return nil
	}
	return guests[name]
}
