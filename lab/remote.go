package lab

import (
	"sync"
	"time"

	"brunt/front"
	"brunt/policy"
	"brunt/record"
	"brunt/target"
)

// remote is a real target as the innermost stage: each call of it is one
// request over the network.
type remote struct {
	runner *runner
	target int32
	caller *target.Caller
	prices target.Prices
}

// addRemote adds the next target of the study, which is a real one. It is
// called once the runner stands on its ground.
func (r *runner) addRemote(c *target.Config) {
	r.late = true
	r.hear()
	r.remotes = append(r.remotes, &remote{runner: r, target: int32(len(r.remotes)), prices: c.Prices})
}

// hear prepares for news from the network.
func (r *runner) hear() {
	if r.inbox == nil {
		r.inbox, r.replicas = newInbox(r), map[string]int32{}
	}
}

// exchange is one request over the network, until its connection is free again
// or torn down.
type exchange struct {
	remote  *remote
	request *request
	to      policy.Receiver
	row     record.Attempt
	call    *target.Call
	open    bool // began before the request was over
	at0     bool // started at the moment at which its request was submitted
	ended   bool // for the caller

	// Of the call's own goroutine until its last event.
	gaps           []time.Duration
	first, content time.Duration // the first and the last piece of content
}

// Start implements [policy.Stage].
func (m *remote) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	r := m.runner
	q, parent := owners(call.Request)
	now := r.loop.Now()
	if now > q.row.Intended+r.horizon { // so late that nobody waits any more: the horizon is about to say so
		r.undispatched++
		return unsentCall{}, policy.Outcome{}
	}
	nth := q.nth[m.target]
	q.nth[m.target]++
	x := &exchange{remote: m, request: q, to: to, open: !q.Over}
	x.row = record.Attempt{
		Request: q.Index, Intended: q.row.Intended, Index: q.row.Attempts,
		Dependency: m.target, Nth: nth, Why: call.Why, Parent: -1, Replica: record.Unnamed,
		Start: now, FirstToken: record.Never, Wrote: record.Never, Tokens: -1,
		Again: call.Why == record.Retry || call.Why == record.Hedge,
	}
	if parent != nil {
		x.row.Parent = parent.row.Index
		x.row.Again = x.row.Again || parent.row.Again
	}
	x.first = record.Never
	x.at0 = x.row.Index == 0 && now == q.row.Submitted
	q.row.Attempts++
	q.alive++
	r.tally.attempts++
	if r.active++; r.active > r.peakAttempts {
		r.peakAttempts, r.peakAttemptsAt = r.active, now
	}
	r.loop.Hold()
	// The loop's horizon cancels every call, so none needs a deadline of its own.
	x.call = m.caller.Start(target.ID{Request: r.firstID + q.Index, Attempt: x.row.Index}, record.Never, x.see)
	return x, policy.Outcome{}
}

// unsentCall is a call that came too late to be sent. It never ends.
type unsentCall struct{}

// Cancel implements [policy.Running].
func (unsentCall) Cancel() {}

// see takes the events of the call, one at a time, on any goroutine.
func (x *exchange) see(e target.Event) {
	switch e.What {
	case target.FirstContent:
		x.first, x.content = e.At, e.At
	case target.Content:
		x.gaps = append(x.gaps, e.At-x.content)
		x.content = e.At
	case target.Terminal, target.Ended, target.Gone:
		x.remote.runner.inbox.put(x, e)
	}
}

// happened takes an event that matters to the caller, on the loop.
func (x *exchange) happened(e target.Event) {
	switch e.What {
	case target.Terminal:
		if !x.row.Cancelled {
			x.row.FirstToken = x.first
			x.end(e.At, policy.Completed(x.remote.target, x.first))
		}
	case target.Ended:
		a := e.Answer
		if !x.row.Cancelled && !x.ended {
			x.row.Cause = a.Cause
			o := policy.Completed(x.remote.target, a.FirstContent)
			if a.Cause != record.None {
				o = policy.Ended(a.Cause)
				o.RetryAfter = a.RetryAfter
			}
			if a.Cause == record.None {
				x.row.FirstToken = a.FirstContent
			}
			x.end(a.End, o)
		}
		x.gone(a)
	case target.Gone:
		x.gone(e.Answer)
	}
}

