package front

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/dependency"
)

// replicas returns so many upstreams that are up.
func replicas(n int) []*upstream {
	var all []*upstream
	for i := range n {
		u := &upstream{Upstream: Upstream{Name: string(rune('a' + i))}}
		u.known, u.up = true, true
		all = append(all, u)
	}
	return all
}

func TestRoundRobinSkipsWhatIsDown(t *testing.T) {
	b := newBalancer(dependency.RoundRobin, 1, replicas(3))
	next := func(n int) string {
		s := ""
		for range n {
			if u := b.pick(0); u != nil {
				s += u.Name
			} else {
				s += "-"
			}
		}
		return s
	}
	set := func(up ...bool) {
		for i, u := range b.all {
			u.up = up[i]
		}
	}
	var got []string
	got = append(got, next(4))
	set(true, false, true) // the next would be b
	got = append(got, next(4))
	set(false, false, false)
	got = append(got, next(2))
	set(true, true, true) // the next after the last chosen one
	got = append(got, next(4))
	if diff := cmp.Diff([]string{"abca", "caca", "--", "bcab"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Laws of every balancer: only what is up is chosen, and something whenever
// anything is; picks without their done are in flight; round robin is exact and
// the least loaded is the least loaded.
func TestBalancers(t *testing.T) {
	kinds := []dependency.Balancing{dependency.RoundRobin, dependency.Random, dependency.LeastLoaded, dependency.TwoChoices}
	rapid.Check(t, func(t *rapid.T) {
		b := newBalancer(rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.Int64().Draw(t, "seed"), replicas(rapid.IntRange(1, 5).Draw(t, "replicas")))
		up := 0
		for i, u := range b.all {
			if u.up = rapid.Bool().Draw(t, fmt.Sprint("up ", i)); u.up {
				up++
			}
		}
		var open []*upstream
		for n := range rapid.IntRange(1, 60).Draw(t, "requests") {
			if len(open) > 0 && rapid.IntRange(0, 2).Draw(t, "end one") == 0 {
				b.done(open[0], "", time.Time{})
				open = open[1:]
			}
			before := map[*upstream]int{}
			for _, u := range b.all {
				before[u] = u.inFlight
			}
			u := b.pick(int64(n))
			if (u == nil) != (up == 0) || u != nil && !u.up {
				t.Fatalf("chose %+v, of %d that are up", u, up)
			}
			if u == nil {
				continue
			}
			open = append(open, u)
			for _, other := range b.all {
				if b.kind == dependency.LeastLoaded && other.up && before[other] < before[u] {
					t.Fatalf("chose one with %d in flight, another has %d", before[u], before[other])
				}
				if b.kind == dependency.RoundRobin && other.up && max(other.routed-u.routed, u.routed-other.routed) > 1 {
					t.Fatalf("%d and %d requests", u.routed, other.routed)
				}
			}
		}
		if n := b.inFlight(); n != len(open) {
			t.Fatalf("%d in flight, want %d", n, len(open))
		}
	})
}

// What chance decides is spread evenly, and the same for the same seed.
func TestChanceSpreads(t *testing.T) {
	for _, kind := range []dependency.Balancing{dependency.Random, dependency.LeastLoaded, dependency.TwoChoices} {
		var runs [2]string
		for i := range runs {
			b := newBalancer(kind, 7, replicas(4))
			for n := range int64(4000) {
				u := b.pick(n)
				runs[i] += u.Name
				b.done(u, "", time.Time{})
			}
			for _, u := range b.all { // 1000, and five standard deviations of 27
				if u.routed < 865 || u.routed > 1135 {
					t.Errorf("%s: %s got %d of 4000", kind, u.Name, u.routed)
				}
			}
		}
		if runs[0] != runs[1] {
			t.Errorf("%s: one seed, two orders", kind)
		}
	}
}

func TestConfigFaults(t *testing.T) {
	good := func() Config { return unchecked("http://127.0.0.1:1", "http://[::1]:2/") }
	if c := good(); c.faults() != nil {
		t.Fatal(c.faults())
	}
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no upstream", func(c *Config) { c.Upstreams = nil }, "upstreams: expected at least one"},
		{"a name twice", func(c *Config) { c.Upstreams[1].Name = "a" }, `upstreams.1.name: a: is the name of another upstream`},
		// answers that no upstream gave carry it
		{"none", func(c *Config) { c.Upstreams[0].Name = None }, "upstreams.0.name: none: expected"},
		{"a header in a name", func(c *Config) { c.Upstreams[0].Name = "a\r\nX: y" }, "upstreams.0.name: "},
		{"https", func(c *Config) { c.Upstreams[0].URL = "https://127.0.0.1:1" }, "upstreams.0.url: https://127.0.0.1:1: expected http://HOST:PORT"},
		{"a path", func(c *Config) { c.Upstreams[0].URL = "http://127.0.0.1:1/v1" }, "upstreams.0.url: "},
		{"no host", func(c *Config) { c.Upstreams[0].URL = "http://:80" }, "upstreams.0.url: "},
		{"port 0", func(c *Config) { c.Upstreams[0].URL = "http://h:0" }, "upstreams.0.url: "},
		{"port 65536", func(c *Config) { c.Upstreams[0].URL = "http://h:65536" }, "upstreams.0.url: "},
		{"balancer", func(c *Config) { c.Balancer = "best" }, `balancer: "best": `},
		{"no path", func(c *Config) { c.Health = Health{Path: "health", Interval: 1, Timeout: 1, Fall: 1, Rise: 1} }, "health.path: health: "},
		{"fall 0", func(c *Config) { c.Health = Health{Path: "/", Interval: 1, Timeout: 1, Rise: 1} }, "health.fall: 0: "},
		{"interval 0", func(c *Config) { c.Health = Health{Path: "/", Timeout: 1, Fall: 1, Rise: 1} }, "health.interval: 0s: "},
		// nothing would bring it up again
		{"passive alone", func(c *Config) { c.Passive = 3 }, "passive: 3: needs health checks"},
		{"negative", func(c *Config) { c.Drain = -1 }, "drain: -1ns: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := good()
			test.change(&c)
			_, err := New(c, hasty, NewLog(io.Discard))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s…", err, test.want)
			}
		})
	}
}

func TestParseUpstream(t *testing.T) {
	got, err := ParseUpstream("a=http://127.0.0.1:1")
	if diff := cmp.Diff(Upstream{"a", "http://127.0.0.1:1"}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", "a", "http://127.0.0.1:1", "=http://127.0.0.1:1", "a=127.0.0.1:1"} {
		if u, err := ParseUpstream(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, u)
		}
	}
}

var errIll = errors.New("ill")
