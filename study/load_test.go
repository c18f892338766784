package study

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/clock"
	"brunt/load"
)

// moving is a study whose load takes every shape.
const moving = `study: moving
load: {rate: 100/s, sine: {amplitude: 50%, period: 20s}}
dependencies:
  a: {latency: 5ms}
phases:
  - {name: sine, for: 10s}
  - {name: more, for: 10s}
  - {name: up,   for: 10s, load: {to: 500/s}}
  - {name: down, for: 10s, load: {rate: 500/s, to: 100/s, steps: 5}}
  - {name: high, for: 20s, load: {spike: {every: 10s, for: 1s, rate: 1000/s}}}
  - {name: own,  for: 10s, load: {rate: 200/s, sine: {amplitude: 0.25, period: 5s}}}
compositions:
  plain: []
`

func TestReadMovingLoad(t *testing.T) {
	s := must(t, moving)
	rate := clock.PerSecond
	want := []load.Override{
		{}, {},
		{To: rate(500)},
		{Rate: rate(500), To: rate(100), Steps: 5},
		{Spike: &load.Spike{Every: 10 * time.Second, For: time.Second, Rate: rate(1000)}},
		{Rate: rate(200), Sine: &load.Sine{Amplitude: 250_000, Period: 5 * time.Second}},
	}
	for i, p := range s.Phases {
		if d := cmp.Diff(want[i], p.Load, cmp.Comparer(func(a, b clock.Rate) bool { return a == b })); d != "" {
			t.Errorf("phase %s (-want +got):\n%s", p.Name, d)
		}
	}
	// whole periods and slopes: what each phase makes is its integral
	schedule := s.Schedule()
	counts := make([]int64, len(s.Phases))
	phase, end := 0, s.Phases[0].For
	for at := range schedule.Instants() {
		for ; at >= end; end += s.Phases[phase].For {
			phase++
		}
		counts[phase]++
	}
	if d := cmp.Diff([]int64{1319, 681, 3000, 3000, 3800, 2000}, counts); d != "" {
		t.Errorf("arrivals of the phases (-want +got):\n%s", d)
	}
	// a phase begins at the rate that it is said to have
	for i, want := range []int64{100, 100, 100, 500, 100, 200} {
		from, _ := s.Span(i)
		if got := s.Rate(i); got != rate(want) || schedule.RateAt(from) != float64(want) {
			t.Errorf("phase %s begins at %v, its schedule at %v, want %d/s", s.Phases[i].Name, got, schedule.RateAt(from), want)
		}
	}
	// what is written reads back as an equal study
	if again := must(t, string(s.Config())); !equal(s, again) {
		t.Errorf("read back as another study:\n%s", s.Config())
	}
}

func TestMovingLoadSettings(t *testing.T) {
	s := must(t, moving, "load.sine.amplitude=10%", "phases.up.load.to=300/s", "phases.high.load.spike.for=2s", "phases.more.load.steps=3", "phases.more.load.to=1/s")
	if s.Load.Sine.Amplitude != 100_000 || s.Phases[2].Load.To != clock.PerSecond(300) || s.Phases[4].Load.Spike.For != 2*time.Second || s.Phases[1].Load.Steps != 3 {
		t.Errorf("settings did not arrive: %+v", s.Phases)
	}
}

func TestMovingLoadFaults(t *testing.T) {
	tests := []struct {
		name string
		sets []string
		want string
	}{
		{"steps to nowhere", []string{"phases.one.load.steps=5"},
			"--set phases.one.load.steps=5: phases.0.load.steps: 5: goes with to: expected the rate of the last step there"},
		{"one step", []string{"phases.one.load={to: 20/s, steps: 1}"},
			"--set phases.one.load={to: 20/s, steps: 1}: phases.0.load.steps: 1: expected 2 to 1000"},
		{"a spike without an end", []string{"phases.one.load.spike={every: 1s, for: 1s, rate: 100/s}"},
			"--set phases.one.load.spike={every: 1s, for: 1s, rate: 100/s}: phases.0.load.spike.for: 1s: expected less than every, 1s"},
		{"more than the whole", []string{"phases.one.load.sine={amplitude: 150%, period: 1s}"},
			"--set phases.one.load.sine={amplitude: 150%, period: 1s}: phases.0.load.sine.amplitude: 150%: too large: expected at most 100%"},
		{"no share", []string{"load.sine={amplitude: much, period: 1s}"},
			`--set load.sine={amplitude: much, period: 1s}: load.sine.amplitude: much: expected a percentage such as 90%, or a number from 0 to 1`},
		{"two shapes", []string{"phases.one.load={to: 20/s, sine: {amplitude: 50%, period: 1s}}"},
			"--set phases.one.load={to: 20/s, sine: {amplitude: 50%, period: 1s}}: phases.0.load.to: 20/s: goes with neither spike nor sine: expected one of the three"},
		{"no rate to move", []string{"load={arrivals: burst, burst: 5}", "phases.one.load.to=20/s"},
			"--set phases.one.load.to=20/s: phases.0.load.to: 20/s: has no meaning with arrivals: burst"},
		{"too many spikes of the study", []string{"load.spike={every: 1ms, for: 0.5ms, rate: 10000/s}"},
			"--set load.spike={every: 1ms, for: 0.5ms, rate: 10000/s}: load.spike.every: 1ms: makes 30000 spikes in 30s: expected at most 10000"},
		// the setting that makes most requests is named
		{"too steep", []string{"phases.one.load.to=1000000000/s"},
			"--set phases.one.load.to=1000000000/s: phases.0.load.to: 1000000000/s: makes 5,000,000,250 requests in 30s: expected at most 100,000,000"},
		{"too high", []string{"phases.two.load.spike={every: 2s, for: 1s, rate: 1000000000/s}"},
			"--set phases.two.load.spike={every: 2s, for: 1s, rate: 1000000000/s}: phases.1.load.spike.rate: 1000000000/s: makes 10,000,000,200 requests in 30s: expected at most 100,000,000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := text(t, small, test.sets...)
			faults(t, err, test.want)
		})
	}
}
