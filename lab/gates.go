package lab

import (
	"math"
	"strings"
	"time"

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
	AtLeast  bool     `json:"at_least,omitempty"` // the limit is the least value, not the most
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
	gateBaseline     = "baseline goodput"
	gateShare        = "share of the baseline's requests at each replica"
	gateFire         = "fault fired within"
	gateEffect       = "effect of the fault seen"
	gateHeal         = "end of the fault seen"
	gateReset        = "requests of the victim in flight that ended errored"
	gateStale        = "stale route seen for"
	gateMachine      = "different machines"
	gateQueue        = "mean queue of a replica in the baseline"
)

// onlyReported ends the reason of a gate that failed and was not enforced.
const onlyReported = " (reported, not enforced: the study neither names a protocol nor says gates: enforced)"

// measured sets the value of a gate and judges it: it must be at most the
// limit, or below that of garbage collection pauses.
func (g *Gate) measured(v float64) {
	g.Value, g.Applies = &v, true
	switch {
	case g.AtLeast:
		g.Passed = v >= g.Limit
	case g.Name == gateGC:
		g.Passed = v < g.Limit
	default:
		g.Passed = v <= g.Limit
	}
	if !g.Passed {
		g.Reason = "over the limit"
		if g.AtLeast {
			g.Reason = "under the limit"
		}
	}
}

// gates judges the instrument. Its own accounting must always hold. The gates
// on the send path apply on the real clock, and are enforced when the study
// asks for it; watched holds what the run has measured of its own machine.
func gates(s *study.Study, compositions []measure.Composition, watched []Gate, aborted bool) []Gate {
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
	if s.Fault != nil {
		own = append(own, baselineGate(s, compositions))
		own = append(own, faultGates(s, compositions)...)
	}
	own[0].measured(lost)
	own[1].measured(active)
	for i := range own[:2] {
		own[i].Enforced = true
		if !own[i].Passed {
			own[i].Reason = "brunt has a fault of its own: please report it with the study"
		}
	}
	send := []Gate{
		{Name: gateSkewP99, Limit: inMillis(s.Gates.SendSkewP99), Unit: "ms"},
		{Name: gateSkewMax, Limit: inMillis(s.Gates.SendSkewMax), Unit: "ms"},
		{Name: gateUndispatched},
	}
	watch := []Gate{
		{Name: gateCPU, Limit: 100 * s.Gates.HostCPU.Float(), Unit: "%"},
		{Name: gateGC, Limit: inMillis(s.Gates.GCPauseP99), Unit: "ms"},
	}
	if s.Clock == study.Virtual {
		send = append(send, watch...)
		for i := range send {
			send[i].Reason = "does not apply: the virtual clock waits for the instrument"
		}
		return append(own, send...)
	}
	send[0].measured(p99)
	send[1].measured(most)
	switch scheduled := s.Schedule(); {
	case aborted:
		send[2].Reason = "not measured: the run was aborted, and arrivals stopped early"
	case scheduled.Exact():
		send[2].measured(float64(max(0, scheduled.Expected()*int64(len(compositions))-offered) + unsent(s, compositions)))
	default: // the schedule is drawn as the run goes; each arrival of it was dispatched
		send[2].measured(float64(unsent(s, compositions)))
	}
	for i := range watch {
		watch[i].Reason = "not measured"
		for _, w := range watched {
			switch {
			case w.Name != watch[i].Name:
			case w.Value == nil:
				watch[i].Reason = strings.TrimSuffix(w.Reason, onlyReported) // of a result that was stored
			default:
				watch[i].Reason = ""
				watch[i].measured(*w.Value)
			}
		}
	}
	send = append(send, watch...)
	for i := range send {
		send[i].Applies, send[i].Enforced = true, s.EnforcesGates()
		if !send[i].Passed && !send[i].Enforced {
			send[i].Reason += onlyReported
		}
	}
	return append(own, send...)
}

// baselineGate judges whether the system was well before the fault: the lowest
// goodput of any baseline window.
func baselineGate(s *study.Study, compositions []measure.Composition) Gate {
	g := Gate{Name: gateBaseline, Limit: 100 * s.Gates.BaselineGoodput.Float(), Unit: "%", AtLeast: true, Applies: true, Enforced: s.EnforcesGates()}
	lowest := math.Inf(1)
	for i := range compositions {
		f := compositions[i].Recovery.Goodput
		if f == nil || f.PreFault.Baseline.Goodput == nil {
			g.Reason = "not measured: the baseline is not estimable"
			return g
		}
		lowest = min(lowest, 100**f.PreFault.Baseline.Goodput)
	}
	g.measured(lowest)
	return g
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// valid reports whether no enforced gate has failed.
func valid(gates []Gate) bool {
	for _, g := range gates {
		if g.Enforced && g.Applies && !g.Passed {
			return false
		}
	}
	return true
}
