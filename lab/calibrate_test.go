package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/clock"
	"brunt/load"
	"brunt/study"
)

// calibrated calibrates a study with a dependency and more settings.
func calibrated(t *testing.T, dependency, more string) *Calibration {
	t.Helper()
	c, err := Calibrate(context.Background(), capable(t, dependency, more), CalibrationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// capable is a study with a dependency and more settings.
func capable(t *testing.T, dependency, more string) *study.Study {
	t.Helper()
	text := fmt.Sprintf(`
study: capable
load: {rate: 1/s%s
dependencies: {service: {%s}}
phases: [{name: all, for: 1s}]
compositions: {plain: [{call: service}], second: [{call: service}]}
horizon: 60s
`, more, dependency)
	path := filepath.Join(t.TempDir(), "capable.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

// sojourn is the rate up to which the share q of all answers of an M/M/c queue,
// each of whose workers does mu a second, come within t, by bisection of the
// closed form P(T > t) = e^-mu·t (1 + C (1 - e^-mu·t·(c-1-a)) / (c-1-a)), where
// a = l/mu and C is Erlang's chance of waiting (Gross, Shortle, Thompson, Harris,
// Fundamentals of Queueing Theory, 4th edition, section 2.3).
func sojourn(workers int, mu, t, q float64) float64 {
	n := float64(workers)
	late := func(l float64) float64 {
		a := l / mu
		term, sum := 1.0, 0.0
		for k := range workers {
			sum += term
			term *= a / float64(k+1)
		}
		last := term * n / (n - a)
		waits := last / (sum + last)
		share := mu * t
		if d := n - 1 - a; math.Abs(d) > 1e-9 {
			share = (1 - math.Exp(-mu*t*d)) / d
		}
		return math.Exp(-mu*t) * (1 + waits*share)
	}
	low, high := 0.0, n*mu
	for range 100 {
		if m := (low + high) / 2; late(m) <= 1-q {
			low = m
		} else {
			high = m
		}
	}
	return low
}

// TestSojourn: the closed form for one worker is e^-(mu-l)·t.
func TestSojourn(t *testing.T) {
	if got, want := sojourn(1, 100, 0.2, 0.99), 100-math.Log(100)/0.2; math.Abs(got-want) > 1e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCapacityIsFound: what is found is at most the true capacity, and less than
// a step below it.
func TestCapacityIsFound(t *testing.T) {
	const quick = "}\ncalibrate: {from: 20/s, settle: 2s, step: 10s}"
	const long = ", arrivals: poisson}\ncalibrate: {from: 20/s, settle: 10s, step: 200s}"
	for name, c := range map[string]struct {
		dependency, more string
		truth            float64
		noise            float64 // what chance may move it by, as a share
	}{
		// No chance at all: c workers of s each.
		"one worker":   {"latency: 10ms, workers: 1", quick, 100, 0},
		"five workers": {"latency: 20ms, workers: 5", quick, 250, 0},
		// The capacity is a rate of the grid: at exactly the capacity the queue does not grow.
		"on the grid": {"latency: 12.5ms, workers: 1", quick, 80, 0},
		// The queue is unbounded and the slo generous: no answer of the short step is late.
		"long slo": {"latency: 10ms, workers: 1", quick + "\nslo: {end_to_end: 50s}", 100, 0},
		// A short queue refuses what the workers cannot do.
		"queue limit": {"latency: 10ms, workers: 1, queue: 4", quick, 100, 0.01},
		// The harness allows less in flight than the workers: 8 requests, each 100 ms.
		"shed": {"latency: 100ms, workers: 50", ", max_in_flight: 8" + quick, 80, 0.02},
		// Poisson arrivals, exponential work; without an slo the capacity is the workers'.
		"M/M/1":           {"latency: {exponential: {mean: 10ms}}, workers: 1", long, 100, 0.02},
		"M/M/1, slo":      {"latency: {exponential: {mean: 10ms}}, workers: 1", long + "\nslo: {end_to_end: 200ms}", sojourn(1, 100, 0.2, 0.99), 0.03},
		"M/M/4, slo":      {"latency: {exponential: {mean: 40ms}}, workers: 4", long + "\nslo: {end_to_end: 300ms}", sojourn(4, 25, 0.3, 0.99), 0.03},
		"M/M/1, tight":    {"latency: {exponential: {mean: 10ms}}, workers: 1", long + "\nslo: {end_to_end: 80ms}", sojourn(1, 100, 0.08, 0.99), 0.04},
		"M/M/1 generous":  {"latency: {exponential: {mean: 10ms}}, workers: 1", long + "\nslo: {end_to_end: 50s}", 100, 0.02},
		"lower objective": {"latency: {exponential: {mean: 10ms}}, workers: 1", long + "\nslo: {end_to_end: 100ms}\ngates: {baseline_goodput: 90%}", sojourn(1, 100, 0.1, 0.9), 0.03},
	} {
		t.Run(name, func(t *testing.T) {
			got := calibrated(t, c.dependency, c.more)
			if got.Status != CapacityFound || got.Capacity == nil {
				t.Fatalf("%s: %s, for a capacity of %v", got.Status, got.Reason, c.truth)
			}
			low, high := c.truth/1.1*(1-c.noise)*0.999, c.truth*(1+c.noise)
			if v := *got.Capacity; v < low || v > high {
				t.Errorf("capacity %v, want %v to %v\n%s", v, low, high, trace(got))
			}
		})
	}
}

// trace writes the steps of a calibration, for a failure.
func trace(c *Calibration) string {
	var b strings.Builder
	for _, trial := range c.Trials {
		for _, s := range trial.Steps {
			fmt.Fprintln(&b, trial.Seed, s.Rate, s.Offered, s.Good, s.InFlightMiddle, s.InFlightEnd, s.GrowthAllowed, s.Status, s.Why)
		}
	}
	return b.String()
}

// TestNoCapacity: where there is none to be told, there is no number, and words.
func TestNoCapacity(t *testing.T) {
	const quick = "}\ncalibrate: {from: 20/s, most: 300/s, settle: 1s, step: 2s}"
	for name, c := range map[string]struct {
		dependency, more string
		status           CalibrationStatus
		reason           string
	}{
		// Without workers nothing is ever too much.
		"no workers": {"latency: 10ms", quick, CapacityBeyond, "not reached: 300/s, the highest rate to be tried, is sustained"},
		// Workers for more than the highest rate.
		"beyond": {"latency: 10ms, workers: 4", quick, CapacityBeyond, "not reached: 300/s"},
		// It fails as often at any rate.
		"failing": {"latency: 10ms, fail: {ratio: 0.05}", quick, NoCapacity, "not even 20/s is sustained: goodput is 9"},
		// The promise cannot be kept at any rate.
		"slow": {"latency: 10ms", quick + "\nslo: {end_to_end: 5ms}", NoCapacity, "not even 20/s is sustained: goodput is 0 %, below 99 % (of 400: 400 outside of the slo)"},
		// The lowest rate is too much already.
		"too high": {"latency: 100ms, workers: 1", quick, NoCapacity, "not even 20/s is sustained: in flight grows from "},
	} {
		t.Run(name, func(t *testing.T) {
			got := calibrated(t, c.dependency, c.more)
			if got.Status != c.status || !strings.HasPrefix(got.Reason, c.reason) {
				t.Errorf("%s: %s\nwant %s: %s…", got.Status, got.Reason, c.status, c.reason)
			}
			if _, ok := got.Rate(); ok || got.Capacity != nil || got.CapacityAs != "" || got.ShareRate != "" {
				t.Errorf("there is a number: %v %s %s", got.Capacity, got.CapacityAs, got.ShareRate)
			}
			if len(got.Trials) != 2 || len(got.Trials[0].Steps) == 0 {
				t.Errorf("the trace is missing: %+v", got.Trials)
			}
		})
	}
}

// TestFailuresAreNotTakenForALimit: what fails 5 % at any rate has no capacity,
// whatever the luck of a step.
func TestFailuresAreNotTakenForALimit(t *testing.T) {
	for seed := range 40 {
		got := calibrated(t, "latency: 10ms, fail: {ratio: 0.05}", fmt.Sprintf("}\ncalibrate: {from: 20/s, settle: 0s, step: 1s}\nseed: %d", seed))
		if got.Status != NoCapacity {
			t.Errorf("seed %d: %s\n%s", seed, got.CapacityAs, trace(got))
		}
	}
}

// TestCalibrationTrace: every step is there, with what it rests on.
func TestCalibrationTrace(t *testing.T) {
	s := capable(t, "latency: 10ms, workers: 1", "}\ncalibrate: {from: 40/s, settle: 1s, step: 4s, requests: 100, share: 50%}")
	var told []string
	got, err := Calibrate(context.Background(), s, CalibrationOptions{Composition: "second", Progress: func(p CalibrationProgress) {
		if p.Ended != nil {
			told = append(told, fmt.Sprint(p.Trial, p.Step, " ", p.Rate))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	// The doubling stops at 160/s; the last of the steps of 10 % is over 100/s.
	rates := []string{"40/s", "80/s", "160/s", "88/s", "96.8/s", "106.4/s"}
	var shown, want []string
	for k, trial := range got.Trials {
		if trial.Seed != int64(1+k) {
			t.Errorf("trial %d runs on seed %d", k, trial.Seed)
		}
		for i, step := range trial.Steps {
			shown = append(shown, fmt.Sprint(k, i, " ", step.Rate))
			sustained := step.PerSecond <= 100
			if (step.Status == StepSustained) != sustained || sustained != (step.Why == "") {
				t.Errorf("%s: %s: %q", step.Rate, step.Status, step.Why)
			}
			if math.Abs(float64(step.Offered)-step.PerSecond*4) > 1 || step.Good != step.Completed || *step.Goodput != 1 || len(step.Quantiles) != 3 || len(step.Queues) != 1 {
				t.Errorf("%s: %+v", step.Rate, step)
			}
			if step.SendSkewP99 != nil {
				t.Errorf("%s: the virtual clock has a send skew", step.Rate)
			}
		}
		for i, rate := range rates {
			want = append(want, fmt.Sprint(k, i, " ", rate))
		}
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(shown, told); diff != "" {
		t.Errorf("told (-steps +told):\n%s", diff)
	}
	if rate, ok := got.Rate(); !ok || got.Composition != "second" || got.CapacityAs != "96.8/s" || got.ShareRate != "48.4/s" || rate.String() != "48.4/s" {
		t.Errorf("%s: capacity %s, of which a run takes %s", got.Composition, got.CapacityAs, got.ShareRate)
	}
}

// TestCalibrationRepeats: the same study gives the same calibration.
func TestCalibrationRepeats(t *testing.T) {
	s := capable(t, "latency: {exponential: {mean: 10ms}}, workers: 1", ", arrivals: poisson}\ncalibrate: {from: 20/s, settle: 1s, step: 2s}")
	var texts [2]string
	for i := range texts {
		c, err := Calibrate(context.Background(), s, CalibrationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" {
		t.Error(diff)
	}
}

// TestMedianOfTrials: two that agree give the lower one, and of two that do not
// a third decides.
func TestMedianOfTrials(t *testing.T) {
	found := func(rate string) Trial {
		r, err := clock.ParseRate(rate)
		if err != nil {
			t.Fatal(err)
		}
		v := r.PerSecond()
		return Trial{Status: CapacityFound, rate: r, Capacity: &v, CapacityAs: rate}
	}
	none, beyond := Trial{Status: NoCapacity, Reason: "none"}, Trial{Status: CapacityBeyond, Reason: "beyond"}
	for name, c := range map[string]struct {
		trials   []Trial
		disagree bool // of the first two
		status   CalibrationStatus
		capacity string
	}{
		"equal":                  {[]Trial{found("100/s"), found("100/s")}, false, CapacityFound, "100/s"},
		"a step apart":           {[]Trial{found("110/s"), found("100/s")}, false, CapacityFound, "100/s"},
		"more than a step":       {[]Trial{found("111/s"), found("100/s"), found("90/s")}, true, CapacityFound, "100/s"},
		"the third in between":   {[]Trial{found("200/s"), found("100/s"), found("120/s")}, true, CapacityFound, "120/s"},
		"none and found":         {[]Trial{none, found("100/s"), found("90/s")}, true, CapacityFound, "90/s"},
		"none twice":             {[]Trial{none, none}, false, NoCapacity, ""},
		"found and not reached":  {[]Trial{found("100/s"), beyond, beyond}, true, CapacityBeyond, ""},
		"one of each":            {[]Trial{beyond, none, found("50/s")}, true, CapacityFound, "50/s"},
		"not reached both times": {[]Trial{beyond, beyond}, false, CapacityBeyond, ""},
		"just one":               {[]Trial{found("70/s")}, false, CapacityFound, "70/s"},
	} {
		t.Run(name, func(t *testing.T) {
			two := &Calibration{Trials: c.trials[:min(2, len(c.trials))]}
			if got := two.disagree(); got != c.disagree {
				t.Errorf("disagree: %v", got)
			}
			all := &Calibration{Trials: c.trials}
			if all.conclude(500_000); all.Status != c.status || all.CapacityAs != c.capacity {
				t.Errorf("%s %s, want %s %s", all.Status, all.CapacityAs, c.status, c.capacity)
			}
		})
	}
}

// TestThirdDecides: there is a third trial exactly where two are more than a step
// apart.
func TestThirdDecides(t *testing.T) {
	trials := map[int]int{}
	for seed := range 12 {
		got := calibrated(t, "latency: {exponential: {mean: 10ms}}, workers: 1",
			fmt.Sprintf(", arrivals: poisson}\nslo: {end_to_end: 200ms}\nseed: %d\ncalibrate: {from: 20/s, settle: 1s, step: 5s}", 10*seed))
		two := &Calibration{Trials: got.Trials[:2]}
		want := 2
		if two.disagree() {
			want = 3
		}
		if len(got.Trials) != want {
			t.Errorf("seed %d: %d trials, want %d\n%s", 10*seed, len(got.Trials), want, trace(got))
		}
		trials[want]++
	}
	if trials[2] == 0 || trials[3] == 0 {
		t.Errorf("of one kind only: %v", trials)
	}
}

// TestNotCalibrated: what cannot be calibrated is refused in words.
func TestNotCalibrated(t *testing.T) {
	ok := capable(t, "latency: 10ms", "}")
	if _, err := Calibrate(context.Background(), ok, CalibrationOptions{Composition: "third"}); err == nil || !strings.Contains(err.Error(), "composition third: the study has none") {
		t.Errorf("an unknown composition: %v", err)
	}
	burst := *ok
	burst.Load = load.Load{Arrivals: load.Burst, Burst: 3}
	if _, err := Calibrate(context.Background(), &burst, CalibrationOptions{}); err == nil || !strings.Contains(err.Error(), "arrivals: burst") {
		t.Errorf("a burst: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got, err := Calibrate(ctx, ok, CalibrationOptions{Progress: func(p CalibrationProgress) {
		if p.Step == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || got == nil || got.Status != CalibrationEnded || len(got.Trials) != 1 || len(got.Trials[0].Steps) < 2 {
		t.Errorf("stopped in the third step: %v, %+v", err, got)
	}
}

// TestRealCalibration: on the real clock a step whose requests are sent too late
// says nothing about the system, and ends the calibration.
func TestRealCalibration(t *testing.T) {
	const quick = "}\nclock: real\ncalibrate: {from: 100/s, most: 200/s, settle: 50ms, step: 100ms, requests: 10, rest: 10ms, trials: 1}"
	got := calibrated(t, "latency: 1ms", quick+"\ngates: {send_skew_p99: 10s, send_skew_max: 20s}")
	if got.Status != CapacityBeyond || len(got.Trials) != 1 || len(got.Trials[0].Steps) != 2 {
		t.Errorf("%s: %s\n%s", got.Status, got.Reason, trace(got))
	} else if step := got.Trials[0].Steps[1]; step.Offered != 20 || step.SendSkewP99 == nil || step.SendSkewMax == nil {
		t.Errorf("%+v", step)
	}
	got = calibrated(t, "latency: 1ms", quick+"\ngates: {send_skew_p99: 1ns}")
	if got.Status != NotConclusive || !strings.HasPrefix(got.Reason, "100/s tells nothing, 3 times in a row: the client is the limit: its send skew was ") || got.Capacity != nil {
		t.Errorf("%s: %s", got.Status, got.Reason)
	}
}
