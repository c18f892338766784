package study

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"brunt/studies"
)

// Listed is a built-in study and the question that it answers.
type Listed struct{ Name, Question string }

// BuiltIn lists the built-in studies by name.
func BuiltIn() []Listed {
	var all []Listed
	for _, name := range builtins() {
		var head struct {
			Question string `yaml:"question"`
		}
		text, err := studies.Files.ReadFile(name + ".yaml")
		if err == nil && yaml.NewDecoder(bytes.NewReader(text)).Decode(&head) == nil {
			all = append(all, Listed{name, head.Question})
		}
	}
	return all
}

func builtins() []string {
	files, _ := fs.Glob(studies.Files, "*.yaml") // a constant pattern has no error
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".yaml")
	}
	return files
}

// Source returns the text of a built-in study.
func Source(name string) ([]byte, error) {
	if slices.Contains(builtins(), name) {
		return studies.Files.ReadFile(name + ".yaml")
	}
	hint := suggest(name, builtins())
	for _, file := range []string{name, name + ".yaml"} {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			hint = "a file of that name is here: write ./" + file
			break
		}
	}
	return nil, fmt.Errorf("no built-in study %q: %s", clip(name), hint)
}
