package study

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"brunt/check"
)

// Guest names who brings the client that a composition stands for.
type Guest string

// GoTest is a Go test: package brunttest runs the study around its client.
const GoTest Guest = "brunttest"

// HasGuest reports whether a composition is a client that is not brunt's.
func (s *Study) HasGuest(composition string) bool {
	stack, _ := s.Compositions.Get(composition)
	return stack.Guest()
}

// HasGuests reports whether any composition is a client that is not brunt's.
func (s *Study) HasGuests() bool {
	return slices.ContainsFunc(s.Compositions.Names(), s.HasGuest)
}

// Guest reports whether a stack ends in a client that is not brunt's: of a Go
// test, of a Go library, or a service of its own.
func (s Stack) Guest() bool {
	if len(s) == 0 {
		return false
	}
	last := &s[len(s)-1]
	return last.Guest != "" || last.Go != "" || last.External != nil
}

// Library is the Go library that a composition is built with; "" for any other.
func (s *Study) Library(composition string) string {
	stack, _ := s.Compositions.Get(composition)
	if len(stack) == 0 {
		return ""
	}
	return stack[len(stack)-1].Go
}

// checkGuest checks what a stack ends in that is not brunt's.
func (s *Study) checkGuest(stage *Stage, p check.Problems, depth int) {
	kind := stage.Kind()
	if depth > 0 {
		p.Add(kind, nil, "stands in a fallback: expected it at the end of a composition")
	}
	switch {
	case stage.External != nil:
		s.checkExternal(stage.External, p.In(kind))
	case stage.Go != "":
		if n := len(s.Callees()); n != 1 {
			p.Add(kind, stage.Go, "the study has %d dependencies: expected the one that the library calls", n)
		}
	default:
		check.OneOf(p, kind, stage.Guest, GoTest)
		if s.Clock == Real {
			p.Add(kind, stage.Guest, "a client of a Go test runs on the virtual clock: expected clock: %s", Virtual)
		}
	}
}

// invite adds the compositions of the options that stand for clients of a Go
// test. A file may have them already, as an empty list, so that they stand where
// it wants them.
func (r *reader) invite(root *yaml.Node) {
	if len(r.options.Guests) == 0 {
		return
	}
	list := member(root, "compositions")
	if list == nil {
		list = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		root.Content = append(root.Content, scalar("compositions"), list)
	}
	if list.Kind != yaml.MappingNode {
		return // the decoder says so
	}
	for _, name := range r.options.Guests {
		stack := member(list, name)
		if stack == nil {
			stack = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
			list.Content = append(list.Content, scalar(name), stack)
		}
		if stack.Kind != yaml.SequenceNode {
			continue
		}
		if n := len(stack.Content); n > 0 && member(stack.Content[n-1], "guest") != nil {
			continue
		}
		if len(stack.Content) > 0 {
			r.wrong(stack, "compositions."+name, "", "is the test's own client: expected [], or a stack that ends in {guest: brunttest}")
			continue
		}
		stack.Content = append(stack.Content, &yaml.Node{
			Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{scalar("guest"), scalar(string(GoTest))},
		})
	}
}

func scalar(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// member returns what stands under a name in a mapping; nil when nothing does.
func member(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
