package clock

import "time"

// InBubble returns a loop for a bubble of testing/synctest, where time is that
// of package time there: it stands still while any goroutine in the bubble can go
// on, and then jumps. The loop is made, and run, in the bubble.
//
// settle returns once no other goroutine there can go on at the present instant
// (synctest.Wait). It is called before each event, so that whatever others do at
// once about one event is done, and posted, before the next one happens.
func InBubble(settle func()) *Loop {
	l := &Loop{waiter: newTimerWaiter(), settle: settle, made: time.Now()}
	l.turn.Lock()
	return l
}

// settled lets everybody else go on until nobody can, and nothing is posted.
func (l *Loop) settled() {
	for {
		l.settle()
		if !l.posted.Load() {
			return
		}
		l.advance(0)
		l.takePosted()
	}
}
