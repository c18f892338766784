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
type Retry struct {
	// How many tries there are in total, the first one included.
	Attempts int `yaml:"attempts"`
	// The wait before each further try.
	Backoff Backoff `yaml:"backoff"`
	// Outcomes that are repeated: failure, timeout, circuit, limiter, rate, throttle. Failure and timeout are, unless the list names just one of them.
	On []Retryable `yaml:"on"`
}

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

// Bound implements [Config]: every try but the last fails as late as it can.
func (c *Retry) Bound(inner Bound) Bound {
	b := Bound{timesCount(inner.Attempts, int64(c.Attempts)), times(inner.Longest, int64(c.Attempts))}
	for n := 1; n < c.Attempts && b.Longest != Unbounded; n++ {
		b.Longest = plus(b.Longest, c.Backoff.longest(n))
	}
	return b
}

// Wrap implements [Config].
func (c *Retry) Wrap(inner Stage, name string, env *Env) Stage {
	return &retry{config: c, inner: inner, env: env, repeats: c.repeats(), id: env.id(name)}
}

type retry struct {
	config  *Retry
	inner   Stage
	env     *Env
	repeats [16]bool
	id      uint64
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
}

func (s *retry) Start(call Call, to Receiver) (Running, Outcome) {
	r := s.runs.get()
	*r = retryRun{stage: s, call: call, to: to, tries: 1}
	var o Outcome
	if r.inner, o = s.inner.Start(call, r); !o.Open() {
		o = r.settle(o)
	}
	if !o.Open() {
		s.runs.put(r)
		return nil, o
	}
	return r, o
}

// settle repeats until a call is under way, a wait has begun, or nothing is
// left to repeat; then it returns the outcome.
func (r *retryRun) settle(o Outcome) Outcome {
	s := r.stage
	for !o.Open() && s.repeats[o.Cause] && r.tries < s.config.Attempts {
		r.inner = nil
		draw := s.env.Chance.Draw(chance.Jitter, r.call.Request.Index, s.id, r.call.Path*0x9e3779b97f4a7c15+uint64(r.tries))
		if d := s.config.Backoff.delay(r.tries, &r.previous, draw); d > 0 {
			r.timer = s.env.Loop.After(d, r)
			return Outcome{}
		}
		o = r.next()
	}
	return o
}

func (r *retryRun) next() (o Outcome) {
	call := r.call.again(record.Retry, r.tries)
	r.tries++
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
	r.stage.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *retryRun) Cancel() {
	if r.inner != nil {
		r.inner.Cancel()
	}
	r.stage.env.Loop.Cancel(r.timer)
	r.stage.runs.put(r)
}
