package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/record"
)

// onceStudy sends 500 requests to a server that is bad to them.
const onceStudy = `
study: once
question: Is each request sent once?
clock: real
load: {rate: 500/s}
horizon: 3s
target: {kind: http, url: "TARGET", http2: VERSION, METHOD}
phases: [{name: all, for: 1s}]
compositions: {plain: [{call: target}]}
`

// TestSentOnce: through a whole run, each scheduled request reaches the server at
// most once, whatever becomes of the connection that it is sent on.
func TestSentOnce(t *testing.T) {
	for _, c := range []struct {
		name, version string
		open          func(*testing.T) *counting
	}{
		{"HTTP/1.1", "off", countHTTP1},
		{"HTTP/2", "on", countHTTP2},
	} {
		for _, method := range []string{"method: GET", `method: POST, body: "{{.ID}}"`} {
			t.Run(c.name+" "+strings.TrimSuffix(method[8:min(12, len(method))], ","), func(t *testing.T) {
				t.Parallel()
				server := c.open(t)
				s := besiege(t)
				s.file(t, "study.yaml", at(onceStudy, "TARGET", "http://"+server.address, "VERSION", c.version, "METHOD", method))
				s.start(t, nil, "run", "study.yaml", "--out", "out").expect(statusOK)
				server.judge(t, s.rows(t, "out"))
			})
		}
	}
}

// counting is a server that counts how often it has each request, and ends
// connections at all the wrong moments.
type counting struct {
	address string
	mu      sync.Mutex
	seen    map[string]int // by id
	n       int
}

// count notes a request, and returns how many there were, and what is to be done
// to it.
func (c *counting) count(r *http.Request) (n int) {
	_, _ = io.Copy(io.Discard, r.Body) // an end of the connection is the client's to tell of
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[r.Header.Get("X-Request-Id")]++
	c.n++
	return c.n
}

// judge holds the rows of a run against what the server had.
func (c *counting) judge(t *testing.T, all *rows) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, n := range c.seen {
		if n != 1 || id == "" {
			t.Errorf("request %q was sent %d times", id, n)
		}
	}
	if len(all.requests) != 500 || len(all.attempts) != 500 {
		t.Fatalf("%d requests, %d attempts: expected 500", len(all.requests), len(all.attempts))
	}
	lost, unsent := 0, 0
	indices := map[int64]bool{}
	for id := range c.seen { // PREFIX-REQUEST-ATTEMPT
		parts := strings.Split(id, "-")
		if n, err := strconv.ParseInt(parts[max(0, len(parts)-2)], 10, 64); err == nil {
			indices[n] = true
		}
	}
	for _, q := range all.requests {
		there := indices[q.Index]
		switch {
		case q.Outcome == record.Completed && !there:
			t.Errorf("request %d completed, and the server never had it", q.Index)
		case q.Outcome == record.Completed:
		case there:
			lost++ // it was, and its answer was not
		default:
			unsent++
		}
	}
	if lost < 25 {
		t.Errorf("%d requests were lost at the server: it was to be bad to many more", lost)
	}
	if len(c.seen)+unsent != 500 {
		t.Errorf("the server had %d requests, %d never reached it: expected 500 together", len(c.seen), unsent)
	}
}

// countHTTP1 speaks HTTP/1.1 on connections of its own. Of each eleven requests
// one is reset unanswered, one cut off within its answer, and behind one the
// connection ends just when the next is being sent.
func countHTTP1(t *testing.T) *counting {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{address: l.Addr().String(), seen: map[string]int{}}
	var work sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	serve := func(conn net.Conn) {
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		in := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			switch n := c.count(r); n % 11 {
			case 3:
				_ = conn.(*net.TCPConn).SetLinger(0)
				return
			case 5:
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel")
				return
			case 7:
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
				return
			case 9:
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
				_ = conn.(*net.TCPConn).SetLinger(0)
				return
			default:
				if n%2 == 0 { // so that there is more than one connection
					<-time.After(3 * time.Millisecond)
				}
				fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
			}
		}
	}
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		stop()
		_ = l.Close()
		work.Wait()
	})
	return c
}

type connKey struct{}

// countHTTP2 speaks HTTP/2 without TLS. Of each eleven requests one stream is
// reset, one cut off within its answer; of each 50 one takes its connection
// with it.
func countHTTP2(t *testing.T) *counting {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{address: l.Addr().String(), seen: map[string]int{}}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{
		Protocols: &protocols,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := c.count(r)
			switch {
			case n%50 == 49:
				conn := r.Context().Value(connKey{}).(*net.TCPConn)
				_ = conn.SetLinger(0)
				_ = conn.Close()
			case n%11 == 3:
				panic(http.ErrAbortHandler)
			case n%11 == 5:
				w.Header().Set("Content-Length", "10")
				fmt.Fprint(w, "hel")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			default:
				fmt.Fprint(w, "hello")
			}
		}),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return c
}
