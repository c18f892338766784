package replica

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// conns keeps account of a server's connections, so that it can be told when
// all are idle, and waited for until all of their goroutines have ended.
type conns struct {
	open    sync.WaitGroup
	changed chan struct{} // holds one when a connection has changed its state

	mu     sync.Mutex
	active map[net.Conn]bool // guarded by mu: those in a request
}

func newConns() *conns {
	return &conns{changed: make(chan struct{}, 1), active: map[net.Conn]bool{}}
}

// see implements [http.Server.ConnState]. A connection is new before the
// server's accept loop goes on, and closed as the last thing its goroutine does.
func (c *conns) see(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	if state == http.StateActive {
		c.active[conn] = true
	} else {
		delete(c.active, conn)
	}
	c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Done()
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// idle reports whether no connection is in a request.
func (c *conns) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.active) == 0
}

type connKey struct{}

// withConn puts a connection where its handlers find it.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// sever returns a function that resets the connection of a request: with a
// linger of 0, closing discards what is unsent and sends RST (tcp(7), socket(7)).
func sever(r *http.Request) func() {
	conn, _ := r.Context().Value(connKey{}).(net.Conn)
	return func() {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // fails when the client has closed already
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
}

// Listen listens for a server of this package: on plain TCP, since multipath
// TCP, Go's default, has no RST of its own.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(ctx, "tcp", address)
}

// IsLoopback reports whether a listener can be reached from this machine alone.
func IsLoopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
