package replica

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

// begin starts a stream and reads its first token.
func (r *running) begin(ctx context.Context) (*bufio.Reader, io.Closer) {
	r.t.Helper()
	response, err := r.post(ctx, streaming(""))
	if err != nil {
		r.t.Fatal(err)
	}
	events := bufio.NewReader(response.Body)
	if text, err := event(events); err != nil || !strings.Contains(text, "token1") {
		r.t.Fatalf("%q, %v", text, err)
	}
	return events, response.Body
}

// An aborted stream ends in a reset that the client's kernel has seen.
func TestAbortIsAReset(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: held()})
	events, body := r.begin(t.Context())
	defer body.Close()
	if s := r.mode(`{"mode": "abort"}`); s.Mode != Abort || s.Counts.Aborted != 1 {
		t.Errorf("state %+v", s)
	}
	if _, err := event(events); !isReset(err) {
		t.Errorf("the stream ended in %v, want ECONNRESET", err)
	}
	if a := r.ask(plain); !isReset(a.err) && !errors.Is(a.err, io.EOF) { // before any byte of an answer
		t.Errorf("a later one ended in %v, status %d", a.err, a.status)
	}
	if status := r.health(); status != http.StatusOK {
		t.Errorf("health %d", status)
	}
	r.mode(`{"mode": "normal"}`)
	events, body = r.begin(t.Context())
	defer body.Close()
	// once: what is in flight, and nothing else
	if s := r.mode(`{"mode": "abort", "for": "0s"}`); s.Mode != Normal || s.Counts.Aborted != 3 {
		t.Errorf("state %+v", s)
	}
	if _, err := event(events); !isReset(err) {
		t.Errorf("the stream ended in %v, want ECONNRESET", err)
	}
}

func TestStallOnTheWire(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	done := make(chan answerOf, 1)
	r.mode(`{"mode": "stall"}`)
	go func() { done <- r.ask(streaming("")) }()
	r.await("one waits", func(s State) bool { return s.Waiting == 1 })
	if status := r.health(); status != http.StatusOK {
		t.Errorf("health %d: a stall is not seen there", status)
	}
	select {
	case a := <-done:
		t.Errorf("answered in a stall: %q, %v", a.said, a.err)
	default:
	}
	r.mode(`{"mode": "normal"}`)
	if a := <-done; a.err != nil || a.tokens != 8 {
		t.Errorf("after the stall: %d tokens, %v", a.tokens, a.err)
	}
}

// A mode with a time ends by itself.
func TestModeEndsByItself(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	if s := r.mode(`{"mode": "error", "for": "10s"}`); s.UntilMS == nil || *s.UntilMS < 10_000 {
		t.Errorf("state %+v", s)
	}
	a := r.ask(plain)
	if a.status != http.StatusInternalServerError || a.problem.Error.Type != "server_error" || a.header.Get("Retry-After") != "" {
		t.Errorf("status %d, %+v, %v", a.status, a.problem, a.header)
	}
	s := r.mode(`{"mode": "reload", "load_for": "200ms"}`)
	if s.Ready {
		t.Error("ready in a reload")
	}
	if status := r.health(); status != http.StatusServiceUnavailable {
		t.Errorf("health %d in a reload", status)
	}
	if a := r.ask(plain); a.status != http.StatusServiceUnavailable || *a.problem.Error.Code != "loading" || a.header.Get("Retry-After") != "1" {
		t.Errorf("status %d, %+v, %v", a.status, a.problem, a.header)
	}
	r.await("ready", func(s State) bool { return s.Ready && s.Mode == Normal })
	if status := r.health(); status != http.StatusOK {
		t.Errorf("health %d after the reload", status)
	}
	if a := r.ask(plain); a.err != nil || a.status != http.StatusOK {
		t.Errorf("status %d, %v after the reload", a.status, a.err)
	}
}

