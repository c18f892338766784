package lab

import (
	"fmt"

	"brunt/fault"
	"brunt/measure"
	"brunt/study"
)

// unsent counts the requests to real targets that the client had in hand and
// never sent: those that it shed itself, and attempts that it never began.
func unsent(s *study.Study, compositions []measure.Composition) int64 {
	if !s.CallsReal() {
		return 0
	}
	n := int64(0)
	for i := range compositions {
		c := &compositions[i]
		n += c.Whole.Offered - c.Whole.Submitted
		if c.Site != nil {
			n += c.Site.Undispatched
		}
	}
	return n
}

// mostWaiting is the longest mean queue of a replica that is not overloaded
// before the fault.
const mostWaiting = 1.0

// faultGates judge the fault of a study: that it fired, was seen, and was what
// it is called. Those of a simulated one do not apply.
func faultGates(s *study.Study, compositions []measure.Composition) []Gate {
	share := Gate{Name: gateShare, Limit: 100 * s.Gates.ShareMin.Float(), Unit: "%", AtLeast: true}
	fire := Gate{Name: gateFire, Limit: inMillis(s.Gates.FireWithin), Unit: "ms"}
	stale := Gate{Name: gateStale, Limit: inMillis(s.Gates.StaleAtLeast), Unit: "ms", AtLeast: true}
	injected := s.Fault.Injected()
	if injected == nil || !s.CallsReal() {
		all := []Gate{share, fire, stale}
		for i := range all {
			all[i].Reason = "does not apply: the fault is simulated, in one dependency without replicas"
		}
		return all
	}
	j := faultJudge{s, compositions, injected}
	return []Gate{
		j.share(share), j.fire(fire), j.seen(gateEffect, "effect", true),
		j.seen(gateHeal, "heal", ends(injected)), j.reset(), j.stale(stale), j.machines(), j.queue(),
	}
}

// ends reports whether a fault ends within the run.
func ends(c *fault.Config) bool { return c.For > 0 }

// faultJudge judges the real fault of all compositions of all repeats: the
// worst of them counts.
type faultJudge struct {
	study        *study.Study
	compositions []measure.Composition
	injected     *fault.Config
}

// each calls f with what was seen around each run, and returns false when there
// is one of which nothing was.
func (j faultJudge) each(f func(*measure.Site)) bool {
	for i := range j.compositions {
		site := j.compositions[i].Site
		if site == nil || site.Fault == nil {
			return false
		}
		f(site)
	}
	return len(j.compositions) > 0
}

const notSeen = "not measured: nothing was seen of it"

// share judges whether each replica had its part of the baseline's requests.
// The limits are those of two replicas; of more, each share counts as so many
// halves of an even one.
func (j faultJudge) share(g Gate) Gate {
	declared := 0
	if j.study.Testbed != nil {
		declared = j.study.Testbed.Replicas
	}
	if declared == 1 {
		g.Reason = "does not apply: there is one replica"
		return g
	}
	// brunt's own front balances request by request; of another one nobody knows.
	g.Applies, g.Enforced = true, declared > 0 && j.study.EnforcesGates()
	lowest, highest, fewest := 100.0, 0.0, 1<<30
	complete := j.each(func(site *measure.Site) {
		n := 0
		for _, r := range site.Shares {
			if r.Requests > 0 {
				n++
			}
		}
		fewest = min(fewest, n)
		for _, r := range site.Shares {
			if r.Share != nil {
				half := 100 * *r.Share * float64(len(site.Shares)) / 2
				lowest, highest = min(lowest, half), max(highest, half)
			}
		}
	})
	switch {
	case !complete || fewest == 0:
		g.Reason = "not measured: no answer names its replica"
		return g
	case fewest < max(declared, 2):
		g.measured(0)
		g.Enforced = j.study.EnforcesGates()
		g.Reason = fmt.Sprintf("requests of the baseline were seen at %d of %d replicas", fewest, max(declared, 2))
		return g
	}
	g.measured(lowest)
	if most := 100 * j.study.Gates.ShareMax.Float(); highest > most {
		g.Passed, g.Value, g.Limit, g.AtLeast, g.Reason = false, &highest, most, false, "over the limit"
	}
	return g
}

// instant returns when something was seen of the fault of a run.
func instant(site *measure.Site, what string) *measure.Millis {
	for _, i := range site.Fault.Instants {
		if i.What == what {
			return i.At
		}
	}
	return nil
}

func (j faultJudge) fire(g Gate) Gate {
	g.Applies, g.Enforced = true, j.study.EnforcesGates()
	latest, seen := 0.0, true
	if !j.each(func(site *measure.Site) {
		at := instant(site, "fired")
		if at == nil {
			seen = false
			return
		}
		d := float64(*at-site.Fault.Planned) / 1e6
		latest = max(latest, d, -d)
	}) || !seen {
		g.Reason = notSeen
		return g
	}
	g.measured(latest)
	return g
}

