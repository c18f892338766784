package lab

import (
	"fmt"
	"sync"
	"time"

	"brunt/clock"
	"brunt/policy"
	"brunt/record"
	"brunt/target"
)

// host has the part in a run of a client that is not brunt's: a Go client, or a
// service that is loaded over the network. It knows which requests may still
// make attempts, and whose each attempt is that arrives. Its methods are for the
// loop, unless they say otherwise.
type host struct {
	runner  *runner
	guest   *Guest         // nil for a service
	service *target.Caller // nil for a Go client
	bubble  bool           // time is that of a bubble: waiting costs nothing
	began   time.Time      // what package time says at the start of the run
	door    *Door
	clients []guestClient // by caller
	stages  []*caller     // what calls each dependency

	calls   map[int64]*guestCall // that may still call, by request
	live    int                  // such calls, one of which a later try of its request may hide
	out     int                  // calls whose client has not returned
	errands map[*errand]struct{} // under way
	note    GuestNote            // what rows do not say

	cut, late clock.Timer
	cutting   bool          // on the real clock: cut is set
	last      time.Duration // on the real clock: when everything is cut off; 0 before the first cut
	over      bool          // nothing is waited for any more

	mu     sync.Mutex
	failed error // guarded by mu: the first failure
}

// linger is how long, on the real clock, a request's books stay open once its
// client is back and no attempt of its own is: for attempts that a service makes
// behind its answer.
const linger = time.Second

// patience is how long a client may take to return once its context is
// cancelled: by the wall's time, and in a bubble's, where waiting costs nothing.
const (
	patience       = 10 * time.Second
	bubblePatience = time.Hour
)

func newHost(r *runner, g *Guest, began time.Time, bubble bool) *host {
	h := &host{runner: r, guest: g, began: began, bubble: bubble, calls: map[int64]*guestCall{}, errands: map[*errand]struct{}{}}
	r.host, r.late = h, true
	for i := range r.clusters {
		h.stages = append(h.stages, &caller{r, int32(i)})
	}
	h.door = &Door{host: h, ended: make(chan struct{})}
	h.door.over.Store(true) // until the run begins
	if bubble {
		h.setLimits()
	}
	return h
}

// setLimits ends, after the last request of a bubble, what would never end.
func (h *host) setLimits() {
	loop := h.runner.loop
	gone := h.runner.study.Length() + 2*h.runner.horizon // every context has ended a horizon ago
	h.cut = loop.At(gone, clock.Arrival, clock.Func(h.cutAll))
	h.late = loop.At(gone+bubblePatience, clock.Arrival, clock.Func(h.giveUp))
}

// rest looks whether the run is about to end. It takes the limits back once
// everything has ended by itself; on the real clock it sets them once nothing
// comes any more.
func (h *host) rest() {
	r := h.runner
	switch {
	case r.arrival.more || r.arrival.index == 0:
	case h.live == 0 && len(h.errands) == 0:
		r.loop.Cancel(h.cut)
		r.loop.Cancel(h.late)
		h.cutting = false
	case !h.bubble && !h.cutting && h.out == 0:
		h.cutting = true
		h.cut = r.loop.After(r.horizon, clock.Func(h.cutAll))
	case !h.bubble && !h.cutting && h.service == nil && h.late == (clock.Timer{}):
		h.late = r.loop.After(r.horizon+patience, clock.Func(h.giveUp))
	}
}

// cutAll ends attempts that nobody has cancelled. On the real clock those go on
// that have not been open for a horizon yet, but for a horizon at most: a client
// that never stops calling is not listened to then.
func (h *host) cutAll() {
	now, wait := h.runner.loop.Now(), time.Duration(0)
	if h.last == 0 {
		h.last = now + h.runner.horizon
	}
	if !h.bubble && now >= h.last {
		h.over = true
	}
	for e := range h.errands {
		if left := e.since + h.runner.horizon - now; left > 0 && !h.bubble && !h.over {
			wait = max(wait, left)
			continue
		}
		h.note.CutOff++
		e.reply.Err = ErrOver
		e.cancel()
	}
	if !h.bubble && !h.over {
		if wait == 0 {
			wait = h.runner.horizon
		}
		h.cut = h.runner.loop.At(min(now+wait, h.last), clock.Work, clock.Func(h.cutAll))
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
// counts. Any goroutine may call it.
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

// begin opens the door, and end closes it.
func (h *host) begin() { h.door.over.Store(false) }

func (h *host) end() {
	h.door.over.Store(true)
	close(h.door.ended)
	h.tell()
}

// tell writes what rows do not say.
func (h *host) tell() {
	for _, state := range guestStates {
		h.runner.tell(record.Event{At: h.runner.loop.Now(), What: record.WhatGuest, State: state, Value: *guestCount(&h.note.Guest, state)})
	}
}

// guestCall is one call of a client, until nothing can come of it any more: the
// client has returned, its context has ended or, on the real clock, some time has
// passed since, and no attempt is open. A client may leave attempts behind when
// it returns, as a hedge does with its losers; nobody but the horizon cancels them
// for it.
type guestCall struct {
	host    *host
	index   int64 // of the request, also when that has another's by now
	request *request
	call    policy.Call
	to      policy.Receiver // nil once nobody waits for the client
	leave   func()          // tells the client that its caller has left
	horizon clock.Timer

	back   bool // the client has returned
	spent  bool // nothing more is expected of it
	closed bool

	open       int   // attempts under way
	tries      int   // attempts so far
	first      int32 // the dependency of the first; -1 before it
	served     int32 // the dependency of the last that succeeded; -1 for none
	firstToken time.Duration
}

// newCall begins a call of the client.
func (h *host) newCall(call policy.Call, to policy.Receiver) *guestCall {
	r := h.runner
	q, _ := owners(call.Request)
	c := &guestCall{host: h, index: q.Index, request: q, call: call, to: to, served: -1, firstToken: record.Never, first: -1}
	q.alive++ // keeps q until the client has let go of it
	r.loop.Hold()
	h.live++
	h.out++
	h.calls[q.Index] = c
	c.horizon = r.loop.At(q.row.Intended+r.horizon, clock.Horizon, c)
	return c
}

// returned ends the call for whoever waits for it, at an instant that may be over;
// record.Never for now.
func (c *guestCall) returned(o policy.Outcome, at time.Duration) {
	c.back = true
	c.host.out--
	if to := c.to; to != nil {
		c.to = nil
		r := c.host.runner
		r.instant = at
		to.Ended(o)
		r.instant = record.Never
		if q := c.request; o.Success() && c.served < 0 && q.Over && q.row.Outcome == record.Completed {
			q.row.ServedBy = -1
			c.host.note.Unserved++
		}
	}
	if !c.host.bubble {
		c.host.runner.loop.After(min(linger, c.host.runner.horizon), clock.Func(c.expect))
	}
	c.end()
	c.host.rest()
}

// Cancel implements [policy.Running]: the client's caller has left.
func (c *guestCall) Cancel() {
	c.to = nil
	c.leave()
}

// Happen implements [clock.Event]: the horizon has come, also for what the client
// has left behind.
func (c *guestCall) Happen() {
	c.leave()
	if c.host.bubble {
		c.expect()
	}
}

// expect expects nothing more of the client.
func (c *guestCall) expect() {
	c.spent = true
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
	h.runner.loop.Cancel(c.horizon)
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
