package dependency

import (
	"fmt"
	"strconv"
	"time"

	"brunt/check"
)

// Room is how many attempts may wait: a number, or unbounded.
type Room int

// Unbounded is room for any number.
const Unbounded Room = -1

const unboundedWord = "unbounded"

// UnmarshalText reads a number from 0 on, or unbounded.
func (r *Room) UnmarshalText(b []byte) error {
	if string(b) == unboundedWord {
		*r = Unbounded
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not the length of a queue: expected a whole number from 0 to 2147483647, or %s", b, unboundedWord)
	}
	*r = Room(n)
	return nil
}

// MarshalText writes the number, or unbounded.
func (r Room) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String returns the number, or unbounded.
func (r Room) String() string {
	if r < 0 {
		return unboundedWord
	}
	return strconv.Itoa(int(r))
}

// Discipline says which waiting attempt a worker takes up next.
type Discipline string

// The disciplines. CoDel is first in, first out, and drops what has waited too
// long when a worker would take it up: RFC 8289.
const (
	FIFO  Discipline = "fifo"
	LIFO  Discipline = "lifo"
	CoDel Discipline = "codel"
)

// Codel holds the settings of CoDel (K. Nichols, V. Jacobson, RFC 8289).
type Codel struct {
	// The wait that is acceptable while a queue stands.
	Target time.Duration `yaml:"target"`
	// How long the wait must be above the target before anything is dropped.
	Interval time.Duration `yaml:"interval"`
}

// SetDefaults sets the values of RFC 8289: 5 ms and 100 ms.
func (c *Codel) SetDefaults() {
	*c = Codel{Target: 5 * time.Millisecond, Interval: 100 * time.Millisecond}
}

// OnCancel says what a dependency does about an attempt that its caller has
// given up.
type OnCancel string

// What becomes of a cancelled attempt. It stops: it leaves the queue, or its
// worker is free after the clean-up. Or it burns: most servers do not notice
// that a caller has left, and work to the end for nobody.
const (
	Stops OnCancel = "stops"
	Burns OnCancel = "burns"
)

// Deadline says whether the deadline of a caller is passed on to a dependency.
type Deadline string

// Whether a deadline is known. When it is heeded, nothing is done for an
// attempt after it, and the calls that a service makes for it have it too.
const (
	Ignored Deadline = "ignored"
	Heeded  Deadline = "heeded"
)

// Balancer spreads attempts over replicas.
type Balancer struct {
	// How a replica is chosen: round_robin, random, least_loaded or two_choices.
	Kind Balancing `yaml:"kind"`
	// How long after a replica can no longer succeed (it refuses, hangs, fails always or is paused) it gets no more attempts, and after it is back gets them again. Without it the balancer never notices.
	Notice *time.Duration `yaml:"notice"`
}

// Balancing names a way to choose a replica.
type Balancing string

// The ways to choose a replica. Load is what the balancer knows of: attempts
// at the replica that have not been answered or given up.
const (
	RoundRobin  Balancing = "round_robin"
	Random      Balancing = "random"
	LeastLoaded Balancing = "least_loaded"
	TwoChoices  Balancing = "two_choices" // the less loaded of two different ones, drawn at random
)

// SetDefaults sets round robin.
func (b *Balancer) SetDefaults() { *b = Balancer{Kind: RoundRobin} }

// Replica is what is different about one replica.
type Replica struct {
	// Which replica, from 1.
	Number int `yaml:"number"`
	Behaviour
}

// mostReplicas bounds the replicas of one dependency.
const mostReplicas = 10_000

