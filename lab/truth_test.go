package lab

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"brunt/measure"
)

// Servers whose truth is known: what brunt reports of a real target is held
// against what the target did.

// server is a target of the test's own. Connections and the listener end with
// the test.
type server struct {
	address string
	handler http.Handler
	mu      sync.Mutex
	server  *http.Server
	served  sync.WaitGroup
}

func serve(t *testing.T, h http.HandlerFunc) *server {
	t.Helper()
	s := &server{address: "127.0.0.1:0", handler: h}
	s.open(t)
	t.Cleanup(func() {
		s.close()
		s.served.Wait()
	})
	return s
}

// open listens, at the same address as before.
func (s *server) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Error(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = l.Addr().String()
	s.server = &http.Server{Handler: s.handler}
	serving := s.server
	s.served.Go(func() { _ = serving.Serve(l) })
}

// close refuses connections, and ends those that are there.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.server.Close()
}

// truth runs a study of one composition at such a server and returns its
// numbers. It runs again while the machine is too busy to send on time.
func truth(t *testing.T, url, load, horizon, length string, before func()) *measure.Composition {
	t.Helper()
	text := fmt.Sprintf(`
study: truth
question: Is it told?
clock: real
load: {rate: %s}
horizon: %s
target: {kind: http, url: "%s"}
phases: [{name: all, for: %s}]
compositions: {plain: [{call: target}]}
`, load, horizon, url, length)
	file := filepath.Join(t.TempDir(), "truth.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := read(t, file)
	var lag time.Duration
	for range 3 {
		if before != nil {
			before()
		}
		r, _, err := Run(context.Background(), s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Valid {
			t.Fatalf("the run is not valid: %+v", r.Gates)
		}
		c := &r.Compositions[0]
		if got := c.Whole.Completed + c.Whole.Errored + c.Whole.Censored; got != c.Whole.Offered || c.Whole.Offered != s.Schedule().Expected() {
			t.Fatalf("%d of %d scheduled requests are accounted for", got, s.Schedule().Expected())
		}
		if lag = time.Duration(*c.Whole.SchedulerLag.P99); lag < 2*time.Millisecond {
			return c
		}
	}
	t.Skipf("the machine is too busy: requests are sent %v late at p99", lag)
	return nil
}

// wait waits for a while, or for the end of the request.
func wait(r *http.Request, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// A distribution that was injected is reported within 2 % or 1 ms of what the
// server measured of itself, and never below it.
func TestTruthOfLatency(t *testing.T) {
	var next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		wait(r, 5*time.Millisecond+time.Duration(next.Add(1)*37%100)*time.Millisecond)
		mu.Lock()
		took = append(took, time.Since(begun))
		mu.Unlock()
	})
	c := truth(t, "http://"+s.address+"/", "250/s", "5s", "2s", func() { took = nil })
	slices.Sort(took)
	if n := int64(len(took)); n != c.Whole.Offered {
		t.Fatalf("the server has had %d requests, %d were sent", n, c.Whole.Offered)
	}
	for _, q := range []struct {
		name string
		ppm  measure.PPM
		got  *measure.Millis
	}{{"p50", 500_000, c.Whole.Latency.Completed.P50}, {"p95", 950_000, c.Whole.Latency.Completed.P95}, {"p99", 990_000, c.Whole.Latency.Completed.P99}} {
		want, got := took[measure.Rank(q.ppm, int64(len(took)))-1], time.Duration(*q.got)
		// The client also waits for the network, both processes and a connection.
		if most := want + max(want/50, time.Millisecond) + time.Duration(*c.Whole.SchedulerLag.P99); got < want || got > most {
			t.Errorf("%s is %v: expected %v to %v", q.name, got, want, most)
		}
	}
}

// A stall shows in the maximum, and in as many samples as fell into it: a tool
// that waits for answers would send one.
func TestTruthOfStall(t *testing.T) {
	stall, rate, length := time.Second, 100, "3s"
	if long() {
		stall, rate, length = 10*time.Second, 20, "14s"
	}
	var begins time.Time
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if since := time.Since(begins); since >= 0 && since < stall {
			wait(r, stall-since)
		}
	})
	c := truth(t, "http://"+s.address+"/", fmt.Sprint(rate, "/s"), "30s", length, func() { begins = time.Now().Add(time.Second) })
	if got := time.Duration(*c.Whole.Latency.Completed.Max); got < stall*95/100 || got > stall*105/100 {
		t.Errorf("the maximum is %v after a stall of %v", got, stall)
	}
	// In flight piles up at the load's rate until the stall is over.
	want := int64(stall.Seconds() * float64(rate))
	if got := c.Peak.Requests; got < want*9/10 || got > want*11/10 {
		t.Errorf("%d samples were stalled: expected %d", got, want)
	}
}

