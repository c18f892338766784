package command

import (
	"bytes"
	"context"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var updateReadme = flag.Bool("update-readme", false, "write the captured runs of README.md anew")

// TestReadmeShowsRealRuns holds the captured runs in README.md to what the
// command prints, up to the lines that depend on the machine.
func TestReadmeShowsRealRuns(t *testing.T) {
	const path = "../README.md"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	capture := regexp.MustCompile("(?s)<!-- brunt (run [a-z]+) -->\n```\n(.*?)```\n")
	found := 0
	now := capture.ReplaceAllFunc(readme, func(block []byte) []byte {
		found++
		args := string(capture.FindSubmatch(block)[1])
		var out bytes.Buffer
		if status := Run(context.Background(), Process{Args: append(strings.Fields(args), "--out", t.TempDir()), Stdout: &out, Stderr: os.Stderr}); status != 0 {
			t.Fatalf("brunt %s: status %d", args, status)
		}
		text, _, ok := strings.Cut(out.String(), "EXPECTATIONS\n")
		if !ok {
			t.Fatalf("brunt %s prints no expectations:\n%s", args, &out)
		}
		return []byte("<!-- brunt " + args + " -->\n```\n" + strings.TrimRight(text, "\n") + "\n```\n")
	})
	if found < 2 {
		t.Fatalf("README.md has %d captured runs, not two", found)
	}
	if bytes.Equal(now, readme) {
		return
	}
	if *updateReadme {
		if err := os.WriteFile(path, now, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("the captured runs in README.md are not what the command prints: go test ./command -run Readme -update-readme")
}
