package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"brunt/check"
	"brunt/clock"
)

// Server is a replica that serves.
type Server struct {
	config  Config
	loop    *clock.Loop
	engine  *engine
	graced  chan struct{} // closed when the grace is over
	numbers atomic.Int64  // of answers
}

// New returns a replica. It keeps a system handle until Serve has returned.
func New(c Config) (*Server, error) {
	problems := check.New()
	c.Check(problems)
	for _, p := range problems.All() {
		if !p.Doubt {
			return nil, fmt.Errorf("make a replica: %w", p)
		}
	}
	loop, err := clock.Real()
	if err != nil {
		return nil, fmt.Errorf("make a replica: %w", err)
	}
	return &Server{config: c, loop: loop, engine: newEngine(loop, c), graced: make(chan struct{})}, nil
}

// What a slow client may cost, by RFC 9112's parts of a request. An idle
// connection is kept long, so that no client is surprised by the end of one.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second
	idleTime   = 10 * time.Minute
	mostHeader = 64 << 10
)

// Serve serves until ctx is over, and then on while requests are in flight, up
// to the grace: health is 503, new requests are turned away, streams end. What
// is left then is reset. It returns when every goroutine has ended. Control may
// be nil; else it must listen on a loopback address. Both listeners are closed.
func (s *Server) Serve(ctx context.Context, listener, control net.Listener) error {
	if control != nil && !IsLoopback(control) {
		s.loop.Close()
		_, _ = listener.Close(), control.Close()
		return fmt.Errorf("serve control on %v: expected a loopback address, since anybody who reaches it can break the replica", control.Addr())
	}
	looped := make(chan struct{})
	s.loop.Hold()
	go func() {
		defer close(looped)
		s.loop.Run()
	}()

	alive, end := context.WithCancel(context.Background())
	defer end()
	failed := make(chan error, 2)
	data := s.serve(alive, s.handler(), listener, failed)
	servers := []*served{data}
	if control != nil {
		servers = append(servers, s.serve(alive, s.controls(), control, failed))
	}

	var err error
	select {
	case <-ctx.Done():
		s.drain(data)
	case err = <-failed:
	}
	s.ask(s.engine.abandon) // first, so that what is in flight is reset and not just closed
	end()
	for _, one := range servers {
		_ = one.server.Close() // closes what is to be dropped: its errors are of no use
		<-one.ended
		one.conns.open.Wait()
	}
	s.loop.Post(s.loop.Release)
	<-looped
	s.loop.Close()
	return err
}

// drain waits until no request is in flight, or the grace is over.
func (s *Server) drain(data *served) {
	s.loop.Post(func() {
		s.engine.draining = true
		s.engine.graced = s.loop.After(s.config.Grace, clock.Func(func() { close(s.graced) }))
	})
	for !data.conns.idle() {
		select {
		case <-data.conns.changed:
		case <-s.graced:
			return
		}
	}
}

// served is one of the two HTTP servers.
type served struct {
	server *http.Server
	conns  *conns
	ended  chan struct{} // closed when it accepts no more
}

func (s *Server) serve(alive context.Context, handler http.Handler, l net.Listener, failed chan<- error) *served {
	one := &served{conns: newConns(), ended: make(chan struct{})}
	one.server = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       bodyTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    mostHeader,
		ConnState:         one.conns.see,
		ConnContext:       withConn,
		BaseContext:       func(net.Listener) context.Context { return alive },
		Protocols:         new(http.Protocols),
	}
	one.server.Protocols.SetHTTP1(true)
	go func() {
		defer close(one.ended)
		if err := one.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve on %v: %w", l.Addr(), err)
		}
	}()
	return one
}

// ask has f called on the loop and waits for it. The loop runs for as long as
// anybody can ask.
func (s *Server) ask(f func()) {
	done := make(chan struct{})
	s.loop.Post(func() {
		defer close(done)
		f()
	})
	<-done
}
