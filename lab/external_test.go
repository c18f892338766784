package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/measure"
	"brunt/study"
	"brunt/target"
)

// sandwich runs a study around a service, which is given the URL of its one
// dependency.
func sandwich(t *testing.T, text string, service func(dependency string) http.Handler) *Result {
	t.Helper()
	dependency := freeAddress(t)
	server := httptest.NewServer(service("http://" + dependency))
	defer server.Close()
	result, _, err := Run(context.Background(), sandwichStudy(t, dependency, server.URL, text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func sandwichStudy(t *testing.T, dependency, service, text string) *study.Study {
	t.Helper()
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(fmt.Sprintf(`study: sandwich
clock: real
load: {rate: 100/s}
serve: {primary: %q}
compositions: {mine: [{external: {url: %q}}]}
%s`, dependency, service, text)), Measure: CheckName})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// freeAddress is one on which nothing listens. Each has a host of its own on
// loopback: a free port of a shared one may be somebody else's before it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid, n := os.Getpid(), addresses.Add(1)
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>8&0x7f, pid&0xff, n))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var addresses atomic.Uint32

// calling is a service that calls its dependency up to so many times, each for so
// long, and hands on the named headers.
func calling(tries int, timeout time.Duration, headers ...string) func(string) http.Handler {
	return func(dependency string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range tries {
				if callOnce(r, dependency, timeout, headers...) {
					return
				}
			}
			w.WriteHeader(http.StatusBadGateway)
		})
	}
}

func callOnce(r *http.Request, dependency string, timeout time.Duration, headers ...string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, dependency, nil)
	if err != nil {
		return false
	}
	for _, name := range headers {
		q.Header.Set(name, r.Header.Get(name))
	}
	answer, err := http.DefaultTransport.RoundTrip(q)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

const failing = `dependencies: {primary: {latency: 2ms, fail: {ratio: 1}}}
phases: [{name: outage, for: 400ms}]
`

// TestSandwich: what a service does to its dependency is seen, request by request.
func TestSandwich(t *testing.T) {
	id, trace := target.RequestHeader, "traceparent"
	for _, c := range []struct {
		name    string
		text    string
		service func(string) http.Handler
		check   func(*testing.T, *Result)
	}{
		{"three tries, told by its header", failing, calling(3, time.Second, id), func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine"})
			isAttempts(t, r, 40, 120)
		}},
		{"told by the trace, the other header stripped", failing, calling(3, time.Second, trace), func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine"})
			isAttempts(t, r, 40, 120)
		}},
		{"told by nothing: the totals are right", failing, calling(3, time.Second), func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine", Guest: measure.Guest{Unattributed: 120}})
			if n, err := Find(&r.Compositions[0], nil, "guest.unattributed"); err != nil || n.Value != 120 || n.Refusal != "" {
				t.Errorf("guest.unattributed: %+v, %v", n, err)
			}
			if got := r.Compositions[0].AttemptsByStartPhase["outage"]["total"]; got < 115 || got > 120 { // the last may start behind the phase
				t.Errorf("%d attempts started in the phase, expected 120", got)
			}
		}},
		{"an answer of its own", failing, func(string) http.Handler {
			return http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		}, func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine", Guest: measure.Guest{Unserved: 40}})
			if got := r.Compositions[0].Whole.Completed; got != 40 {
				t.Errorf("%d completed, expected 40", got)
			}
			isAttempts(t, r, 40, 0)
		}},
		{"given up by the service while the dependency hangs", `dependencies: {primary: {hang: true}}
phases: [{name: outage, for: 400ms}]
`, calling(2, 300*time.Millisecond, id), func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine"})
			isAttempts(t, r, 40, 80)
			if got := r.Compositions[0].Cancelled; got != 80 {
				t.Errorf("%d attempts were cancelled, expected 80", got)
			}
		}},
		{"never given up: cut off, and heard by nobody", `dependencies: {primary: {hang: true}}
horizon: 400ms
phases: [{name: outage, for: 100ms}]
`, calling(1, time.Hour, id), func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine", Guest: measure.Guest{CutOff: 10}})
			if got := r.Compositions[0].Whole.Censored; got != 10 {
				t.Errorf("%d censored, expected 10", got)
			}
		}},
		{"answered when the caller is gone", `dependencies: {primary: {latency: 650ms}}
horizon: 400ms
phases: [{name: slow, for: 100ms}]
`, calling(1, time.Hour, id), func(t *testing.T, r *Result) {
			isNote(t, r, GuestNote{Composition: "mine", Guest: measure.Guest{Unheard: 10}})
		}},
		{"phases, and what comes right after an answer", `dependencies: {primary: {latency: 1ms}}
phases: [{name: well, for: 200ms}, {name: outage, for: 200ms, dependencies: {primary: {refuse: true}}}]
`, func(dependency string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ok := callOnce(r, dependency, time.Second, id)
				if !ok {
					w.WriteHeader(http.StatusBadGateway)
				}
			})
		}, func(t *testing.T, r *Result) {
			well, outage := &r.Compositions[0].Phases[0], &r.Compositions[0].Phases[1]
			if well.Completed < 10 || outage.Completed > 1 || outage.Causes["status"] < 19 {
				t.Errorf("%d completed while it was well, %d in the outage, of 20 each; by cause %v", well.Completed, outage.Completed, outage.Causes)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := sandwich(t, c.text, c.service)
			if !r.Valid {
				t.Fatalf("not valid: %+v", r.Gates)
			}
			c.check(t, r)
		})
	}
}

func isNote(t *testing.T, r *Result, want GuestNote) {
	t.Helper()
	if len(r.Guests) != 1 || r.Guests[0] != want {
		t.Errorf("noted %+v, expected %+v", r.Guests, want)
	}
}

