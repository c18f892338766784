package lab

import (
	"strings"
	"testing"
	"time"

	"brunt/measure"
	"brunt/study"
)

// lossText is a study of the loss of a replica, with the given fault.
const lossText = `
study: loss
clock: real
load: {rate: 10/s}
horizon: 10s
target: {kind: openai, model: m}
testbed: {behaviour: {latency: 5ms}}
phases: [{name: before, for: 60s}, {name: fault, for: 100s}]
compositions: {x: []}
slo: {end_to_end: 10s}
gates: enforced
`

func loss(t *testing.T, fault string) *study.Study {
	t.Helper()
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(lossText + "fault: {phase: fault, " + fault + "}\n")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	killed     = "inject: {kind: kill, for: 4s}"
	blackHoled = "black_hole: 60s, partition_heals: true"
)

func millisAt(d time.Duration) *measure.Millis {
	m := measure.Millis(d)
	return &m
}

func ptr[T any](v T) *T { return &v }

// seenWell is what was seen around a run in which everything went well.
func seenWell() measure.Composition {
	const s = time.Second
	goodput := 1.0
	c := measure.Composition{Name: "x"}
	c.Recovery.Goodput = &measure.FaultRecovery{PreFault: measure.Against{Baseline: measure.Baseline{Goodput: &goodput}}}
	c.InFlight = &measure.InFlight{Victim: &measure.Fates{Open: 3, Censored: 3}}
	c.Site = &measure.Site{
		Shares: []measure.ReplicaShare{
			{Replica: "a", Requests: 50, Share: ptr(0.5), Waiting: ptr(0.0)},
			{Replica: "b", Requests: 50, Share: ptr(0.5), Waiting: ptr(1.0)},
		},
		Machines: []string{"one"},
		Fault: &measure.RealFault{Victim: "b", Planned: measure.Millis(60 * s), Stale: millisAt(20 * s), Misrouted: 1, Instants: []measure.SeenInstant{
			{What: "armed", At: millisAt(0)}, {What: "fired", At: millisAt(60*s + 500*time.Millisecond)}, {What: "effect", At: millisAt(60 * s)}, {What: "expired", At: millisAt(64 * s)}, {What: "heal", At: millisAt(65 * s)},
		}},
	}
	return c
}

// Each gate of a real fault fails by itself, at just beyond its limit; two take
// the label and leave the run valid.
func TestFaultGates(t *testing.T) {
	at := func(c *measure.Composition, what string) **measure.Millis {
		for i := range c.Site.Fault.Instants {
			if c.Site.Fault.Instants[i].What == what {
				return &c.Site.Fault.Instants[i].At
			}
		}
		t.Fatal("no instant " + what)
		return nil
	}
	for _, c := range []struct {
		name, fault, failing string
		valid                bool
		change               func(c *measure.Composition)
	}{
		{"a kill at all limits", killed, "", true, func(*measure.Composition) {}},
		{"a black hole at all limits", blackHoled, "", true, func(*measure.Composition) {}},
		{"an uneven share", killed, gateShare, false, func(c *measure.Composition) {
			c.Site.Shares[0].Share, c.Site.Shares[1].Share = ptr(0.449), ptr(0.551)
		}},
		{"a replica without requests", killed, gateShare, false, func(c *measure.Composition) {
			c.Site.Shares[0] = measure.ReplicaShare{Replica: "a", Waiting: ptr(0.0)}
		}},
		{"no answer names its replica", killed, gateShare, false, func(c *measure.Composition) {
			for i := range c.Site.Shares {
				c.Site.Shares[i].Requests, c.Site.Shares[i].Share = 0, nil
			}
		}},
		{"fired late", killed, gateFire, false, func(c *measure.Composition) { *at(c, "fired") = millisAt(60*time.Second + 500*time.Millisecond + 1) }},
		{"fired early", killed, gateFire, false, func(c *measure.Composition) { *at(c, "fired") = millisAt(59 * time.Second) }},
		{"never seen to fire", killed, gateFire, false, func(c *measure.Composition) { *at(c, "fired") = nil }},
		{"without effect", killed, gateEffect, false, func(c *measure.Composition) { *at(c, "effect") = nil }},
		{"without an end", killed, gateHeal, false, func(c *measure.Composition) { *at(c, "heal") = nil }},
		{"two machines", killed, gateMachine, false, func(c *measure.Composition) { c.Site.Machines = append(c.Site.Machines, "another") }},
		{"no machine", killed, gateMachine, false, func(c *measure.Composition) { c.Site.Machines = nil }},
		{"a queue", killed, gateQueue, false, func(c *measure.Composition) { c.Site.Shares[0].Waiting = ptr(1.001) }},
		{"a queue that nobody told", killed, gateQueue, false, func(c *measure.Composition) { c.Site.Shares[0].Waiting = nil }},
		{"a baseline that was not well", killed, gateBaseline, false, func(c *measure.Composition) {
			c.Recovery.Goodput.PreFault.Baseline.Goodput = ptr(0.9899)
		}},
		{"a reset in a black hole", blackHoled, gateReset, true, func(c *measure.Composition) { c.InFlight.Victim.Errored = 1 }},
		{"victims that nobody knows", blackHoled, gateReset, true, func(c *measure.Composition) { c.InFlight.Victim = nil }},
		{"a route that was gone too soon", blackHoled, gateStale, true, func(c *measure.Composition) { c.Site.Fault.Stale = millisAt(20*time.Second - 1) }},
		{"a stale route that nobody took", blackHoled, gateStale, true, func(c *measure.Composition) { c.Site.Fault.Misrouted = 0 }},
		{"a route that was not seen", blackHoled, gateStale, true, func(c *measure.Composition) { c.Site.Fault.Stale = nil }},
	} {
		s := loss(t, c.fault)
		one := seenWell()
		c.change(&one)
		// The worst run of a campaign counts, wherever it stands.
		for _, all := range [][]measure.Composition{{one}, {seenWell(), one}, {one, seenWell()}} {
			judged := append([]Gate{baselineGate(s, all)}, faultGates(s, all)...)
			for _, g := range judged {
				if failed := g.Applies && !g.Passed; failed != (g.Name == c.failing) {
					t.Errorf("%s: gate %s: %+v", c.name, g.Name, g)
				} else if failed && g.Reason == "" {
					t.Errorf("%s: gate %s fails without a reason", c.name, g.Name)
				}
				if !g.Applies && (g.Passed || g.Reason == "") {
					t.Errorf("%s: gate %s does not apply, and yet %+v", c.name, g.Name, g)
				}
			}
			if valid(judged) != c.valid {
				t.Errorf("%s: valid is %v", c.name, !c.valid)
			}
			label := representsNodeLoss(s, judged)
			if c.fault == killed && label != nil {
				t.Errorf("%s: a kill is said to represent the loss of a node: %+v", c.name, label)
			}
			if c.fault == blackHoled && (label == nil || label.Represents != (c.failing == "") || label.Represents != (len(label.Reasons) == 0)) {
				t.Errorf("%s: the label is %+v", c.name, label)
			}
		}
	}
}

