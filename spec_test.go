package brunt_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	notServed = "not yet served"
	pinnedIn  = "*Pinned:*"
)

// spec is SPEC.md, parsed.
type spec struct {
	order   []string // numbers of clauses, as they stand
	clauses map[string]string
	rows    map[string]row
	faults  []string // what is wrong with the text by itself
}

// row is a line of the table: what serves a clause, and the tests that hold it.
type row struct {
	note  string // the cell of the files, as written
	files []string
	tests []string
}

var (
	section  = regexp.MustCompile(`^## (\d+) `)
	clause   = regexp.MustCompile(`^\*\*(\d+\.\d+)\*\* (.*)`)
	tableRow = regexp.MustCompile(`^\|\s*(\d+\.\d+)\s*\|([^|]*)\|([^|]*)\|$`)
	quoted   = regexp.MustCompile("`([^`]+)`")
)

// parseSpec reads a specification and holds it to its own rules: numbers
// without a gap, a row for each clause and none besides, and a word that
// something is missing in both or in neither.
func parseSpec(text string) *spec {
	s := &spec{clauses: map[string]string{}, rows: map[string]row{}}
	sections, inSection, open := 0, 0, ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "## "):
			open = ""
			m := section.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if sections++; m[1] != fmt.Sprint(sections) {
				s.fault("line %d: section %s stands where %d is expected", i+1, m[1], sections)
			}
			inSection = 0
		case clause.MatchString(line):
			m := clause.FindStringSubmatch(line)
			inSection++
			if want := fmt.Sprintf("%d.%d", sections, inSection); m[1] != want {
				s.fault("line %d: clause %s stands where %s is expected", i+1, m[1], want)
			}
			open = m[1]
			s.order = append(s.order, open)
			s.clauses[open] = m[2]
		case strings.HasPrefix(line, "| ") && tableRow.MatchString(line):
			m := tableRow.FindStringSubmatch(line)
			if want := len(s.rows); want >= len(s.order) || s.order[want] != m[1] {
				s.fault("line %d: the row of clause %s is out of order, or its clause is missing", i+1, m[1])
			}
			s.rows[m[1]] = row{m[2], names(m[2]), names(m[3])}
		case open != "" && strings.TrimSpace(line) != "":
			s.clauses[open] += " " + line
		}
	}
	for _, n := range s.order {
		s.match(n)
	}
	return s
}

// match holds a clause and its row together.
func (s *spec) match(n string) {
	r, known := s.rows[n]
	missing := strings.Contains(strings.ToLower(s.clauses[n]), notServed)
	switch {
	case !known:
		s.fault("clause %s has no row", n)
	case missing != strings.Contains(r.note, notServed):
		s.fault("clause %s and its row do not agree on whether it is %s", n, notServed)
	case !missing && len(r.files) == 0:
		s.fault("clause %s is served by nothing", n)
	case len(r.files) > 0 && len(r.tests) == 0:
		s.fault("clause %s is served by %s and held by no test", n, strings.Join(r.files, ", "))
	case len(r.files) == 0 && len(r.tests) > 0:
		s.fault("clause %s is served by nothing, and yet held by %s", n, strings.Join(r.tests, ", "))
	}
}

func (s *spec) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

func names(cell string) (list []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		list = append(list, m[1])
	}
	return list
}

// absent lists the files and tests of the table that are not there. The tests
// are those of the module, with their package.
func (s *spec) absent(exists func(file string) bool, tests map[string]bool) (list []string) {
	for _, n := range s.order {
		for _, file := range s.rows[n].files {
			if !exists(file) || strings.HasSuffix(file, "_test.go") {
				list = append(list, fmt.Sprintf("clause %s: no file %s that serves it", n, file))
			}
		}
		for _, test := range s.rows[n].tests {
			if !tests[test] {
				list = append(list, fmt.Sprintf("clause %s: no test %s", n, test))
			}
		}
	}
	return list
}

// pin is one pin of a protocol, as far as the specification has a word in it.
type pin struct{ Path, Relation, Value, Clause string }

// number matches a number and its unit, which text writes with a space between.
var number = regexp.MustCompile(`(\d) (ms|s|%)`)