// seen judges whether something was seen of the fault in every run. A run that
// did not see its effect or its end says nothing, whatever the study enforces.
func (j faultJudge) seen(name, what string, applies bool) Gate {
	g := Gate{Name: name, Limit: 100, Unit: "% of runs", AtLeast: true, Applies: applies, Enforced: applies}
	if !applies {
		g.Reason = "does not apply: the fault does not end within the run"
		return g
	}
	seen := 0
	j.each(func(site *measure.Site) {
		if instant(site, what) != nil {
			seen++
		}
	})
	g.measured(100 * float64(seen) / float64(max(1, len(j.compositions))))
	if !g.Passed {
		g.Reason = notSeen
	}
	return g
}

// reset judges whether a black hole was silent: a request of the victim that was
// in flight may end as censored only, or complete.
func (j faultJudge) reset() Gate {
	g := Gate{Name: gateReset}
	if j.injected.Kind != fault.BlackHole {
		g.Reason = "does not apply: the fault is no black hole"
		return g
	}
	g.Applies = true
	errored, known := int64(0), true
	for i := range j.compositions {
		f := j.compositions[i].InFlight
		if f == nil || f.Victim == nil {
			known = false
			continue
		}
		errored += f.Victim.Errored
	}
	if !known {
		g.Reason = "not measured: it is not known which requests the victim had"
		return g
	}
	g.measured(float64(errored))
	return g.ofLabel()
}

// stale judges whether the front went on sending requests to the victim for
// long enough, as it does when a node is lost.
func (j faultJudge) stale(g Gate) Gate {
	if j.injected.Kind != fault.BlackHole {
		g.Reason = "does not apply: the fault is no black hole"
		return g
	}
	g.Applies = true
	shortest, misrouted, seen := 1e18, int64(1<<62), true
	if !j.each(func(site *measure.Site) {
		if site.Fault.Stale == nil {
			seen = false
			return
		}
		shortest, misrouted = min(shortest, float64(*site.Fault.Stale)/1e6), min(misrouted, site.Fault.Misrouted)
	}) || !seen {
		g.Reason = notSeen
		return g
	}
	g.measured(shortest)
	if misrouted == 0 {
		g.Passed, g.Reason = false, "no request was sent to the lost replica in that time"
	}
	return g.ofLabel()
}

// ofLabel says what hangs on a gate that leaves a run valid.
func (g Gate) ofLabel() Gate {
	if !g.Passed {
		g.Reason += "; the run stays valid, and does not represent the loss of a node"
	}
	return g
}

// machines judges whether all replicas of all runs were on machines alike.
func (j faultJudge) machines() Gate {
	g := Gate{Name: gateMachine, Limit: 1, Applies: true, Enforced: j.study.Testbed != nil && j.study.EnforcesGates()}
	known, told := map[string]bool{}, true
	if !j.each(func(site *measure.Site) {
		told = told && len(site.Machines) > 0
		for _, m := range site.Machines {
			known[m] = true
		}
	}) || !told {
		g.Reason = "not measured: nobody says what machines the replicas run on"
		return g
	}
	g.measured(float64(len(known)))
	return g
}

// queue judges whether any replica was overloaded before the fault.
func (j faultJudge) queue() Gate {
	g := Gate{Name: gateQueue, Limit: mostWaiting, Applies: true, Enforced: j.study.Testbed != nil && j.study.EnforcesGates()}
	longest, known := 0.0, true
	if !j.each(func(site *measure.Site) {
		for _, r := range site.Shares {
			if r.Waiting == nil {
				known = false
			} else {
				longest = max(longest, *r.Waiting)
			}
		}
	}) || !known {
		g.Reason = "not measured: not every replica told its queue"
		return g
	}
	g.measured(longest)
	return g
}

// NodeLoss says whether a black hole may be called the loss of a node.
type NodeLoss struct {
	Represents bool     `json:"represents_node_loss"`
	Reasons    []string `json:"reasons,omitempty"` // why it may not
}

// representsNodeLoss says whether what a black hole did may be called the loss
// of a node. nil where nobody would.
func representsNodeLoss(s *study.Study, gates []Gate) *NodeLoss {
	if s.Fault == nil || s.Fault.Injected() == nil || s.Fault.Injected().Kind != fault.BlackHole || !s.CallsReal() {
		return nil
	}
	label := &NodeLoss{Represents: true}
	for _, g := range gates {
		if (g.Name == gateReset || g.Name == gateStale) && !g.Passed {
			label.Represents = false
			label.Reasons = append(label.Reasons, g.Name+": "+g.Reason)
		}
	}
	return label
}
