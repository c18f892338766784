package dependency

import (
	"time"

	"brunt/chance"
	"brunt/clock"
)

// Cluster is a dependency with all its replicas, behind a balancer. It lives on
// one [clock.Loop]. A dependency without replicas is a cluster of one.
type Cluster struct {
	name     string
	loop     *clock.Loop
	chance   chance.Source
	id       uint64
	balancer Balancer
	n        int // replicas that get attempts
	replicas []replica
	rotation int
}

type replica struct {
	model   *Model
	station *Station // nil without workers
	load    int      // attempts that the balancer knows of

	down    bool
	changed time.Duration // when down changed last
	wasOut  bool          // whether it got no attempts then
}

// NewCluster returns a dependency that behaves in the given way. Workers, once
// there, stay: a behaviour has them in every phase or in none.
func NewCluster(loop *clock.Loop, name string, b Behaviour, source chance.Source) *Cluster {
	c := &Cluster{name: name, loop: loop, chance: source, id: chance.Name(name)}
	c.Become(b)
	return c
}

// Become changes the behaviour from now on. The behaviour must have passed its
// checks.
func (c *Cluster) Become(b Behaviour) {
	c.balancer.SetDefaults()
	if b.Balancer != nil {
		c.balancer = *b.Balancer
	}
	c.n = b.replicas()
	for i := range max(c.n, len(c.replicas)) {
		one := b.Of(i)
		if i == len(c.replicas) {
			c.replicas = append(c.replicas, replica{model: New(c.name, one, c.chance)})
		}
		r := &c.replicas[i]
		if down := one.NeverSucceeds() || is(one.Paused); down != r.down {
			r.wasOut = c.out(r)
			r.down, r.changed = down, c.loop.Now()
		}
		r.model.Become(one)
		switch {
		case one.Workers == nil:
		case r.station == nil:
			r.station = NewStation(c.loop, &one)
		default:
			r.station.Become(&one)
		}
	}
}

// out reports whether the balancer leaves a replica out.
func (c *Cluster) out(r *replica) bool {
	if c.balancer.Notice == nil {
		return false
	}
	if c.loop.Now()-r.changed < *c.balancer.Notice {
		return r.wasOut
	}
	return r.down
}

// Answer decides on a request's nth attempt (from 0): which replica gets it,
// and what it will answer. The attempt counts as that replica's load until
// [Cluster.Ended].
func (c *Cluster) Answer(request int64, nth int32, a *Answer) {
	i := 0
	if c.n > 1 {
		i = c.pick(request, nth)
	}
	r := &c.replicas[i]
	r.load++
	r.model.answer(request, nth, a)
	a.Replica = int32(i)
}

// Ended tells that an attempt at a replica was answered or given up.
func (c *Cluster) Ended(replica int32) { c.replicas[replica].load-- }

// GoOn ends all pauses.
func (c *Cluster) GoOn() {
	for i := range c.replicas {
		if s := c.replicas[i].station; s != nil {
			s.GoOn()
		}
	}
}

// Station returns the workers of a replica; nil when it has none.
func (c *Cluster) Station(replica int32) *Station { return c.replicas[replica].station }

// pick chooses among the replicas that are not left out; when all are, among
// all.
func (c *Cluster) pick(request int64, nth int32) int {
	in := 0
	for i := range c.n {
		if !c.out(&c.replicas[i]) {
			in++
		}
	}
	all := in == 0
	if all {
		in = c.n
	}
	// at returns the k-th replica (from 0) of those that take part
	at := func(k int) int {
		if in == c.n {
			return k
		}
		for i := range c.n {
			if !c.out(&c.replicas[i]) {
				if k == 0 {
					return i
				}
				k--
			}
		}
		panic("dependency: fewer replicas than counted")
	}
	draw := func() chance.Draw { return c.chance.Draw(chance.Balance, request, c.id, uint64(nth)) }
	switch c.balancer.Kind {
	case Random:
		return at(int(draw().Below(int64(in))))
	case TwoChoices:
		if in == 1 {
			return at(0)
		}
		d := draw()
		a, b := int(d.Below(int64(in))), int(d.Next().Below(int64(in-1)))
		if b >= a {
			b++
		}
		a, b = at(a), at(b)
		if c.replicas[b].load < c.replicas[a].load {
			return b
		}
		return a
	case LeastLoaded:
		return c.leastLoaded(in, at, draw())
	}
	// round robin: the next one in the rotation that takes part
	for {
		i := c.rotation % c.n
		c.rotation = i + 1
		if all || !c.out(&c.replicas[i]) {
			return i
		}
	}
}

// leastLoaded breaks ties by chance: the first of several idle replicas must
// not get everything.
func (c *Cluster) leastLoaded(in int, at func(int) int, d chance.Draw) int {
	least, ties := 0, 0
	for k := range in {
		switch load := c.replicas[at(k)].load; {
		case ties == 0 || load < least:
			least, ties = load, 1
		case load == least:
			ties++
		}
	}
	nth := int(d.Below(int64(ties)))
	for k := range in {
		if i := at(k); c.replicas[i].load == least {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	panic("dependency: a replica has lost its load")
}
