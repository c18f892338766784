// Package policy holds what a caller wraps around a dependency: retry and its
// budgets, timeout, breaker, limit, rate, throttle, adaptive limits, hedge and
// fallback. Each has a file of its own, with its configuration, its exact meaning and its code.
//
// A [Stage] starts calls; stages wrap one another, outermost first, around
// what calls the dependency. All of it runs on one [clock.Loop]: no stage has
// a lock, and none may be used from another goroutine. Calls in progress are
// pooled, so that a warm stack allocates nothing.
package policy

import (
	"time"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Request is what the stages know of the request that a call belongs to.
type Request struct {
	Index    int64
	Caller   int32 // which caller makes it, from 0
	Refusals int32 // counted up by each stage that refuses
	Denied   int32 // counted up by each budget that denies a retry or a hedge
	Over     bool  // set by the runner before it reports the end or cancels the stack
	Owner    any   // the runner's own state
}

// Call is one call on its way inwards. It is passed by value: what a stage
// changes is seen by the stages inside of it alone. (Six words: with the stage
// and the receiver they fill the registers, and one more costs a third of the
// engine's speed.)
type Call struct {
	Request *Request
	Why     record.Why
	// Path tells the calls of one request apart that the same stage starts
	// over and over; draws depend on it. The first call of each stage keeps it.
	Path uint64
	// Deadline is the instant at which the caller gives the call up, whatever
	// happens: the horizon, or the end of a timeout around it.
	Deadline time.Duration
	// pass opens a breaker to this call; nil when no fallback gave one.
	pass *pass
	// hedge is the innermost hedged call that this one is an attempt of.
	hedge *hedgeRun
}

// pass is what a fallback gives to a call: the breaker lets it in where it would
// refuse it or, when it is through, whatever its state. It learns nothing then.
type pass struct {
	breaker *breaker
	through bool
}

// unwanted reports whether the call is about to be cancelled, because its
// request or a hedge around it is over. It must not be given a permit any more.
func (c *Call) unwanted() bool {
	for h := c.hedge; h != nil; h = h.call.hedge {
		if h.over {
			return true
		}
	}
	return c.Request.Over
}

// again returns the call for a stage's n-th further try (n > 0).
func (c Call) again(why record.Why, n int) Call {
	c.Why = why
	c.Path = c.Path*0x9e3779b97f4a7c15 + uint64(n)
	return c
}

// Outcome is how a call ended, or that it has not: the zero Outcome is open.
// (Four fields: a struct of more is not kept in registers.)
type Outcome struct {
	Cause      record.Cause  // None when the call completed, or is open
	by         int32         // 0 while open, then 1, or 2 and more for the dependency that completed it
	FirstToken time.Duration // instant of the first token; record.Never but for streams
	RetryAfter time.Duration // how long the dependency asks the caller to wait before a retry; 0 when it does not
}

// Completed returns the outcome of a call that a dependency answered.
// firstToken is [record.Never] but for streams.
func Completed(dependency int32, firstToken time.Duration) Outcome {
	return Outcome{by: dependency + 2, FirstToken: firstToken}
}

// Ended returns the outcome of a call that did not complete.
func Ended(c record.Cause) Outcome {
	return Outcome{by: 1, Cause: c, FirstToken: record.Never}
}

// Dependency returns the position of the dependency that completed the call;
// -1 when none did.
func (o Outcome) Dependency() int32 { return max(o.by-2, -1) }

// Open reports whether the call has not ended.
func (o Outcome) Open() bool { return o.by == 0 }

// Success reports whether the call completed.
func (o Outcome) Success() bool { return o.by > 1 }

// Failed reports whether the call ended in a failure or a timeout: something
// that speaks against the dependency.
func (o Outcome) Failed() bool { return o.by == 1 && !o.Refused() }

// Refused reports whether a stage inside refused the call: it says nothing
// about the dependency.
func (o Outcome) Refused() bool {
	switch o.Cause {
	case record.Circuit, record.Limiter, record.Rate, record.Throttle:
		return true
	}
	return false
}

// Stage starts calls.
//
// When a call ends at once, Start returns its outcome, and the receiver hears
// nothing. Otherwise Start returns the open outcome and the running call, and
// the receiver hears of its end exactly once, later, unless the call is
// cancelled first.
type Stage interface {
	Start(call Call, to Receiver) (Running, Outcome)
}

// Receiver is told how a call ended.
type Receiver interface{ Ended(Outcome) }

// Running is a call in progress. Cancel gives it up: its receiver hears
// nothing any more. It must not be called after the end.
type Running interface{ Cancel() }

// Env is what stages are built with.
type Env struct {
	Loop   *clock.Loop
	Chance chance.Source
	// Observe is told of changes of state; nil when nobody listens.
	Observe func(record.Event)
	// Detail asks for what changes with every call too: permits, queues, limits
	// and budgets. Without it only breakers tell.
	Detail bool
	// Caller is whose stages are being built, from 0; -1 for what callers share.
	Caller int32
	// Number sets the draws of the stage that is being built apart from those of
	// others of its kind. Every caller's instance has the same.
	Number uint64
}

// observe tells of a change of state of the stage of a caller.
func (e *Env) observe(caller int32, stage, what, state string, value int64) {
	if e.Observe != nil && (e.Detail || what == record.WhatBreaker) {
		e.Observe(record.Event{At: e.Loop.Now(), Stage: stage, What: what, State: state, Value: value, Caller: caller})
	}
}

func refuse(call Call, c record.Cause) Outcome {
	call.Request.Refusals++
	return Ended(c)
}

// Config is the configuration of one stage.
type Config interface {
	// Check reports what is wrong with the settings.
	Check(check.Problems)
	// Wrap builds the stage around the one inside. name is its path in the
	// composition, for events.
	Wrap(inner Stage, name string, env *Env) Stage
	// Bound turns the worst case of the stages inside into that of this one.
	Bound(inner Bound) Bound
}

// Unbounded is the longest time of a call that has no limit of its own.
const Unbounded time.Duration = 1<<63 - 1

// Bound is the worst case of a stack, if the dependency does its worst.
type Bound struct {
	Attempts int64         // most calls of a dependency for one request
	Longest  time.Duration // longest time to an outcome, or Unbounded
}

// plus adds durations that may be Unbounded.
func plus(a, b time.Duration) time.Duration {
	if a == Unbounded || b == Unbounded || a > Unbounded-b {
		return Unbounded
	}
	return a + b
}

// times multiplies a duration that may be Unbounded; n is above 0.
func times(d time.Duration, n int64) time.Duration {
	if d == Unbounded || d > 0 && n > int64(Unbounded/d) {
		return Unbounded
	}
	return d * time.Duration(n)
}

// timesCount multiplies counts that stay below a bound that no check accepts.
func timesCount(a, b int64) int64 {
	const most = 1 << 40
	if a > most/max(b, 1) {
		return most
	}
	return a * b
}

// pool keeps values of one kind for use again.
type pool[T any] struct{ free []*T }

func (p *pool[T]) get() *T {
	if n := len(p.free); n > 0 {
		v := p.free[n-1]
		p.free = p.free[:n-1]
		return v
	}
	return new(T)
}

func (p *pool[T]) put(v *T) { p.free = append(p.free, v) }
