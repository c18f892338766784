package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

const ms = time.Millisecond

// answer is what one attempt will get.
type answer struct {
	after  time.Duration
	cause  record.Cause
	atOnce bool // inside Start
	never  bool
}

func ok(after time.Duration) answer       { return answer{after: after} }
func fails(after time.Duration) answer    { return answer{after: after, cause: record.Failure} }
func timesOut(after time.Duration) answer { return answer{after: after, cause: record.Timeout} }
func atOnce(c record.Cause) answer        { return answer{cause: c, atOnce: true} }

var (
	okNow   = atOnce(record.None)
	failNow = atOnce(record.Failure)
	never   = answer{never: true}
)

// world is a virtual loop with a scripted dependency, some callers, and a log
// of what happened in the order in which it did.
type world struct {
	loop    *clock.Loop
	env     *Env
	answers []answer // by order of start; the last one repeats
	starts  int
	live    int // attempts under way
	late    int // attempts that started although their caller had its answer or had given up
	callers []*caller
	log     []string
}

func newWorld(answers ...answer) *world {
	w := &world{loop: clock.Virtual(), answers: answers}
	w.env = &Env{Loop: w.loop, Chance: chance.New(1), Observe: func(e record.Event) {
		if e.What == record.WhatBreaker {
			w.note("%s %s", e.Stage, e.State)
		}
	}}
	return w
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, w.loop.Now().String()+" "+fmt.Sprintf(format, args...))
}

// wrap builds the stages of a stack, outermost first, around a stage.
func (w *world) wrap(inner Stage, stack ...Config) Stage { return wrap(w.env, inner, stack) }

func wrap(env *Env, inner Stage, stack []Config) Stage {
	for i := len(stack) - 1; i >= 0; i-- {
		name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", stack[i]), "*policy."))
		env.Number++
		inner = stack[i].Wrap(inner, name, env)
	}
	return inner
}

// target is the scripted dependency; its name tells branches apart in the log.
type target struct {
	w    *world
	name string
}

func (d target) Start(call Call, to Receiver) (Running, Outcome) {
	w := d.w
	a := w.answers[min(w.starts, len(w.answers)-1)]
	w.starts++
	at := &attempt{w: w, n: w.starts, to: to, answer: a}
	if c, is := call.Request.Owner.(*caller); is && (c.ends > 0 || c.gaveUp) {
		w.late++
	}
	text := fmt.Sprintf("attempt %d start", at.n)
	if d.name != "" {
		text += " " + d.name
	}
	if call.Why != record.First {
		text += " " + call.Why.String()
	}
	w.note("%s", text)
	switch {
	case a.atOnce:
		w.note("attempt %d %s", at.n, ended(at.outcome()))
		return nil, at.outcome()
	case !a.never:
		at.timer = w.loop.After(a.after, at)
	}
	w.live++
	return at, Outcome{}
}

type attempt struct {
	w      *world
	n      int
	to     Receiver
	answer answer
	timer  clock.Timer
}

func (a *attempt) outcome() Outcome {
	if a.answer.cause == record.None {
		return Completed(0, record.Never)
	}
	return Ended(a.answer.cause)
}

func (a *attempt) Happen() {
	a.w.live--
	a.w.note("attempt %d %s", a.n, ended(a.outcome()))
	a.to.Ended(a.outcome())
}

func (a *attempt) Cancel() {
	a.w.live--
	a.w.loop.Cancel(a.timer)
	a.w.note("attempt %d cancelled", a.n)
}

func ended(o Outcome) string {
	if o.Success() {
		return "completed"
	}
	return o.Cause.String()
}

// caller makes one call and, when it is told to, gives it up.
type caller struct {
	w       *world
	n       int
	stage   Stage
	request Request
	running Running
	ends    int
	gaveUp  bool

	at, lasting time.Duration
}

// Happen makes the call.
func (c *caller) Happen() {
	running, o := c.stage.Start(Call{Request: &c.request}, c)
	if !o.Open() {
		c.Ended(o)
		return
	}
	c.running = running
}

func (c *caller) Ended(o Outcome) {
	c.running = nil
	c.ends++
	c.request.Over = true
	c.w.note("caller %d %s", c.n, ended(o))
}

// call makes a call at an instant; a lasting below 0 never gives up.
func (w *world) call(s Stage, at, lasting time.Duration) *caller {
	c := &caller{w: w, n: len(w.callers) + 1, stage: s, request: Request{Index: int64(len(w.callers))}, at: at, lasting: lasting}
	c.request.Owner = c
	w.callers = append(w.callers, c)
	w.loop.At(at, clock.Arrival, c)
	if lasting >= 0 {
		w.loop.At(at+lasting, clock.Horizon, clock.Func(func() {
			if c.running == nil {
				return
			}
			w.note("caller %d gives up", c.n)
			running := c.running
			c.running, c.gaveUp, c.request.Over = nil, true, true
			running.Cancel()
		}))
	}
	return c
}