// A fault without an end asks for none; one replica has nobody to share with;
// behind a front of the user's own shares are described.
func TestFaultGatesThatDoNotApply(t *testing.T) {
	applies := func(s *study.Study, name string) (applies, enforced bool) {
		t.Helper()
		for _, g := range faultGates(s, []measure.Composition{seenWell()}) {
			if g.Name == name {
				return g.Applies, g.Enforced
			}
		}
		t.Fatal("no gate " + name)
		return
	}
	if a, _ := applies(loss(t, "inject: {kind: kill}"), gateHeal); a {
		t.Error("a kill for good must be seen to end")
	}
	for _, name := range []string{gateReset, gateStale} {
		if a, _ := applies(loss(t, killed), name); a {
			t.Errorf("gate %s applies to a kill", name)
		}
	}
	own := loss(t, killed)
	own.Testbed = nil
	if a, enforced := applies(own, gateShare); !a || enforced {
		t.Errorf("behind another front the share is judged %v, enforced %v", a, enforced)
	}
	one := loss(t, killed)
	one.Testbed.Replicas = 1
	if a, _ := applies(one, gateShare); a {
		t.Error("one replica has a share")
	}
}

// Requests that the client had and never sent are counted, of real targets
// alone.
func TestUnsent(t *testing.T) {
	c := seenWell()
	c.Whole.Offered, c.Whole.Submitted, c.Site.Undispatched = 10, 7, 2
	if n := unsent(loss(t, killed), []measure.Composition{c, c}); n != 10 {
		t.Errorf("%d unsent: 3 were shed and 2 never begun, twice", n)
	}
	if n := unsent(read(t, "outage"), []measure.Composition{c}); n != 0 {
		t.Errorf("%d unsent of a simulated study", n)
	}
}

// The headline fills its slots with what was measured, and says of each other
// one that it was not.
func TestHeadline(t *testing.T) {
	s := loss(t, killed)
	c := seenWell()
	c.InFlight.Victim = &measure.Fates{Open: 4, Errored: 3, Censored: 1}
	c.Windows = []measure.WindowNumbers{
		{Window: measure.BaselineWindow, FirstToken: &measure.Percentiles{P50: millisAt(50 * time.Millisecond)}},
		{Window: measure.FaultWindow, FirstToken: &measure.Percentiles{P50: millisAt(75 * time.Millisecond)}, WithinSecond: ptr(0.667)},
	}
	c.Recovery.Goodput.PreFault.Detection = measure.Detection{Status: measure.Recovered, Time: millisAt(7 * time.Second)}
	c.Recovery.Goodput.Plateau.Baseline.Reason = "not estimable: too short"
	c.Site.Fault.Segments = []measure.Segment{{Name: "effect to start again", Length: millisAt(4 * time.Second)}, {Name: "start to replica ready", Reason: "never"}}
	r := &Result{Calibration: &Calibrated{Share: 0.65, Of: ofReplica}, Compositions: []measure.Composition{c}}
	f := finder{study: s, result: r}
	const want = "Under a kill and a restart 4 s later at 65 % of one replica's measured capacity, 75.0 % (3 of 4) of the victim's in-flight requests failed and 25.0 % (1) timed out; " +
		"first-token p50 of completed requests went from 50 ms to 75 ms; incidence of completion within 1 s was 66.7 %; " +
		"recovery to the degraded plateau took N/A (not estimable: too short), to the pre-fault level 7 s; on the way 4 s for effect to start again and N/A for start to replica ready (never)."
	if got := f.headline(&c); got != want {
		t.Errorf("the headline is\n%s\nwant\n%s", got, want)
	}
	// Nothing was measured: no slot holds a number but the study's own.
	bare := measure.Composition{Name: "x", Site: &measure.Site{Fault: &measure.RealFault{}}}
	f.result = &Result{}
	const nothing = "Under a kill and a restart 4 s later at 10/s, an unknown share of the victim's in-flight requests failed and an unknown share timed out."
	if got := f.headline(&bare); got != nothing {
		t.Errorf("without numbers the headline is\n%s\nwant\n%s", got, nothing)
	}
}
