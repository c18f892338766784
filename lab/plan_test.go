package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/measure"
	"brunt/study"
)

// planOf reads a study of two targets with the given phases, and plans it.
func planOf(t *testing.T, phases string, sets ...string) measure.Plan {
	t.Helper()
	s, err := study.Read("-", study.Options{Sets: sets, Stdin: strings.NewReader(`
study: planned
question: What is the plan?
load: {rate: 100/s}
dependencies:
  crew: {latency: 5ms, workers: 3, replicas: 2, replica: [{number: 2, workers: 1}]}
  alone: {latency: 5ms}
compositions:
  one: [{call: crew}]
  two: [{call: alone}]
phases: ` + phases)})
	if err != nil {
		t.Fatal(err)
	}
	return plan(s)
}

// The trigger reaches from the first disturbed phase to the last.
func TestTrigger(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name   string
		phases string
		want   *measure.Trigger
		reason string
	}{
		{"nothing is disturbed", "[{name: a, for: 10s}, {name: b, for: 10s}]", nil, ""},
		{"a dependency", "[{name: a, for: 10s}, {name: b, for: 10s, dependencies: {alone: {latency: 9ms}}}, {name: c, for: 10s}]",
			&measure.Trigger{Phases: []string{"b"}, From: 10 * s, To: 20 * s}, ""},
		{"the load", "[{name: a, for: 10s}, {name: b, for: 10s, load: {rate: 101/s}}, {name: c, for: 10s}]",
			&measure.Trigger{Phases: []string{"b"}, From: 10 * s, To: 20 * s}, ""},
		{"the load as it is anyway", "[{name: a, for: 10s, load: {rate: 100/s}}, {name: b, for: 10s}]", nil, ""},
		{"a ramp away from it", "[{name: a, for: 10s}, {name: b, for: 10s, load: {rate: 100/s, to: 200/s}}, {name: c, for: 10s}]",
			&measure.Trigger{Phases: []string{"b"}, From: 10 * s, To: 20 * s}, ""},
		{"what is quiet in between belongs to it", "[{name: a, for: 10s}, {name: b, for: 10s, load: {rate: 200/s}}, {name: c, for: 10s}, {name: d, for: 10s, dependencies: {crew: {refuse: true}}}, {name: e, for: 1s}]",
			&measure.Trigger{Phases: []string{"b", "d"}, From: 10 * s, To: 40 * s}, ""},
		{"up to the end", "[{name: a, for: 10s}, {name: b, for: 10s, load: {rate: 200/s}}]",
			&measure.Trigger{Phases: []string{"b"}, From: 10 * s, To: 20 * s}, ""},
		{"from the start", "[{name: a, for: 10s, load: {rate: 200/s}}, {name: b, for: 10s}]", nil,
			"phase a comes first and is disturbed: there is no quiet time to come back to"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := planOf(t, test.phases)
			if diff := cmp.Diff(test.want, p.Trigger); diff != "" || p.NoTrigger != test.reason {
				t.Errorf("%q (-want +got):\n%s", p.NoTrigger, diff)
			}
		})
	}
	// A load that swings by itself is left alone by a phase that holds it still.
	p := planOf(t, "[{name: a, for: 10s}, {name: b, for: 10s, load: {rate: 100/s}}, {name: c, for: 10s}]", "load.sine={amplitude: 50%, period: 1s}")
	if p.Trigger == nil || p.Trigger.From != 10*s {
		t.Errorf("a load held still: %+v", p.Trigger)
	}
}

// Stations have the workers of the undisturbed target, and slots by phase.
func TestStations(t *testing.T) {
	tests := []struct {
		name   string
		phases string
		want   measure.Station
	}{
		{"one replica has fewer", "[{name: a, for: 1s}]", measure.Station{Replicas: 2, Workers: 3, Slots: []int{4}}},
		{"a phase takes workers away", "[{name: a, for: 1s}, {name: b, for: 1s, dependencies: {crew: {workers: 2}}}]",
			measure.Station{Replicas: 2, Workers: 3, Slots: []int{4, 3}}},
		{"the first phase is disturbed", "[{name: a, for: 1s, dependencies: {crew: {workers: 7, replicas: 3}}}, {name: b, for: 1s}]",
			measure.Station{Replicas: 2, Workers: 3, Slots: []int{15, 4}}},
		{"every phase is", "[{name: a, for: 1s, dependencies: {crew: {workers: 7}}}]", measure.Station{Replicas: 2, Workers: 7, Slots: []int{8}}},
		{"another target is", "[{name: a, for: 1s, dependencies: {alone: {latency: 7ms}}}]", measure.Station{Replicas: 2, Workers: 3, Slots: []int{4}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := planOf(t, test.phases)
			if diff := cmp.Diff(test.want, p.Stations[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if p.Stations[1].Workers != 0 || p.Stations[1].Replicas != 1 {
				t.Errorf("one without workers: %+v", p.Stations[1])
			}
		})
	}
}
