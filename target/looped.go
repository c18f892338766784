package target

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"brunt/clock"
	"brunt/record"
)

// looped carries calls on a loop, without a goroutine each and without waking
// one thread from another: the request is written by Start, and the answer read
// when the loop finds that it is here. It serves what is usual, an answer whose
// head comes in one piece and tells the length of its body. A call that turns
// out to be anything else goes on in a goroutine of its own, with what was read
// so far, and as if nothing had been.
//
// All of it is for the goroutine that runs the loop, but for conn.on.lose.
type looped struct {
	wire    *http1
	loop    *clock.Loop
	watched []*conn
	space   []byte            // what is read at once
	names   map[string]string // of replicas, by the header
}

// onLoop is what a loop knows about a connection.
type onLoop struct {
	looped *looped // nil while it is not watched
	watch  clock.Watch
	at     int    // position among the watched
	call   *Call  // nil while the connection is idle
	left   int64  // of the body, once there is a head
	body   bool   // there is a head
	closes bool   // the answer is the last on its connection
	lose   func() // has the loop give up the call, if that was stopped; from any goroutine
}

// mostOnLoop is the longest body that a loop sees to: more would keep it from
// its other work.
const mostOnLoop = 64 << 10

// Attach has a loop see to HTTP/1.1 without TLS, where answers are no streams:
// that is cheaper, and less late, than a goroutine for each call. It does
// nothing for other targets, and on systems where a loop cannot do that.
//
// From then on Start is for the goroutine that runs the loop, as Attach is, and
// Close for when it has ended; [Env.Now] must be the time of the loop. Events
// of a call come on the loop or a goroutine of the call's, also from within
// Start. Another loop takes the place of the one before it; there must be no
// call in flight.
func (c *Caller) Attach(loop *clock.Loop) {
	w, ok := c.wire.(*http1)
	if !ok || c.stream || w.dialer.tls != nil || !canBare {
		return
	}
	if w.looped != nil {
		if w.looped.loop == loop {
			return
		}
		w.looped.forget()
	}
	w.looped = nil
	if loop != nil && !loop.Virtual() {
		w.looped = &looped{wire: w, loop: loop, space: make([]byte, mostOnLoop), names: map[string]string{}}
	}
}

// start writes the request of a call on a connection. It reports false for a
// connection that is left to goroutines.
func (l *looped) start(c *Call, n *conn) bool {
	if !l.sees(n) {
		return false
	}
	n.on.call, n.on.body = c, false
	if !c.during(n.on.lose) {
		l.over(n, errStopped)
		return true
	}
	if c.deadline != record.Never {
		c.onLoop = l.loop.At(c.deadline, clock.Horizon, (*expiry)(c))
	}
	c.try(n, n.tryNow)
	switch {
	case c.failed != nil:
		l.over(n, c.failed)
	case c.unwritten != nil:
		l.yield(n, nil, record.Never)
	}
	return true
}

// expiry is the deadline of a call as an event of its loop.
type expiry Call

// Happen implements [clock.Event].
func (e *expiry) Happen() { (*Call)(e).expire() }

// connect returns a new connection, if that takes no waiting.
func (l *looped) connect() *conn {
	d := l.wire.dialer
	to := d.at.Addrs[d.first.Load()]
	if !to.Addr().Unmap().IsLoopback() {
		return nil
	}
	fd := connect(to)
	if fd < 0 {
		return nil
	}
	n := &conn{direct: true}
	n.prepare(fd)
	return n
}

// sees has a connection watched. It reports false when that cannot be.
func (l *looped) sees(n *conn) bool {
	if n.on.looped == l {
		return true
	}
	if n.yields || !n.strip() {
		return false
	}
	watch, err := l.loop.Watch(n.bare, n)
	if err != nil {
		n.yields = true
		_ = n.dress() // what is left of it then fails to be written
		return false
	}
	on := &n.on
	on.looped, on.watch, on.at = l, watch, len(l.watched)
	l.watched = append(l.watched, n)
	on.lose = func() { l.loop.Post(func() { l.lost(n) }) }
	return true
}

// unwatch leaves a connection to others.
func (l *looped) unwatch(n *conn) {
	if n.on.looped != l {
		return
	}
	l.loop.Unwatch(n.on.watch)
	l.leave(n)
}

func (l *looped) leave(n *conn) {
	last := l.watched[len(l.watched)-1]
	l.watched[n.on.at], last.on.at = last, n.on.at
	l.watched[len(l.watched)-1] = nil
	l.watched = l.watched[:len(l.watched)-1]
	n.on = onLoop{}
}

