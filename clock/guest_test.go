package clock

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// visit runs a loop that has nothing to do for an hour, and has another goroutine
// call a function once it waits.
func visit(t *testing.T, f func(l *Loop)) (l *Loop) {
	t.Helper()
	l, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	visitLoop(l, f)
	return l
}

func visitLoop(l *Loop, f func(l *Loop)) {
	l.Hold()
	var wg sync.WaitGroup
	wg.Go(func() {
		for !l.asleep.Load() {
		}
		for !l.turn.TryLock() { // it is about to wait
		}
		l.turn.Unlock()
		f(l)
	})
	l.Run()
	wg.Wait()
}

// What Do is given, and what that brings about at once, has happened when Do
// returns, in the loop's own order and at one instant.
func TestDoHappensAtOnce(t *testing.T) {
	var got []string
	var nows []time.Duration
	visit(t, func(l *Loop) {
		note := func(name string) func() {
			return func() { got, nows = append(got, name), append(nows, l.Now()) }
		}
		before := l.Elapsed()
		l.Do(func() {
			note("do")()
			l.At(l.Now(), Arrival, Func(note("arrival")))
			l.After(0, Func(func() {
				note("work")()
				l.Post(note("posted"))
				l.After(0, Func(note("work of work")))
				l.Do(note("done within"))
			}))
			l.At(0, Timeline, Func(note("timeline")))
			l.Glance() // is nothing here
		})
		want := []string{"do", "timeline", "work", "posted", "done within", "work of work", "arrival"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, now := range nows {
			if now != nows[0] || now < before || now > l.Elapsed() {
				t.Errorf("it happened at %v, called between %v and %v", nows, before, l.Elapsed())
				break
			}
		}
		l.Do(l.Release)
	})
}

// What comes later is the loop's own, which may have to wake sooner for it.
func TestDoLeavesTheRest(t *testing.T) {
	const ms = time.Millisecond
	var own, other atomic.Int64
	l := visit(t, func(l *Loop) {
		l.Do(func() {
			l.After(time.Hour, Func(func() { t.Error("waited an hour") }))
			l.After(2*ms, Func(func() { own.Add(1) }))
			distant := l.queue.push(2*time.Hour, uint64(Work)<<classShift, Func(func() {}))
			l.After(ms, Func(func() { l.Cancel(distant) }))
		})
		for own.Load() == 0 {
		}
		l.Do(func() {
			other.Add(1)
			for _, ok := l.queue.peek(); ok; _, ok = l.queue.peek() {
				l.queue.pop()
			}
			l.Release()
		})
	})
	if own.Load() != 1 || other.Load() != 1 || l.Now() > time.Minute {
		t.Errorf("%d and %d, at %v", own.Load(), other.Load(), l.Now())
	}
}

// Whatever is due, or was posted, comes first: Do is no way to overtake.
func TestDoDoesNotOvertake(t *testing.T) {
	var got []string // by the loop
	note := func(name string) func() { return func() { got = append(got, name) } }
	visit(t, func(l *Loop) {
		l.turn.Lock() // so that the loop cannot wake up in between
		if !l.welcomes() {
			t.Error("a loop that waits for nothing does not welcome a guest")
		}
		l.advance(0)
		due := l.queue.push(l.now, uint64(Work)<<classShift, Func(func() {}))
		if l.welcomes() {
			t.Error("a guest goes before what is due")
		}
		l.Cancel(due)
		l.At(time.Hour, Work, Func(l.Release))
		if !l.welcomes() {
			t.Error("a guest waits for what is far")
		}
		l.Post(note("posted"))
		if l.welcomes() {
			t.Error("a guest goes before what was posted")
		}
		l.Do(note("done"))
		l.Post(func() { l.queue.pop().Happen() }) // not in an hour
		l.turn.Unlock()
	})
	if diff := cmp.Diff([]string{"posted", "done"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Also what comes due while Do is being called has happened before it: no call
// sees an instant at which something is still to happen.
func TestDoSeesNothingDue(t *testing.T) {
	const every = 20 * time.Microsecond
	visit(t, func(l *Loop) {
		left := 2000
		var next time.Duration // by the loop
		var again Func
		again = func() {
			if left--; left > 0 {
				next = l.Now() + every
				l.At(next, Timeline, again)
			}
		}
		l.Do(again)
		var over atomic.Bool
		for !over.Load() {
			l.Do(func() {
				if left <= 0 {
					over.Store(true)
				} else if l.telling && next <= l.Now() { // as a guest, not by a post, which comes before the next event
					t.Errorf("what was due at %v has not happened at %v", next, l.Now())
					over.Store(true)
				}
			})
		}
		l.Do(l.Release)
	})
}

// One goroutine at a time is the loop, and nobody is forgotten; the race detector
// looks on.
func TestDoByMany(t *testing.T) {
	onBothClocks(t, func(t *testing.T, l *Loop) {
		const goroutines, each = 8, 2000
		sum := 0
		var wg sync.WaitGroup
		work := func(i int) {
			for n := range each {
				switch done := make(chan struct{}); (i + n) % 4 {
				case 0:
					l.Post(func() { sum++ })
				case 1:
					l.Do(func() { sum++ })
				case 2:
					l.Do(func() { l.After(0, Func(func() { sum++; close(done) })) })
					if !l.Virtual() {
						<-done
					}
				default:
					l.Do(func() { l.After(time.Duration(n%3)*10*time.Microsecond, Func(func() { sum++; close(done) })) })
					if !l.Virtual() {
						<-done
					}
				}
			}
		}
		for i := range goroutines {
			wg.Go(func() { work(i) })
		}
		if l.Virtual() {
			l.At(time.Millisecond, Work, Func(wg.Wait)) // all is posted during this event
		} else {
			l.Hold()
			go func() { wg.Wait(); l.Do(l.Release) }()
		}
		l.Run()
		wg.Wait()
		if sum != goroutines*each {
			t.Errorf("%d of %d calls were made", sum, goroutines*each)
		}
	})
}

// What is done by a guest of the loop, and panics, ends the loop's goroutine, also
// when the guest's own survives it, as one of net/http does.
func TestDoPanics(t *testing.T) {
	l, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Hold()
	survived := make(chan any, 1)
	go func() {
		defer func() { survived <- recover() }()
		for !l.asleep.Load() || !l.turn.TryLock() {
		}
		l.turn.Unlock()
		l.Do(func() { panic("the bomb") })
	}()
	ended := func() (p any) {
		defer func() { p = recover() }()
		l.Run()
		return nil
	}()
	if p := <-survived; p != "the bomb" {
		t.Errorf("the guest: %v", p)
	}
	if text := fmt.Sprint(ended); !strings.HasPrefix(text, "the bomb\n") || !strings.Contains(text, "TestDoPanics") {
		t.Errorf("the loop: %v", ended)
	}
}

// heldWaiter looks, when the loop is woken, that the loop cannot go on to its end
// meanwhile: it could be closed, and its descriptors be somebody else's.
type heldWaiter struct {
	waiter
	loop        *Loop
	wakes, free atomic.Int32
}

func (w *heldWaiter) wake() {
	w.wakes.Add(1)
	if w.loop.mu.TryLock() {
		if w.loop.turn.TryLock() {
			w.free.Add(1)
			w.loop.turn.Unlock()
		}
		w.loop.mu.Unlock()
	}
	w.waiter.wake()
}

func TestWakesBeforeItCanBeClosed(t *testing.T) {
	for name, release := range map[string]func(*Loop, func()){"post": (*Loop).Post, "do": (*Loop).Do} {
		t.Run(name, func(t *testing.T) {
			l, err := Real()
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			w := &heldWaiter{waiter: l.waiter, loop: l}
			l.waiter = w
			visitLoop(l, func(l *Loop) { release(l, l.Release) })
			if w.wakes.Load() != 1 || w.free.Load() != 0 {
				t.Errorf("woken %d times, %d times when it could end", w.wakes.Load(), w.free.Load())
			}
		})
	}
}
