package policy

import (
	"cmp"
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
//
// With a `quantile` the timer is set to that quantile of how long the last
// `over` attempts took that succeeded, as soon as enough of them are known (20,
// and so many that one lies above it); before that, to `after`. An attempt is
// counted from its own start, and a hedged call counts one attempt, the winner:
// how long a loser would have taken nobody knows, so the quantile lies somewhat
// below that of calls without a hedge (so it does in failsafe-go v0.9.8,
// hedgepolicy/hedgeexecutor.go).
//
// Once its `budget` has denied an attempt, the call launches none any more, as
// in failsafe-go; it goes on with those that are open.
type Hedge struct {
	// How many attempts may be launched besides the first.
	Extra int `yaml:"extra"`
	// How long an attempt may take before the next one is launched; with a quantile, until that is known.
	After time.Duration `yaml:"after"`
	// After which quantile of how long successful attempts take the next one is launched. 0% means after a fixed time.
	Quantile check.Share `yaml:"quantile"`
	// Over how many of the last successful attempts the quantile is taken. 0 means 1000.
	Over int `yaml:"over"`
	// Whether a failure launches the next attempt at once.
	OnFailure bool `yaml:"on_failure"`
	// What bounds the load that further attempts add; nothing when omitted.
	Budget *Budget `yaml:"budget"`
}

// SetDefaults sets one extra attempt, launched at once on a failure.
func (c *Hedge) SetDefaults() { *c = Hedge{Extra: 1, OnFailure: true} }

// Check implements [Config].
func (c *Hedge) Check(p check.Problems) {
	check.Between(p, "extra", c.Extra, 1, 100)
	p.NotNegative("after", c.After)
	c.checkQuantile(p)
	if c.Budget != nil {
		c.Budget.Check(p.In("budget"))
	}
}

// mostOver bounds the samples of a quantile: one more takes time that grows
// with their number.
const mostOver = 100_000

func (c *Hedge) checkQuantile(p check.Problems) {
	check.Between(p, "over", c.Over, 0, mostOver)
	switch q := c.moving(); {
	case c.Quantile == 0 && c.Over != 0:
		p.Add("over", c.Over, "goes with a quantile only")
	case c.Quantile == 0:
	case c.Quantile >= check.Whole:
		p.Add("quantile", c.Quantile, "expected less than 100%%: nothing would ever be slower")
	case q.needs() > mostOver:
		p.Add("quantile", c.Quantile, "expected at most 99.999%%: more needs over %d samples", mostOver)
	case q.needs() > q.over:
		p.Add("over", q.over, "never enough for a quantile of %v: expected at least %d", c.Quantile, q.needs())
	case c.After == 0:
		p.Doubt("after", c.After, "launches the next attempt at once until %d attempts have succeeded and the quantile is known", q.needs())
	}
}

// moving returns the quantile of the settings, without samples.
func (c *Hedge) moving() movingQuantile {
	return movingQuantile{ppm: int64(c.Quantile), over: cmp.Or(c.Over, 1000)}
}

// Bound implements [Config]: the last attempt starts when all timers have run
// out or, if that is later, when all before it have failed. A quantile is never
// above the longest time of an attempt. No budget helps.
func (c *Hedge) Bound(inner Bound) Bound {
	step := c.After
	if c.Quantile > 0 {
		step = max(step, inner.Longest)
	}
	if c.OnFailure {
		step = min(step, inner.Longest)
	}
	return Bound{
		Attempts: timesCount(inner.Attempts, int64(c.Extra)+1),
		Longest:  plus(inner.Longest, times(step, int64(c.Extra))),
	}
}

// Wrap implements [Config].
func (c *Hedge) Wrap(inner Stage, name string, env *Env) Stage {
	return &hedge{config: c, inner: inner, env: env, took: c.moving(), budget: c.Budget.budget(name, env)}
}

type hedge struct {
	config *Hedge
	inner  Stage
	env    *Env
	took   movingQuantile
	budget budget // nil for none
	runs   pool[hedgeRun]
}

// hedgeRun is one call through a hedge.
type hedgeRun struct {
	stage  *hedge
	call   Call
	to     Receiver
	legs   []leg // launched so far; never grows beyond its capacity
	open   int
	over   bool // decided or cancelled: legs are only being cleared away
	denied bool // the budget has denied an attempt
	cost   int64
	timer  clock.Timer
}

// leg is one attempt of a hedged call.
type leg struct {
	run   *hedgeRun
	inner Running // nil once it has ended
	at    time.Duration
	extra bool
	cost  int64 // what the budget took for it
}

// after returns how long to wait for an attempt before the next one.
func (s *hedge) after() time.Duration {
	if s.config.Quantile > 0 {
		if d, ok := s.took.value(); ok {
			return d
		}
	}
	return s.config.After
}

func (s *hedge) Start(call Call, to Receiver) (Running, Outcome) {
	if s.budget != nil {
		s.budget.begin()
	}
	r := s.runs.get()
	if r.legs == nil {
		r.legs = make([]leg, 0, s.config.Extra+1)
	}
	*r = hedgeRun{stage: s, call: call, to: to, legs: r.legs[:0]}
	if o := r.launch(); !o.Open() {
		r.leave()
		s.runs.put(r)
		return nil, o
	}
	return r, Outcome{}
}

func (r *hedgeRun) extrasLeft() bool { return !r.denied && len(r.legs) <= r.stage.config.Extra }

// granted asks the budget for the next attempt.
func (r *hedgeRun) granted(after record.Cause) (ok bool) {
	if r.stage.budget == nil {
		return true
	}
	if r.cost, ok = r.stage.budget.grant(after); !ok {
		r.call.Request.Denied++
		r.denied = true
		r.stage.env.Loop.Cancel(r.timer)
	}
	return ok
}

// leave lets the budget know that the call is over.
func (r *hedgeRun) leave() {
	if r.stage.budget != nil {
		r.stage.budget.end()
	}
}

// launch starts the next attempt, and further ones as long as each fails at
// once. It returns the outcome of the whole call once that is decided.
func (r *hedgeRun) launch() Outcome {
	for {
		r.stage.env.Loop.Cancel(r.timer)
		l, o := r.start()
		if !o.Open() {
			var again bool
			if o, again = l.decide(o); again {
				continue
			}
		}
		if o.Open() && r.extrasLeft() {
			r.timer = r.stage.env.Loop.After(r.stage.after(), r)
		}
		return o
	}
}

// start starts one attempt.
func (r *hedgeRun) start() (*leg, Outcome) {
	n := len(r.legs)
	call := r.call
	if n > 0 {
		call = call.again(record.Hedge, n)
	}
	call.hedge = r
	r.legs = append(r.legs, leg{run: r, at: r.stage.env.Loop.Now(), extra: n > 0, cost: r.cost})
	l := &r.legs[n]
	r.open++
	if b := r.stage.budget; b != nil {
		b.launch()
	}
	inner, o := r.stage.inner.Start(call, l)
	if o.Open() {
		l.inner = inner
	}
	return l, o
}

// settle lets the budget know how the attempt ended.
func (l *leg) settle(how verdict) {
	if b := l.run.stage.budget; b != nil {
		b.settle(how, true, l.extra, l.cost)
	}
}

// learn keeps what an attempt says by its end.
func (l *leg) learn(o Outcome) {
	switch s := l.run.stage; {
	case o.Success():
		l.settle(succeeded)
		if s.config.Quantile > 0 {
			s.took.add(s.env.Loop.Now() - l.at)
		}
	case o.Failed():
		l.settle(failed)
	default:
		l.settle(neutral)
	}
}

// decide takes the outcome of one attempt. It returns the outcome of the whole
// call, open when others may still answer, or that the next is due at once.
func (l *leg) decide(o Outcome) (whole Outcome, again bool) {
	r := l.run
	r.open--
	l.learn(o)
	switch {
	case o.Success():
		return o, false
	case o.Failed() && r.stage.config.OnFailure && r.extrasLeft() && r.granted(o.Cause):
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
		l.settle(neutral)
		return // a loser that ended while the others were being cancelled
	}
	o, again := l.decide(o)
	if again {
		o = r.launch()
	}
	r.settle(o)
}

// Happen implements [clock.Event]: time for the next attempt.
func (r *hedgeRun) Happen() {
	r.timer = clock.Timer{}
	if r.granted(record.None) {
		r.settle(r.launch())
	}
}

func (r *hedgeRun) settle(o Outcome) {
	if o.Open() {
		return
	}
	r.over = true
	r.leave()
	r.to.Ended(o)
	r.clear()
}

// Cancel implements [Running].
func (r *hedgeRun) Cancel() {
	r.over = true
	r.leave()
	r.clear()
}

// clear cancels what is still open, in the order of the launches.
func (r *hedgeRun) clear() {
	r.stage.env.Loop.Cancel(r.timer)
	for i := range r.legs {
		l := &r.legs[i]
		if inner := l.inner; inner != nil {
			l.inner = nil
			l.settle(neutral)
			inner.Cancel()
		}
	}
	r.stage.runs.put(r)
}
