package study

import (
	"time"

	"brunt/check"
	"brunt/clock"
	"brunt/measure"
)

// Calibrate says how the capacity of what a study calls is measured: the
// highest rate that it sustains. A study that has it is calibrated before it
// runs, and takes a share of its capacity for its load's rate; the rate that
// stands in its file counts only until then. A rate from a --set is kept.
//
// A trial doubles the rate from step to step until one is not sustained, and
// goes on in steps of 10 % from the last one that was. Each step is a run of its
// own: the load settles, and then it is measured.
type Calibrate struct {
	// The share of the capacity that becomes load.rate.
	Share measure.PPM `yaml:"share"`
	// The rate of the first step.
	From clock.Rate `yaml:"from"`
	// The highest rate that is tried.
	Most clock.Rate `yaml:"most"`
	// How long the load of a step goes on before anything is measured: longer than most answers take.
	Settle time.Duration `yaml:"settle"`
	// How long a step is measured for.
	Step time.Duration `yaml:"step"`
	// How many requests a step is measured on at least. At a low rate it takes longer, for that.
	Requests int64 `yaml:"requests"`
	// On the real clock: the pause before the next step, in which a target gets rid of what callers have given up.
	Rest time.Duration `yaml:"rest"`
	// How often the capacity is measured, each time from the start and with the next seed; the median counts. Of two that differ by more than a step of 10 %, a third decides.
	Trials int `yaml:"trials"`
}

// SetDefaults sets two trials from 10/s to 10,000/s, in steps of at least 10 s
// and 400 requests, and a share of 65 %.
func (c *Calibrate) SetDefaults() {
	*c = Calibrate{
		Share: 650_000, From: clock.PerSecond(10), Most: clock.PerSecond(10_000),
		Settle: 5 * time.Second, Step: 10 * time.Second, Requests: 400, Rest: 2 * time.Second, Trials: 2,
	}
}

// What a calibration may hold at most.
const (
	mostStep       = time.Hour // that few requests take at a low rate
	mostStepped    = 1_000_000 // requests that a step is measured on at least
	mostTrials     = 9
	calibrateField = "calibrate"
)

// Calibration returns how the study's capacity is measured: as it says, or by
// default.
func (s *Study) Calibration() Calibrate {
	if s.Calibrate != nil {
		return *s.Calibrate
	}
	var c Calibrate
	c.SetDefaults()
	return c
}

// Calibrated reports whether the study is to be calibrated before it runs: it
// says so, and no --set gives the rate of its load.
func (s *Study) Calibrated() bool {
	return s.Calibrate != nil && (s.origin == nil || !s.origin.rateSet)
}

// Measured returns how long a step at a rate is measured for.
func (c *Calibrate) Measured(rate clock.Rate) time.Duration {
	return max(c.Step, rate.Instant(c.Requests))
}

// checkCalibrate checks how the capacity is measured.
func (s *Study) checkCalibrate(p check.Problems) {
	c := s.Calibrate
	if c == nil {
		return
	}
	if !s.Load.Rated() {
		p.Add(calibrateField, "given", "arrivals: %s have no rate to be found: expected constant or poisson", s.Load.Arrivals)
		return
	}
	for _, phase := range s.Phases {
		if r := phase.Load.Rate; !r.IsZero() {
			p.Doubt(calibrateField, "given", "phase %s has a rate of its own, %s, which stays as it is", phase.Name, r)
			break
		}
	}
	p = p.In(calibrateField)
	p.NotNegative("settle", c.Settle)
	p.NotNegative("rest", c.Rest)
	p.Positive("step", c.Step)
	check.Between(p, "requests", c.Requests, 1, mostStepped)
	check.Between(p, "trials", c.Trials, 1, mostTrials)
	if c.Share == 0 {
		p.Add("share", share(0), "expected a share above 0")
	}
	if c.From.IsZero() || c.Most.IsZero() || c.Step <= 0 || c.Settle < 0 {
		return // said elsewhere
	}
	if c.From.PerSecond() > c.Most.PerSecond() {
		p.Add("from", c.From, "expected at most the highest rate, %s", c.Most)
	}
	if c.Requests > 0 && c.From.Instant(c.Requests) > mostStep {
		p.Add("from", c.From, "makes the first step last %v, for its %s requests: expected a higher rate or fewer requests, so that it takes an hour at most",
			c.From.Instant(c.Requests), grouped(c.Requests))
	}
	if length := min(c.Settle, check.Longest) + min(c.Step, check.Longest); c.Most.Whole(length) > mostRequests {
		p.Add("most", c.Most, "makes more than %s requests in a step of %v: expected a lower rate", grouped(mostRequests), length)
	}
}
