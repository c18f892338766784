package sweep

import (
	"context"
	"strings"
	"testing"

	"brunt/study"
)

// twoMinutes is the study by which the speed of a sweep is judged: 100
// requests/s for two minutes, one composition.
const twoMinutes = `
study: two-minutes
load: {rate: 100/s, arrivals: poisson}
dependencies: {service: {latency: {exponential: {mean: 20ms}}, fail: {ratio: 0.05}}}
phases: [{name: good, for: 60s}, {name: bad, for: 60s, dependencies: {service: {fail_after: 20ms}}}]
compositions:
  retry: [{timeout: {after: 500ms}}, {retry: {attempts: 3}}]
`

// One point, checked and run; a thousand of them may take 60 s on two cores.
func BenchmarkPoint(b *testing.B) {
	base, err := study.Read("-", study.Options{Stdin: strings.NewReader(twoMinutes)})
	if err != nil {
		b.Fatal(err)
	}
	axis, err := ParseAxis("compositions.*.retry.attempts=1..6", 10)
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Config{Study: base, Axes: []Axis{axis}, Points: b.N, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := s.Check(context.Background()); err != nil {
		b.Fatal(err)
	}
	if err := s.pass().from(context.Background(), 0, func([]*Finished) error { return nil }); err != nil {
		b.Fatal(err)
	}
}
