package dependency

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/check"
)

func TestRoomText(t *testing.T) {
	for text, want := range map[string]Room{"0": 0, "7": 7, "2147483647": 2147483647, "unbounded": Unbounded} {
		var r Room
		if err := r.UnmarshalText([]byte(text)); err != nil || r != want {
			t.Errorf("%s is %d, %v; want %d", text, r, err, want)
		}
		if back, err := r.MarshalText(); err != nil || string(back) != text {
			t.Errorf("%s comes back as %s, %v", text, back, err)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "2147483648", "infinite", "Unbounded", "5ms"} {
		r := Room(3)
		err := r.UnmarshalText([]byte(text))
		if err == nil || r != 3 || !strings.Contains(err.Error(), "expected a whole number from 0") {
			t.Errorf("%q: %v, %d", text, err, r)
		}
	}
}

// problems returns what is wrong with a whole behaviour; doubts in parentheses.
func problems(b Behaviour) (list []string) {
	p := check.New()
	b.CheckWhole(p)
	for _, problem := range p.All() {
		text := problem.Error()
		if problem.Doubt {
			text = "(" + text + ")"
		}
		list = append(list, text)
	}
	return list
}

func TestCheckCapacity(t *testing.T) {
	five := Every(Fixed(5 * ms))
	with := func(change func(*Behaviour)) Behaviour {
		b := Behaviour{Latency: five, Workers: p(2)}
		change(&b)
		return b
	}
	tests := []struct {
		name      string
		behaviour Behaviour
		want      []string // the beginning of each problem
	}{
		{"workers", with(func(*Behaviour) {}), nil},
		{"everything", with(func(b *Behaviour) {
			b.Queue, b.Discipline, b.Codel, b.OnCancel, b.Deadline = p(Room(0)), p(CoDel), &Codel{ms, 2 * ms}, p(Burns), p(Heeded)
			b.Replicas, b.Balancer, b.Slowdown, b.Paused = p(2), &Balancer{Kind: TwoChoices, Notice: p(0 * ms)}, p(0.5), p(true)
			b.RetryAfter, b.Replica = p(time.Second), []Replica{{Number: 2, Behaviour: Behaviour{Workers: p(1)}}}
		}), nil},
		{"no workers", with(func(b *Behaviour) { b.Workers = p(0) }), []string{"workers: 0: "}},
		{"too many workers", with(func(b *Behaviour) { b.Workers = p(1_000_001) }), []string{"workers: 1000001: "}},
		{"slowdown", with(func(b *Behaviour) { b.Slowdown = p(-1.0) }), []string{"slowdown: -1: "}},
		{"retry_after", with(func(b *Behaviour) { b.RetryAfter = p(-ms) }), []string{"retry_after: -1ms: "}},
		{"discipline", with(func(b *Behaviour) { b.Discipline = p(Discipline("random")) }), []string{`discipline: "random": `}},
		{"codel", with(func(b *Behaviour) { b.Discipline, b.Codel = p(CoDel), &Codel{} }), []string{"codel.target: 0s: ", "codel.interval: 0s: "}},
		{"on_cancel", with(func(b *Behaviour) { b.OnCancel = p(OnCancel("burn")) }), []string{`on_cancel: "burn": `}},
		{"deadline", with(func(b *Behaviour) { b.Deadline = p(Deadline("yes")) }), []string{`deadline: "yes": `}},
		{"replicas", with(func(b *Behaviour) { b.Replicas = p(0) }), []string{"replicas: 0: "}},
		{"balancer", with(func(b *Behaviour) {
			b.Replicas, b.Balancer = p(2), &Balancer{Kind: "best", Notice: p(-ms)}
		}), []string{`balancer.kind: "best": `, "balancer.notice: -1ms: "}},
		// a queue needs somebody who works it off, also when a phase adds it
		{"without workers", Behaviour{Latency: five, Queue: p(Room(3)), Discipline: p(CoDel), Codel: &Codel{ms, ms}, Paused: p(true)},
			[]string{"queue: given: goes with workers", "discipline: given: goes with workers", "codel: given: goes with workers", "paused: given: goes with workers"}},
		{"not paused", Behaviour{Latency: five, Paused: p(false)}, nil},
		{"codel of another discipline", with(func(b *Behaviour) { b.Codel = &Codel{ms, ms} }), []string{"(codel: given: has no effect with discipline: fifo)"}},
		{"balancer of one", with(func(b *Behaviour) { b.Balancer = &Balancer{Kind: Random} }), []string{"(balancer: given: has nothing to choose with one replica)"}},
		{"replica beyond", with(func(b *Behaviour) {
			b.Replicas, b.Replica = p(2), []Replica{{Number: 3}}
		}), []string{"replica.0.number: 3: there are 2 replicas"}},
		{"replica twice", with(func(b *Behaviour) {
			b.Replicas, b.Replica = p(2), []Replica{{Number: 1}, {Number: 1}}
		}), []string{"replica.1.number: 1: is described already"}},
		{"replica without a number", with(func(b *Behaviour) { b.Replica = []Replica{{}} }), []string{"replica.0.number: 0: "}},
		{"a replica of its own", with(func(b *Behaviour) {
			b.Replicas, b.Replica = p(2), []Replica{{Number: 1, Behaviour: Behaviour{Replica: []Replica{{Number: 1}}}}}
		}), []string{"replica.0.replica: given: belongs to all replicas together"}},
		{"a fault in a replica", with(func(b *Behaviour) {
			b.Replicas, b.Replica = p(2), []Replica{{Number: 1, Behaviour: Behaviour{Workers: p(0)}}}
		}), []string{"replica.0.workers: 0: "}},
	}
	for _, test := range tests {
		got := problems(test.behaviour)
		seen := map[string]bool{}
		for _, problem := range got {
			known := false
			for _, want := range test.want {
				if strings.HasPrefix(problem, want) {
					seen[want], known = true, true
				}
			}
			if !known {
				t.Errorf("%s: not expected: %s", test.name, problem)
			}
		}
		for _, want := range test.want {
			if !seen[want] {
				t.Errorf("%s: missing: %s; got %q", test.name, want, got)
			}
		}
	}
}

// A phase replaces each setting of capacity as a whole, and leaves the others.
func TestOverCapacity(t *testing.T) {
	base := Behaviour{
		Slowdown: p(2.0), RetryAfter: p(time.Second), Workers: p(3), Queue: p(Room(5)), Discipline: p(LIFO), Codel: &Codel{ms, 2 * ms},
		OnCancel: p(Burns), Deadline: p(Heeded), Paused: p(true), Replicas: p(4), Balancer: &Balancer{Kind: Random, Notice: p(ms)},
		Replica: []Replica{{Number: 1, Behaviour: Behaviour{Workers: p(1)}}, {Number: 2}},
	}
	for name, change := range map[string]func(*Behaviour){
		"nothing":     func(*Behaviour) {},
		"slowdown":    func(b *Behaviour) { b.Slowdown = p(1.0) },
		"retry_after": func(b *Behaviour) { b.RetryAfter = p(0 * ms) },
		"workers":     func(b *Behaviour) { b.Workers = p(1) },
		"queue":       func(b *Behaviour) { b.Queue = p(Unbounded) },
		"discipline":  func(b *Behaviour) { b.Discipline = p(FIFO) },
		"codel":       func(b *Behaviour) { b.Codel = &Codel{5 * ms, 6 * ms} },
		"on_cancel":   func(b *Behaviour) { b.OnCancel = p(Stops) },
		"deadline":    func(b *Behaviour) { b.Deadline = p(Ignored) },
		"paused":      func(b *Behaviour) { b.Paused = p(false) },
		"replicas":    func(b *Behaviour) { b.Replicas = p(1) },
		// without notice: nothing of the base's is left
		"balancer": func(b *Behaviour) { b.Balancer = &Balancer{Kind: LeastLoaded} },
		// the list as a whole, and an empty one takes all of it back
		"replica":    func(b *Behaviour) { b.Replica = []Replica{{Number: 3}} },
		"no replica": func(b *Behaviour) { b.Replica = []Replica{} },
	} {
		var override Behaviour
		want := base
		change(&override)
		change(&want)
		if diff := cmp.Diff(want, override.Over(base)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// One replica is as all are but for what is said of it, and knows nothing of the
// others.
func TestOf(t *testing.T) {
	b := Behaviour{
		Latency: Every(Fixed(5 * ms)), Workers: p(3), Replicas: p(3), Balancer: &Balancer{Kind: Random},
		Replica: []Replica{{Number: 2, Behaviour: Behaviour{Workers: p(1), Slowdown: p(4.0)}}},
	}
	plain := Behaviour{Latency: b.Latency, Workers: b.Workers}
	slow := plain
	slow.Workers, slow.Slowdown = p(1), p(4.0)
	for i, want := range []Behaviour{plain, slow, plain} {
		if diff := cmp.Diff(want, b.Of(i)); diff != "" {
			t.Errorf("replica %d (-want +got):\n%s", i+1, diff)
		}
	}
	if len(b.Replica) != 1 || *b.Replicas != 3 || *b.Workers != 3 {
		t.Errorf("asking changed it: %+v", b)
	}
}

// Most servers do not notice that a caller has left; what has no workers is as
// it always was.
func TestBurns(t *testing.T) {
	for _, test := range []struct {
		behaviour Behaviour
		want      bool
	}{
		{Behaviour{}, false},
		{Behaviour{Workers: p(1)}, true},
		{Behaviour{Workers: p(1), OnCancel: p(Stops)}, false},
		{Behaviour{OnCancel: p(Burns)}, true},
	} {
		if got := test.behaviour.burns(); got != test.want {
			t.Errorf("%+v burns: %v", test.behaviour, got)
		}
	}
}
