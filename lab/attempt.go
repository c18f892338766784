package lab

import (
	"math"
	"time"

	"brunt/clock"
	"brunt/dependency"
	"brunt/policy"
	"brunt/record"
)

// caller is the innermost stage: each call of it is an attempt at one
// dependency or service.
type caller struct {
	runner *runner
	target int32
}

// attempt is a call of a dependency, until the dependency is rid of it.
type attempt struct {
	runner    *runner
	request   *request
	parent    *attempt // whose service makes it; nil for the caller itself
	to        policy.Receiver
	row       record.Attempt
	answer    dependency.Answer
	deadline  time.Duration
	timer     clock.Timer // without workers its answer; when cancelled the end of its clean-up, or its deadline
	job       dependency.Job
	busySince time.Duration                           // when a worker took it up; record.Never without
	visit     *visit                                  // of a service, while its own calls are under way
	taken     func(*dependency.Answer, time.Duration) // told when the work begins; nil for nobody
	open      bool                                    // began before the request was over
	stopped   bool                                    // cancelled and no longer worked on: being cleaned up
}

// visit is what a service does for one attempt: a call through its own stack.
// A service is as patient as the callers: it gives its calls up one horizon
// after it began them, so that nothing hangs for ever.
type visit struct {
	policy.Request
	attempt *attempt
	running policy.Running
	horizon clock.Timer
}

// Start implements [policy.Stage].
func (c *caller) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	a, o := c.start(call, to)
	if !o.Open() {
		return nil, o
	}
	return a, o
}

// start also returns an attempt that is over already, for a look before the next
// one begins.
func (c *caller) start(call policy.Call, to policy.Receiver) (*attempt, policy.Outcome) {
	r := c.runner
	q, parent := owners(call.Request)
	nth := q.nth[c.target]
	q.nth[c.target]++
	now := r.loop.Now()

	a := r.newAttempt()
	a.request, a.parent, a.to, a.deadline, a.open = q, parent, to, call.Deadline, !q.Over
	answer := &a.answer
	r.clusters[c.target].Answer(q.Index, nth, answer)
	a.row = record.Attempt{
		Request: q.Index, Intended: q.row.Intended, Index: q.row.Attempts,
		Dependency: c.target, Nth: nth, Why: call.Why, Parent: -1, Replica: answer.Replica,
		Start: now, FirstToken: record.Never, Wrote: record.Never, Tokens: -1, Cost: answer.Cost, Again: call.Why == record.Retry || call.Why == record.Hedge,
	}
	if parent != nil {
		a.row.Parent = parent.row.Index
		a.row.Again = a.row.Again || parent.row.Again
	}
	q.row.Attempts++
	q.row.Cost += answer.Cost
	q.alive++
	r.tally.attempts++
	if r.active++; r.active > r.peakAttempts {
		r.peakAttempts, r.peakAttemptsAt = r.active, now
	}
	return a, a.enter()
}

// owners returns the request that a call belongs to, and the attempt whose
// service makes the call, if any.
func owners(q *policy.Request) (*request, *attempt) {
	if v, ok := q.Owner.(*visit); ok {
		return v.attempt.request, v.attempt
	}
	return q.Owner.(*request), nil
}

// newAttempt returns one with nothing set but what every attempt begins with.
func (r *runner) newAttempt() *attempt {
	if n := len(r.attemptsPool); n > 0 {
		a := r.attemptsPool[n-1]
		r.attemptsPool = r.attemptsPool[:n-1]
		return a
	}
	return &attempt{runner: r, busySince: record.Never}
}

// enter brings the attempt to the dependency. What needs no waiting does not
// queue: then the outcome is there at once.
func (a *attempt) enter() policy.Outcome {
	if station := a.runner.clusters[a.row.Dependency].Station(a.answer.Replica); station != nil && !a.answer.Refused {
		a.job = dependency.Job{Owner: a, Work: a.answer.After, Hangs: a.answer.Hangs, Scales: a.answer.Scales}
		switch taken, waits := station.Enter(&a.job); {
		case waits:
			return policy.Outcome{}
		case !taken:
			return a.end(record.Overload)
		}
		a.begin()
		if a.job.Done() {
			return a.work()
		}
		return policy.Outcome{}
	}
	a.setFirstToken()
	switch {
	case a.answer.Hangs:
	case a.answer.After == 0:
		return a.work()
	default:
		a.timer = a.runner.loop.After(a.answer.After, a)
	}
	return policy.Outcome{}
}