// leaks returns what is still held when nothing is under way any more.
func (w *world) leaks(s Stage) []string {
	var found []string
	if w.live != 0 {
		found = append(found, fmt.Sprintf("%d attempts are still under way", w.live))
	}
	for _, c := range w.callers {
		switch {
		case c.gaveUp && c.ends > 0:
			found = append(found, fmt.Sprintf("caller %d heard of a call it had given up", c.n))
		case !c.gaveUp && c.ends != 1:
			found = append(found, fmt.Sprintf("caller %d heard of %d ends", c.n, c.ends))
		}
	}
	return append(found, held(s)...)
}

// held walks a stack and returns what its stages hold.
func held(s Stage) []string {
	var found []string
	report := func(what string, n int) {
		if n != 0 {
			found = append(found, fmt.Sprintf("%T: %d %s", s, n, what))
		}
	}
	const again = "calls pooled twice"
	switch s := s.(type) {
	case *retry:
		report(again, doubles(s.runs))
		return append(found, held(s.inner)...)
	case *timeout:
		report(again, doubles(s.runs))
		return append(found, held(s.inner)...)
	case *hedge:
		report(again, doubles(s.runs))
		return append(found, held(s.inner)...)
	case *breaker:
		report("probes under way", s.probes)
		report(again, doubles(s.runs))
		return append(found, held(s.inner)...)
	case *limit:
		report("permits used", s.used)
		report("waiters", s.queue.n)
		report(again, doubles(s.runs))
		return append(found, held(s.inner)...)
	case *rate:
		report("waiters", s.queue.n)
		report(again, doubles(s.runs))
		return append(found, held(s.inner)...)
	case *fallback:
		report(again, doubles(s.runs))
		for _, b := range s.branches {
			found = append(found, held(b.Stage)...)
		}
	}
	return found
}

// doubles counts values that stand in a pool more than once, and would be
// handed out to two calls.
func doubles[T any](p pool[T]) (n int) {
	seen := map[*T]bool{}
	for _, v := range p.free {
		if seen[v] {
			n++
		}
		seen[v] = true
	}
	return n
}

// branches is a fallback over stacks, each around the dependency under a
// letter of its own: a, b, c.
type branches struct {
	open Opening
	of   [][]Config
}

func (branches) Check(check.Problems)    {}
func (branches) Bound(inner Bound) Bound { return inner }
func (c branches) Wrap(inner Stage, _ string, env *Env) Stage {
	var list []Branch
	for i, stack := range c.of {
		end := inner
		if d, is := inner.(target); is {
			d.name += string(rune('a' + i))
			end = d
		}
		b := Branch{Stage: wrap(env, end, stack)}
		for at := b.Stage; b.Breaker == nil; {
			switch s := at.(type) {
			case *breaker:
				b.Breaker = s
				continue
			case *retry:
				at = s.inner
				continue
			case *timeout:
				at = s.inner
				continue
			case *limit:
				at = s.inner
				continue
			case *rate:
				at = s.inner
				continue
			case *hedge:
				at = s.inner
				continue
			}
			break
		}
		list = append(list, b)
	}
	return NewFallback(c.open, list)
}

// scene is one story: a stack, what the dependency answers, who calls, and the
// whole log of what must happen.
type scene struct {
	name    string
	stack   []Config
	answers []answer
	calls   []visit
	want    string
}

// visit is a caller's instant and, when it gives up, after how long.
type visit struct{ at, lasting time.Duration }

func at(instants ...time.Duration) []visit {
	var calls []visit
	for _, t := range instants {
		calls = append(calls, visit{t, -1})
	}
	return calls
}

func play(t *testing.T, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			w := newWorld(s.answers...)
			top := w.wrap(target{w: w}, s.stack...)
			for _, v := range s.calls {
				w.call(top, v.at, v.lasting)
			}
			w.loop.Run()
			if diff := cmp.Diff(lines(s.want), w.log); diff != "" {
				t.Errorf("what happened (-want +got):\n%s", diff)
			}
			if found := w.leaks(top); found != nil {
				t.Errorf("left over: %q", found)
			}
		})
	}
}

// lines splits a story, leaving out indentation and empty lines.
func lines(s string) []string {
	var list []string
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			list = append(list, l)
		}
	}
	return list
}
