package study

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/check"
)

// small is a whole study in few lines; %s stands for more.
const small = `study: small
load: {rate: 10/s}
dependencies:
  a: {latency: 5ms}
phases:
  - {name: one, for: 10s}
  - {name: two, for: 20s}
compositions:
  plain: []
  retry:
    - retry: {attempts: 3, backoff: {kind: none}}
`

func text(t testing.TB, s string, sets ...string) (*Study, error) {
	t.Helper()
	return Read("-", Options{Stdin: strings.NewReader(s), Sets: sets})
}

func must(t testing.TB, s string, sets ...string) *Study {
	t.Helper()
	read, err := text(t, s, sets...)
	if err != nil {
		t.Fatalf("read a good study: %v", err)
	}
	return read
}

// equal compares what two studies say.
func equal(a, b *Study) bool {
	x, y := *a, *b
	x.origin, y.origin = nil, nil
	return reflect.DeepEqual(x, y)
}

// faults compares what a study's reading complains of with the lines wanted.
func faults(t *testing.T, err error, want ...string) {
	t.Helper()
	var all Errors
	if !errors.As(err, &all) {
		t.Fatalf("got %v, want Errors:\n%s", err, strings.Join(want, "\n"))
	}
	if d := cmp.Diff(strings.Join(want, "\n"), all.Error()); d != "" {
		t.Error(d)
	}
}

func TestBuiltIn(t *testing.T) {
	all := BuiltIn()
	if len(all) < 3 {
		t.Fatalf("%d built-in studies", len(all))
	}
	for _, b := range all {
		s, err := Read(b.Name, Options{})
		if err != nil {
			t.Errorf("%s: %v", b.Name, err)
			continue
		}
		if s.Name != b.Name || s.Question != b.Question || b.Question == "" {
			t.Errorf("%s: listed as %+v", s.Name, b)
		}
		for _, w := range s.Warnings() {
			t.Errorf("a built-in study is doubtful: %v", w)
		}
		source, err := Source(b.Name)
		if err != nil || string(s.YAML()) != string(source) {
			t.Errorf("%s: without settings it is not written as it was read: %v", b.Name, err)
		}
	}
}

// Order, optional settings, defaults within defaults.
func TestReadValues(t *testing.T) {
	s := must(t, small+`
  full:
    - retry: {on: [failure, circuit]}
    - breaker: {ratio: 0.5, calls: 20, open_for: 1m}
    - hedge: {after: 0, on_failure: false}
    - call: a
expect: [{measure: x, at_most: 6%, equals: 60ms}]
seed: -42
`)
	if d := cmp.Diff([]string{"plain", "retry", "full"}, s.Compositions.Names()); d != "" {
		t.Error(d)
	}
	full, _ := s.Compositions.Get("full")
	r, b, h := full[0].Retry, full[1].Breaker, full[2].Hedge
	if r.Attempts != 3 || r.Backoff.Base != 100*time.Millisecond || len(r.On) != 2 {
		t.Errorf("retry with defaults: %+v", r)
	}
	if b.Probes != 1 || b.Ratio != 0.5 || b.OpenFor != time.Minute {
		t.Errorf("breaker with defaults: %+v", b)
	}
	if h.Extra != 1 || h.OnFailure {
		t.Errorf("hedge with a default that is overridden by false: %+v", h)
	}
	if e := s.Expect[0]; e.AtMost.Value != 0.06 || e.Equals.Duration != 60*time.Millisecond || e.AtLeast != nil {
		t.Errorf("expectation: %+v", e)
	}
	if s.Seed != -42 || s.Horizon != 30*time.Second || s.Load.Arrivals != "constant" {
		t.Errorf("study: seed %d, horizon %v, %s", s.Seed, s.Horizon, s.Load.Arrivals)
	}
}

