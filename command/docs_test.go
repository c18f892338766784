package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
)

// TestStudyPagesAreTrue holds docs/studies to what the command prints: each
// page shows sections of a run, and a picture of it.
func TestStudyPagesAreTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: it runs every study of the pages; go test ./... does")
	}
	pages, err := filepath.Glob("../docs/studies/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	capture := regexp.MustCompile("(?s)<!-- brunt ((?:run|find) [^\n]+?): ([A-Z, ]+) -->\n```\n(.*?)```\n")
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		found := false
		now := capture.ReplaceAllFunc(page, func(block []byte) []byte {
			part := capture.FindSubmatch(block)
			args, titles := string(part[1]), string(part[2])
			found = found || args == "run "+name
			words := strings.Fields(args)
			if words[0] == "run" {
				words = append(words, "--rows", "none", "--out", t.TempDir())
			}
			var out bytes.Buffer
			if status := Run(context.Background(), Process{Args: words, Stdout: &out, Stderr: io.Discard}); status != 0 {
				t.Fatalf("brunt %s: status %d", args, status)
			}
			if titles == "ALL" {
				return []byte("<!-- brunt " + args + ": ALL -->\n```\n" + out.String() + "```\n")
			}
			var text []string
			for _, title := range strings.Split(titles, ", ") {
				text = append(text, sectionOf(t, out.String(), title))
			}
			return []byte("<!-- brunt " + args + ": " + titles + " -->\n```\n" + strings.Join(text, "\n\n") + "\n```\n")
		})
		if !found {
			t.Errorf("%s shows no run of %s", path, name)
		}
		held(t, path, page, now)
		holdPicture(t, filepath.Join(filepath.Dir(path), name+".svg"), name)
	}
}

// sectionOf cuts one section out of a report.
func sectionOf(t *testing.T, text, title string) string {
	_, rest, ok := strings.Cut(text, "\n"+title+"\n")
	if !ok {
		t.Fatalf("the report has no section %s:\n%s", title, text)
	}
	if end := regexp.MustCompile(`\n\n[A-Z]`).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	return title + "\n" + strings.TrimRight(rest, "\n")
}

func holdPicture(t *testing.T, path, name string) {
	s, err := study.Read(name, study.Options{Measure: lab.CheckName})
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := lab.Run(context.Background(), s, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	old, _ := os.ReadFile(path)
	held(t, path, old, []byte(report.Picture(r)))
}

// held reports a file that is not what it should be, or mends it.
func held(t *testing.T, path string, old, now []byte) {
	if bytes.Equal(old, now) {
		return
	}
	if *updateReadme {
		if err := os.WriteFile(path, now, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what a run shows: go test ./command -run Pages -update-readme", path)
}
