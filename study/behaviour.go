package study

import (
	"reflect"

	"go.yaml.in/yaml/v3"

	"brunt/check"
	"brunt/dependency"
)

// ReadBehaviour reads how one dependency behaves, outside of any study, in the
// words of a study: from a path, or from standard input for -. What is wrong
// comes as [Errors], doubts beside the behaviour. Of the options those about
// files have an effect.
func ReadBehaviour(source string, o Options) (b dependency.Behaviour, doubts Errors, err error) {
	r := behaviourReader(source, o)
	if source != "-" {
		source = pathOf(source)
	}
	text, err := r.fetch(source)
	if err != nil {
		return b, nil, err
	}
	if o.Folder != "" {
		r.folder = o.Folder
	}
	return r.behaviour(text)
}

// ParseBehaviour reads a behaviour from a text, as ReadBehaviour does; its
// faults call the text by a name.
func ParseBehaviour(name, text string, o Options) (b dependency.Behaviour, doubts Errors, err error) {
	r := behaviourReader(name, o)
	if r.folder = o.Folder; r.folder == "" {
		r.folder = "."
	}
	return r.behaviour([]byte(text))
}

func behaviourReader(file string, o Options) *reader {
	return &reader{file: file, role: "behaviour", options: o, places: places{}, sets: map[*yaml.Node]string{}}
}

// pathOf has a bare name taken for a file: there are no built-in behaviours.
func pathOf(source string) string {
	if isPath(source) {
		return source
	}
	return "./" + source
}

func (r *reader) behaviour(text []byte) (b dependency.Behaviour, doubts Errors, err error) {
	root := r.parse(text)
	if root == nil {
		return b, nil, r.errs
	}
	if root.Kind != yaml.MappingNode {
		r.wrong(root, "", show(root), "expected a behaviour: a mapping such as {latency: 5ms}")
		return b, nil, r.errs
	}
	r.decode(root, reflect.ValueOf(&b).Elem(), "")
	r.timesOf(&b)
	problems := check.New()
	b.CheckWhole(problems)
	doubts = r.sift(problems.All())
	if len(r.errs) > 0 {
		r.errs.sort()
		return dependency.Behaviour{}, nil, r.errs
	}
	doubts.sort()
	return b, doubts, nil
}

// timesOf fills in what the files that a behaviour names hold.
func (r *reader) timesOf(b *dependency.Behaviour) {
	if l := b.Latency; l != nil {
		r.times(&l.Latency, "latency")
		r.times(l.First, "latency.first")
		r.times(l.Later, "latency.later")
	}
	r.times(b.FirstToken, "first_token")
	r.times(b.TokenGap, "token_gap")
}

// BehaviourText writes a behaviour in one line, as a study would.
func BehaviourText(b dependency.Behaviour) string {
	var w configWriter
	w.value(reflect.ValueOf(&b).Elem())
	return w.String()
}
