package clock

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// pollWaiter sleeps in epoll_wait on an event descriptor, a timer descriptor,
// and whatever else is watched. Go's own timers round a wait up to whole
// milliseconds in the poller; a timer descriptor is good to the kernel's
// high-resolution timer, has no slack, and stays armed over a wake that came
// for something else. Two are edge-triggered, so that nothing need be read.
type pollWaiter struct {
	poller, waker, timer int

	origin time.Duration // the kernel's monotonic time at the loop's instant 0
	armed  time.Duration // the instant that the timer is set to; unset for none

	events  []unix.EpollEvent
	found   int // how many of them are to be told
	watched []watched
	free    []int32
}

// watched is one descriptor, in a slot that is used again.
type watched struct {
	fd  int
	gen int32
	w   Watcher // nil while the slot is free
}

const (
	unset        = time.Duration(-1)
	wakerSlot    = -1
	timerSlot    = -2
	eventsAtOnce = 64
)

func newWaiter() (waiter, error) {
	w := &pollWaiter{poller: -1, waker: -1, timer: -1, armed: unset, events: make([]unix.EpollEvent, eventsAtOnce)}
	if err := w.open(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *pollWaiter) open() (err error) {
	if w.poller, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("real clock: make a poller: %w", err)
	}
	if w.waker, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("real clock: make an event descriptor: %w", err)
	}
	if w.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return fmt.Errorf("real clock: make a timer descriptor: %w", err)
	}
	for slot, fd := range map[int32]int{wakerSlot: w.waker, timerSlot: w.timer} {
		e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: slot}
		if err := unix.EpollCtl(w.poller, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
			return fmt.Errorf("real clock: poll its descriptors: %w", err)
		}
	}
	return nil
}

func (w *pollWaiter) prepare(elapsed func() time.Duration) {
	// The two clocks are read one after the other. What comes in between would make
	// every instant late by as much, so the closest of a few readings counts.
	w.armed = unset // by a run before this one
	closest := time.Duration(math.MaxInt64)
	for range 8 {
		var now unix.Timespec
		before := elapsed()
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
			continue // never seen; the timer is then early, and the loop waits in steps
		}
		if between := elapsed() - before; between < closest {
			closest, w.origin = between, time.Duration(now.Nano())-before
		}
	}
}

func (w *pollWaiter) wait(until time.Duration) {
	if until >= 0 && until != w.armed {
		at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(w.origin + until))}
		if err := unix.TimerfdSettime(w.timer, unix.TFD_TIMER_ABSTIME, &at, nil); err != nil {
			return // the loop looks at the clock again, and so waits without rest, but not for ever
		}
		w.armed = until
	}
	w.look(-1)
}

func (w *pollWaiter) glance() {
	if len(w.free) < len(w.watched) {
		w.look(0)
	}
}

// look waits for so many milliseconds, -1 for ever.
func (w *pollWaiter) look(timeout int) {
	n, err := unix.EpollWait(w.poller, w.events, timeout)
	if err != nil {
		n = 0 // a signal: the loop looks at the clock either way
	}
	w.found = n
}

func (w *pollWaiter) tell() {
	found := w.events[:w.found]
	w.found = 0
	for i := range found {
		e := &found[i]
		switch e.Fd {
		case wakerSlot:
		case timerSlot:
			w.armed = unset
		default:
			// A watcher that was told before may have taken this one's place.
			if s := &w.watched[e.Fd]; s.w != nil && s.gen == e.Pad {
				s.w.Readable()
			}
		}
	}
}

func (w *pollWaiter) watch(fd int, to Watcher) (Watch, error) {
	var i int32
	if n := len(w.free); n > 0 {
		i = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		i = int32(len(w.watched))
		w.watched = append(w.watched, watched{})
	}
	s := &w.watched[i]
	s.gen++
	e := unix.EpollEvent{Events: unix.EPOLLIN, Fd: i, Pad: s.gen}
	if err := unix.EpollCtl(w.poller, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		w.free = append(w.free, i)
		return Watch{}, fmt.Errorf("watch the descriptor %d: %w", fd, err)
	}
	s.fd, s.w = fd, to
	return Watch{i, s.gen}, nil
}

func (w *pollWaiter) unwatch(t Watch) {
	if t.gen == 0 || w.watched[t.slot].gen != t.gen || w.watched[t.slot].w == nil {
		return
	}
	s := &w.watched[t.slot]
	s.w = nil
	w.free = append(w.free, t.slot)
	_ = unix.EpollCtl(w.poller, unix.EPOLL_CTL_DEL, s.fd, nil) // fails for one that is closed, and needs it no more
}

func (w *pollWaiter) wake() {
	var buf [8]byte
	binary.NativeEndian.PutUint64(buf[:], 1)
	_, _ = unix.Write(w.waker, buf[:]) // fails only when the counter is full, and then a wake is pending
}

func (w *pollWaiter) close() {
	for _, fd := range []int{w.poller, w.waker, w.timer} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}
