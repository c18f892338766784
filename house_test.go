// Package brunt_test holds the whole module to the rules of its house.
package brunt_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "brunt"

// layers are the packages in the order in which they may import one another:
// each those of the lines above its own, none of its own line. A star stands
// for every package below.
var layers = [][]string{
	{"clock", "chance", "check", "record", "studies", "chart"},
	{"record/parquet", "record/spool", "load", "policy", "dependency", "target", "fault", "measure"},
	{"front", "replica", "upstream"},
	{"study", "analyze"},
	{"testbed"},
	{"lab"},
	{"sweep"},
	{"report"},
	{"serve"},
	{"brunttest", "command"},
	{"cmd/*"},
}

// narrower are packages that may import less than their layer.
var narrower = map[string][]string{
	"measure": {"record", "clock", "chance", "check"}, // it must serve rows that brunt did not make
	"policy":  {"record", "chance", "check", "clock"},
	"analyze": {"record", "measure"}, // it too
	"replica": {"dependency", "clock", "chance", "check"},
}

// ceiling is the most lines that a Go file may have.
const ceiling = 600

// source is one parsed Go file of the module.
type source struct {
	path string // from the root, with slashes
	code []byte
	file *ast.File
	set  *token.FileSet
}

func parse(path string, code []byte) (source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, code, parser.SkipObjectResolution)
	return source{path, code, file, set}, err
}

func (s source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// pkg is the package's path in the module; "." for the root.
func (s source) pkg() string { return path.Dir(s.path) }

// at names a place in the file.
func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.set.Position(n.Pos()).Line)
}

// imports calls see for each import.
func (s source) imports(see func(spec *ast.ImportSpec, path string)) {
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			see(spec, p)
		}
	}
}

// uses returns the places that name one of the members of a package: time.Now.
func (s source) uses(pkg string, members ...string) []ast.Node {
	local := ""
	s.imports(func(spec *ast.ImportSpec, p string) {
		if p == pkg {
			if local = path.Base(p); spec.Name != nil {
				local = spec.Name.Name
			}
		}
	})
	var found []ast.Node
	if local == "" {
		return nil
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(members, sel.Sel.Name) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// rule is one rule of the house. It returns its offenders.
type rule struct {
	name  string
	check func(s source) []string
	// An offender, and one that only looks like it: the rule is tried on both.
	badPath, bad   string
	goodPath, good string
}

var rules = []rule{
	{
		"imports run one way", oneWay,
		"policy/x.go", `package policy; import _ "brunt/study"`,
		"lab/x.go", `package lab; import (_ "brunt/study"; _ "brunt/record/parquet"; _ "brunt/clock")`,
	},
	{
		"no imports within a layer", oneWay,
		"clock/x.go", `package clock; import _ "brunt/chance"`,
		"study/x.go", `package study; import _ "brunt/study/internal/comments"`,
	},
	{
		"measure and policy import little", oneWay,
		"measure/x.go", `package measure; import _ "brunt/studies"`,
		"measure/x_test.go", `package measure; import _ "brunt/check"`,
	},
	{
		"every package has a layer", oneWay,
		"helpers/x.go", `package helpers`,
		"cmd/another/x.go", `package main`,
	},
	{
		"only clock reads the wall clock or sleeps", wallClock,
		"policy/x.go", `package policy; import t "time"; var now = t.Now`,
		"policy/x.go", `package policy; import "time"; func f(loop interface{ Now() time.Duration }) { loop.Now() }`,
	},
	{
		"only chance imports math/rand", onlyChance,
		"load/x.go", `package load; import _ "math/rand/v2"`,
		"chance/x.go", `package chance; import _ "math/rand/v2"`,
	},
	{
		"only a main function exits", onlyMainExits,
		"command/run.go", `package main; import "os"; func run() { os.Exit(1) }`,
		"cmd/brunt/main.go", `package main; import "os"; func main() { os.Exit(1) }`,
	},
	{
		"no init", noInit,
		"load/x.go", `package load; func init() {}`,
		"load/x.go", `package load; type t int; func (t) init() {}`,
	},
	{
		"no testing in what is shipped", noTesting,
		"load/x.go", `package load; import _ "testing"`,
		"brunttest/x.go", `package brunttest; import _ "testing"`,
	},
	{
		"files are short", short,
		"load/x.go", "package load\n" + strings.Repeat("\n", ceiling),
		"load/x.go", "package load\n" + strings.Repeat("\n", ceiling-1),
	},
}

func oneWay(s source) []string {
	if s.test() || s.pkg() == "." {
		return nil
	}
	from := layer(s.pkg())
	if from < 0 {
		return []string{s.path + ": the package has no layer; give it one in house_test.go and in ARCHITECTURE.md"}
	}
	var bad []string
	s.imports(func(spec *ast.ImportSpec, p string) {
		to, ours := strings.CutPrefix(p, module+"/")
		if !ours || owner(to) == owner(s.pkg()) {
			return
		}
		allowed, narrow := narrower[s.pkg()]
		switch {
		case narrow && !slices.Contains(allowed, to):
			bad = append(bad, fmt.Sprintf("%s: %s imports %s, it may import %s only", s.at(spec), s.pkg(), to, strings.Join(allowed, ", ")))
		case layer(to) < 0 || layer(to) >= from:
			bad = append(bad, fmt.Sprintf("%s: %s imports %s, which is not in a layer below it", s.at(spec), s.pkg(), to))
		}
	})
	return bad
}

// owner is the package to which an internal one belongs, or itself.
func owner(pkg string) string {
	parent, _, _ := strings.Cut(pkg, "/internal/")
	return parent
}

func layer(pkg string) int {
	pkg = owner(pkg)
	return slices.IndexFunc(layers, func(row []string) bool {
		return slices.ContainsFunc(row, func(p string) bool {
			above, star := strings.CutSuffix(p, "/*")
			return p == pkg || star && path.Dir(pkg) == above
		})
	})
}

func wallClock(s source) []string {
	named, _ := path.Match("lab/environment*.go", s.path)
	named = named || s.path == "target/deadline.go"  // ends a call whose loop is late or gone
	named = named || s.path == "lab/progress.go"     // asks a run a few times a second how it stands
	named = named || s.path == "brunttest/bubble.go" // watches from outside over a time that may stand still
	named = named || s.path == "fault/wall.go"       // what is done to real processes ends by the wall's time
	named = named || s.path == "upstream/wall.go"    // spreads the pieces of one answer over a time that a run decided on
	if s.test() || named || s.pkg() == "clock" || s.pkg() == "command" {
		return nil
	}
	return places(s, "reads the wall clock or sleeps: time passes on a clock.Loop",
		s.uses("time", "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"))
}

func onlyChance(s source) []string {
	var bad []string
	s.imports(func(spec *ast.ImportSpec, p string) {
		if (p == "math/rand" || p == "math/rand/v2") && s.pkg() != "chance" {
			bad = append(bad, s.at(spec)+": imports "+p+": every draw comes from package chance")
		}
	})
	return bad
}

func onlyMainExits(s source) []string {
	if s.test() {
		return nil
	}
	exits := append(s.uses("os", "Exit"), s.uses("log", "Fatal", "Fatalf", "Fatalln")...)
	exits = slices.DeleteFunc(exits, func(exit ast.Node) bool {
		return s.file.Name.Name == "main" && slices.ContainsFunc(s.file.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && f.Recv == nil && f.Name.Name == "main" && f.Pos() <= exit.Pos() && exit.Pos() < f.End()
		})
	})
	return places(s, "ends the process: return an error, only main exits", exits)
}

func noInit(s source) []string {
	var found []ast.Node
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			found = append(found, d)
		}
	}
	return places(s, "func init: nothing registers itself", found)
}

