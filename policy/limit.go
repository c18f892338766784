package policy

import (
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Order says which waiter is served first.
type Order string

// The orders of a queue.
const (
	FIFO Order = "fifo"
	LIFO Order = "lifo"
)

// Limit lets so many calls in at once (a bulkhead).
//
// A permit is held until the call inside has ended for the caller; clean-up
// does not hold it. A call without a permit waits when the queue has room,
// else it is refused. When a permit comes free it is promised to the waiter
// whose turn it is, the ended call is reported, and then that waiter starts,
// in the same instant. A waiter that is about to be cancelled, as the loser of a
// hedge that is over, is passed over. A waiter that is cancelled or has waited for
// `queue_timeout` frees its place; a promise made to it goes to the next.
type Limit struct {
	// How many calls may be inside at once.
	Permits int `yaml:"permits"`
	// How many calls may wait for a permit.
	Queue int `yaml:"queue"`
	// How long a call may wait before it is refused. 0s means for ever.
	QueueTimeout time.Duration `yaml:"queue_timeout"`
	// Which waiter is served first: fifo or lifo.
	Order Order `yaml:"order"`
}

// SetDefaults sets first in, first out.
func (c *Limit) SetDefaults() { *c = Limit{Order: FIFO} }

// Check implements [Config].
func (c *Limit) Check(p check.Problems) {
	check.Between(p, "permits", c.Permits, 1, 1e9)
	check.Between(p, "queue", c.Queue, 0, 1e9)
	p.NotNegative("queue_timeout", c.QueueTimeout)
	check.OneOf(p, "order", c.Order, FIFO, LIFO)
	if c.QueueTimeout > 0 && c.Queue == 0 {
		p.Doubt("queue_timeout", c.QueueTimeout, "without a queue nothing waits")
	}
}

// Bound implements [Config]. In a first in, first out queue the last waiter
// sees at most ceil(queue/permits) generations of calls before it; in a last
// in, first out queue it can starve.
func (c *Limit) Bound(inner Bound) Bound {
	wait := Unbounded
	switch {
	case c.Queue == 0:
		wait = 0
	case c.Order == FIFO:
		wait = times(inner.Longest, int64((c.Queue+c.Permits-1)/c.Permits))
	}
	if c.QueueTimeout > 0 {
		wait = min(wait, c.QueueTimeout)
	}
	return Bound{inner.Attempts, plus(inner.Longest, wait)}
}

// Wrap implements [Config].
func (c *Limit) Wrap(inner Stage, name string, env *Env) Stage {
	return &limit{config: c, inner: inner, name: name, caller: env.Caller, env: env}
}

type limit struct {
	config *Limit
	inner  Stage
	name   string
	caller int32
	env    *Env
	used   int // permits held or promised
	queue  waiters[limitRun, *limitRun]
	runs   pool[limitRun]
}

type limitState uint8

const (
	waiting limitState = iota
	promised
	inside
	gone // cancelled while promised a permit
)

// limitRun is one call at a limit: in the queue, promised a permit, or inside
// with one.
type limitRun struct {
	stage *limit
	call  Call
	to    Receiver
	state limitState
	links[limitRun]
	inner Running
	timer clock.Timer
}

func (s *limit) Start(call Call, to Receiver) (Running, Outcome) {
	if s.used >= s.config.Permits && s.queue.n >= s.config.Queue {
		return nil, refuse(call, record.Limiter)
	}
	r := s.runs.get()
	*r = limitRun{stage: s, call: call, to: to}
	if s.used >= s.config.Permits {
		s.queue.push(r)
		s.env.observe(s.caller, s.name, record.WhatQueue, "", int64(s.queue.n))
		if s.config.QueueTimeout > 0 {
			r.timer = s.env.Loop.After(s.config.QueueTimeout, r)
		}
		return r, Outcome{}
	}
	s.take(1)
	if o := r.enter(); !o.Open() {
		next := s.release()
		s.runs.put(r)
		next.start()
		return nil, o
	}
	return r, Outcome{}
}

func (s *limit) take(n int) {
	s.used += n
	s.env.observe(s.caller, s.name, record.WhatPermits, "", int64(s.used))
}

// enter starts the call inside.
func (r *limitRun) enter() (o Outcome) {
	r.state = inside
	r.inner, o = r.stage.inner.Start(r.call, r)
	return o
}

// release frees a permit, or promises it to the next waiter and returns it.
func (s *limit) release() *limitRun {
	next := s.next()
	if next == nil {
		s.take(-1)
		return nil
	}
	s.leaveQueue(next)
	next.state = promised
	return next
}

// next returns the waiter whose turn it is; one that nobody wants any more is
// passed over, and leaves when its cancellation comes.
func (s *limit) next() *limitRun {
	if s.config.Order == LIFO {
		r := s.queue.last
		for r != nil && r.call.unwanted() {
			r = r.before
		}
		return r
	}
	r := s.queue.first
	for r != nil && r.call.unwanted() {
		r = r.behind
	}
	return r
}

func (s *limit) leaveQueue(r *limitRun) {
	s.queue.remove(r)
	s.env.observe(s.caller, s.name, record.WhatQueue, "", int64(s.queue.n))
	s.env.Loop.Cancel(r.timer)
	r.timer = clock.Timer{}
}

// start lets a waiter in that was promised a permit, and those behind it as
// long as each ends at once. A nil waiter, or one that was cancelled since the
// promise, starts nothing.
func (r *limitRun) start() {
	for r != nil {
		if r.state == gone {
			r.stage.runs.put(r)
			return
		}
		o := r.enter()
		if o.Open() {
			return
		}
		r = r.finish(o)
	}
}

// finish reports an outcome and returns the waiter that the permit went to.
func (r *limitRun) finish(o Outcome) (next *limitRun) {
	s, to := r.stage, r.to
	next = s.release()
	s.runs.put(r)
	to.Ended(o)
	return next
}

// Ended implements [Receiver] for the call inside.
func (r *limitRun) Ended(o Outcome) { r.finish(o).start() }

// Happen implements [clock.Event]: the queue timeout is over.
func (r *limitRun) Happen() {
	r.timer = clock.Timer{}
	r.stage.leaveQueue(r)
	to, o := r.to, refuse(r.call, record.Limiter)
	r.stage.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *limitRun) Cancel() {
	s := r.stage
	switch r.state {
	case waiting:
		s.leaveQueue(r)
		s.runs.put(r)
	case promised:
		r.state = gone // whoever made the promise still holds r
		s.release().start()
	case inside:
		r.inner.Cancel()
		next := s.release()
		s.runs.put(r)
		next.start()
	}
}
