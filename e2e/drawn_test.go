package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// The pictures in docs are what brunt draws.
func TestDocsPictures(t *testing.T) {
	const folder = "../docs/pictures"
	script, err := os.ReadFile(filepath.Join(folder, "make.sh"))
	if err != nil {
		t.Fatal(err)
	}
	made := regexp.MustCompile(`(?m)^draw (\S+) (\S+) (\S+)$`).FindAllStringSubmatch(string(script), -1)
	if files, _ := filepath.Glob(filepath.Join(folder, "*.svg")); len(made) < 5 || len(files) != len(made) {
		t.Errorf("%d pictures, of which the script makes %d", len(files), len(made))
	}
	for _, m := range made {
		study, chart, file := m[1], m[2], m[3]
		path, err := brunt()
		if err != nil {
			t.Fatal(err)
		}
		want, err := exec.Command(path, "chart", runOf(t, study).folder, chart).Output()
		if err != nil {
			t.Fatalf("brunt chart %s: %v", chart, err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, file)); err != nil || string(got) != string(want) {
			t.Errorf("%s is not what brunt draws (error %v): run docs/pictures/make.sh", file, err)
		}
	}
}
