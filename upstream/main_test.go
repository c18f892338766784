package upstream

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"brunt/dependency"
	"brunt/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// backend is a function that decides.
type backend func(ctx context.Context, a Arrival, begin func(Plan)) Reply

func (b backend) Attempt(ctx context.Context, a Arrival, begin func(Plan)) Reply {
	return b(ctx, a, begin)
}

// always replies at once.
func always(r Reply) backend {
	return func(context.Context, Arrival, func(Plan)) Reply { return r }
}

// planned tells a plan, takes as long as it says, and replies.
func planned(p Plan, r Reply) backend {
	return func(ctx context.Context, _ Arrival, begin func(Plan)) Reply {
		timer := time.NewTimer(p.After)
		defer timer.Stop()
		begin(p)
		if p.After == record.Never {
			<-ctx.Done()
			return Reply{Err: ctx.Err()}
		}
		select {
		case <-timer.C:
			return r
		case <-ctx.Done():
			return Reply{Err: ctx.Err()}
		}
	}
}

// wire returns the usual form with changes.
func wire(change func(*dependency.Wire)) *dependency.Wire {
	w := usual
	change(&w)
	return &w
}

func body64(n int) *dependency.Wire { return wire(func(w *dependency.Wire) { w.Body = n }) }

func failing(how dependency.Failing) *dependency.Wire {
	return wire(func(w *dependency.Wire) { w.Failure = how })
}

// listenOn serves one dependency, number 7, on a free port.
func listenOn(t testing.TB, b Backend) *Server {
	t.Helper()
	s, err := Listen([]Address{{Name: "primary", Dependency: 7, Listen: "127.0.0.1:0"}}, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns a client that speaks just one version of HTTP.
func client(t testing.TB, framed bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!framed)
	protocols.SetUnencryptedHTTP2(framed)
	transport := &http.Transport{Protocols: protocols, DisableCompression: true, MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// both runs a test with either version of HTTP.
func both(t *testing.T, test func(t *testing.T, framed bool)) {
	t.Run("HTTP/1.1", func(t *testing.T) { test(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { test(t, true) })
}

// dial opens a bare connection.
func dial(t testing.TB, s *Server) *net.TCPConn {
	t.Helper()
	var d net.Dialer
	d.SetMultipathTCP(false)
	c, err := d.DialContext(t.Context(), "tcp", s.ports[0].listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func send(t testing.TB, c io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// get is a request in the fewest bytes.
const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// pipes is a listener without sockets, for time that stands still.
type pipes struct {
	accepts chan net.Conn
	errs    chan error // returned by Accept
	closed  chan struct{}
	once    sync.Once
}

func newPipes() *pipes {
	return &pipes{accepts: make(chan net.Conn), errs: make(chan error, 100), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case err := <-p.errs:
		return nil, err
	default:
	}
	select {
	case c := <-p.accepts:
		return c, nil
	case err := <-p.errs:
		return nil, err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// dial opens a connection.
func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.accepts <- theirs
	return ours
}

// inBubble serves one dependency in a bubble's time.
func inBubble(b Backend) (*Server, *pipes) {
	p := newPipes()
	return serve([]*port{newPort(Address{Name: "primary", Dependency: 7}, p)}, b), p
}

// piece is what was read at an instant.
type piece struct {
	At   time.Duration
	Text string
}

// readPieces reads to the end. What comes at one instant is one piece.
func readPieces(c io.Reader) []piece {
	start := time.Now()
	var all []piece
	in := bufio.NewReader(c)
	buffer := make([]byte, 1<<10)
	for {
		n, err := in.Read(buffer)
		at, text := time.Since(start), string(buffer[:n])
		if last := len(all) - 1; last >= 0 && all[last].At == at {
			all[last].Text += text
		} else if n > 0 || err != nil {
			all = append(all, piece{at, text})
		}
		if err != nil {
			return all
		}
	}
}
