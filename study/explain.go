package study

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Explain says what a setting of a study means: its kind, its default, its
// words, and what it is made of. The names of compositions and dependencies
// and the indexes of lists may stand in the path or be left out:
// phases.dependencies.latency; and so may its beginning, where that leaves one
// setting only: external. The empty path explains the whole file.
func Explain(path string) (string, error) {
	root := &explained{typ: reflect.TypeFor[Study](), doc: comments().Docs[nameOf(reflect.TypeFor[Study]())]}
	if path == "" {
		return root.explain("a study"), nil
	}
	steps := strings.Split(path, ".")
	found, far := root.find(steps, 0)
	if found == nil && len(far.names) == 0 {
		whole := strings.Join(steps[:far.step], ".")
		return "", fmt.Errorf("no setting %q in %s: that is a single value", clip(steps[far.step]), whole)
	}
	if found == nil && far.step == 0 {
		places := root.places(steps)
		if len(places) == 0 && len(steps) > 1 { // then the fault is in the rest
			if places = root.places(steps[:1]); len(places) > 0 {
				return Explain(places[0] + "." + strings.Join(steps[1:], "."))
			}
		}
		switch len(places) {
		case 0:
		case 1:
			return Explain(places[0])
		default:
			return "", fmt.Errorf("no setting %q in a study, but deeper in it, such as %s", clip(path), among(places))
		}
	}
	if found == nil {
		step, names := steps[far.step], far.names
		return "", fmt.Errorf("no setting %q in %s: %s", clip(step), orStudy(strings.Join(steps[:far.step], ".")), suggest(step, names))
	}
	return found.explain(path), nil
}

func orStudy(path string) string {
	if path == "" {
		return "a study"
	}
	return path
}

// explained is a place in a study that can be explained.
type explained struct {
	typ      reflect.Type
	doc      string
	fallback string // its default, or ""
}

// dead is the furthest step that led nowhere, and what was possible there.
type dead struct {
	step  int
	names []string
}

// find follows the steps from the one at a position on. At a mapping by name or a list it tries first to
// take the step for a setting inside, then for a name or an index.
func (e *explained) find(steps []string, at int) (*explained, dead) {
	if at == len(steps) {
		return e, dead{}
	}
	t := e.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	of, listed := isMapping(t)
	if !listed && t.Kind() == reflect.Slice {
		of, listed = t.Elem(), true
	}
	if listed {
		in := &explained{typ: of, doc: e.doc}
		if takesFields(of) {
			in.doc = comments().Docs[nameOf(of)]
		}
		found, far := in.find(steps, at)
		if found != nil {
			return found, far
		}
		if _, err := strconv.Atoi(steps[at]); err == nil || t.Kind() != reflect.Slice {
			if found, other := in.find(steps, at+1); found != nil || other.step > far.step {
				return found, other
			}
		}
		return nil, far
	}
	if !takesFields(t) {
		return nil, dead{at, nil}
	}
	f, ok := fieldNamed(t, steps[at])
	if !ok {
		return nil, dead{at, fieldNames(t)}
	}
	return settingOf(t, f).find(steps, at+1)
}

// places lists the settings whose path ends in the given steps, those that are
// less deep first. What stands in several places as one thing is listed once.
func (e *explained) places(steps []string) (paths []string) {
	type place struct {
		path string
		typ  reflect.Type
	}
	seen := map[reflect.Type]bool{}
	for next := []place{{"", structIn(e.typ)}}; len(next) > 0; next = next[1:] {
		p := next[0]
		if p.typ == nil || seen[p.typ] {
			continue
		}
		seen[p.typ] = true
		for _, f := range fieldsOf(p.typ) {
			path := join(p.path, f.name)
			in := settingOf(p.typ, f)
			if f.name == steps[0] && path != f.name {
				if found, _ := in.find(steps, 1); found != nil {
					paths = append(paths, strings.Join(append([]string{path}, steps[1:]...), "."))
				}
			}
			next = append(next, place{path, structIn(in.typ)})
		}
	}
	return paths
}

// among lists a few of many.
func among(list []string) string {
	const few = 8
	if len(list) > few {
		return strings.Join(list[:few], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

func settingOf(t reflect.Type, f field) *explained {
	e := &explained{typ: f.typ, doc: docOf(f)}
	if d, ok := defaultOf(t, f); ok {
		e.fallback = string(d)
		var word string
		var words []string
		switch {
		case json.Unmarshal(d, &word) == nil:
			e.fallback = word
		case json.Unmarshal(d, &words) == nil:
			e.fallback = strings.Join(words, ", ")
		}
	}
	return e
}

func (e *explained) explain(path string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", path, kindOf(e.typ))
	if e.doc != "" {
		fmt.Fprintf(&b, "\n%s\n", wrapped(e.doc))
	}
	in := structIn(e.typ)
	if in != nil {
		if doc := comments().Docs[nameOf(in)]; doc != "" && doc != e.doc {
			fmt.Fprintf(&b, "\n%s\n", wrapped(doc))
		}
	}
	if e.fallback != "" {
		fmt.Fprintf(&b, "\nDefault: %s\n", e.fallback)
	}
	if e.typ.Kind() == reflect.Slice {
		if words := wordsOf(e.typ.Elem()); len(words) > 0 {
			fmt.Fprintf(&b, "\nWords: %s\n", strings.Join(words, ", "))
		}
	}
	if in != nil {
		b.WriteString("\nSettings:\n")
		explainFields(&b, in)
	}
	return b.String()
}

func explainFields(b *strings.Builder, t reflect.Type) {
	width := 0
	for _, name := range fieldNames(t) {
		width = max(width, len(name))
	}
	for _, f := range fieldsOf(t) {
		e := settingOf(t, f)
		text := e.doc
		if e.fallback != "" {
			text += " Default: " + strings.TrimSuffix(e.fallback, ".") + "."
		}
		indent := strings.Repeat(" ", width+4)
		fmt.Fprintf(b, "  %-*s  %s\n", width, f.name, strings.ReplaceAll(wrap(text, 78-len(indent)), "\n", "\n"+indent))
	}
}

// wrapped breaks paragraphs into lines.
func wrapped(doc string) string {
	paragraphs := strings.Split(doc, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = wrap(p, 78)
	}
	return strings.Join(paragraphs, "\n\n")
}

func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
