package libraries

import (
	"context"

	"github.com/sony/gobreaker/v2"

	"brunt/brunttest"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

var goBreaker = library{
	name: "gobreaker", module: "sony/gobreaker", version: "2.4.0",
	kinds: []string{"breaker"},
	judge: judgeGobreaker, wrap: wrapGobreaker,
}

var gobreakerErrors = []ended{{gobreaker.ErrOpenState, record.Circuit}, {gobreaker.ErrTooManyRequests, record.Circuit}}

func judgeGobreaker(stage *study.Stage, r *remarks) {
	c := stage.Breaker
	if c.Calls > 0 {
		r.refuse("gobreaker has no breaker by ratio with calls: expected a window, or consecutive")
	}
	if c.Probes != c.CloseAfter {
		r.refuse("gobreaker lets as many probes in as have to succeed: expected probes (%d) to be close_after (%d)", c.Probes, c.CloseAfter)
	}
	if c.Window > 0 {
		r.note("counts a result in the tenth of the window in which its call began")
	}
	r.note("lets its probe in after open_for, not at it")
	if !r.told {
		r.note("counts any error as a failure, also of a call that its caller has left")
	}
}

func wrapGobreaker(stages []study.Stage, told bool, in call, _ *brunttest.Dependency) call {
	for i := len(stages) - 1; i >= 0; i-- {
		inner, breaker := in, gobreaker.NewCircuitBreaker[struct{}](gobreakerSettings(stages[i].Breaker, told))
		in = func(ctx context.Context) error {
			_, err := breaker.Execute(func() (struct{}, error) { return struct{}{}, inner(ctx) })
			return err
		}
	}
	return in
}

func gobreakerSettings(c *policy.Breaker, told bool) gobreaker.Settings {
	s := gobreaker.Settings{MaxRequests: uint32(c.CloseAfter), Timeout: c.OpenFor}
	if c.Consecutive > 0 {
		s.ReadyToTrip = func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= uint32(c.Consecutive) }
	} else {
		s.Interval, s.BucketPeriod = c.Window, c.Window/10
		s.ReadyToTrip = func(n gobreaker.Counts) bool {
			ended := n.TotalSuccesses + n.TotalFailures
			return ended >= uint32(minCalls(c)) && float64(n.TotalFailures) >= c.Ratio*float64(ended)-1e-9
		}
	}
	if told {
		s.IsExcluded = neutral
	}
	return s
}
