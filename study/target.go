package study

import (
	"slices"
	"time"

	"brunt/check"
	"brunt/dependency"
	"brunt/front"
	"brunt/target"
)

// OnlyTarget is what stacks call the target that has no name of its own.
const OnlyTarget = "target"

// Testbed is what brunt starts for each composition of each repeat, and ends
// with it: replicas of a mock inference server, each a process of its own, and
// a front before them.
type Testbed struct {
	// How many replicas there are. They are called a, b, c, ….
	Replicas int `yaml:"replicas"`
	// How each of them behaves, in the words of a dependency.
	Behaviour dependency.Behaviour `yaml:"behaviour"`
	// How long a replica that starts is not ready yet.
	LoadFor time.Duration `yaml:"load_for"`
	// How the front chooses the replica of a request.
	Balancer dependency.Balancing `yaml:"balancer"`
	// How the front checks the replicas.
	Health front.Health `yaml:"health"`
}

// SetDefaults sets two replicas that the front takes in turns.
func (t *Testbed) SetDefaults() {
	usual := front.DefaultConfig()
	*t = Testbed{Replicas: 2, Balancer: usual.Balancer, Health: usual.Health}
}

// mostReplicas keeps the names of replicas at one letter.
const mostReplicas = 26

// ReplicaName returns what replica i is called, from 0.
func (t *Testbed) ReplicaName(i int) string { return string(rune('a' + i)) }

// ReplicaNames returns what the replicas are called, in their order.
func (t *Testbed) ReplicaNames() []string {
	names := make([]string, t.Replicas)
	for i := range names {
		names[i] = t.ReplicaName(i)
	}
	return names
}

// RealTarget returns a real thing to call, by its name. A target that has no url
// of its own is the front of the testbed.
func (s *Study) RealTarget(name string) (*target.Config, bool) {
	if s.Target != nil && name == OnlyTarget {
		return s.Target, true
	}
	c, ok := s.Targets.Get(name)
	return &c, ok
}

// realNames lists the real things to call.
func (s *Study) realNames() []string {
	if s.Target == nil {
		return s.Targets.Names()
	}
	return append([]string{OnlyTarget}, s.Targets.Names()...)
}

// CallsReal reports whether the study calls anything real.
func (s *Study) CallsReal() bool {
	return s.Target != nil || s.Targets.Len() > 0 || s.callsExternal()
}

// onlyCallee is what a stack calls that names nothing; "" where that is unclear.
func (s *Study) onlyCallee() string {
	if all := s.Callees(); len(all) > 0 {
		return all[0]
	}
	return ""
}

// checkTargets checks the real things to call, and what brunt starts for them.
func (s *Study) checkTargets(p check.Problems) {
	if s.Target != nil && s.Targets.Len() > 0 {
		p.Add("target", nil, "stands beside targets: expected the one or the other")
	}
	if s.Targets.Len() > mostListed {
		p.Add("targets", s.Targets.Len(), "expected at most %d", mostListed)
		return
	}
	fronted := false
	for _, name := range s.realNames() {
		c, _ := s.RealTarget(name)
		in := p.In("targets", name)
		if s.Target != nil && name == OnlyTarget {
			in = p.In("target")
		}
		if _, twice := s.base(name); twice {
			in.Add("", nil, "%s is the name of a dependency or service too: expected another name", name)
		}
		if name == allDependencies {
			in.Add("", nil, "%s is what results call all dependencies together: expected another name", name)
		}
		whole := *c
		if whole.URL == "" && s.Testbed != nil {
			whole.URL, fronted = "http://127.0.0.1/", true
		}
		whole.Check(in)
	}
	if len(s.realNames()) > 0 && s.Clock == Virtual {
		p.Add("clock", s.Clock, "a real target answers in its own time: expected clock: %s", Real)
	}
	if s.Testbed != nil {
		s.Testbed.check(p.In("testbed"))
		if !fronted {
			p.Add("testbed", nil, "nothing calls its front: expected a target without a url")
		}
	}
}

func (t *Testbed) check(p check.Problems) {
	check.Between(p, "replicas", t.Replicas, 1, mostReplicas)
	p.NotNegative("load_for", t.LoadFor)
	check.OneOf(p, "balancer", t.Balancer, dependency.RoundRobin, dependency.Random, dependency.LeastLoaded, dependency.TwoChoices)
	t.Health.Check(p.In("health"))
	in := p.In("behaviour")
	t.Behaviour.Check(in)
	t.Behaviour.CheckWhole(in)
	if t.readsFiles() {
		in.Add("", nil, "times from a file are not handed on to the replicas: expected a distribution")
	}
	if n := t.Behaviour.Replicas; n != nil {
		in.Add("replicas", *n, "this is one replica: expected testbed.replicas")
	}
}

// readsFiles reports whether the behaviour takes times from a file.
func (t *Testbed) readsFiles() bool {
	b := &t.Behaviour
	all := []*dependency.Latency{b.FirstToken, b.TokenGap}
	if l := b.Latency; l != nil {
		all = append(all, &l.Latency, l.First, l.Later)
	}
	return slices.ContainsFunc(all, func(l *dependency.Latency) bool { return l != nil && l.Empirical != nil })
}
