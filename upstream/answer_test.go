package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/dependency"
	"brunt/record"
)

// got is an answer as a client sees it.
type got struct {
	Status     int
	Type       string
	Length     int64
	RetryAfter string
	Millis     string
	Body       int
}

func ask(t *testing.T, c *http.Client, method, url string, body io.Reader) (got, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	h := response.Header
	return got{response.StatusCode, h.Get("Content-Type"), response.ContentLength, h.Get("Retry-After"), h.Get("Retry-After-Ms"), len(text)}, text
}

func TestAnswers(t *testing.T) {
	const kind = "application/json"
	sorry := len(apology)
	for _, test := range []struct {
		name   string
		method string
		reply  Reply
		want   got
	}{
		{"nothing said", "GET", Reply{}, got{200, kind, 64, "", "", 64}},
		{"any method", "PROPFIND", Reply{}, got{200, kind, 64, "", "", 64}},
		{"a head", "HEAD", Reply{}, got{200, kind, 64, "", "", 0}},
		{"options", "OPTIONS", Reply{}, got{200, kind, 64, "", "", 64}},
		{"an empty body", "GET", Reply{Wire: body64(0)}, got{200, kind, 0, "", "", 0}},
		{"more than net/http buffers", "GET", Reply{Wire: body64(100_000)}, got{200, kind, 100_000, "", "", 100_000}},
		{"another status", "POST", Reply{Wire: wire(func(w *dependency.Wire) { w.Status = 201 })}, got{201, kind, 64, "", "", 64}},
		{"a status without a body", "POST", Reply{Wire: wire(func(w *dependency.Wire) { w.Status = 204 })}, got{204, kind, 0, "", "", 0}},
		{"the same, of a large one", "POST", Reply{Wire: wire(func(w *dependency.Wire) { w.Status, w.Body = 304, 5000 })}, got{304, kind, 0, "", "", 0}},
		{"the head of a large body", "HEAD", Reply{Wire: body64(5000)}, got{200, kind, 5000, "", "", 0}},
		{"the head of a failure", "HEAD", Reply{Cause: record.Failure}, got{503, kind, int64(sorry), "", "", 0}},
		{"a recorded status", "GET", Reply{Status: 206}, got{206, kind, 64, "", "", 64}},
		{"a recorded status that ends nothing", "GET", Reply{Status: 101}, got{200, kind, 64, "", "", 64}},
		{"a failure", "GET", Reply{Cause: record.Failure}, got{503, kind, int64(sorry), "", "", sorry}},
		{"a failure of a status", "GET", Reply{Cause: record.Failure, Wire: failing("429")}, got{429, kind, int64(sorry), "", "", sorry}},
		{"a failure that is recorded", "GET", Reply{Cause: record.Failure, Status: 500}, got{500, kind, int64(sorry), "", "", sorry}},
		{"seconds are whole", "GET", Reply{Cause: record.Failure, RetryAfter: 1200*ms + 1}, got{503, kind, int64(sorry), "2", "1201", sorry}},
		{"no room", "GET", Reply{Cause: record.Overload, RetryAfter: time.Second, Wire: failing("reset")}, got{503, kind, int64(sorry), "1", "1000", sorry}},
		{"a status that was not expected", "GET", Reply{Cause: record.Status, Status: 302}, got{302, kind, int64(sorry), "", "", sorry}},
		{"it, of an unknown number", "GET", Reply{Cause: record.Status, Wire: failing("reset")}, got{503, kind, int64(sorry), "", "", sorry}},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, framed bool) {
				s := listenOn(t, always(test.reply))
				c := client(t, framed)
				c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				a, text := ask(t, c, test.method, s.URL(7)+"/any/path?q=1", nil)
				want := test.want
				if !hasBody(want.Status) {
					want.Type, want.Length = a.Type, a.Length // net/http's two versions differ
				}
				if diff := cmp.Diff(want, a); diff != "" {
					t.Error(diff)
				}
				if len(text) > 0 && !json.Valid(text) {
					t.Errorf("%.100q is no JSON", text)
				}
				if got := s.Stats(); got.Requests != 1 || got.Malformed != 0 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// What breaks a connection is told apart by what a socket says.
func TestBreaks(t *testing.T) {
	half := strings.Repeat(".", 24)
	for _, test := range []struct {
		name  string
		reply Reply
		body  string // what comes of it; "" for not even a head
		end   error
	}{
		{"reset", Reply{Cause: record.Failure, Wire: failing("reset")}, "", syscall.ECONNRESET},
		{"reset, as the model has it", Reply{Cause: record.Reset, Wire: failing("reset")}, "", syscall.ECONNRESET},
		{"reset, recorded", Reply{Cause: record.Reset}, "", syscall.ECONNRESET},
		{"no connection, recorded", Reply{Cause: record.Connect}, "", syscall.ECONNRESET},
		{"close", Reply{Cause: record.Failure, Wire: failing("close")}, "", io.EOF},
		{"close, as the model has it", Reply{Cause: record.Reset, Wire: failing("close")}, "", io.EOF},
		{"cut", Reply{Cause: record.Failure, Wire: failing("cut")}, `{"pad":"` + half, io.EOF},
		{"cut, as the model has it", Reply{Cause: record.Stream, Wire: failing("cut")}, `{"pad":"` + half, io.EOF},
		{"cut, recorded", Reply{Cause: record.Stream}, `{"pad":"` + half, io.EOF},
		{"cut of no body", Reply{Cause: record.Stream, Wire: body64(0)}, "{", io.EOF},
		{"cut of a status without a body", Reply{Cause: record.Stream, Wire: wire(func(w *dependency.Wire) { w.Status, w.Body = 204, 2 })}, "{", io.EOF},
		{"no answer", Reply{Err: context.Canceled}, "", syscall.ECONNRESET},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := listenOn(t, always(test.reply))
			for range 3 { // each on a new connection
				c := dial(t, s)
				send(t, c, get)
				text, err := io.ReadAll(c)
				if err == nil {
					err = io.EOF
				}
				if !errors.Is(err, test.end) {
					t.Errorf("ends with %v, want %v", err, test.end)
				}
				head, body, found := strings.Cut(string(text), "\r\n\r\n")
				if body != test.body || found != (test.body != "") || found && !strings.HasPrefix(head, "HTTP/1.1 200 OK\r\n") || found && !strings.Contains(head, "Content-Length: ") {
					t.Errorf("answer %q", text)
				}
			}
		})
	}
}

