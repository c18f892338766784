package lab

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"brunt/clock"
	"brunt/measure"
	"brunt/study"
)

// TestRealTellsTheSameStory runs the built-in studies on both clocks. Where no
// breaker is at work counts agree within 2 % or 5 requests and p95 within
// 10 ms; elsewhere the real run lies in the envelope of 100 virtual ones with a
// dispatch noise of 0.3 ms. A busy machine holds the loop up for longer than
// that: a try whose scheduler lag is over 2 ms at p99 says nothing about brunt,
// and the test is skipped when three tries in a row were such.
func TestRealTellsTheSameStory(t *testing.T) {
	if testing.Short() {
		t.Skip("times of a run under the race detector are the detector's: .ci/run has this test by itself too")
	}
	for _, c := range []struct {
		study string
		sets  []string
	}{
		{"outage", []string{"phases.*.for=1s"}},
		{"stampede", nil},
		{"provider-failure", []string{"phases.*.for=1s", "load.rate=50/s", "horizon=3s"}},
	} {
		sets := append(c.sets, "ties.runs=0", "expect=[]")
		real, virtual := read(t, c.study, append(sets, "clock=real")...), read(t, c.study, sets...)
		for i, name := range virtual.Compositions.Names() {
			t.Run(c.study+"/"+name, func(t *testing.T) {
				for range 3 {
					apart, lag := differences(t, real, virtual, i)
					switch {
					case len(apart) == 0:
						return
					case lag <= 2:
						t.Fatalf("the clocks differ, at a scheduler lag of %v ms:\n%s", lag, strings.Join(apart, "\n"))
					}
				}
				t.Skip("the machine is too busy to tell: the scheduler lag was over 2 ms at p99 three times; run this test by itself")
			})
		}
	}
}

// differences runs one composition on the real clock and lists where it leaves
// what the virtual clock allows. The lag is the scheduler's at p99, in ms.
func differences(t *testing.T, real, virtual *study.Study, i int) (apart []string, lag float64) {
	t.Helper()
	name := virtual.Compositions.Names()[i]
	one := func(run func(*measure.Recorder) error) *measure.Composition {
		m := measure.NewRecorder(plan(virtual), virtual.Schedule().Expected())
		if err := run(m); err != nil {
			t.Fatal(err)
		}
		c, err := m.Composition(name)
		if err != nil {
			t.Fatal(err)
		}
		return &c
	}
	got := one(func(m *measure.Recorder) error {
		return runJob(context.Background(), jobs(real), i, m, false, nil, nil, nil)
	})
	exact := one(func(m *measure.Recorder) error {
		return runJob(context.Background(), jobs(virtual), i, m, false, nil, nil, nil)
	})
	stack, _ := virtual.Compositions.Get(name)
	var noisy []*measure.Composition
	if hasBreaker(stack) {
		for trial := range 100 {
			noisy = append(noisy, one(func(m *measure.Recorder) error {
				schedule := virtual.Schedule().Noisy(virtual.Ties.Noise, trial+1)
				return runOn(context.Background(), clock.Virtual(), virtual, name, schedule, m, false, nil)
			}))
		}
	}
	for p := range got.Phases {
		for _, n := range []string{"completed", "attempts", "submitted.p95"} {
			v, err := Find(got, &got.Phases[p], n)
			if err != nil {
				t.Fatal(err)
			}
			if v.Refusal != "" {
				continue
			}
			want, _ := Find(exact, &exact.Phases[p], n)
			least, most := want.Value, want.Value
			for _, trial := range noisy {
				w, _ := Find(trial, &trial.Phases[p], n)
				least, most = min(least, w.Value), max(most, w.Value)
			}
			slack := max(5, 0.02*want.Value)
			if v.Unit == "ms" {
				slack = 10
			}
			if v.Value < least-slack || v.Value > most+slack || math.IsNaN(v.Value) {
				apart = append(apart, fmt.Sprintf("%s %s: real %v, virtual %v to %v", got.Phases[p].Name, n, v.Value, least, most))
			}
		}
	}
	late, err := Find(got, nil, "lag.p99")
	if err != nil {
		t.Fatal(err)
	}
	return apart, late.Value
}

func hasBreaker(stack study.Stack) bool {
	for _, stage := range stack {
		if stage.Breaker != nil {
			return true
		}
		if stage.Fallback != nil {
			for _, branch := range stage.Fallback.To {
				if hasBreaker(branch) {
					return true
				}
			}
		}
	}
	return false
}
