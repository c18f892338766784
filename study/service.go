package study

import (
	"slices"
	"strconv"
	"strings"

	"brunt/check"
)

// described names the part of the study that describes a target.
func (s *Study) described(name string) string {
	if _, ok := s.Services.Get(name); ok {
		return "services"
	}
	if _, ok := s.RealTarget(name); ok {
		return "targets"
	}
	return "dependencies"
}

// checkServices checks the services, and that none calls itself.
func (s *Study) checkServices(p check.Problems) {
	if s.Services.Len() > mostListed {
		p.Add("", s.Services.Len(), "expected at most %d", mostListed)
		return
	}
	for name, service := range s.Services.All() {
		in := p.In(name)
		if _, twice := s.Dependencies.Get(name); twice {
			in.Add("", nil, "is the name of a dependency too: expected another name")
		}
		if name == allDependencies {
			in.Add("", nil, "%s is what results call all dependencies together: expected another name", name)
		}
		service.Check(in)
		s.checkStack(service.Stack, in.In("stack"), 0)
		for i := range service.Stack {
			if service.Stack[i].Shared {
				in.In("stack", strconv.Itoa(i)).Doubt("shared", true, "all callers of a service share its stages as it is")
			}
		}
		if service.Stack.Guest() {
			in.Add("stack", nil, "ends in a guest: expected one at the end of a composition")
		}
		if loop := s.loop(name, nil); loop != nil {
			in.Add("stack", nil, "calls itself: %s", strings.Join(loop, " calls "))
		}
	}
}

// loop returns the way from a service back to itself; nil when there is none.
func (s *Study) loop(name string, way []string) []string {
	if slices.Contains(way, name) {
		if name == way[0] {
			return append(way, name)
		}
		return nil // another one's loop: reported there
	}
	service, ok := s.Services.Get(name)
	if !ok {
		return nil
	}
	way = append(way, name)
	calls := s.calledBy(service.Stack)
	for _, next := range s.Services.Names() {
		if calls[next] {
			if found := s.loop(next, slices.Clone(way)); found != nil {
				return found
			}
		}
	}
	return nil
}

// reach returns everything that a stack calls, directly or through services.
func (s *Study) reach(stack Stack) map[string]bool {
	all := map[string]bool{}
	var visit func(Stack)
	visit = func(stack Stack) {
		for name := range s.calledBy(stack) {
			if all[name] {
				continue
			}
			all[name] = true
			if service, ok := s.Services.Get(name); ok {
				visit(service.Stack)
			}
		}
	}
	visit(stack)
	return all
}
