//go:build !linux

package clock

func newWaiter() (waiter, error) { return newTimerWaiter(), nil }
