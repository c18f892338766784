package lab

import (
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"brunt/measure"
)

// realResult makes a result as of a run on the real clock, with the given lag
// and readings of the machine.
func realResult(t *testing.T, sets []string, lag time.Duration, watched []Gate) *Result {
	t.Helper()
	s := read(t, "outage", append([]string{"clock=real", "phases.*.for=1s", "ties.runs=0", "expect=[]"}, sets...)...)
	virtual := read(t, "outage", "phases.*.for=1s", "ties.runs=0", "expect=[]")
	all := jobs(virtual)
	outcomes, err := measureAll(virtual, all, 1, false, virtually(all))
	if err != nil {
		t.Fatal(err)
	}
	for i := range outcomes {
		m := measure.Millis(lag)
		outcomes[i].composition.Phases[0].SchedulerLag = measure.Tail{P99: &m, Max: &m}
	}
	r := newResult(s, Instrument{Version: "test"})
	if err := r.conclude(s, outcomes, watched); err != nil {
		t.Fatal(err)
	}
	return r
}

func gate(t *testing.T, r *Result, name string) Gate {
	t.Helper()
	for _, g := range r.Gates {
		if g.Name == name {
			return g
		}
	}
	t.Fatalf("no gate %q among %+v", name, r.Gates)
	return Gate{}
}

func reading(name string, v float64) Gate { return Gate{Name: name, Value: &v} }

// TestGates: each gate by itself makes an enforced run invalid, at the limit it
// still holds, and without enforcement it is only reported.
func TestGates(t *testing.T) {
	well := []Gate{reading(gateCPU, 70), reading(gateGC, 0.999)}
	for _, c := range []struct {
		name    string
		lag     time.Duration
		watched []Gate
		failing string
	}{
		{"all at their limits", 5 * time.Millisecond, well, ""},
		{"send skew", 5*time.Millisecond + 1, well, gateSkewP99},
		{"a request sent very late", 51 * time.Millisecond, well, gateSkewMax},
		{"a busy host", 0, []Gate{reading(gateCPU, 70.1), well[1]}, gateCPU},
		{"a pause of exactly the limit", 0, []Gate{well[0], reading(gateGC, 1)}, gateGC},
		{"not measured is not passed", 0, []Gate{well[0], {Name: gateGC, Reason: "not measured: …"}}, gateGC},
	} {
		r := realResult(t, []string{"gates=enforced"}, c.lag, c.watched)
		if r.Valid != (c.failing == "") {
			t.Errorf("%s: valid is %v", c.name, r.Valid)
		}
		if c.failing == "" {
			continue
		}
		if g := gate(t, r, c.failing); g.Passed || g.Reason == "" {
			t.Errorf("%s: %+v", c.name, g)
		}
		if r.Compositions != nil || len(r.Findings) != 0 || r.Hidden == nil || r.Hidden.Compositions == nil {
			t.Errorf("%s: an invalid run shows numbers, or keeps none aside", c.name)
		}
		b, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(b), `"compositions":null`) {
			t.Errorf("%s: result.json: %v", c.name, err)
		}
		if reported := realResult(t, nil, c.lag, c.watched); !reported.Valid || gate(t, reported, c.failing).Passed {
			t.Errorf("%s: without enforcement the run is valid and the gate failed, got valid %v", c.name, reported.Valid)
		}
	}
}

// TestGatesOnTheVirtualClock do not apply, and are never passed.
func TestGatesOnTheVirtualClock(t *testing.T) {
	r := measured(t, read(t, "stampede"))
	for _, name := range []string{gateSkewP99, gateSkewMax, gateUndispatched, gateCPU, gateGC} {
		if g := gate(t, r, name); g.Applies || g.Passed || g.Reason == "" {
			t.Errorf("%+v", g)
		}
	}
}

func TestBusiest(t *testing.T) {
	l := cpuLoad{}
	busy := 0.0
	for i := range 40 { // 20 s: idle, but for 5 s in the middle at 90 %
		if i > 14 && i <= 24 {
			busy += 90
		}
		l.sample(cpuSample{busy: busy, total: float64(100 * i)}, true)
	}
	if got, ok := l.busiest(); !ok || math.Abs(got-90) > 1e-9 {
		t.Errorf("busiest five seconds: %v, %v", got, ok)
	}
	l.sample(cpuSample{}, false)
	if _, ok := l.busiest(); ok {
		t.Error("a missing sample is passed over")
	}
}

func TestPauseP99(t *testing.T) {
	buckets := []float64{0, 1e-5, 1e-4, 1e-3, math.Inf(1)}
	for _, c := range []struct {
		counts []uint64
		want   float64
	}{
		{[]uint64{0, 0, 0, 0}, 0},     // no pause
		{[]uint64{99, 1, 0, 0}, 1e-5}, // 100 pauses: the rank of p99 is 99
		{[]uint64{98, 2, 0, 0}, 1e-4},
		{[]uint64{0, 0, 0, 1}, 1e-3}, // beyond the last bound: its lower end
	} {
		if got, ok := pauseP99(c.counts, buckets); !ok || got != c.want {
			t.Errorf("%v: got %v, want %v", c.counts, got, c.want)
		}
	}
	if _, ok := pauseP99(nil, nil); ok {
		t.Error("nothing was read, and there is a percentile")
	}
	if gcPauses() == nil {
		t.Error("the runtime does not tell its pauses")
	}
}

// TestWindowsOfPauses: a collection inside of a window counts, one outside does
// not.
func TestWindowsOfPauses(t *testing.T) {
	c := watchClient()
	defer c.end()
	total := func() (n uint64) {
		for _, count := range c.pauses {
			n += count
		}
		return n
	}
	if err := c.window(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	before := total()
	if err := c.window(func() error { runtime.GC(); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := total(); got <= before {
		t.Errorf("a collection in a window is not counted: %d pauses before, %d after", before, got)
	}
}
