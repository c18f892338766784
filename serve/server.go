package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"brunt/lab"
)

// Config says what a server shows. The zero value shows the runs of the working
// directory and the built-in studies.
type Config struct {
	// Folder holds the runs; it may not be there yet. Empty for the working directory.
	Folder string
	// Studies are files, and folders of files, whose studies are offered beside
	// the built-in ones.
	Studies []string
	// Instrument says which brunt this is.
	Instrument lab.Instrument
	// Log is told of connections that broke; nil for nobody.
	Log io.Writer
}

// Server answers one browser. Make it with [New].
type Server struct {
	config Config
	token  string // in the address that is printed
	secret string // in the cookie
	limits limits
	runs   summaries
	unfit  func() []string // built-in studies that are refused
	trials trials
	routes map[string]http.HandlerFunc // by method and path, whole

	answering sync.RWMutex // held while a request is being answered
	over      bool         // guarded by answering
}

// limits bound what a client can take.
type limits struct {
	header, read, write, idle time.Duration // of one connection
	grace                     time.Duration // for answers under way, at the end
	connections               int64
	body                      int64 // bytes
	trial                     time.Duration
	requests, attempts        int64 // of a trial
	atOnce, waiting           int   // trials
	kept                      int   // trials whose report can be had
}

var usual = limits{
	header: 5 * time.Second, read: 10 * time.Second, write: 90 * time.Second, idle: time.Minute, grace: 2 * time.Second,
	connections: 64,
	body:        64 << 10,
	trial:       30 * time.Second,
	requests:    2_000_000, attempts: 20_000_000,
	atOnce: 2, waiting: 8,
	kept: 8,
}

// New makes a server, with a token of its own.
func New(c Config) *Server {
	if c.Folder == "" {
		c.Folder = "."
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	s := &Server{config: c, token: rand.Text(), secret: rand.Text(), limits: usual, unfit: sync.OnceValue(unfitBuiltIns)}
	s.trials.slots = make(chan struct{}, s.limits.atOnce)
	s.routes = map[string]http.HandlerFunc{
		"GET /":           s.list,
		"GET /report":     s.report,
		"GET /compare":    s.compare,
		"GET /difference": s.differ,
		"GET /try":        s.try,
		"GET /trial":      s.trial,
		"POST /run":       s.run,
		"POST /keep":      s.keep,
	}
	return s
}

// Listen listens at an address of this machine, which nobody else can reach:
// 127.0.0.1, ::1 or localhost, and a port; 0 takes a free one.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen at %q: expected HOST:PORT: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen at %q: %w: expected 127.0.0.1, [::1] or localhost", address, ErrNotLoopback)
	}
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	l, err := c.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %q: %w", address, err)
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() { // a machine may call anything localhost
		return nil, errors.Join(fmt.Errorf("listen at %q, which is %v: %w", address, l.Addr(), ErrNotLoopback), l.Close())
	}
	return l, nil
}

// ErrNotLoopback says that others could reach an address.
var ErrNotLoopback = errors.New("that is not on loopback, and others could reach it")

// Address is what a browser is given to begin with. Whoever has it can see what
// the server shows, for as long as it runs.
func (s *Server) Address(l net.Listener) string {
	return "http://" + l.Addr().String() + "/?token=" + s.token
}

// Serve answers until the context ends. Then runs that are under way are given
// up, and it returns nil when all is over. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var open atomic.Int64
	server := &http.Server{
		Handler:           s.guard(port(l), http.HandlerFunc(s.route)),
		ReadHeaderTimeout: s.limits.header, ReadTimeout: s.limits.read, WriteTimeout: s.limits.write, IdleTimeout: s.limits.idle,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       log.New(s.config.Log, "brunt serve: ", 0),
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if open.Add(1) > s.limits.connections {
					_ = c.Close() // the server finds it closed, and counts it out
				}
			case http.StateClosed, http.StateHijacked:
				open.Add(-1)
			}
		},
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve at %v: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.Background(), s.limits.grace)
	defer done()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) { // somebody reads slowly
		err = server.Close()
	}
	<-served
	s.answering.Lock() // until all have answered
	s.over = true
	s.answering.Unlock()
	return err
}

// port is the listener's port as text.
func port(l net.Listener) string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// route answers what has passed the guard. Paths are whole: none is cleaned,
// and none leads anywhere else.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	s.answering.RLock()
	defer s.answering.RUnlock()
	if s.over { // it came as the last connections were closed
		return
	}
	method := strings.Replace(r.Method, http.MethodHead, http.MethodGet, 1)
	if h, ok := s.routes[method+" "+r.URL.Path]; ok {
		h(w, r)
		return
	}
	for other := range s.routes {
		if verb, path, _ := strings.Cut(other, " "); path == r.URL.Path {
			w.Header().Set("Allow", verb)
			s.refuse(w, http.StatusMethodNotAllowed, "Not here", "This address takes "+verb+" alone.")
			return
		}
	}
	s.nothing(w)
}

// nothing answers what is not there, or is none of the client's business.
func (s *Server) nothing(w http.ResponseWriter) {
	s.refuse(w, http.StatusNotFound, "Nothing here", "There is no such page, run or study.")
}
