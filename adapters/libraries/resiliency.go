package libraries

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/eapache/go-resiliency/breaker"
	"github.com/eapache/go-resiliency/deadline"
	"github.com/eapache/go-resiliency/retrier"
	"github.com/eapache/go-resiliency/semaphore"

	"brunt/brunttest"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

var goResiliency = library{
	name: "go-resiliency", module: "eapache/go-resiliency", version: "1.7.0",
	kinds: []string{"retry", "timeout", "breaker", "limit"},
	judge: judgeResiliency, wrap: wrapResiliency,
}

var resiliencyErrors = []ended{
	{breaker.ErrBreakerOpen, record.Circuit}, {deadline.ErrTimedOut, record.Timeout}, {semaphore.ErrNoTickets, record.Limiter},
}

// longestOpen is how long its breaker may stay open here: a goroutine of the
// library sleeps that long, and nothing ends it before.
const longestOpen = time.Minute

func judgeResiliency(stage *study.Stage, r *remarks) {
	switch {
	case stage.Retry != nil:
		r.judgeRetry(stage.Retry)
		r.judgeBackoff(&stage.Retry.Backoff, true, policy.NoBackoff, policy.Constant, policy.Linear, policy.Exponential)
		if share(&stage.Retry.Backoff) > 0 {
			r.note("seeds its jitter from the clock when it is made: on the virtual clock each repeat draws the same")
		}
		if stage.Retry.Budget != nil {
			r.refuse("go-resiliency has no budget: expected none")
		}
	case stage.Timeout != nil:
		r.note("leaves the call inside behind when its time is over, and tells it through a channel")
	case stage.Breaker != nil:
		c := stage.Breaker
		if c.Ratio > 0 {
			r.refuse("go-resiliency has no breaker by ratio: expected consecutive")
		}
		if c.OpenFor > longestOpen {
			r.refuse("a goroutine of go-resiliency sleeps while its breaker is open, and nothing ends it: expected an open_for of at most %v", longestOpen)
		}
		r.note("counts errors until open_for passes without one; a success between them clears nothing")
		r.note("lets every call in while it is half-open, not %d at once", c.Probes)
		r.note("counts any error as a failure, also of a call that its caller has left, and cannot be told otherwise")
	case stage.Limit != nil:
		if stage.Limit.Queue == 0 {
			r.refuse("the semaphore of go-resiliency waits for a ticket: expected a queue and a queue_timeout")
		}
		r.judgeWaiters(stage.Limit)
		r.note("keeps a waiter in line whose caller has left")
	}
}

func wrapResiliency(stages []study.Stage, told bool, in call, _ *brunttest.Dependency) call {
	for i := len(stages) - 1; i >= 0; i-- {
		in = resiliencyStage(&stages[i], told, in)
	}
	return in
}

func resiliencyStage(stage *study.Stage, told bool, in call) call {
	switch {
	case stage.Retry != nil:
		var class retrier.Classifier // the library's own when nil
		if told {
			class = classifier{stage.Retry}
		}
		r := retrier.New(delays(stage.Retry), class)
		r.SetJitter(share(&stage.Retry.Backoff))
		return func(ctx context.Context) error { return r.RunCtx(ctx, in) }
	case stage.Timeout != nil:
		d := deadline.New(stage.Timeout.After)
		return func(ctx context.Context) error {
			return d.Run(func(stop <-chan struct{}) error { return until(ctx, stop, in) })
		}
	case stage.Breaker != nil:
		b := breaker.New(stage.Breaker.Consecutive, stage.Breaker.CloseAfter, stage.Breaker.OpenFor)
		return func(ctx context.Context) error { return b.Run(func() error { return in(ctx) }) }
	}
	s := semaphore.New(stage.Limit.Permits, stage.Limit.QueueTimeout)
	return func(ctx context.Context) error {
		if err := s.Acquire(); err != nil {
			return err
		}
		defer s.Release()
		return in(ctx)
	}
}

// classifier tells a retrier what is repeated.
type classifier struct{ config *policy.Retry }

// Classify implements [retrier.Classifier].
func (c classifier) Classify(err error) retrier.Action {
	switch {
	case err == nil:
		return retrier.Succeed
	case repeats(c.config, err):
		return retrier.Retry
	}
	return retrier.Fail
}

// delays lists the waits of a retry, as the library takes them.
func delays(c *policy.Retry) []time.Duration {
	n, b := c.Attempts-1, &c.Backoff
	longest := b.Cap
	if longest == 0 {
		longest = forever
	}
	switch {
	case b.Kind == policy.NoBackoff:
		return make([]time.Duration, n)
	case b.Kind == policy.Constant:
		return retrier.ConstantBackoff(n, min(b.Base, longest))
	}
	list := make([]time.Duration, n)
	for i := range list {
		d := float64(b.Base) * float64(i+1)
		if b.Kind == policy.Exponential {
			d = float64(b.Base) * math.Pow(b.Factor, float64(i))
		}
		list[i] = time.Duration(min(d, float64(longest)))
	}
	return list
}

// errStopped is the cause of a context whose deadline of the library has come.
var errStopped = errors.New("stopped by a deadline")

// until calls with a context that also ends when a channel is closed.
func until(ctx context.Context, stop <-chan struct{}, in call) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-stop:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	err := in(ctx)
	cancel(nil)
	<-watching
	return err
}
