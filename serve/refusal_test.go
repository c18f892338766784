package serve

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brunt/study"
)

// What would leave the simulation, or make too much work, is refused in words;
// what is wrong is said as brunt check says it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const (
		head = "study: x\nload: {rate: 10/s}\nphases: [{name: p, for: 10s}]\n"
		rest = "dependencies: {db: {latency: 5ms}}\ncompositions: {a: []}\n"
	)
	for _, c := range []struct {
		name, text, want string
		faulty           bool // it is wrong, and not only refused
	}{
		{"nothing", head + rest, "", false},
		{"words that only sound like it", "# replay: none, and no trace: either\n" + head + rest + "notes: [a file, the trace, replay]\n", "", false},

		{"the real clock", head + rest + "clock: real\n", "It runs on the real clock", false},
		{"a target", head + "clock: real\ntarget: {url: 'http://127.0.0.1:1/'}\ncompositions: {a: []}\n", "It runs on the real clock", false},
		{"a trace", strings.Replace(head, "{rate: 10/s}", "{arrivals: trace, trace: t.txt}", 1) + rest, "It seems to read a file (trace)", false},
		{"in block style", strings.Replace(head, "{rate: 10/s}", "\n  arrivals: trace\n  trace: t.txt", 1) + rest, "It seems to read a file (trace)", false},
		{"quoted", strings.Replace(head, "{rate: 10/s}", `{"arrivals":trace,"trace":t.txt}`, 1) + rest, "It seems to read a file (trace)", false},
		{"as a key that has its value below", strings.Replace(head, "{rate: 10/s}", "\n  arrivals: trace\n  ? trace\n  : t.txt", 1) + rest, "It seems to read a file (trace)", false},
		{"empirical times", head + "dependencies: {db: {latency: {empirical: {file: t.txt}}}}\ncompositions: {a: []}\n", "It seems to read a file (file)", false},
		{"a recording", head + "dependencies: {db: {replay: /etc}}\ncompositions: {a: []}\n", "It seems to read a file (replay)", false},
		{"a recording in a phase", strings.Replace(head, "10s}", "10s, dependencies: {db: {replay: {folder: x}}}}", 1) + rest, "It seems to read a file (replay)", false},
		{"a protocol of a file", head + rest + "protocol: ./mine.yaml\n", "It seems to read a file (protocol)", false},

		{"a service of one's own", head + "clock: real\n" + strings.Replace(rest, "a: []", "a: [{external: {url: 'http://127.0.0.1:1/', command: [touch, /tmp/x]}}]", 1), "It runs on the real clock", false},
		{"with files", head + "clock: real\n" + strings.Replace(rest, "a: []", "a: [{external: {url: 'http://127.0.0.1:1/', files: [x]}}]", 1), "It seems to read a file (files)", false},

		{"requests", strings.Replace(head, "10/s", "1000000/s", 1) + rest, "It makes more than 2,000,000 requests", false},
		{"repeats", strings.Replace(head, "10/s", "3000/s", 1) + rest + "repeat: 100\n", "It makes more than 2,000,000 requests", false},
		{"attempts", strings.Replace(head, "10/s", "10000/s", 1) + "dependencies: {db: {latency: 5ms}}\ncompositions: {a: [{retry: {attempts: 1000, backoff: {kind: none}}}]}\n", "may come to more than 20,000,000 attempts", false},

		{"a fault in it", head + "dependencies: {db: {latncy: 5ms}}\ncompositions: {a: []}\n", `./x.yaml:4:21: dependencies.db.latncy: unknown field "latncy"`, true},
		{"no YAML", "study: [", "./x.yaml:", true},
		{"a file hidden by an escape is not found", strings.Replace(head, "{rate: 10/s}", `{arrivals: trace, "tr\x61ce": t.txt}`, 1) + rest, "cannot be read", true},
	} {
		f := local(c.text)
		st, err := f.read(nil)
		if err == nil {
			err = usual.affordable(st)
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if why := refusal(""); c.want != "" && errors.As(err, &why) == c.faulty {
			t.Errorf("%s: %T", c.name, err)
		}
	}
}

