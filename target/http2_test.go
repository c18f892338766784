package target

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"brunt/record"
)

// h2c serves HTTP/2 without TLS.
func h2c(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	return s
}

func h2tls(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	return s
}

// quietTLS serves HTTP/1.1 with TLS, and does not log the handshakes that fail.
func quietTLS(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	return s
}

func trust(s *httptest.Server) func(*Config, *Env) {
	return func(_ *Config, env *Env) {
		if s.TLS != nil {
			env.Roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		}
	}
}

func TestHTTP2(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/reset":
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/reset-at-once":
			panic(http.ErrAbortHandler)
		case "/error":
			w.WriteHeader(500)
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = io.WriteString(w, r.Proto)
	})
	tests := []struct {
		path   string
		cause  record.Cause
		status int
	}{
		{"/", record.None, 200},
		{"/early", record.None, 200},
		{"/error", record.Status, 500},
		{"/reset", record.Reset, 200},
		{"/reset-at-once", record.Reset, 0},
	}
	for name, s := range map[string]*httptest.Server{"h2c": h2c(handler), "TLS": h2tls(handler)} {
		defer s.Close()
		for _, test := range tests {
			t.Run(name+test.path, func(t *testing.T) {
				caller := newCaller(t, s.URL+test.path, trust(s), func(c *Config, _ *Env) {
					if name == "h2c" {
						c.HTTP2 = On
					}
				})
				if !caller.HTTP2() {
					t.Fatal("did not agree on HTTP/2")
				}
				for i := range int64(2) {
					a := start(t, caller, i, record.Never).end()
					if a.Cause != test.cause || a.Status != test.status || a.Status != 0 && (a.Writes != 1 || a.Wrote == record.Never) || a.Reused != (i == 1) {
						t.Errorf("%+v", a)
					}
					if test.cause == record.None && a.Bytes != int64(len("HTTP/2.0")) {
						t.Errorf("%d bytes", a.Bytes)
					}
				}
			})
		}
	}
}

func TestHTTP2Refused(t *testing.T) {
	a := one(t, newCaller(t, listenNobody(t), func(c *Config, _ *Env) { c.HTTP2 = On }))
	if a.Cause != record.Connect || a.Writes != 0 {
		t.Errorf("%+v", a)
	}
}

// A target that has no HTTP/2 is refused before the first request.
func TestHTTP2NotSpoken(t *testing.T) {
	s := quietTLS(http.NotFoundHandler())
	defer s.Close()
	var c Config
	c.SetDefaults()
	c.URL, c.HTTP2 = s.URL, On
	var env Env
	trust(s)(&c, &env)
	at, err := Resolve(context.Background(), &c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(context.Background(), &c, at, env); err == nil || !strings.Contains(err.Error(), "agree on a version") {
		t.Errorf("error %v", err)
	}
}

// Frames of RFC 9113, section 6.
const (
	frameHeaders  = 1
	frameRST      = 3
	frameSettings = 4
	frameGoAway   = 7
)

func frame(kind, flags byte, stream uint32, payload ...byte) string {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	b = binary.BigEndian.AppendUint32(b, stream)
	return string(append(b, payload...))
}

// Not even what HTTP/2 says may be sent again is: neither a refused stream, nor
// one that a target which goes away says it has not seen.
func TestHTTP2WrittenOnce(t *testing.T) {
	refused := func(stream uint32) string { return frame(frameRST, 0, stream, 0, 0, 0, 7) }
	goAway := func(stream uint32) string { return frame(frameGoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) }
	tests := []struct {
		name string
		say  func(stream uint32) string
		rst  bool
	}{
		{"refused stream", refused, false},
		{"goes away", goAway, false},
		{"goes away and ends", goAway, true},
		{"ends", func(uint32) string { return "" }, true},
	}
	for _, test := range tests {
		for _, method := range []string{"GET", "POST"} {
			t.Run(test.name+" "+method, func(t *testing.T) {
				var mu sync.Mutex
				heads := 0
				s := serve(t, func(p *peer) {
					preface := make([]byte, 24)
					if _, err := io.ReadFull(p.in, preface); err != nil {
						return
					}
					p.say(frame(frameSettings, 0, 0))
					for {
						var h [9]byte
						if _, err := io.ReadFull(p.in, h[:]); err != nil {
							return
						}
						if _, err := io.CopyN(io.Discard, p.in, int64(h[0])<<16|int64(h[1])<<8|int64(h[2])); err != nil {
							return
						}
						switch stream := binary.BigEndian.Uint32(h[5:]); {
						case h[3] == frameSettings && h[4] == 0:
							p.say(frame(frameSettings, 1, 0))
						case h[3] == frameHeaders:
							mu.Lock()
							heads++
							mu.Unlock()
							p.say(test.say(stream))
							if test.rst {
								return
							}
						}
					}
				})
				caller := newCaller(t, s.url, func(c *Config, _ *Env) { c.HTTP2, c.Method = On, method })
				const calls = 5
				for i := range int64(calls) {
					a := start(t, caller, i, record.Never).end()
					if a.Cause != record.Reset || a.Writes > 1 {
						t.Errorf("%+v", a)
					}
				}
				mu.Lock()
				defer mu.Unlock()
				if heads > calls || heads == 0 {
					t.Errorf("%d calls were written %d times", calls, heads)
				}
			})
		}
	}
}

// A target that allows few streams a connection gets more connections.
func TestHTTP2NoCap(t *testing.T) {
	const calls = 12
	var arrived sync.WaitGroup
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Request-Id") == "run-1-0" {
			return
		}
		arrived.Done()
		arrived.Wait() // all are here at once
		_, _ = fmt.Fprint(w, "ok")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2}
	s.Start()
	defer s.Close()
	caller := newCaller(t, s.URL, func(c *Config, _ *Env) { c.HTTP2 = On })
	one(t, caller) // so that there is a connection that they could all crowd on
	arrived.Add(calls)
	var all []*running
	for i := range int64(calls) {
		all = append(all, start(t, caller, 100+i, record.Never))
	}
	for _, r := range all {
		if a := r.end(); a.Cause != record.None {
			t.Errorf("%+v", a)
		}
	}
}
