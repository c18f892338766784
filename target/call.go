package target

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"brunt/clock"
	"brunt/record"
)

// Call is one request on its way.
type Call struct {
	caller *Caller
	id     ID
	answer Answer

	deadline time.Duration // record.Never for none
	timer    *time.Timer   // of the call's own goroutine
	onLoop   clock.Timer   // of a loop that carries the call

	conn      *conn  // from Start to the goroutine that goes on
	unwritten []byte // what is left of the request
	failed    error  // of the writing

	telling sync.Mutex // one event at a time; guards the answer's Wrote and Writes too
	report  func(Event)
	told    bool // the last event is out; guarded by telling
	known   bool // that it was written, before word of it came; guarded by telling

	mu    sync.Mutex
	end   end    // guarded by mu
	abort func() // tears down what the call waits for; guarded by mu
}

// end is how a call came to its end.
type end uint8

const (
	open end = iota
	byItself
	expired
	cancelled
)

// Cancel gives the call up. Its connection is torn down at once (HTTP/2: its
// stream reset), and the last event is Gone. It does nothing to a call that is
// over: then the last event is Ended.
func (c *Call) Cancel() { c.stop(cancelled) }

func (c *Call) stop(how end) {
	c.mu.Lock()
	if c.end != open {
		if c.end == expired && how == cancelled {
			c.end = cancelled // it is ending, but has not been told
		}
		c.mu.Unlock()
		return
	}
	c.end = how
	abort := c.abort
	c.mu.Unlock()
	if abort != nil {
		abort()
	}
}

// during says what tears the call down from now on. It reports false when the
// call is stopped already; then nothing will.
func (c *Call) during(abort func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort = abort
	return c.end == open
}

// stopped reports whether the call was cancelled or has run out of time.
func (c *Call) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end == expired || c.end == cancelled
}

// settle ends the call, if nothing has yet: from here on nothing tears its
// connection down, which may soon serve another call.
func (c *Call) settle() end {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end == open {
		c.end = byItself
	}
	c.abort = nil
	return c.end
}

// tell reports an event, unless the last one is out.
func (c *Call) tell(e Event) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.told {
		return
	}
	switch e.What {
	case Wrote:
		if c.answer.Wrote != record.Never {
			return
		}
		c.answer.Wrote = e.At
	case Ended, Gone:
		c.told = true
		e.Answer = &c.answer
	}
	if e.What != Wrote {
		e.Status = c.answer.Status
	}
	c.report(e)
}

// writes counts one writing of the request.
func (c *Call) writes() {
	c.telling.Lock()
	if !c.told && !c.known {
		c.answer.Writes++
	}
	c.telling.Unlock()
}

// answered notes that the request must have been written, where an answer is
// faster than the news of the writing.
func (c *Call) answered(at time.Duration) {
	c.telling.Lock()
	if c.known = c.answer.Writes == 0; c.known {
		c.answer.Writes = 1
	}
	late := c.answer.Wrote == record.Never
	c.telling.Unlock()
	if late {
		c.tell(Event{What: Wrote, At: at})
	}
}

func (c *Call) now() time.Duration { return c.caller.env.Now() }

// begin notes that work on the request begins. It reports false when the call
// is over before that.
func (c *Call) begin() bool {
	at := c.now()
	if !c.during(nil) {
		return false
	}
	if c.answer.Began != record.Never {
		return true // Start has tried already
	}
	c.answer.Began = at
	c.tell(Event{What: Began, At: at})
	return true
}

// run is the call's goroutine.
func (c *Call) run() {
	if !c.begin() {
		c.finish(c.settle(), errStopped)
		return
	}
	c.conclude(c.caller.wire.send(c))
}

// conclude reads the answer, if there is one, and ends the call.
func (c *Call) conclude(got answer, err error) {
	if err == nil {
		err = c.read(got)
		how := c.settle()
		got.release(err == nil && how == byItself)
		c.finish(how, err)
		return
	}
	c.finish(c.settle(), err)
}

// finish judges the call and tells of its end.
func (c *Call) finish(how end, err error) {
	c.stopTimer()
	a := &c.answer
	detail := ""
	switch {
	case how == cancelled:
		a.Detail, a.End = c.caller.detail("cancelled while it "+c.stage()), c.now()
		c.tell(Event{What: Gone, At: a.End})
		return
	case c.complete():
	case a.Status != 0 && !c.wanted():
		a.Cause, detail = record.Status, a.Detail
	case how == expired:
		a.Cause, detail = record.Timeout, "given up while it "+c.stage()
	case err != nil:
		a.Cause, detail = c.cause(err), describe(err)
	}
	a.Detail, a.End = c.caller.detail(detail), c.now()
	c.tell(Event{What: Ended, At: a.End})
}

