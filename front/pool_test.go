package front

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"brunt/dependency"
)

// A request is written once, also when the connection that it is written on had
// been used before and dies at that moment: net/http's own transport would send
// most of these again.
func TestWrittenOnce(t *testing.T) {
	deaths := map[string]func(*net.TCPConn){
		"closes":         func(*net.TCPConn) {},
		"resets":         func(c *net.TCPConn) { _ = c.SetLinger(0) },
		"half an answer": func(c *net.TCPConn) { fmt.Fprint(c, "HTTP/1.1 20") },
	}
	requests := map[string]func(url string) (*http.Request, error){
		"GET":     func(url string) (*http.Request, error) { return http.NewRequest("GET", url, nil) },
		"HEAD":    func(url string) (*http.Request, error) { return http.NewRequest("HEAD", url, nil) },
		"OPTIONS": func(url string) (*http.Request, error) { return http.NewRequest("OPTIONS", url, nil) },
		"POST":    func(url string) (*http.Request, error) { return http.NewRequest("POST", url, strings.NewReader("x")) },
		"POST with a key": func(url string) (*http.Request, error) {
			r, err := http.NewRequest("POST", url, nil)
			if err == nil {
				r.Header.Set("Idempotency-Key", "k")
			}
			return r, err
		},
	}
	for death, die := range deaths {
		for kind, request := range requests {
			t.Run(death+" on "+kind, func(t *testing.T) {
				var doomed, conns atomic.Int32
				b := serve(t, unchecked(raw(t, func(c *net.TCPConn, r *bufio.Reader) {
					conns.Add(1)
					for {
						req, err := http.ReadRequest(r)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, req.Body)
						if req.URL.Path == "/doomed" {
							doomed.Add(1)
							die(c)
							return
						}
						fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
					}
				})))
				b.get("/well")
				r, err := request(b.url + "/doomed")
				if err != nil {
					t.Fatal(err)
				}
				res, err := b.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				if res.StatusCode != 502 || res.Header.Get(ErrorHeader) != string(Reset) {
					t.Errorf("status %d, error %q", res.StatusCode, res.Header.Get(ErrorHeader))
				}
				if conns.Load() != 1 {
					t.Errorf("%d connections: the doomed request was not written on one that had been used", conns.Load())
				}
				if err := b.stop(); err != nil {
					t.Error(err)
				}
				if n := doomed.Load(); n != 1 {
					t.Errorf("the request was written %d times", n)
				}
			})
		}
	}
}

// A connection that the upstream has closed, or that has been idle for too
// long, is not used again; one that was just used is.
func TestIdleConnections(t *testing.T) {
	var conns atomic.Int32
	closes := make(chan struct{}, 1)
	url := raw(t, func(c *net.TCPConn, r *bufio.Reader) {
		conns.Add(1)
		for swallow(r) == nil {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			select {
			case <-closes:
				return
			default:
			}
		}
	})
	var now atomic.Int64
	p := newPool(strings.TrimPrefix(url, "http://"), dialer(0), 0, func() time.Time { return time.Unix(0, now.Load()) })
	defer p.close()
	send := func() {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.send(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ok" {
			t.Fatalf("%q, %v", body, err)
		}
	}
	expect := func(want int32, why string) {
		t.Helper()
		if got := conns.Load(); got != want {
			t.Errorf("%s: %d connections, want %d", why, got, want)
		}
	}
	send()
	send()
	expect(1, "used again")
	now.Add(int64(keepIdle) - 1)
	send()
	expect(1, "idle, but not for long")
	now.Add(int64(keepIdle))
	send()
	expect(2, "idle for too long")

	closes <- struct{}{}
	send()
	for late := time.After(patience); ; { // until the pool has noticed
		p.mu.Lock()
		n := len(p.idle)
		p.mu.Unlock()
		if n == 0 {
			break
		}
		select {
		case <-late:
			t.Fatal("a closed connection is kept")
		default:
		}
	}
	send()
	expect(3, "closed by the upstream")
}

func BenchmarkRequest(b *testing.B) {
	answer := func(c net.Conn) {
		defer c.Close()
		for r := bufio.NewReader(c); swallow(r) == nil; {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	c := unchecked("http://" + l.Addr().String())
	c.Balancer = dependency.RoundRobin
	f, err := New(c, Clock{Now: time.Now, After: time.After}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.upstreams[0].pool.close()
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequestWithContext(b.Context(), "GET", "http://x/", nil)
		f.ServeHTTP(discard{http.Header{}}, r)
	}
}

// discard is a caller that keeps nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) Flush()                      {}
