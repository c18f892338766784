package study

import (
	"fmt"
	"slices"
	"time"

	"brunt/check"
	"brunt/dependency"
	"brunt/measure"
	"brunt/record"
)

// Fault makes a study a fault study: one phase begins with the fault, the run
// is cut into windows around that instant, and recovery is measured from it.
type Fault struct {
	// The phase whose start is the fire.
	Phase string `yaml:"phase"`
	// The length of the window at the start that is discarded.
	Warmup time.Duration `yaml:"warmup"`
	// The length of the window at the end that is discarded.
	Cooldown time.Duration `yaml:"cooldown"`
	// The width of the buckets in which goodput is counted.
	Bucket time.Duration `yaml:"bucket"`
	// How long a replica is cut off the network, on real targets. 0 means that it is not.
	BlackHole time.Duration `yaml:"black_hole"`
	// Whether the fault ends by itself: what comes back then is the partition's end, and says nothing about the loss of a node.
	PartitionHeals bool `yaml:"partition_heals"`
}

// SetDefaults sets buckets of a second, and discards nothing.
func (f *Fault) SetDefaults() { *f = Fault{Bucket: measure.DefaultBucket} }

// Layout returns how a fault study is cut into windows when the fault fires as
// planned and nothing recovers. ok is false for a study without a fault.
func (s *Study) Layout() (l measure.Layout, ok bool) {
	if s.Fault == nil {
		return measure.Layout{}, false
	}
	i := slices.Index(s.phaseNames(), s.Fault.Phase)
	if i < 0 {
		return measure.Layout{}, false
	}
	anchor, _ := s.Span(i)
	end := s.end()
	return measure.Layout{
		Warmup: s.Fault.Warmup, Anchor: anchor, Horizon: s.Horizon,
		Recovered: record.Never, CoolDown: end - s.Fault.Cooldown, End: end,
	}, true
}

// checkFault checks the fault, and what its windows leave.
func (s *Study) checkFault(p check.Problems) {
	f := s.Fault
	if f == nil {
		return
	}
	p.NotNegative("warmup", f.Warmup)
	p.NotNegative("cooldown", f.Cooldown)
	p.NotNegative("black_hole", f.BlackHole)
	p.Positive("bucket", f.Bucket)
	if f.Phase == "" {
		p.Add("phase", nil, "missing: expected the name of the phase that begins with the fault")
		return
	}
	l, ok := s.Layout()
	if !ok {
		p.Add("phase", fmt.Sprintf("unknown phase %q", clip(f.Phase)), "%s", suggest(f.Phase, s.phaseNames()))
		return
	}
	if l.Horizon <= 0 || l.Warmup < 0 || f.Cooldown < 0 {
		return // said elsewhere
	}
	baseline := l.Anchor - l.Horizon - l.Warmup // long by subtraction: sums might overflow
	switch {
	case l.Anchor-l.Horizon <= 0:
		p.Add("phase", f.Phase, "begins at %v: expected later than one horizon of %v after the start, so that a baseline is left", l.Anchor, l.Horizon)
	case baseline <= 0:
		p.Add("warmup", f.Warmup, "leaves no baseline before the guard, which begins at %v, one horizon before the fault: expected less than that", l.Anchor-l.Horizon)
	case f.Bucket > 0 && baseline < f.Bucket:
		p.Add("warmup", f.Warmup, "leaves a baseline of %v: expected room for one bucket of %v", baseline, f.Bucket)
	}
	if l.CoolDown <= l.Anchor {
		p.Add("cooldown", f.Cooldown, "leaves nothing of the fault, which begins %v before the end: expected less than that", l.End-l.Anchor)
	}
	if f.BlackHole > l.End-l.Anchor {
		p.Add("black_hole", f.BlackHole, "lasts beyond the end of the study, %v after it begins", l.End-l.Anchor)
	}
	if f.BlackHole > 0 && !f.PartitionHeals {
		p.Doubt("black_hole", f.BlackHole, "ends by itself: set partition_heals, so that its end is not taken for recovery from the loss of a node")
	}
	if s.SLO == nil {
		p.Doubt("", nil, "is measured by goodput, and no slo says what is good: add slo: {end_to_end: …}")
	}
}

// checkSLO checks what callers were promised.
func (s *Study) checkSLO(p check.Problems) {
	slo := s.SLO
	if slo == nil {
		return
	}
	p.NotNegative("end_to_end", slo.EndToEnd)
	p.NotNegative("first_token", slo.FirstToken)
	if slo.EndToEnd == 0 && slo.FirstToken == 0 {
		p.Add("", nil, "promises nothing: expected end_to_end, first_token or both")
	}
	for _, limit := range []struct {
		name string
		d    time.Duration
	}{{"end_to_end", slo.EndToEnd}, {"first_token", slo.FirstToken}} {
		if s.Horizon > 0 && limit.d > s.Horizon {
			p.Add(limit.name, limit.d, "beyond the horizon of %v, where a request is censored that could still be in time: expected at most that", s.Horizon)
		}
	}
	if slo.FirstToken > 0 && !s.streams() {
		p.Doubt("first_token", slo.FirstToken, "no dependency is a stream, so no request ever meets it: give one a first_token, or leave this out")
	}
	if slo.EndToEnd > 0 && slo.FirstToken > slo.EndToEnd {
		p.Doubt("first_token", slo.FirstToken, "not before end_to_end of %v: no stream breaks the one and keeps the other", slo.EndToEnd)
	}
}

// streams reports whether any dependency answers with a stream.
func (s *Study) streams() bool {
	is := func(of Ordered[dependency.Behaviour]) bool {
		for _, b := range of.All() {
			if b.FirstToken != nil {
				return true
			}
		}
		return false
	}
	return is(s.Dependencies) || slices.ContainsFunc(s.Phases, func(p Phase) bool { return is(p.Dependencies) })
}

// checkDetector checks how the return of goodput is told.
func (s *Study) checkDetector(p check.Problems) {
	d, bucket := s.Recovery.Detector, measure.DefaultBucket
	if s.Fault != nil && s.Fault.Bucket > 0 {
		bucket = s.Fault.Bucket
	}
	if d.Entry == 0 {
		p.Add("entry", share(0), "expected a share above 0")
	}
	if d.Exit > d.Entry {
		p.Add("exit", share(d.Exit), "expected at most entry, %s: recovery would end where it begins", share(d.Entry))
	}
	p.Positive("window", d.Window)
	p.Positive("hold", d.Hold)
	p.NotNegative("timeout", d.Timeout)
	if d.Window > 0 && d.Window%bucket != 0 {
		p.Add("window", d.Window, "expected a multiple of the bucket, %v", bucket)
	}
	if d.Hold > 0 && d.Hold%bucket != 0 {
		p.Add("hold", d.Hold, "expected a multiple of the bucket, %v", bucket)
	}
}
