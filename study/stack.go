package study

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"brunt/check"
	"brunt/policy"
)

// mostNested is how deep fallbacks may stand in one another.
const mostNested = 20

// checkStack checks one stack; depth counts the fallbacks around it.
func (s *Study) checkStack(stack Stack, p check.Problems, depth int) {
	for i := range stack {
		stage, in := &stack[i], p.In(strconv.Itoa(i))
		last := i == len(stack)-1
		switch config := stage.Config(); {
		case config != nil:
			config.Check(in.In(stage.Kind()))
			continue
		case stage.Fallback != nil:
			s.checkFallback(stage.Fallback, in.In("fallback"), depth)
		case Stack{*stage}.Guest():
			s.checkGuest(stage, in, depth)
		case stage.Call == "":
			in.Add("", nil, "calls nothing: expected the name of a dependency")
			continue
		default:
			if !slices.Contains(s.Callees(), stage.Call) {
				in.Add("call", fmt.Sprintf("unknown dependency %q", stage.Call), "%s", suggest(stage.Call, s.Callees()))
			}
		}
		if !last {
			in.Add(stage.Kind(), nil, "%s ends a stack: nothing may follow it", stage.Kind())
		}
	}
	if ends(stack) {
		return
	}
	switch n := len(s.Callees()); {
	case depth > 0:
		p.Add("", nil, "a branch ends in {call: NAME} or in another fallback: expected one of them last")
	case n > 1:
		p.Add("", nil, "calls none of the %d dependencies: expected {call: NAME} or a fallback at its end", n)
	}
}

// ends reports whether a stack says what it calls.
func ends(stack Stack) bool {
	return len(stack) > 0 && stack[len(stack)-1].Config() == nil
}

func (s *Study) checkFallback(f *Fallback, p check.Problems, depth int) {
	check.OneOf(p, "open", f.Open, policy.InOrder, policy.Last, policy.Skip)
	switch {
	case len(f.To) == 0:
		p.Add("to", nil, "missing: expected the branches, each a stack that ends in {call: NAME}")
	case depth == mostNested:
		p.Add("", nil, "stands in %d other fallbacks: expected at most %d", depth, mostNested-1)
		return
	}
	for i, branch := range f.To {
		s.checkStack(branch, p.In("to", strconv.Itoa(i)), depth+1)
	}
}

// Worst returns the worst case of a composition: the most attempts of one
// request, and the longest time to an outcome if nothing else ends it, or
// [policy.Unbounded]. Callers never wait beyond the study's horizon; the
// attempts then are cancelled. An unknown composition has none of both.
func (s *Study) Worst(composition string) policy.Bound {
	stack, ok := s.Compositions.Get(composition)
	if !ok {
		return policy.Bound{}
	}
	return s.bound(stack)
}

// bound walks a stack from the inside out.
func (s *Study) bound(stack Stack) policy.Bound {
	b := policy.Bound{Attempts: 1, Longest: policy.Unbounded}
	rest := len(stack)
	switch {
	case !ends(stack):
		if only := s.onlyCallee(); only != "" {
			b = s.boundOf(only)
		}
	case stack.Guest(): // nobody knows what it will do
		rest--
	case stack[rest-1].Fallback != nil:
		rest--
		b = policy.Bound{}
		for _, branch := range stack[rest].Fallback.To {
			in := s.bound(branch)
			b.Attempts += in.Attempts
			b.Longest = plus(b.Longest, in.Longest)
		}
	default:
		rest--
		b = s.boundOf(stack[rest].Call)
	}
	for i := rest - 1; i >= 0; i-- {
		b = stack[i].Config().Bound(b)
	}
	return b
}

func (s *Study) boundOf(target string) policy.Bound {
	longest, bounded := s.worst(target)
	if _, real := s.RealTarget(target); real || !bounded {
		longest = policy.Unbounded
	}
	b := policy.Bound{Attempts: 1, Longest: longest}
	if service, ok := s.Services.Get(target); ok {
		in := s.bound(service.Stack)
		b.Attempts += in.Attempts
		b.Longest = plus(b.Longest, in.Longest)
	}
	return b
}

// plus adds durations that may be unbounded.
func plus(a, b time.Duration) time.Duration {
	if a > policy.Unbounded-b {
		return policy.Unbounded
	}
	return a + b
}
