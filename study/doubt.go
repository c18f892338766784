package study

import (
	"slices"
	"strconv"
	"time"

	"brunt/check"
	"brunt/policy"
)

// surroundings is what stands around a stage, as far as it makes what is
// inside senseless.
type surroundings struct {
	within time.Duration // the shortest timeout around, or the horizon
	what   string        // which of them
}

const aTimeout = "the timeout around it"

// doubtStack reports orders and settings that can be run and hardly mean what
// was intended.
func (s *Study) doubtStack(p check.Problems, stack Stack, around surroundings) {
	for i := range stack {
		stage, in := &stack[i], p.In(strconv.Itoa(i))
		inner := stack[i+1:]
		switch {
		case stage.Retry != nil:
			doubtRetry(in.In("retry"), stage.Retry, inner)
			if needs := stage.Retry.Needs; needs != nil && *needs >= around.within {
				in.Doubt("retry.needs", *needs, "not shorter than %s of %v: no retry is ever made", around.what, around.within)
			}
		case stage.Breaker != nil:
			if holds(inner, func(s *Stage) bool { return s.Retry != nil }) {
				in.Doubt("breaker", nil, "stands outside of a retry and sees only the last result of each call: failures that a retry made good do not count")
			}
		case stage.Throttle != nil:
			doubtLearner(in.In("throttle"), inner, around, stage.Throttle.Rejects)
		case stage.Adaptive != nil:
			doubtLearner(in.In("adaptive"), inner, around, stage.Adaptive.Drops)
		case stage.Hedge != nil:
			if after := stage.Hedge.After; after >= around.within {
				in.Doubt("hedge.after", after, "not before %s of %v: the hedge never starts by time", around.what, around.within)
			}
		case stage.Timeout != nil:
			after := stage.Timeout.After
			if after >= around.within {
				in.Doubt("timeout.after", after, "not shorter than %s of %v, which ends the call first", around.what, around.within)
			} else {
				around = surroundings{after, aTimeout}
			}
		case stage.Fallback != nil:
			s.doubtFallback(in.In("fallback"), stage.Fallback, around)
		}
	}
}

func doubtRetry(p check.Problems, c *policy.Retry, inner Stack) {
	if len(inner) > 0 && inner[0].Retry != nil {
		p.Doubt("", nil, "stands directly around another retry: their attempts multiply, %d × %d", c.Attempts, inner[0].Retry.Attempts)
	}
	for i, on := range c.On {
		has := func(is func(*Stage) bool) {
			if !holds(inner, is) {
				p.In("on").Doubt(strconv.Itoa(i), on, "no stage inside refuses in this way")
			}
		}
		switch on {
		case "circuit":
			has(func(s *Stage) bool { return s.Breaker != nil })
		case "limiter":
			has(func(s *Stage) bool { return s.Limit != nil || s.Adaptive != nil })
		case "throttle":
			has(func(s *Stage) bool { return s.Throttle != nil })
		case "rate":
			has(func(s *Stage) bool { return s.Rate != nil && !s.Rate.Wait })
		}
	}
}

// doubtLearner reports a throttle or an adaptive limit that stands where it
// cannot hear what it should learn from.
func doubtLearner(p check.Problems, inner Stack, around surroundings, listens []policy.Pushback) {
	if holds(inner, func(s *Stage) bool { return s.Retry != nil }) {
		p.Doubt("", nil, "stands outside of a retry and learns from the last result of each call only, as if the tries and the waits before it were one")
	}
	timeouts := len(listens) == 0 || slices.Contains(listens, policy.PushbackTimeout)
	if timeouts && around.what == aTimeout && !holds(inner, func(s *Stage) bool { return s.Timeout != nil }) {
		p.Doubt("", nil, "stands inside of the timeout of %v, which cancels a call that is late: it learns nothing of it; put the timeout inside", around.within)
	}
}

func (s *Study) doubtFallback(p check.Problems, f *Fallback, around surroundings) {
	if len(f.To) == 1 {
		p.Doubt("to", nil, "has one branch: there is nothing to fall back to")
	}
	breaker := func(branch Stack) bool {
		return slices.ContainsFunc(branch, func(s Stage) bool { return s.Breaker != nil })
	}
	if f.Open != policy.InOrder && !slices.ContainsFunc(f.To, breaker) {
		p.Doubt("open", f.Open, "no branch has a breaker that could be open")
	}
	for i, branch := range f.To {
		s.doubtStack(p.In("to", strconv.Itoa(i)), branch, around)
	}
}

// holds reports whether a stack holds such a stage, in fallbacks too.
func holds(stack Stack, is func(*Stage) bool) bool {
	for i := range stack {
		if is(&stack[i]) {
			return true
		}
		if f := stack[i].Fallback; f != nil {
			for _, branch := range f.To {
				if holds(branch, is) {
					return true
				}
			}
		}
	}
	return false
}

// doubtUse reports dependencies that nobody calls, and stacks that nothing
// keeps from piling up on one that hangs.
func (s *Study) doubtUse(p check.Problems) {
	called := map[string]bool{}
	for name, stack := range s.Compositions.All() {
		var hangs string
		for d := range s.reach(stack) {
			called[d] = true
			if s.hangs(d) {
				hangs = d
			}
		}
		if hangs != "" && !stack.Guest() && s.Load.MaxInFlight == 0 && s.Worst(name).Longest == policy.Unbounded &&
			!holds(stack, func(s *Stage) bool { return s.Timeout != nil || s.Limit != nil || s.Adaptive != nil }) {
			p.In("compositions").Doubt(name, nil, "nothing ends a call of %s while it hangs: requests pile up until the horizon of %v; add a timeout, a limit or load.max_in_flight", hangs, s.Horizon)
		}
	}
	for _, name := range s.Callees() {
		if !called[name] {
			p.In(s.described(name)).Doubt(name, nil, "no composition calls it")
		}
	}
}

// calledBy returns the dependencies that a stack calls.
func (s *Study) calledBy(stack Stack) map[string]bool {
	calls := map[string]bool{}
	if only := s.onlyCallee(); !ends(stack) && only != "" {
		calls[only] = true
	}
	if stack.Guest() { // it may call anything
		for _, name := range s.Callees() {
			calls[name] = true
		}
	}
	holds(stack, func(s *Stage) bool {
		if s.Call != "" {
			calls[s.Call] = true
		}
		return false
	})
	return calls
}

func (s *Study) hangs(name string) bool {
	for i := range s.Phases {
		if b := s.Behaviour(i, name); b.Hang != nil && *b.Hang && (b.Refuse == nil || !*b.Refuse) {
			return true
		}
	}
	return false
}
