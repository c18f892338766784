package lab

import (
	"strconv"

	"brunt/chance"
	"brunt/policy"
	"brunt/study"
)

// builder builds the stages of one stack.
type builder struct {
	runner  *runner
	env     *policy.Env
	callers int // how many there are, each with state of its own
}

// built is a part of a stack: one stage for all callers, or one for each.
type built struct {
	stage   policy.Stage
	breaker policy.Stage // the outermost one, if there is any
	// each returns a caller's own; nil when all share the two above.
	each func(caller int32) (stage, breaker policy.Stage)
}

func (b built) of(caller int32) (stage, breaker policy.Stage) {
	if b.each == nil {
		return b.stage, b.breaker
	}
	return b.each(caller)
}

// forAll returns a stage that any caller can start.
func (b built) forAll() policy.Stage {
	if b.each == nil {
		return b.stage
	}
	return router(b.each)
}

// router hands each call to the stage of its caller.
type router func(caller int32) (stage, breaker policy.Stage)

// Start implements [policy.Stage].
func (r router) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	stage, _ := r(call.Request.Caller)
	return stage.Start(call, to)
}

// stack builds a stack from the inside out. path names it within the
// composition: empty, or that of a fallback's branch.
func (b *builder) stack(s study.Stack, path string) policy.Stage { return b.branch(s, path).forAll() }

func (b *builder) branch(s study.Stack, path string) built {
	var inner built
	rest := len(s)
	if n := len(s); n > 0 && s[n-1].Config() == nil {
		rest--
		if last := s[n-1]; last.Fallback != nil {
			inner = b.fallback(last.Fallback, join(path, "fallback"))
		} else if last.External != nil {
			inner = built{stage: externalStage{b.runner}}
		} else if last.Guest != "" {
			inner = built{stage: guestStage{b.runner}}
		} else if last.Go != "" { // the stages before it are the library's
			return built{stage: guestStage{b.runner}}
		} else {
			inner = b.call(last.Call)
		}
	} else {
		inner = b.call(b.runner.study.Callees()[0])
	}
	retries := uint64(0)
	for i := rest - 1; i >= 0; i-- {
		if s[i].Retry != nil {
			retries++
		}
		name, n := s[i].Kind(), 0
		for _, before := range s[:i] {
			if before.Kind() == name {
				n++
			}
		}
		if n > 0 {
			name += "." + strconv.Itoa(n+1)
		}
		inner = b.wrap(&s[i], inner, join(path, name), drawsOf(path, retries))
	}
	return inner
}

// drawsOf is what the draws of a retry go by: which one it is in its own stack,
// from the inside. So neither a retry around it, nor who shares what, nor any
// other stack changes them.
func drawsOf(path string, retries uint64) uint64 {
	if path == "" {
		return retries
	}
	return chance.Name(path) + retries
}

// wrap builds one stage around what is inside.
func (b *builder) wrap(s *study.Stage, inner built, name string, number uint64) built {
	if b.callers > 1 && !s.Shared {
		return b.perCaller(func(caller int32) (policy.Stage, policy.Stage) {
			in, breaker := inner.of(caller)
			b.env.Caller, b.env.Number = caller, number
			stage := s.Config().Wrap(in, name, b.env)
			if s.Breaker != nil {
				breaker = stage
			}
			return stage, breaker
		})
	}
	b.env.Caller, b.env.Number = b.shared(), number
	stage := s.Config().Wrap(inner.forAll(), name, b.env)
	switch {
	case s.Breaker != nil:
		return built{stage: stage, breaker: stage}
	case inner.each == nil:
		return built{stage: stage, breaker: inner.breaker}
	}
	return built{each: func(caller int32) (policy.Stage, policy.Stage) {
		_, breaker := inner.each(caller)
		return stage, breaker
	}}
}

// shared says whose a stage is that serves every caller.
func (b *builder) shared() int32 {
	if b.callers > 1 {
		return -1
	}
	return 0
}

// perCaller makes each caller's stage when its first call comes.
func (b *builder) perCaller(build func(caller int32) (stage, breaker policy.Stage)) built {
	type pair struct{ stage, breaker policy.Stage }
	made := make([]pair, b.callers)
	return built{each: func(caller int32) (policy.Stage, policy.Stage) {
		p := &made[caller]
		if p.stage == nil {
			p.stage, p.breaker = build(caller)
		}
		return p.stage, p.breaker
	}}
}

func (b *builder) fallback(f *study.Fallback, path string) built {
	parts := make([]built, len(f.To))
	own := false
	for i, s := range f.To {
		parts[i] = b.branch(s, join(path, strconv.Itoa(i)))
		own = own || parts[i].each != nil
	}
	of := func(caller int32) policy.Stage {
		branches := make([]policy.Branch, len(parts))
		for i, part := range parts {
			branches[i].Stage, branches[i].Breaker = part.of(caller)
		}
		return policy.NewFallback(f.Open, branches)
	}
	if !own {
		return built{stage: of(0)}
	}
	return b.perCaller(func(caller int32) (policy.Stage, policy.Stage) { return of(caller), nil })
}

func (b *builder) call(name string) built {
	i := b.runner.target(name)
	if m := b.runner.remotes[i]; m != nil {
		return built{stage: m}
	}
	return built{stage: &caller{b.runner, i}}
}

func join(path, step string) string {
	if path == "" {
		return step
	}
	return path + "." + step
}
