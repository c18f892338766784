package policy

import (
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Hedge starts further attempts while the first is slow to answer; the first
// success wins.
//
// The timer is set to `after` once an attempt has started; each launch cancels
// it and sets it anew while extras remain. With `on_failure` a failure or
// timeout launches the next attempt at once; without, it leaves the others to
// go on, and is the outcome when nothing is open. A refused attempt launches
// nothing early; when nothing is left open the refusal is the outcome. When
// all have failed, the last failure is the outcome. The losers, attempts still
// open when one succeeds, are cancelled after the caller has its answer.
type Hedge struct {
	// How many attempts may be launched besides the first.
	Extra int `yaml:"extra"`
	// How long an attempt may take before the next one is launched.
	After time.Duration `yaml:"after"`
	// Whether a failure launches the next attempt at once.
	OnFailure bool `yaml:"on_failure"`
}

// SetDefaults sets one extra attempt, launched at once on a failure.
func (c *Hedge) SetDefaults() { *c = Hedge{Extra: 1, OnFailure: true} }

// Check implements [Config].
func (c *Hedge) Check(p check.Problems) {
	check.Between(p, "extra", c.Extra, 1, 100)
	p.NotNegative("after", c.After)
}

// Bound implements [Config]: the last attempt starts when all timers have run
// out or, if that is later, when all before it have failed.
func (c *Hedge) Bound(inner Bound) Bound {
	step := c.After
	if c.OnFailure {
		step = min(step, inner.Longest)
	}
	return Bound{
		Attempts: timesCount(inner.Attempts, int64(c.Extra)+1),
		Longest:  plus(inner.Longest, times(step, int64(c.Extra))),
	}
}

// Wrap implements [Config].
func (c *Hedge) Wrap(inner Stage, _ string, env *Env) Stage {
	return &hedge{config: c, inner: inner, env: env}
}

type hedge struct {
	config *Hedge
	inner  Stage
	env    *Env
	runs   pool[hedgeRun]
}

// hedgeRun is one call through a hedge.
type hedgeRun struct {
	stage *hedge
	call  Call
	to    Receiver
	legs  []leg // launched so far; never grows beyond its capacity
	open  int
	over  bool // decided or cancelled: legs are only being cleared away
	timer clock.Timer
}

// leg is one attempt of a hedged call.
type leg struct {
	run   *hedgeRun
	inner Running // nil once it has ended
}

func (s *hedge) Start(call Call, to Receiver) (Running, Outcome) {
	r := s.runs.get()
	if r.legs == nil {
		r.legs = make([]leg, 0, s.config.Extra+1)
	}
	*r = hedgeRun{stage: s, call: call, to: to, legs: r.legs[:0]}
	if o := r.launch(); !o.Open() {
		s.runs.put(r)
		return nil, o
	}
	return r, Outcome{}
}

func (r *hedgeRun) extrasLeft() bool { return len(r.legs) <= r.stage.config.Extra }

// launch starts the next attempt, and further ones as long as each fails at
// once. It returns the outcome of the whole call once that is decided.
func (r *hedgeRun) launch() Outcome {
	for {
		r.stage.env.Loop.Cancel(r.timer)
		o := r.start()
		if !o.Open() {
			var again bool
			if o, again = r.decide(o); again {
				continue
			}
		}
		if o.Open() && r.extrasLeft() {
			r.timer = r.stage.env.Loop.After(r.stage.config.After, r)
		}
		return o
	}
}

// start starts one attempt.
func (r *hedgeRun) start() Outcome {
	n := len(r.legs)
	call := r.call
	if n > 0 {
		call = call.again(record.Hedge, n)
	}
	call.hedge = r
	r.legs = append(r.legs, leg{run: r})
	l := &r.legs[n]
	r.open++
	inner, o := r.stage.inner.Start(call, l)
	if o.Open() {
		l.inner = inner
	}
	return o
}

// decide takes the outcome of one attempt. It returns the outcome of the whole
// call, open when others may still answer, or that the next is due at once.
func (r *hedgeRun) decide(o Outcome) (whole Outcome, again bool) {
	r.open--
	switch {
	case o.Success():
		return o, false
	case o.Failed() && r.stage.config.OnFailure && r.extrasLeft():
		return Outcome{}, true
	case r.open == 0:
		return o, false
	}
	return Outcome{}, false
}

// Ended implements [Receiver] for one attempt.
func (l *leg) Ended(o Outcome) {
	l.inner = nil
	r := l.run
	if r.over {
		return // a loser that ended while the others were being cancelled
	}
	o, again := r.decide(o)
	if again {
		o = r.launch()
	}
	r.settle(o)
}

// Happen implements [clock.Event]: time for the next attempt.
func (r *hedgeRun) Happen() {
	r.timer = clock.Timer{}
	r.settle(r.launch())
}

func (r *hedgeRun) settle(o Outcome) {
	if o.Open() {
		return
	}
	r.over = true
	r.to.Ended(o)
	r.Cancel()
}

// Cancel implements [Running]. The attempts go in the order of their launch.
func (r *hedgeRun) Cancel() {
	r.over = true
	r.stage.env.Loop.Cancel(r.timer)
	for i := range r.legs {
		if inner := r.legs[i].inner; inner != nil {
			r.legs[i].inner = nil
			inner.Cancel()
		}
	}
	r.stage.runs.put(r)
}
