package libraries

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	"github.com/sony/gobreaker/v2"

	"brunt/brunttest"
)

// failsafe-go 0.9.8: a breaker has no generations. Calls from before it opened
// that succeed while it is half-open close it, although its only probe hangs
// (circuitbreaker/circuitstates.go, checkThresholdAndReleasePermit). brunt's own
// breaker lets nothing but the probe through.
func TestFailsafeClosesOnStaleResults(t *testing.T) {
	r := brunttest.Run(t, `
		study: stale-results
		load: {rate: 20/s}
		horizon: 20s
		dependencies: {service: {latency: 3s}}
		phases:
		  - {name: slow, for: 1s}
		  - {name: failing, for: 1s, dependencies: {service: {fail_after: 10ms}}}
		  - {name: dead, for: 4s, dependencies: {service: {hang: true}}}
		compositions:
		  own: [{breaker: {consecutive: 5, open_for: 500ms}}]
		  client: []
		expect:
		  - {composition: own, phase: dead, measure: attempts, equals: 1}
		  - {composition: client, phase: dead, measure: attempts, at_least: 40}
	`, func(dep brunttest.Dependency) brunttest.Client {
		breaker := circuitbreaker.NewBuilder[any]().WithFailureThreshold(5).WithDelay(500 * time.Millisecond).WithSuccessThreshold(1).Build()
		guarded := failsafe.With[any](breaker)
		return func(ctx context.Context) error { return guarded.Run(func() error { return dep.Do(ctx) }) }
	})
	shown(t, r.Findings)
}

// failsafe-go 0.9.8: of a hedge outside of a breaker, the loser that is cancelled
// counts as a failure there, so half of what the breaker sees has failed, and a
// target that is well is refused: 15 of 20 requests. (One that opens on failures
// in a row alone stays closed, as each winner ends the row.)
func TestFailsafeRefusesHedgesOnHealthyTarget(t *testing.T) {
	hedged := func(opens func(circuitbreaker.Builder[any]) circuitbreaker.Builder[any]) brunttest.New {
		return func(dep brunttest.Dependency) brunttest.Client {
			breaker := opens(circuitbreaker.NewBuilder[any]()).WithDelay(time.Minute).Build()
			stack := failsafe.With[any](hedgepolicy.NewBuilderWithDelay[any](20*time.Millisecond).Build(), breaker)
			return func(ctx context.Context) error {
				return stack.WithContext(ctx).RunWithExecution(func(e failsafe.Execution[any]) error { return dep.Do(e.Context()) })
			}
		}
	}
	r := brunttest.RunAll(t, `
		study: hedge-losers
		load: {rate: 10/s}
		horizon: 5s
		dependencies: {service: {latency: {first: 100ms, later: 10ms}}}
		phases: [{name: healthy, for: 2s}]
		compositions:
		  own: [{hedge: {extra: 1, after: 20ms}}, {breaker: {ratio: 0.5, calls: 10, min_calls: 10, open_for: 60s}}]
		  half: []
		  row: []
		expect:
		  - {composition: own, measure: errored.circuit, equals: 0}
		  - {composition: half, measure: errored.circuit, equals: 15}
		  - {composition: row, measure: errored.circuit, equals: 0}
	`, brunttest.Clients{
		"half": hedged(func(b circuitbreaker.Builder[any]) circuitbreaker.Builder[any] {
			return b.WithFailureThresholdRatio(5, 10)
		}),
		"row": hedged(func(b circuitbreaker.Builder[any]) circuitbreaker.Builder[any] { return b.WithFailureThreshold(5) }),
	})
	shown(t, r.Findings)
}

// cenkalti/backoff 5.0.3: MaxInterval caps the interval before the jitter, as its
// documentation says, so that waits reach 1.5 of it. brunt's cap holds after the
// jitter too.
func TestBackoffExceedsItsCap(t *testing.T) {
	var mu sync.Mutex
	longest := time.Duration(0)
	brunttest.Run(t, `
		study: cap
		load: {rate: 5/s}
		horizon: 30s
		dependencies: {service: {fail_after: 1ms}}
		phases: [{name: outage, for: 5s}]
	`, func(dep brunttest.Dependency) brunttest.Client {
		return func(ctx context.Context) error {
			policy := backoff.NewExponentialBackOff()
			policy.MaxInterval = time.Second
			ended := time.Time{}
			_, err := backoff.Retry(ctx, func() (any, error) {
				if !ended.IsZero() {
					mu.Lock()
					longest = max(longest, time.Since(ended))
					mu.Unlock()
				}
				err := dep.Do(ctx)
				ended = time.Now()
				return nil, err
			}, backoff.WithBackOff(policy), backoff.WithMaxTries(8))
			return err
		}
	})
	if longest <= 1200*time.Millisecond || longest > 1500*time.Millisecond+time.Microsecond {
		t.Errorf("the longest wait was %v: expected more than the cap of 1 s by up to half", longest)
	}
	t.Logf("the longest wait was %v", longest)
}

// sony/gobreaker 2.4.0: an error is a failure unless IsSuccessful or IsExcluded
// says otherwise, so six callers who leave open the breaker of a target that is
// well.
func TestGobreakerCountsCancellations(t *testing.T) {
	r := brunttest.Run(t, `
		study: impatient-callers
		load: {rate: 10/s}
		horizon: 5s
		dependencies: {service: {latency: 50ms}}
		phases: [{name: healthy, for: 2s}]
		compositions:
		  client: []
		expect:
		  - {composition: client, measure: attempts, equals: 6}
		  - {composition: client, measure: errored.circuit, equals: 14}
	`, func(dep brunttest.Dependency) brunttest.Client {
		breaker := gobreaker.NewCircuitBreaker[any](gobreaker.Settings{})
		return func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer time.AfterFunc(20*time.Millisecond, cancel).Stop() // its caller leaves
			_, err := breaker.Execute(func() (any, error) { return nil, dep.Do(ctx) })
			return err
		}
	})
	shown(t, r.Findings)
}

func shown(t *testing.T, findings []string) {
	t.Helper()
	for _, f := range findings {
		t.Log(f)
	}
}