// stage says what the call was at.
func (c *Call) stage() string {
	a := &c.answer
	switch {
	case a.Began == record.Never:
		return "waited to begin"
	case a.Connected == record.Never:
		return "connected"
	case a.Status == 0:
		return "waited for the answer"
	case c.caller.stream && a.FirstContent == record.Never:
		return "waited for the first content"
	}
	return "read the answer"
}

// head notes the head of the answer.
func (c *Call) head(at time.Duration, got answer) {
	a := &c.answer
	a.FirstByte, a.Status = at, got.StatusCode
	a.RetryAfter = retryAfter(got.Header.Get("Retry-After"), got.Header.Get("Date"))
	if c.caller.replica != "" {
		if name := got.Header.Get(c.caller.replica); name != "" {
			a.Replica = c.caller.detail(name)
		}
	}
	c.tell(Event{What: FirstByte, At: at})
}

// drained is how much of an answer is read that is not wanted: enough for its
// message, and for most to end, so that the connection can be used again.
const drained = 64 << 10

var errUnread = errors.New("the rest of the answer was not read")

// read reads the answer. It returns nil only at the orderly end of its body.
func (c *Call) read(got answer) error {
	body := &counted{from: got.Body, count: &c.answer.Bytes}
	switch {
	case !c.wanted():
		return c.readRefusal(body)
	case c.caller.stream:
		return c.readStream(got, body)
	}
	_, err := io.Copy(io.Discard, body)
	return err
}

// readRefusal reads an answer whose status is none of a success. What comes of
// its body changes nothing any more.
func (c *Call) readRefusal(body io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(body, longestRefusal))
	c.answer.Detail = refusal(c.answer.Status, text)
	if err != nil {
		return err
	}
	return drain(body)
}

const longestRefusal = 4 * longestDetail

// refusal says in words what status there was, and what came with it.
func refusal(status int, body []byte) string {
	detail := fmt.Sprintf("status %d", status)
	if len(body) > 0 {
		detail += ": " + string(body)
	}
	return detail
}

// drain reads a body to its end, if that is near.
func drain(body io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(body, drained))
	if err == nil && n == drained {
		err = errUnread
	}
	return err
}

// readStream follows a stream of chat tokens to its end.
func (c *Call) readStream(got answer, body io.Reader) error {
	a := &c.answer
	if kind := got.Header.Get("Content-Type"); kind != "" && !strings.HasPrefix(strings.ToLower(kind), "text/event-stream") {
		var text [4 * longestDetail]byte
		n, err := body.Read(text[:]) // once: how it goes on changes nothing, and may take for ever
		if n == 0 && err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return broken("answered with %.60q instead of a stream: %s", kind, text[:n])
	}
	events := newSSEReader(bufio.NewReaderSize(body, streamBuffer))
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, io.EOF):
			return c.endOfStream()
		case errors.Is(err, errHugeEvent):
			return broken("the stream holds %v", err)
		case err != nil:
			return err
		}
		r, err := readChunk(ev, a)
		if err != nil {
			if c.complete() {
				continue // the caller has had its answer
			}
			return err
		}
		at := c.now()
		if r.reasoning {
			a.Reasoning++
		}
		if r.content {
			c.content(at)
		}
		if r.finish != "" && a.Finish == "" {
			a.Finish = c.caller.detail(r.finish)
		}
		if (r.done || r.finish != "") && !c.complete() {
			if a.Contents+a.Reasoning == 0 {
				return broken("the stream ended without content")
			}
			a.Terminal = at
			c.tell(Event{What: Terminal, At: at})
			c.setTail()
		}
		if r.done {
			return drain(body) // events has nothing that matters any more
		}
	}
}

const streamBuffer = 4 << 10

func (c *Call) content(at time.Duration) {
	a := &c.answer
	a.Contents++
	a.LastContent = at
	what := Content
	if a.Contents == 1 {
		a.FirstContent, what = at, FirstContent
	}
	c.tell(Event{What: what, At: at})
}

// endOfStream judges a stream that has ended in an orderly way.
func (c *Call) endOfStream() error {
	switch a := &c.answer; {
	case c.complete():
		return nil
	case a.Bytes == 0:
		return broken("the answer is empty")
	case a.Contents+a.Reasoning == 0:
		return broken("the stream ended without content")
	}
	return broken("the stream ended without a terminal event")
}

// counted counts what is read.
type counted struct {
	from  io.Reader
	count *int64
}

func (r *counted) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	*r.count += int64(n)
	return n, err
}
