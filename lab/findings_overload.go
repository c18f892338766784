package lab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/load"
	"brunt/measure"
	"brunt/policy"
	"brunt/study"
)

// overload tells whether callers and dependency came back after the trigger,
// and what kept them down where they did not.
func (f *finder) overload() {
	f.stability()
	f.swamped()
	f.denied()
	f.tiers()
	f.callers()
	f.herding()
	f.hysteresis()
}

func (f *finder) stability() {
	var back, never []string
	trigger, level := "", ""
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		st := c.Stability
		if st == nil || st.Trigger == nil || st.Share == nil || st.Baseline.Goodput == nil {
			continue
		}
		trigger = and(st.Trigger.Phases)
		level = part(f.study.Recovery.Detector.Entry.Float())
		then := fmt.Sprintf("%s after %s ended, goodput was %s, against %s before", span(*st.JudgedAt-st.Trigger.To), trigger, part(*st.Share), part(*st.Baseline.Goodput))
		switch st.Status {
		case measure.Metastable:
			f.add("%s is metastable: %s, and it never came back.%s%s", c.Name, then, sustained(c, st), f.cut(c.Name))
		case measure.Late:
			f.add("%s came back late: %s; it was back %s after %s ended.%s", c.Name, then, span(*st.Recovered), trigger, sustained(c, st))
		case measure.Unsettled:
			how := "it was up for a while later and did not stay" + ended(st)
			if st.Candidate != nil {
				how = "it was up again " + span(*st.Candidate) + " after it ended, too late for the study to see whether it stays"
			}
			f.add("%s had not settled: %s; %s.%s", c.Name, then, how, sustained(c, st))
		case measure.Relapsed:
			f.add("%s came back within %s of the end of %s and fell again: goodput was down to %s in a later window%s.%s", c.Name,
				span(*st.Recovered), trigger, part(*st.Least), ended(st), sustained(c, st))
		case measure.Stable:
			if st.Degraded {
				back = append(back, fmt.Sprintf("%s within %s (%s, then %s)", c.Name, span(*st.Recovered), part(*st.Baseline.Goodput), part(*st.Share)))
			} else {
				never = append(never, c.Name)
			}
		}
	}
	if !f.hasCapacity() {
		return
	}
	if len(back) > 0 {
		f.add("Back at %s of the goodput before %s, and stayed there: %s.", level, trigger, strings.Join(back, "; "))
	}
	if len(never) > 0 {
		f.add("From the end of %s on, goodput was never below %s of what it was before with %s.", trigger, level, and(never))
	}
}

// ended says how a run ended that was up and down.
func ended(st *measure.Stability) string {
	if st.EndsDown {
		return ", and is down in the end"
	}
	return ""
}

// sustained says what the loop is made of.
func sustained(c *measure.Composition, st *measure.Stability) string {
	if st.FirstDemand == nil || st.Demand == nil || st.RetryShare == nil || st.WastedShare == nil {
		return ""
	}
	calls, all := part(*st.FirstDemand), part(*st.Demand)
	switch st.SustainedBy {
	case measure.ByRetries:
		return fmt.Sprintf(" Its retries keep it down: %s of the attempts were retries and %s of the workers' time went into answers that nobody waited for; the calls alone need %s of the workers, with their retries %s.",
			part(*st.RetryShare), part(*st.WastedShare), calls, all)
	case measure.ByStaleWork:
		return fmt.Sprintf(" Stale work keeps it down: the work is only %s of what the workers can do, and %s of their time went into answers that nobody waited for, as the queue is older than the callers' patience.",
			all, part(*st.WastedShare))
	case measure.ByLoad:
		return fmt.Sprintf(" The load alone keeps it down: it is %s of what the workers can do.", calls)
	}
	return ""
}

func (f *finder) cut(composition string) string {
	for _, cut := range f.result.LoadCuts {
		switch {
		case cut.Composition != composition:
		case cut.Share != nil && *cut.Share == 0:
			return " Observed for longer, under the same load, it comes back by itself."
		case cut.Share != nil:
			return fmt.Sprintf(" The least load cut that ends it, for %s: %.0f %%.", duration(f.study.Recovery.CutFor), 100**cut.Share)
		default:
			return " The least load cut that ends it: " + cut.Reason + "."
		}
	}
	return ""
}