// begin notes that a worker has taken the attempt up.
func (a *attempt) begin() {
	a.busySince = a.runner.loop.Now()
	a.row.Wait = a.busySince - a.row.Start
	a.setFirstToken()
	a.tellTaken()
}

// watch has somebody told of the answer, and how long it takes, once the work has
// begun.
func (a *attempt) watch(taken func(*dependency.Answer, time.Duration)) {
	a.taken = taken
	if a.job.Owner == nil || a.busySince != record.Never {
		a.tellTaken()
	}
}

func (a *attempt) tellTaken() {
	if taken := a.taken; taken != nil {
		a.taken = nil
		after := a.answer.After
		if a.answer.Scales {
			after = time.Duration(math.Round(float64(after) * a.job.Slow))
		}
		taken(&a.answer, after)
	}
}

// noteWait notes how long the attempt waited for a worker that it never got.
func (a *attempt) noteWait() {
	if a.job.Owner != nil && a.busySince == record.Never {
		a.row.Wait = a.runner.loop.Now() - a.row.Start
	}
}

func (a *attempt) setFirstToken() {
	if first := a.answer.FirstToken; first >= 0 {
		if a.answer.Scales {
			first = time.Duration(math.Round(float64(first) * a.job.Slow))
		}
		a.row.FirstToken = a.runner.loop.Now() + first
	}
}

// Began implements [dependency.Worker].
func (a *attempt) Began() { a.begin() }

// Worked implements [dependency.Worker].
func (a *attempt) Worked() { a.report(a.work()) }

// Dropped implements [dependency.Worker].
func (a *attempt) Dropped() { a.report(a.end(record.Overload)) }

// Happen implements [clock.Event]: the answer is there or, once the caller has
// left, the deadline or the end of the clean-up.
func (a *attempt) Happen() {
	a.timer = clock.Timer{}
	switch {
	case a.stopped:
		a.gone()
	case a.row.Cancelled && a.answer.Heeds && a.runner.loop.Now() >= a.deadline:
		a.stop()
	default:
		a.report(a.work())
	}
}

// report tells the caller how the attempt ended, if it still is there.
func (a *attempt) report(o policy.Outcome) {
	if !o.Open() && a.to != nil {
		to := a.to
		a.to = nil
		to.Ended(o)
	}
}

// work is what follows when the dependency's own work is done: the answer, or
// for a service the calls that it makes.
func (a *attempt) work() policy.Outcome {
	if a.answer.Fails {
		return a.end(a.answer.Failure())
	}
	stack := a.runner.services[a.row.Dependency]
	if stack == nil {
		return a.end(record.None)
	}
	a.visit = &visit{attempt: a}
	a.visit.Request = policy.Request{Index: a.request.Index, Caller: a.request.Caller, Owner: a.visit}
	r := a.runner
	call := policy.Call{Request: &a.visit.Request, Path: uint64(a.row.Nth), Deadline: r.loop.Now() + r.horizon}
	if a.answer.Heeds {
		call.Deadline = min(call.Deadline, a.deadline)
	}
	a.visit.horizon = r.loop.At(r.loop.Now()+r.horizon, clock.Horizon, a.visit)
	running, o := stack.Start(call, a.visit)
	if o.Open() {
		a.visit.running = running
		if a.row.Cancelled && a.answer.Heeds { // its caller left while it was at its own work
			r.loop.Cancel(a.timer)
			a.timer = r.loop.At(a.deadline, clock.Work, a)
		}
		return o
	}
	return a.visited(o)
}

// Happen implements [clock.Event]: the service gives its calls up.
func (v *visit) Happen() {
	a, running := v.attempt, v.running
	v.horizon = clock.Timer{}
	a.leaveVisit()
	running.Cancel()
	a.report(a.end(record.Failure))
}

// Ended implements [policy.Receiver]: the service's calls are over.
func (v *visit) Ended(o policy.Outcome) {
	a := v.attempt
	v.running = nil
	a.report(a.visited(o))
}

// visited ends the attempt as its service's calls ended: a caller sees no more
// of their failure than that the service failed.
func (a *attempt) visited(o policy.Outcome) policy.Outcome {
	a.leaveVisit()
	if o.Success() {
		return a.end(record.None)
	}
	return a.end(record.Failure)
}

