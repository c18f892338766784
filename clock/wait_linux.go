package clock

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pollWaiter sleeps in ppoll on an event descriptor. Go's own timers round a
// wait up to whole milliseconds in the poller; a thread of our own with a
// timer slack of 1 ns wakes within tens of microseconds.
type pollWaiter struct{ fd int }

func newWaiter() (waiter, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("real clock: make an event descriptor: %w", err)
	}
	return &pollWaiter{fd: fd}, nil
}

func (w *pollWaiter) prepare() (release func()) {
	runtime.LockOSThread()
	// Failing leaves the default slack of 50 us: later, but not wrong.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the thread's default
		runtime.UnlockOSThread()
	}
}

func (w *pollWaiter) wait(d time.Duration) {
	var timeout *unix.Timespec
	if d >= 0 {
		ts := unix.NsecToTimespec(int64(d))
		timeout = &ts
	}
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	n, err := unix.Ppoll(fds, timeout, nil)
	if err != nil || n == 0 {
		return // time is up, or a signal: the loop looks at the clock either way
	}
	var buf [8]byte
	_, _ = unix.Read(w.fd, buf[:]) // resets the counter
}

func (w *pollWaiter) wake() {
	var buf [8]byte
	binary.NativeEndian.PutUint64(buf[:], 1)
	_, _ = unix.Write(w.fd, buf[:]) // fails only when the counter is full, and then a wake is pending
}

func (w *pollWaiter) close() { _ = unix.Close(w.fd) }
