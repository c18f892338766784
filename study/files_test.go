package study

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write writes a study and the files that it names, and returns its path.
func write(t *testing.T, study string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["study.yaml"] = study
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "study.yaml")
}

func traced(load string) string { return strings.Replace(small, "rate: 10/s", load, 1) }

func TestFiles(t *testing.T) {
	study := strings.Replace(traced("arrivals: trace, trace: in/trace.txt"), "{latency: 5ms}", "{latency: {first: {empirical: {file: times}}, later: 1s}}", 1)
	path := write(t, study, map[string]string{
		"in/trace.txt": "# instants\n0\n0.5 # half a second\n\n1500ms\r\n1500ms\n29.999",
		"times":        "1ms\n 2ms",
	})
	s, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	if d := cmp.Diff([]time.Duration{0, 500 * ms, 1500 * ms, 1500 * ms, 29999 * ms}, s.Load.Instants); d != "" {
		t.Error(d)
	}
	a, _ := s.Dependencies.Get("a")
	if d := cmp.Diff([]time.Duration{ms, 2 * ms}, a.Latency.First.Empirical.Times); d != "" {
		t.Error(d)
	}
	if got := s.Worst("plain").Longest; got != time.Second {
		t.Errorf("worst case %v", got)
	}
	var names []string
	for _, f := range s.Files() {
		names = append(names, f.Name)
	}
	if d := cmp.Diff([]string{"in/trace.txt", "times"}, names); d != "" {
		t.Error(d)
	}
	// a study from elsewhere finds its files in the folder that is named
	again, err := Read("-", Options{Stdin: strings.NewReader(study), Folder: filepath.Dir(path)})
	if err != nil || !equal(s, again) {
		t.Errorf("from another folder: %v", err)
	}
}

func TestFileFaults(t *testing.T) {
	trace := traced("arrivals: trace, trace: trace.txt")
	where := func(path, want string) string { return path + ":2:32: load.trace: " + want }
	for _, c := range []struct {
		name, study, trace string
		want               func(path string) string
	}{
		// each line, with the line and the column in the trace itself
		{"lines", trace, "1\n  soon\n0.5\n30\n-1s\nNaN\n2600000h\n1e999\n1_0", func(string) string {
			return `trace.txt:2:3: "soon": expected a time since the start, such as 1.5s or 1.5
trace.txt:3:1: "0.5": before the instant above it, 1s: expected instants in order
trace.txt:4:1: "30": after the end of the study at 30s
trace.txt:5:1: "-1s": too small: expected 0 or more
trace.txt:6:1: "NaN": expected a time since the start, such as 1.5s or 1.5
trace.txt:7:1: "2600000h": too large: expected a duration below ten years
trace.txt:8:1: "1e999": too large: expected a duration below ten years
trace.txt:9:1: "1_0": expected a time since the start, such as 1.5s or 1.5`
		}},
		{"times of answers", strings.Replace(small, "{latency: 5ms}", "{latency: {empirical: {file: trace.txt}}}", 1), "1ms\nsoon\n5\n2600000h\n-1s", func(string) string {
			return `trace.txt:2:1: "soon": expected a duration such as 5ms
trace.txt:3:1: "5": has no unit: write 5ms or 5s
trace.txt:4:1: "2600000h": too large: expected a duration below ten years
trace.txt:5:1: "-1s": too small: expected 0 or more`
		}},
		{"nothing in it", trace, "# nothing\n", func(p string) string { return where(p, `"trace.txt": holds nothing: expected a time a line`) }},
		{"a folder", traced("arrivals: trace, trace: ."), "", func(p string) string { return where(p, `".": is not a regular file`) }},
		{"a file elsewhere", traced("arrivals: trace, trace: ../trace.txt"), "", func(p string) string {
			return where(p, `"../trace.txt": expected a file in the study's folder, so that the results can keep a copy`)
		}},
		{"a file that is not there", traced("arrivals: trace, trace: none"), "", func(p string) string {
			return where(p, `"none": cannot be read: open `+filepath.Join(filepath.Dir(p), "none")+": no such file or directory")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.study, map[string]string{"trace.txt": c.trace})
			_, err := Read(path, Options{})
			faults(t, err, c.want(path))
		})
	}
	// a file full of nonsense is given up
	path := write(t, trace, map[string]string{"trace.txt": strings.Repeat("x\n", 1000)})
	_, err := Read(path, Options{})
	if n := strings.Count(err.Error(), "\n") + 1; n != 21 || !strings.Contains(err.Error(), "more than 20 faults") {
		t.Errorf("%d faults of a file without sense: %v", n, err)
	}
	_, err = Read("stampede", Options{Sets: []string{"load={arrivals: trace, trace: x}"}})
	faults(t, err, "--set load={arrivals: trace, trace: x}: load.trace: \"x\": a built-in study has no folder for files: write it out with `brunt init`, and run that")
}
