package study

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setting is one path=value that overrides what the file says.
type setting struct {
	r     *reader
	text  string
	value *yaml.Node
}

// set applies path=value to the tree before it is decoded. A step of the path
// is a field, a name, the index of a list element, the policy of a stage, or *
// for all. Fields that are not written yet are added; names are not, but for a
// phase's changes to a dependency.
func (r *reader) set(root *yaml.Node, text string) {
	fail := func(e *stepError) { r.errs = append(r.errs, r.at(place{set: clipped(text)}, e.path, e.value, e.want)) }
	path, value, ok := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		fail(&stepError{"", "", "expected path=value, such as load.rate=250/s"})
		return
	}
	own := &reader{file: "--set " + clipped(text)}
	s := setting{r: r, text: clipped(text), value: own.value(value)}
	for _, e := range own.errs {
		fail(&stepError{path, e.Value, e.Want})
	}
	if s.value == nil {
		return
	}
	if err := s.walk(root, reflect.TypeFor[Study](), strings.Split(path, "."), ""); err != nil {
		fail(err)
	}
}

func clipped(text string) string {
	const most = 120
	if text = strings.ToValidUTF8(text, "?"); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Join(strings.Fields(text), " ")
}

// value parses the value of a setting as YAML.
func (r *reader) value(text string) *yaml.Node {
	if strings.TrimSpace(text) == "" {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	return r.parse([]byte(text))
}

// stepError says where on its path a setting found nothing.
type stepError struct{ path, value, want string }

// walk follows the steps from a node that holds a value of type t, and sets
// what they lead to. An absent node has no kind.
func (s *setting) walk(n *yaml.Node, t reflect.Type, steps []string, path string) *stepError {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(steps) == 0 {
		s.assign(n)
		return nil
	}
	if of, ok := isMapping(t); ok {
		return s.named(n, of, steps, path)
	}
	switch {
	case takesFields(t):
		return s.field(n, t, steps, path)
	case t.Kind() == reflect.Slice:
		return s.element(n, t.Elem(), steps, path)
	}
	return &stepError{join(path, steps[0]), "", fmt.Sprintf("%s is %s and has no parts", path, kindOf(t))}
}

// assign replaces a node's content; its comments stay.
func (s *setting) assign(n *yaml.Node) {
	c := s.mark(s.value)
	c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
	*n = *c
	s.r.sets[n] = s.text
}

// mark copies a tree and notes that it comes from this setting.
func (s *setting) mark(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		c.Content[i] = s.mark(e)
	}
	s.r.sets[&c] = s.text
	return &c
}

// field follows a step into a struct.
func (s *setting) field(n *yaml.Node, t reflect.Type, steps []string, path string) *stepError {
	path = join(path, steps[0])
	f, ok := fieldNamed(t, steps[0])
	if !ok {
		return &stepError{path, "unknown field " + strconv.Quote(steps[0]), suggest(steps[0], fieldNames(t))}
	}
	if n.Kind != yaml.MappingNode && n.Kind != 0 && !isText(t) && n.ShortTag() != "!!null" {
		return &stepError{path, "", "stands in " + show(n) + ": expected " + kindOf(t)}
	}
	return s.child(n, t, f.name, f.typ, steps[1:], path)
}

// child follows a step to a key of a mapping, and adds the key when the rest
// of the path leads somewhere. owner is the struct that the mapping is of, or
// nil.
func (s *setting) child(n *yaml.Node, owner reflect.Type, key string, t reflect.Type, steps []string, path string) *stepError {
	if v := valueOf(n, key); v != nil {
		return s.walk(v, t, steps, path)
	}
	v := &yaml.Node{}
	if err := s.walk(v, t, steps, path); err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		was := n.Value
		*n = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, LineComment: n.LineComment}
		s.r.sets[n] = s.text
		if owner == gatesType && was == enforced && key != shorthand[gatesType] { // a limit does not take that back
			n.Content = append(n.Content, s.scalar(shorthand[gatesType], "!!str"), s.scalar("true", "!!bool"))
		}
	}
	n.Content = append(n.Content, s.scalar(key, "!!str"), v)
	return nil
}

