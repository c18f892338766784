package brunttest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brunt/brunttest"
)

// Whatever a client does with its calls, every request has one outcome, every
// attempt is counted, and the run comes to its end.
func TestOutcomesAddUp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		millis := func(most int, label string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, label)) * time.Millisecond
		}
		behaviour := func(label string) string {
			return rapid.SampledFrom([]string{
				"{latency: 30ms}", "{latency: 0s}", "{hang: true}", "{refuse: true}", "{fail_after: 20ms}", "{fail: {ratio: 0.5}}", "{latency: {first: 200ms, later: 10ms}}",
			}).Draw(rt, label)
		}
		base := rapid.SampledFrom([]string{"latency: 25ms", "latency: 25ms, workers: 2, queue: 3", "latency: 25ms, workers: 1, on_cancel: burns", "latency: 25ms, cancel_cleanup: 40ms"}).Draw(rt, "base")
		text := fmt.Sprintf(`
			study: law
			load: {rate: %d/s, arrivals: %s, max_in_flight: %d}
			horizon: 300ms
			callers: %d
			dependencies: {service: {%s}}
			phases:
			  - {name: a, for: 500ms}
			  - {name: b, for: 500ms, dependencies: {service: %s}}
			compositions: {client: %s}
		`, rapid.IntRange(5, 80).Draw(rt, "rate"), rapid.SampledFrom([]string{"constant", "poisson"}).Draw(rt, "arrivals"), rapid.IntRange(1, 40).Draw(rt, "most"),
			rapid.IntRange(1, 3).Draw(rt, "callers"), base, behaviour("b"),
			rapid.SampledFrom([]string{"[]", "[{guest: brunttest}]", "[{timeout: {after: 90ms}}, {guest: brunttest}]", "[{limit: {permits: 2, queue: 1}}, {retry: {attempts: 2, backoff: {kind: none}}}, {guest: brunttest}]"}).Draw(rt, "stack"))
		tries, wait, timeout := rapid.IntRange(1, 4).Draw(rt, "tries"), millis(60, "wait"), 1+millis(120, "timeout")
		hedges, loses, own := rapid.Bool().Draw(rt, "hedges"), rapid.Bool().Draw(rt, "loses"), rapid.Bool().Draw(rt, "own")

		r := observe(t, func(r *recorder) {
			result := brunttest.Run(r, text, func(dep brunttest.Dependency) brunttest.Client {
				try := func(ctx context.Context) error {
					ctx, cancel := context.WithTimeout(ctx, timeout)
					defer cancel()
					return dep.Do(ctx)
				}
				return func(ctx context.Context) (err error) {
					if loses {
						ctx = context.WithoutCancel(ctx)
					}
					for range tries {
						answers := make(chan error, 2)
						go func() { answers <- try(ctx) }()
						if hedges {
							go func() { answers <- dep.Do(ctx) }() // a loser is left behind
						}
						if err = <-answers; err == nil {
							return nil
						}
						time.Sleep(wait)
					}
					if own {
						return errors.New("circuit breaker is open")
					}
					return err
				}
			}, brunttest.Set("repeat=1"))
			for _, p := range result.Compositions[0].Phases {
				if p.Offered != p.Completed+p.Errored+p.Censored {
					r.Errorf("phase %s: %d offered, %d completed, %d errored, %d censored", p.Name, p.Offered, p.Completed, p.Errored, p.Censored)
				}
			}
		})
		if r.fatal != "" || len(r.errors) > 0 {
			rt.Fatalf("%s %q\n%s", r.fatal, r.errors, text)
		}
	})
}
