package target

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/record"
)

// states are those in which a call may be given up: what the server does, and
// the event after which the client is there.
var states = []struct {
	name  string
	say   string
	after What
	stage string
}{
	{"waiting", "", Wrote, "waited for the answer"},
	{"in the head", "HTTP/1.1 200 OK\r\nX-", Wrote, "waited for the answer"},
	{"before content", streamHead + role, FirstByte, "waited for the first content"},
	{"within content", streamHead + role + token, FirstContent, "read the answer"},
	{"behind the end", streamHead + token + stop, Terminal, "read the answer"},
}

// A call that is cancelled tears its connection down at once.
func TestCancel(t *testing.T) {
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			torn := make(chan error, 1)
			s := serve(t, func(p *peer) {
				if p.read() {
					p.say(state.say)
					torn <- p.gone()
				}
			})
			r := start(t, newCaller(t, s.url, openAI), 1, record.Never)
			r.until(state.after)
			r.Cancel()
			r.Cancel() // again does nothing
			a := r.end()
			if all := r.all(); all[len(all)-1].What != Gone || !strings.Contains(a.Detail, state.stage) {
				t.Errorf("last event %q, %+v", all[len(all)-1].What, a)
			}
			if err := <-torn; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("the server saw %v: expected an RST", err)
			}
			r.Cancel() // after the end does nothing
		})
	}
}

// A call that reaches its deadline is ended by it, with what is known by then.
func TestDeadline(t *testing.T) {
	t.Parallel() // it waits for the tail
	for _, state := range states {
		t.Run(state.name, func(t *testing.T) {
			torn := make(chan error, 1)
			s := serve(t, func(p *peer) {
				if p.read() {
					p.say(state.say)
					torn <- p.gone()
				}
			})
			caller := newCaller(t, s.url, openAI)
			at := caller.env.Now() + 30*time.Millisecond
			r := start(t, caller, 1, at)
			a := r.end()
			want := record.Timeout
			if state.after == Terminal {
				want = record.None // the caller has had its answer
			}
			if all := r.all(); all[len(all)-1].What != Ended || a.Cause != want || want == record.Timeout && !strings.Contains(a.Detail, state.stage) {
				t.Errorf("%+v", a)
			}
			if a.End < at {
				t.Errorf("ended at %v, before %v", a.End, at)
			}
			if err := <-torn; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("the server saw %v: expected an RST", err)
			}
		})
	}
}

// Before there is a connection nothing is written any more.
func TestCancelConnecting(t *testing.T) {
	s := serve(t, func(p *peer) { _ = p.gone() }) // never shakes hands
	caller := newCaller(t, "https://"+s.host, func(c *Config, _ *Env) { c.HTTP2 = Off })
	r := start(t, caller, 1, record.Never)
	r.Cancel()
	if a, all := r.end(), r.all(); all[len(all)-1].What != Gone || a.Writes != 0 || a.Connected != record.Never {
		t.Errorf("%+v", a)
	}
	if a := start(t, caller, 1, caller.env.Now()+10*time.Millisecond).end(); a.Cause != record.Timeout || a.Writes != 0 {
		t.Errorf("%+v", a)
	}
}

// After its deadline a call writes nothing, though it has a connection at hand.
func TestDeadlineHasPassed(t *testing.T) {
	s := serve(t, func(p *peer) {
		for p.read() {
			p.say(hello)
		}
	})
	caller := newCaller(t, s.url)
	one(t, caller)
	for range 100 {
		if a := start(t, caller, 1, 0).end(); a.Cause != record.Timeout || a.Writes != 0 {
			t.Fatalf("%+v", a)
		}
	}
}

// Over HTTP/2 a cancelled call resets its stream, and leaves the connection to the others.
func TestCancelHTTP2(t *testing.T) {
	gone := make(chan struct{}, 1)
	s := h2c(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Request-Id") == "run-0-0" {
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, token)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer s.Close()
	caller := newCaller(t, s.URL, openAI, func(c *Config, _ *Env) { c.HTTP2 = On })
	start(t, caller, 0, record.Never).end()
	r := start(t, caller, 1, record.Never)
	r.until(FirstContent)
	r.Cancel()
	if a := r.end(); r.all()[len(r.all())-1].What != Gone || a.Contents != 1 {
		t.Errorf("%+v", a)
	}
	<-gone
	if a := start(t, caller, 2, caller.env.Now()+30*time.Millisecond).end(); a.Cause != record.Timeout || !a.Reused {
		t.Errorf("%+v", a)
	}
	<-gone
}

// A call that is over cannot harm the one that has its connection now.
func TestCancelLate(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer s.Close()
	caller := newCaller(t, s.URL)
	var last *running
	for i := range int64(200) {
		r := start(t, caller, i, record.Never)
		if last != nil {
			last.Cancel()
		}
		if a := r.end(); a.Cause != record.None {
			t.Fatalf("call %d: %+v", i, a)
		}
		last = r
	}
}

// Cancelled at any moment, a call ends once, with Ended or Gone.
func TestCancelAnywhere(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, token+stop+done)
	}))
	defer s.Close()
	caller := newCaller(t, s.URL, openAI)
	for i := range int64(300) {
		r := start(t, caller, i, record.Never)
		for range i {
			_ = caller.env.Now() // moves the cancellation a little further into the call each time
		}
		r.Cancel()
		a := r.end()
		if last := r.all()[len(r.all())-1]; last.What == Ended && a.Cause != record.None {
			t.Fatalf("call %d: %+v", i, a)
		}
	}
}
