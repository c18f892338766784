package clock

import (
	"errors"
	"fmt"
	"time"
)

// timerWaiter waits on a Go timer: up to a millisecond late, on any system, and
// exact in a bubble.
type timerWaiter struct {
	elapsed func() time.Duration
	woken   chan struct{}
}

func newTimerWaiter() *timerWaiter { return &timerWaiter{woken: make(chan struct{}, 1)} }

func (w *timerWaiter) prepare(elapsed func() time.Duration) { w.elapsed = elapsed }

func (w *timerWaiter) wait(until time.Duration) {
	if until < 0 {
		<-w.woken
		return
	}
	timer := time.NewTimer(until - w.elapsed())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.woken:
	}
}

func (w *timerWaiter) glance() {}

func (w *timerWaiter) tell() {}

func (w *timerWaiter) watch(fd int, _ Watcher) (Watch, error) {
	return Watch{}, fmt.Errorf("watch the descriptor %d: %w on this system", fd, errors.ErrUnsupported)
}

func (w *timerWaiter) unwatch(Watch) {}

func (w *timerWaiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *timerWaiter) close() {}
