package target

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"

	"brunt/record"
)

// http1 speaks HTTP/1.1 on connections of its own. It is here because net/http
// writes a request again by itself when a kept-alive connection dies
// (transport.go, persistConn.shouldRetryRequest), and costs two more goroutines
// for each connection.
//
// A request goes out on an idle connection from Start itself, in one try that
// cannot block: a goroutine would first have to be scheduled, late and at a
// cost. What does not fit, a new connection and TLS are for a goroutine of the
// call. So is the answer, read by [http.ReadResponse]; but where a loop is
// attached it sees to answers of the plain kind itself, see [looped].
type http1 struct {
	caller  *Caller
	dialer  *dialer
	request *http.Request // what answers are read for: a HEAD has no body
	head    string        // of each request, up to its id
	buffers sync.Pool     // *[]byte
	looped  *looped       // nil without a loop

	mu   sync.Mutex
	idle []*conn // the one that was used last stands last; guarded by mu
}

func newHTTP1(c *Caller, d *dialer) *http1 {
	head := c.method + " " + c.url.RequestURI() + " HTTP/1.1\r\nHost: " + c.host() + "\r\n"
	names := make([]string, 0, len(c.header))
	for name := range c.header {
		if name != "Host" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range c.header[name] {
			head += name + ": " + value + "\r\n"
		}
	}
	return &http1{
		caller: c, dialer: d, request: &http.Request{Method: c.method}, head: head + "X-Request-Id: ",
		buffers: sync.Pool{New: func() any { return new([]byte) }},
	}
}

// conn is one connection, used by one call at a time.
type conn struct {
	net.Conn          // with TLS where that is spoken
	plain    net.Conn // without
	left     int64    // how many bytes may still be read
	failed   error    // of the last reading
	in       *bufio.Reader
	prefix   []byte          // what was read before in had a say
	yields   bool            // its answers are not for a loop
	since    time.Duration   // when the first byte of an answer was here; record.Never for what is still to come
	raw      syscall.RawConn // nil where there is none
	direct   bool            // may be written without a goroutine: there is no TLS
	bare     int             // the descriptor, while a loop has it instead of package net; else -1
	used     bool
	abort    func() // tears the connection down; from any goroutine
	on       onLoop
}

const (
	readBuffer  = 4 << 10
	longestHead = 1 << 20 // of an answer, interim ones included
)

func newConn(c, plain net.Conn) *conn {
	n := &conn{Conn: c, plain: plain, direct: c == plain}
	n.prepare(-1)
	if s, ok := plain.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			n.raw = raw
		}
	}
	n.direct = n.direct && n.raw != nil && canTry
	return n
}

func (n *conn) prepare(bare int) {
	n.bare, n.since = bare, record.Never
	n.in = bufio.NewReaderSize(n, readBuffer)
	n.abort = n.reset
}

var errLongHead = fmt.Errorf("the head of the answer is longer than %d KiB", longestHead>>10)

// reset tears the connection down, see [reset].
func (n *conn) reset() {
	if n.bare >= 0 {
		n.resetBare()
		return
	}
	if n.plain != nil {
		reset(n.plain)
	}
}

// end closes the connection in an orderly way.
func (n *conn) end() {
	if n.bare >= 0 {
		n.closeBare()
		return
	}
	if n.plain != nil {
		_ = n.plain.Close()
	}
}

// Read implements [io.Reader] within what is allowed.
func (n *conn) Read(b []byte) (int, error) {
	if n.left <= 0 {
		n.failed = errLongHead
		return 0, errLongHead
	}
	if len(n.prefix) > 0 {
		got := copy(b[:min(int64(len(b)), n.left)], n.prefix)
		n.prefix = n.prefix[got:]
		n.left -= int64(got)
		return got, nil
	}
	got, err := n.Conn.Read(b[:min(int64(len(b)), n.left)])
	n.left -= int64(got)
	n.failed = err
	return got, err
}

func (w *http1) send(c *Call) (answer, error) {
	n, err := w.connect(c)
	if err != nil {
		return answer{}, err
	}
	if !c.during(n.abort) {
		n.abort()
		return answer{}, errStopped
	}
	c.answer.Connected, c.answer.Reused = c.now(), n.used
	n.used = true
	if err := w.write(n, c); err != nil {
		n.abort()
		return answer{}, err
	}
	c.tell(Event{What: Wrote, At: c.now()})
	got, err := w.readHead(n, c)
	if err != nil {
		n.abort()
	}
	return got, err
}

// start writes the call's request on an idle connection, if there is one that
// can be written from here. It reports false when there is none.
func (w *http1) start(c *Call) bool {
	if w.dialer.tls != nil {
		return false
	}
	n := w.take()
	if n == nil && w.looped != nil {
		w.looped.loop.Glance() // an answer that is here frees its connection
		if n = w.take(); n == nil && c.begin() {
			n = w.looped.connect()
		}
	}
	if n == nil {
		return false
	}
	if !n.direct || !c.begin() {
		w.keep(n)
		return false
	}
	c.conn = n
	if w.looped != nil && w.looped.start(c, n) {
		return true
	}
	if !c.during(n.abort) {
		c.failed = errStopped
	} else {
		c.try(n, n.try)
	}
	c.setDeadline(c.deadline)
	c.caller.calls.Go(c.goOn)
	return true
}

// try writes the request as far as that can be done at once, by a function that
// writes without blocking. What is left over stands in unwritten.
func (c *Call) try(n *conn, write func([]byte) (int, error)) {
	w := c.caller.wire.(*http1)
	c.answer.Connected, c.answer.Reused = c.now(), n.used
	n.used = true
	buffer := w.render(c)
	c.writes()
	done, err := write(*buffer)
	switch {
	case err != nil:
		c.failed = err
	case done < len(*buffer):
		c.unwritten = bytes.Clone((*buffer)[done:])
	default:
		c.tell(Event{What: Wrote, At: c.now()})
	}
	w.buffers.Put(buffer)
}

