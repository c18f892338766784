package brunttest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"brunt/lab"
)

// The wall clock is read here alone, for the watch over a bubble; in the bubble
// package time is virtual.

// turns makes bubbles take turns: they do not run well side by side.
var turns sync.Mutex

// bubble runs the study around one client, a bubble for each repeat.
type bubble struct {
	patience time.Duration
	cleanups []func() // of the present bubble's goroutines, before the run; then of who ends it
}

// enter runs f in a bubble and watches over it from outside. When the bubble's
// time stands still for too long it is left behind, with its goroutines: nothing
// can end them.
func (b *bubble) enter(run string, f func(lab.Bubble) error) error {
	turns.Lock()
	defer turns.Unlock()
	w := &watch{}
	ended := make(chan error, 1)
	go func() {
		err := errors.New("the bubble ended without a word") // a Goexit
		defer func() { ended <- err }()
		err = b.run(w, f)
	}()
	tick := time.NewTicker(min(b.patience/10, 100*time.Millisecond))
	defer tick.Stop()
	seen, since, events := int64(-1), time.Now(), int64(0)
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			if now := w.now.Load(); now != seen {
				seen, since, events = now, time.Now(), w.events.Load()
			} else if still := time.Since(since); still > b.patience {
				w.left.Store(true)
				return w.stuck(still, w.events.Load()-events)
			}
		}
	}
}

// run runs f in a bubble of its own.
func (b *bubble) run(w *watch, f func(lab.Bubble) error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		dead, ok := p.(error)
		switch {
		case !ok || !strings.HasPrefix(dead.Error(), "deadlock:"):
			err = fmt.Errorf("the bubble panicked: %v\n%s", p, debug.Stack())
		case err == nil:
			err = fmt.Errorf("%v: the function that makes the client waits for something that never comes\n%s", dead, stacks(w.id.Load(), anybody))
		}
	}()
	b.cleanups = nil
	synctest.Test(new(testing.T), func(*testing.T) {
		began := time.Now()
		w.id.Store(bubbleID())
		settle := func() {
			synctest.Wait()
			if w.left.Load() {
				select {} // so that what is left behind does no more work
			}
			w.now.Store(int64(time.Since(began)))
			w.events.Add(1)
		}
		err = errors.Join(f(lab.Bubble{Settle: settle, Began: began}), b.clean())
		if left := w.leftOver(); left != "" && err == nil {
			err = fmt.Errorf("goroutines were left over at the end: the client, or what it uses, goes on in the background a minute after the last request; end it with Dependency.Cleanup\n%s", left)
		}
	})
	return err
}

// leftOver returns the stacks of goroutines that do not end by themselves within
// a minute of the bubble.
func (w *watch) leftOver() (left string) {
	for _, grace := range []time.Duration{0, time.Second, time.Minute} {
		time.Sleep(grace)
		synctest.Wait()
		if left = stacks(w.id.Load(), anybody); left == "" {
			break
		}
	}
	return left
}

// clean calls what was registered with [Dependency.Cleanup], the last first, and
// forgets it.
func (b *bubble) clean() (err error) {
	defer func() { b.cleanups = nil }()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a cleanup panicked: %v\n%s", p, debug.Stack())
		}
	}()
	for i := len(b.cleanups) - 1; i >= 0; i-- {
		b.cleanups[i]()
	}
	return nil
}

// watch is what a bubble says of itself to who watches from outside.
type watch struct {
	id     atomic.Int64
	now    atomic.Int64 // the last instant that was reached
	events atomic.Int64 // of the run so far
	left   atomic.Bool  // nobody waits for the bubble any more
}

// stuck says why the bubble's time stands still: of so many events that happened
// while it did.
func (w *watch) stuck(still time.Duration, events int64) error {
	at := time.Duration(w.now.Load())
	if events > 0 {
		return fmt.Errorf("virtual time has stood still at %v for %v, while %d events happened: the client goes on and on at one instant; does it repeat without a wait?\n%s",
			at, still.Round(time.Millisecond), events, stacks(w.id.Load(), anybody))
	}
	return fmt.Errorf("virtual time has stood still at %v for %v: a goroutine waits for what no time of the bubble brings (a lock that is held while time passes, a real network connection, a channel from outside), or computes without end\n%s",
		at, still.Round(time.Millisecond), stacks(w.id.Load(), hindered))
}
