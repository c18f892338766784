package lab

import (
	"strconv"

	"brunt/policy"
	"brunt/study"
)

// builder builds the stages of one composition.
type builder struct {
	runner *runner
	env    *policy.Env
}

// stack builds a stack from the inside out. path names it within the
// composition: empty, or that of a fallback's branch.
func (b *builder) stack(s study.Stack, path string) policy.Stage {
	stage, _ := b.branch(s, path)
	return stage
}

// branch builds a stack and tells its outermost breaker, if it has one.
func (b *builder) branch(s study.Stack, path string) (stage, breaker policy.Stage) {
	var inner policy.Stage
	rest := len(s)
	if n := len(s); n > 0 && s[n-1].Config() == nil {
		rest--
		if last := s[n-1]; last.Fallback != nil {
			inner = b.fallback(last.Fallback, join(path, "fallback"))
		} else {
			inner = b.call(last.Call)
		}
	} else {
		inner = b.call(b.runner.study.Dependencies.Names()[0])
	}
	for i := rest - 1; i >= 0; i-- {
		name, n := s[i].Kind(), 0
		for _, before := range s[:i] {
			if before.Kind() == name {
				n++
			}
		}
		if n > 0 {
			name += "." + strconv.Itoa(n+1)
		}
		inner = s[i].Config().Wrap(inner, join(path, name), b.env)
		if s[i].Breaker != nil {
			breaker = inner
		}
	}
	return inner, breaker
}

func (b *builder) fallback(f *study.Fallback, path string) policy.Stage {
	branches := make([]policy.Branch, len(f.To))
	for i, s := range f.To {
		stage, breaker := b.branch(s, join(path, strconv.Itoa(i)))
		branches[i] = policy.Branch{Stage: stage, Breaker: breaker}
	}
	return policy.NewFallback(f.Open, branches)
}

func (b *builder) call(name string) policy.Stage {
	for i, n := range b.runner.study.Dependencies.Names() {
		if n == name {
			return &caller{b.runner, int32(i)}
		}
	}
	panic("lab: a checked study calls the unknown dependency " + name)
}

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}
