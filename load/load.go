// Package load says when requests arrive. Every intended instant is fixed
// before the run: nothing that happens later moves one.
//
// Instants are [time.Duration] since the start of the run. A [Schedule] may be
// used from any goroutine; a [Cursor] belongs to one.
package load

import (
	"time"

	"brunt/check"
	"brunt/clock"
)

// Arrivals names a kind of load.
type Arrivals string

// The kinds of load.
const (
	Constant Arrivals = "constant"
	Poisson  Arrivals = "poisson"
	Burst    Arrivals = "burst"
	Trace    Arrivals = "trace"
)

// Load says when requests arrive.
type Load struct {
	// How many requests arrive in how much time, such as 100/s or 6000/min. For constant and poisson.
	Rate clock.Rate `yaml:"rate"`
	// Short bursts of another rate, counted from the start of the run. They go on in every phase that says nothing about its load.
	Spike *Spike `yaml:"spike"`
	// A rate that swings around the load's, counted from the start of the run. It goes on in every phase that says nothing about its load.
	Sine *Sine `yaml:"sine"`
	// How they arrive: constant (evenly), poisson (at random), burst (all at the start) or trace (from a file).
	Arrivals Arrivals `yaml:"arrivals"`
	// How many requests arrive at once, at the start. For burst.
	Burst int64 `yaml:"burst"`
	// A file of instants, from the study's folder: a time since the start a line, as a duration or in seconds; # begins a comment. For trace.
	Trace string `yaml:"trace"`
	// The most requests in flight. More are shed: offered, and never submitted. 0 means no limit.
	MaxInFlight int64 `yaml:"max_in_flight"`
	// Submits each request up to this much later than intended, drawn for each. Numbers that change much under a small noise are artefacts of a grid.
	DispatchNoise time.Duration `yaml:"dispatch_noise"`

	// Instants is what the trace file holds; the study reader fills it in.
	Instants []time.Duration `yaml:"-"`
}

// SetDefaults sets evenly spaced arrivals.
func (l *Load) SetDefaults() { *l = Load{Arrivals: Constant} }

// Rated reports whether the load has a rate.
func (l *Load) Rated() bool { return l.Arrivals == Constant || l.Arrivals == Poisson }

// Check reports what is wrong with the settings.
func (l *Load) Check(p check.Problems) {
	check.OneOf(p, "arrivals", l.Arrivals, Constant, Poisson, Burst, Trace)
	p.NotNegative("dispatch_noise", l.DispatchNoise)
	check.Between(p, "max_in_flight", l.MaxInFlight, 0, 1e9)
	switch {
	case l.Rated() && l.Rate.IsZero():
		p.Add("rate", nil, "missing: expected a rate such as 100/s")
	case l.Arrivals == Burst && l.Burst == 0:
		p.Add("burst", nil, "missing: expected how many requests arrive at once")
	case l.Arrivals == Trace && l.Trace == "":
		p.Add("trace", nil, "missing: expected a file of instants")
	}
	if !l.Rated() && !l.Rate.IsZero() {
		p.Add("rate", l.Rate, "has no meaning with arrivals: %s", l.Arrivals)
	}
	if !l.Rated() {
		shape := Override{Spike: l.Spike, Sine: l.Sine}
		shape.refuse(p, l.Arrivals)
	} else {
		checkShape(p, l.Spike, l.Sine)
	}
	if l.Arrivals != Burst && l.Burst != 0 {
		p.Add("burst", l.Burst, "goes with arrivals: burst")
	}
	if l.Burst < 0 {
		p.Add("burst", l.Burst, "expected 1 or more")
	}
	if l.Arrivals != Trace && l.Trace != "" {
		p.Add("trace", l.Trace, "goes with arrivals: trace")
	}
}
