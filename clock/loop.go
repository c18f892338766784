// Package clock is brunt's event loop, and the two clocks that drive it.
//
// A [Loop] holds events and makes them happen one at a time, in one fixed
// order. The virtual clock jumps to the next event; the real clock waits for
// it. Whatever runs on the loop (policies, dependencies, load) cannot tell
// which, and needs no lock.
//
// Instants and durations are [time.Duration]; an instant counts from the start
// of the loop. All methods are for the goroutine that runs the loop, except
// [Loop.Post], which any goroutine may call.
//
//	loop := clock.Virtual()
//	loop.After(time.Second, clock.Func(func() { fmt.Println(loop.Now()) }))
//	loop.Run() // prints 1s, at once
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Class ranks events that fall on one instant: a lower class happens first.
// Inside a class events happen in the order in which they were scheduled. The
// order is part of brunt's contract, since published numbers depend on it.
type Class uint8

// The classes, first to last.
const (
	Timeline Class = iota // phases and faults
	Work                  // calls in progress
	Horizon               // requests that run out of time
	Arrival               // new requests
)

// classShift leaves 2^56 events a class before sequence numbers would run over.
const classShift = 56

// Event is something that happens at an instant of the loop.
type Event interface{ Happen() }

// Func adapts a function to an [Event]. It allocates when the function is a
// closure; on hot paths implement Event on a pooled struct instead.
type Func func()

// Happen calls the function.
func (f Func) Happen() { f() }

// Timer names a scheduled event, so that it can be cancelled. The zero Timer
// names none.
type Timer struct {
	slot int32
	gen  uint32
}

// Loop is a single-threaded event loop. Make one with [Virtual] or [Real].
type Loop struct {
	now   time.Duration
	queue queue
	seq   uint64
	held  int

	waiter waiter // nil on the virtual clock
	start  time.Time

	posted atomic.Bool
	mu     sync.Mutex
	inbox  []func() // guarded by mu
}

// waiter waits on the real clock.
type waiter interface {
	// prepare is called on the goroutine that will wait, before the first
	// wait; what it returns undoes it.
	prepare() (release func())
	// wait returns when d has passed or wake was called, whichever is first; a
	// negative d waits for wake alone.
	wait(d time.Duration)
	// wake ends the current wait, or the next one. Any goroutine may call it.
	wake()
	close()
}

// Virtual returns a loop on the virtual clock: it never waits.
func Virtual() *Loop { return &Loop{} }

// Real returns a loop on the real clock. It keeps a system handle until Close.
func Real() (*Loop, error) {
	w, err := newWaiter()
	if err != nil {
		return nil, err
	}
	return &Loop{waiter: w}, nil
}

// Close frees what the loop holds. The loop must not be running.
func (l *Loop) Close() {
	if l.waiter != nil {
		l.waiter.close()
	}
}

// Virtual reports whether the loop runs on the virtual clock.
func (l *Loop) Virtual() bool { return l.waiter == nil }

// Now returns the present instant: on the virtual clock the instant of the
// event that is happening, on the real clock the time at which it began to
// happen, never earlier than it was due.
func (l *Loop) Now() time.Duration { return l.now }

// At schedules an event. An instant in the past counts as now.
func (l *Loop) At(when time.Duration, class Class, ev Event) Timer {
	return l.AtRank(when, class, l.next(), ev)
}

// AtRank schedules an event whose place among those of its class and instant
// is rank instead of the order of scheduling.
func (l *Loop) AtRank(when time.Duration, class Class, rank uint64, ev Event) Timer {
	if when < l.now {
		when = l.now
	}
	return l.queue.push(when, uint64(class)<<classShift|rank, ev)
}

// After schedules work in progress to happen d from now.
func (l *Loop) After(d time.Duration, ev Event) Timer {
	return l.At(l.now+d, Work, ev)
}

func (l *Loop) next() uint64 {
	l.seq++
	return l.seq
}

// Cancel takes a scheduled event back. It reports whether the event was still
// to come; cancelling twice, or after the event, does nothing.
func (l *Loop) Cancel(t Timer) bool { return l.queue.remove(t) }

// Hold keeps Run from returning although nothing is scheduled, because work
// outside of the loop will still post its result. Each Hold needs a Release.
func (l *Loop) Hold() { l.held++ }

// Release takes one Hold back.
func (l *Loop) Release() { l.held-- }

// Post has f called on the loop as soon as the present event is over. Any
// goroutine may call it.
func (l *Loop) Post(f func()) {
	l.mu.Lock()
	l.inbox = append(l.inbox, f)
	l.posted.Store(true)
	l.mu.Unlock()
	if l.waiter != nil {
		l.waiter.wake()
	}
}

// Run makes events happen until none is scheduled and nothing is held. On the
// real clock instant 0 is the moment Run is called.
func (l *Loop) Run() {
	if l.waiter == nil {
		l.runVirtual()
		return
	}
	defer l.waiter.prepare()()
	l.start = time.Now()
	for l.now = 0; ; {
		l.takePosted()
		when, ok := l.queue.peek()
		switch {
		case !ok && l.held == 0:
			return
		case !ok:
			l.waiter.wait(-1)
			l.advance(0)
			continue
		}
		if d := when - time.Since(l.start); d > 0 {
			l.waiter.wait(d)
			if time.Since(l.start) < when { // woken by a post
				l.advance(0)
				continue
			}
		}
		l.advance(when)
		l.queue.pop().Happen()
	}
}

// advance moves now to the real time, at least to the given instant.
func (l *Loop) advance(least time.Duration) {
	l.now = max(time.Since(l.start), least, l.now)
}

func (l *Loop) runVirtual() {
	for {
		l.takePosted()
		when, ok := l.queue.peek()
		if !ok {
			return
		}
		l.now = when
		l.queue.pop().Happen()
	}
}

// takePosted calls what was posted, also what is posted by that.
func (l *Loop) takePosted() {
	for l.posted.Load() {
		l.mu.Lock()
		fs := l.inbox
		l.inbox = nil
		l.posted.Store(false)
		l.mu.Unlock()
		for _, f := range fs {
			f()
		}
	}
}
