package upstream

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What clients may cost. Who keeps within it is not surprised: an idle
// connection is kept long.
const (
	headerTime = 10 * time.Second
	bodyTime   = 30 * time.Second // for a whole request
	writeTime  = 30 * time.Second
	idleTime   = 10 * time.Minute

	mostHeader   = 64 << 10
	mostBody     = 64 << 20 // read and thrown away
	mostConns    = 16384
	mostStreams  = 1000 // of one HTTP/2 connection
	mostRequests = 65536
)

// Server serves dependencies.
type Server struct {
	backend Backend
	ports   []*port
	http    http.Server
	cancel  context.CancelFunc // of every request
	loops   sync.WaitGroup     // accept loops
	open    sync.WaitGroup     // connections that net/http has

	malformed, complaints atomic.Int64

	closing sync.Once
	closed  error
	idle    chan struct{} // closed when nothing is in flight and nothing more may come

	mostConns, mostRequests, mostBody int

	mu       sync.Mutex
	stats    Stats // guarded by mu, but for the counters above
	inFlight int   // guarded by mu
	over     bool  // guarded by mu
	failed   error // guarded by mu: of accept loops
}

// Stats says what a server has seen.
type Stats struct {
	// Open is how many connections there are, and Peak the most there were at a time.
	Open, Peak int
	// Refused is how many connections and requests were more than a server takes at a
	// time; each was reset at once.
	Refused int64
	// Requests is how many were there in full, and are attempts therefore.
	Requests int64
	// Malformed is how many requests were none, broke off before their end, or were too
	// large.
	Malformed int64
	// Complaints is how often the server had trouble of its own: connections that it
	// could not take for want of descriptors, and connections that broke HTTP/2.
	Complaints int64
}

// Listen serves each of the addresses, or none of them. A host that is left out
// is loopback's. The caller closes the server.
func Listen(addresses []Address, b Backend) (*Server, error) {
	ports, err := listenAll(addresses)
	if err != nil {
		return nil, err
	}
	return serve(ports, b), nil
}

func serve(ports []*port, b Backend) *Server {
	alive, cancel := context.WithCancel(context.Background())
	s := &Server{backend: b, ports: ports, cancel: cancel, idle: make(chan struct{}), mostConns: mostConns, mostRequests: mostRequests, mostBody: mostBody}
	s.http = http.Server{
		Handler:                      http.HandlerFunc(s.handle),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTime,
		ReadTimeout:                  bodyTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               mostHeader,
		ConnState:                    s.see,
		ConnContext:                  withConn,
		BaseContext:                  func(net.Listener) context.Context { return alive },
		ErrorLog:                     log.New((*complaints)(&s.complaints), "", 0),
		Protocols:                    new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: mostStreams,
			SendPingTimeout:      idleTime,
			CountError:           s.broken,
		},
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true)
	for _, p := range ports {
		s.loops.Go(func() {
			err := s.http.Serve(&listener{p.listener, s, p})
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = errors.Join(s.failed, fmt.Errorf("serve dependency %q on %s: %w", p.Name, p.url, err))
		})
	}
	return s
}

// URL returns where a dependency is reached from this machine; "" for one that
// is not served.
func (s *Server) URL(dependency int) string {
	for _, p := range s.ports {
		if p.Dependency == dependency {
			return p.url
		}
	}
	return ""
}

// Stats returns what was seen so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.stats
	now.Malformed, now.Complaints = s.malformed.Load(), s.complaints.Load()
	return now
}

// Close stops listening, ends the contexts of the attempts under way, resets
// their connections, closes all others, and waits until every goroutine has ended. It
// returns what had ended the serving of an address before.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.over = true
		s.closed = s.failed // what fails from here on was closed
		if s.inFlight == 0 {
			close(s.idle)
		}
		s.mu.Unlock()
		for _, p := range s.ports {
			_ = p.listener.Close() // fails when it has failed before
		}
		s.loops.Wait()
		s.cancel()
		_ = s.http.Close() // of what is closed already
		s.open.Wait()
		<-s.idle
	})
	return s.closed
}

// connected takes a connection, if it is not one too many.
func (s *Server) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stats.Open >= s.mostConns {
		s.stats.Refused++
		return false
	}
	s.stats.Open++
	s.stats.Peak = max(s.stats.Peak, s.stats.Open)
	return true
}

func (s *Server) disconnected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Open--
}

// enter takes a request, if it is not one too many and the server goes on.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return false
	case s.inFlight >= s.mostRequests:
		s.stats.Refused++
		return false
	}
	s.inFlight++
	return true
}

// arrived counts a request that is there in full, and returns its number.
func (s *Server) arrived() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Requests++
	return s.stats.Requests
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight--; s.inFlight == 0 && s.over {
		close(s.idle)
	}
}

// broken implements [http.HTTP2Config.CountError]. A frame on a stream that has
// just ended is nobody's mistake (RFC 9113, section 5.1).
func (s *Server) broken(what string) {
	if !strings.HasSuffix(what, "_closed") {
		s.malformed.Add(1)
	}
}

// complaints counts what net/http would log.
type complaints atomic.Int64

// Write implements [io.Writer].
func (c *complaints) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(1)
	return len(p), nil
}
