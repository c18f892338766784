package study

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/measure"
	"brunt/record"
)

// faulty is a fault study with the given lines.
func faulty(lines string) string {
	return `study: x
load: {rate: 10/s}
horizon: 10s
dependencies: {a: {latency: 10ms}}
phases: [{name: before, for: 60s}, {name: fault, for: 100s}]
compositions: {x: [], y: [{retry: {}}]}
` + lines + "\n"
}

func TestCheckFaultStudy(t *testing.T) {
	const slo = "slo: {end_to_end: 10s}\n"
	for _, c := range []struct{ name, lines, want string }{
		{"all is well", slo + "fault: {phase: fault, warmup: 49s, cooldown: 99s, black_hole: 100s, partition_heals: true}", ""},
		{"no run", "repeat: 0", "stdin:7:9: repeat: 0: expected 1 to 100"},
		{"too many runs", "repeat: 101", "stdin:7:9: repeat: 101: expected 1 to 100"},
		{"seeds that run out", "seed: 9223372036854775807\nrepeat: 2", "stdin:7:7: seed: 9223372036854775807: leaves no seeds for 2 repeats: expected a smaller one"},
		{"the last seeds", "seed: 9223372036854775806\nrepeat: 2", ""},
		{"an SLO of nothing", "slo: {}", "stdin:7:6: slo: promises nothing: expected end_to_end, first_token or both"},
		{"an SLO below 0", "slo: {end_to_end: -1s, first_token: -1ns}", "stdin:7:19: slo.end_to_end: -1s: expected a duration of 0 or more\nstdin:7:37: slo.first_token: -1ns: expected a duration of 0 or more"},
		{"an SLO beyond the horizon", "slo: {end_to_end: 10001ms}", "stdin:7:19: slo.end_to_end: 10.001s: beyond the horizon of 10s, where a request is censored that could still be in time: expected at most that"},
		{"a fault in no phase", slo + "fault: {}", "stdin:8:8: fault.phase: missing: expected the name of the phase that begins with the fault"},
		{"a fault in an unknown phase", slo + "fault: {phase: faults}", `stdin:8:16: fault.phase: unknown phase "faults": did you mean "fault"?`},
		{"a fault at the start", slo + "fault: {phase: before}", "stdin:8:16: fault.phase: before: begins at 0s: expected later than one horizon of 10s after the start, so that a baseline is left"},
		{"no baseline", slo + "fault: {phase: fault, warmup: 50s}", "stdin:8:31: fault.warmup: 50s: leaves no baseline before the guard, which begins at 50s, one horizon before the fault: expected less than that"},
		{"a baseline without a bucket", slo + "fault: {phase: fault, warmup: 49001ms}", "stdin:8:31: fault.warmup: 49.001s: leaves a baseline of 999ms: expected room for one bucket of 1s"},
		{"no fault but a cool-down", slo + "fault: {phase: fault, cooldown: 100s}", "stdin:8:33: fault.cooldown: 1m40s: leaves nothing of the fault, which begins 1m40s before the end: expected less than that"},
		{"windows below 0", slo + "fault: {phase: fault, warmup: -1s, cooldown: -1s, bucket: 0s, black_hole: -1s}", "stdin:8:31: fault.warmup: -1s: expected a duration of 0 or more\nstdin:8:46: fault.cooldown: -1s: expected a duration of 0 or more\nstdin:8:59: fault.bucket: 0s: expected a duration above 0\nstdin:8:75: fault.black_hole: -1s: expected a duration of 0 or more"},
		{"a black hole beyond the end", slo + "fault: {phase: fault, black_hole: 101s, partition_heals: true}", "stdin:8:35: fault.black_hole: 1m41s: lasts beyond the end of the study, 1m40s after it begins"},
		{"a detector that never enters", "recovery: {detector: {entry: 0, exit: 0}}", "stdin:7:30: recovery.detector.entry: 0%: expected a share above 0"},
		{"a detector that exits above its entry", "recovery: {detector: {entry: 84.9999%}}", "stdin:7:22: recovery.detector.exit: 85%: expected at most entry, 84.9999%: recovery would end where it begins"},
		{"a detector that exits at its entry", "recovery: {detector: {entry: 0.85}}", ""},
		{"a share that is none", "recovery: {detector: {entry: 90}}", "stdin:7:30: recovery.detector.entry: 90: too large: expected a percentage such as 90%, or a number from 0 to 1"},
		{"a window between buckets", "recovery: {detector: {window: 1500ms, hold: 1ms, timeout: -1s}}", "stdin:7:31: recovery.detector.window: 1.5s: expected a multiple of the bucket, 1s\nstdin:7:45: recovery.detector.hold: 1ms: expected a multiple of the bucket, 1s\nstdin:7:59: recovery.detector.timeout: -1s: expected a duration of 0 or more"},
		{"a window of smaller buckets", slo + "recovery: {detector: {window: 1500ms}}\nfault: {phase: fault, bucket: 500ms}", ""},
		{"no window", "recovery: {detector: {window: 0s, hold: 0s}}", "stdin:7:31: recovery.detector.window: 0s: expected a duration above 0\nstdin:7:41: recovery.detector.hold: 0s: expected a duration above 0"},
		{"gates in another word", "gates: always", "stdin:7:8: gates: always: expected reported, enforced or a mapping of limits"},
		{"gates as a number", "gates: 5", "stdin:7:8: gates: 5: expected reported, enforced or a mapping of limits"},
		{"limits that let nothing through", "gates: {send_skew_p99: 0s, gc_pause_p99: 0s, fire_within: 0s, host_cpu: 0}", "stdin:7:24: gates.send_skew_p99: 0s: expected a duration above 0\nstdin:7:42: gates.gc_pause_p99: 0s: expected a duration above 0\nstdin:7:59: gates.fire_within: 0s: expected a duration above 0\nstdin:7:73: gates.host_cpu: 0%: expected a share above 0"},
		{"a p99 over the maximum", "gates: {send_skew_p99: 51ms}", "stdin:7:24: gates.send_skew_p99: 51ms: expected at most send_skew_max, 50ms"},
		{"shares that cannot be", "gates: {share_min: 51%, share_max: 49%}", "stdin:7:20: gates.share_min: 51%: expected at most 50%: no two replicas can both have more\nstdin:7:36: gates.share_max: 49%: expected at least 50%: no two replicas can both have less"},
		{"comparisons", "repeat: 2\ncompare: [{measure: m, compositions: [x, y]}, {measure: m, phase: fault, compositions: [y, x]}]", ""},
		{"comparisons of nothing", "repeat: 2\ncompare: [{}, {measure: m, phase: faul, compositions: [x]}, {measure: m, compositions: [x, z]}, {measure: m, compositions: [y, y]}]",
			`stdin:8:11: compare.0.measure: missing: expected which number it is about, such as attempts/offered
stdin:8:11: compare.0.compositions: missing: expected two, such as [retry, retry-breaker]
stdin:8:35: compare.1.phase: unknown phase "faul": did you mean "fault"?
stdin:8:55: compare.1.compositions: 1: expected two, such as [retry, retry-breaker]
stdin:8:92: compare.2.compositions.1: unknown composition "z": did you mean "x"?
stdin:8:124: compare.3.compositions: y: expected two different compositions`},
		{"a comparison that is planned twice", "repeat: 2\ncompare: [{measure: m, compositions: [x, y]}, {measure: n, compositions: [x, y]}, {measure: m, compositions: [y, x]}]", "stdin:8:83: compare.2: is comparison 1 again: each counts among those that were planned"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := text(t, faulty(c.lines))
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
		})
	}
}