// A recording can be named so that it is found only when the study is read. It
// is not run then.
func TestHiddenFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "times.txt")
	write(t, file, "5ms\n6ms\n")
	st, err := study.Read("-", study.Options{Folder: filepath.Dir(file), Stdin: strings.NewReader(`study: x
load: {rate: 10/s}
phases: [{name: p, for: 10s}]
dependencies: {db: {latency: {empirical: {file: times.txt}}}}
compositions: {a: []}
`)})
	if err != nil {
		t.Fatal(err)
	}
	if why := unfit(st); !strings.HasPrefix(why, "It reads files") {
		t.Errorf("%q", why)
	}
}

// A setting that this package does not know is not harmless, wherever it stands.
func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ config, want string }{
		{`{"study": "x", "load": {"rate": "1/s"}, "compositions": {"external": [{"retry": {}}, {"call": "exec"}]}, "dependencies": {"exec": {"latency": "1s"}}}`, ""},
		{`{"study": "x", "exec": {}}`, "exec"},
		{`{"dependencies": {"db": {"exec": "rm"}}}`, "exec"},
		{`{"services": {"db": {"latency": "1s", "stack": [{"exec": {}}]}}}`, "exec"},
		{`{"services": {"db": {"external": {}}}}`, "external"},
		{`{"phases": [{"name": "a"}, {"name": "b", "dependencies": {"db": {"external": {}}}}]}`, "external"},
		{`{"compositions": {"a": [], "b": [{"external": {}}]}}`, "external"},
		{`{"compositions": {"a": [{"fallback": {"to": [[{"call": "x"}], [{"external": {}}]]}}]}}`, "external"},
	} {
		v, err := parseConfig([]byte(c.config))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.odd(); got != c.want {
			t.Errorf("%s: %q, want %q", c.config, got, c.want)
		}
	}
}

// Which local studies are offered, and that no other can be named.
func TestOffered(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir())
	write(t, filepath.Join(h.studies, "mine.yaml"), small)
	write(t, filepath.Join(h.studies, "other.yml"), "# a remark\nstudy: other\n")
	write(t, filepath.Join(h.studies, "compose.yaml"), "services: {db: {image: x}}\n")
	write(t, filepath.Join(h.studies, "notes.txt"), small)
	write(t, filepath.Join(h.studies, "below", "deep.yaml"), small)
	single := filepath.Join(t.TempDir(), "single.txt")
	write(t, single, small)
	if err := os.Symlink(single, filepath.Join(h.studies, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	h.config.Studies = append(h.config.Studies, single, filepath.Join(h.studies, "gone"))
	_, text := h.get("/")
	for path, offered := range map[string]bool{
		h.studies + "/mine.yaml": true, h.studies + "/other.yml": true, single: true, "outage": true,
		h.studies + "/compose.yaml": false, h.studies + "/notes.txt": false, h.studies + "/below/deep.yaml": false, h.studies + "/link.yaml": false,
		h.studies + "/../" + filepath.Base(h.studies) + "/mine.yaml": false, "/etc/passwd": false, "-": false, "./outage": false,
	} {
		if got := strings.Contains(text, ">"+path+"</a>"); got != offered {
			t.Errorf("%s is offered: %t", path, got)
		}
		status, _ := h.get("/try?study=" + path)
		if want := map[bool]int{true: 200, false: 404}[offered]; status != want && path != h.studies+"/other.yml" { // which is no whole study
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
	// A built-in study that is refused is not listed, and says why to whoever asks.
	if strings.Contains(text, ">replica-loss<") {
		t.Error("replica-loss is listed")
	}
	status, text := h.get("/try?study=replica-loss")
	if status != 422 {
		t.Errorf("replica-loss: status %d", status)
	}
	contains(t, text, "replica-loss is not run here", "It runs on the real clock")
	status, text = h.get("/try?study=" + h.studies + "/other.yml")
	if status != 422 {
		t.Errorf("a study with faults: status %d", status)
	}
	contains(t, text, "is not run here", h.studies+"/other.yml:2:1: load.rate: missing")
}
