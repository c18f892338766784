package clock

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestInBubble: the loop's time is that of package time in the bubble, and what
// others do at once about an event is done before the next one of its instant.
func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loop := InBubble(synctest.Wait)
		began := time.Now()
		var order []string
		asked, wake := make(chan struct{}), make(chan struct{})
		loop.Hold()
		go func() { // answers what the loop asks, within the instant, and again a minute later
			<-asked
			loop.Post(func() {
				order = append(order, "answered")
				if loop.Now() != time.Hour {
					t.Errorf("answered at %v", loop.Now())
				}
			})
			time.Sleep(time.Minute)
			loop.Post(func() {
				order = append(order, "woken")
				if loop.Now() != time.Hour+time.Minute {
					t.Errorf("woken at %v", loop.Now())
				}
				close(wake)
				loop.Release()
			})
		}()
		loop.At(time.Hour, Work, Func(func() {
			if at := time.Since(began); at != time.Hour || loop.Now() != time.Hour || loop.Elapsed() != time.Hour {
				t.Errorf("%v by package time, %v and %v by the loop", at, loop.Now(), loop.Elapsed())
			}
			order = append(order, "asked")
			close(asked)
		}))
		loop.At(time.Hour, Arrival, Func(func() { order = append(order, "next") }))
		loop.Run()
		<-wake
		if want := []string{"asked", "answered", "next", "woken"}; !slices.Equal(order, want) {
			t.Errorf("in the order %v, expected %v", order, want)
		}
		if _, err := loop.Watch(0, nil); err == nil {
			t.Error("a descriptor can be watched in a bubble")
		}
		loop.Close()
	})
}