// In a hang nothing is said, and no connection is closed.
func TestHangIsSilent(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast(), Grace: 10 * ms})
	r.mode(`{"mode": "hang"}`)
	ask := func(ctx context.Context, method, path, body string) error {
		q, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		response, err := r.client.Do(q)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	within, forget := context.WithTimeout(t.Context(), 150*ms)
	defer forget()
	if err := ask(within, http.MethodGet, healthPath, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("health: %v", err)
	}
	until, leave := context.WithCancel(t.Context())
	defer leave()
	ended := make(chan error, 1)
	go func() { ended <- ask(until, http.MethodPost, chatPath, plain) }()
	r.await("silent", func(s State) bool { return s.Silent == 1 }) // so that it is there before it leaves
	select {
	case err := <-ended:
		t.Fatalf("chat: ended with %v", err)
	case <-time.After(150 * ms):
	}
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("chat: %v", err)
	}
	r.await("left", func(s State) bool { return s.Counts.Left == 1 && s.Silent == 0 })
	r.mode(`{"mode": "normal"}`)
	if a := r.ask(plain); a.status != http.StatusOK {
		t.Errorf("after the hang: status %d, %v", a.status, a.err)
	}
}

// A health check in a hang whose client cannot be seen to leave, because it has
// sent another one behind it, does not keep the replica from ending.
func TestHangEnds(t *testing.T) {
	t.Parallel()
	r := serve(t, Config{Behaviour: fast()})
	r.mode(`{"mode": "hang"}`)
	conn := r.dial(t)
	const one = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
	write(t, conn, strings.Replace(one, healthPath, "/", 1)+one)
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil) // so the next one is at hand
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	write(t, conn, one)
	r.stop()
	if _, err := in.ReadByte(); err == nil {
		t.Error("it said something")
	}
}

func TestParseSwitch(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       Switch
		err        string
	}{
		{"for ever", `{"mode": "stall"}`, Switch{Stall, -1, 1}, ""},
		{"for a time", `{"mode": "hang", "for": "1.5s"}`, Switch{Hang, 1500 * ms, 1}, ""},
		{"slow, by default", `{"mode": "slow"}`, Switch{Slow, -1, usualFactor}, ""},
		{"slow", `{"mode": "slow", "factor": 2.5, "for": "1s"}`, Switch{Slow, time.Second, 2.5}, ""},
		{"reload, as configured", `{"mode": "reload"}`, Switch{Reload, 7 * time.Second, 1}, ""},
		{"reload", `{"mode": "reload", "load_for": "3s"}`, Switch{Reload, 3 * time.Second, 1}, ""},
		{"no mode", `{}`, Switch{}, `read the mode: mode: "": expected normal, stall, error`},
		{"an unknown one", `{"mode": "stal"}`, Switch{}, `read the mode: mode: "stal": expected normal, stall`},
		{"a number for a time", `{"mode": "stall", "for": 2}`, Switch{}, `read the mode: json: `},
		{"a time below 0", `{"mode": "stall", "for": "-2s"}`, Switch{}, `read the mode: for: -2s: expected a duration of 0 or more`},
		{"no time", `{"mode": "stall", "for": "2"}`, Switch{}, `read the mode: for: "2": expected a duration such as 500ms`},
		{"normal does not end", `{"mode": "normal", "for": "2s"}`, Switch{}, `read the mode: for: 2s: goes with a mode that ends`},
		{"a factor elsewhere", `{"mode": "stall", "factor": 2}`, Switch{}, `read the mode: factor: 2: goes with mode slow`},
		{"a load elsewhere", `{"mode": "stall", "load_for": "2s"}`, Switch{}, `read the mode: load_for: 2s: goes with mode reload`},
		{"an unknown field", `{"mode": "stall", "form": "2s"}`, Switch{}, `read the mode: json: unknown field "form"`},
		{"two objects", `{"mode": "stall"} {}`, Switch{}, `read the mode: something follows the object`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseSwitch([]byte(test.text), 7*time.Second)
			switch {
			case test.err == "" && (err != nil || got != test.want):
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			case test.err != "" && (err == nil || !strings.HasPrefix(err.Error(), test.err)):
				t.Errorf("got %v, want %s…", err, test.err)
			}
		})
	}
	if _, err := ParseSwitch([]byte(`{"mode": "reload"}`), 0); err == nil || !strings.Contains(err.Error(), "load_for: missing") {
		t.Errorf("a reload that says no time: %v", err)
	}
}
