package study

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/fault"
)

// real is a study of a real target with the given lines.
func real(lines string) string {
	return `study: x
clock: real
load: {rate: 10/s}
horizon: 10s
phases: [{name: before, for: 60s}, {name: fault, for: 100s}]
compositions: {x: []}
slo: {end_to_end: 10s}
` + lines + "\n"
}

func TestCheckTargets(t *testing.T) {
	const (
		one = "target: {kind: http, url: \"http://127.0.0.1:1/\"}\n"
		bed = "target: {kind: openai, model: m}\ntestbed: {behaviour: {latency: 5ms}}\n"
	)
	for _, c := range []struct{ name, lines, want string }{
		{"one target", one, ""},
		{"two by name, and which of them", "targets: {a: {url: \"http://127.0.0.1:1/\"}, b: {url: \"http://127.0.0.1:2/\"}}",
			"stdin:6:19: compositions.x: calls none of the 2 dependencies: expected {call: NAME} or a fallback at its end"},
		{"one beside two", one + "targets: {a: {url: \"http://127.0.0.1:1/\"}}",
			"stdin:6:19: compositions.x: calls none of the 2 dependencies: expected {call: NAME} or a fallback at its end\nstdin:8:9: target: stands beside targets: expected the one or the other"},
		{"none at all", "", "stdin:1:1: dependencies: missing: expected at least one dependency"},
		{"a url is missing", "target: {kind: http}", "stdin:8:9: target.url: missing: expected where the target is, such as http://127.0.0.1:8080/"},
		{"a testbed has one", bed, ""},
		{"a testbed that nobody calls", one + "testbed: {behaviour: {latency: 5ms}}", "stdin:9:10: testbed: nothing calls its front: expected a target without a url"},
		{"a testbed without replicas", "target: {kind: http}\ntestbed: {replicas: 0, behaviour: {latency: 5ms}}", "stdin:9:21: testbed.replicas: 0: expected 1 to 26"},
		{"a testbed of nothing", "target: {kind: http}\ntestbed: {}", "stdin:9:10: testbed.behaviour.latency: missing: expected how long an answer takes, such as 5ms"},
		{"replicas twice", "target: {kind: http}\ntestbed: {behaviour: {latency: 5ms, replicas: 2}}", "stdin:9:47: testbed.behaviour.replicas: 2: this is one replica: expected testbed.replicas"},
		{"times from a file", "target: {kind: http}\ntestbed: {behaviour: {latency: {empirical: {file: x.txt}}}}", "stdin:9:22: testbed.behaviour: times from a file are not handed on to the replicas: expected a distribution"},
		{"a log beside a testbed's", bed + "fault: {phase: fault, inject: {kind: kill}, front_log: x.jsonl}", "stdin:10:56: fault.front_log: x.jsonl: the testbed's front has a log of its own: expected none"},
		{"a fault of a replica", bed + "fault: {phase: fault, inject: {kind: kill}, victim: {name: a}}", ""},
		{"a fault of nobody", bed + "fault: {phase: fault, inject: {kind: kill}, victim: {name: c}}", `stdin:10:60: fault.victim.name: unknown replica "c": did you mean "a"?`},
		{"a fault that does not end", bed + "fault: {phase: fault, inject: {kind: freeze}}", "stdin:10:31: fault.inject.for: missing: expected how long the fault lasts"},
		{"a black hole by another name", bed + "fault: {phase: fault, inject: {kind: black_hole, for: 9s}}", "stdin:10:38: fault.inject.kind: black_hole: is written in the place of inject: fault: {black_hole: 120s}"},
		{"two faults", bed + "fault: {phase: fault, inject: {kind: kill}, black_hole: 9s, partition_heals: true}", "stdin:10:31: fault.inject: kill: stands beside black_hole: expected the one or the other"},
		{"nobody to harm", one + "fault: {phase: fault, inject: {kind: kill}}", "stdin:9:8: fault.victim: missing: expected who it is done to, {name: b, address: 127.0.0.1:8002, pid: 1234}"},
		{"a process to kill", one + "fault: {phase: fault, inject: {kind: kill}, victim: {name: b, pid: 1}}", "stdin:9:68: fault.victim.pid: 1: expected the process of the victim"},
		{"another machine to cut off", one + "fault: {phase: fault, black_hole: 9s, partition_heals: true, victim: {address: \"192.0.2.1:80\"}}", "stdin:9:80: fault.victim.address: 192.0.2.1:80: is not this machine: expected kind: exec, with commands that reach it"},
		{"commands elsewhere", one + "fault: {phase: fault, inject: {kind: exec, for: 9s, fire: [\"true\"], undo: [\"true\"]}, victim: {name: b, address: \"192.0.2.1:80\"}}", ""},
		{"a victim of nothing", one + "fault: {phase: fault, victim: {name: b}}", "stdin:9:31: fault.victim: nothing is done to it: expected inject or black_hole too"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := text(t, real(c.lines))
			if c.want != "" {
				faults(t, err, c.want)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if w := s.Warnings(); len(w) > 0 {
				t.Error(w)
			}
			if again := must(t, string(s.Config())); !equal(s, again) {
				t.Errorf("its configuration reads as another study: %s", cmp.Diff(string(s.Config()), string(again.Config())))
			}
		})
	}
}

// A real target keeps no phase's change, and no virtual clock.
func TestTargetsAreReal(t *testing.T) {
	_, err := text(t, `study: x
load: {rate: 10/s}
target: {url: "http://127.0.0.1:1/"}
phases: [{name: a, for: 1s, dependencies: {target: {latency: 5ms}}}]
compositions: {x: []}
`)
	faults(t, err, "stdin:1:1: clock: virtual: a real target answers in its own time: expected clock: real\n"+
		"stdin:4:52: phases.0.dependencies.target: target is a real target, which behaves as it does: expected fault.inject to change it")
}

// What is done to whom.
func TestInjected(t *testing.T) {
	const bed = "target: {kind: openai, model: m}\ntestbed: {replicas: 3, behaviour: {latency: 5ms}}\n"
	s := must(t, real(bed+"fault: {phase: fault, black_hole: 9s, partition_heals: true}"))
	if c := s.Fault.Injected(); c == nil || c.Kind != fault.BlackHole || c.For != 9e9 || s.VictimName() != "c" {
		t.Errorf("the black hole is %+v, of %s", c, s.VictimName())
	}
	s = must(t, real(bed+"fault: {phase: fault, inject: {kind: kill, for: 2s}, victim: {name: a}}"))
	if c := s.Fault.Injected(); c == nil || c.Kind != fault.Kill || s.VictimName() != "a" {
		t.Errorf("the kill is %+v, of %s", c, s.VictimName())
	}
	if got, want := s.Callees(), []string{OnlyTarget}; cmp.Diff(want, got) != "" {
		t.Errorf("it calls %v", got)
	}
}
