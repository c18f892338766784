package target

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/record"
)

const hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

// What a server does to one request, and what becomes of it.
func TestAnswers(t *testing.T) {
	tests := []struct {
		name   string
		say    string
		rst    bool // then tear down; else end in an orderly way
		silent bool // then wait
		cause  record.Cause
		status int
		detail string // a part of it
	}{
		{name: "whole", say: hello, cause: record.None, status: 200},
		// without a length the end of the connection is the end of the body
		{name: "until the end", say: "HTTP/1.0 200 OK\r\n\r\nhello", cause: record.None, status: 200},
		{name: "chunked", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", cause: record.None, status: 200},
		{name: "no body", say: "HTTP/1.1 204 No Content\r\n\r\n", cause: record.None, status: 204},
		// interim answers are none
		{name: "continue", say: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + hello, cause: record.None, status: 200},
		{name: "interim without end", say: strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 60_000), silent: true, cause: record.Stream, detail: "longer than"},
		{name: "switching", say: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", cause: record.Stream, detail: "101"},
		{name: "ended at once", cause: record.Reset, detail: "ended before an answer"},
		{name: "reset at once", rst: true, cause: record.Reset, detail: "connection reset by peer"},
		{name: "reset in the head", say: "HTTP/1.1 200 OK\r\nContent-", rst: true, cause: record.Reset},
		{name: "ended in the head", say: "HTTP/1.1 200 OK\r\nContent-", cause: record.Stream, detail: "within the answer"},
		{name: "reset in the body", say: "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", rst: true, cause: record.Reset, status: 200},
		{name: "ended in the body", say: "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", cause: record.Stream, status: 200},
		{name: "ended between chunks", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", cause: record.Stream, status: 200},
		{name: "bad chunk", say: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", cause: record.Stream, status: 200},
		{name: "error", say: "HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nboom", cause: record.Status, status: 500, detail: "status 500: boom"},
		// the status is known: what comes of the body does not matter
		{name: "error cut short", say: "HTTP/1.1 503 Oh\r\nContent-Length: 40\r\n\r\nboom", rst: true, cause: record.Status, status: 503, detail: "status 503"},
		// no redirect is followed
		{name: "redirect", say: "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", cause: record.Status, status: 302},
		{name: "not HTTP", say: "SSH-2.0-OpenSSH_9.2\r\n", silent: true, cause: record.Stream, detail: "malformed"},
		{name: "bad status", say: "HTTP/1.1 -20 OK\r\n\r\n", cause: record.Stream},
		// once taken for a success: no status, and so none that is wrong
		{name: "status 000", say: "HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n", cause: record.Stream, detail: "status 000"},
		{name: "bad header", say: "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", cause: record.Stream, detail: "malformed"},
		{name: "two lengths", say: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", cause: record.Stream},
		{name: "bad length", say: "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", cause: record.Stream},
		{name: "head without end", say: "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Y: zzzzzzzzzzzzzzzzzzzzzzzzzzz\r\n", 40_000), silent: true, cause: record.Stream, detail: "longer than"},
		{name: "line without end", say: "HTTP/1.1 200 " + strings.Repeat("x", 2<<20), silent: true, cause: record.Stream, detail: "longer than"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(p *peer) {
				if !p.read() {
					return
				}
				p.say(test.say)
				switch {
				case test.rst:
					p.rst()
				case test.silent:
					_ = p.gone()
				}
			})
			a := one(t, newCaller(t, s.url))
			if a.Cause != test.cause || a.Status != test.status || !strings.Contains(a.Detail, test.detail) {
				t.Errorf("cause %v, status %d, detail %q", a.Cause, a.Status, a.Detail)
			}
			if (a.Cause == record.None) != (a.Detail == "") {
				t.Errorf("cause %v with detail %q", a.Cause, a.Detail)
			}
			if a.Writes != 1 || a.Wrote == record.Never || s.count() != 1 {
				t.Errorf("written %d times, at %v, seen %d", a.Writes, a.Wrote, s.count())
			}
		})
	}
}

func TestRefused(t *testing.T) {
	a := one(t, newCaller(t, listenNobody(t)))
	if a.Cause != record.Connect || a.Writes != 0 || a.Detail != "dial: connect: connection refused" && a.Detail != "dial: connection refused" {
		t.Errorf("%+v", a)
	}
}

// Running out of ports or descriptors is no fault of the target's.
func TestExhausted(t *testing.T) {
	c := &Call{caller: &Caller{}, answer: newAnswer()}
	for err, want := range map[error]record.Cause{
		connectError{&net.OpError{Op: "dial", Err: syscall.EADDRNOTAVAIL}}: record.Harness,
		connectError{&net.OpError{Op: "dial", Err: syscall.EMFILE}}:        record.Harness,
		connectError{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}:  record.Connect,
	} {
		if got := c.cause(err); got != want {
			t.Errorf("%v: %v, not %v", err, got, want)
		}
	}
}

// What is sent is what the study says.
func TestRequest(t *testing.T) {
	type got struct {
		r    *http.Request
		body string
	}
	requests := make(chan got, 10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		requests <- got{r, string(b)}
	})
	for version, s := range map[Version]*httptest.Server{Off: httptest.NewServer(handler), On: h2c(handler)} {
		t.Cleanup(s.Close)
		caller := newCaller(t, s.URL+"/a%20b?c=d", func(c *Config, env *Env) {
			c.HTTP2 = version
			c.Method = "PUT"
			c.Body = `{"id": "{{.ID}}", "n": {{ .Request }}}`
			c.Headers = []Header{{Name: "host", Value: "example.org"}, {Name: "X-A", Value: "1"}, {Name: "X-A", Value: "2"}, {Name: "user-agent", Value: "me"}, {Name: "X-Key", Env: "KEY"}}
			c.TokenEnv = "TOKEN"
			env.Getenv = func(name string) string { return name + "-secret" }
		})
		a := start(t, caller, 17, record.Never).end()
		if a.Cause != record.None {
			t.Fatalf("%+v", a)
		}
		g := <-requests
		h := g.r.Header
		if g.r.Method != "PUT" || g.r.RequestURI != "/a%20b?c=d" || g.r.Host != "example.org" || g.body != `{"id": "run-17-0", "n": 17}` ||
			strings.Join(h["X-A"], " ") != "1 2" || h.Get("User-Agent") != "me" || h.Get("X-Key") != "KEY-secret" ||
			h.Get("Authorization") != "Bearer TOKEN-secret" || h.Get("X-Request-Id") != "run-17-0" || h.Get("Accept-Encoding") != "" {
			t.Errorf("HTTP/2 %s: %s %s, host %s, headers %v, body %s", version, g.r.Method, g.r.RequestURI, g.r.Host, h, g.body)
		}
	}
}