// Requests that are never answered are censored, at exactly the horizon, and a
// percentile that lies among them is beyond it.
func TestTruthOfSilence(t *testing.T) {
	var next atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if next.Add(1)%20 == 7 {
			<-r.Context().Done() // until the caller leaves
		}
	})
	c := truth(t, "http://"+s.address+"/", "200/s", "1s", "2s", func() { next.Store(0) })
	if w := c.Whole; w.Censored != 20 || w.Completed != 380 {
		t.Errorf("%d of %d censored, %d completed: expected 20 and 380", w.Censored, w.Offered, w.Completed)
	}
	verdicts(t, c, map[float64]measure.Status{0.5: measure.Reached, 0.95: measure.Reached, 0.99: measure.Beyond})
	for _, q := range c.Whole.Incidence.Quantiles {
		if q.Status == measure.Beyond && q.Millis != nil {
			t.Errorf("p%v is beyond the horizon, and yet %v", 100*q.Q, *q.Millis)
		}
	}
}

// Connections that are refused for a quarter of the run are errors: they make
// p90 unattainable, and no percentile fast.
func TestTruthOfRefusal(t *testing.T) {
	const delay = 20 * time.Millisecond
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { wait(r, delay) })
	var timers []*time.Timer
	c := truth(t, "http://"+s.address+"/", "200/s", "5s", "4s", func() {
		for _, timer := range timers {
			timer.Stop()
		}
		timers = []*time.Timer{
			time.AfterFunc(time.Second, s.close),
			time.AfterFunc(2*time.Second, func() { s.open(t) }),
		}
	})
	w := c.Whole
	if w.Errored < 180 || w.Errored > 230 || w.Causes["connect"]+w.Causes["reset"]+w.Causes["stream"] != w.Errored {
		t.Errorf("%d errored, by %v: expected about 200, by connect", w.Errored, w.Causes)
	}
	if w.Causes["connect"] < 150 {
		t.Errorf("%d could not connect: expected nearly 200", w.Causes["connect"])
	}
	verdicts(t, c, map[float64]measure.Status{0.5: measure.Reached, 0.95: measure.Unattainable, 0.99: measure.Unattainable})
	for _, q := range w.Incidence.Quantiles {
		if q.Q == 0.9 && q.Status != measure.Unattainable {
			t.Errorf("p90 is %s", q.Status)
		}
		if q.Millis != nil && time.Duration(*q.Millis) < delay {
			t.Errorf("p%v is %v, faster than any answer", 100*q.Q, *q.Millis)
		}
	}
}

func verdicts(t *testing.T, c *measure.Composition, want map[float64]measure.Status) {
	t.Helper()
	seen := 0
	for _, q := range c.Whole.Incidence.Quantiles {
		if status, ok := want[q.Q]; ok {
			if seen++; q.Status != status {
				t.Errorf("p%v is %s: expected %s", 100*q.Q, q.Status, status)
			}
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d quantiles are there", seen, len(want))
	}
}

// long reports whether tests that take minutes are wanted: BRUNT_LONG=1.
func long() bool { return strings.TrimSpace(os.Getenv("BRUNT_LONG")) != "" }
