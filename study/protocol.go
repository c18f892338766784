package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"brunt/check"
	"brunt/studies"
)

// Protocol pins numbers of a study, so that nobody can weaken one without
// saying so. It is built in, or a file of the user's own.
type Protocol struct {
	// The name of the protocol: letters, digits, dashes, dots and underscores.
	Name string `yaml:"name"`
	// Its version. A protocol that has been published changes only under another one.
	Version string `yaml:"version"`
	// What it is for, in a sentence.
	Purpose string `yaml:"purpose"`
	// What it pins.
	Pins []Pin `yaml:"pins"`

	// SHA256 is of the protocol's file, in hexadecimal.
	SHA256 string `yaml:"-"`
}

// Pin is one setting that a protocol pins.
type Pin struct {
	// The setting's path in a study. Steps are fields, indexes, names (phases.baseline.for), the policy of a stage wherever it stands in a stack (compositions.*.retry.attempts), or * for all.
	Path string `yaml:"path"`
	// How the setting must stand to the value: equals, at_most, at_least, equals_if_set, or absent, which has no value.
	Relation Relation `yaml:"relation"`
	// The pinned value, written as in a study. Of a list, its length.
	Value string `yaml:"value"`
	// The clause of the specification that pins it.
	Clause string `yaml:"clause"`
	// Why it is pinned.
	Why string `yaml:"why"`
}

// Relation says how a setting must stand to the value of a pin.
type Relation string

// The relations. EqualsIfSet lets a setting be that is not used: at 0, or left
// out. Absent lets a setting that may be left out be nowhere.
const (
	Equals      Relation = "equals"
	AtMost      Relation = "at_most"
	AtLeast     Relation = "at_least"
	EqualsIfSet Relation = "equals_if_set"
	Absent      Relation = "absent"
)

var relations = []Relation{Equals, AtMost, AtLeast, EqualsIfSet, Absent}

// String returns name@version.
func (p *Protocol) String() string { return p.Name + "@" + p.Version }

// Protocol returns the protocol that the study has been read under, or nil.
func (s *Study) Protocol() *Protocol {
	if s.origin == nil {
		return nil
	}
	return s.origin.protocol
}

// Pins returns what the study's protocol pins, in the order in which it is
// checked. The slice must not be changed.
func (s *Study) Pins() []Pin {
	if p := s.Protocol(); p != nil {
		return p.Pins
	}
	return nil
}

// protocolFolder is where the built-in protocols stand among the studies.
const protocolFolder = "protocols"

// BuiltInProtocols lists the names of the built-in protocols.
func BuiltInProtocols() []string {
	files, _ := fs.Glob(studies.Files, protocolFolder+"/*.yaml") // a constant pattern has no error
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return files
}

// enforceGates sets what gates do under a protocol when nobody says it.
func enforceGates(s *Study, root *yaml.Node) {
	gates := valueOf(root, "gates")
	if s.ProtocolName == "" || gates != nil && (gates.Kind != yaml.MappingNode || valueOf(gates, "enforce") != nil) {
		return
	}
	s.Gates.Enforce = true
}

// hold reads the study's protocol, and notes each pin that the study weakens.
func (r *reader) hold(s *Study) {
	if s.ProtocolName == "" {
		return
	}
	file, text, want := r.protocolText(s.ProtocolName)
	if want != "" {
		r.errs = append(r.errs, r.at(r.places.of("protocol"), "protocol", strconv.Quote(clip(s.ProtocolName)), want))
		return
	}
	own := &reader{file: file, places: places{}, sets: map[*yaml.Node]string{}, role: "protocol"}
	p := own.readProtocol(text)
	if len(own.errs) > 0 {
		own.errs.sort()
		r.errs = append(r.errs, own.errs...)
		return
	}
	if !isPath(s.ProtocolName) && p.String() != s.ProtocolName {
		panic("study: the built-in protocol " + s.ProtocolName + " calls itself " + p.String())
	}
	r.protocol = p
	known := r.errs
	for _, pin := range p.Pins {
		for _, e := range r.violations(s, p, pin) {
			if !slices.ContainsFunc(known, func(k Error) bool { return k.Path != "" && isOne(k.Path, e.Path) }) {
				r.errs = append(r.errs, e)
			}
		}
	}
}

// protocolText returns the text of a protocol and the name of its file, or
// what was expected instead of its name.
func (r *reader) protocolText(name string) (file string, text []byte, want string) {
	if isPath(name) {
		text, want = r.load(name)
		return name, text, want
	}
	all := BuiltInProtocols()
	if slices.Contains(all, name) {
		file = protocolFolder + "/" + name + ".yaml"
		text, err := studies.Files.ReadFile(file)
		if err != nil {
			return "", nil, fmt.Sprintf("cannot be read: %v", err)
		}
		return file, text, ""
	}
	want = "no built-in protocol: " + suggest(name, all)
	for _, one := range all {
		if strings.HasPrefix(one, name+"@") {
			want = "names no version: expected " + one
		}
	}
	return "", nil, want + "; a file is written with its folder, ./mine.yaml"
}

// readProtocol reads a protocol and checks it.
func (r *reader) readProtocol(text []byte) *Protocol {
	root := r.parse(text)
	if root == nil {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		r.wrong(root, "", show(root), "expected a protocol: a mapping with name, version, purpose and pins")
		return nil
	}
	p := &Protocol{}
	r.decode(root, reflect.ValueOf(p).Elem(), "")
	problems := check.New()
	p.check(problems)
	r.sift(problems.All())
	sum := sha256.Sum256(text)
	p.SHA256 = hex.EncodeToString(sum[:])
	return p
}

func (p *Protocol) check(in check.Problems) {
	named(in, "name", p.Name, "the name of the protocol")
	named(in, "version", p.Version, "the version of the protocol")
	if p.Purpose == "" {
		in.Add("purpose", nil, "missing: expected what the protocol is for, in a sentence")
	}
	counted(in, "pins", len(p.Pins), "pin")
	if len(p.Pins) > mostListed {
		return
	}
	for i, pin := range p.Pins {
		at := in.In("pins", strconv.Itoa(i))
		pin.check(at)
		for k, before := range p.Pins[:i] {
			if before.Path == pin.Path && pin.Path != "" && !rangeOf(before.Relation, pin.Relation) {
				at.Add("path", pin.Path, "is pinned already, by pin %d", k+1)
				break
			}
		}
	}
}

// rangeOf reports whether two relations can hold of one setting: a least and a
// most value.
func rangeOf(a, b Relation) bool { return a == AtLeast && b == AtMost || a == AtMost && b == AtLeast }