// A target may send back what it was sent: no secret comes out of that.
func TestSecrets(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Brunt-Replica", r.Header.Get("X-Key"))
		w.WriteHeader(401)
		_, _ = io.WriteString(w, "\x1b[31mno such token: "+r.Header.Get("Authorization")+"\r\n"+strings.Repeat("x", 1000))
	}))
	defer s.Close()
	a := one(t, newCaller(t, s.URL, func(c *Config, env *Env) {
		c.TokenEnv = "TOKEN"
		c.Headers = []Header{{Name: "X-Key", Env: "KEY"}}
		env.Getenv = func(name string) string { return "se" + "cret" }
	}))
	if want := "status 401: [31mno such token: Bearer ***"; !strings.HasPrefix(a.Detail, want) || len(a.Detail) > longestDetail+4 {
		t.Errorf("detail %q", a.Detail)
	}
	if a.Replica != "***" {
		t.Errorf("replica %q", a.Replica)
	}
}

func TestMissingSecret(t *testing.T) {
	for _, value := range []string{"", "  ", "a\nb"} {
		var c Config
		c.SetDefaults()
		c.URL, c.TokenEnv = "http://127.0.0.1:1/", "TOKEN"
		_, err := New(context.Background(), &c, Address{}, Env{Getenv: func(string) string { return value }})
		if err == nil || !strings.Contains(err.Error(), "TOKEN") || value != "" && strings.Contains(err.Error(), value) && strings.TrimSpace(value) != "" {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// Connections are used again, the last one first, and never wait for one another.
func TestConnections(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(p *peer) {
		for p.read() {
			if p.number == 0 || p.number >= 3 {
				p.say(hello)
				continue
			}
			<-release
			p.say(hello)
		}
	})
	caller := newCaller(t, s.url)
	if a := start(t, caller, 0, record.Never).end(); a.Reused || a.Cause != record.None {
		t.Fatalf("first: %+v", a)
	}
	if a := start(t, caller, 1, record.Never).end(); !a.Reused || a.Cause != record.None {
		t.Fatalf("second: %+v", a)
	}
	caller.wire.close() // from here on every connection is new
	b, c := start(t, caller, 2, record.Never), start(t, caller, 3, record.Never)
	b.until(Wrote)
	c.until(Wrote) // though the other has its connection
	if a := start(t, caller, 4, record.Never).end(); a.Reused || a.Cause != record.None {
		t.Fatalf("beside the two: %+v", a)
	}
	close(release)
	for _, r := range []*running{b, c} {
		if a := r.end(); a.Cause != record.None || a.Reused {
			t.Fatalf("%+v", a)
		}
	}
}

// A connection that died while it was idle is not used: nothing was written on
// it, so another one is no second try.
func TestIdleEnd(t *testing.T) {
	for name, die := range map[string]func(p *peer){
		"end":                func(p *peer) { _ = p.Close() },
		"reset":              func(p *peer) { p.rst() },
		"an answer too many": func(p *peer) { p.say(hello) },
	} {
		t.Run(name, func(t *testing.T) {
			answered, dead := make(chan bool), make(chan bool)
			s := serve(t, func(p *peer) {
				for p.read() {
					p.say(hello)
					if p.number == 0 {
						<-answered
						die(p)
						dead <- true
						return
					}
				}
			})
			caller := newCaller(t, s.url)
			start(t, caller, 0, record.Never).end()
			answered <- true
			<-dead
			if a := start(t, caller, 1, record.Never).end(); a.Cause != record.None || a.Reused || a.Writes != 1 {
				t.Errorf("%+v", a)
			}
		})
	}
}

// After an answer that leaves its connection in doubt the next call has another.
func TestConnectionInDoubt(t *testing.T) {
	tests := []struct{ name, say string }{
		{"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"},
		{"too much", hello + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"}, // answers nobody asked for
		{"error that goes on", "HTTP/1.1 500 Oh\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 100_000)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(p *peer) {
				if p.read() {
					p.say(test.say)
					_ = p.gone()
				}
			})
			caller := newCaller(t, s.url)
			for i := range int64(3) {
				if a := start(t, caller, i, record.Never).end(); a.Reused || a.Status == 0 || a.Bytes == 4 {
					t.Errorf("%+v", a)
				}
			}
		})
	}
}

