package target

import (
	"bufio"
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
)

// http1 speaks HTTP/1.1 on connections of its own. It is here because net/http
// writes a request again by itself when a kept-alive connection dies
// (transport.go, persistConn.shouldRetryRequest), and costs two more goroutines
// for each connection. Answers are parsed by [http.ReadResponse].
type http1 struct {
	caller  *Caller
	dialer  *dialer
	request *http.Request // what answers are read for: a HEAD has no body
	head    string        // of each request, up to its id
	buffers sync.Pool     // *[]byte

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
	raw      syscall.RawConn // nil where there is none
	used     bool
	abort    func() // tears the connection down; from any goroutine
}

const (
	readBuffer  = 4 << 10
	longestHead = 1 << 20 // of an answer, interim ones included
)

func newConn(c, plain net.Conn) *conn {
	n := &conn{Conn: c, plain: plain}
	n.in = bufio.NewReaderSize(n, readBuffer)
	n.abort = func() { reset(plain) }
	if s, ok := plain.(syscall.Conn); ok {
		if raw, err := s.SyscallConn(); err == nil {
			n.raw = raw
		}
	}
	return n
}

var errLongHead = fmt.Errorf("the head of the answer is longer than %d KiB", longestHead>>10)

// Read implements [io.Reader] within what is allowed.
func (n *conn) Read(b []byte) (int, error) {
	if n.left <= 0 {
		n.failed = errLongHead
		return 0, errLongHead
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

// connect returns an idle connection that is still alive, or a new one.
func (w *http1) connect(c *Call) (*conn, error) {
	for {
		w.mu.Lock()
		last := len(w.idle) - 1
		if last < 0 {
			w.mu.Unlock()
			return w.dial(c)
		}
		n := w.idle[last]
		w.idle[last] = nil
		w.idle = w.idle[:last]
		w.mu.Unlock()
		if n.alive() {
			return n, nil
		}
		_ = n.plain.Close()
	}
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
	buffer := w.buffers.Get().(*[]byte)
	b := append((*buffer)[:0], w.head...)
	b = c.id.append(b, w.caller.env.Prefix)
	var space [512]byte
	body := w.caller.body.append(space[:0], w.caller.env.Prefix, c.id)
	if len(body) > 0 || w.caller.method != http.MethodGet && w.caller.method != http.MethodHead {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
	}
	b = append(append(b, "\r\n\r\n"...), body...)
	c.writes()
	_, err := n.Write(b)
	*buffer = b
	w.buffers.Put(buffer)
	return err
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
	case r.Close || n.in.Buffered() > 0:
		_ = n.plain.Close() // in an orderly way: all that was asked for has come
		return
	}
	w.mu.Lock()
	w.idle = append(w.idle, n)
	w.mu.Unlock()
}

func (w *http1) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.idle {
		_ = n.plain.Close()
	}
	w.idle = nil
}
