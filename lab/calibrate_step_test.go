package lab

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/clock"
	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// TestStepIsJudged: each way in which a step can fail is told, in words.
func TestStepIsJudged(t *testing.T) {
	whole := func(n int64) Step {
		return Step{Offered: n, Completed: n, Good: n, Causes: map[string]int64{}, GrowthAllowed: 2}
	}
	ms := func(n int64) *measure.Millis { m := measure.Millis(n * int64(time.Millisecond)); return &m }
	for name, c := range map[string]struct {
		change func(s *Step)
		status StepStatus
		why    string
	}{
		"well":      {func(*Step) {}, StepSustained, ""},
		"at 99 %":   {func(s *Step) { s.Good = 990 }, StepSustained, ""},
		"one fewer": {func(s *Step) { s.Good = 989 }, StepNotSustained, "goodput is 98.9 %, below 99 % (of 1,000: 11 outside of the slo)"},
		"failures": {func(s *Step) {
			s.Completed, s.Good, s.Censored = 900, 900, 30
			s.Causes["timeout"], s.Causes["failure"] = 20, 50
		}, StepNotSustained, "goodput is 90 %, below 99 % (of 1,000: 50 failure, 20 timeout, 30 censored)"},
		// Even one is too many, though the goodput would do.
		"shed":    {func(s *Step) { s.Shed, s.Causes["harness"] = 1, 1; s.Good, s.Completed = 999, 999 }, StepNotSustained, "1 shed, as load.max_in_flight allows no more than 64 in flight"},
		"growth":  {func(s *Step) { s.InFlightMiddle, s.InFlightEnd = 10, 13 }, StepNotSustained, "in flight grows from 10 to 13 in the second half, and chance explains 2 of it at most"},
		"allowed": {func(s *Step) { s.InFlightMiddle, s.InFlightEnd = 10, 12 }, StepSustained, ""},
		"shrinks": {func(s *Step) { s.InFlightMiddle = 1000 }, StepSustained, ""},
		// It may be filling up still.
		"slow": {func(s *Step) {
			s.InFlightEnd, s.Settled = 50, *ms(100)
			s.Quantiles = []measure.Quantile{{Q: 0.5, Millis: ms(101)}}
		}, StepNotSustained, "in flight grows from 0 to 50 in the second half, and chance explains 2 of it at most; most answers take longer than the settling of 100 ms, and a longer one may tell another story"},
		// A late client's step says nothing, whatever came of it.
		"late at p99":  {func(s *Step) { s.Good, s.SendSkewP99, s.SendSkewMax = 1, ms(6), ms(7) }, StepInconclusive, "the client is the limit: its send skew was 6 ms at p99, and at most 5 ms is allowed"},
		"late once":    {func(s *Step) { s.SendSkewP99, s.SendSkewMax = ms(5), ms(51) }, StepInconclusive, "the client is the limit: its send skew was 51 ms at most, and at most 50 ms is allowed"},
		"in time":      {func(s *Step) { s.SendSkewP99, s.SendSkewMax = ms(5), ms(50) }, StepSustained, ""},
		"out of ports": {func(s *Step) { s.Shed, s.Causes["harness"] = 1, 4 }, StepInconclusive, "the client is the limit: of 1,000 requests it could not send 3 at all"},
		"nothing":      {func(s *Step) { s.Offered = 0 }, StepInconclusive, "no request was offered"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &study.Study{}
			s.SetDefaults()
			s.Load.MaxInFlight = 64
			step := whole(1000)
			c.change(&step)
			if step.Offered > 0 {
				share := float64(step.Good) / float64(step.Offered)
				step.Goodput = &share
			}
			if step.judge(s); step.Status != c.status || step.Why != c.why {
				t.Errorf("%s: %s\nwant %s: %s", step.Status, step.Why, c.status, c.why)
			}
		})
	}
}