// scalar makes a node that comes from this setting.
func (s *setting) scalar(value, tag string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	s.r.sets[n] = s.text
	return n
}

func valueOf(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// named follows a step into a mapping by name. A name may hold dots, and then
// takes several steps.
func (s *setting) named(n *yaml.Node, of reflect.Type, steps []string, path string) *stepError {
	var names []string
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			names = append(names, n.Content[i].Value)
		}
	}
	if steps[0] == "*" {
		return s.all(len(names), path, func(i int) *stepError {
			return s.walk(n.Content[2*i+1], of, steps[1:], join(path, names[i]))
		})
	}
	for k := 1; k <= len(steps); k++ {
		name := strings.Join(steps[:k], ".")
		if v := valueOf(n, name); v != nil {
			return s.walk(v, of, steps[k:], join(path, name))
		}
	}
	path = join(path, steps[0])
	if strings.HasPrefix(path, "phases.") {
		return s.child(n, nil, steps[0], of, steps[1:], path)
	}
	return &stepError{path, "no " + strconv.Quote(steps[0]), suggest(steps[0], names)}
}

// element follows a step into a list.
func (s *setting) element(n *yaml.Node, of reflect.Type, steps []string, path string) *stepError {
	if n.Kind != yaml.SequenceNode {
		return &stepError{join(path, steps[0]), "", "there is no list to find " + strconv.Quote(steps[0]) + " in"}
	}
	into := func(i int, steps []string) *stepError {
		return s.walk(n.Content[i], of, steps, join(path, strconv.Itoa(i)))
	}
	if steps[0] == "*" {
		return s.all(len(n.Content), path, func(i int) *stepError { return into(i, steps[1:]) })
	}
	i, err := strconv.Atoi(steps[0])
	if err == nil && i >= 0 && i < len(n.Content) {
		return into(i, steps[1:])
	}
	if of == stageType {
		return s.stage(n, steps, path, into)
	}
	var names []string
	if _, ok := namedBy(of); ok {
		for i, e := range n.Content {
			v := valueOf(e, "name")
			if v == nil {
				continue
			}
			for k := 1; k <= len(steps); k++ {
				if v.Value == strings.Join(steps[:k], ".") {
					return into(i, steps[k:])
				}
			}
			names = append(names, v.Value)
		}
	}
	path = join(path, steps[0])
	if err == nil || len(names) == 0 {
		return &stepError{path, "no element " + strconv.Quote(steps[0]), fmt.Sprintf("there are %d, counted from 0", len(n.Content))}
	}
	return &stepError{path, "no " + strconv.Quote(steps[0]), suggest(steps[0], names)}
}

func namedBy(t reflect.Type) (field, bool) {
	if t.Kind() != reflect.Struct {
		return field{}, false
	}
	return fieldNamed(t, "name")
}

// stage follows the name of a policy to its one stage in a stack.
func (s *setting) stage(n *yaml.Node, steps []string, path string, into func(int, []string) *stepError) *stepError {
	var kinds []string
	at := -1
	for i, e := range n.Content {
		if e.Kind != yaml.MappingNode || len(e.Content) == 0 {
			continue
		}
		kinds = append(kinds, e.Content[0].Value)
		if e.Content[0].Value != steps[0] {
			continue
		}
		if at >= 0 {
			return &stepError{join(path, steps[0]), "", "names several stages: expected the index of one, such as " + strconv.Itoa(i)}
		}
		at = i
	}
	if at < 0 {
		return &stepError{join(path, steps[0]), "no stage " + strconv.Quote(steps[0]), suggest(steps[0], kinds)}
	}
	return into(at, steps)
}

// all follows every one of n; those where the path leads nowhere are left as
// they are, as long as it leads somewhere in one.
func (s *setting) all(n int, path string, follow func(int) *stepError) (err *stepError) {
	set := false
	for i := range n {
		if e := follow(i); e == nil {
			set = true
		} else if err == nil {
			err = e
		}
	}
	switch {
	case set:
		return nil
	case err == nil:
		return &stepError{join(path, "*"), "", "there is nothing for * to stand for"}
	}
	return err
}