func TestTLS(t *testing.T) {
	s := quietTLS(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	defer s.Close()
	caller := newCaller(t, s.URL, trust(s))
	if caller.HTTP2() {
		t.Fatal("agreed on HTTP/2 with a server that has none")
	}
	for i := range int64(2) {
		if a := start(t, caller, i, record.Never).end(); a.Cause != record.None || a.Reused != (i == 1) {
			t.Errorf("%+v", a)
		}
	}
	// who is not trusted is not called
	stranger := newCaller(t, s.URL, func(c *Config, _ *Env) { c.HTTP2 = Off })
	if a := one(t, stranger); a.Cause != record.Connect || a.Writes != 0 || !strings.Contains(a.Detail, "certificate") {
		t.Errorf("%+v", a)
	}
}

// The wait for a connection is bounded, TLS included.
func TestConnectTimeout(t *testing.T) {
	s := serve(t, func(p *peer) { _ = p.gone() }) // accepts, and never shakes hands
	caller := newCaller(t, "https://"+s.host, func(c *Config, _ *Env) { c.HTTP2, c.ConnectTimeout = Off, 20*time.Millisecond })
	if a := one(t, caller); a.Cause != record.Connect || a.Writes != 0 || a.Detail != "no connection in time" {
		t.Errorf("%+v", a)
	}
}

func TestRetryAfter(t *testing.T) {
	const date = "Mon, 02 Jan 2006 15:04:05 GMT"
	tests := []struct {
		after, date string
		want        time.Duration
	}{
		{"", date, 0},
		{"3", "", 3 * time.Second},
		{"1.5", "", 1500 * time.Millisecond}, // some do
		{"-3", "", 0},
		{"1e9", "", 0},
		{"99999999", "", 24 * time.Hour},
		{"soon", date, 0},
		{"Mon, 02 Jan 2006 15:04:15 GMT", date, 10 * time.Second},
		{"Mon, 02 Jan 2006 15:04:00 GMT", date, 0},  // has passed
		{"Mon, 02 Jan 2006 15:04:15 GMT", "", 0},    // against what?
		{"Mon, 02 Jan 2006 15:04:15 GMT", "now", 0}, // against what?
	}
	for _, test := range tests {
		if got := retryAfter(test.after, test.date); got != test.want {
			t.Errorf("%q at %q: %v, not %v", test.after, test.date, got, test.want)
		}
	}
}
