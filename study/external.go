package study

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/check"
	"brunt/target"
)

// External is a service of the user's own, in any language. It is loaded over the
// network, and calls the study's simulated dependencies where brunt serves them.
type External struct {
	target.Config
	// The command that starts it, a program and its arguments, in the study's folder: anew for each composition of each repeat, so that none finds what the one before has left. Without it the service must be there. No shell reads it. It finds the addresses of the dependencies in BRUNT_URL_NAME, and where it is to be called in BRUNT_LISTEN.
	Command []string `yaml:"command"`
	// With a command: the path that answers with a 2xx once the service is ready. Without it it is ready when it can be connected to.
	Ready string `yaml:"ready"`
	// With a command: how long the service may take to be ready. A run that waits longer ends.
	ReadyWithin time.Duration `yaml:"ready_within"`
	// Files in the study's folder that say how the service is set up: the results keep a copy.
	Files []string `yaml:"files"`
}

// SetDefaults sets those of a target, and half a minute for a service to be ready.
func (e *External) SetDefaults() {
	*e = External{ReadyWithin: 30 * time.Second}
	e.Config.SetDefaults()
}

// Listen is the host and the port where a dependency is served.
type Listen string

// External returns the service of the user's own that a stack ends in; nil when
// it ends in none.
func (s Stack) External() *External {
	if len(s) == 0 {
		return nil
	}
	return s[len(s)-1].External
}

// External returns the service that a composition loads; nil for any other.
func (s *Study) External(composition string) *External {
	stack, _ := s.Compositions.Get(composition)
	return stack.External()
}

// callsExternal reports whether any composition loads a service of the user's.
func (s *Study) callsExternal() bool {
	return slices.ContainsFunc(s.Compositions.Names(), func(name string) bool { return s.External(name) != nil })
}

// Served reports whether anything of the study is served.
func (s *Study) Served() bool { return s.Serve.Len() > 0 }

// Starts reports whether the study starts commands of its own.
func (s *Study) Starts() bool {
	return slices.ContainsFunc(s.Compositions.Names(), func(name string) bool {
		e := s.External(name)
		return e != nil && len(e.Command) > 0
	})
}

// checkExternal checks one service of the user's own.
func (s *Study) checkExternal(e *External, p check.Problems) {
	e.Config.Check(p)
	if e.Command != nil && (len(e.Command) == 0 || strings.TrimSpace(e.Command[0]) == "") {
		p.Add("command", nil, "is empty: expected a program and its arguments, such as [./service, --port, 8080]")
	}
	if e.Ready != "" {
		if !strings.HasPrefix(e.Ready, "/") {
			p.Add("ready", strconv.Quote(clip(e.Ready)), "expected a path such as /health")
		}
		if len(e.Command) == 0 {
			p.Add("ready", e.Ready, "is asked of what a command has started: expected command too")
		}
	}
	if e.ReadyWithin <= 0 {
		p.Add("ready_within", e.ReadyWithin, "expected more than 0s")
	}
	if s.Clock == Virtual {
		p.Add("", nil, "a service answers in its own time: expected clock: %s", Real)
	}
}

// checkServe checks where dependencies are served.
func (s *Study) checkServe(p check.Problems) {
	taken, variables := map[Listen]string{}, map[string]string{}
	for name, at := range s.Serve.All() {
		in := p.In("serve")
		if _, simulated := s.base(name); !simulated {
			if _, real := s.RealTarget(name); real {
				in.Add(name, nil, "is a real target: expected a simulated dependency or service")
			} else {
				in.Add(name, "unknown dependency "+strconv.Quote(name), "%s", suggest(name, s.Callees()))
			}
		}
		address, err := netip.ParseAddrPort(string(at))
		switch {
		case err != nil:
			in.Add(name, strconv.Quote(clip(string(at))), "expected an address and a port, such as 127.0.0.1:9001")
		case address.Port() != 0 && taken[at] != "":
			in.Add(name, at, "is where %s is served: expected another port", taken[at])
		case !address.Addr().IsLoopback():
			in.Doubt(name, at, "is not only this machine's: whoever reaches it can call the dependency")
		}
		taken[at] = name
		variable := EnvironmentName(name)
		if other, twice := variables[variable]; twice {
			in.Add(name, nil, "and %s are both told to a service in BRUNT_URL_%s: expected names that differ in letters or digits", other, variable)
		}
		variables[variable] = name
		s.checkServedAt(in, name, address)
	}
	if s.callsExternal() && !s.Served() {
		p.Doubt("serve", nil, "nothing is served, so what the service calls cannot be seen: expected {%s: 127.0.0.1:9001}", s.servable())
	}
}

// checkServedAt holds where a dependency is served against where the services are.
func (s *Study) checkServedAt(p check.Problems, dependency string, at netip.AddrPort) {
	for name := range s.Compositions.All() {
		e := s.External(name)
		if e == nil {
			continue
		}
		u, err := url.Parse(e.URL)
		if err != nil {
			continue // told of elsewhere
		}
		switch port, _ := strconv.Atoi(u.Port()); {
		case at.Port() == 0 && len(e.Command) == 0:
			p.Doubt(dependency, at, "is a free port, and the service of %s cannot know which: expected a port, or a command that finds it in BRUNT_URL_%s", name, EnvironmentName(dependency))
		case at.Port() != 0 && int(at.Port()) == port && (u.Hostname() == at.Addr().String() || u.Hostname() == "localhost"):
			p.Add(dependency, at, "is where the service of %s is called: expected another port", name)
		}
	}
}

// EnvironmentName writes a name as those of environment variables are.
func EnvironmentName(name string) string {
	return strings.ToUpper(strings.Map(func(c rune) rune {
		if c == '-' || c == '.' {
			return '_'
		}
		return c
	}, name))
}

// servable is the name of something that can be served.
func (s *Study) servable() string {
	if names := s.Dependencies.Names(); len(names) > 0 {
		return names[0]
	}
	return "NAME"
}
