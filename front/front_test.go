package front

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/dependency"
)

// A request comes out as it went in, and so does its answer, but for the names
// that the front adds.
func TestPassesOn(t *testing.T) {
	type seen struct {
		Method, URI, Host, Body, Forwarded, ID, Agent string
	}
	got := make(chan seen, 1)
	b := serve(t, unchecked(upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.RequestURI, r.Host, string(body), r.Header.Get("X-Forwarded-For"), r.Header.Get(RequestID), r.Header.Get("User-Agent")}
		w.Header().Set("X-Own", "1")
		w.Header().Set(ErrorHeader, "reset")     // not for the upstream to say
		w.Header().Set(ReplicaHeader, "another") // neither
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(418)
		fmt.Fprint(w, "teapot")
		w.Header().Set("X-Sum", "7")
	})))
	r, err := http.NewRequest("PATCH", b.url+"/a%2Fb/c?x=1;y=%zz&&z", strings.NewReader("payload"))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "shop.example"
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	r.Header.Set(RequestID, "r-1")
	r.Header.Set("User-Agent", "probe")
	r.Header.Set("Expect", "100-continue")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	res, err := b.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := seen{"PATCH", "/a%2Fb/c?x=1;y=%zz&&z", "shop.example", "payload", "192.0.2.1", "r-1", "probe"}
	if diff := cmp.Diff(want, <-got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	answer := []string{fmt.Sprint(res.StatusCode), string(body), res.Header.Get("X-Own"), res.Header.Get(ErrorHeader), res.Trailer.Get("X-Sum")}
	if diff := cmp.Diff([]string{"418", "teapot", "1", "", "7"}, answer); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	for name, want := range map[string][]string{ReplicaHeader: {"a"}, RequestID: {"r-1"}} {
		if diff := cmp.Diff(want, res.Header.Values(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	entries, _ := b.log.read(t)
	visits := Visits(entries)
	if len(visits) != 1 || visits[0].Request != "r-1" || visits[0].Replica != "a" || visits[0].Status != 418 || visits[0].Bytes != 6 || visits[0].Cause != "" || !visits[0].Ended {
		t.Errorf("visits: %+v", visits)
	}
	if entries[0].What != Start || entries[len(entries)-1].What != Stop {
		t.Errorf("the log goes from %s to %s", entries[0].What, entries[len(entries)-1].What)
	}
}

// Round robin is exact per request, over connections that are kept and many at
// once, and every answer names the replica that gave it.
func TestRoundRobinIsExact(t *testing.T) {
	var urls []string
	for _, name := range []string{"a", "b", "c"} {
		urls = append(urls, upstreamOf(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) }))
	}
	b := serve(t, unchecked(urls...))
	counts := map[string]int{}
	var mu sync.Mutex
	var callers sync.WaitGroup
	for range 10 {
		callers.Go(func() {
			for range 60 {
				res, body := b.get("/")
				if got := res.Header.Get(ReplicaHeader); got != body {
					t.Errorf("the header names %s, the answer is from %s", got, body)
				}
				mu.Lock()
				counts[body]++
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	if diff := cmp.Diff(map[string]int{"a": 200, "b": 200, "c": 200}, counts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What the front answers itself, and what it notes.
func TestCauses(t *testing.T) {
	tests := []struct {
		name     string
		upstream func(*testing.T) string
		change   func(*Config)
		status   int
		cause    Cause
	}{
		{"refused", closedPort, nil, 502, Connect},
		// it accepts, and never answers
		{"black hole", func(t *testing.T) string { return raw(t, silent) }, func(c *Config) { c.AnswerTimeout = 20 * time.Millisecond }, 504, Timeout},
		// a FIN in place of an answer
		{"closes", func(t *testing.T) string {
			return raw(t, func(_ *net.TCPConn, r *bufio.Reader) { _ = swallow(r) })
		}, nil, 502, Reset},
		{"resets", func(t *testing.T) string {
			return raw(t, func(c *net.TCPConn, r *bufio.Reader) { _ = swallow(r); _ = c.SetLinger(0) })
		}, nil, 502, Reset},
		// half a header, and a FIN
		{"half a header", func(t *testing.T) string {
			return raw(t, func(c *net.TCPConn, r *bufio.Reader) {
				_ = swallow(r)
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Le")
			})
		}, nil, 502, Reset},
		{"garbage", func(t *testing.T) string {
			return raw(t, func(c *net.TCPConn, r *bufio.Reader) { _ = swallow(r); fmt.Fprint(c, "220 mail ESMTP\r\n\r\n") })
		}, nil, 502, Malformed},
		// the first check finds it ill, and no other comes
		{"none up", closedPort, func(c *Config) {
			c.Health = DefaultConfig().Health
			c.Health.Interval = time.Hour
		}, 503, NoneUp},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := unchecked(test.upstream(t))
			if test.change != nil {
				test.change(&c)
			}
			b := serve(t, c)
			res, _ := b.get("/")
			replica := "a"
			if test.cause == NoneUp {
				replica = None
			}
			got := []string{fmt.Sprint(res.StatusCode), res.Header.Get(ErrorHeader), res.Header.Get(ReplicaHeader)}
			if diff := cmp.Diff([]string{fmt.Sprint(test.status), string(test.cause), replica}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			done := b.log.await(t, "done", func(e Entry) bool { return e.What == Done })
			if done.Cause != test.cause || done.Status != test.status || done.Request == "" || done.Request != res.Header.Get(RequestID) {
				t.Errorf("done: %+v, the answer has the id %q", done, res.Header.Get(RequestID))
			}
		})
	}
}

// A black hole: the log names the replica while there is no answer, the caller's
// leaving ends the request upstream, and is what the log gives as the cause.
func TestVictimIsKnownBeforeAnyAnswer(t *testing.T) {
	gone := make(chan struct{})
	b := serve(t, unchecked(raw(t, func(c *net.TCPConn, r *bufio.Reader) { silent(c, r); close(gone) })))
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", b.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(RequestID, "victim")
	result := make(chan error, 1)
	go func() {
		_, err := b.client.Do(r)
		result <- err
	}()
	routed := b.log.await(t, "routed", func(e Entry) bool { return e.What == Routed })
	entries, _ := b.log.read(t)
	v := Visits(entries)[0]
	if v.Request != "victim" || v.Replica != "a" || v.Ended || !v.Open(routed.At) || !v.Open(routed.At.Add(time.Hour)) || v.Open(routed.At.Add(-1)) {
		t.Errorf("visit while in flight: %+v", v)
	}
	if s := b.front.State().Upstreams[0]; s.InFlight != 1 || s.Routed != 1 {
		t.Errorf("state: %+v", s)
	}
	leave()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller saw %v", err)
	}
	<-gone // or the test never ends
	if done := b.log.await(t, "done", func(e Entry) bool { return e.What == Done }); done.Cause != Client || done.Status != 0 {
		t.Errorf("done: %+v", done)
	}
	if n := b.front.balancer.inFlight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// Each token of a stream arrives before the next one is sent.
func TestStreamIsNotBuffered(t *testing.T) {
	arrived := make(chan struct{})
	b := serve(t, unchecked(upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		for i := range 50 {
			fmt.Fprintf(w, "%d\n", i)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-arrived:
			case <-r.Context().Done():
				return
			}
		}
	})))
	res, err := b.client.Get(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 50 {
		line, err := in.ReadString('\n')
		if err != nil || line != fmt.Sprintf("%d\n", i) {
			t.Fatalf("token %d: %q, %v", i, line, err)
		}
		select {
		case arrived <- struct{}{}:
		case <-time.After(patience):
			t.Fatalf("the upstream does not wait for token %d", i)
		}
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the last token: %v", err)
	}
}

// A stream that breaks off is no stream that ends, and a reset stays a reset.
func TestBrokenStreamStaysBroken(t *testing.T) {
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
	tests := []struct {
		name   string
		sent   string
		linger int // -1 for a FIN, 0 for a RST
		want   error
		cause  Cause
	}{
		{"chunked, reset", chunked, 0, syscall.ECONNRESET, Reset},
		{"chunked, closed", chunked, -1, io.ErrUnexpectedEOF, Reset},
		{"length, reset", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 0, syscall.ECONNRESET, Reset},
		{"length, closed", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", -1, io.ErrUnexpectedEOF, Reset},
		// the end of the connection is the end of such an answer, but a reset is not
		{"neither, reset", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", 0, syscall.ECONNRESET, Reset},
		{"neither, closed", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", -1, nil, ""},
		{"bad chunk", chunked + "zzz\r\n", -1, io.ErrUnexpectedEOF, Malformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			begun := make(chan struct{})
			b := serve(t, unchecked(raw(t, func(c *net.TCPConn, r *bufio.Reader) {
				_ = swallow(r)
				fmt.Fprint(c, test.sent)
				<-begun // else the reset could overtake the answer
				_ = c.SetLinger(test.linger)
			})))
			begin := sync.OnceFunc(func() { close(begun) })
			t.Cleanup(begin) // also when the test fails before
			res, err := b.client.Get(b.url)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			head := make([]byte, 3)
			if _, err := io.ReadFull(res.Body, head); err != nil || string(head) != "abc" {
				t.Fatalf("%q, %v", head, err)
			}
			begin()
			rest, err := io.ReadAll(res.Body)
			if !errors.Is(err, test.want) || len(rest) > 0 {
				t.Errorf("the stream ended with %v after %q, want %v", err, rest, test.want)
			}
			if done := b.log.await(t, "done", func(e Entry) bool { return e.What == Done }); done.Cause != test.cause || done.Status != 200 || done.Bytes != 3 {
				t.Errorf("done: %+v", done)
			}
		})
	}
}

// A caller that breaks off its upload, or garbles it, is not the upstream's
// failure.
func TestUploadBrokenOff(t *testing.T) {
	for name, test := range map[string]struct {
		begin, end string
		stays      bool
	}{
		"leaves":  {"Content-Length: 100\r\n\r\nhalf", "", false},
		"garbles": {"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "zzz\r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := serve(t, unchecked(upstreamOf(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })))
			conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n%s", test.begin)
			b.log.await(t, "routed", func(e Entry) bool { return e.What == Routed })
			fmt.Fprint(conn, test.end)
			if !test.stays {
				conn.Close()
			}
			if done := b.log.await(t, "done", func(e Entry) bool { return e.What == Done }); done.Cause != Client {
				t.Errorf("done: %+v", done)
			}
		})
	}
}

// A thousand streams at once, all open before the first one ends; half of them
// through each replica.
func TestThousandStreams(t *testing.T) {
	const n = 1000
	var open sync.WaitGroup
	open.Add(n)
	stream := func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "first ")
		_ = http.NewResponseController(w).Flush()
		open.Done()
		open.Wait()
		fmt.Fprint(w, "last")
	}
	c := unchecked(upstreamOf(t, stream), upstreamOf(t, stream))
	c.Balancer = dependency.LeastLoaded
	b := serve(t, c)
	var callers sync.WaitGroup
	for range n {
		callers.Go(func() {
			res, err := b.client.Get(b.url)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != "first last" {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
	callers.Wait()
	for _, u := range b.front.State().Upstreams {
		if u.Routed != n/2 {
			t.Errorf("%s got %d", u.Name, u.Routed)
		}
	}
	b.client.CloseIdleConnections()
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	entries, _ := b.log.read(t)
	visits := Visits(entries)
	if len(visits) != n || slices.ContainsFunc(visits, func(v Visit) bool { return !v.Ended || v.Bytes != 10 || v.Cause != "" }) {
		t.Errorf("%d visits, or some that did not end well", len(visits))
	}
}

// Draining: what is in flight ends well, nothing new is taken; when the time is
// over, the rest is cut off.
func TestDrain(t *testing.T) {
	for _, test := range []struct {
		name  string
		drain time.Duration
		want  error
		cause Cause
	}{
		{"in time", patience, nil, ""},
		{"over time", time.Millisecond, ErrCut, Drained},
	} {
		t.Run(test.name, func(t *testing.T) {
			release := make(chan struct{})
			c := unchecked(upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprint(w, "begun")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-release:
				case <-r.Context().Done():
				}
			}))
			c.Drain = test.drain
			b := serve(t, c)
			res, err := b.client.Get(b.url)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			stopped := make(chan error, 1)
			go func() { stopped <- b.stop() }()
			if test.want == nil {
				// refused once the drain has begun
				for {
					c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
					if err != nil {
						break
					}
					c.Close()
				}
				close(release)
			}
			if _, err := io.ReadAll(res.Body); (err == nil) != (test.want == nil) {
				t.Errorf("the stream ended with %v", err)
			}
			if err := <-stopped; !errors.Is(err, test.want) {
				t.Errorf("Serve returned %v, want %v", err, test.want)
			}
			if done := b.log.await(t, "done", func(e Entry) bool { return e.What == Done }); done.Cause != test.cause {
				t.Errorf("done: %+v", done)
			}
		})
	}
}

func TestStateEndpoint(t *testing.T) {
	b := serve(t, unchecked(closedPort(t)))
	res, err := b.client.Get(b.control + "/state")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got State
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Upstreams) != 1 || got.Upstreams[0].Name != "a" || got.Upstreams[0].State != "up" || got.Upstreams[0].Since == nil {
		t.Errorf("%+v", got)
	}
}