func isAttempts(t *testing.T, r *Result, offered, attempts int64) {
	t.Helper()
	w := r.Compositions[0].Whole
	if w.Offered != offered || w.Attempts != attempts {
		t.Errorf("%d offered, %d attempts, expected %d and %d", w.Offered, w.Attempts, offered, attempts)
	}
}

// TestSandwichBackground: attempts that a service makes behind its answer belong
// to their request while its books are open, and are counted as late afterwards.
func TestSandwichBackground(t *testing.T) {
	var behind sync.WaitGroup
	r := sandwich(t, `dependencies: {primary: {latency: 1ms}}
horizon: 500ms
phases: [{name: all, for: 800ms, load: {rate: 20/s}}]
`, func(dependency string) http.Handler {
		return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			first := strings.HasSuffix(r.Header.Get(target.RequestHeader), "-0-0") // of request 0
			wait := 10 * time.Millisecond
			if first {
				wait = 700 * time.Millisecond // the books close with the horizon of 500 ms
			}
			behind.Add(1)
			time.AfterFunc(wait, func() {
				defer behind.Done()
				callOnce(r, dependency, time.Second, target.RequestHeader)
			})
		})
	})
	behind.Wait()
	isNote(t, r, GuestNote{Composition: "mine", Guest: measure.Guest{Late: 1, Unserved: 16, Unheard: 15}})
	isAttempts(t, r, 16, 16)
}

// TestSandwichNeverStops: a service that goes on calling for ever does not keep a
// run from ending, whether its calls are quick or not.
func TestSandwichNeverStops(t *testing.T) {
	for _, latency := range []string{"200us", "90ms"} {
		t.Run(latency, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			var pollers sync.WaitGroup
			r := sandwich(t, `dependencies: {primary: {latency: `+latency+`}}
horizon: 100ms
phases: [{name: all, for: 200ms}]
`, func(dependency string) http.Handler {
				return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					pollers.Go(func() {
						for {
							callOnce(r, dependency, time.Second, target.RequestHeader)
							select {
							case <-over:
								return
							default:
							}
						}
					})
				})
			})
			close(over)
			pollers.Wait()
			if c := r.Compositions[0]; c.Whole.Offered != 20 || c.Guest == nil || c.Guest.Late == 0 && c.Guest.CutOff == 0 {
				t.Errorf("%d offered, %+v", c.Whole.Offered, c.Guest)
			}
		})
	}
}

// TestSandwichPanic: a fault of brunt's own on the loop is told, although a service
// waits for an answer meanwhile.
func TestSandwichPanic(t *testing.T) {
	dependency := freeAddress(t)
	server := httptest.NewServer(calling(1, time.Hour, target.RequestHeader)("http://" + dependency))
	s := sandwichStudy(t, dependency, server.URL, `dependencies: {primary: {hang: true}}
phases: [{name: all, for: 10s}]
`)
	_, _, err := Run(t.Context(), s, Options{Progress: func(p Progress) {
		if p.At > 0 {
			panic("the bomb")
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "brunt has a fault of its own, please report it: the bomb") {
		t.Errorf("it ended with %v", err)
	}
	server.CloseClientConnections()
	server.Close()
}

// TestSandwichKilled: attempts that belong to no request are no trouble for the
// report of a run that did not come to its end, and what is told at an end only is
// not 0 there.
func TestSandwichKilled(t *testing.T) {
	dependency, dir := freeAddress(t), t.TempDir()
	server := httptest.NewServer(calling(2, time.Second)("http://" + dependency))
	defer server.Close()
	text := fmt.Sprintf("study: sandwich\nclock: real\nload: {rate: 100/s}\nserve: {primary: %q}\ncompositions: {mine: [{external: {url: %q}}]}\n%s", dependency, server.URL, failing)
	_, ran := ranInto(t, dir, text)
	f, r, _, err := OpenKilled(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := r.Compositions[0].Whole, ran.Compositions[0].Whole; got.Offered != want.Offered || got.Errored != want.Errored {
		t.Errorf("%d requests, %d errored, expected %d and %d", got.Offered, got.Errored, want.Offered, want.Errored)
	}
	if n, err := Find(&ran.Compositions[0], nil, "guest.unserved"); err != nil || n.Refusal == "" {
		t.Errorf("guest.unserved where attempts are nobody's: %+v, %v", n, err)
	}
	if n, err := Find(&measure.Composition{}, nil, "guest.late"); err != nil || n.Refusal == "" {
		t.Errorf("guest.late that nobody told: %+v, %v", n, err)
	}
}

// TestSandwichNoService: a service that is not there, and an address that is taken,
// end the run before it begins.
func TestSandwichNoService(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	text := `study: sandwich
clock: real
load: {rate: 100/s}
serve: {primary: %q}
dependencies: {primary: {latency: 1ms}}
phases: [{name: all, for: 100ms}]
compositions: {mine: [{external: {url: "http://%s/"}}]}
`
	nobody := freeAddress(t)
	s := readText(t, fmt.Sprintf(text, "127.0.0.1:0", nobody))
	if _, _, err := Run(context.Background(), s, Options{}); err == nil || !strings.Contains(err.Error(), "nothing listens at "+nobody) {
		t.Errorf("a service that is not there: %v", err)
	}
	there := httptest.NewServer(http.NotFoundHandler())
	defer there.Close()
	s = readText(t, fmt.Sprintf(text, taken.Addr(), strings.TrimPrefix(there.URL, "http://")))
	if _, _, err := Run(context.Background(), s, Options{}); err == nil || !strings.Contains(err.Error(), "primary") {
		t.Errorf("an address that is taken: %v", err)
	}
}
