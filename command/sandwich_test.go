package command

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/study"
)

// TestSandwichStudies reads the studies of examples/sandwich, also of those
// examples that cannot be run here, and looks that no two examples meet on a port:
// check.sh runs them side by side.
func TestSandwichStudies(t *testing.T) {
	paths, err := filepath.Glob("../examples/sandwich/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]string{} // by port: the folder
	folders := map[string]bool{}
	for _, path := range paths {
		folder := filepath.Base(filepath.Dir(path))
		if filepath.Base(path) == "envoy.yaml" { // Envoy's own
			continue
		}
		s, err := study.Read(path, study.Options{Measure: lab.CheckName})
		if err != nil {
			t.Error(err)
			continue
		}
		folders[folder] = true
		if s.Question == "" || len(s.Expect) == 0 {
			t.Errorf("%s: a study here asks something, and says what it expects", path)
		}
		var at []string
		for _, listen := range s.Serve.All() {
			at = append(at, string(listen))
		}
		for _, name := range s.Compositions.Names() {
			u, err := url.Parse(s.External(name).URL)
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, u.Host)
		}
		for _, address := range at {
			if other := taken[address]; other != "" && other != folder {
				t.Errorf("%s: %s is %s's", path, address, other)
			}
			taken[address] = folder
		}
	}
	for _, folder := range []string{"nginx", "haproxy", "go-failsafe", "node-opossum", "python-tenacity", "envoy", "polly", "resilience4j", "overhead"} {
		if !folders[folder] {
			t.Errorf("no study in examples/sandwich/%s", folder)
		}
	}
}

// TestServicePageIsTrue holds the files that docs/service.md shows to those of the
// examples.
func TestServicePageIsTrue(t *testing.T) {
	page, err := os.ReadFile("../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)<!-- (examples/\\S+) -->\n```\\w+\n(.*?)```\n").FindAllStringSubmatch(string(page), -1)
	if len(shown) == 0 {
		t.Error("docs/service.md shows no file of an example")
	}
	for _, block := range shown {
		want, err := os.ReadFile(filepath.Join("..", block[1]))
		if err != nil {
			t.Fatal(err)
		}
		// A page shows a file, or lines of it.
		if got := block[2]; !strings.Contains(string(want), got) {
			t.Errorf("docs/service.md shows %s otherwise than it is (-file +page):\n%s", block[1], cmp.Diff(string(want), got))
		}
	}
}
