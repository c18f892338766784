package lab

import (
	"fmt"

	"brunt/measure"
	"brunt/study"
)

// Gate is one judgement on the instrument itself. One that was not measured
// has not passed; one that does not apply was not judged.
type Gate struct {
	Name     string   `json:"name"`
	Limit    float64  `json:"limit"`
	Value    *float64 `json:"value"`
	Unit     string   `json:"unit,omitempty"`
	Applies  bool     `json:"applies"`
	Enforced bool     `json:"enforced"` // failing makes the run invalid
	Passed   bool     `json:"passed"`
	Reason   string   `json:"reason,omitempty"` // why it failed, was not measured, or does not apply
}

// The names of the gates.
const (
	gateLost         = "requests unaccounted for"
	gateActive       = "attempts active after the drain"
	gateSkewP99      = "send skew p99"
	gateSkewMax      = "send skew max"
	gateUndispatched = "requests scheduled and not dispatched"
	gateCPU          = "host CPU over any 5 s"
	gateGC           = "garbage collection pause p99"
)

// measured sets the value of a gate and judges it: it must be at most the
// limit, or below that of garbage collection pauses.
func (g *Gate) measured(v float64) {
	g.Value, g.Applies = &v, true
	if g.Passed = v < g.Limit || v == g.Limit && g.Name != gateGC; !g.Passed {
		g.Reason = "over the limit"
	}
}

// gates judges the instrument. Its own accounting must always hold. The gates
// on the send path apply on the real clock, and are enforced when the study
// asks for it; watched are those that the run has watched itself.
func gates(s *study.Study, compositions []measure.Composition, watched []Gate) []Gate {
	var lost, active, p99, most float64
	var offered int64
	for i := range compositions {
		c := &compositions[i]
		w := &c.Whole
		d := w.Offered - w.Completed - w.Errored - w.Censored
		lost += float64(max(d, -d))
		active += float64(c.ActiveAfterDrain)
		offered += w.Offered
		for j := range c.Phases {
			if lag := c.Phases[j].SchedulerLag; lag.P99 != nil && lag.Max != nil {
				p99, most = max(p99, float64(*lag.P99)/1e6), max(most, float64(*lag.Max)/1e6)
			}
		}
	}
	own := []Gate{{Name: gateLost}, {Name: gateActive}}
	own[0].measured(lost)
	own[1].measured(active)
	for i := range own {
		own[i].Enforced = true
		if !own[i].Passed {
			own[i].Reason = "brunt has a fault of its own: please report it with the study"
		}
	}
	send := []Gate{{Name: gateSkewP99, Limit: 5, Unit: "ms"}, {Name: gateSkewMax, Limit: 50, Unit: "ms"}, {Name: gateUndispatched}}
	if s.Clock == study.Virtual {
		send = append(send, Gate{Name: gateCPU, Limit: 70, Unit: "%"}, Gate{Name: gateGC, Limit: 1, Unit: "ms"})
		for i := range send {
			send[i].Reason = "does not apply: the virtual clock waits for the instrument"
		}
		return append(own, send...)
	}
	send[0].measured(p99)
	send[1].measured(most)
	if scheduled := s.Schedule(); scheduled.Exact() {
		send[2].measured(float64(max(0, scheduled.Expected()*int64(len(compositions))-offered)))
	} else {
		send[2].measured(0) // the schedule is drawn as the run goes; each arrival of it was dispatched
	}
	send = append(send, watched...)
	for i := range send {
		send[i].Applies, send[i].Enforced = true, s.EnforcesGates()
		if !send[i].Passed && !send[i].Enforced {
			send[i].Reason += fmt.Sprintf(" (reported, not enforced: the study says gates: %s)", s.Gates)
		}
	}
	return append(own, send...)
}

// valid reports whether no enforced gate has failed.
func valid(gates []Gate) bool {
	for _, g := range gates {
		if g.Enforced && g.Applies && !g.Passed {
			return false
		}
	}
	return true
}
