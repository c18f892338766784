package dependency

import (
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/chance"
	"brunt/check"
)

// Latency is a time, or a distribution to draw it from. Exactly one field is
// set; a study writes a plain duration, or a mapping that names the field.
type Latency struct {
	// Always the same time.
	Constant *time.Duration `yaml:"constant"`
	// A log-normal distribution, given by two of its quantiles.
	Lognormal *Lognormal `yaml:"lognormal"`
	// An exponential distribution.
	Exponential *Exponential `yaml:"exponential"`
	// A uniform distribution.
	Uniform *Uniform `yaml:"uniform"`
	// A normal distribution, cut off at 0.
	Normal *Normal `yaml:"normal"`
	// One of the times in a file, each as likely as the others.
	Empirical *Empirical `yaml:"empirical"`
}

// Lognormal is a log-normal distribution through two quantiles: with z the
// standard normal quantile, ln t is normal with sigma = ln(t2/t1)/(z2-z1).
type Lognormal struct {
	// The median.
	P50 time.Duration `yaml:"p50"`
	// The 90th percentile.
	P90 time.Duration `yaml:"p90"`
	// The 95th percentile.
	P95 time.Duration `yaml:"p95"`
	// The 99th percentile.
	P99 time.Duration `yaml:"p99"`
}

// Exponential is an exponential distribution.
type Exponential struct {
	// The mean.
	Mean time.Duration `yaml:"mean"`
}

// Uniform is a uniform distribution over [min, max].
type Uniform struct {
	// The shortest time.
	Min time.Duration `yaml:"min"`
	// The longest time.
	Max time.Duration `yaml:"max"`
}

// Normal is a normal distribution; what would fall below 0 is 0.
type Normal struct {
	// The mean.
	Mean time.Duration `yaml:"mean"`
	// The standard deviation.
	SD time.Duration `yaml:"sd"`
}

// Empirical draws from a file of times.
type Empirical struct {
	// The file, from the study's folder: a duration a line; # begins a comment.
	File string `yaml:"file"`

	// Times is what the file holds; the study reader fills it in.
	Times []time.Duration `yaml:"-"`
}

// Fixed returns the latency that is always d.
func Fixed(d time.Duration) *Latency { return &Latency{Constant: &d} }

// UnmarshalText reads a plain duration.
func (l *Latency) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a latency: expected a duration such as 5ms, or a mapping with one of %s", b, distributions)
	}
	*l = Latency{Constant: &d}
	return nil
}

const distributions = "constant, lognormal, exponential, uniform, normal, empirical"

// Check reports what is wrong with the settings.
func (l *Latency) Check(p check.Problems) {
	set := 0
	for _, is := range []bool{l.Constant != nil, l.Lognormal != nil, l.Exponential != nil, l.Uniform != nil, l.Normal != nil, l.Empirical != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		p.Add("", nil, "has %d distributions: expected one of %s", set, distributions)
		return
	}
	switch {
	case l.Constant != nil:
		p.NotNegative("", *l.Constant)
	case l.Lognormal != nil:
		l.Lognormal.check(p.In("lognormal"))
	case l.Exponential != nil:
		p.In("exponential").Positive("mean", l.Exponential.Mean)
	case l.Uniform != nil:
		u, p := l.Uniform, p.In("uniform")
		p.NotNegative("min", u.Min)
		p.Positive("max", u.Max)
		if u.Max < u.Min {
			p.Add("max", u.Max, "expected at least min, %v", u.Min)
		}
	case l.Normal != nil:
		p.In("normal").Positive("mean", l.Normal.Mean)
		p.In("normal").NotNegative("sd", l.Normal.SD)
	case l.Empirical != nil:
		if strings.TrimSpace(l.Empirical.File) == "" {
			p.Add("empirical.file", nil, "missing: expected a file of durations")
		}
	}
}

var zScores = [...]float64{0, 1.2815515655446004, 1.6448536269514722, 2.3263478740408408} // of p50, p90, p95, p99

func (n *Lognormal) quantiles() []time.Duration {
	return []time.Duration{n.P50, n.P90, n.P95, n.P99}
}

func (n *Lognormal) check(p check.Problems) {
	var last time.Duration
	given := 0
	for i, d := range n.quantiles() {
		name := []string{"p50", "p90", "p95", "p99"}[i]
		if d == 0 {
			continue
		}
		given++
		p.Positive(name, d)
		if d <= last {
			p.Add(name, d, "expected more than the quantile below it, %v", last)
		}
		last = d
	}
	if given != 2 {
		p.Add("", nil, "has %d quantiles: expected two of p50, p90, p95, p99", given)
	}
}

// params returns the mean and the standard deviation of the logarithm.
func (n *Lognormal) params() (mu, sigma float64) {
	var t, z []float64
	for i, d := range n.quantiles() {
		if d > 0 {
			t = append(t, math.Log(float64(d)))
			z = append(z, zScores[i])
		}
	}
	sigma = (t[1] - t[0]) / (z[1] - z[0])
	return t[0] - sigma*z[0], sigma
}

// sampler draws from a latency whose parameters have been worked out.
type sampler func(chance.Draw) time.Duration

func (l *Latency) sampler() sampler {
	switch {
	case l.Constant != nil:
		d := *l.Constant
		return func(chance.Draw) time.Duration { return d }
	case l.Lognormal != nil:
		mu, sigma := l.Lognormal.params()
		return func(u chance.Draw) time.Duration { return nanoseconds(math.Exp(mu + sigma*u.Normal())) }
	case l.Exponential != nil:
		mean := float64(l.Exponential.Mean)
		return func(u chance.Draw) time.Duration { return nanoseconds(mean * u.Exp()) }
	case l.Uniform != nil:
		low, width := l.Uniform.Min, int64(l.Uniform.Max-l.Uniform.Min)+1
		return func(u chance.Draw) time.Duration { return low + time.Duration(u.Below(width)) }
	case l.Normal != nil:
		mean, sd := float64(l.Normal.Mean), float64(l.Normal.SD)
		return func(u chance.Draw) time.Duration { return nanoseconds(mean + sd*u.Normal()) }
	}
	times := l.Empirical.Times
	return func(u chance.Draw) time.Duration { return times[u.Below(int64(len(times)))] }
}

// nanoseconds rounds a time to the nanosecond, within [0, check.Longest].
func nanoseconds(d float64) time.Duration {
	return time.Duration(math.Round(min(max(d, 0), float64(check.Longest))))
}

// longest is the longest time that can be drawn; ok is false when there is
// no such bound.
func (l *Latency) longest() (d time.Duration, ok bool) {
	switch {
	case l.Constant != nil:
		return *l.Constant, true
	case l.Uniform != nil:
		return l.Uniform.Max, true
	case l.Empirical != nil && len(l.Empirical.Times) > 0:
		for _, t := range l.Empirical.Times {
			d = max(d, t)
		}
		return d, true
	}
	return 0, false
}

// random reports whether drawing takes chance.
func (l *Latency) random() bool { return l != nil && l.Constant == nil }
