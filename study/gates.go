package study

import (
	"fmt"
	"time"

	"brunt/check"
	"brunt/measure"
)

// Gates judge the instrument, not the system: their limits, and whether a run
// that breaks one is invalid. As words, reported and enforced stand for the
// limits by default.
type Gates struct {
	// Whether a failed gate makes a run on the real clock invalid. Under a protocol it does.
	Enforce bool `yaml:"enforce"`
	// How late the send of a request may be at p99.
	SendSkewP99 time.Duration `yaml:"send_skew_p99"`
	// How late any request may be sent.
	SendSkewMax time.Duration `yaml:"send_skew_max"`
	// How busy the host's processors may be over any 5 seconds.
	HostCPU measure.PPM `yaml:"host_cpu"`
	// What a garbage collection pause must stay below at p99.
	GCPauseP99 time.Duration `yaml:"gc_pause_p99"`
	// How late a fault may fire.
	FireWithin time.Duration `yaml:"fire_within"`
	// How long the route to a lost replica must have been seen to be stale.
	StaleAtLeast time.Duration `yaml:"stale_at_least"`
	// The least share of the baseline's requests that each of two replicas must get.
	ShareMin measure.PPM `yaml:"share_min"`
	// The most that each may get.
	ShareMax measure.PPM `yaml:"share_max"`
	// The least goodput of the baseline.
	BaselineGoodput measure.PPM `yaml:"baseline_goodput"`
}

// What gates do, in a word.
const (
	reported = "reported"
	enforced = "enforced"
)

// SetDefaults sets limits that are reported.
func (g *Gates) SetDefaults() {
	*g = Gates{
		SendSkewP99: 5 * time.Millisecond, SendSkewMax: 50 * time.Millisecond,
		HostCPU: 700_000, GCPauseP99: time.Millisecond,
		FireWithin: 500 * time.Millisecond, StaleAtLeast: 20 * time.Second,
		ShareMin: 450_000, ShareMax: 550_000, BaselineGoodput: 990_000,
	}
}

// UnmarshalText reads reported or enforced.
func (g *Gates) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case reported, enforced:
		g.SetDefaults()
		g.Enforce = s == enforced
		return nil
	default:
		return fmt.Errorf("%q is not what gates do: expected %s, %s or a mapping of limits", clip(s), reported, enforced)
	}
}

// String says whether the gates are reported or enforced.
func (g Gates) String() string {
	if g.Enforce {
		return enforced
	}
	return reported
}

// plain returns the word for gates with the limits by default.
func (g Gates) plain() (string, bool) {
	var byDefault Gates
	byDefault.SetDefaults()
	byDefault.Enforce = g.Enforce
	return g.String(), g == byDefault
}

func (g *Gates) check(p check.Problems) {
	p.Positive("send_skew_p99", g.SendSkewP99)
	p.Positive("send_skew_max", g.SendSkewMax)
	p.Positive("gc_pause_p99", g.GCPauseP99)
	p.Positive("fire_within", g.FireWithin)
	p.NotNegative("stale_at_least", g.StaleAtLeast)
	if g.HostCPU == 0 {
		p.Add("host_cpu", share(0), "expected a share above 0")
	}
	if g.SendSkewMax > 0 && g.SendSkewP99 > g.SendSkewMax {
		p.Add("send_skew_p99", g.SendSkewP99, "expected at most send_skew_max, %v", g.SendSkewMax)
	}
	const half = measure.Million / 2 // an even share of two
	if g.ShareMin > half {
		p.Add("share_min", share(g.ShareMin), "expected at most 50%: no two replicas can both have more")
	}
	if g.ShareMax < half {
		p.Add("share_max", share(g.ShareMax), "expected at least 50%: no two replicas can both have less")
	}
}

// share writes a share as a study does. None of ours fails.
func share(q measure.PPM) string {
	b, _ := q.MarshalText()
	return string(b)
}

// EnforcesGates reports whether a failed gate makes the run invalid.
func (s *Study) EnforcesGates() bool { return s.Gates.Enforce || s.ProtocolName != "" }
