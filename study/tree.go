package study

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// What a study file may ask of the reader.
const (
	mostBytes = 1 << 20
	mostNodes = 100_000 // visited, through aliases as often as they stand
	mostDepth = 100
)

// parse turns text into a plain tree: one document without aliases and merge
// keys. It returns nil, and at least one fault, when there is no such tree.
func (r *reader) parse(text []byte) (root *yaml.Node) {
	refuse := func(line int, want string) *yaml.Node {
		column := min(line, 1)
		r.errs = append(r.errs, Error{File: r.file, Line: line, Column: column, Want: want})
		return nil
	}
	switch {
	case len(text) > mostBytes:
		return refuse(0, fmt.Sprintf("has more than %d bytes: expected a %s of at most 1 MB", mostBytes, r.what()))
	case bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text):
		return refuse(0, "is not text: expected a "+r.what()+" as YAML in UTF-8")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	doc, err := document(decoder)
	switch {
	case errors.Is(err, io.EOF):
		want := "is empty: expected a " + r.what()
		if r.role == "" {
			want += "; `brunt init outage` writes one to start from"
		}
		return refuse(0, want)
	case err != nil:
		line, want := yamlFault(err)
		return refuse(line, want)
	}
	switch next, err := document(decoder); {
	case err == nil:
		r.errs = append(r.errs, Error{File: r.file, Line: next.Line, Column: max(next.Column, 1),
			Want: "a second document begins here: expected one " + r.what() + " in a file"})
	case !errors.Is(err, io.EOF):
		line, want := yamlFault(err)
		return refuse(line, want)
	}
	g := guard{r: r}
	if !g.visit(doc.Content[0], 1) {
		return nil
	}
	if g.aliases {
		doc.Content[0] = r.plain(doc.Content[0])
	}
	r.document = doc
	return doc.Content[0]
}

// what is the word for what the file is to be.
func (r *reader) what() string { return cmp.Or(r.role, "study") }

// document reads one document. The library panics on a few broken inputs that
// it should report.
func document(d *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read as YAML: %v", p)
		}
	}()
	doc = new(yaml.Node)
	if err = d.Decode(doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, io.EOF
	}
	return doc, nil
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlFault takes the line out of the library's message.
func yamlFault(err error) (line int, want string) {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(s); m != nil {
		line, _ = strconv.Atoi(m[1])
		s = s[len(m[0]):]
	}
	return line, "is not YAML: " + s
}

// guard walks a tree through its aliases before anybody follows them.
type guard struct {
	r       *reader
	nodes   int
	open    map[*yaml.Node]bool // aliased nodes that are being walked
	aliases bool
}

// visit reports whether all below n can be followed; a fault says why not.
func (g *guard) visit(n *yaml.Node, depth int) bool {
	g.nodes++
	switch {
	case g.nodes > mostNodes:
		return g.refuse(n, fmt.Sprintf("more than %d values, counting what aliases repeat: expected a %s, not a bomb", mostNodes, g.r.what()))
	case depth > mostDepth:
		return g.refuse(n, fmt.Sprintf("nested more than %d deep", mostDepth))
	}
	if n.Style&yaml.TaggedStyle != 0 && !plainTags[n.ShortTag()] {
		return g.refuse(n, fmt.Sprintf("tag %s has no meaning here", n.Tag))
	}
	if n.Kind == yaml.AliasNode {
		g.aliases = true
		if g.open[n.Alias] {
			return g.refuse(n, fmt.Sprintf("*%s stands inside of &%s: an alias cannot contain itself", n.Value, n.Value))
		}
		if g.open == nil {
			g.open = map[*yaml.Node]bool{}
		}
		g.open[n.Alias] = true
		ok := g.visit(n.Alias, depth)
		delete(g.open, n.Alias)
		return ok
	}
	if n.Anchor != "" { // an alias inside of its own anchor
		if g.open == nil {
			g.open = map[*yaml.Node]bool{}
		}
		if !g.open[n] {
			g.open[n] = true
			defer delete(g.open, n)
		}
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && isMerge(c) {
			g.aliases = true
		}
		if !g.visit(c, depth+1) {
			return false
		}
	}
	return true
}

var plainTags = map[string]bool{
	"!!str": true, "!!int": true, "!!float": true, "!!bool": true, "!!null": true, "!!map": true, "!!seq": true, "!!merge": true,
}

func (g *guard) refuse(n *yaml.Node, want string) bool {
	g.r.errs = append(g.r.errs, Error{File: g.r.file, Line: n.Line, Column: n.Column, Want: want})
	return false
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge"
}

// plain copies a tree with every alias replaced by a copy of what it stands
// for, and every merge key by the fields that it brings.
func (r *reader) plain(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		c := r.plain(n.Alias)
		c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
		return c
	}
	c := *n
	c.Anchor = ""
	c.Content = make([]*yaml.Node, 0, len(n.Content))
	if n.Kind != yaml.MappingNode {
		for _, e := range n.Content {
			c.Content = append(c.Content, r.plain(e))
		}
		return &c
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if isMerge(n.Content[i]) {
			merged = append(merged, r.sources(r.plain(n.Content[i+1]))...)
			continue
		}
		c.Content = append(c.Content, r.plain(n.Content[i]), r.plain(n.Content[i+1]))
	}
	have := map[string]bool{}
	for i := 0; i < len(c.Content); i += 2 {
		have[c.Content[i].Value] = true
	}
	for _, m := range merged { // earlier sources win over later ones
		for i := 0; i+1 < len(m.Content); i += 2 {
			if k := m.Content[i]; !have[k.Value] {
				have[k.Value] = true
				c.Content = append(c.Content, k, m.Content[i+1])
			}
		}
	}
	return &c
}

// sources returns the mappings that a merge key names.
func (r *reader) sources(n *yaml.Node) []*yaml.Node {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	var all []*yaml.Node
	for _, m := range list {
		if m.Kind != yaml.MappingNode {
			r.errs = append(r.errs, r.at(place{line: m.Line, column: m.Column}, "<<", show(m), "expected a mapping to merge, or a list of them"))
			continue
		}
		all = append(all, m)
	}
	return all
}

// show writes what stands at a node, shortened.
func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	const most = 60
	s := n.Value
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	if quoted := strconv.Quote(s); len(quoted) != len(s)+2 || s == "" || strings.TrimSpace(s) != s || n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		return quoted
	}
	return s
}