// forget lets go of all connections, once the loop has ended. There should be
// no calls on them; if there are, they are given up.
func (l *looped) forget() {
	for len(l.watched) > 0 {
		n := l.watched[len(l.watched)-1]
		c := n.on.call
		l.leave(n)
		if c != nil {
			c.stop(cancelled)
			n.abort()
			c.finish(c.settle(), errStopped)
		}
	}
}

// lost gives up a call that was stopped.
func (l *looped) lost(n *conn) {
	if n.on.looped == l && n.on.call != nil && n.on.call.stopped() {
		l.over(n, errStopped)
	}
}

// over ends the call on a connection.
func (l *looped) over(n *conn, err error) {
	c := n.on.call
	n.on.call = nil
	l.loop.Cancel(c.onLoop)
	switch how := c.settle(); {
	case err != nil || how != byItself:
		l.unwatch(n)
		n.abort()
		c.finish(how, err)
	case n.on.closes:
		l.wire.drop(n)
		c.finish(how, nil)
	default:
		l.wire.keep(n)
		c.finish(how, nil)
	}
}

// yield lets a call go on in a goroutine of its own. What was read of its answer
// came first at the given instant.
func (l *looped) yield(n *conn, got []byte, at time.Duration) {
	c := n.on.call
	l.loop.Cancel(c.onLoop)
	l.unwatch(n)
	n.prefix, n.since = append([]byte(nil), got...), at
	n.yields = true
	if err := n.dress(); err != nil {
		c.failed = err
	} else if !c.during(n.abort) {
		c.failed = errStopped
	}
	c.setDeadline(c.deadline)
	c.caller.calls.Go(c.goOn)
}

// Readable implements [clock.Watcher].
func (n *conn) Readable() {
	l := n.on.looped
	if n.on.call == nil { // its end, or an answer that nobody asked for
		l.wire.lift(n)
		l.wire.drop(n)
		return
	}
	got, err := n.readNow(l.space)
	switch {
	case err == syscall.EAGAIN:
	case err != nil:
		l.over(n, err)
	case n.on.body && got == 0:
		l.over(n, io.ErrUnexpectedEOF)
	case n.on.body:
		l.more(n, int64(got))
	case got == 0:
		l.over(n, io.EOF)
	default:
		l.answered(n, l.space[:got])
	}
}

// answered takes the beginning of an answer.
func (l *looped) answered(n *conn, b []byte) {
	c := n.on.call
	at := c.now()
	h, plain := parseHead(b, c.caller.method, c.caller.replica)
	here := int64(len(b) - h.size)
	wanted := c.caller.success.has(h.status)
	if !plain || wanted && h.content-here > mostOnLoop || !wanted && h.content > here {
		l.yield(n, b, at)
		return
	}
	body := b[h.size:]
	a := &c.answer
	a.FirstByte, a.Status = at, h.status
	if h.retryAfter != nil {
		a.RetryAfter = retryAfter(string(h.retryAfter), string(h.date))
	}
	if len(h.replica) > 0 && c.caller.replica != "" {
		a.Replica = l.name(h.replica)
	}
	if !wanted {
		a.Detail = refusal(h.status, body[:min(h.content, longestRefusal)])
	}
	n.on.body, n.on.left, n.on.closes = true, h.content, h.close
	c.tell(Event{What: FirstByte, At: at})
	l.more(n, here)
}

// more takes so much more of the body.
func (l *looped) more(n *conn, got int64) {
	c := n.on.call
	c.answer.Bytes += min(got, n.on.left)
	if got > n.on.left { // an answer too many
		n.on.closes = true
	}
	if n.on.left -= min(got, n.on.left); n.on.left == 0 {
		l.over(n, nil)
	}
}

// name is what rows call a replica. There are few of them.
func (l *looped) name(header []byte) string {
	name, known := l.names[string(header)]
	if !known {
		name = l.wire.caller.detail(string(header))
		if len(l.names) < mostNames {
			l.names[string(header)] = name
		}
	}
	return name
}

const mostNames = 100

// lift takes a connection out of the idle ones.
func (w *http1) lift(n *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := len(w.idle) - 1; i >= 0; i-- {
		if w.idle[i] == n {
			copy(w.idle[i:], w.idle[i+1:])
			w.idle[len(w.idle)-1] = nil
			w.idle = w.idle[:len(w.idle)-1]
			return
		}
	}
}

// networkError is an error of the system as package net would tell it.
func networkError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, err)}
}
