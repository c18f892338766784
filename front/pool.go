package front

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// keepIdle is how long a connection may lie idle and be used again. It is
// shorter than the time after which common servers close one (gunicorn 2 s, Node
// and uvicorn 5 s), since a request sent just then would be lost.
const keepIdle = time.Second

// pool holds the connections to one upstream. There may be any number.
//
// A request belongs to one connection. [http.Transport] would send a GET, or
// whatever has an Idempotency-Key, a second time when a connection that was used
// before dies without an answer (Go 1.26, net/http/transport.go,
// persistConn.shouldRetryRequest); only Transport.RoundTrip does that, an
// [http.ClientConn] cannot.
type pool struct {
	address   string
	transport *http.Transport // makes connections, carries no requests
	now       func() time.Time

	mu     sync.Mutex // guards what follows; no method of a ClientConn that may run its hook is called under it
	idle   []idle     // oldest first
	closed bool
}

type idle struct {
	conn  *conn
	since time.Time
}

// conn is a connection to an upstream.
type conn struct {
	*http.ClientConn
	wire *wire
}

// wire notes whether reading has failed. The HTTP client reports an answer that
// breaks off in its header as one that is malformed.
type wire struct {
	net.Conn
	ended atomic.Bool
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil {
		w.ended.Store(true)
	}
	return n, err
}

// wireKey is where a new connection is handed over: a **wire.
type wireKey struct{}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns a way to connect. Multipath TCP is off, so that filters on
// sockets and packets see plain TCP.
func dialer(timeout time.Duration) dial {
	d := &net.Dialer{Timeout: timeout}
	d.SetMultipathTCP(false)
	return d.DialContext
}

func newPool(address string, connect dial, answer time.Duration, now func() time.Time) *pool {
	var http1 http.Protocols
	http1.SetHTTP1(true)
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := connect(ctx, network, address)
			if err != nil {
				return nil, &connectError{err}
			}
			w := &wire{Conn: c}
			*ctx.Value(wireKey{}).(**wire) = w
			return w, nil
		},
		DisableCompression:    true,
		ResponseHeaderTimeout: answer,
		Protocols:             &http1,
	}
	return &pool{address: address, transport: t, now: now}
}

// connectError says that there was no connection to send a request on.
type connectError struct{ error }

func (e *connectError) Unwrap() error { return e.error }

// endedError says that the upstream ended the connection before its answer had
// begun to arrive whole.
type endedError struct{ error }

func (e *endedError) Unwrap() error { return e.error }

// send sends a request on one connection, once.
func (p *pool) send(r *http.Request) (*http.Response, error) {
	c, err := p.take(r.Context())
	if err != nil {
		return nil, err
	}
	res, err := c.RoundTrip(r)
	if err != nil {
		ended := c.wire.ended.Load()
		_ = c.Close() // whatever state it is in, nobody else shall have it
		if ended {
			err = &endedError{err}
		}
		return nil, err
	}
	return res, nil
}

// take returns a connection that is reserved for one request: the one that was
// used last, or a new one. Nothing has been written on it for this request.
func (p *pool) take(ctx context.Context) (*conn, error) {
	for {
		c, old := p.pop()
		closeAll(old)
		if c == nil {
			break
		}
		if c.Reserve() == nil {
			return c, nil
		} // the upstream has closed it
	}
	c := &conn{}
	var err error
	if c.ClientConn, err = p.transport.NewClientConn(context.WithValue(ctx, wireKey{}, &c.wire), "http", p.address); err != nil {
		return nil, err
	}
	if err := c.Reserve(); err != nil {
		_ = c.Close()
		return nil, err
	}
	c.SetStateHook(func(*http.ClientConn) { p.changed(c) })
	return c, nil
}

// pop returns the connection that was used last, if any, and those that are too
// old to be used again.
func (p *pool) pop() (c *conn, old []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old = p.expire()
	if n := len(p.idle); n > 0 {
		c = p.idle[n-1].conn
		p.idle = p.idle[:n-1]
	}
	return c, old
}

// expire takes out what is too old. The caller holds the mutex.
func (p *pool) expire() []*conn {
	var old []*conn
	n, now := 0, p.now()
	for n < len(p.idle) && now.Sub(p.idle[n].since) >= keepIdle {
		old = append(old, p.idle[n].conn)
		n++
	}
	p.idle = slices.Delete(p.idle, 0, n)
	return old
}

// changed is the hook of every connection: one that has become free is kept,
// one that is over is forgotten.
func (p *pool) changed(c *conn) {
	p.mu.Lock()
	var old []*conn
	at := slices.IndexFunc(p.idle, func(i idle) bool { return i.conn == c })
	switch {
	case c.Err() != nil:
		if at >= 0 {
			p.idle = slices.Delete(p.idle, at, at+1)
		}
	case c.Available() > 0 && p.closed:
		old = append(old, c)
	case c.Available() > 0 && at < 0:
		old = p.expire()
		p.idle = append(p.idle, idle{c, p.now()})
	}
	p.mu.Unlock()
	closeAll(old)
}

// close closes the idle connections, and from now on those that become so.
func (p *pool) close() {
	p.mu.Lock()
	var all []*conn
	for _, i := range p.idle {
		all = append(all, i.conn)
	}
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	closeAll(all)
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		_ = c.Close() // nobody waits for it
	}
}
