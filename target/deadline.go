package target

import (
	"time"

	"brunt/record"
)

// tail is how long a stream that has said it is complete may take to end: for
// the counts of tokens behind it, and so that its connection can be used again.
const tail = time.Second

// setDeadline ends the call at an instant. A timer of the runtime does it and
// no event of a loop: a call whose loop is late or gone must end too.
func (c *Call) setDeadline(at time.Duration) {
	if at == record.Never {
		return
	}
	left := at - c.caller.env.Now()
	if left <= 0 {
		c.stop(expired)
		return
	}
	c.timer = time.AfterFunc(left, c.expire)
}

// setTail bounds what is left of a completed stream.
func (c *Call) setTail() {
	if c.timer != nil && !c.timer.Stop() {
		return // it is ending already
	}
	c.timer = time.AfterFunc(tail, c.expire)
}

func (c *Call) expire() { c.stop(expired) }

func (c *Call) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
	}
}
