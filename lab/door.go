package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"brunt/clock"
	"brunt/dependency"
	"brunt/policy"
	"brunt/record"
)

// Door leads from the goroutines of a client that is not brunt's to the
// dependencies of the study. In a bubble all its methods are for the goroutines
// there; on the real clock for any.
type Door struct {
	host  *host
	over  atomic.Bool   // the run has ended, or not begun
	ended chan struct{} // closed once it has
}

// ErrOver is what a call of a dependency ends with when the run is over, or has
// not begun.
var ErrOver = errors.New("brunt: the run is over, or has not begun")

// Reply is what came of a call of a dependency.
type Reply struct {
	// Err is the context's error of a call that it ended, or ErrOver; nil when the
	// dependency has answered.
	Err error
	// Cause is why the dependency failed; record.None when it did not.
	Cause record.Cause
	// RetryAfter is how long it asks to wait before a retry; 0 when it does not.
	RetryAfter time.Duration
	// Status is that of a recorded answer; 0 for none.
	Status int32
	// Tokens is how many tokens the answer has; 0 but for streams.
	Tokens int64
	// Wire is what it looks like over HTTP; nil for the usual.
	Wire *dependency.Wire
}

// Dependencies returns the names of what can be called.
func (d *Door) Dependencies() []string { return d.host.runner.study.Callees() }

// Request returns the request of a context: its index in the schedule.
func Request(ctx context.Context) (index int64, ok bool) {
	c, ok := ctx.Value(callKey{}).(*guestCall)
	if !ok {
		return 0, false
	}
	return c.request.Index, true
}

// Call makes an attempt at a dependency, by its position, and waits for its
// answer or the end of the context. The attempt belongs to the context's request;
// when the context has lost it, to the one whose index is given as text, and when
// there is none such, to nobody.
func (d *Door) Call(ctx context.Context, target int, index string) Reply {
	if err := d.foreign(ctx); err != nil {
		d.host.fail(err)
	}
	if err := ctx.Err(); err != nil {
		return Reply{Err: err}
	}
	e := &errand{index: -1, target: int32(target), deadline: record.Never}
	if c, ok := ctx.Value(callKey{}).(*guestCall); ok && c.host == d.host {
		e.call, e.index = c, c.index
	} else if n, err := strconv.ParseInt(index, 10, 64); err == nil {
		e.index = n
	}
	if at, ok := ctx.Deadline(); ok {
		e.deadline = max(at.Sub(d.host.began), 0)
	}
	return d.run(ctx, e)
}

// run waits until an attempt has its answer, or its context or the run has ended.
func (d *Door) run(ctx context.Context, e *errand) Reply {
	if d.over.Load() {
		return Reply{Err: ErrOver}
	}
	e.host, e.done = d.host, make(chan struct{})
	loop := d.host.runner.loop
	loop.Do(e.arrive)
	select {
	case <-e.done:
		return e.reply
	case <-ctx.Done():
		loop.Do(e.leave)
	case <-d.ended: // it came as the run ended, which has not heard of it
		return Reply{Err: ErrOver}
	}
	select {
	case <-e.done: // an answer of this same instant is one
	case <-d.ended:
		return Reply{Err: ErrOver}
	}
	if e.left {
		return Reply{Err: ctx.Err()}
	}
	return e.reply
}

// foreign is how far a deadline may lie from the present: nobody waits for years,
// so one that does was made from a time that was read outside of the bubble.
const foreign = 5 * 365 * 24 * time.Hour

// foreign tells a deadline of another time than the bubble's.
func (d *Door) foreign(ctx context.Context) error {
	at, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	now := d.host.began.Add(d.host.runner.loop.Elapsed())
	if off := at.Sub(now); off > foreign || off < -foreign {
		return fmt.Errorf("the deadline of a call is %s, and now is %s here: it comes from a time that was read outside of the run; make the client, and whatever reads the time for it, inside of the function that brunttest calls",
			at.UTC().Format(time.DateTime), now.UTC().Format(time.DateTime))
	}
	return nil
}

