package policy

import (
	"slices"
	"time"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// Retry repeats a call that did not complete.
//
// It repeats on failure and on timeout; `on` narrows this when it names just
// one of the two. A refusal by a stage inside (circuit, limiter, rate,
// throttle) is repeated only when `on` lists it: a caller that a breaker has just refused
// gains nothing by asking again. The last outcome is the outcome. Without a
// backoff, the next try starts inside the report of the last one.
//
// A retry that its `budget` denies, or that could not end before the call's
// deadline (`needs`), is not made: the last outcome is the outcome at once,
// without the wait. The deadline is asked first, so that a budget never pays
// for what is not made; it is the end of the shortest timeout around the
// retry, or the horizon.
type Retry struct {
	// How many tries there are in total, the first one included.
	Attempts int `yaml:"attempts"`
	// The wait before each further try.
	Backoff Backoff `yaml:"backoff"`
	// Outcomes that are repeated: failure, timeout, circuit, limiter, rate, throttle. Failure and timeout are, unless the list names just one of them.
	On []Retryable `yaml:"on"`
	// What bounds the load that retries add; nothing when omitted.
	Budget *Budget `yaml:"budget"`
	// How the retry heeds a dependency that says when to come again; not at all when omitted.
	RetryAfter *RetryAfter `yaml:"retry_after"`
	// How long a try takes at least: none starts with less than that left before the call's deadline, nor at it. Off when omitted.
	Needs *time.Duration `yaml:"needs"`
}

// RetryAfter makes a retry wait as long as the dependency asks, when that is
// longer than the backoff.
type RetryAfter struct {
	// The longest such wait: a dependency that asks for more gets this.
	Cap time.Duration `yaml:"cap"`
}

// SetDefaults sets a cap of ten seconds.
func (c *RetryAfter) SetDefaults() { *c = RetryAfter{Cap: 10 * time.Second} }

// Retryable names an outcome that a retry can repeat.
type Retryable string

// The outcomes that a retry can repeat.
const (
	OnFailure  Retryable = "failure"
	OnTimeout  Retryable = "timeout"
	OnCircuit  Retryable = "circuit"
	OnLimiter  Retryable = "limiter"
	OnRate     Retryable = "rate"
	OnThrottle Retryable = "throttle"
)

var retryables = map[Retryable]record.Cause{
	OnFailure: record.Failure, OnTimeout: record.Timeout,
	OnCircuit: record.Circuit, OnLimiter: record.Limiter, OnRate: record.Rate, OnThrottle: record.Throttle,
}

// SetDefaults sets three attempts with the default backoff.
func (c *Retry) SetDefaults() { *c = Retry{Attempts: 3, Backoff: DefaultBackoff} }

// Check implements [Config].
func (c *Retry) Check(p check.Problems) {
	check.Between(p, "attempts", c.Attempts, 1, 1000)
	c.Backoff.Check(p.In("backoff"))
	for _, on := range c.On {
		check.OneOf(p, "on", on, OnFailure, OnTimeout, OnCircuit, OnLimiter, OnRate, OnThrottle)
	}
	if c.Attempts == 1 {
		p.Doubt("attempts", c.Attempts, "a retry with one attempt never repeats anything")
	}
	if c.Budget != nil {
		c.Budget.Check(p.In("budget"))
		if c.Attempts == 1 {
			p.Doubt("budget", nil, "has nothing to bound: a retry with one attempt never repeats anything")
		}
	}
	if c.RetryAfter != nil {
		p.In("retry_after").Positive("cap", c.RetryAfter.Cap)
	}
	if c.Needs != nil {
		p.NotNegative("needs", *c.Needs)
	}
}

// repeats says for each cause whether it is repeated.
func (c *Retry) repeats() (set [16]bool) {
	failure, timeout := slices.Contains(c.On, OnFailure), slices.Contains(c.On, OnTimeout)
	for _, on := range c.On {
		set[retryables[on]] = true
	}
	if !failure && !timeout {
		set[record.Failure], set[record.Timeout] = true, true
	}
	// what real targets report, and a dependency without room, is a failure by another name
	for cause := record.Connect; cause <= record.Overload; cause++ {
		set[cause] = set[record.Failure]
	}
	return set
}

// Bound implements [Config]: every try but the last fails as late as it can,
// and every wait is as long as it can be. No budget and no deadline helps.
func (c *Retry) Bound(inner Bound) Bound {
	b := Bound{timesCount(inner.Attempts, int64(c.Attempts)), times(inner.Longest, int64(c.Attempts))}
	for n := 1; n < c.Attempts && b.Longest != Unbounded; n++ {
		wait := c.Backoff.longest(n)
		if c.RetryAfter != nil {
			wait = max(wait, c.RetryAfter.Cap)
		}
		b.Longest = plus(b.Longest, wait)
	}
	return b
}

// Wrap implements [Config].
func (c *Retry) Wrap(inner Stage, name string, env *Env) Stage {
	return &retry{config: c, inner: inner, env: env, repeats: c.repeats(), id: env.Number, budget: c.Budget.budget(name, env)}
}

type retry struct {
	config  *Retry
	inner   Stage
	env     *Env
	repeats [16]bool
	id      uint64
	budget  budget // nil for none
	runs    pool[retryRun]
}

// retryRun is one call through a retry: it waits either for the inner call or
// for its timer.
type retryRun struct {
	stage    *retry
	call     Call
	to       Receiver
	tries    int
	previous time.Duration
	inner    Running
	timer    clock.Timer
	extra    bool  // the budget has granted the try under way, or the one that is waited for
	cost     int64 // what the budget took for it
}

func (s *retry) Start(call Call, to Receiver) (Running, Outcome) {
	if s.budget != nil {
		s.budget.begin()
		s.budget.launch()
	}
	r := s.runs.get()
	*r = retryRun{stage: s, call: call, to: to, tries: 1}
	var o Outcome
	if r.inner, o = s.inner.Start(call, r); !o.Open() {
		o = r.settle(o)
	}
	if !o.Open() {
		r.leave()
		s.runs.put(r)
		return nil, o
	}
	return r, o
}

// settle repeats until a call is under way, a wait has begun, or nothing is
// left to repeat; then it returns the outcome.
func (r *retryRun) settle(o Outcome) Outcome {
	s := r.stage
	for !o.Open() {
		r.inner = nil
		if s.budget != nil {
			r.learn(o)
		}
		if !s.repeats[o.Cause] || r.tries >= s.config.Attempts {
			break
		}
		d := r.wait(o)
		if !r.inTime(d) || !r.granted(o.Cause) {
			break
		}
		if d > 0 {
			r.timer = s.env.Loop.After(d, r)
			return Outcome{}
		}
		o = r.next()
	}
	return o
}

// learn lets the budget know how a try ended.
func (r *retryRun) learn(o Outcome) {
	s := r.stage
	how := neutral
	switch {
	case o.Success():
		how = succeeded
	case s.repeats[o.Cause]:
		how = failed
	}
	s.budget.settle(how, true, r.extra, r.cost)
}

// wait returns how long to wait before the next try.
func (r *retryRun) wait(o Outcome) time.Duration {
	s := r.stage
	draw := s.env.Chance.Draw(chance.Jitter, r.call.Request.Index, s.id, r.call.Path*0x9e3779b97f4a7c15+uint64(r.tries))
	d := s.config.Backoff.delay(r.tries, &r.previous, draw)
	if s.config.RetryAfter != nil {
		d = max(d, min(o.RetryAfter, s.config.RetryAfter.Cap))
	}
	return d
}

// inTime reports whether a try that starts after a wait could end before the
// deadline.
func (r *retryRun) inTime(wait time.Duration) bool {
	if r.stage.config.Needs == nil {
		return true
	}
	left := r.call.Deadline - r.stage.env.Loop.Now() - wait
	return left > 0 && left >= *r.stage.config.Needs
}

// granted asks the budget for one more try.
func (r *retryRun) granted(after record.Cause) (ok bool) {
	if r.stage.budget == nil {
		return true
	}
	if r.cost, ok = r.stage.budget.grant(after); !ok {
		r.call.Request.Denied++
	}
	r.extra = ok
	return ok
}

// leave lets the budget know that the call is over.
func (r *retryRun) leave() {
	if r.stage.budget != nil {
		r.stage.budget.end()
	}
}

func (r *retryRun) next() (o Outcome) {
	call := r.call.again(record.Retry, r.tries)
	r.tries++
	if b := r.stage.budget; b != nil {
		b.launch()
	}
	r.inner, o = r.stage.inner.Start(call, r)
	return o
}

// Ended implements [Receiver] for the call inside.
func (r *retryRun) Ended(o Outcome) { r.report(r.settle(o)) }

// Happen implements [clock.Event]: the backoff is over.
func (r *retryRun) Happen() {
	r.timer = clock.Timer{}
	r.report(r.settle(r.next()))
}

func (r *retryRun) report(o Outcome) {
	if o.Open() {
		return
	}
	to := r.to
	r.leave()
	r.stage.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *retryRun) Cancel() {
	if r.inner != nil {
		r.inner.Cancel()
	}
	r.stage.env.Loop.Cancel(r.timer)
	if b := r.stage.budget; b != nil {
		b.settle(neutral, r.inner != nil, r.extra, r.cost)
	}
	r.leave()
	r.stage.runs.put(r)
}