// A broken stream of HTTP/2 leaves its connection to the others.
func TestBreaksOfStreams(t *testing.T) {
	for _, test := range []struct {
		name  string
		reply Reply
		body  int // -1 for not even a head
	}{
		{"reset", Reply{Cause: record.Reset}, -1},
		{"close", Reply{Cause: record.Failure, Wire: failing("close")}, -1},
		{"cut", Reply{Cause: record.Stream}, 32},
		{"no answer", Reply{Err: context.Canceled}, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			replies := make(chan Reply, 2)
			s := listenOn(t, backend(func(context.Context, Arrival, func(Plan)) Reply { return <-replies }))
			c := client(t, true)
			replies <- test.reply
			replies <- Reply{}
			response, err := c.Get(s.URL(7))
			body := -1
			if err == nil {
				var text []byte
				text, err = io.ReadAll(response.Body)
				response.Body.Close()
				body = len(text)
			}
			if err == nil || !strings.Contains(err.Error(), "INTERNAL_ERROR") || body != test.body {
				t.Errorf("%v, %d bytes", err, body)
			}
			reused := false
			q, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused },
			}), http.MethodGet, s.URL(7), nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err = c.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if !reused {
				t.Error("the connection ended with its stream")
			}
		})
	}
}

// An answer is one packet.
func TestOneWrite(t *testing.T) {
	s := listenOn(t, always(Reply{}))
	c := dial(t, s)
	for range 10 {
		send(t, c, get)
		piece := make([]byte, 4<<10)
		n, err := c.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(piece[:n])), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err != nil || len(text) != 64 {
			t.Errorf("%d bytes of the body came with the head: %v", len(text), err)
		}
	}
}

// Bodies are JSON of just their size, in whatever pieces they are written.
func TestBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 200_000)).Draw(t, "size")
		var text bytes.Buffer
		for text.Len() < size {
			to := text.Len() + rapid.IntRange(1, size-text.Len()).Draw(t, "piece")
			if err := writeJSON(&text, size, text.Len(), to); err != nil {
				t.Fatal(err)
			}
			if text.Len() != to {
				t.Fatalf("%d bytes, want %d", text.Len(), to)
			}
		}
		if size > 0 && !json.Valid(text.Bytes()) {
			t.Fatalf("%.100q is no JSON", text.Bytes())
		}
	})
}

