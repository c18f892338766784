package study

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"brunt/check"
	"brunt/dependency"
	"brunt/fault"
	"brunt/measure"
	"brunt/record"
	"brunt/target"
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
	// On real targets: what is done to the victim as the phase begins.
	Inject *fault.Config `yaml:"inject"`
	// On real targets: how long the victim is cut off the network as the phase begins: what is sent to it and from it is lost. 0s means that it is not.
	BlackHole time.Duration `yaml:"black_hole"`
	// On real targets: who it is done to. Without it the last replica of the testbed.
	Victim *Victim `yaml:"victim"`
	// On real targets without a testbed: the file of the front's access log, in the form of brunt's own, HAProxy's or nginx's of the examples. It tells who had a request that was never answered.
	FrontLog string `yaml:"front_log"`
	// Whether the fault ends by itself: what comes back then is the partition's end, and says nothing about the loss of a node.
	PartitionHeals bool `yaml:"partition_heals"`
}

// Victim is who a real fault is done to.
type Victim struct {
	// Its name: that of a replica of the testbed, or what the front in use calls it in its answers and its log.
	Name string `yaml:"name"`
	// Where it is, host and port, outside of a testbed. It is probed there, and cut off there.
	Address string `yaml:"address"`
	// Its process, outside of a testbed.
	PID int `yaml:"pid"`
	// The path at its address that answers 200 to 299 when it is well, outside of a testbed.
	Health string `yaml:"health"`
}

// SetDefaults sets the usual path of a health check.
func (v *Victim) SetDefaults() { *v = Victim{Health: "/health"} }

// Injected returns what is really done; nil for a simulated fault.
func (f *Fault) Injected() *fault.Config {
	if f.BlackHole > 0 {
		var c fault.Config
		c.SetDefaults()
		c.Kind, c.For = fault.BlackHole, f.BlackHole
		return &c
	}
	return f.Inject
}

// VictimName returns what the victim of a real fault is called.
func (s *Study) VictimName() string {
	switch {
	case s.Fault == nil:
		return ""
	case s.Fault.Victim != nil && s.Fault.Victim.Name != "":
		return s.Fault.Victim.Name
	case s.Testbed != nil:
		return s.Testbed.ReplicaName(s.Testbed.Replicas - 1)
	}
	return "the victim"
}

// checkInjected checks what is really done, and to whom.
func (s *Study) checkInjected(p check.Problems) {
	f := s.Fault
	if f.Inject != nil {
		f.Inject.Check(p.In("inject"))
		if f.BlackHole > 0 {
			p.Add("inject", f.Inject.Kind, "stands beside black_hole: expected the one or the other")
		} else if f.Inject.Kind == fault.BlackHole {
			p.Add("inject.kind", f.Inject.Kind, "is written in the place of inject: fault: {black_hole: 120s}")
		}
	}
	if f.FrontLog != "" && s.Testbed != nil {
		p.Add("front_log", f.FrontLog, "the testbed's front has a log of its own: expected none")
	}
	if f.Injected() == nil {
		if f.Victim != nil {
			p.Add("victim", nil, "nothing is done to it: expected inject or black_hole too")
		}
		return
	}
	if !s.CallsReal() && f.Inject == nil {
		return // black_hole only says what the simulation stands for
	}
	if !s.CallsReal() {
		p.Add("inject", nil, "is done to real things, and the study calls none: expected a target, or dependencies in the phase that change")
		return
	}
	s.checkVictim(p.In("victim"))
}

func (s *Study) checkVictim(p check.Problems) {
	v, kind := s.Fault.Victim, s.Fault.Injected().Kind
	if s.Testbed != nil {
		if v == nil {
			return
		}
		if v.Address != "" || v.PID != 0 || v.Health != "/health" {
			p.Add("", nil, "is a replica of the testbed: expected its name alone")
		}
		if names := s.Testbed.ReplicaNames(); v.Name != "" && !slices.Contains(names, v.Name) {
			p.Add("name", fmt.Sprintf("unknown replica %q", clip(v.Name)), "%s", suggest(v.Name, names))
		}
		return
	}
	if v == nil {
		if kind != fault.Exec {
			p.Add("", nil, "missing: expected who it is done to, {name: b, address: 127.0.0.1:8002, pid: 1234}")
		}
		return
	}
	if !strings.HasPrefix(v.Health, "/") {
		p.Add("health", fmt.Sprintf("%q", clip(v.Health)), "expected a path such as /health")
	}
	if v.Address != "" {
		if at, err := netip.ParseAddrPort(v.Address); err != nil || at.Port() == 0 {
			p.Add("address", fmt.Sprintf("%q", clip(v.Address)), "expected an address and a port, such as 127.0.0.1:8002")
		} else if !at.Addr().IsLoopback() && kind != fault.Exec {
			p.Add("address", v.Address, "is not this machine: expected kind: exec, with commands that reach it")
		}
	}
	switch kind {
	case fault.Kill, fault.Freeze:
		if v.PID <= 1 {
			p.Add("pid", v.PID, "expected the process of the victim")
		}
	case fault.BlackHole:
		if v.Address == "" {
			p.Add("address", nil, "missing: expected what is cut off, such as 127.0.0.1:8002")
		}
	case fault.Mode:
		p.Add("", nil, "kind mode is of a testbed's replicas: expected a testbed, or kind: exec")
	}
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
	s.checkInjected(p)
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
	for _, name := range s.realNames() {
		if c, _ := s.RealTarget(name); c.Kind == target.OpenAI {
			return true
		}
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
