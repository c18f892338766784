package clock

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onBothClocks runs a test on the virtual and on the real clock.
func onBothClocks(t *testing.T, test func(t *testing.T, l *Loop)) {
	t.Run("virtual", func(t *testing.T) { test(t, Virtual()) })
	t.Run("real", func(t *testing.T) {
		l, err := Real()
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		test(t, l)
	})
}

// script schedules events that note their names, some of which schedule more.
func script(l *Loop) (log *[]string) {
	const ms = time.Millisecond
	log = new([]string)
	var last time.Duration
	note := func(name string) Func {
		return func() {
			if *log = append(*log, name); l.Now() < last {
				*log = append(*log, "before the event ahead of it!")
			}
			last = l.Now()
		}
	}
	l.At(2*ms, Arrival, note("arrival"))
	l.At(2*ms, Horizon, note("horizon"))
	l.At(2*ms, Work, note("work 1"))
	l.At(2*ms, Work, Func(func() {
		*log = append(*log, "work 2")
		l.After(0, note("work from work"))
		l.At(0, Timeline, note("timeline from work, in the past"))
		l.After(ms, note("a millisecond later"))
	}))
	l.At(2*ms, Timeline, note("timeline"))
	l.At(ms, Arrival, note("earlier arrival"))
	l.AtRank(2*ms, Arrival, 2<<40, note("arrival of rank 2"))
	l.AtRank(2*ms, Arrival, 1<<40, note("arrival of rank 1"))
	cancelled := l.At(2*ms, Work, note("cancelled"))
	l.At(ms, Work, Func(func() { l.Cancel(cancelled) }))
	l.At(3*ms, Work, note("last, scheduled first"))
	return log
}

// At one instant: by class, then by order of scheduling or by rank; an instant
// in the past is now.
func TestOrder(t *testing.T) {
	want := []string{
		"earlier arrival",
		"timeline", "work 1", "work 2", "timeline from work, in the past", "work from work",
		"horizon", "arrival", "arrival of rank 1", "arrival of rank 2",
		"last, scheduled first", "a millisecond later",
	}
	virtual := Virtual()
	log := script(virtual)
	virtual.Run()
	if diff := cmp.Diff(want, *log); diff != "" {
		t.Errorf("virtual (-want +got):\n%s", diff)
	}
}

