package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds what was written against a file in testdata.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", path, diff)
	}
}

func TestGoldenText(t *testing.T) {
	for _, f := range fixtures {
		for _, opt := range []struct {
			suffix string
			TextOptions
		}{
			{".txt", TextOptions{Folder: "runs/" + f.name}},
			{".80.txt", TextOptions{Width: 80, Folder: "runs/" + f.name}},
			{".color.txt", TextOptions{Width: 140, Color: true, Folder: "runs/" + f.name}},
		} {
			t.Run(f.name+opt.suffix, func(t *testing.T) {
				var b bytes.Buffer
				if err := Text(&b, f.make(t), testEnvironment(), opt.TextOptions); err != nil {
					t.Fatal(err)
				}
				golden(t, f.name+opt.suffix, b.Bytes())
			})
		}
	}
}

func TestGoldenMarkdown(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Markdown(&b, f.make(t), testEnvironment()); err != nil {
				t.Fatal(err)
			}
			golden(t, f.name+".md", b.Bytes())
		})
	}
}

func TestGoldenJSON(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := JSON(&b, f.make(t)); err != nil {
				t.Fatal(err)
			}
			golden(t, f.name+".json", b.Bytes())
		})
	}
}
