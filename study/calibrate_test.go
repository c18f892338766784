package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/clock"
)

const calibratedText = `study: capable
load: {rate: 5/s}
horizon: 10s
dependencies: {service: {latency: 10ms}}
phases: [{name: all, for: 1s}]
compositions: {plain: [{call: service}]}
`

func readCalibrated(t *testing.T, more string, sets ...string) (*Study, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capable.yaml")
	if err := os.WriteFile(path, []byte(calibratedText+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return Read(path, Options{Sets: sets})
}

// TestCalibrated: a study that says calibrate is calibrated, unless a --set
// gives the rate.
func TestCalibrated(t *testing.T) {
	for _, c := range []struct {
		more string
		sets []string
		want bool
	}{
		{"", nil, false},
		{"calibrate: {}", nil, true},
		{"calibrate: {share: 50%}", nil, true},
		{"", []string{"calibrate.share=50%"}, true},
		{"calibrate: {}", []string{"seed=4"}, true},
		{"calibrate: {}", []string{"load.max_in_flight=4"}, true},
		{"calibrate: {}", []string{"load.rate=7/s"}, false},
		{"calibrate: {}", []string{"load={rate: 7/s}"}, false},
		{"", []string{"load.rate=7/s"}, false},
	} {
		s, err := readCalibrated(t, c.more, c.sets...)
		if err != nil {
			t.Errorf("%q with %q: %v", c.more, c.sets, err)
			continue
		}
		if got := s.Calibrated(); got != c.want {
			t.Errorf("%q with %q: %v, want %v", c.more, c.sets, got, c.want)
		}
	}
}

// TestCalibration: what is not said is by default, and comes back from the
// configuration.
func TestCalibration(t *testing.T) {
	s, err := readCalibrated(t, "calibrate: {from: 20/s, step: 3s}")
	if err != nil {
		t.Fatal(err)
	}
	var want Calibrate
	want.SetDefaults()
	without, err := readCalibrated(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := without.Calibration(); got != want {
		t.Errorf("by default: %+v", got)
	}
	want.From, want.Step = clock.PerSecond(20), 3*time.Second
	if got := s.Calibration(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if config := string(s.Config()); !strings.Contains(config, `"calibrate":{"share":"65%","from":"20/s","most":"10000/s"`) {
		t.Errorf("the configuration lacks it: %s", config)
	}
	if strings.Contains(string(without.Config()), "calibrate") {
		t.Error("a study without it has it in its configuration")
	}
}

// TestMeasured: a step takes as long as it says, or as its requests need.
func TestMeasured(t *testing.T) {
	c := Calibrate{Step: 10 * time.Second, Requests: 400}
	for _, k := range []struct {
		rate int64
		want time.Duration
	}{{10, 40 * time.Second}, {40, 10 * time.Second}, {41, 10 * time.Second}, {1000, 10 * time.Second}, {1, 400 * time.Second}} {
		if got := c.Measured(clock.PerSecond(k.rate)); got != k.want {
			t.Errorf("at %d/s: %v, want %v", k.rate, got, k.want)
		}
	}
}

// TestCalibrateIsChecked: what is wrong is said, with its place.
func TestCalibrateIsChecked(t *testing.T) {
	for _, c := range []struct{ more, want string }{
		{"calibrate: {share: 0%}", "calibrate.share: 0%: expected a share above 0"},
		{"calibrate: {from: 20/s, most: 10/s}", "calibrate.from: 20/s: expected at most the highest rate, 10/s"},
		{"calibrate: {step: 0s}", "calibrate.step: 0s: expected"},
		{"calibrate: {settle: -1s}", "calibrate.settle: -1s: expected"},
		{"calibrate: {rest: -1s}", "calibrate.rest: -1s: expected"},
		{"calibrate: {requests: 0}", "calibrate.requests: 0: expected"},
		{"calibrate: {trials: 0}", "calibrate.trials: 0: expected"},
		{"calibrate: {trials: 10}", "calibrate.trials: 10: expected"},
		{"calibrate: {from: 1/10s}", "calibrate.from: 0.1/s: makes the first step last 1h6m40s, for its 400 requests"},
		{"calibrate: {most: 10000000/s}", "calibrate.most: 10000000/s: makes more than 100,000,000 requests in a step of 15s"},
		{"calibrate: {from: fast}", "calibrate.from: fast: expected a number above 0"},
		{"calibrate: {form: 10/s}", `did you mean "from"`},
		{"calibrate: {share: 120%}", "calibrate.share: "},
	} {
		if _, err := readCalibrated(t, c.more); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.more, err, c.want)
		}
	}
	if _, err := readCalibrated(t, "calibrate: {}", "load={arrivals: burst, burst: 5}"); err == nil || !strings.Contains(err.Error(), "arrivals: burst have no rate to be found") {
		t.Errorf("a burst: %v", err)
	}
	s, err := readCalibrated(t, "calibrate: {}", "phases.all.load.rate=9/s")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Warnings().Error(); !strings.Contains(got, "calibrate: given: phase all has a rate of its own, 9/s, which stays as it is") {
		t.Errorf("no doubt about a phase with a rate of its own: %s", got)
	}
}
