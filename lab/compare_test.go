package lab

import (
	"math"
	"strings"
	"testing"

	"brunt/measure"
)

func TestParseRule(t *testing.T) {
	phases := []string{"out", "out.age", "healthy"}
	for _, c := range []struct {
		text string
		want Rule
	}{
		{"healthy.attempts/offered +10%", Rule{Phase: "healthy", Measure: "attempts/offered", Limit: 0.1}},
		{"attempts/offered +10%", Rule{Phase: "whole", Measure: "attempts/offered", Limit: 0.1}},
		{"out.age.errored.circuit -5%", Rule{Phase: "out.age", Measure: "errored.circuit", Limit: -0.05}}, // the longest phase name
		{"out.p99  +0.5%", Rule{Phase: "out", Measure: "p99", Limit: 0.005}},
		{"p99.9 +0%", Rule{Phase: "whole", Measure: "p99.9", Limit: 0}},
	} {
		got, err := ParseRule(c.text, phases)
		c.want.Text = c.text
		if err != nil || got != c.want {
			t.Errorf("%q: got %+v, %v", c.text, got, err)
		}
	}
	for _, bad := range []string{"", "p99", "p99 10%", "p99 +10", "p99 +x%", "p99 +", "p99 -0%", "p99 +Inf%", "p99 +1_0%", "p99 +0x1p4%"} {
		if _, err := ParseRule(bad, phases); err == nil {
			t.Errorf("%q is taken for a rule", bad)
		}
	}
}

// TestCompareRuns: more attempts are more load on the dependency, and the
// deterministic difference is found and judged by the rule.
func TestCompareRuns(t *testing.T) {
	three := measured(t, read(t, "outage", "ties.runs=0"))
	four := measured(t, read(t, "outage", "ties.runs=0", "compositions.retry.retry.attempts=4", "expect=[]"))
	c, err := CompareRuns(three, four, []string{"outage.attempts/offered +10%", "slowdown.attempts/offered +10%"})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Paired {
		t.Errorf("the same load and seed are not paired: %s", c.Reason)
	}
	for _, v := range c.Rules {
		failed := v.Composition == "retry" && strings.HasPrefix(v.Rule, "outage")
		if v.Failed != failed {
			t.Errorf("%s in %s: %s, failed %v", v.Rule, v.Composition, v.Verdict, v.Failed)
		}
	}
	if c.FailedRules() != 1 {
		t.Errorf("%d rules fail, not 1", c.FailedRules())
	}
}

