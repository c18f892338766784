package policy

import (
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Rate lets so many calls start in so much time: a token bucket.
//
// The bucket holds `burst` tokens and is full at first; tokens flow in evenly.
// A call takes one token and goes in, also when the token comes in at this
// very instant. Without a token it is refused or, with `wait`, waits its turn,
// first in, first out; a waiter that is cancelled takes no token. The level is
// kept as a whole number, so that no token is lost to rounding.
type Rate struct {
	// How many tokens flow in, in how much time.
	Rate clock.Rate `yaml:"rate"`
	// How many tokens the bucket holds.
	Burst int `yaml:"burst"`
	// Whether a call without a token waits for one instead of being refused.
	Wait bool `yaml:"wait"`
}

// SetDefaults sets a bucket of one token.
func (c *Rate) SetDefaults() { *c = Rate{Burst: 1} }

// Check implements [Config].
func (c *Rate) Check(p check.Problems) {
	if c.Rate.IsZero() {
		p.Add("rate", nil, "missing: expected a rate such as 100/s")
		return
	}
	_, per := c.Rate.Fraction()
	check.Between(p, "burst", c.Burst, 1, min(1e6, int(1<<62/per)))
}

// Bound implements [Config].
func (c *Rate) Bound(inner Bound) Bound {
	if c.Wait {
		inner.Longest = Unbounded
	}
	return inner
}

// Wrap implements [Config].
func (c *Rate) Wrap(inner Stage, name string, env *Env) Stage {
	count, per := c.Rate.Fraction()
	full := int64(c.Burst) * int64(per)
	return &rate{wait: c.Wait, inner: inner, name: name, caller: env.Caller, env: env, count: count, token: int64(per), full: full, level: full}
}

// rate keeps its level in units of which `token` make a token and `count` flow
// in every nanosecond.
type rate struct {
	wait   bool
	inner  Stage
	name   string
	caller int32
	env    *Env

	count, token, full int64
	level              int64
	at                 time.Duration // when level was true

	queue waiters[rateRun, *rateRun]
	timer clock.Timer   // the first waiter's token
	due   time.Duration // when that token comes
	runs  pool[rateRun]
}

// rateRun is one call that waits or has waited.
type rateRun struct {
	stage *rate
	call  Call
	to    Receiver
	links[rateRun]
	inner Running // nil while it waits
}

// take takes a token, if there is one.
func (s *rate) take() bool {
	now := s.env.Loop.Now()
	if d := int64(now - s.at); d > (s.full-s.level)/s.count {
		s.level = s.full
	} else {
		s.level += d * s.count
	}
	s.at = now
	if s.level < s.token {
		return false
	}
	s.level -= s.token
	return true
}

func (s *rate) Start(call Call, to Receiver) (Running, Outcome) {
	if s.queue.n == 0 && s.take() {
		return s.inner.Start(call, to)
	}
	if !s.wait {
		return nil, refuse(call, record.Rate)
	}
	r := s.runs.get()
	*r = rateRun{stage: s, call: call, to: to}
	s.join(r)
	return r, Outcome{}
}

func (s *rate) join(r *rateRun) {
	s.queue.push(r)
	s.env.observe(s.caller, s.name, record.WhatQueue, "", int64(s.queue.n))
	if s.queue.n == 1 {
		s.await()
	}
}

func (s *rate) leave(r *rateRun) {
	s.queue.remove(r)
	s.env.observe(s.caller, s.name, record.WhatQueue, "", int64(s.queue.n))
}

// await sets the timer for the next token.
func (s *rate) await() {
	short := s.token - s.level
	s.due = s.at + time.Duration((short+s.count-1)/s.count)
	s.timer = s.env.Loop.At(s.due, clock.Work, s)
}

// Happen implements [clock.Event]: the first waiter's token has come. What
// flowed in is counted to the instant at which the token was due, and never
// cut to the burst: a waiter takes it out as it comes, so neither the rounding
// of that instant nor a late clock may cost those behind it anything.
func (s *rate) Happen() {
	s.timer = clock.Timer{}
	s.level += int64(s.due-s.at)*s.count - s.token
	s.at = s.due
	r := s.queue.first
	s.leave(r)
	if s.queue.n > 0 {
		s.await()
	}
	var o Outcome
	if r.inner, o = s.inner.Start(r.call, r); !o.Open() {
		r.Ended(o)
	}
}

// Ended implements [Receiver] for the call inside of one that waited.
func (r *rateRun) Ended(o Outcome) {
	to := r.to
	r.stage.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *rateRun) Cancel() {
	s := r.stage
	if r.inner != nil {
		r.inner.Cancel()
	} else {
		s.leave(r)
		if s.queue.n == 0 { // else the token that is due is the next one's
			s.env.Loop.Cancel(s.timer)
			s.timer = clock.Timer{}
		}
	}
	s.runs.put(r)
}
