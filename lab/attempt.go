package lab

import (
	"brunt/clock"
	"brunt/policy"
	"brunt/record"
)

// caller is the innermost stage: each call of it is an attempt at one
// dependency.
type caller struct {
	runner     *runner
	dependency int32
}

// attempt is a call of a dependency, until the dependency is rid of it.
type attempt struct {
	runner  *runner
	request *request
	to      policy.Receiver
	row     record.Attempt
	timer   clock.Timer // its answer or, when cancelled, the end of its clean-up
	fails   bool
}

// Start implements [policy.Stage].
func (c *caller) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	r := c.runner
	q := call.Request.Owner.(*request)
	nth := q.nth[c.dependency]
	q.nth[c.dependency]++
	answer := r.models[c.dependency].Answer(q.Index, nth)
	now := r.loop.Now()

	a := r.newAttempt()
	*a = attempt{runner: r, request: q, to: to, fails: answer.Fails, row: record.Attempt{
		Request: q.Index, Intended: q.row.Intended, Index: q.row.Attempts,
		Dependency: c.dependency, Nth: nth, Why: call.Why,
		Start: now, CleanupEnd: answer.Cleanup, FirstToken: record.Never, Cost: answer.Cost,
	}}
	if answer.FirstToken >= 0 {
		a.row.FirstToken = now + answer.FirstToken
	}
	q.row.Attempts++
	q.row.Cost += answer.Cost
	q.alive++
	if r.active++; r.active > r.peakAttempts {
		r.peakAttempts, r.peakAttemptsAt = r.active, now
	}
	switch {
	case answer.Hangs:
	case answer.After == 0: // what needs no waiting does not queue
		return nil, a.answered()
	default:
		a.timer = r.loop.After(answer.After, a)
	}
	return a, policy.Outcome{}
}

func (r *runner) newAttempt() *attempt {
	if n := len(r.attemptsPool); n > 0 {
		a := r.attemptsPool[n-1]
		r.attemptsPool = r.attemptsPool[:n-1]
		return a
	}
	return new(attempt)
}

// Happen implements [clock.Event]: the answer is there, or the clean-up over.
func (a *attempt) Happen() {
	if a.row.Cancelled {
		a.gone()
		return
	}
	to := a.to
	to.Ended(a.answered())
}

// answered ends an attempt that was not cancelled.
func (a *attempt) answered() policy.Outcome {
	o := policy.Completed(a.row.Dependency, a.row.FirstToken)
	if a.fails {
		a.row.Cause = record.Failure
		o = policy.Ended(record.Failure)
	}
	a.row.End = a.runner.loop.Now()
	a.gone()
	return o
}

// Cancel implements [policy.Running]. The attempt lives on until its clean-up
// is over, and is counted until then.
func (a *attempt) Cancel() {
	r := a.runner
	r.loop.Cancel(a.timer)
	a.row.Cancelled = true
	a.row.End = r.loop.Now()
	a.row.Pending = a.request.Over && a.request.row.Outcome != record.Censored
	if a.row.FirstToken > a.row.End {
		a.row.FirstToken = record.Never
	}
	if cleanup := a.row.CleanupEnd; cleanup > 0 {
		a.timer = r.loop.After(cleanup, a)
		return
	}
	a.gone()
}

// gone ends the attempt for good and writes its row.
func (a *attempt) gone() {
	r, q := a.runner, a.request
	r.active--
	a.row.CleanupEnd = r.loop.Now()
	if q.Over {
		a.row.Cleanup = max(0, a.row.CleanupEnd-q.row.End)
	}
	r.sink.Attempt(&a.row)
	q.alive--
	q.recycle()
	r.attemptsPool = append(r.attemptsPool, a)
}