func TestDoubtFaultStudy(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"no SLO", "fault: {phase: fault}", "stdin:7:8: fault: is measured by goodput, and no slo says what is good: add slo: {end_to_end: …}"},
		{"a partition that heals", "slo: {end_to_end: 5s}\nfault: {phase: fault, black_hole: 5s}", "stdin:8:35: fault.black_hole: 5s: ends by itself: set partition_heals, so that its end is not taken for recovery from the loss of a node"},
		{"a first token after the end", "slo: {end_to_end: 5s, first_token: 6s}", "stdin:7:36: slo.first_token: 6s: no dependency is a stream, so no request ever meets it: give one a first_token, or leave this out\nstdin:7:36: slo.first_token: 6s: not before end_to_end of 5s: no stream breaks the one and keeps the other"},
		{"a comparison of one run", "compare: [{measure: m, compositions: [x, y]}]", "stdin:7:10: compare: of one run have no interval: add repeat: 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, must(t, faulty(c.lines)).Warnings().Error()); d != "" {
				t.Error(d)
			}
		})
	}
	path := write(t, faulty("protocol: ./mine.yaml\ngates: {enforce: false}"), map[string]string{"mine.yaml": mine})
	s, err := Read(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(path+":8:18: gates.enforce: false: a protocol enforces the gates all the same", s.Warnings().Error()); d != "" || !s.EnforcesGates() {
		t.Error(d)
	}
}

// A comparison's number is judged as that of an expectation is.
func TestComparisonNames(t *testing.T) {
	judge := func(name string, phase bool, _ []string) (bool, error) {
		if name == "bad" && phase {
			return false, fmt.Errorf("no such number")
		}
		return false, nil
	}
	s := faulty("repeat: 2\ncompare: [{measure: bad, compositions: [x, y]}, {measure: bad, phase: fault, compositions: [x, y]}]")
	_, err := Read("-", Options{Stdin: strings.NewReader(s), Measure: judge})
	faults(t, err, `stdin:8:59: compare.1.measure: "bad": no such number`)
}

