package front

import (
	"sync"
	"time"

	"brunt/chance"
	"brunt/dependency"
)

// balancer chooses the upstream of each request, among those that are up. It
// chooses as a simulated dependency's balancer does.
type balancer struct {
	kind   dependency.Balancing
	chance chance.Source

	mu       sync.Mutex // guards what follows, and the state of the upstreams
	all      []*upstream
	rotation int
}

func newBalancer(kind dependency.Balancing, seed int64, all []*upstream) *balancer {
	return &balancer{kind: kind, chance: chance.New(seed), all: all}
}

// pick chooses for request n and counts it as in flight there; nil when no
// upstream is up. Each pick but nil needs a done.
func (b *balancer) pick(n int64) *upstream {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := b.choose(n)
	if u != nil {
		u.inFlight++
		u.routed++
	}
	return u
}

func (b *balancer) choose(n int64) *upstream {
	if b.kind == dependency.RoundRobin {
		for range b.all {
			u := b.all[b.rotation%len(b.all)]
			b.rotation = (b.rotation + 1) % len(b.all)
			if u.up {
				return u
			}
		}
		return nil
	}
	up := make([]*upstream, 0, len(b.all))
	for _, u := range b.all {
		if u.up {
			up = append(up, u)
		}
	}
	if len(up) == 0 {
		return nil
	}
	draw := b.chance.Draw(chance.Balance, n, 0, 0)
	switch b.kind {
	case dependency.LeastLoaded:
		return leastLoaded(up, draw)
	case dependency.TwoChoices:
		first := int(draw.Below(int64(len(up))))
		if len(up) == 1 {
			return up[0]
		}
		second := int(draw.Next().Below(int64(len(up) - 1)))
		if second >= first {
			second++
		}
		if up[second].inFlight < up[first].inFlight {
			return up[second]
		}
		return up[first]
	}
	return up[draw.Below(int64(len(up)))]
}

// leastLoaded breaks ties by chance: the first of several idle replicas must
// not get everything.
func leastLoaded(up []*upstream, draw chance.Draw) *upstream {
	var least []*upstream
	for _, u := range up {
		if len(least) > 0 && u.inFlight < least[0].inFlight {
			least = least[:0]
		}
		if len(least) == 0 || u.inFlight == least[0].inFlight {
			least = append(least, u)
		}
	}
	return least[draw.Below(int64(len(least)))]
}

// done takes back a pick; the cause is what became of the request. It reports
// whether that took the upstream down.
func (b *balancer) done(u *upstream, cause Cause, at time.Time) (down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u.inFlight--
	if cause == Client || cause == Drained {
		return false // that says nothing about the upstream
	}
	down = u.served(cause == "")
	if down {
		u.since, u.reason = at, "requests failed: "+string(cause)
	}
	return down
}

// checked tells the result of a check. It reports whether that changed the
// upstream's state.
func (b *balancer) checked(u *upstream, ok bool, reason string, at time.Time) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed = u.health.checked(ok)
	if changed {
		u.since, u.reason = at, reason
	}
	return changed
}

// inFlight counts the requests that have an upstream.
func (b *balancer) inFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, u := range b.all {
		n += u.inFlight
	}
	return n
}
