package replica

import (
	"math"
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/dependency"
)

// call is one request at the engine. The goroutine of its connection sees its
// outlet alone.
type call struct {
	most  int // tokens that the client wants at most; 0 for any number
	nth   int32
	out   receiver
	sever func() // resets the connection; any goroutine may call it

	engine *engine
	id     int64
	answer dependency.Answer
	due    []time.Duration // of each token, since the work began, at full speed; none for an answer that fails
	job    dependency.Job
	start  time.Duration // when the work began
	given  int           // tokens that are out
	next   time.Duration // when the timer is due
	timer  clock.Timer   // of the next token, or of the clean-up
	left   time.Duration // until the next token, while all stands still; below 0 for none
	begun  bool          // a worker has taken it up
	over   bool          // the client has its last word, or has left
	silent bool
	clean  bool // it is being cleaned up
}

// receiver hears what is due. It is called on the loop.
type receiver interface {
	// advance tells that so many tokens are due in all.
	advance(tokens int)
	// finish tells how the request ends, once.
	finish(how ending)
}

// enter brings the call to the workers.
func (c *call) enter() {
	e := c.engine
	c.answer = e.model.Answer(c.id, c.nth)
	if c.answer.Refused {
		c.fail(c.answer.RetryAfter)
		return
	}
	c.job = dependency.Job{Owner: c, Work: c.work(), Hangs: c.answer.Hangs, Scales: c.answer.Scales}
	switch taken, waits := e.station.Enter(&c.job); {
	case waits:
	case !taken:
		c.refuse(overloaded, c.answer.RetryAfter)
	default:
		c.Began()
		if c.job.Done() {
			c.Worked()
		}
	}
}

// work returns how long the whole answer takes, and notes its tokens.
func (c *call) work() time.Duration {
	a, e := &c.answer, c.engine
	if a.Hangs || !a.Scales { // what does not grow with the workers' slowness was not drawn as an answer
		return a.After
	}
	n := e.tokens
	if c.most > 0 {
		n = min(n, c.most)
	}
	c.due = make([]time.Duration, n)
	at := a.After
	for i := range c.due {
		if i > 0 && e.gaps != nil {
			gap := e.gaps.Answer(c.id, c.nth+int32(i)<<8)
			at = min(at+gap.After, check.Longest)
		}
		c.due[i] = at
	}
	if a.Fails {
		c.due = nil
	}
	return at
}

// Began implements [dependency.Worker].
func (c *call) Began() {
	c.begun = true
	c.start = c.engine.loop.Now()
	c.schedule()
}

// schedule sets the timer of the next token, but for the last one, which comes
// with the end of the work.
func (c *call) schedule() {
	if c.over || c.given+1 >= len(c.due) {
		return
	}
	at := time.Duration(math.Round(float64(c.due[c.given]) * c.job.Slow))
	c.next = c.start + min(at, check.Longest)
	c.timer = c.engine.loop.At(c.next, clock.Work, c)
}

// Happen implements [clock.Event]: a token is due, or the clean-up is over.
func (c *call) Happen() {
	c.timer = clock.Timer{}
	if c.clean {
		c.gone()
		return
	}
	if c.engine.mode == Abort {
		c.reset()
		return
	}
	c.give(c.given + 1)
	c.schedule()
}

func (c *call) give(tokens int) {
	c.engine.counts.Tokens += int64(tokens - c.given)
	c.given = tokens
	c.out.advance(tokens)
}

// Worked implements [dependency.Worker].
func (c *call) Worked() {
	c.engine.loop.Cancel(c.timer)
	c.timer = clock.Timer{}
	switch {
	case c.over:
		c.gone()
	case c.answer.Fails:
		c.fail(c.answer.RetryAfter)
	case c.engine.mode == Abort:
		c.reset()
	default:
		c.give(len(c.due))
		c.engine.counts.Completed++
		c.end(ending{kind: completed})
	}
}

// Dropped implements [dependency.Worker].
func (c *call) Dropped() {
	if c.over {
		c.gone()
		return
	}
	c.refuse(overloaded, c.answer.RetryAfter)
}

func (c *call) fail(retryAfter time.Duration) {
	c.engine.counts.Failed++
	c.end(ending{kind: failed, retryAfter: retryAfter})
}

// refuse turns the request away. Who says nothing of a wait asks for a second.
func (c *call) refuse(kind kind, retryAfter time.Duration) {
	c.engine.counts.Refused++
	if retryAfter <= 0 {
		retryAfter = time.Second
	}
	c.end(ending{kind: kind, retryAfter: retryAfter})
}

// reset ends the call with a reset of its connection.
func (c *call) reset() {
	if c.over {
		return
	}
	c.engine.counts.Aborted++
	c.sever()
	c.end(ending{kind: aborted})
}

// end gives the client the last word. The next one that waits is taken up
// before the client hears of it, as in a study.
func (c *call) end(how ending) {
	c.over = true
	c.gone()
	c.out.finish(how)
	if e := c.engine; !e.abandoned {
		e.reading[c] = e.loop.After(patience, clock.Func(c.sever))
	}
}

// silence has nothing more come of the call. Its worker, if it has one, stays
// with it.
func (c *call) silence() {
	if c.over || c.silent {
		return
	}
	c.silent = true
	c.engine.loop.Cancel(c.timer)
	c.timer = clock.Timer{}
	c.job.Stop()
}

// leave tells that the client has its answer, or waits no longer.
func (c *call) leave() {
	if c.over {
		c.engine.loop.Cancel(c.engine.reading[c])
		delete(c.engine.reading, c)
		return
	}
	c.over = true
	c.engine.counts.Left++
	if c.answer.Burns && !c.answer.Hangs && !c.silent {
		c.engine.loop.Cancel(c.timer) // the work goes on; tokens are for nobody
		c.timer, c.left = clock.Timer{}, -1
		return
	}
	c.engine.loop.Cancel(c.timer)
	c.timer, c.left = clock.Timer{}, -1
	if c.job.Owner != nil {
		c.job.Stop()
	}
	if c.answer.Cleanup > 0 {
		c.clean = true
		c.timer = c.engine.loop.After(c.answer.Cleanup, c)
		return
	}
	c.gone()
}

// gone frees what the call holds, for good.
func (c *call) gone() {
	e := c.engine
	if _, here := e.calls[c]; !here {
		return
	}
	delete(e.calls, c)
	e.loop.Cancel(c.timer)
	c.timer = clock.Timer{}
	if c.job.Owner != nil {
		c.job.Stop()
		c.job.Free()
	}
}

// halt has the next token wait, as the work does.
func (c *call) halt() {
	if c.clean || !c.engine.loop.Cancel(c.timer) {
		return
	}
	c.timer = clock.Timer{}
	c.left = c.next - c.engine.loop.Now()
}

// goOn ends a halt. The tokens to come are later by its length.
func (c *call) goOn() {
	if c.left < 0 {
		return
	}
	e := c.engine
	c.start += e.loop.Now() + c.left - c.next
	c.next = e.loop.Now() + c.left
	c.left = -1
	c.timer = e.loop.At(c.next, clock.Work, c)
}
