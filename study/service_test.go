package study

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOverloadFaults: what cannot be run is refused where it stands, before
// anything runs.
func TestOverloadFaults(t *testing.T) {
	const head = "study: x\nload: {rate: 10/s}\n"
	const phases = "phases: [{name: a, for: 1s}, {name: b, for: 1s}]\n"
	for _, test := range []struct{ name, rest, want string }{
		{"a service calls itself through another", phases + "dependencies: {db: {latency: 1ms}}\nservices: {a: {stack: [{call: b}]}, b: {stack: [{call: a}]}}\ncompositions: {c: [{call: a}]}",
			"services.a.stack: calls itself: a calls b calls a"},
		{"a service has the name of a dependency", phases + "dependencies: {db: {latency: 1ms}}\nservices: {db: {stack: [{call: db}]}}\ncompositions: {c: [{call: db}]}",
			"services.db: is the name of a dependency too"},
		{"a stack does not say which of the two it calls", phases + "dependencies: {db: {latency: 1ms}}\nservices: {a: {stack: [{call: db}]}}\ncompositions: {c: []}",
			"compositions.c: calls none of the 2 dependencies"},
		{"workers in a phase alone", "phases: [{name: a, for: 1s}, {name: b, for: 1s, dependencies: {db: {workers: 4}}}]\ndependencies: {db: {latency: 1ms}}\ncompositions: {c: []}",
			"phases.1.dependencies.db.workers: given: there are none but for this phase"},
		{"workers at one replica alone", phases + "dependencies: {db: {latency: 1ms, replicas: 2, replica: [{number: 1, workers: 1}]}}\ncompositions: {c: []}",
			"dependencies.db.replica: workers given"},
		{"the last phase pauses", "phases: [{name: a, for: 1s}, {name: b, for: 1s, dependencies: {db: {paused: true}}}]\ndependencies: {db: {latency: 1ms, workers: 1}}\ncompositions: {c: []}",
			"phases.1.dependencies.db.paused: true: the last phase lasts until everything has ended"},
		{"paused for ever", phases + "dependencies: {db: {latency: 1ms, workers: 1, paused: true}}\ncompositions: {c: []}",
			"dependencies.db.paused: true: work that stands still never ends"},
		{"a queue without workers", phases + "dependencies: {db: {latency: 1ms, queue: 3}}\ncompositions: {c: []}",
			"dependencies.db.queue: given: goes with workers"},
		{"a replica that is not there", phases + "dependencies: {db: {latency: 1ms, replicas: 2, replica: [{number: 3, slowdown: 2}]}}\ncompositions: {c: []}",
			"dependencies.db.replica.0.number: 3: there are 2 replicas"},
		{"a queue of less than nothing", phases + "dependencies: {db: {latency: 1ms, workers: 1, queue: -1}}\ncompositions: {c: []}",
			`dependencies.db.queue: -1: expected a whole number from 0 to 2147483647, or unbounded`},
		{"nobody calls", "callers: 0\n" + phases + "dependencies: {db: {latency: 1ms}}\ncompositions: {c: []}", "callers: 0: expected 1 to 1000000"},
		{"shared, and nothing that is", phases + "dependencies: {db: {latency: 1ms}}\ncompositions: {c: [{shared: true}]}", "compositions.c.0: a mapping with 0 policies"},
	} {
		file := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(file, []byte(head+test.rest), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file, Options{})
		var all Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v\nwant %s", test.name, err, test.want)
		}
	}
}
