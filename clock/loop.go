// Package clock is brunt's event loop, and the two clocks that drive it.
//
// A [Loop] holds events and makes them happen one at a time, in one fixed
// order. The virtual clock jumps to the next event; the real clock waits for
// it. Whatever runs on the loop (policies, dependencies, load) cannot tell
// which, and needs no lock.
//
// Instants and durations are [time.Duration]; an instant counts from the start
// of the loop. All methods are for the goroutine that runs the loop, except
// [Loop.Post], [Loop.Do] and [Loop.Elapsed], which any goroutine may call. On Linux
// a loop can wait for file descriptors too, see [Loop.Watch].
//
//	loop := clock.Virtual()
//	loop.After(time.Second, clock.Func(func() { fmt.Println(loop.Now()) }))
//	loop.Run() // prints 1s, at once
package clock

import (
	"runtime"
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

	yielded time.Duration // when the goroutine last let others run
	telling bool          // watchers

	waiter waiter // nil on the virtual clock
	settle func() // in a bubble: lets everybody else go on until nobody can
	made   time.Time
	start  atomic.Int64 // when Run was called, counted from made

	turn   sync.Mutex    // held by the goroutine that is the loop at present
	until  time.Duration // guarded by turn: what the loop waits for; negative for nothing
	broken any           // guarded by turn: what a guest of the loop has panicked with
	posted atomic.Bool
	asleep atomic.Bool // about to wait, or waiting
	mu     sync.Mutex
	inbox  []func() // guarded by mu
}

// waiter waits on the real clock.
type waiter interface {
	// prepare is called at the start of the loop, before the first wait.
	prepare(elapsed func() time.Duration)
	// wait returns at an instant of the loop, or when wake was called, or there is
	// something to tell a watcher, whichever is first; a negative instant never comes.
	wait(until time.Duration)
	// glance looks whether there is something to tell a watcher, without waiting.
	glance()
	// tell tells the watchers what wait or glance has found.
	tell()
	// wake ends the current wait, or the next one. Any goroutine may call it.
	wake()
	watch(fd int, w Watcher) (Watch, error)
	unwatch(w Watch)
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
	l := &Loop{waiter: w, made: time.Now()}
	l.turn.Lock() // only while Run waits can another goroutine have it
	return l, nil
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

// Elapsed returns the time since the start of the loop, at the moment of the
// call. It is valid once Run has been called. On the real clock any goroutine
// may call it; on the virtual clock it is Now.
func (l *Loop) Elapsed() time.Duration {
	if l.waiter == nil {
		return l.now
	}
	return time.Since(l.made) - time.Duration(l.start.Load())
}

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
	l.mu.Lock() // until it is woken: a loop that had taken the post could be closed by then
	defer l.mu.Unlock()
	l.inbox = append(l.inbox, f)
	l.posted.Store(true)
	// A loop that is awake looks at the inbox before it waits; and of many posts
	// one wakes it.
	if l.waiter != nil && l.asleep.CompareAndSwap(true, false) {
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
	l.start.Store(int64(time.Since(l.made)))
	l.waiter.prepare(l.Elapsed)
	hurried := 0 // events since the loop last got to wait
	for l.now = 0; ; {
		l.takePosted()
		if l.settle != nil {
			l.settled()
		}
		when, ok := l.queue.peek()
		switch {
		case !ok && l.held == 0:
			return
		case !ok:
			l.wait(-1)
			continue
		}
		if l.Elapsed() < when {
			hurried = 0
			l.wait(when)
			continue
		}
		if hurried++; hurried%pollEvery == 0 {
			l.waiter.glance()
			l.advance(0)
			l.tell()
			if l.posted.Load() {
				continue
			}
		}
		l.advance(when)
		l.queue.pop().Happen()
	}
}

// pollEvery is after how many events a loop that is late looks at what it
// watches: often enough that an answer is not late itself, and seldom enough
// that looking costs little beside the events.
const pollEvery = 16

// yieldEvery is how long the loop goes without the scheduler of the runtime. One
// that has not seen a goroutine for 10 ms takes it for one that will not stop,
// has its processor taken away in every wait, and looks after it every 20 us
// (proc.go, retake and sysmon, Go 1.26): half as much again of processor time.
const yieldEvery = 4 * time.Millisecond

// wait waits for an instant, a post or something that is watched.
func (l *Loop) wait(until time.Duration) {
	l.asleep.Store(true)
	if l.posted.Load() { // it may have come before asleep was seen
		l.asleep.Store(false)
		return
	}
	if l.Elapsed()-l.yielded > yieldEvery {
		l.yielded = l.Elapsed()
		runtime.Gosched()
	}
	l.until = until
	l.turn.Unlock()
	l.waiter.wait(until)
	l.turn.Lock()
	l.asleep.Store(false)
	if l.broken != nil {
		panic(l.broken)
	}
	l.advance(0)
	l.tell()
}

// advance moves now to the real time, at least to the given instant.
func (l *Loop) advance(least time.Duration) {
	l.now = max(l.Elapsed(), least, l.now)
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