// unmatched lists pins whose clause is not there, does not say that it pins, or
// does not hold their value; and clauses that pin what no protocol does.
func (s *spec) unmatched(pins []pin) (list []string) {
	cited := map[string]bool{}
	for _, p := range pins {
		cited[p.Clause] = true
		text, known := s.clauses[p.Clause]
		value := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(p.Value) + `($|\.(\D|$)|[^\w%.-])`)
		switch _, pinned, says := strings.Cut(number.ReplaceAllString(text, "$1$2"), pinnedIn); {
		case !known:
			list = append(list, fmt.Sprintf("%s cites clause %s, which is not in SPEC.md", p.Path, p.Clause))
		case !says:
			list = append(list, fmt.Sprintf("%s cites clause %s, which pins nothing", p.Path, p.Clause))
		case p.Value != "" && !value.MatchString(pinned):
			list = append(list, fmt.Sprintf("%s is pinned to %s by clause %s, which does not say so", p.Path, p.Value, p.Clause))
		}
	}
	for _, n := range s.order {
		if strings.Contains(s.clauses[n], pinnedIn) && !cited[n] {
			list = append(list, fmt.Sprintf("clause %s pins what no protocol does", n))
		}
	}
	return list
}

// reference is how a page for users points to a clause.
var reference = regexp.MustCompile(`\[(\d+\.\d+)\]`)

// dangling lists the references of a page to clauses that are not there.
func (s *spec) dangling(page, text string) (list []string) {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if _, known := s.clauses[m[1]]; !known {
			list = append(list, fmt.Sprintf("%s points to clause %s, which is not in SPEC.md", page, m[1]))
		}
	}
	return list
}

// tests returns the names of all tests of the module, with their package.
func tests(t *testing.T) map[string]bool {
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)
	all := map[string]bool{}
	for _, s := range house(t) {
		if !s.test() {
			continue
		}
		prefix := s.pkg() + "."
		if s.pkg() == "." {
			prefix = ""
		}
		for _, m := range declared.FindAllSubmatch(s.code, -1) {
			all[prefix+string(m[1])] = true
		}
	}
	return all
}

// protocols reads the pins of the built-in protocols.
func protocols(t *testing.T) (all []pin) {
	files, err := filepath.Glob("studies/protocols/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no protocol was found: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Pins []pin }
		if err := yaml.Unmarshal(text, &p); err != nil {
			t.Fatalf("%s: %v", path.Base(file), err)
		}
		if len(p.Pins) == 0 {
			t.Fatalf("%s pins nothing", file)
		}
		all = append(all, p.Pins...)
	}
	return all
}

