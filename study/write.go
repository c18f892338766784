package study

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// YAML returns the study as it is run, with all settings applied: what stands
// beside its results. It reads back to an equal study. Without settings, and
// without the folder of a run that it replays, it is
// the file itself. Comments stay.
func (s *Study) YAML() []byte {
	if s.origin == nil {
		return nil
	}
	return s.origin.yaml
}

// write writes the tree. The library loses its way with some comments inside
// of flow mappings, so what is written is read again; when it differs, the
// study goes without comments, and then without the style of its writer.
func (r *reader) write() ([]byte, error) {
	simpler := []func(*yaml.Node){
		func(*yaml.Node) {},
		func(n *yaml.Node) { n.HeadComment, n.LineComment, n.FootComment = "", "", "" },
		func(n *yaml.Node) {
			if n.Style = 0; n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
				n.Style = yaml.DoubleQuotedStyle
			}
		},
	}
	for _, simplify := range simpler {
		each(r.document, simplify)
		out, err := encode(r.document)
		if err != nil {
			return nil, fmt.Errorf("write the study as run: %w", err)
		}
		doc, err := document(yaml.NewDecoder(bytes.NewReader(out)))
		if err == nil && len(out) <= mostBytes && same(r.document, doc) {
			return out, nil
		}
	}
	return nil, fmt.Errorf("write the study as run: it does not read back; please change its notation")
}

func encode(doc *yaml.Node) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode YAML: %v", p)
		}
	}()
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	err = e.Close()
	return b.Bytes(), err
}

func each(n *yaml.Node, visit func(*yaml.Node)) {
	visit(n)
	for _, c := range n.Content {
		each(c, visit)
	}
}

// same reports whether two plain trees hold the same values.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode && (a.Value != b.Value || a.ShortTag() != b.ShortTag()) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
