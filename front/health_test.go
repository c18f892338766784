package front

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHealth(t *testing.T) {
	tests := []struct {
		name    string
		h       health
		results string // + and - checks, o and x requests
		states  string // after each: U or D
	}{
		// the first check alone decides
		{"first good", health{rise: 3, fall: 3}, "+", "U"},
		{"first bad", health{rise: 3, fall: 3}, "-", "D"},
		{"fall 2, rise 2", health{rise: 2, fall: 2}, "+--++", "UUDDU"},
		{"fall 1, rise 3", health{rise: 3, fall: 1}, "+-+++-", "UDDDUD"},
		// only results in a row count
		{"broken rows", health{rise: 2, fall: 2}, "+-+-+--+-+-++", "UUUUUUDDDDDDU"},
		// requests say nothing unless asked to
		{"not passive", health{rise: 2, fall: 2}, "+xxxx", "UUUUU"},
		{"passive", health{rise: 2, fall: 2, passive: 3}, "+xxoxxx++", "UUUUUUDDU"},
		// failures from before it came up again are forgotten
		{"passive twice", health{rise: 1, fall: 1, passive: 2}, "+xx+xx", "UUDUUD"},
		{"passive after checks", health{rise: 1, fall: 1, passive: 2}, "+x-+x", "UUDUU"},
		// late ends of requests to one that is down change nothing
		{"down already", health{rise: 2, fall: 2, passive: 1}, "-xx+x+", "DDDDDU"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, got := test.h, ""
			for _, r := range test.results {
				before, changed := h, false
				switch r {
				case '+', '-':
					changed = h.checked(r == '+')
				default:
					changed = h.served(r == 'o')
				}
				if want := !before.known || h.up != before.up; changed != want {
					t.Errorf("after %q it said changed %v, want %v", r, changed, want)
				}
				got += map[bool]string{true: "U", false: "D"}[h.up]
			}
			if got != test.states {
				t.Errorf("got %s, want %s", got, test.states)
			}
		})
	}
}

// steps is a clock that a test drives: each wait is handed to it.
type steps struct {
	now   atomic.Int64
	waits chan wait
}

type wait struct {
	d    time.Duration
	fire chan time.Time
}

func (s *steps) clock() Clock {
	return Clock{
		Now: func() time.Time { return time.Unix(0, s.now.Load()).UTC() },
		After: func(d time.Duration) <-chan time.Time {
			w := wait{d, make(chan time.Time, 1)}
			s.waits <- w
			return w.fire
		},
	}
}

// The checks of one upstream, on a clock that the test drives: each begins one
// interval after the last, one that is late fails and is given up, and the log
// has the instants at which the state changed.
func TestWatch(t *testing.T) {
	const interval, timeout = 500 * time.Millisecond, 300 * time.Millisecond
	s := &steps{waits: make(chan wait)}
	c := DefaultConfig()
	c.Upstreams = []Upstream{{"a", "http://127.0.0.1:1"}}
	c.Health.Interval, c.Health.Timeout = interval, timeout
	out := &sink{more: make(chan struct{})}
	f, err := New(c, s.clock(), NewLog(out))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.State().Upstreams[0]; got.State != "unknown" || got.Since != nil {
		t.Errorf("before the first check: %+v", got)
	}
	if f.balancer.pick(1) != nil {
		t.Error("it gets requests before the first check")
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan chan error)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.watch(ctx, f.upstreams[0], func(ctx context.Context) error {
			answer := make(chan error, 1)
			asked <- answer
			select {
			case err := <-answer:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for i, result := range []string{"good", "late", "good", "ill", "late", "good", "good"} {
		next, late := <-s.waits, <-s.waits // so the result before has been noted
		s.now.Store(int64(time.Duration(i) * interval))
		if next.d != interval || late.d != timeout {
			t.Fatalf("waits of %v and %v", next.d, late.d)
		}
		answer := <-asked
		switch result {
		case "good":
			answer <- nil
		case "ill":
			answer <- errIll
		case "late":
			s.now.Add(int64(timeout))
			late.fire <- time.Time{}
		}
		next.fire <- time.Time{}
	}
	<-s.waits
	<-s.waits
	<-asked
	cancel()
	<-ended
	if err := f.log.flush(); err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) time.Time { return time.Unix(0, int64(d)).UTC() }
	want := []Entry{
		{What: Up, At: at(0), Replica: "a", Detail: "check passed"},
		{What: Down, At: at(4*interval + timeout), Replica: "a", Detail: "no answer within 300ms"},
		{What: Up, At: at(6 * interval), Replica: "a", Detail: "check passed"},
	}
	got, _ := out.read(t)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if s := f.State().Upstreams[0]; s.State != "up" || !s.Since.Equal(at(6*interval)) {
		t.Errorf("state: %+v", s)
	}
}

// Real checks: a replica that turns ill goes down, and its requests go to the
// other; well again it gets its share.
func TestChecksRoute(t *testing.T) {
	var ill atomic.Bool
	well := func(w http.ResponseWriter, _ *http.Request) {}
	c := unchecked(upstreamOf(t, well), upstreamOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" && ill.Load() {
			w.WriteHeader(503)
		}
	}))
	c.Health = Health{Path: "/health", Interval: 2 * time.Millisecond, Timeout: patience, Fall: 2, Rise: 2}
	b := serve(t, c)
	share := func() map[string]int {
		got := map[string]int{}
		for range 10 {
			res, _ := b.get("/")
			got[res.Header.Get(ReplicaHeader)]++
		}
		return got
	}
	await := func(name string, what What, after time.Time) time.Time {
		return b.log.await(t, name+" "+string(what), func(e Entry) bool { return e.What == what && e.Replica == name && e.At.After(after) }).At
	}
	await("a", Up, time.Time{})
	began := await("b", Up, time.Time{})
	if diff := cmp.Diff(map[string]int{"a": 5, "b": 5}, share()); diff != "" {
		t.Errorf("both up, -want +got:\n%s", diff)
	}
	ill.Store(true)
	fell := await("b", Down, began)
	if diff := cmp.Diff(map[string]int{"a": 10}, share()); diff != "" {
		t.Errorf("b down, -want +got:\n%s", diff)
	}
	ill.Store(false)
	await("b", Up, fell)
	if diff := cmp.Diff(map[string]int{"a": 5, "b": 5}, share()); diff != "" {
		t.Errorf("both up again, -want +got:\n%s", diff)
	}
}

// Failed requests take a replica down when they are to.
func TestPassive(t *testing.T) {
	c := unchecked(closedPort(t))
	c.Health = DefaultConfig().Health
	c.Health.Interval = time.Hour // the first check fails, so it is set up by hand
	c.Passive = 2
	b := serve(t, c)
	b.log.await(t, "the first check", func(e Entry) bool { return e.What == Down })
	b.front.balancer.mu.Lock()
	b.front.upstreams[0].up = true
	b.front.balancer.mu.Unlock()
	var got []string
	for range 3 {
		res, _ := b.get("/")
		got = append(got, res.Header.Get(ErrorHeader))
	}
	if diff := cmp.Diff([]string{"connect", "connect", "none-up"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	b.log.await(t, "down by requests", func(e Entry) bool { return e.What == Down && e.Detail == "requests failed: connect" })
}
