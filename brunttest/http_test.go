package brunttest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"brunt/brunttest"
)

const shop = `
study: shop
load: {rate: 20/s}
horizon: 2s
dependencies:
  stock: {latency: 10ms}
  prices: {latency: 20ms, workers: 1, queue: 0, retry_after: 1500ms}
phases:
  - {name: healthy, for: 2s}
  - {name: failing, for: 2s, dependencies: {stock: {fail: {first: 2, after: 5ms}}}}
  - {name: busy, for: 2s, dependencies: {prices: {latency: 90ms}}}
  - {name: dead, for: 2s, dependencies: {stock: {hang: true}}}
compositions: {client: []}
`

// An HTTP client with bodies, retries, a timeout and two dependencies: what it
// sees is what the study says, and every attempt finds its request.
func TestHTTP(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	statuses := map[string]int{} // of the last bubble; requests never overlap in their reports
	r := brunttest.Run(t, shop, func(dep brunttest.Dependency) brunttest.Client {
		clear(statuses)
		client := dep.HTTPClient()
		client.Timeout = 300 * time.Millisecond
		post := func(ctx context.Context, url string) error {
			body := strings.NewReader("an order")
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				statuses[dep.Name()+" "+fmt.Sprint(errors.Is(err, context.DeadlineExceeded))]++
				return err
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || len(text) == 0 || body.Len() != 0 {
				t.Errorf("the answer %q, %v; %d bytes of the body were not read", text, err, body.Len())
			}
			statuses[req.URL.Hostname()+" "+resp.Status+resp.Header.Get("Retry-After")]++
			if resp.StatusCode != http.StatusOK {
				return errors.New(resp.Status)
			}
			return nil
		}
		return func(ctx context.Context) (err error) {
			for range 3 {
				if err = post(ctx, dep.URL()); err == nil {
					break
				}
			}
			if err == nil {
				err = post(ctx, "http://prices/today")
			}
			return err
		}
	}, brunttest.Set("repeat=1"))
	for what, want := range map[string]int{
		"stock 200 OK":                     120, // all phases but the last
		"stock 500 Internal Server Error":  80,  // the first two of each request of failing
		"stock true":                       120, // timeouts, three for each request of dead
		"prices 200 OK":                    100, // one of two in busy
		"prices 503 Service Unavailable2":  20,
		"prices 500 Internal Server Error": 0,
	} {
		if statuses[what] != want {
			t.Errorf("%s: %d times, expected %d: %v", what, statuses[what], want, statuses)
		}
	}
	c := find(t, r, "client")
	for phase, want := range map[string][4]float64{ // completed, attempts, errored by a failure, by a timeout
		"healthy": {40, 80, 0, 0}, "failing": {40, 160, 0, 0}, "busy": {20, 80, 20, 0}, "dead": {0, 120, 0, 40},
	} {
		for i, name := range []string{"completed", "attempts", "errored.failure", "errored.timeout"} {
			if got := number(t, c, phase, name); got != want[i] {
				t.Errorf("%s in %s: %v, expected %v", name, phase, got, want[i])
			}
		}
	}
	if g := r.Guests[0]; g.Unattributed+g.Unserved+g.CutOff != 0 {
		t.Errorf("notes: %+v", g)
	}
	if c.Cancelled != 120 {
		t.Errorf("%d attempts were cancelled, expected those of dead, 120", c.Cancelled)
	}
}

// A body that cannot be read fails the request before it reaches the dependency.
func TestHTTPBrokenBody(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			body := io.MultiReader(bytes.NewReader([]byte("half")), iotestErr{broken})
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, dep.URL(), body)
			if err != nil {
				return err
			}
			_, err = dep.HTTPClient().Do(req)
			if !errors.Is(err, broken) {
				t.Errorf("the error: %v", err)
			}
			return err
		}
	}, brunttest.Set("repeat=1"))
	if n := number(t, find(t, r, "client"), "", "attempts"); n != 0 {
		t.Errorf("%v attempts reached the dependency", n)
	}
}

type iotestErr struct{ error }

func (e iotestErr) Read([]byte) (int, error) { return 0, e.error }

// What becomes of attempts whose context is lost.
func TestLostContexts(t *testing.T) {
	for _, c := range []struct {
		name   string
		call   func(ctx context.Context, dep brunttest.Dependency) error
		perOne float64 // attempts a request, those of no request too
		lost   int64   // attempts that belong to no request
		served int64   // requests that nobody served
		says   string
	}{
		{"kept", func(ctx context.Context, dep brunttest.Dependency) error { return dep.Do(ctx) }, 1, 0, 0, "Not reproducible"},
		{"detached", func(ctx context.Context, dep brunttest.Dependency) error { return dep.Do(context.WithoutCancel(ctx)) }, 1, 0, 0, ""},
		{"lost", func(ctx context.Context, dep brunttest.Dependency) error { return dep.Do(context.Background()) }, 1, 60, 60, "60 attempts that belong to no request"},
		{"in a header", func(ctx context.Context, dep brunttest.Dependency) error {
			req, err := http.NewRequest(http.MethodGet, dep.URL(), nil)
			if err != nil {
				return err
			}
			req.Header.Set(brunttest.RequestHeader, brunttest.Request(ctx))
			resp, err := dep.HTTPClient().Do(req)
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}, 1, 0, 0, ""},
		{"in a header that names none", func(ctx context.Context, dep brunttest.Dependency) error {
			req, err := http.NewRequest(http.MethodGet, dep.URL(), nil)
			if err != nil {
				return err
			}
			req.Header.Set(brunttest.RequestHeader, "1000000")
			resp, err := dep.HTTPClient().Do(req)
			if err == nil {
				err = resp.Body.Close()
			}
			return err
		}, 1, 60, 60, ""},
		{"an answer of its own", func(context.Context, brunttest.Dependency) error { return nil }, 0, 0, 60, "60 requests that they completed, though none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
				return func(ctx context.Context) error { return c.call(ctx, dep) }
			}, brunttest.Set("repeat=1", "phases=[{name: healthy, for: 3s}]"))
			g := r.Guests[0]
			if g.Unattributed != c.lost || g.Unserved != c.served || g.CutOff != 0 {
				t.Errorf("notes: %+v", g)
			}
			client := find(t, r, "client")
			if n := number(t, client, "", "attempts/offered"); n != c.perOne {
				t.Errorf("%v attempts a request, expected %v", n, c.perOne)
			}
			if got := client.AttemptsByStartPhase; got["healthy"]["total"] != int64(c.perOne*60) {
				t.Errorf("attempts that the dependency saw: %+v", got)
			}
			says(t, strings.Join(r.Findings, "\n"), c.says)
		})
	}
}

// An attempt that nobody cancels, at a dependency that hangs, is cut off at the
// end, and said to be.
func TestAbandonedAttempts(t *testing.T) {
	r := brunttest.Run(t, short, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			go dep.Do(context.WithoutCancel(ctx))
			<-ctx.Done()
			return ctx.Err()
		}
	}, brunttest.Set("repeat=1", "phases=[{name: dead, for: 1s}]", "dependencies.service.hang=true"))
	if g := r.Guests[0]; g.CutOff != 20 {
		t.Errorf("notes: %+v, expected 20 attempts cut off", g)
	}
	c := find(t, r, "client")
	if c.Whole.Censored != 20 || c.ActiveAfterDrain != 0 {
		t.Errorf("%d censored, %d active after the drain", c.Whole.Censored, c.ActiveAfterDrain)
	}
	says(t, strings.Join(r.Findings, "\n"), "left 20 attempts open")
}