// leaveVisit closes the books of the service's calls.
func (a *attempt) leaveVisit() {
	v := a.visit
	v.Over = true
	a.runner.loop.Cancel(v.horizon)
	a.request.Refusals += v.Refusals
	a.request.Denied += v.Denied
	a.visit = nil
}

// end ends the attempt: it is gone, and its caller has an outcome, if it still
// waits for one.
func (a *attempt) end(cause record.Cause) policy.Outcome {
	o := policy.Completed(a.row.Dependency, a.row.FirstToken)
	if cause != record.None {
		o = policy.Ended(cause)
		o.RetryAfter = a.answer.RetryAfter
		a.row.FirstToken = record.Never
	}
	a.noteWait()
	if !a.row.Cancelled {
		a.row.Cause = cause
		a.row.End = a.runner.loop.Now()
		a.row.Status = a.answer.Status
		if cause == record.None && a.answer.Tokens > 0 {
			a.row.Tokens = a.answer.Tokens
		}
		a.row.Pending = a.open && a.answered()
		a.runner.clusters[a.row.Dependency].Ended(a.answer.Replica)
	}
	a.gone()
	return o
}

// Cancel implements [policy.Running]: the caller has left. The attempt goes on
// existing until the dependency is rid of it, and is counted until then.
func (a *attempt) Cancel() {
	r := a.runner
	a.to = nil
	a.row.Cancelled = true
	a.row.End = r.loop.Now()
	a.row.Pending = a.open && a.answered()
	if a.row.FirstToken > a.row.End {
		a.row.FirstToken = record.Never
	}
	r.clusters[a.row.Dependency].Ended(a.answer.Replica)
	switch late := a.answer.Heeds && a.row.End >= a.deadline; {
	case !a.answer.Burns || a.answer.Hangs || late:
		a.stop()
	case a.answer.Heeds:
		a.burnUntilDeadline()
	}
}

// answered reports whether the request's caller has had its answer.
func (a *attempt) answered() bool {
	return a.request.Over && a.request.row.Outcome != record.Censored
}

// burnUntilDeadline lets the work go on, but not beyond the deadline.
func (a *attempt) burnUntilDeadline() {
	if a.job.Owner != nil || a.visit != nil { // the timer is not in use
		a.timer = a.runner.loop.At(a.deadline, clock.Work, a)
		return
	}
	if end := a.row.Start + a.answer.After; end > a.deadline {
		a.runner.loop.Cancel(a.timer)
		a.timer = a.runner.loop.At(a.deadline, clock.Work, a)
	}
}

// stop ends the work on a cancelled attempt: what is left is the clean-up.
func (a *attempt) stop() {
	a.stopped = true
	a.runner.loop.Cancel(a.timer)
	a.timer = clock.Timer{}
	a.noteWait()
	if a.job.Owner != nil {
		a.job.Stop()
	}
	if v := a.visit; v != nil {
		running := v.running
		a.leaveVisit()
		running.Cancel()
	}
	if cleanup := a.answer.Cleanup; cleanup > 0 {
		a.timer = a.runner.loop.After(cleanup, a)
		return
	}
	a.gone()
}

// unwanted reports whether nobody waits for the attempt's answer any more: its
// caller has left it, or is a service whose own caller has.
func (a *attempt) unwanted() bool {
	for ; a != nil; a = a.parent {
		if a.row.Cancelled {
			return true
		}
	}
	return false
}

// gone ends the attempt for good, frees its worker and writes its row.
func (a *attempt) gone() {
	r, q := a.runner, a.request
	r.loop.Cancel(a.timer)
	a.timer = clock.Timer{}
	now := r.loop.Now()
	r.active--
	a.row.CleanupEnd = now
	a.row.Wasted = a.unwanted() || r.host != nil && q.Over
	if a.busySince != record.Never {
		a.row.Busy = now - a.busySince
	}
	if a.job.Owner != nil {
		a.job.Free()
	}
	if q.Over {
		a.row.Cleanup = max(0, a.row.CleanupEnd-q.row.End)
	}
	r.sink.Attempt(&a.row)
	q.alive--
	q.recycle()
	if r.services[a.row.Dependency] == nil { // a service's calls may still refer to it
		if a.job.Owner != nil {
			a.job, a.busySince = dependency.Job{}, record.Never
		}
		a.stopped, a.taken = false, nil
		r.attemptsPool = append(r.attemptsPool, a)
	}
}