// Every fault is told, with its place, and none hides another.
func TestReadFaults(t *testing.T) {
	_, err := text(t, `study: "no/name"
clok: real
seed: 1.5
horizon: 100
warmup: soon
load: {rate: 100, max_in_flight: many, max_in_flight: 3}
dependencies:
  a: {latency: 5}
  b: {latency: {first: 1ms}, fail: {ratio: .nan}, hang: 7}
phases:
  - {name: one, for: 10s, dependencies: {A: {hang: true}}}
  - {name: one}
  - nothing
compositions:
  x: {retry: {}}
  y: [{retires: {}}, {retry: {}, breaker: {}}, {call: c}]
  z: [{call: a}, {retry: {retires: 1}}]
  "in valid": []
  null: []
expect:
  - {composition: w, phase: on, measure: m}
tables: [herds]
notes: {}
`)
	faults(t, err,
		`stdin:1:8: study: "no/name": expected at most 64 letters, digits, dashes, dots and underscores, first a letter or a digit`,
		`stdin:2:1: clok: unknown field "clok": did you mean "clock"?`,
		`stdin:3:7: seed: 1.5: expected a whole number`,
		`stdin:4:10: horizon: 100: has no unit: write 100ms or 100s`,
		`stdin:5:9: warmup: soon: expected a duration such as 5ms, 30s or 1h30m`,
		`stdin:6:14: load.rate: 100: expected a number above 0 and a time, such as 100/s, 6000/min or 1/10s`,
		`stdin:6:34: load.max_in_flight: many: expected a whole number`,
		`stdin:6:40: load.max_in_flight: max_in_flight: stands here twice: first on line 6`,
		`stdin:8:16: dependencies.a.latency: 5: has no unit: write 5ms or 5s`,
		`stdin:9:16: dependencies.b.latency.later: missing: first and later go together`,
		`stdin:9:44: dependencies.b.fail.ratio: .nan: expected a number`,
		`stdin:9:57: dependencies.b.hang: 7: expected true or false`,
		`stdin:11:45: phases.0.dependencies.A: unknown dependency "A": did you mean "a"?`,
		`stdin:12:5: phases.1.for: missing: expected a duration above 0`,
		`stdin:12:12: phases.1.name: one: is the name of phase 1 already: expected a name of its own`,
		`stdin:13:5: phases.2: nothing: expected a mapping with name, for, load, dependencies`,
		`stdin:15:6: compositions.x: a mapping: expected a list of stages`,
		`stdin:16:8: compositions.y.0.retires: unknown policy "retires": did you mean "retry"?`,
		`stdin:16:22: compositions.y.1: a mapping with 2 policies: a stage is a mapping with exactly one policy, and shared beside it at most; the settings stand one level deeper: {retry: {attempts: 3}}`,
		`stdin:16:55: compositions.y.2.call: unknown dependency "c": did you mean "a"?`,
		`stdin:17:14: compositions.z.0.call: call ends a stack: nothing may follow it`,
		`stdin:17:27: compositions.z.1.retry.retires: unknown field "retires": expected one of attempts, backoff, on, budget, retry_after, needs`,
		`stdin:18:3: compositions.in valid: "in valid": expected as a name at most 64 letters, digits, dashes, dots and underscores, first a letter or a digit`,
		`stdin:19:3: compositions.null: null: expected a name before the colon`,
		`stdin:21:5: expect.0: expects nothing: add at_most, at_least or equals`,
		`stdin:21:19: expect.0.composition: unknown composition "w": did you mean "x"?`,
		`stdin:21:29: expect.0.phase: unknown phase "on": did you mean "one"?`,
		`stdin:22:10: tables.0: "herds": expected outcomes, amplification, recovery, herd, providers`,
		`stdin:23:8: notes: a mapping: expected a list of words`,
	)
}

// Files that are no study at all.
func TestReadHopeless(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + strings.Join(strings.Split(strings.Repeat(p, 10), ""), ",*") + "]\n"
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "stdin: is empty: expected a study; `brunt init outage` writes one to start from"},
		{"comments only", "# nothing\n", "stdin: is empty: expected a study; `brunt init outage` writes one to start from"},
		{"null", "~", "stdin:1:1: ~: expected a study: a mapping that begins with study: NAME"},
		{"list", "[1]", "stdin:1:1: a list: expected a study: a mapping that begins with study: NAME"},
		{"binary", "\x7fELF\x00\x01", "stdin: is not text: expected a study as YAML in UTF-8"},
		{"not UTF-8", "study: \xff", "stdin: is not text: expected a study as YAML in UTF-8"},
		{"too large", strings.Repeat("# 10 MB\n", 10<<20/8), "stdin: has more than 1048576 bytes: expected a study of at most 1 MB"},
		{"no YAML", "study: x\n  y: [", "stdin:2:1: is not YAML: mapping values are not allowed in this context"},
		{"unknown alias", "study: *x", "stdin: is not YAML: unknown anchor 'x' referenced"},
		{"alias bomb", bomb, "stdin:1:14: more than 100000 values, counting what aliases repeat: expected a study, not a bomb"},
		{"alias in itself", "study: &x [*x]", "stdin:1:12: *x stands inside of &x: an alias cannot contain itself"},
		{"merge of itself", "study: &x\n  <<: *x", "stdin:2:7: *x stands inside of &x: an alias cannot contain itself"},
		{"deep", "study: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "stdin:1:107: nested more than 100 deep"},
		{"tag", "study: !!binary aGk=", "stdin:1:8: tag !!binary has no meaning here"},
		{"private tag", "study: !x y", "stdin:1:8: tag !x has no meaning here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := text(t, c.text)
			faults(t, err, c.want)
		})
	}
	_, err := text(t, small+"---\nstudy: another\n")
	faults(t, err, "stdin:12:1: a second document begins here: expected one study in a file")
}

