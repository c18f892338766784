// Command comments collects from the Go sources what the JSON Schema and
// `brunt explain` say: the comments of configuration structs and their fields,
// and the words that each named string type knows. It runs in the folder of
// package study and writes comments.json there; with -check it writes nothing
// and fails when that file is stale.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// packages are the folders of the packages that declare settings, from that
// of package study.
var packages = []string{"study", "load", "policy", "dependency", "measure", "target", "fault", "front"}

const out = "comments.json"

func main() {
	check := flag.Bool("check", false, "fail when "+out+" is stale")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "comments:", err)
		os.Exit(1)
	}
}

// comments is what comments.json holds.
type comments struct {
	// Types and fields by import path, type and field: brunt/load.Load.Rate.
	Docs map[string]string `json:"docs"`
	// The constants of a named string type, in their order.
	Words map[string][]string `json:"words"`

	used map[string]bool // types of fields
}

func run(check bool) error {
	all := comments{map[string]string{}, map[string][]string{}, map[string]bool{}}
	for _, name := range packages {
		if err := all.folder(name); err != nil {
			return err
		}
	}
	maps.DeleteFunc(all.Words, func(of string, _ []string) bool { return !all.used[of] })
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if !check {
		return os.WriteFile(out, b, 0o644)
	}
	old, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, b) {
		return errors.New(out + " is stale: run go generate ./study")
	}
	return nil
}

func (c *comments) folder(name string) error {
	files, err := filepath.Glob(filepath.Join("..", name, "*.go"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("read comments: %w", err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				c.declaration("brunt/"+name, d)
			}
		}
	}
	return nil
}

func (c *comments) declaration(pkg string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			if s, ok := spec.Type.(*ast.StructType); ok && hasSettings(s) {
				c.Docs[pkg+"."+spec.Name.Name] = text(doc)
				c.fields(pkg+"."+spec.Name.Name, s)
				c.types(pkg, s)
			}
		case *ast.ValueSpec:
			if d.Tok == token.CONST {
				c.constants(pkg, spec)
			}
		}
	}
}

// hasSettings reports whether a struct has a field with a yaml name.
func hasSettings(s *ast.StructType) bool {
	for _, f := range s.Fields.List {
		if f.Tag != nil && strings.Contains(f.Tag.Value, "yaml:") {
			return true
		}
	}
	return false
}

func (c *comments) fields(of string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			if f.Tag != nil && !strings.Contains(f.Tag.Value, `yaml:"-"`) {
				c.Docs[of+"."+n.Name] = text(f.Doc)
			}
		}
	}
}

// types notes what the fields of a struct are made of.
func (c *comments) types(pkg string, s *ast.StructType) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if in, ok := n.X.(*ast.Ident); ok {
				c.used["brunt/"+in.Name+"."+n.Sel.Name] = true
			}
			return false
		case *ast.Ident:
			c.used[pkg+"."+n.Name] = true
		}
		return true
	})
}

func (c *comments) constants(pkg string, spec *ast.ValueSpec) {
	typ, ok := spec.Type.(*ast.Ident)
	if !ok || !ast.IsExported(typ.Name) {
		return
	}
	for _, v := range spec.Values {
		lit, ok := v.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			continue
		}
		if word, err := strconv.Unquote(lit.Value); err == nil {
			c.Words[pkg+"."+typ.Name] = append(c.Words[pkg+"."+typ.Name], word)
		}
	}
}

// text joins the lines of a comment within each paragraph.
func text(c *ast.CommentGroup) string {
	paragraphs := strings.Split(strings.TrimSpace(c.Text()), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n\n")
}
