package clock

import (
	"fmt"
	"runtime/debug"
)

// Do has f called on the loop, as [Loop.Post] has. When a loop on the real clock
// waits, it does not wake it for that: the caller's goroutine is the loop for as
// long as f takes, and what f schedules for this same instant. That saves two
// threads' waking up, which on an idle machine takes longer than what they do.
//
// Any goroutine may call it, also one that is the loop already. The caller must
// hold no lock that anything on the loop takes. What f panics with ends the loop's
// goroutine too.
func (l *Loop) Do(f func()) {
	if l.waiter == nil || l.settle != nil || !l.turn.TryLock() {
		l.Post(f)
		return
	}
	l.advance(0)
	if !l.welcomes() {
		l.turn.Unlock()
		l.Post(f)
		return
	}
	defer l.part()
	l.telling = true // Glance is for the goroutine that waits
	f()
	for {
		l.takePosted()
		when, ok := l.queue.peek()
		if !ok || when > l.now {
			return
		}
		l.queue.pop().Happen()
	}
}

// welcomes reports whether a guest may go first, at this instant: not if anything
// is due, or was posted before, for which the loop is being woken anyway.
func (l *Loop) welcomes() bool {
	if l.posted.Load() || l.broken != nil {
		return false
	}
	when, ok := l.queue.peek()
	return !ok || when > l.now
}

// part gives the loop back, and wakes it if it waits for the wrong thing now.
func (l *Loop) part() {
	p := recover()
	if p != nil {
		l.broken = fmt.Sprintf("%v\n\nwhere it came from:\n%s", p, debug.Stack())
	}
	l.telling = false
	when, ok := l.queue.peek()
	if p != nil || !ok && l.held == 0 || ok && (l.until < 0 || when < l.until) {
		l.waiter.wake() // before it can end, and be closed
	}
	l.turn.Unlock()
	if p != nil {
		panic(p)
	}
}