func (f *finder) hasCapacity() bool {
	return slices.ContainsFunc(f.result.Compositions, func(c measure.Composition) bool { return len(c.Capacity) > 0 })
}

// swamped tells of workers that were asked for more than they can do, in a study
// that disturbs nothing: nothing else says so there.
func (f *finder) swamped() {
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		if c.Stability != nil && c.Stability.Trigger != nil {
			continue
		}
		for j := range c.Capacity {
			p := &c.Capacity[j].Whole
			if p.Arrivals == nil || p.Worked == 0 || p.Workers == 0 {
				continue
			}
			each := time.Duration(p.Busy).Seconds() / float64(p.Worked)
			if asked := *p.Arrivals * each / float64(p.Workers); asked > 1 {
				f.add("With %s, %s is asked for %s of what its workers can do.", c.Name, c.Capacity[j].Name, part(asked))
			}
		}
	}
}

// denied tells what budgets withheld, where it was most, and what is special
// about a budget that is tied to what is in flight.
func (f *finder) denied() {
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		var most *measure.Phase
		for j := range c.Phases {
			if p := &c.Phases[j]; p.Denied > 0 && (most == nil || p.Denied > most.Denied) {
				most = p
			}
		}
		if most == nil || most.Offered == 0 {
			continue
		}
		why := ""
		stack, _ := f.study.Compositions.Get(c.Name)
		if hasStage(stack, func(s *study.Stage) bool {
			return s.Retry != nil && s.Retry.Budget != nil && s.Retry.Budget.InFlight != nil && s.Retry.Budget.InFlight.Of == policy.OfAttempts
		}) {
			why = " It is a share of the attempts under way: as calls fail there are fewer of them, so it shrinks with every failure."
		}
		f.add("The budget of %s denied %s attempts in %s: %.2f a request were made%s.%s", c.Name, thousands(most.Denied), most.Name, float64(most.Attempts)/float64(most.Offered), f.atAllTiers(), why)
	}
}

// atAllTiers reminds that attempts add up over tiers.
func (f *finder) atAllTiers() string {
	if f.study.Services.Len() > 0 {
		return " at all tiers together"
	}
	return ""
}

// callers compares stacks whose state each caller has for itself with stacks
// whose state all share, in the phase in which they differ most.
func (f *finder) callers() {
	if f.study.Callers <= 1 {
		return
	}
	for phase := range f.study.Phases {
		if !faulty(f.study, phase) {
			continue
		}
		each := f.study.Rate(phase).PerSecond() / float64(f.study.Callers)
		var own, shared []string
		for i := range f.result.Compositions {
			c := &f.result.Compositions[i]
			p := &c.Phases[phase]
			if p.Offered == 0 {
				continue
			}
			stack, _ := f.study.Compositions.Get(c.Name)
			if !hasStage(stack, remembers) {
				continue
			}
			said := fmt.Sprintf("%.2f attempts a request with %s", float64(p.Attempts)/float64(p.Offered), c.Name)
			if hasStage(stack, func(s *study.Stage) bool { return s.Shared }) {
				shared = append(shared, said)
				continue
			}
			if p.Denied == 0 && p.Retries > 0 && hasStage(stack, func(s *study.Stage) bool { return s.Retry != nil && s.Retry.Budget != nil }) {
				said += ", whose budget never denied one: a single caller sees too little of the load"
			}
			own = append(own, said)
		}
		if len(own) > 0 && len(shared) > 0 {
			f.add("In %s, with state of its own in each of %s callers (%s a second each), the dependency bore %s; with shared state, %s.",
				f.study.Phases[phase].Name, thousands(int64(f.study.Callers)), requestsOf(each), strings.Join(own, "; "), strings.Join(shared, "; "))
		}
	}
}

func requestsOf(n float64) string {
	if n == 1 {
		return "one request"
	}
	return number(n) + " requests"
}

// remembers reports whether a stage has state that callers could share.
func remembers(s *study.Stage) bool {
	return s.Breaker != nil || s.Limit != nil || s.Rate != nil || s.Throttle != nil || s.Adaptive != nil ||
		s.Retry != nil && s.Retry.Budget != nil || s.Hedge != nil && (s.Hedge.Budget != nil || s.Hedge.Quantile > 0)
}