// A client that leaves is seen at once, whatever it has sent.
func TestLeaving(t *testing.T) {
	for _, test := range []struct {
		name, method string
		body         func() io.Reader
	}{
		{"no body", "GET", func() io.Reader { return nil }},
		{"a body", "POST", func() io.Reader { return strings.NewReader(strings.Repeat("x", 100)) }},
		{"a large body", "POST", func() io.Reader { return strings.NewReader(strings.Repeat("x", 1<<20)) }},
		{"chunks", "POST", func() io.Reader { return io.MultiReader(strings.NewReader("{}"), strings.NewReader("{}")) }},
		{"an empty body", "PUT", func() io.Reader { return http.NoBody }},
	} {
		t.Run(test.name, func(t *testing.T) {
			both(t, func(t *testing.T, framed bool) {
				here, gone := make(chan struct{}), make(chan struct{})
				s := listenOn(t, backend(func(ctx context.Context, _ Arrival, begin func(Plan)) Reply {
					close(here)
					<-ctx.Done()
					close(gone)
					return Reply{Err: ctx.Err()}
				}))
				ctx, leave := context.WithCancel(t.Context())
				q, err := http.NewRequestWithContext(ctx, test.method, s.URL(7), test.body())
				if err != nil {
					t.Fatal(err)
				}
				failed := make(chan error)
				go func() {
					_, err := client(t, framed).Do(q)
					failed <- err
				}()
				<-here
				start := time.Now()
				leave()
				select {
				case <-gone:
				case <-time.After(5 * time.Second):
					t.Fatal("it is not seen")
				}
				if took := time.Since(start); took > second {
					t.Errorf("it is seen after %v", took)
				}
				if err := <-failed; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		})
	}
}

// What is asked of the server as a whole is an attempt too.
func TestAsterisk(t *testing.T) {
	s := listenOn(t, always(Reply{}))
	c := dial(t, s)
	send(t, c, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, body, err := parseAnswer(string(text)); err != nil || len(body) != 64 || s.Stats().Requests != 1 {
		t.Errorf("%q, %v", text, err)
	}
}

// A request with "Expect: 100-continue" is told to go on.
func TestContinue(t *testing.T) {
	s := listenOn(t, always(Reply{}))
	c := dial(t, s)
	in := bufio.NewReader(c)
	send(t, c, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = in.ReadString('\n')
	send(t, c, "{}")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 {
		t.Error(response.Status)
	}
}

// Who an attempt is of reaches the backend, and so does the dependency.
func TestArrivals(t *testing.T) {
	both(t, func(t *testing.T, framed bool) {
		arrived := make(chan Arrival, 1)
		s, err := Listen([]Address{{Name: "a", Dependency: 3, Listen: "127.0.0.1:0"}, {Name: "b", Dependency: 4, Listen: "localhost:0"}}, backend(func(_ context.Context, a Arrival, _ func(Plan)) Reply {
			arrived <- a
			return Reply{}
		}))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := client(t, framed)
		for _, test := range []struct {
			dependency int
			headers    map[string]string
			want       Arrival
		}{
			{3, nil, Arrival{3, "", ""}},
			{4, map[string]string{"x-brunt-request": "17", "X-Request-ID": "other"}, Arrival{4, "17", ""}},
			{4, map[string]string{"X-Request-ID": "other", "traceparent": parent}, Arrival{4, "other", trace}},
		} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(test.dependency), nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range test.headers {
				q.Header.Set(k, v)
			}
			response, err := c.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if a := <-arrived; a != test.want {
				t.Errorf("%v: %+v, want %+v", test.headers, a, test.want)
			}
		}
		if s.URL(5) != "" {
			t.Error("a dependency that is not served has an URL")
		}
	})
}

var _ net.Listener = (*pipes)(nil)

func ExampleListen() {
	server, err := Listen([]Address{{Name: "primary", Listen: "127.0.0.1:0"}}, always(Reply{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	response, err := http.Get(server.URL(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	fmt.Println(response.Status, server.Close())
	// Output: 200 OK <nil>
}