// What is read, and what stands in its place by default.
func TestFaultStudyValues(t *testing.T) {
	s := must(t, faulty(`seed: -1
repeat: 3
slo: {end_to_end: 5s}
fault: {phase: fault, warmup: 20s, cooldown: 30s}
recovery: {detector: {entry: 95%}}
gates: {host_cpu: 0.5}`))
	if d := cmp.Diff([]int64{-1, 0, 1}, s.Seeds()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(&Fault{Phase: "fault", Warmup: 20 * time.Second, Cooldown: 30 * time.Second, Bucket: time.Second}, s.Fault); d != "" {
		t.Error(d)
	}
	want := measure.Pinned
	want.Entry = 950_000
	if d := cmp.Diff(want, s.Recovery.Detector); d != "" || s.Recovery.CleanWindow != 250*time.Millisecond {
		t.Error(d)
	}
	if s.Gates.HostCPU != 500_000 || s.Gates.SendSkewMax != 50*time.Millisecond || s.Gates.Enforce {
		t.Errorf("%+v", s.Gates)
	}
	l, ok := s.Layout()
	second := time.Second
	if d := cmp.Diff(measure.Layout{Warmup: 20 * second, Anchor: 60 * second, Horizon: 10 * second, Recovered: record.Never, CoolDown: 130 * second, End: 160 * second}, l); d != "" || !ok {
		t.Error(d)
	}
	plain := must(t, faulty(""))
	if _, ok := plain.Layout(); ok || plain.SLO != nil || plain.Fault != nil || plain.Recovery.Detector != measure.Pinned {
		t.Errorf("%+v", plain)
	}
	// a limit that is set leaves what the word said
	for text, want := range map[string]bool{"gates: enforced": true, "gates: reported": false, "gates: {enforce: true}": true, "": false} {
		s := must(t, faulty(text), "gates.host_cpu=50%")
		if s.EnforcesGates() != want || s.Gates.HostCPU != 500_000 {
			t.Errorf("%q: %+v", text, s.Gates)
		}
	}
	if s := must(t, faulty("gates: enforced"), "gates.enforce=false"); s.EnforcesGates() {
		t.Error("a setting does not override the word")
	}
}

// The configuration of a study that uses none of this says nothing of it, but
// for the word of the gates.
func TestConfigIsBrief(t *testing.T) {
	for _, text := range []string{
		string(must(t, faulty("")).Config()),
		string(must(t, faulty("repeat: 1\nrecovery: {detector: {}}\ngates: {}\ncompare: []")).Config()),
	} {
		for _, name := range []string{"repeat", "protocol", "slo", "fault\":{", "detector", "compare"} {
			if strings.Contains(text, `"`+name) {
				t.Errorf("%s is in %s", name, text)
			}
		}
		if !strings.Contains(text, `"gates":"reported"`) {
			t.Error(text)
		}
	}
	if text := string(must(t, faulty("gates: {enforce: true}\nrepeat: 2")).Config()); !strings.Contains(text, `"gates":"enforced"`) || !strings.Contains(text, `"repeat":2`) {
		t.Error(text)
	}
}

// A fault study loads exactly when it can be cut into windows that leave a
// bucket of baseline and something of the fault.
func TestFaultHasWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := func(name string) time.Duration {
			return time.Duration(rapid.IntRange(0, 12).Draw(t, name)) * 250 * time.Millisecond
		}
		horizon, warmup, cooldown := tick("horizon")+time.Millisecond, tick("warmup"), tick("cooldown")
		before, after := tick("before")+time.Millisecond, tick("after")+time.Millisecond
		s := fmt.Sprintf(`{study: x, load: {rate: 10/s}, horizon: %v, slo: {end_to_end: 1ns}, dependencies: {a: {latency: 1ns}}, compositions: {x: []},
  phases: [{name: a, for: %v}, {name: b, for: %v}], fault: {phase: b, warmup: %v, cooldown: %v, bucket: 250ms}}`, horizon, before, after, warmup, cooldown)
		_, err := Read("-", Options{Stdin: strings.NewReader(s)})
		l := measure.Layout{Warmup: warmup, Anchor: before, Horizon: horizon, Recovered: record.Never, CoolDown: before + after - cooldown, End: before + after}
		windows, bad := l.Windows()
		fits := bad == nil
		if fits {
			var baseline, fault time.Duration
			for _, w := range windows {
				switch w.Kind {
				case measure.BaselineWindow:
					baseline = w.To - w.From
				case measure.FaultWindow:
					fault = w.To - w.From
				}
			}
			fits = baseline >= 250*time.Millisecond && fault > 0
		}
		if fits != (err == nil) {
			t.Fatalf("%s\nread: %v\ncut: %v %v", s, err, windows, bad)
		}
	})
}
