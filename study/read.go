package study

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"brunt/check"
)

// Options change how a study is read. The zero value reads the file as it is.
type Options struct {
	// Sets are settings that override the file, in order: load.rate=250/s.
	Sets []string
	// Stdin is what the source "-" reads.
	Stdin io.Reader
	// Folder is where files that the study names are looked for. Without it,
	// beside the study.
	Folder string
	// Files are at hand, under the names that the study has for them, and are not
	// looked for: those of another study, see [Study.Files].
	Files []File
	// Guests are compositions that stand for clients of a Go test: they are there
	// whatever the file says.
	Guests []string
	// Measure judges the name of a measure in an expectation about one phase,
	// or about the whole run, and says whether it is a duration, which its
	// limits must then be too. Its error says what was expected. Without it
	// every name will do, with limits of any unit.
	Measure func(name string, phase bool, dependencies []string) (duration bool, err error)
}

// reader is one reading of a study: text becomes a tree (parse), which settings
// override (set) and which is decoded into structs, with the place of each
// setting kept; then come the files that the study names, and what is wrong
// with the whole (check).
type reader struct {
	file    string // as faults name it
	role    string // what the file is to be; empty for a study
	folder  string // of the files it names; empty when it has none
	options Options

	document *yaml.Node
	errs     Errors
	places   places
	sets     map[*yaml.Node]string // nodes that come from a --set
	files    []File
	protocol *Protocol // nil for none

	recordings recordings
}

// origin is what a study remembers of its reading.
type origin struct {
	yaml     []byte
	warnings Errors
	files    []File
	folder   string // of the study; "" for one that is built in
	protocol *Protocol
	rateSet  bool // the rate of the load comes from a --set
}

// Read reads a study, overrides it with settings, and checks it. The source is
// a path, - for standard input, or the name of a built-in study. What is wrong
// with the study comes as [Errors], all of it at once.
func Read(source string, o Options) (*Study, error) {
	r := &reader{options: o, places: places{}, sets: map[*yaml.Node]string{}}
	text, err := r.fetch(source)
	if err != nil {
		return nil, err
	}
	if o.Folder != "" {
		r.folder = o.Folder
	}
	r.files = slices.Clone(o.Files)
	return r.read(text)
}

// fetch names the source and its folder, and returns its text.
func (r *reader) fetch(source string) ([]byte, error) {
	switch {
	case source == "-":
		r.file, r.folder = "stdin", "."
		if r.options.Stdin == nil {
			return nil, errors.New("read a study from standard input: there is none")
		}
		text, err := limited(r.options.Stdin)
		if err != nil {
			return nil, fmt.Errorf("read a study from standard input: %w", err)
		}
		return text, nil
	case isPath(source):
		r.file, r.folder = source, filepath.Dir(source)
		f, err := os.Open(source)
		if err != nil {
			return nil, fmt.Errorf("read a study: %w", err)
		}
		defer f.Close()
		text, err := limited(f)
		if err != nil {
			return nil, fmt.Errorf("read a study: %w", err)
		}
		return text, nil
	}
	r.file = "studies/" + source + ".yaml"
	return Source(source)
}

func isPath(source string) bool {
	if strings.ContainsRune(source, '/') || strings.ContainsRune(source, filepath.Separator) {
		return true
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(source))
}

// limited reads one byte more than a study may have, so that parse sees it.
func limited(in io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(in, mostBytes+1)) }

func (r *reader) read(text []byte) (*Study, error) {
	root := r.parse(text)
	if root == nil {
		return nil, r.errs
	}
	if root.Kind != yaml.MappingNode {
		r.wrong(root, "", show(root), "expected a study: a mapping that begins with study: NAME")
		return nil, r.errs
	}
	r.invite(root)
	for _, set := range r.options.Sets {
		r.set(root, set)
	}
	s := &Study{}
	s.SetDefaults()
	r.decode(root, reflect.ValueOf(s).Elem(), "")
	enforceGates(s, root)
	r.readFiles(s)
	problems := check.New()
	s.check(problems, r.options.Measure)
	warnings := r.sift(problems.All())
	r.hold(s)
	if len(r.errs) == 0 {
		problems = check.New()
		s.checkWhole(problems)
		warnings = append(warnings, r.sift(problems.All())...)
	}
	if len(r.errs) > 0 {
		r.errs.sort()
		return nil, r.errs
	}
	warnings.sort()
	s.origin = &origin{yaml: text, warnings: warnings, files: r.files, folder: r.folder, protocol: r.protocol, rateSet: r.places["load.rate"].set != ""}
	if len(r.options.Sets) > 0 || len(r.options.Guests) > 0 || r.recordings.moved {
		out, err := r.write()
		if err != nil {
			return nil, err
		}
		s.origin.yaml = out
	}
	return s, nil
}

// sift turns problems into faults and returns the doubts. What follows from a
// fault at the same place, noted before, is left out.
func (r *reader) sift(problems []check.Problem) (doubts Errors) {
	before := r.errs
	if len(before) > mostPrinted {
		before = before[:mostPrinted]
	}
	for _, p := range problems {
		if p.Doubt {
			doubts = append(doubts, r.fault(p))
			continue
		}
		known := func(e Error) bool { return e.Path != "" && isOne(e.Path, p.Path) }
		if p.Path == "" || !slices.ContainsFunc(before, known) {
			r.errs = append(r.errs, r.fault(p))
		}
	}
	return doubts
}

// Warnings returns what is allowed and yet doubtful, with its place.
func (s *Study) Warnings() Errors {
	if s.origin == nil {
		return nil
	}
	return s.origin.warnings
}

// Folder is where the study is; "" for one that is built in.
func (s *Study) Folder() string {
	if s.origin == nil {
		return ""
	}
	return s.origin.folder
}

// Files returns the files that the study names, for a copy beside its results.
func (s *Study) Files() []File {
	if s.origin == nil {
		return nil
	}
	return s.origin.files
}
