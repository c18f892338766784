package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"brunt/check"
)

// Error is one fault in a study, or one doubt about it, and its place.
type Error struct {
	File   string // as it was named; "--set load.rate=5" for a value from there
	Line   int    // from 1; 0 when there is no line to blame
	Column int    // from 1; 1 when only the line is known
	Path   string // dotted path of the setting; empty for the whole file
	Value  string // what stands there; empty when nothing does
	Want   string // what was expected, and what to do
}

// Error writes file:line:column: path: value: want.
func (e Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	for _, s := range []string{e.Path, e.Value, e.Want} {
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(s)
	}
	return b.String()
}

// Errors are all faults of a study, in the order of the file.
type Errors []Error

// mostPrinted bounds the text of a hopeless file, not the list.
const mostPrinted = 100

// Error writes one fault a line.
func (e Errors) Error() string {
	lines := make([]string, 0, min(len(e), mostPrinted+1))
	for i, one := range e {
		if i == mostPrinted {
			lines = append(lines, fmt.Sprintf("and %d more", len(e)-i))
			break
		}
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// sort brings faults into the order of the file, other files in the order in
// which they were met. Those without a line come last in theirs.
func (e Errors) sort() {
	file := map[string]int{}
	for _, one := range e {
		if _, met := file[one.File]; !met {
			file[one.File] = len(file)
		}
	}
	last := func(line int) int {
		if line == 0 {
			return 1 << 30
		}
		return line
	}
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(file[a.File], file[b.File]), cmp.Compare(last(a.Line), last(b.Line)), cmp.Compare(a.Column, b.Column))
	})
}

// place is where a setting was written.
type place struct {
	line, column int
	set          string // the --set that it comes from, else empty
}

// places tells where each dotted path was written.
type places map[string]place

// of returns the place of a path or, when that was not written, of what it
// would stand in.
func (p places) of(path string) place {
	for {
		if at, ok := p[path]; ok {
			return at
		}
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return p[""]
		}
		path = path[:i]
	}
}

// fault turns a problem that a Check has found into an error with its place.
func (r *reader) fault(p check.Problem) Error {
	if _, written := r.places[p.Path]; !written && (p.Value == "0" || p.Value == "0s" || p.Value == `""`) {
		p.Value = "missing"
	}
	return r.at(r.places.of(p.Path), p.Path, p.Value, p.Want)
}

func (r *reader) at(at place, path, value, want string) Error {
	if at.set != "" {
		return Error{File: "--set " + at.set, Path: path, Value: value, Want: want}
	}
	return Error{File: r.file, Line: at.line, Column: at.column, Path: path, Value: value, Want: want}
}