// goOn is the goroutine of a call whose request was written by start.
func (c *Call) goOn() {
	w, n := c.caller.wire.(*http1), c.conn
	err := c.failed
	if err == nil && c.unwritten != nil {
		if _, err = n.Write(c.unwritten); err == nil {
			c.tell(Event{What: Wrote, At: c.now()})
		}
	}
	var got answer
	if err == nil {
		got, err = w.readHead(n, c)
	}
	if err != nil {
		n.abort()
	}
	c.conclude(got, err)
}

// take returns an idle connection that is still alive, or nil.
func (w *http1) take() *conn {
	for {
		w.mu.Lock()
		last := len(w.idle) - 1
		if last < 0 {
			w.mu.Unlock()
			return nil
		}
		n := w.idle[last]
		w.idle[last] = nil
		w.idle = w.idle[:last]
		w.mu.Unlock()
		if n.alive() && (w.looped != nil || n.dress() == nil) {
			return n
		}
		w.drop(n)
	}
}

// drop closes a connection in an orderly way.
func (w *http1) drop(n *conn) {
	if w.looped != nil {
		w.looped.unwatch(n)
	}
	n.end()
}

// keep lets further calls use a connection.
func (w *http1) keep(n *conn) {
	w.mu.Lock()
	w.idle = append(w.idle, n)
	w.mu.Unlock()
}

// connect returns an idle connection that is still alive, or a new one.
func (w *http1) connect(c *Call) (*conn, error) {
	if w.looped == nil { // else only the loop takes those
		if n := w.take(); n != nil {
			return n, nil
		}
	}
	return w.dial(c)
}

func (w *http1) dial(c *Call) (*conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), w.dialer.timeout)
	defer cancel()
	if !c.during(cancel) {
		return nil, errStopped
	}
	if w.dialer.tls == nil {
		plain, err := w.dialer.dial(ctx)
		if err != nil {
			return nil, err
		}
		return newConn(plain, plain), nil
	}
	secure, err := w.dialer.dialTLS(ctx, "http/1.1")
	if err != nil {
		return nil, err
	}
	return newConn(secure, secure.NetConn()), nil
}

// write writes the request, whole and once.
func (w *http1) write(n *conn, c *Call) error {
	buffer := w.render(c)
	c.writes()
	_, err := n.Write(*buffer)
	w.buffers.Put(buffer)
	return err
}

// render returns the request's bytes in a buffer, which is to be put back.
func (w *http1) render(c *Call) *[]byte {
	buffer := w.buffers.Get().(*[]byte)
	b := append((*buffer)[:0], w.head...)
	b = c.id.append(b, w.caller.env.Prefix)
	var space [512]byte
	body := w.caller.body.append(space[:0], w.caller.env.Prefix, c.id)
	if w.caller.env.Traced {
		b = append(b, "\r\n"+RequestHeader+": "...)
		b = c.id.append(b, w.caller.env.Prefix)
		b = append(b, "\r\ntraceparent: "...)
		b = c.id.appendTrace(b, w.caller.env.Prefix)
	}
	if len(body) > 0 || w.caller.method != http.MethodGet && w.caller.method != http.MethodHead {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
	}
	b = append(append(b, "\r\n\r\n"...), body...)
	*buffer = b
	return buffer
}

// readHead reads up to the head of the final answer. Interim ones (100
// Continue, 103 Early Hints) are passed over.
func (w *http1) readHead(n *conn, c *Call) (answer, error) {
	n.left = longestHead
	for {
		if _, err := n.in.Peek(1); err != nil {
			return answer{}, err
		}
		at := c.now()
		if n.since != record.Never {
			at, n.since = n.since, record.Never
		}
		r, err := http.ReadResponse(n.in, w.request)
		if err != nil {
			c.answer.FirstByte = at
			return answer{}, n.malformed(err)
		}
		switch {
		case r.StatusCode == http.StatusSwitchingProtocols:
			c.answer.FirstByte = at
			return answer{}, broken("answered with status 101, which was not asked for")
		case r.StatusCode >= 100 && r.StatusCode < 200:
			continue
		case r.StatusCode < 100: // net/http takes 000 for a status
			c.answer.FirstByte = at
			return answer{}, broken("answered with status %03d", r.StatusCode)
		}
		n.left = math.MaxInt64
		got := answer{r, func(again bool) { w.release(n, r, again) }}
		c.head(at, got)
		return got, nil
	}
}

// malformed tells an answer that is wrong from a connection that failed within
// it: of the latter a parser sees only that a line is not what it should be.
func (n *conn) malformed(err error) error {
	switch {
	case errors.Is(n.failed, errLongHead):
		return broken("%v", errLongHead)
	case errors.Is(n.failed, io.EOF):
		return io.ErrUnexpectedEOF
	case n.failed != nil:
		return n.failed
	}
	return broken("the head of the answer: %v", err)
}

// release keeps a connection whose answer was read to the end, if the two
// sides agree, and nothing came that was not asked for.
func (w *http1) release(n *conn, r *http.Response, again bool) {
	switch {
	case !again:
		n.abort()
		return
	case r.Close || n.in.Buffered() > 0 || len(n.prefix) > 0:
		n.end() // all that was asked for has come
		return
	}
	w.keep(n)
}

func (w *http1) close() {
	if w.looped != nil {
		w.looped.forget()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.idle {
		n.end()
	}
	w.idle = nil
}
