package lab

import (
	"fmt"
	"slices"
	"time"

	"brunt/measure"
	"brunt/policy"
	"brunt/study"
)

// dead returns the first dependency that some phases leave without any answer,
// and those phases.
func dead(s *study.Study) (name string, phases []int) {
	for _, name := range s.Callees() {
		for i := range s.Phases {
			if b := s.Behaviour(i, name); b.NeverSucceeds() {
				phases = append(phases, i)
			}
		}
		if len(phases) > 0 && len(phases) < len(s.Phases) {
			return name, phases
		}
		phases = nil
	}
	return "", nil
}

// provider sums up one composition of a study in which a provider dies.
type provider struct {
	*measure.Composition
	offered, completed int64 // while it was dead
	calls              int64 // to the dead one, meanwhile
	guards             []guard
}

// guard is a breaker before the dead dependency, with what is inside of it.
type guard struct {
	open    policy.Opening
	breaker *policy.Breaker
	timeout time.Duration
}

// providers tells what a fallback buys while a provider is dead, what a
// breaker adds, and why the breaker does not spare the dead one every call.
func (f *finder) providers() {
	name, phases := dead(f.study)
	if name == "" || len(f.result.Compositions) == 0 {
		return
	}
	var length time.Duration
	for _, i := range phases {
		length += f.study.Phases[i].For
	}
	all := make([]provider, len(f.result.Compositions))
	for c := range all {
		p := &all[c]
		p.Composition = &f.result.Compositions[c]
		for _, i := range phases {
			p.offered += p.Phases[i].Offered
			p.completed += p.Phases[i].Completed
			p.calls += p.AttemptsByStartPhase[p.Phases[i].Name][name]
		}
		stack, _ := f.study.Compositions.Get(p.Name)
		p.guards = guards(stack, name)
	}
	by := func(a, b provider) int { return int(a.Whole.Completed - b.Whole.Completed) }
	worst, best := slices.MinFunc(all, by), slices.MaxFunc(all, by)
	if worst.Whole.Completed < best.Whole.Completed {
		f.add("%s serves %s of the requests through an outage of %s that lasts %s; %s serves %s.", worst.Name, percent(worst.Whole.Completed, worst.Whole.Offered),
			name, duration(length), best.Name, percent(best.Whole.Completed, best.Whole.Offered))
	}
	unguarded := -1
	for i, p := range all {
		if p.calls >= p.offered && p.completed > 0 && len(p.guards) == 0 {
			unguarded = i
			f.add("%s sends every request of the outage to the dead %s first (%s calls), and each one pays for that in full: p95 is %s.", p.Name, name, thousands(p.calls), tail95(p))
		}
	}
	slowest := -1
	for i, p := range all {
		if len(p.guards) == 0 || p.calls >= p.offered {
			continue
		}
		from := ""
		if unguarded >= 0 {
			from = fmt.Sprintf(" from %s", thousands(all[unguarded].calls))
		}
		f.add("%s cuts the calls to the dead %s%s to %s, and p95 to %s.", p.Name, name, from, thousands(p.calls), tail95(p))
		if slowest < 0 || p.calls > all[slowest].calls {
			slowest = i
		}
	}
	if slowest >= 0 {
		f.whyMore(all, slowest, name)
	}
}

// whyMore says why a breaker lets more calls through than its threshold.
func (f *finder) whyMore(all []provider, slowest int, name string) {
	p := all[slowest]
	g, rate := p.guards[0], f.study.Rate(0)
	if g.timeout == 0 || rate.IsZero() {
		return
	}
	b := g.breaker
	threshold := "enough failures"
	if b.Consecutive > 0 {
		threshold = fmt.Sprintf("%d failures in a row", b.Consecutive)
	}
	f.add("Why not fewer: a call to the dead %s is known to have failed when its timeout of %s ends, so by the time %s have told the breaker about %d more calls are under way; after that each probe adds one, %s after the last one failed.",
		name, duration(g.timeout), threshold, rate.Whole(g.timeout), duration(b.OpenFor))
	for i, q := range all {
		if i == slowest || len(q.guards) == 0 || q.calls >= p.calls {
			continue
		}
		if h := q.guards[0]; h.timeout > 0 && h.timeout < g.timeout {
			f.add("What shortens it: in %s a timeout of %s tells of a failure sooner: %s calls instead of %s.", q.Name, duration(h.timeout), thousands(q.calls), thousands(p.calls))
		}
	}
	for _, q := range all {
		if len(q.guards) > 0 && q.guards[0].open == policy.Last && q.Whole.Causes["circuit"] == 0 {
			f.add("The breaker of %s refuses nobody: it only changes which provider is asked first. Availability is the fallback's work, latency during the outage the breaker's.", q.Name)
			break
		}
	}
}

// guards lists the breakers before a dependency in the branches of a stack's
// fallbacks, or in the stack itself.
func guards(stack study.Stack, name string) (list []guard) {
	var walk func(study.Stack, guard)
	walk = func(stack study.Stack, g guard) {
		for i := range stack {
			switch stage := &stack[i]; {
			case stage.Breaker != nil:
				g.breaker = stage.Breaker
			case stage.Timeout != nil:
				g.timeout = stage.Timeout.After
			case stage.Call == name && g.breaker != nil:
				list = append(list, g)
			case stage.Fallback != nil:
				g.open = stage.Fallback.Open
				for _, branch := range stage.Fallback.To {
					walk(branch, g)
				}
			}
		}
	}
	walk(stack, guard{})
	return list
}

func tail95(p provider) string {
	if t := p.Whole.Latency.Submitted.P95; t != nil {
		return span(*t)
	}
	return "not observed"
}
