package brunttest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// What docs/go-client.md shows stands in the examples, word for word.
func TestPageShowsExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/go-client.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- (examples/[^ ]+) -->\n```[a-z]+\n(.*?)```\n").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks, expected 3", len(blocks))
	}
	for _, b := range blocks {
		file, err := os.ReadFile("../" + b[1])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(file), b[2]) {
			t.Errorf("%s does not hold what the page shows:\n%s", b[1], b[2])
		}
	}
}