// end ends the call for its caller, at the instant at which the answer was
// here: what the loop was late by is not the target's.
func (x *exchange) end(at time.Duration, o policy.Outcome) {
	r := x.remote.runner
	x.ended = true
	x.row.End = max(at, x.row.Start)
	x.row.Pending = x.open && x.answered()
	r.active--
	if to := x.to; to != nil {
		x.to = nil
		r.instant = x.row.End
		to.Ended(o)
		r.instant = record.Never
	}
}

func (x *exchange) answered() bool {
	return x.request.Over && x.request.row.Outcome != record.Censored
}

// Cancel implements [policy.Running].
func (x *exchange) Cancel() {
	x.to = nil
	x.row.Cancelled = true
	x.row.End = x.remote.runner.loop.Now()
	x.row.Pending = x.open && x.answered()
	x.call.Cancel()
}

// gone writes the row of a call whose connection is free, or torn down.
func (x *exchange) gone(a *target.Answer) {
	r, q := x.remote.runner, x.request
	if !x.ended {
		r.active--
	}
	if x.row.Cancelled && a.FirstContent != record.Never && a.FirstContent <= x.row.End {
		x.row.FirstToken = a.FirstContent
	}
	x.row.CleanupEnd = x.row.End
	if x.row.Cancelled {
		x.row.CleanupEnd = max(a.End, x.row.End)
	}
	if q.Over {
		x.row.Cleanup = max(0, x.row.CleanupEnd-q.row.End)
	}
	x.row.Wrote, x.row.Status = a.Wrote, int32(a.Status)
	if x.row.Tokens = a.CompletionTokens; x.remote.caller.Streams() {
		x.row.Gaps = x.gaps
	}
	x.row.Cost = x.remote.prices.Of(a)
	x.row.Replica = r.replica(a.Replica)
	if x.at0 && a.Began != record.Never {
		q.row.Submitted = max(a.Began, q.row.Intended)
	}
	// A hedge that is given up before it began was not owed to anybody.
	if a.Began == record.Never && (x.at0 || !x.row.Cancelled) {
		r.undispatched++
	}
	q.row.Cost += x.row.Cost
	r.sink.Attempt(&x.row)
	q.alive--
	q.recycle()
	r.loop.Release()
}

// replica returns the number of a replica, by the name in its answers.
func (r *runner) replica(name string) int32 {
	if name == "" || name == front.None { // the front has answered by itself
		return record.Unnamed
	}
	i, known := r.replicas[name]
	if !known {
		i = int32(len(r.replicas))
		r.replicas[name] = i
		r.tell(record.Event{At: r.loop.Now(), What: record.WhatReplica, State: name, Value: int64(i)})
	}
	return i
}

// inbox gathers what calls tell of from their goroutines, so that the loop is
// woken once for many.
type inbox struct {
	runner *runner
	take   func()

	mu   sync.Mutex
	came []arrived // guarded by mu
	last []arrived // of the loop: the slice that was taken before
}

type arrived struct {
	by    heard
	event target.Event
}

// heard is told on the loop of what happened to its request on the network.
type heard interface{ happened(target.Event) }

func newInbox(r *runner) *inbox {
	b := &inbox{runner: r}
	b.take = b.takeAll
	return b
}

// put may be called from any goroutine.
func (b *inbox) put(by heard, e target.Event) {
	b.mu.Lock()
	b.came = append(b.came, arrived{by, e})
	first := len(b.came) == 1
	b.mu.Unlock()
	if first {
		b.runner.loop.Post(b.take)
	}
}

// takeAll hands everything on, on the loop.
func (b *inbox) takeAll() {
	b.mu.Lock()
	all := b.came
	b.came = b.last[:0]
	b.mu.Unlock()
	for i := range all {
		all[i].by.happened(all[i].event)
	}
	clear(all)
	b.last = all
}
