package upstream

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// listener takes connections for one dependency, as many as the server may have.
type listener struct {
	net.Listener
	server *Server
	port   *port
}

// Accept implements [net.Listener]. What is too many is reset at once.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: accepted, server: l.server, port: l.port}
		c.fresh.Store(true)
		if l.server.connected() {
			return c, nil
		}
		c.harden()
		_ = c.Conn.Close() // it was not counted
	}
}

// conn is a client's connection. It keeps its own deadlines for writing, and
// lets a client that has just connected be silent for as long as an idle one.
type conn struct {
	net.Conn
	server *Server
	port   *port

	closed  sync.Once
	fresh   atomic.Bool  // nothing has been read
	reading atomic.Bool  // something was read that no handler has
	framed  atomic.Bool  // it is HTTP/2's
	active  atomic.Int64 // requests in a handler
	asked   atomic.Bool  // there was one
	pushed  atomic.Int64 // when the deadline for writing was set last, in Unix nanoseconds
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.reading.Store(true)
		if c.fresh.Load() && c.fresh.CompareAndSwap(true, false) {
			_ = c.Conn.SetReadDeadline(now().Add(headerTime)) // fails when it is closed: the next read tells
		}
	}
	return n, err
}

// SetReadDeadline implements [net.Conn]. The time for a header starts with its
// first byte, also on a new connection: clients connect in advance.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && c.fresh.Load() {
		if idle := now().Add(idleTime); t.Before(idle) && t.After(now()) {
			t = idle
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// Write implements [net.Conn]. A client that takes nothing for writeTime, or
// for three quarters of it, loses the connection: the deadline is moved seldom.
func (c *conn) Write(p []byte) (int, error) {
	t := now()
	if at := t.UnixNano(); at-c.pushed.Load() > int64(writeTime/4) {
		c.pushed.Store(at)
		_ = c.Conn.SetWriteDeadline(t.Add(writeTime)) // fails when it is closed: the write tells
	}
	return c.Conn.Write(p)
}

// SetWriteDeadline implements [net.Conn]: Write has its own.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// Close implements [net.Conn]. A connection that is closed under its requests is
// reset.
func (c *conn) Close() error {
	if c.active.Load() > 0 {
		c.harden()
	}
	err := c.Conn.Close()
	c.closed.Do(c.server.disconnected)
	return err
}

// harden has the connection reset when it is closed: with a linger of 0,
// closing discards what is unsent and sends RST (tcp(7), socket(7)).
func (c *conn) harden() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // fails when it is closed
	}
}

type connKey struct{}

// withConn puts a connection where its requests find it.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// enter and leave surround a request.
func (c *conn) enter() {
	c.asked.Store(true)
	c.active.Add(1)
}

func (c *conn) leave() {
	c.reading.Store(false)
	c.active.Add(-1)
}

// see implements [http.Server.ConnState]. A connection is new before the accept
// loop goes on, and closed as the last thing its goroutine does. Only one of HTTP/2
// is idle before its first request.
func (s *Server) see(c net.Conn, state http.ConnState) {
	own := c.(*conn)
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateIdle:
		if !own.asked.Load() {
			own.framed.Store(true)
		}
	case http.StateClosed:
		if own.reading.Load() && !own.framed.Load() { // it broke off, or was none
			s.malformed.Add(1)
		}
		s.open.Done()
	}
}
