package policy

import (
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Timeout gives a call up after a while.
//
// The timer is set after the call inside has started, so an answer at exactly
// `after` wins. When the time is over the call inside is cancelled and the
// outcome is a timeout; a late answer changes nothing, but the dependency
// still bears the attempt until its clean-up ends.
type Timeout struct {
	// How long the call inside may take.
	After time.Duration `yaml:"after"`
}

// Check implements [Config].
func (c *Timeout) Check(p check.Problems) { p.Positive("after", c.After) }

// Bound implements [Config].
func (c *Timeout) Bound(inner Bound) Bound {
	return Bound{inner.Attempts, min(inner.Longest, c.After)}
}

// Wrap implements [Config].
func (c *Timeout) Wrap(inner Stage, _ string, env *Env) Stage {
	return &timeout{after: c.After, inner: inner, loop: env.Loop}
}

type timeout struct {
	after time.Duration
	inner Stage
	loop  *clock.Loop
	runs  pool[timeoutRun]
}

type timeoutRun struct {
	stage *timeout
	to    Receiver
	inner Running
	timer clock.Timer
	over  bool // the time is over: the call inside is being cancelled
	gone  bool // cancelled meanwhile
}

func (s *timeout) Start(call Call, to Receiver) (Running, Outcome) {
	r := s.runs.get()
	call.Deadline = min(call.Deadline, s.loop.Now()+s.after)
	inner, o := s.inner.Start(call, r)
	if !o.Open() {
		s.runs.put(r)
		return nil, o
	}
	*r = timeoutRun{stage: s, to: to, inner: inner, timer: s.loop.After(s.after, r)}
	return r, o
}

// Ended implements [Receiver] for the call inside.
func (r *timeoutRun) Ended(o Outcome) {
	r.stage.loop.Cancel(r.timer)
	to := r.to
	r.stage.runs.put(r)
	to.Ended(o)
}

// Happen implements [clock.Event]: the time is over.
//
// A permit that this sets free may let in another attempt of the same hedged
// call. Should that one succeed at once, the hedge cancels all others, this
// one included, in the middle of its end: then there is nothing left to report.
func (r *timeoutRun) Happen() {
	r.over = true
	r.inner.Cancel()
	to, gone := r.to, r.gone
	r.stage.runs.put(r)
	if !gone {
		to.Ended(Ended(record.Timeout))
	}
}

// Cancel implements [Running].
func (r *timeoutRun) Cancel() {
	if r.over {
		r.gone = true
		return
	}
	r.stage.loop.Cancel(r.timer)
	r.inner.Cancel()
	r.stage.runs.put(r)
}