// SPEC.md is whole: its clauses are numbered in order, each has its row, what
// the rows name is there, the protocols and the clauses that they cite say the
// same numbers, and the page for users points to clauses that are there.
func TestSpec(t *testing.T) {
	text, err := os.ReadFile("SPEC.md")
	if err != nil {
		t.Fatal(err)
	}
	s := parseSpec(string(text))
	if len(s.order) < 50 {
		t.Fatalf("only %d clauses were found: the test would judge nothing", len(s.order))
	}
	page, err := os.ReadFile("docs/measures.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := func(file string) bool { info, err := os.Stat(file); return err == nil && info.Mode().IsRegular() }
	for _, fault := range slices.Concat(s.faults, s.absent(exists, tests(t)), s.unmatched(protocols(t)), s.dangling("docs/measures.md", string(page))) {
		t.Error(fault)
	}
}

// The test of the specification finds each fault that it looks for.
func TestSpecFaults(t *testing.T) {
	const sound = `# Specification

## 1 Load

**1.1** Fixed
beforehand.

**1.2** *Pinned:* at most 30 s, phase ` + "`fault`" + `, 4 phases.

## 2 Outcomes

**2.1** A replica is lost. *Not yet served.*

## Table

| clause | served by | held by |
|---|---|---|
| 1.1 | ` + "`a/a.go` | `a.TestA`" + ` |
| 1.2 | ` + "`a/a.go` | `a.TestA`, `TestRoot`" + ` |
| 2.1 | not yet served | |
`
	files, known := []string{"a/a.go", "a/a_test.go"}, map[string]bool{"a.TestA": true, "TestRoot": true}
	pins := []pin{{"horizon", "at_most", "30s", "1.2"}, {"fault.phase", "equals", "fault", "1.2"}, {"hedge", "absent", "", "1.2"}, {"phases", "equals", "4", "1.2"}}
	for _, c := range []struct{ name, from, to, want string }{
		{"sound", "", "", ""},
		{"a number left out", "**1.2** ", "**1.3** ", "line 8: clause 1.3 stands where 1.2 is expected"},
		{"a section left out", "## 2 ", "## 3 ", "section 3 stands where 2 is expected"},
		{"two clauses swapped", "**1.1** Fixed", "**1.2** Fixed", "clause 1.2 stands where 1.1 is expected"},
		{"no row", "| 1.1 | `a/a.go` | `a.TestA` |\n", "", "clause 1.1 has no row"},
		{"a row of no clause", "| 2.1 | not yet served | |\n", "| 2.1 | not yet served | |\n| 2.2 | `a/a.go` | `a.TestA` |\n", "row of clause 2.2 is out of order"},
		{"a row twice", "| 2.1 | not", "| 1.2 | not", "row of clause 1.2 is out of order"},
		{"served without a test", "`a.TestA`, `TestRoot`", "", "clause 1.2 is served by a/a.go and held by no test"},
		{"served by nothing", "| 1.1 | `a/a.go` | `a.TestA` |", "| 1.1 | | |", "clause 1.1 is served by nothing"},
		{"a test of nothing", "| 2.1 | not yet served | |", "| 2.1 | not yet served | `a.TestA` |", "clause 2.1 is served by nothing, and yet held by a.TestA"},
		{"missing in the clause alone", "| 2.1 | not yet served | |", "| 2.1 | `a/a.go` | `a.TestA` |", "clause 2.1 and its row do not agree"},
		{"missing in the row alone", " *Not yet served.*", "", "clause 2.1 and its row do not agree"},
		{"no such file", "| 1.1 | `a/a.go`", "| 1.1 | `a/b.go`", "clause 1.1: no file a/b.go"},
		{"served by a test file", "| 1.1 | `a/a.go`", "| 1.1 | `a/a_test.go`", "clause 1.1: no file a/a_test.go"},
		{"no such test", "`TestRoot`", "`TestRot`", "clause 1.2: no test TestRot"},
		{"a test of another package", "`TestRoot`", "`a.TestRoot`", "clause 1.2: no test a.TestRoot"},
		{"another value", "30 s", "3 s", "horizon is pinned to 30s by clause 1.2, which does not say so"},
		{"a longer value", "30 s", "30 so", "horizon is pinned to 30s"},
		{"a value before the pin", "*Pinned:* at most 30 s", "At most 30 s. *Pinned:*", "horizon is pinned to 30s"},
		{"another word", "`fault`", "`faulty`", "fault.phase is pinned to fault"},
		{"a number within another", "4 phases", "4.2 phases", "phases is pinned to 4 by clause 1.2"},
		{"a number at the end of a sentence", "4 phases.", "as many phases as 4.", ""},
		{"a clause that pins nothing", "*Pinned:* at", "At", "horizon cites clause 1.2, which pins nothing"},
		{"a clause that nobody cites", "**1.1** Fixed", "**1.1** *Pinned:* fixed", "clause 1.1 pins what no protocol does"},
		{"a reference to nothing", "**1.1** Fixed", "**1.0** Fixed", "a page points to clause 1.1, which is not in SPEC.md"},
		{"a clause that is gone", "**1.2** *Pinned:*", "**1.2.1** *Pinned:*", "horizon cites clause 1.2, which is not in SPEC.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.from != "" && !strings.Contains(sound, c.from) {
				t.Fatalf("%q is not in the text", c.from)
			}
			s := parseSpec(strings.Replace(sound, c.from, c.to, 1))
			got := slices.Concat(s.faults, s.absent(func(file string) bool { return slices.Contains(files, file) }, known), s.unmatched(pins), s.dangling("a page", "as said [1.2], and [1.1]"))
			switch all := strings.Join(got, "\n"); {
			case c.want == "" && all != "":
				t.Error(all)
			case !strings.Contains(all, c.want):
				t.Errorf("got %q, want %q; clauses %v", all, c.want, slices.Sorted(maps.Keys(s.clauses)))
			}
		})
	}
}