// errand is one call through the door.
type errand struct {
	host     *host
	call     *guestCall // nil until it is known
	index    int64      // of its request; -1 for unknown
	target   int32
	deadline time.Duration  // of its context; record.Never for none
	since    time.Duration  // when it arrived
	running  policy.Running // nil before it has started, and when it is over
	reply    Reply
	left     bool // its context ended first
	started  bool
	over     bool
	done     chan struct{}                           // closed when reply is there
	begin    func(*dependency.Answer, time.Duration) // told of the answer, and how long it takes, when the work begins; nil for nobody
}

// arrive and leave are posted. What they do is work of this instant, in its
// place behind the timeline and the work that was there before.
func (e *errand) arrive() {
	if e.host.over { // nobody waits for anything any more
		e.reply.Err = ErrOver
		close(e.done)
		return
	}
	e.since = e.host.runner.loop.Now()
	e.host.runner.loop.Hold()
	e.host.errands[e] = struct{}{}
	e.host.rest()
	e.host.runner.loop.After(0, clock.Func(e.start))
}

func (e *errand) leave() {
	e.host.runner.loop.After(0, clock.Func(func() {
		if !e.over {
			e.left = true
			e.cancel()
		}
	}))
}

// start makes the attempt.
func (e *errand) start() {
	if e.over { // cut off at the instant of its arrival
		return
	}
	if e.call == nil {
		e.call = e.host.calls[e.index]
	}
	if e.call == nil || e.call.closed {
		e.call = e.host.stranger(e.index)
	}
	c := e.call
	call := c.call
	call.Why = c.why(e.target)
	if e.deadline != record.Never {
		call.Deadline = min(call.Deadline, e.deadline)
	}
	if c.tries++; c.tries == 1 {
		c.first = e.target
	}
	c.open++
	e.started = true
	a, o := e.host.stages[e.target].start(call, e)
	e.reply.Status, e.reply.Tokens, e.reply.Wire = a.answer.Status, a.answer.Tokens, a.answer.Wire
	if !o.Open() {
		e.Ended(o)
		return
	}
	e.running = a
	if e.begin != nil {
		a.watch(e.begin)
	}
}

// stranger returns a call for an attempt that belongs to no request that is still
// on: one whose row is never written.
func (h *host) stranger(index int64) *guestCall {
	if index >= 0 && index < h.runner.arrival.index {
		h.note.Late++
	} else {
		h.note.Unattributed++
	}
	r := h.runner
	now := r.loop.Now()
	q := r.newRequest()
	q.row = record.Request{Index: -(h.note.Late + h.note.Unattributed), Intended: now, Submitted: now, FirstToken: record.Never, ServedBy: -1}
	q.Request = policy.Request{Index: q.row.Index, Owner: q}
	q.alive++
	return &guestCall{
		host: h, request: q, served: -1, first: -1, closed: true,
		call: policy.Call{Request: &q.Request, Deadline: now + r.horizon},
	}
}

// Ended implements [policy.Receiver]: the dependency has answered.
func (e *errand) Ended(o policy.Outcome) {
	e.running = nil
	e.reply.Cause, e.reply.RetryAfter = o.Cause, o.RetryAfter
	if o.Success() {
		e.call.served, e.call.firstToken = o.Dependency(), o.FirstToken
	}
	if e.call.request.Over { // nobody waits for it any more
		e.host.note.Unheard++
	}
	e.finish()
}

// cancel gives the attempt up.
func (e *errand) cancel() {
	if e.started {
		e.running.Cancel()
		e.running = nil
	}
	e.finish()
}

func (e *errand) finish() {
	e.over = true
	delete(e.host.errands, e)
	e.host.runner.loop.Release()
	close(e.done)
	if e.started {
		e.call.open--
		e.call.end()
	}
	e.host.rest()
}
