package sweep

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
)

// plainStudy answers after exactly 20 ms, and fails while it is bad.
const plainStudy = `
study: exact
load: {rate: 20/s}
dependencies: {service: {latency: 20ms}}
phases: [{name: good, for: 500ms}, {name: bad, for: 500ms, dependencies: {service: {fail: {first: 2}}}}]
compositions:
  retry: [{timeout: {after: 100ms}}, {retry: {attempts: 3, backoff: {kind: none}}}]
`

func search(t *testing.T, setting, until string) *Edges {
	t.Helper()
	s, err := NewSearch(SearchConfig{Source: "exact.yaml", Study: readStudy(t, plainStudy), Setting: setting, Until: until, Seeds: 2, Tolerance: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Run(t.Context(), func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A timeout of at least 20 ms lets an answer of 20 ms through, and three
// attempts get past two failures: edges that are known.
func TestKnownEdges(t *testing.T) {
	for _, c := range []struct {
		why, setting, until string
		status              Status
		edge                float64
		exact               bool
	}{
		{"true above", "compositions.retry.timeout.after=1ms..90ms", "completed@good > 0", Above, 20, false},
		{"true below", "compositions.retry.timeout.after=1ms..90ms", "completed/offered@good < 1", Below, 20, false},
		{"evenly in the logarithm", "compositions.retry.timeout.after=1ms..1s log", "completed@good > 0", Above, 20, false},
		{"a tenth to ten times of the study's own 100 ms", "compositions.*.timeout.after", "completed@good", Above, 20, false},
		{"whole numbers are exact", "compositions.retry.retry.attempts=1..50", "completed@bad", Above, 3, true},
		{"a few whole numbers", "compositions.retry.retry.attempts=1..5", "completed@bad >= 1", Above, 3, true},
		{"a duration, refused for being beyond all", "compositions.retry.retry.attempts=1..5", "p50@bad > 1s", Below, 2, true},
	} {
		e := search(t, c.setting, c.until)
		got := e.Compositions[0]
		if got.Status != c.status || got.Found != 2 || got.Median == nil {
			t.Errorf("%s: %v, %d seeds, %s", c.why, got.Status, got.Found, got.Reason)
			continue
		}
		slack := 0.0101 * c.edge
		if c.exact {
			slack = 0
		}
		if math.Abs(*got.Median-c.edge) > slack {
			t.Errorf("%s: edge at %v, want %v", c.why, *got.Median, c.edge)
		}
		if !e.Conclusive() || len(e.Warnings) > 0 {
			t.Errorf("%s: inconclusive, %v", c.why, e.Warnings)
		}
	}
}

func TestNoEdge(t *testing.T) {
	for _, c := range []struct {
		why, until string
		status     Status
		conclusive bool
	}{
		{"true everywhere", "offered > 0", Always, true},
		{"true nowhere", "offered = 0", Never, true},
		{"nothing can be told", "first_token.p50 > 1s", Refused, false},
	} {
		e := search(t, "compositions.retry.timeout.after=30ms..90ms", c.until)
		got := e.Compositions[0]
		if got.Status != c.status || got.Median != nil || got.Mean != nil || got.Reason == "" || e.Conclusive() != c.conclusive {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}

// Where nothing completes the p50 of what completed is refused: with answers
// slower than the timeout of 100 ms. An edge short of there is found all the
// same, also one that the scan of 1, 29.4, 57.9, 86.3, 115 ms, … stepped over.
func TestEdgeBesideRefusals(t *testing.T) {
	const setting = "dependencies.service.latency=1ms..200ms"
	for _, c := range []struct {
		why, setting, until string
		status              Status
		edge                float64
		says                string // a warning, or the reason
	}{
		{"seen by the scan", setting, "completed.p50@good > 50ms", Above, 50, "Seed 1: false at 1ms to 29.4ms, true at 57.9ms to 86.3ms, refused at 115ms to 200ms"},
		{"between the last known value and the first refused one", setting, "completed.p50@good > 95ms", Above, 95, "Seed 1: false at 1ms to 86.3ms, refused at 115ms to 200ms"},
		{"the other way round", setting, "completed.p50@good < 95ms", Below, 95, "true at 1ms to 86.3ms"},
		{"no edge before all is refused", setting, "completed.p50@good > 150ms", Refused, 0, "no edge is seen. Seed 1: false up to 99"},
		{"refused below", "compositions.retry.timeout.after=1ms..90ms", "completed.p50@good > 1ms", Refused, 0, "no edge is seen. Seed 1: true from 20"},
		{"refused everywhere", setting, "first_token.p50 > 1ms", Refused, 0, "no edge is seen. Seed 1: everywhere, as at 1ms: no stream completed"},
	} {
		e := search(t, c.setting, c.until)
		got := e.Compositions[0]
		if got.Status != c.status {
			t.Errorf("%s: %s, %s", c.why, got.Status, got.Reason)
			continue
		}
		if c.edge > 0 && math.Abs(*got.Median-c.edge) > 0.0101*c.edge {
			t.Errorf("%s: edge at %v, want %v", c.why, *got.Median, c.edge)
		}
		if said := got.Reason + strings.Join(e.Warnings, "\n"); !strings.Contains(said, c.says) {
			t.Errorf("%s: %s, want %q", c.why, said, c.says)
		}
		if e.Conclusive() != (c.status != Refused) {
			t.Errorf("%s: conclusive %v", c.why, e.Conclusive())
		}
	}
}

// Only two attempts are two: the statement becomes true and false again.
func TestNotMonotone(t *testing.T) {
	e := search(t, "compositions.retry.retry.attempts=1..5", "attempts/offered@bad = 2")
	if diff := cmp.Diff([]string{"retry is not monotone on 2 of 2 seeds, and the edge is the first one from below. Seed 1: false at 1, true at 2, false at 3 to 5"}, e.Warnings); diff != "" {
		t.Error(diff)
	}
	if c := e.Compositions[0]; c.Status != Above || *c.Median != 2 || c.Edges[0].Changes != 2 {
		t.Errorf("%+v", c)
	}
}

// Seeds that disagree have no median.
func TestMixed(t *testing.T) {
	one := 3.0
	c := CompositionEdge{Edges: []Edge{{Status: Above, Value: &one}, {Status: Never}}}
	c.sum()
	if c.Status != Mixed || c.Median != nil || c.Found != 1 || *c.Least != 3 || c.Reason == "" {
		t.Errorf("%+v", c)
	}
	if (&Edges{Compositions: []CompositionEdge{c}}).Conclusive() {
		t.Error("seeds that disagree conclude something")
	}
}

func TestSearchRefuses(t *testing.T) {
	for _, c := range []struct{ why, setting, until, want string }{
		{"an unknown number", "load.rate=1/s..2/s", "p98 > 1s", `measure "p98": unknown measure`},
		{"a duration without a unit", "load.rate=1/s..2/s", "p99 > 500", "is a duration"},
		{"a unit too many", "load.rate=1/s..2/s", "completed > 5ms", "is no duration"},
		{"no value", "load.rate=1/s..2/s", "completed >", "expected NAME"},
		{"no operator", "load.rate=1/s..2/s", "completed ! 3", "expected NAME"},
		{"an unknown path", "load.rat=1/s..2/s", "completed", "unknown field"},
		{"a list is no range", "load.rate=1/s,2/s", "completed", "expected PATH=FROM..TO"},
		{"nor is a spacing", "load.rate=1/s..2/s in 4", "completed", "expected PATH=FROM..TO"},
		{"an end that does not load", "compositions.retry.retry.attempts=-1..5", "completed", "at compositions.retry.retry.attempts=-1"},
		{"nothing to take a tenth of", "compositions.retry.retry.backoff.kind", "completed", "which has no tenth"},
		{"nothing said", "load.max_in_flight", "completed", "the study says nothing of load.max_in_flight"},
		{"many values", "phases", "completed", "is no single value"},
	} {
		_, err := NewSearch(SearchConfig{Source: "exact.yaml", Study: readStudy(t, plainStudy), Setting: c.setting, Until: c.until, Seeds: 1, Tolerance: 0.01})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}

func TestSearchStops(t *testing.T) {
	s, err := NewSearch(SearchConfig{Study: readStudy(t, plainStudy), Setting: "load.rate=1/s..9/s", Until: "completed", Seeds: 5, Tolerance: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ctx, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Every operator, and a number that is refused.
func TestStatement(t *testing.T) {
	s := readStudy(t, plainStudy)
	for _, c := range []struct {
		text    string
		number  lab.Number
		holds   bool
		refused bool
	}{
		{"completed", lab.Number{Value: 1}, true, false},
		{"completed", lab.Number{}, false, false},
		{"completed<2", lab.Number{Value: 2}, false, false},
		{"completed <= 2", lab.Number{Value: 2}, true, false},
		{"completed > 2", lab.Number{Value: 2}, false, false},
		{"completed >= 2", lab.Number{Value: 2}, true, false},
		{"completed = 2", lab.Number{Value: 2}, true, false},
		{"completed == 2", lab.Number{Value: 3}, false, false},
		{"completed != 2", lab.Number{Value: 3}, true, false},
		{"completed/offered < 99%", lab.Number{Value: 0.98}, true, false},
		{"p99@bad > 0.5s", lab.Number{Value: 501}, true, false},
		{"p99@bad > 0.5s", lab.Number{Refusal: "> 30 s", Beyond: true}, true, false},
		{"p99@bad < 0.5s", lab.Number{Refusal: "> 30 s", Beyond: true}, false, false},
		{"p99@bad < 0.5s", lab.Number{Refusal: "no request"}, false, true},
		{"cost > 1", lab.Number{Value: math.NaN()}, false, true},
	} {
		e, err := parseStatement(c.text, s)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if holds, refusal := e.holds(c.number); holds != c.holds || (refusal != "") != c.refused {
			t.Errorf("%s of %+v: %v, %q", c.text, c.number, holds, refusal)
		}
	}
}