// TestNoiseIsNoRegression: a difference that chance can explain does not fail a
// rule, and one pair with chance in it is unclear.
func TestNoiseIsNoRegression(t *testing.T) {
	small := []string{"phases.*.for=2s", "ties.runs=0", "expect=[]", "horizon=5s"}
	a := measured(t, read(t, "provider-failure", append(small, "repeat=4")...))
	b := measured(t, read(t, "provider-failure", append(small, "repeat=4", "seed=1000")...))
	c, err := CompareRuns(a, b, []string{"errored/offered +0%"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Paired || !strings.Contains(c.Reason, "seeds") {
		t.Errorf("different seeds are paired: %q", c.Reason)
	}
	for _, v := range c.Rules {
		if v.Verdict == measure.OverLimit {
			t.Errorf("%s: chance is taken for a regression: %+v", v.Composition, v.Difference)
		}
	}
}

// TestRepeatsAreTheirSeeds: repeat k is the run with seed + k.
func TestRepeatsAreTheirSeeds(t *testing.T) {
	small := []string{"phases.*.for=2s", "ties.runs=0", "expect=[]"}
	r := measured(t, read(t, "provider-failure", append(small, "repeat=3")...))
	if len(r.Repeats) != 3 {
		t.Fatalf("%d repeats, not 3", len(r.Repeats))
	}
	for k, repeat := range r.Repeats {
		alone := read(t, "provider-failure", small...)
		alone.Seed += int64(k)
		want := measured(t, alone)
		for i := range want.Compositions {
			got := repeat.Compositions[i].Whole
			if got.Completed != want.Compositions[i].Whole.Completed || *got.Latency.Submitted.P95 != *want.Compositions[i].Whole.Latency.Submitted.P95 {
				t.Errorf("repeat %d of %s is not the run with seed %d", k, want.Compositions[i].Name, alone.Seed)
			}
		}
	}
	for _, c := range r.Compositions {
		if len(c.Summary) == 0 || c.Summary[0].N != 3 {
			t.Errorf("%s is not summed up over 3 repeats: %+v", c.Name, c.Summary)
		}
	}
}

// TestFaultStudy: a dependency that fails half of its calls for 40 s and is
// well again gives a recovery from it, its windows, and a baseline gate.
func TestFaultStudy(t *testing.T) {
	r := measured(t, read(t, "testdata/fault.yaml"))
	c := r.composition(t, "plain")
	if c.Recovery.Goodput == nil || c.Recovery.Goodput.PreFault.Detection.Status != measure.Recovered {
		t.Fatalf("no recovery is found: %+v", c.Recovery.Goodput)
	}
	// The leading window of 10 s reaches 90 % of the baseline when at least
	// eight of its ten seconds lie behind the fault, which lasts 40 s.
	if ttr := float64(*c.Recovery.Goodput.PreFault.Detection.Time) / 1e9; ttr < 37 || ttr > 40 {
		t.Errorf("recovered after %v s", ttr)
	}
	if g := *c.Recovery.Goodput.Plateau.Baseline.Goodput; g < 0.42 || g > 0.58 {
		t.Errorf("the degraded plateau is at %v, not near one half", g)
	}
	for _, g := range c.Service.Goodput {
		least, most := 0.98, 1.0
		if g.Phase == "fault" {
			least, most = 0.42, 0.58
		} else if g.Phase == "whole" {
			least, most = 0.8, 0.95
		}
		if *g.Share < least || *g.Share > most || g.Low == nil {
			t.Errorf("goodput in %s: %v", g.Phase, *g.Share)
		}
	}
	if len(c.Service.Sweep) == 0 || c.Service.Modal == nil {
		t.Error("no sweep, or no modal shift")
	}
	var kinds []string
	for _, w := range c.Windows {
		kinds = append(kinds, string(w.Window))
	}
	if got := strings.Join(kinds, " "); got != "warm-up baseline guard fault recovered cool-down" {
		t.Errorf("windows: %s", got)
	}
	for _, g := range r.Gates {
		if g.Name == gateBaseline && (!g.Applies || !g.Passed || !g.AtLeast) {
			t.Errorf("the gate on the baseline: %+v", g)
		}
	}
}

// TestSecondary: declared comparisons are paired by seed and adjusted for their
// number; one that is refused still counts.
func TestSecondary(t *testing.T) {
	r := measured(t, read(t, "provider-failure", "phases.*.for=2s", "ties.runs=0", "expect=[]", "repeat=5",
		"compare=[{measure: completed/offered, phase: outage, compositions: [single, fallback]}, {measure: p99, phase: outage, compositions: [single, fallback]}]"))
	if len(r.Secondary) != 2 {
		t.Fatalf("%d comparisons, not 2", len(r.Secondary))
	}
	first, second := r.Secondary[0], r.Secondary[1]
	if second.Difference.Verdict != measure.Refused || second.Adjusted != nil || second.Reason == "" {
		t.Errorf("single never completes in the outage, its p99 is compared all the same: %+v", second)
	}
	if first.Difference.P == nil && first.Difference.Flag == "" {
		t.Errorf("no p-value and no word why: %+v", first.Difference)
	}
	if p := first.Difference.P; p != nil && math.Abs(*first.Adjusted-min(1, 2**p)) > 1e-15 {
		t.Errorf("p = %v is adjusted to %v for two comparisons", *p, *first.Adjusted)
	}
}
