package front

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a test waits for that never comes.
const patience = 20 * time.Second

// bench is a front that serves, with what a test needs to see of it.
type bench struct {
	t       *testing.T
	front   *Front
	url     string
	control string
	log     *sink
	stop    func() error // has it drained; returns what Serve did
	client  *http.Client
}

// sink keeps what a log writes, and wakes those who wait for it.
type sink struct {
	mu   sync.Mutex
	all  bytes.Buffer
	more chan struct{} // closed by the next write
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.more)
	s.more = make(chan struct{})
	return s.all.Write(p)
}

func (s *sink) read(t *testing.T) ([]Entry, chan struct{}) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := ReadLog(bytes.NewReader(s.all.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return entries, s.more
}

// await returns the first entry that is wanted.
func (s *sink) await(t *testing.T, what string, wanted func(Entry) bool) Entry {
	t.Helper()
	late := time.After(patience)
	for {
		entries, more := s.read(t)
		if i := slices.IndexFunc(entries, wanted); i >= 0 {
			return entries[i]
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("the log never told: %s", what)
		}
	}
}

// hasty is the real clock with a log that is flushed more often.
var hasty = Clock{Now: time.Now, After: func(d time.Duration) <-chan time.Time {
	if d == flushEvery {
		d = time.Millisecond
	}
	return time.After(d)
}}

// unchecked is a configuration without health checks.
func unchecked(urls ...string) Config {
	c := DefaultConfig()
	c.Health.Path = ""
	for i, u := range urls {
		c.Upstreams = append(c.Upstreams, Upstream{Name: string(rune('a' + i)), URL: u})
	}
	return c
}

func local(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serve(t *testing.T, c Config) *bench {
	t.Helper()
	b := &bench{t: t, log: &sink{more: make(chan struct{})}}
	var err error
	if b.front, err = New(c, hasty, NewLog(b.log)); err != nil {
		t.Fatal(err)
	}
	listen, control := local(t), local(t)
	b.url, b.control = "http://"+listen.Addr().String(), "http://"+control.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.front.Serve(ctx, listen, control) }()
	b.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	transport := &http.Transport{}
	b.client = &http.Client{Transport: transport, Timeout: patience}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = b.stop() // tests that care have called it
	})
	return b
}

func (b *bench) get(path string) (*http.Response, string) {
	b.t.Helper()
	res, err := b.client.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(body)
}

func upstreamOf(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// raw serves each connection with f, which closes nothing itself.
func raw(t *testing.T, f func(*net.TCPConn, *bufio.Reader)) string {
	t.Helper()
	l := local(t)
	var conns sync.WaitGroup
	var all []net.Conn // of the goroutine that accepts, until it has ended
	accepted := make(chan struct{})
	conns.Go(func() {
		defer close(accepted)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all = append(all, c)
			conns.Go(func() {
				defer c.Close()
				f(c.(*net.TCPConn), bufio.NewReader(c))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		<-accepted
		for _, c := range all {
			c.Close()
		}
		conns.Wait()
	})
	return "http://" + l.Addr().String()
}

// silent swallows what it is sent until the connection ends.
func silent(c *net.TCPConn, _ *bufio.Reader) { _, _ = io.Copy(io.Discard, c) }

// closedPort is where nothing listens.
func closedPort(t *testing.T) string {
	l := local(t)
	defer l.Close()
	return "http://" + l.Addr().String()
}

func swallow(r *bufio.Reader) error {
	req, err := http.ReadRequest(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err
}