func noTesting(s source) []string {
	if s.test() || s.pkg() == "brunttest" {
		return nil
	}
	var bad []string
	s.imports(func(spec *ast.ImportSpec, p string) {
		if p == "testing" || strings.HasPrefix(p, "testing/") {
			bad = append(bad, s.at(spec)+": imports "+p+" into what is shipped")
		}
	})
	return bad
}

func short(s source) []string {
	if n := bytes.Count(s.code, []byte("\n")); n > ceiling {
		return []string{fmt.Sprintf("%s: %d lines, at most %d: it holds more than one idea", s.path, n, ceiling)}
	}
	return nil
}

func places(s source, what string, nodes []ast.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, s.at(n)+": "+what)
	}
	return all
}

// house parses every Go file of the module, but not of modules inside of it.
func house(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(name, "go.mod"))
			if name != "." && (nested == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		code, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(name), code)
		all = append(all, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("only %d files were found: the rules would judge nothing", len(all))
	}
	return all
}

func TestHouse(t *testing.T) {
	all := house(t)
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, s := range all {
				for _, offender := range r.check(s) {
					t.Error(offender)
				}
			}
		})
	}
}

// Each rule finds its offender, and leaves in peace what only looks like it.
func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			bad, err := parse(r.badPath, []byte(r.bad))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.check(bad)) == 0 {
				t.Errorf("%s: %s: not found", r.badPath, r.bad)
			}
			good, err := parse(r.goodPath, []byte(r.good))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.check(good); len(got) != 0 {
				t.Errorf("%s: %s: %v", r.goodPath, r.good, got)
			}
		})
	}
}

// twice lists libraries that two packages of ours use. record/parquet writes
// and reads our own rows, with our own columns; analyze reads what others wrote.
var twice = []string{"github.com/parquet-go/parquet-go"}

// Each library stands behind one package of ours, and is accounted for.
func TestLibraries(t *testing.T) {
	account, err := os.ReadFile("DEPENDENCIES.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	behind := make(map[string]string) // library, package of ours
	for _, s := range house(t) {
		s.imports(func(spec *ast.ImportSpec, p string) {
			if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
				return // the standard library, or ours
			}
			library := root(mod, p)
			if !bytes.Contains(account, []byte("`"+library+"`")) {
				t.Errorf("%s: %s does not stand in DEPENDENCIES.md", s.at(spec), library)
			}
			if s.test() {
				return
			}
			if other, seen := behind[library]; seen && other != owner(s.pkg()) && !slices.Contains(twice, library) {
				t.Errorf("%s: %s stands behind %s already", s.at(spec), library, other)
			}
			behind[library] = owner(s.pkg())
		})
	}
	if len(behind) == 0 {
		t.Error("no library was found: the rule would judge nothing")
	}
}

// root is the module of a library's package, as it is written in go.mod.
func root(mod []byte, pkg string) string {
	for p := pkg; p != "."; p = path.Dir(p) {
		if bytes.Contains(mod, []byte("\t"+p+" v")) || bytes.Contains(mod, []byte("require "+p+" v")) {
			return p
		}
	}
	return pkg
}
