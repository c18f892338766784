package study

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/dependency"
)

// The words of a behaviour mean what they mean in a study.
func TestBehaviourIsThatOfAStudy(t *testing.T) {
	const text = `{first_token: {lognormal: {p50: 200ms, p95: 400ms}}, token_gap: 20ms, tokens: 64, workers: 8, queue: 100, codel: {target: 1ms}, discipline: codel}`
	got, doubts, err := ParseBehaviour("--behaviour", text, Options{})
	if err != nil || len(doubts) > 0 {
		t.Fatal(err, doubts)
	}
	s, err := Read("-", Options{Stdin: strings.NewReader("{study: x, dependencies: {d: " + text + "}, load: {rate: 1/s}, phases: [{name: a, for: 1s}], compositions: {c: [{call: d}]}}")})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := s.Dependencies.Get("d")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Codel.Interval != 100*time.Millisecond {
		t.Errorf("the default of codel.interval is missing: %v", got.Codel.Interval)
	}
}

func TestBehaviourFromFile(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("times", "1ms\n3ms # slow\n")
	// a file beside the behaviour, whose name has no suffix
	b, _, err := ReadBehaviour(write("behaviour", "latency: {empirical: {file: times}}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{time.Millisecond, 3 * time.Millisecond}, b.Latency.Empirical.Times); diff != "" {
		t.Error(diff)
	}
	b, doubts, err := ReadBehaviour("-", Options{Stdin: strings.NewReader("{latency: 1ms, balancer: {kind: random}}")})
	if err != nil || len(doubts) != 1 || doubts[0].Path != "balancer.kind" && doubts[0].Path != "balancer" {
		t.Errorf("standard input: %v, doubts %v", err, doubts)
	}
	if b.Balancer == nil || b.Balancer.Kind != dependency.Random {
		t.Errorf("standard input: balancer %v", b.Balancer)
	}
}

func TestBehaviourFaults(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a word misspelt", `{latncy: 5ms}`, `f:1:2: latncy: unknown field "latncy": did you mean "latency"?`},
		{"a time without a unit", "latency: 5", `f:1:10: latency: 5: has no unit: write 5ms or 5s`},
		{"half of a stream", "{latency: 1ms, token_gap: 5ms}", `f:1:1: first_token: missing: token_gap and tokens describe a stream, which begins with first_token`},
		{"no mapping", "5ms", `f:1:1: 5ms: expected a behaviour: a mapping such as {latency: 5ms}`},
		{"nothing", "", `f: is empty: expected a behaviour`},
		{"no YAML", "{", `f:1:1: is not YAML: `},
		{"two faults at once", "{workers: 0, fail: {ratio: 2}, latency: 1ms}", "f:1:11: workers: 0: expected 1 to"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := ParseBehaviour("f", test.text, Options{})
			var faults Errors
			if !errors.As(err, &faults) {
				t.Fatalf("%v is no list of faults", err)
			}
			if !strings.HasPrefix(err.Error(), test.want) && !strings.Contains(err.Error(), "\n"+test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}