// Aliases and merge keys mean what they stand for, also when a setting then
// changes one of the copies.
func TestReadAliases(t *testing.T) {
	s := must(t, small+`
  first:
    - retry: &r {attempts: 5, backoff: &b {kind: linear, base: 1s}}
  again:
    - retry: *r
  merged:
    - retry: {<<: *r, attempts: 7, backoff: {<<: [{factor: 3}, *b], base: 2s}}
`, "compositions.again.retry.attempts=9")
	get := func(name string) (int, time.Duration) {
		c, _ := s.Compositions.Get(name)
		return c[0].Retry.Attempts, c[0].Retry.Backoff.Base
	}
	for name, want := range map[string]int{"first": 5, "again": 9, "merged": 7} {
		if got, _ := get(name); got != want {
			t.Errorf("%s: %d attempts, want %d", name, got, want)
		}
	}
	if _, base := get("again"); base != time.Second {
		t.Errorf("again: base %v", base)
	}
	merged, _ := s.Compositions.Get("merged")
	if b := merged[0].Retry.Backoff; b.Base != 2*time.Second || b.Factor != 3 || b.Kind != "linear" {
		t.Errorf("merged: %+v", b)
	}
	again := must(t, string(s.YAML()))
	if !equal(s, again) {
		t.Errorf("written back, it is another study:\n%s", s.YAML())
	}
	_, err := text(t, small+"  bad: [{retry: {<<: 5}}]\n")
	faults(t, err, "stdin:12:22: <<: 5: expected a mapping to merge, or a list of them")
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, content := range map[string]string{"mine.yaml": small, "outages": small} {
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{"mine.yaml", "./mine.yaml", "./outages", filepath.Join(dir, "outages")} {
		if _, err := Read(source, Options{}); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	for source, want := range map[string]string{
		"outge":     `no built-in study "outge": did you mean "outage"?`,
		"outages":   `no built-in study "outages": a file of that name is here: write ./outages`,
		"mine":      `no built-in study "mine": a file of that name is here: write ./mine.yaml`,
		"none.yaml": "read a study: open none.yaml: no such file or directory",
		"-":         "read a study from standard input: there is none",
	} {
		if _, err := Read(source, Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", source, err, want)
		}
	}
	_, err := Read("surely-nothing-like-it", Options{})
	if err == nil || !strings.Contains(err.Error(), "expected one of brownout, ") {
		t.Errorf("an unknown name: %v", err)
	}
}

// A place that was not written is that of what it would stand in.
func TestPlaces(t *testing.T) {
	p := places{"": {line: 1}, "a": {line: 2}, "a.b": {line: 3}}
	for path, want := range map[string]int{"a.b.c.d": 3, "a.x": 2, "a": 2, "x.y": 1, "": 1} {
		if got := p.of(path).line; got != want {
			t.Errorf("%q: line %d, want %d", path, got, want)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	e := make(Errors, mostPrinted+5)
	lines := strings.Split(e.Error(), "\n")
	if len(lines) != mostPrinted+1 || lines[mostPrinted] != "and 5 more" {
		t.Errorf("%d lines, last %q", len(lines), lines[len(lines)-1])
	}
}

// The doubts and faults of a Check keep apart.
func TestSift(t *testing.T) {
	r := &reader{file: "f", places: places{"a": {line: 2, column: 3}}}
	r.errs = Errors{{Path: "b.c"}}
	doubts := r.sift([]check.Problem{{Path: "a", Want: "w", Doubt: true}, {Path: "b", Want: "follows"}, {Path: "bc", Want: "x"}})
	if len(doubts) != 1 || doubts[0].Error() != "f:2:3: a: w" {
		t.Errorf("doubts: %v", doubts)
	}
	if len(r.errs) != 2 || r.errs[1].Path != "bc" {
		t.Errorf("faults: %v", r.errs)
	}
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read("outage", Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