// TestCrowd: what is in flight grows by what arrives less what ends.
func TestCrowd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := crowd{middle: 50, end: 100}
		var want crowd
		for range rapid.IntRange(0, 50).Draw(t, "requests") {
			r := record.Request{Intended: time.Duration(rapid.IntRange(0, 99).Draw(t, "intended"))}
			r.End = r.Intended + time.Duration(rapid.IntRange(0, 200).Draw(t, "latency"))
			c.Request(&r)
			if r.Intended < 50 && r.End >= 50 {
				want.atMiddle++
			}
		}
		if c.atMiddle != want.atMiddle {
			t.Fatalf("%d in the middle, want %d", c.atMiddle, want.atMiddle)
		}
		if growth := c.atEnd - c.atMiddle; growth != c.arrived-c.ended {
			t.Fatalf("grows by %d, but %d arrived and %d ended", growth, c.arrived, c.ended)
		}
	})
}

// TestGrowthAllowed: nothing but the ends of a grid without chance, and more of
// chance the more chance there is.
func TestGrowthAllowed(t *testing.T) {
	c := crowd{arrived: 400, ended: 500}
	for _, k := range []struct {
		dependency, more string
		want             float64
	}{
		{"latency: 10ms", "}", 2},
		{"latency: {exponential: {mean: 10ms}}", "}", 2 + 22.360679774997898},
		{"latency: 10ms", ", arrivals: poisson}", 2 + 30},
		{"latency: 10ms", "}\nclock: real", 2 + 22.360679774997898},
	} {
		if got := c.allowed(capable(t, k.dependency, k.more)); got != k.want {
			t.Errorf("%s, %s: %v, want %v", k.dependency, k.more, got, k.want)
		}
	}
}

// TestStepsAreSteps: a step up is 10 %, but for the rounding of its fourth
// digit, and reads back.
func TestStepsAreSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%d/%dms", rapid.IntRange(1, 900_000).Draw(t, "count"), rapid.IntRange(1, 3_600_000).Draw(t, "per"))
		r, err := clock.ParseRate(text)
		if err != nil {
			t.Fatal(err)
		}
		up := stepUp(r)
		if share := up.PerSecond() / r.PerSecond(); share <= 1.0988 || share > 1.1+1e-12 {
			t.Fatalf("%s after %s: %v", up, r, share)
		}
		if again, err := clock.ParseRate(up.String()); err != nil || again != up {
			t.Fatalf("%s reads as %s: %v", up, again, err)
		}
	})
	for _, c := range [][2]string{{"100/s", "110/s"}, {"121/s", "133.1/s"}, {"133.1/s", "146.4/s"}, {"9999/s", "10990/s"}, {"0.01/s", "0.011/s"}} {
		r, err := clock.ParseRate(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := stepUp(r).String(); got != c[1] {
			t.Errorf("after %s comes %s, want %s", c[0], got, c[1])
		}
		if exact(r).Cmp(new(big.Rat)) <= 0 {
			t.Errorf("%s is no rate", r)
		}
	}
}

// TestStepIsUndisturbed: a step has the study's dependencies and load, and
// nothing of its phases, fault, spikes and expectations.
func TestStepIsUndisturbed(t *testing.T) {
	s := capable(t, "latency: 10ms", ", max_in_flight: 7, spike: {every: 10s, for: 1s, rate: 90/s}}\nexpect: [{measure: p99, at_most: 1s}]\nrepeat: 3\nwarmup: 5s\nrecovery: {phase: all}")
	s.Fault = &study.Fault{Phase: "all"}
	step := stepStudy(s, s.Calibration(), clock.PerSecond(20), 9)
	want := []study.Phase{{Name: "settle", For: 5 * time.Second}, {Name: "step", For: 20 * time.Second}}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(step.Phases)); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if step.Fault != nil || step.Load.Spike != nil || step.Expect != nil || step.Repeat != 1 || step.Warmup != 0 || step.Seed != 9 || step.Load.MaxInFlight != 7 {
		t.Errorf("%+v", step)
	}
	if n := step.Schedule().Expected(); n != 500 {
		t.Errorf("%d requests in 25 s at 20/s", n)
	}
	if len(s.Phases) == 2 || s.Load.Spike == nil || strings.Contains(fmt.Sprint(s.Phases), "settle") {
		t.Errorf("the study itself has changed: %+v", s)
	}
}
