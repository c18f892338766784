package policy

import (
	"time"

	"brunt/chance"
	"brunt/check"
	"brunt/record"
)

// Throttle refuses calls by chance when the dependency accepts too few of
// them: the adaptive throttling of B. Beyer and others, Site Reliability
// Engineering (2016), chapter 21, "Handling Overload", "Client-Side
// Throttling". A call is refused with the probability of equation 21-1,
//
//	max(0, (requests - k*accepts) / (requests + 1))
//
// with both counts over the last `window`, kept in ten buckets that begin at
// multiples of a tenth of it, as a breaker keeps them. Requests are all calls
// that came to the stage, those that it refused included, so that the
// probability grows with what callers want. At a dependency that accepts a
// constant rate, k calls reach it for each that it accepts. The one below the
// line lets a call through now and then, however bad things are.
//
// An accept is a call that the dependency did not turn away: by the book what
// counts against it are rejections for want of quota. So a call that failed for
// a reason of its own is an accept, unless `rejects` says otherwise (most
// libraries count every error against it, as go-zero and Kratos do).
//
// A call counts when its fate is known, at its end or its refusal: calls under
// way speak neither for nor against the dependency. Were they counted from their
// start, the first calls of a run would be refused until the first answer came.
// A call that is cancelled, or that a stage inside refuses, never counts.
type Throttle struct {
	// How many calls may reach the dependency for each that it accepts.
	K float64 `yaml:"k"`
	// Over how much time calls count.
	Window time.Duration `yaml:"window"`
	// How many calls must have counted before any is refused. The book has no such bound.
	MinCalls int `yaml:"min_calls"`
	// Outcomes that count as not accepted: overload (with connect and reset of real targets), timeout, failure (with status and stream). Without it: overload and timeout.
	Rejects []Pushback `yaml:"rejects"`
}

// Pushback names an outcome by which a dependency can say that it has no room.
type Pushback string

// The outcomes that can be read in this way.
const (
	PushbackOverload Pushback = "overload"
	PushbackTimeout  Pushback = "timeout"
	PushbackFailure  Pushback = "failure"
)

var pushbacks = map[Pushback][]record.Cause{
	PushbackOverload: {record.Overload, record.Connect, record.Reset},
	PushbackTimeout:  {record.Timeout},
	PushbackFailure:  {record.Failure, record.Status, record.Stream},
}

// pushback says for each cause whether it is in a list; an empty list stands
// for overload and timeout.
func pushback(list []Pushback) (set [16]bool) {
	if len(list) == 0 {
		list = []Pushback{PushbackOverload, PushbackTimeout}
	}
	for _, p := range list {
		for _, cause := range pushbacks[p] {
			set[cause] = true
		}
	}
	return set
}

func checkPushback(p check.Problems, field string, list []Pushback) {
	for _, v := range list {
		check.OneOf(p, field, v, PushbackOverload, PushbackTimeout, PushbackFailure)
	}
}

// SetDefaults sets the values of the book: k of 2, over two minutes.
func (c *Throttle) SetDefaults() { *c = Throttle{K: 2, Window: 2 * time.Minute} }

// Check implements [Config].
func (c *Throttle) Check(p check.Problems) {
	check.Between(p, "k", c.K, 1, 1e6)
	p.Positive("window", c.Window)
	if c.Window > 0 && c.Window < buckets {
		p.Add("window", c.Window, "expected at least %dns: it is kept in %d buckets", buckets, buckets)
	}
	check.Between(p, "min_calls", c.MinCalls, 0, 1e9)
	checkPushback(p, "rejects", c.Rejects)
}

// Bound implements [Config]: at worst it lets everything through.
func (c *Throttle) Bound(inner Bound) Bound { return inner }

// Wrap implements [Config].
func (c *Throttle) Wrap(inner Stage, name string, env *Env) Stage {
	return &throttle{config: c, inner: inner, env: env, id: chance.Name(name), rejects: pushback(c.Rejects)}
}

type throttle struct {
	config  *Throttle
	inner   Stage
	env     *Env
	id      uint64
	rejects [16]bool

	present int64 // the number of the bucket of time that is now
	history [buckets]accepted
	sum     accepted // of what history holds

	runs pool[throttleRun]
}

// accepted counts calls, and those of them that the dependency accepted.
type accepted struct{ requests, accepts int64 }

// throttleRun is one call that was let through.
type throttleRun struct {
	stage *throttle
	to    Receiver
	inner Running
}

// forget drops what is no longer in the window.
func (s *throttle) forget() {
	bucket := int64(s.env.Loop.Now() / (s.config.Window / buckets))
	if bucket-s.present >= buckets {
		s.history, s.sum = [buckets]accepted{}, accepted{}
		s.present = bucket
	}
	for s.present < bucket {
		s.present++
		old := &s.history[s.present%buckets]
		s.sum.requests -= old.requests
		s.sum.accepts -= old.accepts
		*old = accepted{}
	}
}

// count counts a call of now.
func (s *throttle) count(accepts bool) {
	s.forget()
	now := &s.history[s.present%buckets]
	now.requests++
	s.sum.requests++
	if accepts {
		now.accepts++
		s.sum.accepts++
	}
}

// probability returns the chance with which a call of now is refused. The
// conversion keeps the compiler from fusing two operations into one, which
// would round otherwise on some machines.
func (s *throttle) probability() float64 {
	s.forget()
	if s.sum.requests < int64(s.config.MinCalls) {
		return 0
	}
	return max(0, (float64(s.sum.requests)-float64(s.config.K*float64(s.sum.accepts)))/float64(s.sum.requests+1))
}

func (s *throttle) Start(call Call, to Receiver) (Running, Outcome) {
	if p := s.probability(); p > 0 && s.env.Chance.Draw(chance.Throttle, call.Request.Index, s.id, call.Path).Float() < p {
		s.count(false)
		return nil, refuse(call, record.Throttle)
	}
	r := s.runs.get()
	*r = throttleRun{stage: s, to: to}
	inner, o := s.inner.Start(call, r)
	if !o.Open() {
		s.learn(o)
		s.runs.put(r)
		return nil, o
	}
	r.inner = inner
	return r, o
}

// learn counts a call that has ended inside.
func (s *throttle) learn(o Outcome) {
	if !o.Refused() {
		s.count(!s.rejects[o.Cause])
	}
}

// Ended implements [Receiver] for the call inside.
func (r *throttleRun) Ended(o Outcome) {
	s, to := r.stage, r.to
	s.learn(o)
	s.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *throttleRun) Cancel() {
	r.inner.Cancel()
	r.stage.runs.put(r)
}
