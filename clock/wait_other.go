//go:build !linux

package clock

import "time"

// timerWaiter waits on a Go timer: up to a millisecond late, on any system.
type timerWaiter struct{ woken chan struct{} }

func newWaiter() (waiter, error) {
	return &timerWaiter{woken: make(chan struct{}, 1)}, nil
}

func (w *timerWaiter) prepare() (release func()) { return func() {} }

func (w *timerWaiter) wait(d time.Duration) {
	if d < 0 {
		<-w.woken
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.woken:
	}
}

func (w *timerWaiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (w *timerWaiter) close() {}