// hasStage reports whether a stack has such a stage, in fallbacks too.
func hasStage(stack study.Stack, is func(*study.Stage) bool) bool {
	return slices.ContainsFunc(stack, func(s study.Stage) bool {
		return is(&s) || s.Fallback != nil && slices.ContainsFunc(s.Fallback.To, func(b study.Stack) bool { return hasStage(b, is) })
	})
}

// tiers tells how often the deepest tier was called for one request, where it
// was worst.
func (f *finder) tiers() {
	if f.study.Services.Len() == 0 {
		return
	}
	for phase := range f.study.Phases {
		if !faulty(f.study, phase) {
			continue
		}
		var parts []string
		for i := range f.result.Compositions {
			c := &f.result.Compositions[i]
			p := &c.Phases[phase]
			if p.Offered == 0 || len(p.DependencyCalls) == 0 {
				continue
			}
			name, calls := busiest(p.DependencyCalls)
			parts = append(parts, fmt.Sprintf("%s times with %s (at %s)", strconv.FormatFloat(float64(calls)/float64(p.Offered), 'f', 2, 64), c.Name, name))
		}
		if len(parts) > 0 {
			f.add("In %s, one request hits the tier that is hit most so often: %s.", f.study.Phases[phase].Name, strings.Join(parts, "; "))
		}
	}
}

func busiest(calls map[string]int64) (name string, n int64) {
	for _, k := range slices.Sorted(maps.Keys(calls)) {
		if calls[k] > n {
			name, n = k, calls[k]
		}
	}
	return name, n
}

// herding compares breakers that each caller has with those that all share.
func (f *finder) herding() {
	if f.study.Callers <= 1 {
		return
	}
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		for _, b := range c.Breakers {
			if b.TimeToOpen == nil {
				continue
			}
			stack, _ := f.study.Compositions.Get(c.Name)
			who := "the shared breaker"
			if !hasStage(stack, func(s *study.Stage) bool { return s.Breaker != nil && s.Shared }) {
				who = fmt.Sprintf("the breakers of %s of the %s callers", thousands(b.Callers), thousands(int64(f.study.Callers)))
			}
			f.add("In %s, %s opened, the first %s after the phase began.", c.Name, who, span(*b.TimeToOpen))
		}
	}
}

// hysteresis compares phases of the same load before and after a heavier one, in
// a study that changes its load step by step.
func (f *finder) hysteresis() {
	phases := f.study.Phases
	type pair struct{ up, down int }
	var found *pair
	for up := range phases {
		for down := len(phases) - 1; down > up+1; down-- {
			if f.sameLoad(up, down) && f.heavierBetween(up, down) && found == nil {
				found = &pair{up, down}
			}
		}
	}
	if found == nil {
		return
	}
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		up, down := &c.Phases[found.up], &c.Phases[found.down]
		if up.Offered == 0 || down.Offered == 0 {
			continue
		}
		a, b := float64(up.Completed)/float64(up.Offered), float64(down.Completed)/float64(down.Offered)
		if b < 0.95*a {
			f.add("Hysteresis: at the same load %s completed %s on the way up (%s) and %s on the way down (%s).", c.Name, part(a), up.Name, part(b), down.Name)
		}
	}
}

func (f *finder) sameLoad(i, j int) bool {
	a, b := &f.study.Phases[i], &f.study.Phases[j]
	return !a.Load.IsZero() && !b.Load.IsZero() && f.study.Rate(i) == f.study.Rate(j) && steady(&a.Load) && steady(&b.Load) && a.Dependencies.Len() == 0 && b.Dependencies.Len() == 0
}

func (f *finder) heavierBetween(i, j int) bool {
	for k := i + 1; k < j; k++ {
		if f.study.Phases[k].Dependencies.Len() > 0 {
			return false
		}
		if cmp.Compare(f.study.Rate(k).PerSecond(), f.study.Rate(i).PerSecond()) > 0 {
			return true
		}
	}
	return false
}

// steady reports whether a phase's load has one rate throughout.
func steady(o *load.Override) bool { return o.To.IsZero() && o.Spike == nil && o.Sine == nil }

// part writes a share of any size in percent.
func part(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }
