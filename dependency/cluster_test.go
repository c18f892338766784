package dependency

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/chance"
	"brunt/clock"
)

// replicated returns a behaviour with so many replicas behind a balancer.
func replicated(n int, kind Balancing) Behaviour {
	return Behaviour{Latency: Every(Fixed(5 * ms)), Replicas: &n, Balancer: &Balancer{Kind: kind}}
}

// newCluster returns a cluster on a loop of its own.
func newCluster(b Behaviour) (*Cluster, *clock.Loop) {
	loop := clock.Virtual()
	return NewCluster(loop, "service", b, chance.New(1)), loop
}

// answer returns what an attempt will get.
func answer(c *Cluster, request int64, nth int32) (a Answer) {
	c.Answer(request, nth, &a)
	return a
}

// picks returns where the first attempts of n requests go, all of them open.
func picks(c *Cluster, from, n int64) (list []int32) {
	for i := range n {
		list = append(list, answer(c, from+i, 0).Replica)
	}
	return list
}

// counts returns how many of n requests go to each replica, each ended at once.
func counts(c *Cluster, replicas int, n int64) []int {
	list := make([]int, replicas)
	for i := range n {
		r := answer(c, i, 0).Replica
		c.Ended(r)
		list[r]++
	}
	return list
}

// down returns b with replicas (from 1) that do nothing but what they are said to.
func down(b Behaviour, how Behaviour, numbers ...int) Behaviour {
	b.Replica = nil
	for _, n := range numbers {
		b.Replica = append(b.Replica, Replica{Number: n, Behaviour: how})
	}
	return b
}

func noticing(b Behaviour, after time.Duration) Behaviour {
	b.Balancer = &Balancer{Kind: b.Balancer.Kind, Notice: &after}
	return b
}

func TestRoundRobin(t *testing.T) {
	refuses := Behaviour{Refuse: p(true)}
	b := noticing(replicated(3, RoundRobin), 0)
	tests := []struct {
		name      string
		behaviour Behaviour
		want      []int32
	}{
		{"one", Behaviour{Latency: Every(Fixed(ms))}, []int32{0, 0, 0}},
		// also what no balancer was named for
		{"by default", Behaviour{Latency: Every(Fixed(ms)), Replicas: p(3)}, []int32{0, 1, 2, 0, 1}},
		{"three", b, []int32{0, 1, 2, 0, 1, 2, 0}},
		{"the first is out", down(b, refuses, 1), []int32{1, 2, 1, 2, 1}},
		{"the middle is out", down(b, refuses, 2), []int32{0, 2, 0, 2, 0}},
		{"one is left", down(b, refuses, 1, 3), []int32{1, 1, 1}},
		// panic mode: nobody can do any better, so all share it
		{"all are out", down(b, refuses, 1, 2, 3), []int32{0, 1, 2, 0, 1}},
		{"nothing is noticed", down(replicated(3, RoundRobin), refuses, 2), []int32{0, 1, 2, 0}},
	}
	for _, test := range tests {
		c, _ := newCluster(test.behaviour)
		// what is so from the start is a change too, at 0
		if diff := cmp.Diff(test.want, picks(c, 0, int64(len(test.want)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestNotice: what a replica does is noticed so long after it has changed, in
// both directions; what is over before that is not noticed at all.
func TestNotice(t *testing.T) {
	well := noticing(replicated(2, RoundRobin), 100*ms)
	for name, how := range map[string]Behaviour{
		"refuse":     {Refuse: p(true)},
		"hang":       {Hang: p(true)},
		"fail_after": {FailAfter: p(ms)},
		"fail":       {Fail: &Fail{Ratio: 1}},
	} {
		c, loop := newCluster(well)
		ill := down(well, how, 2)
		for _, change := range []struct {
			at time.Duration
			b  Behaviour
		}{
			{1000 * ms, ill}, {2000 * ms, well}, // noticed at 1100, and at 2100
			{3000 * ms, ill}, {3099 * ms, well}, // never noticed
			{4000 * ms, ill}, {4500 * ms, well}, {4550 * ms, ill}, // back for a moment: never noticed
			{5000 * ms, ill}, // no change
		} {
			loop.At(change.at, clock.Timeline, clock.Func(func() { c.Become(change.b) }))
		}
		got := map[time.Duration]bool{}
		want := map[time.Duration]bool{
			0: true, 999 * ms: true, 1000 * ms: true, 1099 * ms: true, 1100 * ms: false, 2000 * ms: false, 2099 * ms: false, 2100 * ms: true,
			3098 * ms: true, 3100 * ms: true, 3199 * ms: true,
			4099 * ms: true, 4100 * ms: false, 4500 * ms: false, 4599 * ms: false, 4600 * ms: false, 4650 * ms: false, 5050 * ms: false, 9000 * ms: false,
		}
		for at := range want {
			loop.At(at, clock.Work, clock.Func(func() { got[at] = counts(c, 2, 4)[1] > 0 }))
		}
		loop.Run()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: whether the second replica gets attempts (-want +got):\n%s", name, diff)
		}
	}
}

// What fails now and then, or is slow, is not left out; what is paused is.
func TestNoticed(t *testing.T) {
	for name, test := range map[string]struct {
		how Behaviour
		out bool
	}{
		"paused":       {Behaviour{Paused: p(true)}, true},
		"often fails":  {Behaviour{Fail: &Fail{Ratio: 0.99}}, false},
		"first fails":  {Behaviour{Fail: &Fail{First: 100}}, false},
		"slow":         {Behaviour{Slowdown: p(1000.0)}, false},
		"refuse:false": {Behaviour{Refuse: p(false)}, false},
	} {
		b := noticing(replicated(2, RoundRobin), 0)
		b.Workers = p(1)
		c, _ := newCluster(down(b, test.how, 2))
		if out := counts(c, 2, 10)[1] == 0; out != test.out {
			t.Errorf("%s: left out is %v, want %v", name, out, test.out)
		}
	}
}

// spread reports whether each count is within six standard deviations of an
// even share of n.
func spread(list []int, n int64) bool {
	share := float64(n) / float64(len(list))
	for _, got := range list {
		if d := float64(got) - share; d*d > 36*share {
			return false
		}
	}
	return true
}

func TestBalancersSpread(t *testing.T) {
	const n = 10_000
	refuses := Behaviour{Refuse: p(true)}
	for _, kind := range []Balancing{Random, LeastLoaded, TwoChoices} {
		// nothing is open when an attempt starts: all replicas tie
		c, _ := newCluster(replicated(4, kind))
		if list := counts(c, 4, n); !spread(list, n) {
			t.Errorf("%s spreads ties like this: %v", kind, list)
		}
		// those that are left share evenly
		c, _ = newCluster(down(noticing(replicated(4, kind), 0), refuses, 1, 3))
		if list := counts(c, 4, n); list[0]+list[2] > 0 || !spread([]int{list[1], list[3]}, n) {
			t.Errorf("%s spreads over the second and the fourth like this: %v", kind, list)
		}
		c, _ = newCluster(down(noticing(replicated(4, kind), 0), refuses, 1, 2, 3))
		if list := counts(c, 4, 100); list[3] != 100 {
			t.Errorf("%s leaves the last one out: %v", kind, list)
		}
		c, _ = newCluster(down(noticing(replicated(4, kind), 0), refuses, 1, 2, 3, 4))
		if list := counts(c, 4, n); !spread(list, n) {
			t.Errorf("%s spreads over replicas that are all out like this: %v", kind, list)
		}
		// a request's luck is its own: the same again, and another one for its retry
		c, _ = newCluster(replicated(1000, kind))
		again, _ := newCluster(replicated(1000, kind))
		first := counts(c, 1000, 50)
		if diff := cmp.Diff(first, counts(again, 1000, 50)); diff != "" {
			t.Errorf("%s draws anew:\n%s", kind, diff)
		}
		again, _ = newCluster(replicated(1000, kind))
		retry := make([]int, 1000)
		for i := range int64(50) {
			r := answer(again, i, 1).Replica
			again.Ended(r)
			retry[r]++
		}
		if cmp.Equal(first, retry) {
			t.Errorf("%s: a retry meets the luck of the first attempt", kind)
		}
	}
}

// TestLeastLoaded: with n attempts open, each of n replicas has one; an attempt that
// ends makes its replica the next.
func TestLeastLoaded(t *testing.T) {
	c, _ := newCluster(replicated(5, LeastLoaded))
	for round := range int64(3) {
		seen := map[int32]bool{}
		for _, r := range picks(c, 5*round, 5) {
			seen[r] = true
		}
		if len(seen) != 5 {
			t.Errorf("round %d goes to %v", round, seen)
		}
	}
	for _, r := range []int32{3, 0, 3} {
		c.Ended(r)
		if got := answer(c, 100, 0).Replica; got != r {
			t.Errorf("with replica %d less loaded the next attempt goes to %d", r, got)
		}
	}
	// three fewer at one are worth three attempts
	for range 3 {
		c.Ended(2)
	}
	if diff := cmp.Diff([]int32{2, 2, 2}, picks(c, 200, 3)); diff != "" {
		t.Error(diff)
	}
}

// TestTwoChoices: of two replicas the less loaded gets it; a busier one gets
// something only of the pairs in which it is less loaded than the other.
func TestTwoChoices(t *testing.T) {
	c, _ := newCluster(replicated(2, TwoChoices))
	for i := range int64(100) {
		a, b := answer(c, 2*i, 0).Replica, answer(c, 2*i+1, 0).Replica
		if a == b {
			t.Fatalf("requests %d and %d both go to replica %d", 2*i, 2*i+1, a)
		}
	}
	// loads 0, 1, 2 of three: the busiest is never the lesser of two different
	// ones, the idle one is in two of three pairs
	c, _ = newCluster(replicated(3, TwoChoices))
	c.replicas[1].load, c.replicas[2].load = 1, 2
	const n = 9000
	list := counts(c, 3, n)
	if list[2] != 0 || !spread([]int{list[0] / 2, list[1]}, n*2/3) {
		t.Errorf("loads of 0, 1, 2: %v", list)
	}
	// the first drawn wins a tie
	c, _ = newCluster(replicated(5, TwoChoices))
	for i := range int64(100) {
		want := int32(chance.New(1).Draw(chance.Balance, i, chance.Name("service"), 0).Below(5))
		if got := answer(c, i, 0).Replica; got != want {
			t.Errorf("request %d, drawn to replica %d first, goes to %d", i, want, got)
		}
		c.Ended(want)
	}
}

// Replicas that are taken away get nothing more, keep their stations, and are
// there again when they come back.
func TestReplicasComeAndGo(t *testing.T) {
	b := replicated(3, RoundRobin)
	b.Workers = p(1)
	c, _ := newCluster(b)
	third := c.Station(2)
	fewer, more := b, b
	fewer.Replicas, more.Replicas = p(2), p(4)
	c.Become(fewer)
	if diff := cmp.Diff([]int{5, 5, 0}, counts(c, 3, 10)); diff != "" {
		t.Errorf("two of three (-want +got):\n%s", diff)
	}
	c.Become(more)
	if diff := cmp.Diff([]int{2, 2, 2, 2}, counts(c, 4, 8)); diff != "" {
		t.Errorf("four (-want +got):\n%s", diff)
	}
	if c.Station(2) != third || c.Station(3) == nil || c.Station(3) == third {
		t.Error("a replica lost its station, or got another's")
	}
	// one of them differs, and keeps what all have in common
	c.Become(down(b, Behaviour{Latency: Every(Fixed(9 * ms))}, 2))
	for i := range int64(3) {
		want := 5 * ms
		a := answer(c, i, 0)
		if a.Replica == 1 {
			want = 9 * ms
		}
		if a.After != want {
			t.Errorf("replica %d takes %v, want %v", a.Replica+1, a.After, want)
		}
	}
}
