package libraries

import (
	"context"
	"math"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"

	"brunt/brunttest"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

var failsafeGo = library{
	name: "failsafe-go", module: "failsafe-go/failsafe-go", version: "0.9.8",
	kinds: []string{"retry", "timeout", "breaker", "limit", "rate", "hedge"},
	judge: judgeFailsafe, wrap: wrapFailsafe,
}

var failsafeErrors = []ended{
	{circuitbreaker.ErrOpen, record.Circuit}, {bulkhead.ErrFull, record.Limiter},
	{ratelimiter.ErrExceeded, record.Rate}, {timeout.ErrExceeded, record.Timeout},
}

func judgeFailsafe(stage *study.Stage, r *remarks) {
	switch {
	case stage.Retry != nil:
		c := stage.Retry
		r.judgeRetry(c)
		r.judgeBackoff(&c.Backoff, true, policy.NoBackoff, policy.Constant, policy.Exponential)
		r.judgeFailsafeBudget(c.Budget)
		if c.Budget != nil {
			r.note("asks its budget after the wait, and ends a retry that it denies with an error of its own")
		}
	case stage.Timeout != nil:
		r.note("waits, when the time is over, until the call inside has returned")
	case stage.Breaker != nil:
		r.judgeFailsafeBreaker(stage.Breaker)
	case stage.Limit != nil:
		r.judgeWaiters(stage.Limit)
	case stage.Rate != nil:
		if stage.Rate.Burst != 1 {
			r.refuse("failsafe-go has a smooth rate and one of fixed windows, no bucket: expected burst: 1")
		}
		r.note("lets calls in at multiples of the interval since its own start, and a waiter that leaves keeps the permit that it reserved")
	case stage.Hedge != nil:
		c := stage.Hedge
		if c.Quantile > 0 {
			r.refuse("the quantile of failsafe-go is a moving estimate of another kind: expected after alone")
		}
		if c.OnFailure {
			r.refuse("failsafe-go starts a hedge when its time has come, not at a failure: expected on_failure: false")
		}
		r.judgeFailsafeBudget(c.Budget)
		if r.told {
			r.note("sits out its time after a failure, and starts the next attempt then")
		} else {
			r.note("takes the first end of an attempt for that of all, a failure too")
		}
	}
}

func (r *remarks) judgeFailsafeBreaker(c *policy.Breaker) {
	if c.Probes != c.CloseAfter {
		r.refuse("failsafe-go lets as many probes in at once as have to succeed: expected probes (%d) to be close_after (%d)", c.Probes, c.CloseAfter)
	}
	if c.Calls > 0 && failures(c) < minCalls(c) {
		r.note("opens on %d failures among the last %d calls also before min_calls (%d) have ended", failures(c), c.Calls, minCalls(c))
	}
	if c.Window > 0 {
		r.note("compares the ratio with two digits behind the point")
	}
	r.note("heeds results of calls that began before its last change of state")
	if r.told {
		r.note("counts a call that its caller has left, or that is refused inside, as a success: there is no third way")
	} else {
		r.note("counts any error as a failure, also of a call that its caller has left")
	}
}

// judgeWaiters says of a limit whose waiters are bounded by their time what that
// means.
func (r *remarks) judgeWaiters(c *policy.Limit) {
	if c.Order == policy.LIFO {
		r.refuse("%s serves waiters first in, first out: expected order: fifo", r.library.name)
	}
	if c.Queue > 0 && c.QueueTimeout == 0 {
		r.refuse("%s bounds how long a call waits, not how many do: expected a queue_timeout", r.library.name)
	}
	if c.Queue > 0 {
		r.note("bounds how long a call waits, not how many do: a queue of %d is not kept", c.Queue)
	}
}

func (r *remarks) judgeFailsafeBudget(b *policy.Budget) {
	if b != nil && (b.InFlight == nil || b.InFlight.Of != policy.OfCalls) {
		r.refuse("failsafe-go has a budget by calls in flight alone: expected budget: {in_flight: {of: calls, …}}")
	}
}

// failures is how many of a breaker's last calls must have failed.
func failures(c *policy.Breaker) int { return int(math.Ceil(c.Ratio*float64(c.Calls) - 1e-9)) }

// minCalls is how many calls must have ended before a breaker's ratio counts.
func minCalls(c *policy.Breaker) int {
	switch {
	case c.MinCalls > 0:
		return c.MinCalls
	case c.Calls > 0:
		return min(10, c.Calls)
	}
	return 10
}

// wrapFailsafe makes one executor of all stages.
func wrapFailsafe(stages []study.Stage, told bool, in call, _ *brunttest.Dependency) call {
	var policies []failsafe.Policy[any]
	for i := range stages {
		policies = append(policies, failsafePolicy(&stages[i], told))
	}
	executor := failsafe.With(policies...)
	return func(ctx context.Context) error {
		return executor.WithContext(ctx).RunWithExecution(func(e failsafe.Execution[any]) error { return in(e.Context()) })
	}
}

func failsafePolicy(stage *study.Stage, told bool) failsafe.Policy[any] {
	switch {
	case stage.Retry != nil:
		return failsafeRetry(stage.Retry, told)
	case stage.Timeout != nil:
		return timeout.New[any](stage.Timeout.After)
	case stage.Breaker != nil:
		return failsafeBreaker(stage.Breaker, told)
	case stage.Limit != nil:
		b := bulkhead.NewBuilder[any](uint(stage.Limit.Permits))
		if stage.Limit.Queue > 0 {
			b.WithMaxWaitTime(stage.Limit.QueueTimeout)
		}
		return b.Build()
	case stage.Rate != nil:
		tokens, per := stage.Rate.Rate.Fraction()
		b := ratelimiter.NewSmoothBuilderWithMaxRate[any](per / time.Duration(tokens))
		if stage.Rate.Wait {
			b.WithMaxWaitTime(forever)
		}
		return b.Build()
	}
	c := stage.Hedge
	b := hedgepolicy.NewBuilderWithDelay[any](c.After).WithMaxHedges(c.Extra)
	if told {
		b.CancelIf(func(_ any, err error) bool { return err == nil })
	}
	if c.Budget != nil {
		b.WithBudget(failsafeBudget(c.Budget))
	}
	return b.Build()
}

func failsafeRetry(c *policy.Retry, told bool) failsafe.Policy[any] {
	b := retrypolicy.NewBuilder[any]().WithMaxAttempts(c.Attempts)
	switch c.Backoff.Kind {
	case policy.Constant:
		b.WithDelay(c.Backoff.Base)
	case policy.Exponential:
		longest := c.Backoff.Cap
		if longest == 0 {
			longest = forever
		}
		b.WithBackoffFactor(min(c.Backoff.Base, longest), longest, c.Backoff.Factor)
	}
	if r := share(&c.Backoff); r > 0 {
		b.WithJitterFactor(r)
	}
	if c.Budget != nil {
		b.WithBudget(failsafeBudget(c.Budget))
	}
	if told {
		b.HandleIf(func(_ any, err error) bool { return err != nil && repeats(c, err) }).ReturnLastFailure()
	}
	return b.Build()
}

func failsafeBreaker(c *policy.Breaker, told bool) failsafe.Policy[any] {
	b := circuitbreaker.NewBuilder[any]().WithDelay(c.OpenFor).WithSuccessThreshold(uint(c.CloseAfter))
	switch {
	case c.Consecutive > 0:
		b.WithFailureThreshold(uint(c.Consecutive))
	case c.Calls > 0:
		b.WithFailureThresholdRatio(uint(failures(c)), uint(c.Calls))
	default:
		b.WithFailureRateThreshold(c.Ratio, uint(minCalls(c)), c.Window)
	}
	if told {
		b.HandleIf(func(_ any, err error) bool { return err != nil && !neutral(err) })
	}
	return b.Build()
}

func failsafeBudget(b *policy.Budget) budget.Budget {
	return budget.NewBuilder().WithMaxRate(float64(b.InFlight.Share) / 1e6).WithMinConcurrency(uint(b.InFlight.Floor)).Build()
}