func (b *Behaviour) checkCapacity(p check.Problems) {
	if b.Slowdown != nil {
		check.Between(p, "slowdown", *b.Slowdown, 0, 1e6)
	}
	if b.RetryAfter != nil {
		p.NotNegative("retry_after", *b.RetryAfter)
	}
	if b.Workers != nil {
		check.Between(p, "workers", *b.Workers, 1, 1e6)
	}
	if b.Discipline != nil {
		check.OneOf(p, "discipline", *b.Discipline, FIFO, LIFO, CoDel)
	}
	if b.Codel != nil {
		p.In("codel").Positive("target", b.Codel.Target)
		p.In("codel").Positive("interval", b.Codel.Interval)
	}
	if b.OnCancel != nil {
		check.OneOf(p, "on_cancel", *b.OnCancel, Stops, Burns)
	}
	if b.Deadline != nil {
		check.OneOf(p, "deadline", *b.Deadline, Heeded, Ignored)
	}
	if b.Replicas != nil {
		check.Between(p, "replicas", *b.Replicas, 1, mostReplicas)
	}
	if b.Balancer != nil {
		check.OneOf(p.In("balancer"), "kind", b.Balancer.Kind, RoundRobin, Random, LeastLoaded, TwoChoices)
		if b.Balancer.Notice != nil {
			p.In("balancer").NotNegative("notice", *b.Balancer.Notice)
		}
	}
	numbers := map[int]bool{}
	for i := range b.Replica {
		r, in := &b.Replica[i], p.In("replica", strconv.Itoa(i))
		check.Between(in, "number", r.Number, 1, mostReplicas)
		if numbers[r.Number] {
			in.Add("number", r.Number, "is described already")
		}
		numbers[r.Number] = true
		for name, set := range map[string]bool{"replay": r.Replay != nil, "replicas": r.Replicas != nil, "balancer": r.Balancer != nil, "replica": r.Behaviour.Replica != nil} {
			if set {
				in.Add(name, "given", "belongs to all replicas together, not to one")
			}
		}
		r.Behaviour.Check(in)
	}
}

// checkWholeCapacity reports what does not go together.
func (b *Behaviour) checkWholeCapacity(p check.Problems) {
	if b.Workers == nil {
		for _, s := range []struct {
			name string
			set  bool
		}{
			{"queue", b.Queue != nil}, {"discipline", b.Discipline != nil}, {"codel", b.Codel != nil}, {"paused", is(b.Paused)},
		} {
			if s.set {
				p.Add(s.name, "given", "goes with workers: without them nothing waits")
			}
		}
	}
	if b.Codel != nil && b.discipline() != CoDel {
		p.Doubt("codel", "given", "has no effect with discipline: %s", b.discipline())
	}
	if b.Balancer != nil && b.replicas() == 1 {
		p.Doubt("balancer", "given", "has nothing to choose with one replica")
	}
	for i := range b.Replica {
		in := p.In("replica", strconv.Itoa(i))
		if n := b.Replica[i].Number; n > b.replicas() {
			in.Add("number", n, "there are %d replicas", b.replicas())
			continue
		}
		one := b.Of(b.Replica[i].Number - 1)
		one.CheckWhole(in)
	}
}

func (b *Behaviour) replicas() int {
	if b.Replicas == nil {
		return 1
	}
	return *b.Replicas
}

func (b *Behaviour) discipline() Discipline {
	if b.Discipline == nil {
		return FIFO
	}
	return *b.Discipline
}

// Of returns the behaviour of one replica, from 0.
func (b Behaviour) Of(replica int) Behaviour {
	one := b
	one.Replicas, one.Balancer, one.Replica = nil, nil, nil
	for i := range b.Replica {
		if b.Replica[i].Number == replica+1 {
			return b.Replica[i].Behaviour.Over(one)
		}
	}
	return one
}

// Employs reports whether any replica has workers.
func (b *Behaviour) Employs() bool {
	for i := range b.Replica {
		if b.Replica[i].Workers != nil {
			return true
		}
	}
	return b.Workers != nil
}

// Pauses reports whether the workers of any replica stand still.
func (b *Behaviour) Pauses() bool {
	for i := range b.replicas() {
		if one := b.Of(i); is(one.Paused) {
			return true
		}
	}
	return false
}

// burns reports whether a cancelled attempt is worked on to its end: the
// default with workers, as most servers do not notice that a caller has left.
func (b *Behaviour) burns() bool {
	if b.OnCancel == nil {
		return b.Workers != nil
	}
	return *b.OnCancel == Burns
}
