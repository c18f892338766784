package front

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"brunt/check"
	"brunt/dependency"
)

// Config is how a front behaves. Start from DefaultConfig.
type Config struct {
	// The replicas that requests are spread over.
	Upstreams []Upstream `yaml:"upstreams"`
	// How the replica of a request is chosen: round_robin, random, least_loaded or two_choices.
	Balancer dependency.Balancing `yaml:"balancer"`
	// How replicas are checked.
	Health Health `yaml:"health"`
	// After how many failed requests in a row (connect, reset, timeout, malformed) a replica counts as down, until the checks find it well; 0 for never.
	Passive int `yaml:"passive"`
	// How long connecting to a replica may take; 0s for as long as the system tries.
	ConnectTimeout time.Duration `yaml:"connect_timeout"`
	// How long a replica may take from the end of a request to the header of its answer; 0s for ever.
	AnswerTimeout time.Duration `yaml:"answer_timeout"`
	// How long requests in flight may take to end once the front is told to stop.
	Drain time.Duration `yaml:"drain"`
	// The seed of whatever the balancer draws.
	Seed int64 `yaml:"seed"`
}

// Health is how replicas are checked: a GET on a connection of its own, which
// must be answered with 200 to 299. A replica is down until its first check has
// ended, and that one alone decides.
type Health struct {
	// The path to ask for; empty for no checks: every replica then counts as up.
	Path string `yaml:"path"`
	// How long from the start of a check to the start of the next.
	Interval time.Duration `yaml:"interval"`
	// How long a check may take.
	Timeout time.Duration `yaml:"timeout"`
	// How many failed checks in a row take a replica down.
	Fall int `yaml:"fall"`
	// How many good checks in a row bring it up again.
	Rise int `yaml:"rise"`
}

// Upstream is one replica.
type Upstream struct {
	// What answers and the log call it.
	Name string `yaml:"name" json:"name"`
	// Where it is: http://HOST:PORT.
	URL string `yaml:"url" json:"url"`
}

// None stands in X-Brunt-Replica for no upstream, so none can have the name.
const None = "none"

var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// DefaultConfig is round robin, no timeouts, and half a minute for draining.
func DefaultConfig() Config {
	c := Config{Balancer: dependency.RoundRobin, Drain: 30 * time.Second}
	c.Health.SetDefaults()
	return c
}

// SetDefaults sets a check of /health twice a second that two results in a row
// decide.
func (h *Health) SetDefaults() {
	*h = Health{Path: "/health", Interval: 500 * time.Millisecond, Timeout: 500 * time.Millisecond, Fall: 2, Rise: 2}
}

// ParseUpstream reads NAME=http://HOST:PORT.
func ParseUpstream(s string) (Upstream, error) {
	name, address, ok := strings.Cut(s, "=")
	if !ok {
		return Upstream{}, fmt.Errorf("upstream %q: expected NAME=http://HOST:PORT", s)
	}
	u := Upstream{Name: name, URL: address}
	p := check.New()
	u.Check(p)
	if err := joined(p); err != nil {
		return Upstream{}, fmt.Errorf("upstream %q: %w", s, err)
	}
	return u, nil
}

// Check reports what is wrong with the configuration.
func (c *Config) Check(p check.Problems) {
	if len(c.Upstreams) == 0 {
		p.Add("upstreams", nil, "expected at least one")
	}
	seen := map[string]bool{}
	for i := range c.Upstreams {
		u, in := &c.Upstreams[i], p.In("upstreams", strconv.Itoa(i))
		u.Check(in)
		if seen[u.Name] {
			in.Add("name", u.Name, "is the name of another upstream")
		}
		seen[u.Name] = true
	}
	check.OneOf(p, "balancer", c.Balancer, dependency.RoundRobin, dependency.Random, dependency.LeastLoaded, dependency.TwoChoices)
	c.Health.Check(p.In("health"))
	check.Between(p, "passive", c.Passive, 0, 1e6)
	if c.Passive > 0 && c.Health.Path == "" {
		p.Add("passive", c.Passive, "needs health checks: without them nothing would bring a replica up again")
	}
	p.NotNegative("connect_timeout", c.ConnectTimeout)
	p.NotNegative("answer_timeout", c.AnswerTimeout)
	p.NotNegative("drain", c.Drain)
}

// Check reports what is wrong with the checks.
func (h *Health) Check(p check.Problems) {
	if h.Path == "" {
		return
	}
	if u, err := url.ParseRequestURI(h.Path); err != nil || !strings.HasPrefix(h.Path, "/") || u.Host != "" {
		p.Add("path", h.Path, "expected a path such as /health")
	}
	p.Positive("interval", h.Interval)
	p.Positive("timeout", h.Timeout)
	check.Between(p, "fall", h.Fall, 1, 1000)
	check.Between(p, "rise", h.Rise, 1, 1000)
}

// Check reports what is wrong with the upstream.
func (u *Upstream) Check(p check.Problems) {
	if !names.MatchString(u.Name) || u.Name == None {
		p.Add("name", u.Name, "expected letters, digits, dots, dashes and underscores, and not %q", None)
	}
	at, err := url.Parse(u.URL)
	plain := err == nil && at.Scheme == "http" && at.User == nil && strings.Trim(at.Path, "/") == "" && at.RawQuery == "" && at.Fragment == ""
	if !plain || at.Hostname() == "" || !port(at.Port()) {
		p.Add("url", u.URL, "expected http://HOST:PORT, such as http://127.0.0.1:8001")
	}
}

// port reports whether s is a port; an empty one is 80.
func port(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return s == "" || err == nil && n > 0
}

// address is the host and port. The URL must have been checked.
func (u *Upstream) address() string {
	at, err := url.Parse(u.URL)
	if err != nil {
		return ""
	}
	port := at.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(at.Hostname(), port)
}

func (c *Config) faults() error {
	p := check.New()
	c.Check(p)
	return joined(p)
}

// joined makes one error of what was found.
func joined(p check.Problems) error {
	var all []error
	for _, problem := range p.All() {
		if !problem.Doubt {
			all = append(all, problem)
		}
	}
	return errors.Join(all...)
}
