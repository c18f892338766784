package clock

import (
	"errors"
	"syscall"
	"testing"
	"time"
)

// pipe is a descriptor to watch, and one to make it readable.
type pipe struct{ from, to int }

func newPipe(t *testing.T) pipe {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	p := pipe{fds[0], fds[1]}
	t.Cleanup(func() { _, _ = syscall.Close(p.from), syscall.Close(p.to) })
	return p
}

func (p pipe) write(t *testing.T) {
	if _, err := syscall.Write(p.to, []byte("x")); err != nil {
		t.Error(err)
	}
}

func (p pipe) read() { _, _ = syscall.Read(p.from, make([]byte, 9)) }

type watcherFunc func()

func (f watcherFunc) Readable() { f() }

func realLoop(t *testing.T) *Loop {
	t.Helper()
	l, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func watch(t *testing.T, l *Loop, fd int, f func()) Watch {
	t.Helper()
	w, err := l.Watch(fd, watcherFunc(f))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A watcher is told from within a long wait, at the time at which it happens.
func TestWatch(t *testing.T) {
	l, p := realLoop(t), newPipe(t)
	l.Hold()
	told := 0
	watch(t, l, p.from, func() {
		if told++; told == 1 {
			if l.Now() < 3*time.Millisecond {
				t.Errorf("told at %v", l.Now())
			}
			return // it is told again, as nothing was read
		}
		p.read()
		l.Release()
	})
	l.At(3*time.Millisecond, Work, Func(func() { p.write(t) }))
	l.Run() // and returns although the watch goes on
	if told != 2 {
		t.Errorf("told %d times, expected 2", told)
	}
}

// Once a watch is over nobody is told, also when both had something at once,
// and also when another watch has taken its slot.
func TestUnwatch(t *testing.T) {
	l, a, b := realLoop(t), newPipe(t), newPipe(t)
	var wa, wb Watch
	told := 0
	other := func(own, others *Watch) func() {
		return func() {
			told++
			l.Unwatch(*own)
			l.Unwatch(*others)
			l.Unwatch(*others) // again does nothing
			watch(t, l, newPipe(t).from, func() { t.Error("told of a pipe that is empty") })
		}
	}
	wa, wb = watch(t, l, a.from, other(&wa, &wb)), watch(t, l, b.from, other(&wb, &wa))
	a.write(t)
	b.write(t)
	l.At(5*time.Millisecond, Work, Func(func() {}))
	l.Run()
	if told != 1 {
		t.Errorf("told %d times, expected 1", told)
	}
	l.Unwatch(Watch{})
}

// A loop that never gets to wait looks at what it watches all the same.
func TestWatchInHurry(t *testing.T) {
	l, p := realLoop(t), newPipe(t)
	told, events := 0, 0
	watch(t, l, p.from, func() {
		told++
		p.read()
	})
	p.write(t)
	for range 10 * pollEvery {
		l.At(0, Work, Func(func() {
			if events++; told == 0 && events > 2*pollEvery {
				t.Errorf("nobody was told by event %d", events)
			}
		}))
	}
	l.Run()
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// A glance tells within an event, but not while watchers are being told.
func TestGlance(t *testing.T) {
	l, p := realLoop(t), newPipe(t)
	told := 0
	watch(t, l, p.from, func() {
		told++
		l.Glance()
		p.read()
	})
	l.At(time.Millisecond, Work, Func(func() {
		l.Glance()
		p.write(t)
		if told != 0 {
			t.Error("told of nothing")
		}
		if l.Glance(); told != 1 {
			t.Errorf("told %d times", told)
		}
	}))
	l.Run()
	Virtual().Glance()
}

func TestWatchUnsupported(t *testing.T) {
	l := Virtual()
	w, err := l.Watch(0, watcherFunc(func() {}))
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	l.Unwatch(w)
	if _, err := realLoop(t).Watch(-1, watcherFunc(func() {})); err == nil {
		t.Error("watched a descriptor that there is not")
	}
}

// countingWaiter counts the wakes of a loop.
type countingWaiter struct {
	waiter
	wakes int
}

func (w *countingWaiter) wake() {
	w.wakes++
	w.waiter.wake()
}

// A loop that is awake is not woken, and one that sleeps is woken once.
func TestWakes(t *testing.T) {
	l := realLoop(t)
	w := &countingWaiter{waiter: l.waiter}
	l.waiter = w
	posted := 0
	l.At(0, Work, Func(func() {
		for range 10 {
			l.Post(func() { posted++ })
		}
	}))
	l.Run()
	if posted != 10 || w.wakes != 0 {
		t.Errorf("%d of 10 calls, %d wakes", posted, w.wakes)
	}
	l.Post(func() {})
	l.wait(-1) // would be for ever, if what was posted before it were not seen
	l.asleep.Store(true)
	for range 10 {
		l.Post(func() {})
	}
	if w.wakes != 1 {
		t.Errorf("%d wakes", w.wakes)
	}
}

// A timer that has gone off is set again, even to the same instant: it may have
// gone off too early.
func TestTimerIsSetAgain(t *testing.T) {
	l := realLoop(t)
	w := l.waiter.(*pollWaiter)
	w.prepare(l.Elapsed)
	for range 3 {
		w.wait(time.Microsecond)
		w.tell()
	}
}

// An event that is cancelled leaves the timer set too early, and one that comes
// before it too late: neither makes the loop miss an instant.
func TestTimerIsSetAnew(t *testing.T) {
	const ms = time.Millisecond
	l := realLoop(t)
	var at []time.Duration
	note := Func(func() { at = append(at, l.Now()) })
	early := l.At(4*ms, Work, note)
	l.At(8*ms, Work, note)
	l.At(2*ms, Work, Func(func() {
		l.Cancel(early)
		l.At(3*ms, Work, note)
		l.At(6*ms, Work, note)
	}))
	l.Run()
	for i, due := range []time.Duration{3 * ms, 6 * ms, 8 * ms} {
		if i >= len(at) || at[i] < due || at[i] > due+time.Minute {
			t.Fatalf("happened at %v", at)
		}
	}
}

// A guest of the loop does not look at what is watched: the goroutine that waits
// is looking.
func TestDoDoesNotGlance(t *testing.T) {
	p := newPipe(t)
	told := 0
	visit(t, func(l *Loop) {
		l.Do(func() {
			watch(t, l, p.from, func() { p.read(); told++; l.Release() })
			p.write(t)
			if l.Glance(); told != 0 {
				t.Error("told on a guest's goroutine")
			}
		})
	})
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
