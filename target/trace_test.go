package target

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTracedIDs: both ways in which a request is named lead back to it, and to no
// other run.
func TestTracedIDs(t *testing.T) {
	form := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)
	rapid.Check(t, func(t *rapid.T) {
		id := ID{rapid.Int64Range(0, 1<<55).Draw(t, "request"), rapid.Int32Range(0, 1000).Draw(t, "attempt")}
		prefix := rapid.StringMatching(`[a-z0-9@.-]{1,20}`).Draw(t, "prefix")
		text := string(id.append(nil, prefix))
		if got, ok := ParseID(text, prefix); !ok || got != id {
			t.Fatalf("%s is read as %v, %v", text, got, ok)
		}
		parent := string(id.appendTrace(nil, prefix))
		if !form.MatchString(parent) || strings.Contains(parent, "-0000000000000000-") {
			t.Fatalf("traceparent is %s", parent)
		}
		trace := strings.Split(parent, "-")[1]
		if got, ok := ParseTrace(trace, prefix); !ok || got != id.Request {
			t.Fatalf("%s is read as %v, %v", trace, got, ok)
		}
		if _, ok := ParseTrace(trace, prefix+"x"); ok {
			t.Fatalf("%s is read as one of another run", trace)
		}
	})
	for _, text := range []string{"", "run", "run-", "run-1", "run-x-1", "run-1-x", "run-1-2-3", "ran-1-2", "run--1-2", "run-1--2"} {
		if id, ok := ParseID(text, "run"); ok {
			t.Errorf("%q is read as %v", text, id)
		}
	}
}

// TestTraced: a request carries its id for others, but only where that is asked
// for.
func TestTraced(t *testing.T) {
	heads := make(chan http.Header, 1)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { heads <- r.Header }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	for _, version := range []Version{Off, On} {
		for _, traced := range []bool{false, true} {
			caller := newCaller(t, s.URL, func(c *Config, e *Env) { c.HTTP2, e.Prefix, e.Traced = version, "run", traced })
			one(t, caller)
			h := <-heads
			id, parent := "", ""
			if traced {
				id = h.Get("X-Request-Id")
				read, ok := ParseID(id, "run")
				if !ok {
					t.Fatalf("http2 %s: the id is %q", version, id)
				}
				parent = string(read.appendTrace(nil, "run"))
			}
			if got := h.Get(RequestHeader); got != id {
				t.Errorf("http2 %s, traced %v: %s is %q, expected %q", version, traced, RequestHeader, got, id)
			}
			if got := h.Get("Traceparent"); got != parent {
				t.Errorf("http2 %s, traced %v: traceparent is %q, expected %q", version, traced, got, parent)
			}
		}
	}
}