// On the real clock an event that is late meets those that came due meanwhile,
// so ties are only certain where nothing is scheduled in between.
func TestRealOrder(t *testing.T) {
	const ms = time.Millisecond
	onBothClocks(t, func(t *testing.T, l *Loop) {
		var got []string
		note := func(name string) Func { return func() { got = append(got, name) } }
		for i, class := range []Class{Arrival, Work, Horizon, Timeline, Work, Arrival} {
			l.At(2*ms, class, note(fmt.Sprintf("class %d, %d", class, i)))
		}
		l.AtRank(2*ms, Arrival, 1<<40, note("rank 1"))
		gone := l.At(ms, Timeline, note("cancelled"))
		l.At(5*ms, Work, note("last"))
		l.At(0, Work, note("first"))
		if !l.Cancel(gone) {
			t.Error("cancelling an event to come reported false")
		}
		l.Run()
		want := []string{
			"first", "class 0, 3", "class 1, 1", "class 1, 4", "class 2, 2", "class 3, 0", "class 3, 5", "rank 1", "last",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestNow(t *testing.T) {
	const ms = time.Millisecond
	onBothClocks(t, func(t *testing.T, l *Loop) {
		var late time.Duration
		for i := range time.Duration(20) {
			due := i * ms / 2
			l.At(due, Work, Func(func() {
				if l.Now() < due {
					t.Errorf("an event due at %v happened at %v", due, l.Now())
				}
				late = max(late, l.Now()-due)
			}))
		}
		l.Run()
		if l.Virtual() && late != 0 {
			t.Errorf("the virtual clock was %v late", late)
		}
	})
	if Virtual().Now() != 0 {
		t.Error("a loop does not begin at 0")
	}
}

// The real clock's instant 0 is the call of Run, not the making of the loop,
// and a run takes as long as its last event.
func TestRealTakesItsTime(t *testing.T) {
	l, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const last = 15 * time.Millisecond
	l.At(last, Work, Func(func() {}))
	start := time.Now()
	l.Run()
	if took := time.Since(start); took < last {
		t.Errorf("a run of %v took %v", last, took)
	}
}

func TestCancel(t *testing.T) {
	happened := map[string]int{}
	count := func(name string) Func { return func() { happened[name]++ } }
	l := Virtual()
	if l.Cancel(Timer{}) {
		t.Error("the zero Timer was cancelled")
	}
	twice := l.At(1, Work, count("twice"))
	if !l.Cancel(twice) || l.Cancel(twice) {
		t.Error("cancelling twice must report true, then false")
	}
	// the slot of the cancelled event is used again: its old Timer is no name for the new one
	reused := l.At(1, Work, count("reused"))
	if reused.slot != twice.slot {
		t.Fatalf("slot %d was not used again: this tests nothing", twice.slot)
	}
	if l.Cancel(twice) {
		t.Error("an old Timer cancelled a new event")
	}
	var own Timer
	own = l.At(2, Work, Func(func() {
		happened["own"]++
		if l.Cancel(own) {
			t.Error("an event that is happening was cancelled")
		}
		after := l.After(1, count("after"))
		if after.slot == own.slot && l.Cancel(own) {
			t.Error("an event's Timer cancelled what it scheduled")
		}
	}))
	l.Run()
	if l.Cancel(reused) {
		t.Error("an event was cancelled after it had happened")
	}
	if diff := cmp.Diff(map[string]int{"reused": 1, "own": 1, "after": 1}, happened); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

func TestPost(t *testing.T) {
	const ms = time.Millisecond
	onBothClocks(t, func(t *testing.T, l *Loop) {
		// goroutines post while the loop runs; all calls are made on the loop,
		// so that the race detector would find any that is not
		const goroutines, each = 8, 200
		sum := 0
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range each {
					l.Post(func() { sum++ })
				}
			})
		}
		if l.Virtual() {
			l.At(ms, Work, Func(wg.Wait)) // all is posted during this event
		} else {
			l.Hold()
			wg.Go(func() { l.Post(func() { l.Release() }) })
			l.At(5*ms, Work, Func(wg.Wait))
		}
		l.Run()
		wg.Wait()
		if sum != goroutines*each {
			t.Errorf("%d of %d posted calls were made", sum, goroutines*each)
		}
	})
}

// What is posted comes right after the present event, before the next one of
// the same instant, and may post and schedule in its turn.
func TestPostOrder(t *testing.T) {
	l := Virtual()
	var got []string
	note := func(name string) func() { return func() { got = append(got, name) } }
	l.At(5, Work, Func(func() {
		got = append(got, "event")
		l.Post(func() {
			got = append(got, "posted")
			l.Post(note("posted by posted"))
		})
	}))
	l.At(5, Work, Func(note("next event")))
	l.At(6, Work, Func(func() {
		l.Post(func() {
			l.Post(func() { l.After(1, Func(note("scheduled by what was posted last"))) })
		})
	}))
	l.Run()
	want := []string{"event", "posted", "posted by posted", "next event", "scheduled by what was posted last"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Now() != 7 {
		t.Errorf("ended at %v, want 7ns", l.Now())
	}
}

// Hold keeps the real loop waiting for a post although nothing is scheduled.
func TestHold(t *testing.T) {
	l, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	proceed := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		<-proceed
		l.Post(func() { l.After(time.Millisecond, Func(l.Release)) })
	})
	l.Hold()
	l.At(0, Work, Func(func() { close(proceed) }))
	l.Run()
	wg.Wait()
	if l.held != 0 {
		t.Errorf("Run returned with %d holds", l.held)
	}
	if l.Now() < time.Millisecond {
		t.Errorf("Run returned at %v, before what was scheduled by the post", l.Now())
	}
}

// A post wakes the loop from a wait for a distant event at once.
func TestPostWakes(t *testing.T) {
	l, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	distant := l.At(time.Hour, Work, Func(func() { t.Error("waited an hour") }))
	started := make(chan struct{})
	l.At(0, Work, Func(func() { close(started) }))
	var wg sync.WaitGroup
	wg.Go(func() {
		<-started
		l.Post(func() { l.Cancel(distant) })
	})
	l.Run()
	wg.Wait()
	if l.Now() > time.Minute {
		t.Errorf("the clock stands at %v", l.Now())
	}
}

// Elapsed can be read from any goroutine while the loop runs, and moves on
// within an event, where Now stands still.
func TestElapsed(t *testing.T) {
	const ms = time.Millisecond
	onBothClocks(t, func(t *testing.T, l *Loop) {
		var wg sync.WaitGroup
		l.At(2*ms, Work, Func(func() {
			if at := l.Elapsed(); at < l.Now() || at > l.Now()+time.Minute || l.Virtual() && at != l.Now() {
				t.Errorf("elapsed %v, now %v", at, l.Now())
			}
			if l.Virtual() {
				return
			}
			now := l.Now()
			wg.Go(func() {
				for l.Elapsed() < now+ms { // ends only as time passes within the event
				}
			})
			wg.Wait()
			if l.Now() != now {
				t.Errorf("now moved within an event from %v to %v", now, l.Now())
			}
		}))
		l.Run()
	})
}
