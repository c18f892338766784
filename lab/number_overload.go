package lab

import (
	"strings"

	"brunt/measure"
)

// names of numbers that each target with workers has in each phase; the
// target's name comes behind the first dot: wait.NAME.p95
var workerNumbers = map[string]func(*measure.CapacityPhase) Number{
	"wait.p50":    func(p *measure.CapacityPhase) Number { return millis(p.Wait.P50, p.Wait.Reason) },
	"wait.p95":    func(p *measure.CapacityPhase) Number { return millis(p.Wait.P95, p.Wait.Reason) },
	"wait.p99":    func(p *measure.CapacityPhase) Number { return millis(p.Wait.P99, p.Wait.Reason) },
	"wait.max":    func(p *measure.CapacityPhase) Number { return millis(p.Wait.Max, p.Wait.Reason) },
	"queue.mean":  func(p *measure.CapacityPhase) Number { return fraction(p.Queue.Mean, p.Queue.Reason) },
	"queue.max":   func(p *measure.CapacityPhase) Number { return count(p.Queue.Max) },
	"utilisation": func(p *measure.CapacityPhase) Number { return fraction(p.Utilisation, p.UtilisationReason) },
	"busy":        func(p *measure.CapacityPhase) Number { return millis(&p.Busy, "") },
	"wasted":      func(p *measure.CapacityPhase) Number { return fraction(p.WastedShare, p.WastedShareReason) },
	"overloaded":  func(p *measure.CapacityPhase) Number { return count(p.Overloaded) },
}

// workerNumber takes the name of a number of workers apart. A target's own name
// may hold dots.
func workerNumber(name string) (number func(*measure.CapacityPhase) Number, target string) {
	kind, rest, _ := strings.Cut(name, ".")
	if number = workerNumbers[kind]; number != nil {
		return number, rest
	}
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return nil, ""
	}
	return workerNumbers[kind+rest[i:]], rest[:i]
}

// ofWorkers finds a number of the workers of a target: in a phase or, when that
// is nil, in the run. It is known for every target, and refused for one without
// workers.
func ofWorkers(c *measure.Composition, p *measure.Phase, name string) (n Number, known bool) {
	number, target := workerNumber(name)
	if number == nil {
		return Number{}, false
	}
	if _, known := c.Whole.DependencyCalls[target]; !known {
		return Number{}, false
	}
	for i := range c.Capacity {
		of := &c.Capacity[i]
		switch {
		case of.Name != target:
		case p == nil:
			return number(&of.Whole), true
		default:
			for k := range of.Phases {
				if of.Phases[k].Name == p.Name {
					return number(&of.Phases[k]), true
				}
			}
		}
	}
	return Number{Unit: number(&measure.CapacityPhase{}).Unit, Refusal: target + " has no workers"}, true
}

func fraction(v *float64, reason string) Number {
	if v == nil {
		return Number{Refusal: reason}
	}
	return Number{Value: *v}
}

// nothingDisturbed is why numbers about coming back are refused.
const nothingDisturbed = "no phase is disturbed: there is nothing to come back from"

// ofStability returns a number of how goodput came back, which a study without
// a disturbed phase has not.
func ofStability(number func(*measure.Stability) Number) func(*measure.Composition) Number {
	return func(c *measure.Composition) Number {
		if c.Stability == nil {
			return Number{Unit: number(&measure.Stability{}).Unit, Refusal: nothingDisturbed}
		}
		return number(c.Stability)
	}
}

// metastable is 1 when goodput stayed down after the trigger or, where it was up
// for a while, is down in the end; else 0.
func metastable(s *measure.Stability) Number {
	switch s.Status {
	case measure.NotEstimable:
		return Number{Refusal: s.Reason}
	case measure.Metastable:
		return Number{Value: 1}
	case measure.Unsettled, measure.Relapsed:
		if s.EndsDown {
			return Number{Value: 1}
		}
	}
	return Number{}
}

// timeToRecover counts from the end of the trigger.
func timeToRecover(s *measure.Stability) Number {
	n := millis(s.Recovered, s.RecoveredReason)
	n.Beyond = s.Recovered == nil && s.Status != measure.NotEstimable && s.Status != measure.Candidate
	return n
}

func opens(c *measure.Composition) Number {
	var n int64
	for _, b := range c.Breakers {
		n += b.Opens
	}
	return count(n)
}

// falseOpens counts the openings while nothing was wrong yet.
func falseOpens(c *measure.Composition) Number {
	if reason := noTrigger(c); reason != "" {
		return Number{Refusal: reason}
	}
	var n int64
	for _, b := range c.Breakers {
		n += *b.OpensBefore
	}
	return count(n)
}

// timeToOpen is the least over all stages.
func timeToOpen(c *measure.Composition) Number {
	if reason := noTrigger(c); reason != "" {
		return Number{Unit: "ms", Refusal: reason}
	}
	n := Number{Unit: "ms", Refusal: "not observed: no breaker opened from the start of the trigger on", Beyond: true}
	for _, b := range c.Breakers {
		if one := millis(b.TimeToOpen, b.TimeToOpenReason); one.Refusal == "" && (n.Refusal != "" || one.Value < n.Value) {
			n = one
		}
	}
	return n
}

// noTrigger is why the composition has no trigger; "" when it has one.
func noTrigger(c *measure.Composition) string {
	switch {
	case c.Stability == nil:
		return nothingDisturbed
	case c.Stability.Trigger == nil:
		return c.Stability.Reason
	}
	return ""
}
