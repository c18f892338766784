package target

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// patience bounds every wait of a test: long, as it ends only one that fails.
const patience = 20 * time.Second

// newCaller returns a caller of a URL, made as a study would make it.
func newCaller(t testing.TB, url string, change ...func(*Config, *Env)) *Caller {
	t.Helper()
	var c Config
	c.SetDefaults()
	c.URL = url
	begin := time.Now()
	env := Env{Now: func() time.Duration { return time.Since(begin) }, Prefix: "run"}
	loop := looping(t)
	if loop != nil {
		env.Now = loop.Elapsed
	}
	for _, f := range change {
		f(&c, &env)
	}
	p := check.New()
	c.Check(p)
	for _, problem := range p.All() {
		if !problem.Doubt {
			t.Fatal(problem)
		}
	}
	at, err := Resolve(context.Background(), &c)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := New(context.Background(), &c, at, env)
	if err != nil {
		t.Fatal(err)
	}
	if loop == nil {
		t.Cleanup(caller.Close)
		return caller
	}
	// The loop ends first, then the caller.
	var ended sync.WaitGroup
	t.Cleanup(func() {
		loop.Post(loop.Release)
		ended.Wait()
		caller.Close()
		loop.Close()
	})
	attached := make(chan struct{})
	loop.Hold()
	loop.Post(func() {
		caller.Attach(loop)
		close(attached)
	})
	ended.Go(loop.Run)
	<-attached
	loops.Store(caller, loop)
	return caller
}

// onLoops has every test run with a loop attached to its callers.
var onLoops bool

// loops are those that are attached, by caller.
var loops sync.Map

func looping(t testing.TB) *clock.Loop {
	if !onLoops {
		return nil
	}
	loop, err := clock.Real()
	if err != nil {
		t.Fatal(err)
	}
	return loop
}

// onLoopOf calls f where calls of a caller are to be started.
func onLoopOf(caller *Caller, f func()) {
	loop, attached := loops.Load(caller)
	if !attached {
		f()
		return
	}
	done := make(chan struct{})
	loop.(*clock.Loop).Post(func() {
		f()
		close(done)
	})
	<-done
}

func openAI(c *Config, _ *Env) { c.Kind, c.Model = OpenAI, "mock" }

// running is a call under test.
type running struct {
	*Call
	t      testing.TB
	caller *Caller

	mu     sync.Mutex
	events []Event
	more   chan struct{} // an event has come
}

func start(t testing.TB, caller *Caller, request int64, deadline time.Duration) *running {
	r := newRunning(t, caller)
	onLoopOf(caller, func() { r.Call = caller.Start(ID{Request: request}, deadline, r.see) })
	return r
}

func newRunning(t testing.TB, caller *Caller) *running {
	return &running{t: t, caller: caller, more: make(chan struct{}, 1)}
}

func (r *running) see(e Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
}

func (r *running) all() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

// until waits for an event.
func (r *running) until(what What) Event {
	r.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		for _, e := range r.all() {
			if e.What == what {
				return e
			}
		}
		select {
		case <-r.more:
		case <-late.C:
			r.t.Fatalf("waited for %q: only %v came", what, r.all())
		}
	}
}

// end waits for the end of the call and holds its events to their order.
func (r *running) end() *Answer {
	r.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		all := r.all()
		if n := len(all); n > 0 && all[n-1].Answer != nil {
			checkEvents(r.t, all)
			return all[n-1].Answer
		}
		select {
		case <-r.more:
		case <-late.C:
			r.t.Fatalf("waited for the end: only %v came", all)
		}
	}
}

// checkEvents holds what every call promises.
func checkEvents(t testing.TB, all []Event) {
	t.Helper()
	var last What
	for i, e := range all {
		final := i == len(all)-1
		if final != (e.What == Ended || e.What == Gone) || final != (e.Answer != nil) {
			t.Fatalf("event %d of %d is %q", i+1, len(all), e.What)
		}
		if e.What != Wrote && e.What != Content && i > 0 && e.What <= last && last != Content {
			t.Fatalf("%q after %q", e.What, last)
		}
		last = e.What
	}
	a := all[len(all)-1].Answer
	if began := all[0].What == Began; began != (a.Began != record.Never) || !began && a.Connected != record.Never || began && all[0].At != a.Began {
		t.Fatalf("began at %v, first event %+v, %+v", a.Began, all[0], a)
	}
	if a.Writes > 1 || a.Writes < 0 {
		t.Fatalf("written %d times", a.Writes)
	}
	previous := time.Duration(0)
	for _, at := range []time.Duration{a.Began, a.Connected, a.FirstByte, a.FirstContent, a.LastContent, a.End} {
		if at != record.Never && at < previous {
			t.Fatalf("instants run backwards: %+v", a)
		}
		previous = max(previous, at)
	}
}

func one(t testing.TB, caller *Caller) *Answer {
	t.Helper()
	return start(t, caller, 1, record.Never).end()
}

// rawServer hands each connection, with its number, to a function that plays a server.
// It counts the requests that were read whole, by their id.
type rawServer struct {
	url  string
	host string

	mu   sync.Mutex
	seen map[string]int
}

type peer struct {
	net.Conn
	in     *bufio.Reader
	server *rawServer
	number int // of the connection, from 0
	failed error
}

// read reads one request.
func (p *peer) read() bool {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	p.server.mu.Lock()
	p.server.seen[r.Header.Get("X-Request-Id")]++
	p.server.mu.Unlock()
	return true
}

// say writes an answer, or a part of one.
func (p *peer) say(s string) {
	if s == "" {
		return
	}
	if _, err := io.WriteString(p, s); err != nil {
		p.failed = err // the kernel tells of an RST once, to whoever asks first
	}
}

// rst ends the connection with an RST.
func (p *peer) rst() { reset(p.Conn) }

// gone waits until the client has torn the connection down, and says how.
func (p *peer) gone() error {
	_, err := io.Copy(io.Discard, p.in)
	return errors.Join(p.failed, err)
}

func serve(t testing.TB, play func(p *peer)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{url: "http://" + l.Addr().String() + "/", host: l.Addr().String(), seen: map[string]int{}}
	var all sync.WaitGroup
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	all.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			all.Go(func() {
				play(&peer{Conn: c, in: bufio.NewReader(c), server: s, number: n})
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return s
}

// twice lists the requests that came more than once.
func (s *rawServer) twice() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, n := range s.seen {
		if n > 1 {
			ids = append(ids, id)
		}
	}
	return ids
}

// count is how many different requests came.
func (s *rawServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// listenNobody returns a URL where nobody listens.
func listenNobody(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/"
}
