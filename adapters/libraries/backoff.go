package libraries

import (
	"context"

	"github.com/cenkalti/backoff/v5"

	"brunt/brunttest"
	"brunt/policy"
	"brunt/study"
)

var backOff = library{
	name: "backoff", module: "cenkalti/backoff", version: "5.0.3",
	kinds: []string{"retry"},
	judge: func(stage *study.Stage, r *remarks) {
		r.judgeRetry(stage.Retry)
		r.judgeBackoff(&stage.Retry.Backoff, true, policy.NoBackoff, policy.Constant, policy.Exponential)
		if stage.Retry.Budget != nil {
			r.refuse("backoff has no budget: expected none")
		}
	},
	wrap: wrapBackoff,
}

func wrapBackoff(stages []study.Stage, told bool, in call, _ *brunttest.Dependency) call {
	for i := len(stages) - 1; i >= 0; i-- {
		inner, c := in, stages[i].Retry
		in = func(ctx context.Context) error {
			_, err := backoff.Retry(ctx, func() (struct{}, error) {
				err := inner(ctx)
				if told && err != nil && !repeats(c, err) {
					err = backoff.Permanent(err)
				}
				return struct{}{}, err
			}, backoff.WithBackOff(waits(&c.Backoff)), backoff.WithMaxTries(uint(c.Attempts)), backoff.WithMaxElapsedTime(0))
			return err
		}
	}
	return in
}

// waits returns the library's own form of a backoff: one for each call, as it is
// not to be shared.
func waits(b *policy.Backoff) backoff.BackOff {
	switch {
	case b.Kind == policy.NoBackoff:
		return &backoff.ZeroBackOff{}
	case b.Kind == policy.Constant && share(b) == 0:
		return backoff.NewConstantBackOff(b.Base)
	}
	e := backoff.NewExponentialBackOff()
	e.InitialInterval, e.Multiplier, e.MaxInterval, e.RandomizationFactor = b.Base, b.Factor, b.Cap, share(b)
	if b.Kind == policy.Constant {
		e.Multiplier = 1
	}
	if e.MaxInterval == 0 {
		e.MaxInterval = forever
	}
	e.InitialInterval = min(e.InitialInterval, e.MaxInterval)
	return e
}
