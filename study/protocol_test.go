package study

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/measure"
	"brunt/studies"
)

// pinnedStudy keeps to replica-loss@0.2. Each <path> is the value of the pin
// with that path, on a line of its own.
const pinnedStudy = `study: pinned
protocol: replica-loss@0.2
repeat: <repeat>
load: {rate: 10/s}
horizon: <horizon>
dependencies: {a: {latency: 5ms}}
<services>
phases:
  - name: <phases.0.name>
    for: <phases.warm-up.for>
  - name: <phases.1.name>
    for: <phases.baseline.for>
  - name: <phases.2.name>
    for: <phases.fault.for>
  - name: <phases.3.name>
    for: <phases.cool-down.for>
<phases>
compositions:
  plain: []
  staged:
    - retry: {attempts: <compositions.*.retry.attempts>}
    - timeout: {after: <compositions.*.timeout.after>}
    - limit: {permits: 100}
<compositions.*.hedge>
<compositions.*.fallback>
slo:
  first_token: <slo.first_token>
  end_to_end: <slo.end_to_end>
fault:
  phase: <fault.phase>
  warmup: <fault.warmup>
  cooldown: <fault.cooldown>
  bucket: <fault.bucket>
  black_hole: <fault.black_hole>
  partition_heals: true
recovery:
  detector:
    entry: <recovery.detector.entry>
    exit: <recovery.detector.exit>
    window: <recovery.detector.window>
    hold: <recovery.detector.hold>
    timeout: <recovery.detector.timeout>
gates:
  enforce: <gates.enforce>
  send_skew_p99: <gates.send_skew_p99>
  send_skew_max: <gates.send_skew_max>
  host_cpu: <gates.host_cpu>
  gc_pause_p99: <gates.gc_pause_p99>
  fire_within: <gates.fire_within>
  stale_at_least: <gates.stale_at_least>
  share_min: <gates.share_min>
  share_max: <gates.share_max>
  baseline_goodput: <gates.baseline_goodput>
`

// grown is what stands in place of pins that pin no single value, when they
// are violated.
var grown = map[string]string{
	"phases":                  "  - {name: more, for: 1s}",
	"services":                "services: {b: {stack: [{call: a}]}}",
	"compositions.*.hedge":    "    - hedge: {after: 1s}",
	"compositions.*.fallback": "    - fallback: {to: [[{call: a}], [{call: a}]]}",
}

// pinned is a study that keeps to the protocol but for some values.
func pinned(other map[string]string) string {
	text := pinnedStudy
	for _, pin := range replicaLoss().Pins {
		value, ok := other[pin.Path]
		if _, list := grown[pin.Path]; !ok && !list {
			value = pin.Value
		}
		text = strings.Replace(text, "<"+pin.Path+">", value, 1)
	}
	return text
}

func replicaLoss() *Protocol {
	text, err := studies.Files.ReadFile("protocols/replica-loss@0.2.yaml")
	if err != nil {
		panic(err)
	}
	r := &reader{file: "p", places: places{}, role: "protocol"}
	p := r.readProtocol(text)
	if len(r.errs) > 0 {
		panic(r.errs)
	}
	return p
}

// around returns values on both sides of a pinned one: what the relation
// refuses, and what it takes besides.
func around(t *testing.T, pin Pin) (weaker, stricter []string) {
	if text, ok := grown[pin.Path]; ok {
		return []string{text}, nil
	}
	at, err := spotAt(spot{typ: reflect.TypeFor[Study]()}, strings.Split(pin.Path, "."), "")
	if err != nil {
		t.Fatal(err)
	}
	var less, more string
	switch {
	case at.typ == durationType:
		d, err := time.ParseDuration(pin.Value)
		if err != nil {
			t.Fatal(err)
		}
		less, more = (d / 2).String(), (2 * d).String()
		if d == 0 {
			less, more = "1s", "600s" // 0 is none
		}
	case isShare(at.typ):
		q, err := measure.ParsePPM(pin.Value)
		if err != nil {
			t.Fatal(err)
		}
		less, more = share(q-10_000), share(q+10_000)
	case at.typ.Kind() == reflect.Int:
		n, err := strconv.Atoi(pin.Value)
		if err != nil {
			t.Fatal(err)
		}
		less, more = strconv.Itoa(n-1), strconv.Itoa(n+1)
	case at.typ.Kind() == reflect.Bool:
		return []string{"false"}, nil
	case pin.Path == "fault.phase":
		return []string{"baseline"}, nil // a phase that is there
	default:
		return []string{"other"}, nil
	}
	switch pin.Relation {
	case AtMost:
		weaker, stricter = []string{more}, []string{less}
	case AtLeast:
		weaker, stricter = []string{less}, []string{more}
	case EqualsIfSet:
		weaker, stricter = []string{less, more}, []string{"0s"}
	default:
		weaker = []string{less, more}
	}
	switch {
	case pin.Path == "compositions.*.retry.attempts":
		stricter = nil // fewer than one is none
	case at.unlimited() && pin.Relation == AtMost:
		weaker = append(weaker, "0s") // no limit is the weakest
	}
	return weaker, stricter
}

// Each pin of the built-in protocol, violated by itself: the study does not
// load, and the fault names line, value, pin and clause. The pinned value and
// a stricter one load.
func TestReplicaLossPins(t *testing.T) {
	p := replicaLoss()
	must(t, pinned(nil))
	for _, pin := range p.Pins {
		t.Run(pin.Path, func(t *testing.T) {
			weaker, stricter := around(t, pin)
			for _, value := range weaker {
				text1 := pinned(map[string]string{pin.Path: value})
				_, err := text(t, text1)
				var all Errors
				if !errors.As(err, &all) {
					t.Fatalf("%s loads: %v", value, err)
				}
				line, column := placeIn(t, pin.Path)
				found := false
				for _, e := range all {
					if e.Line != line || e.Column != column || !strings.Contains(e.Want, "protocol replica-loss@0.2 pins ") {
						continue
					}
					found = true
					if !strings.Contains(e.Want, pin.Value) || !strings.Contains(e.Want, "(clause "+pin.Clause+": "+pin.Why+")") {
						t.Errorf("%s: %v", value, e)
					}
					if _, list := grown[pin.Path]; !list && !sameValue(value, e.Value) {
						t.Errorf("%s: said to be %s", value, e.Value)
					}
				}
				if !found {
					t.Errorf("%s: no fault of the pin at %d:%d:\n%v", value, line, column, err)
				}
			}
			for _, value := range stricter {
				if _, err := text(t, pinned(map[string]string{pin.Path: value})); err != nil {
					t.Errorf("%s does not load: %v", value, err)
				}
			}
		})
	}
}

// placeIn is where the template has the value of a pin.
func placeIn(t *testing.T, path string) (line, column int) {
	t.Helper()
	for i, text := range strings.Split(pinnedStudy, "\n") {
		at := strings.Index(text, "<"+path+">")
		switch {
		case at < 0:
		case path == "phases": // the list begins with its first phase
			line, _ = placeIn(t, "phases.0.name")
			return line, 3
		case grown[path] != "":
			return i + 1, strings.Index(grown[path], "{") + 1
		default:
			return i + 1, at + 1
		}
	}
	t.Fatalf("the template has no place for %s", path)
	return 0, 0
}

func sameValue(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	return a == b || errX == nil && errY == nil && x == y || x == 0 && errX == nil && b == "no limit"
}

// What a study leaves out counts with its default, and is blamed on the line
// that names the protocol.
func TestPinsOfDefaults(t *testing.T) {
	without := func(from, to string) string {
		s := pinned(nil)
		i := strings.Index(s, from)
		k := strings.Index(s[i:], to)
		if i < 0 || k < 0 {
			t.Fatalf("%q to %q is not there", from, to)
		}
		return s[:i] + s[i+k:]
	}
	const at = "stdin:2:11: "
	for _, c := range []struct{ name, text, want string }{
		{"one run", without("repeat", "load"), at + "repeat: 1 by default: protocol replica-loss@0.2 pins at least 5 (clause 6.1: "},
		{"no SLO", without("slo", "fault:\n"), at + "slo.first_token: no limit by default: protocol replica-loss@0.2 pins at most 1s (clause 5.1: "},
		{"half an SLO", without("  end_to_end", "fault:\n"), at + "slo.end_to_end: no limit by default: protocol replica-loss@0.2 pins at most 14s (clause 5.1: "},
		{"no fault", without("fault:\n", "recovery"), at + "fault.phase: missing: protocol replica-loss@0.2 pins fault (clause 3.3: "},
		{"a phase that is missing", strings.Replace(pinned(nil), "name: cool-down", "name: cooling", 1), at + "phases.cool-down.for: missing: protocol replica-loss@0.2 pins 60s (clause 3.2: "},
		// the defaults keep to the protocol
		{"gates", strings.Split(pinned(nil), "gates:")[0], ""},
		{"the detector", without("recovery", "gates"), ""},
		{"no timeout and no retry", without("  staged", "slo"), ""},
		{"limits of gates, as a word", strings.Split(pinned(nil), "gates:")[0] + "gates: enforced\n", ""},
		{"gates, as a word", strings.Split(pinned(nil), "gates:")[0] + "gates: reported\n", "stdin:43:8: gates.enforce: false: protocol replica-loss@0.2 pins true (clause 8.1: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := text(t, c.text)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want == "" && !s.EnforcesGates():
				t.Error("a protocol enforces the gates")
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
	// the defaults of what is left out as a whole count too
	if _, err := text(t, without("fault:\n", "recovery")); err == nil || strings.Contains(err.Error(), "fault.bucket") {
		t.Errorf("buckets of a second by default: %v", err)
	}
	// a value that is wrong by itself is said once
	_, err := text(t, pinned(map[string]string{"repeat": "0"}))
	faults(t, err, "stdin:3:9: repeat: 0: expected 1 to 100")
	_, err = text(t, pinned(nil), "repeat=4", "compositions.staged.retry.attempts=3")
	if err == nil || !strings.HasPrefix(err.Error(), "--set compositions.staged.retry.attempts=3: compositions.staged.0.retry.attempts: 3: protocol") ||
		!strings.Contains(err.Error(), "\n--set repeat=4: repeat: 4: protocol") {
		t.Errorf("settings that weaken a pin: %v", err)
	}
}

// A protocol that is built in says who it is, and what it pins.
func TestProtocol(t *testing.T) {
	s := must(t, pinned(nil))
	file, err := studies.Files.ReadFile("protocols/replica-loss@0.2.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file)
	p := s.Protocol()
	if p.Name != "replica-loss" || p.Version != "0.2" || p.String() != "replica-loss@0.2" || p.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", p)
	}
	if d := cmp.Diff(replicaLoss().Pins, s.Pins()); d != "" || len(p.Pins) < 30 {
		t.Error(d)
	}
	if again := must(t, string(s.Config())); !equal(s, again) {
		t.Errorf("read back: %s", again.Config())
	}
	free := must(t, small)
	if free.Protocol() != nil || free.Pins() != nil || (&Study{}).Protocol() != nil || free.EnforcesGates() {
		t.Error("a study without a protocol has one")
	}
	for name, want := range map[string]string{
		"replica-loss":     `"replica-loss": names no version: expected replica-loss@0.2; a file is written with its folder, ./mine.yaml`,
		"replica-loss@0.3": `"replica-loss@0.3": no built-in protocol: did you mean "replica-loss@0.2"?; a file is written with its folder, ./mine.yaml`,
	} {
		_, err := text(t, small+"protocol: "+name+"\n")
		faults(t, err, "stdin:12:11: protocol: "+want)
	}
}

const mine = `name: mine
version: 1
purpose: To try it.
pins:
  - {path: phases.*.for, relation: at_least, value: 10s, clause: a, why: b}
`

func pinLine(path, relation, value string) string {
	return fmt.Sprintf("  - {path: %s, relation: %s, value: %s, clause: c, why: w}\n", path, relation, value)
}

// A protocol of the user's own, beside the study; the results keep a copy.
func TestOwnProtocol(t *testing.T) {
	study := strings.Replace(stacks, "study: small\n", "study: small\nprotocol: ./in/mine.yaml\n", 1)
	for _, c := range []struct{ name, study, pins, want string }{
		{"kept", study, "", ""},
		// each phase that is too short
		{"all phases", study, pinLine("phases.*.for", "at_most", "5s"), "phases.0.for: 10s|phases.1.for: 20s"},
		{"one by name", study, pinLine("phases.one.for", "at_most", "5s"), "phases.0.for: 10s"},
		{"a name with a dot", study, pinLine("compositions.v1.5.fallback.open", "equals", "last"), "compositions.v1.5.0.fallback.open: in_order by default"},
		{"stages in branches", study, pinLine("compositions.*.timeout.after", "at_most", "999ms"), "compositions.v1.5.0.fallback.to.0.0.timeout.after: 1s"},
		{"every stage of a policy", study, pinLine("compositions.both.retry.attempts", "at_least", "3"), "compositions.both.1.retry.attempts: 2|compositions.both.2.retry.attempts: 2"},
		{"a stage by index", study, pinLine("compositions.both.1.retry.attempts", "equals", "3"), "compositions.both.1.retry.attempts: 2"},
		{"a policy that no stack has", study, pinLine("compositions.*.breaker.probes", "equals", "3"), ""},
		{"a composition that is missing", study, pinLine("compositions.other.retry.attempts", "equals", "3"), "compositions.other.retry.attempts: missing"},
		{"a rate", study, pinLine("load.rate", "at_least", "601/min"), "load.rate: 10/s"},
		{"the same rate in another unit", study, pinLine("load.rate", "equals", "600/min"), ""},
		{"a word", study, pinLine("load.arrivals", "equals", "poisson"), "load.arrivals: constant by default"},
		{"no limit, where one is pinned", study, pinLine("load.max_in_flight", "at_most", "100"), "load.max_in_flight: no limit by default"},
		{"no limit, where a lower one would be weaker", study, pinLine("load.max_in_flight", "at_least", "100"), ""},
		{"a number of stacks", study, pinLine("compositions", "at_least", "5"), "compositions: 4 of them"},
		{"a number of stages", study, pinLine("compositions.both", "at_most", "2"), "compositions.both: 3 of them"},
		{"a latency written as a word", study, pinLine("dependencies.*.latency.constant", "at_most", "4ms"), "dependencies.a.latency.constant: 5ms"},
		{"what is left out is none", study, pinLine("dependencies.a.fail.ratio", "at_most", "0.1"), ""},
		{"what a phase does not change", study, pinLine("phases.*.dependencies.a.latency.constant", "at_least", "1ms"), ""},
		{"what a phase changes to 0", strings.Replace(study, "name: two", "name: two, dependencies: {a: {latency: 0s}}", 1), pinLine("phases.*.dependencies.a.latency.constant", "at_least", "1ms"), "phases.1.dependencies.a.latency.constant: 0s"},
		{"a rate that a phase changes", strings.Replace(study, "name: two", "name: two, load: {rate: 1/s}", 1), pinLine("phases.*.load.rate", "at_least", "10/s"), "phases.1.load.rate: 1/s"},
		{"a list that must be empty", study, "  - {path: tables, relation: absent, clause: c, why: w}\n", "tables: given"},
		{"a mapping that must be absent", study, "  - {path: fault, relation: absent, clause: c, why: w}\n", ""},
		{"a range", study, pinLine("seed", "at_least", "1") + pinLine("seed", "at_most", "1"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, c.study, map[string]string{"in/mine.yaml": mine + c.pins})
			s, err := Read(path, Options{})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if p := s.Protocol(); p.String() != "mine@1" || len(s.Files()) != 1 || s.Files()[0].Name != "./in/mine.yaml" || !s.EnforcesGates() {
					t.Errorf("%v, files %v", p, s.Files())
				}
				return
			}
			var all Errors
			if !errors.As(err, &all) {
				t.Fatalf("it loads: %v", err)
			}
			var got []string
			for _, e := range all {
				if !strings.HasPrefix(e.Want, "protocol mine@1 pins ") || e.File != path || e.Line == 0 {
					t.Errorf("%v", e)
				}
				got = append(got, e.Path+": "+e.Value)
			}
			if d := cmp.Diff(strings.Split(c.want, "|"), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The faults of a protocol have their place in its own file, and come all at
// once.
func TestProtocolFaults(t *testing.T) {
	for _, c := range []struct{ name, protocol, want string }{
		{"nothing", "", "./mine.yaml: is empty: expected a protocol"},
		{"a list", "[]", "./mine.yaml:1:1: a list: expected a protocol: a mapping with name, version, purpose and pins"},
		{"two documents", mine + "---\na: b\n", "./mine.yaml:6:1: a second document begins here: expected one protocol in a file"},
		{"no pins", "name: x y\nversions: 1\n", `./mine.yaml:1:1: version: missing: expected the version of the protocol
./mine.yaml:1:1: purpose: missing: expected what the protocol is for, in a sentence
./mine.yaml:1:1: pins: missing: expected at least one pin
./mine.yaml:1:7: name: "x y": expected ` + nameRule + `
./mine.yaml:2:1: versions: unknown field "versions": did you mean "version"?`},
		{"pins that say nothing", mine + "  - {path: seed}\n  - {relation: equals}\n", `./mine.yaml:6:5: pins.1.clause: missing: expected the clause that pins the setting
./mine.yaml:6:5: pins.1.why: missing: expected why the setting is pinned
./mine.yaml:6:5: pins.1.relation: missing: expected equals, at_most, at_least, equals_if_set, absent
./mine.yaml:7:5: pins.2.clause: missing: expected the clause that pins the setting
./mine.yaml:7:5: pins.2.why: missing: expected why the setting is pinned
./mine.yaml:7:5: pins.2.path: missing: expected the path of a setting, such as phases.*.for`},
		{"no value", mine + "  - {path: seed, relation: equals, clause: c, why: w}\n", "./mine.yaml:6:5: pins.1.value: missing: expected a whole number"},
		{"paths that lead nowhere", mine + pinLine("horizn", "equals", "1s") + pinLine("phases.*.fro", "equals", "1s") + pinLine("seed.x", "equals", "1") + pinLine("compositions.*.retries.attempts", "equals", "1") + pinLine("tables.first", "equals", "herd"),
			`./mine.yaml:6:12: pins.1.path: horizn: no setting "horizn" in a study: did you mean "horizon"?
./mine.yaml:7:12: pins.2.path: phases.*.fro: no setting "fro" in phases.*: did you mean "for"?
./mine.yaml:8:12: pins.3.path: seed.x: no setting "x" in seed: that is a single value
./mine.yaml:9:12: pins.4.path: compositions.*.retries.attempts: no setting "retries" in compositions.*: did you mean "retry"?
./mine.yaml:10:12: pins.5.path: tables.first: no element "first" in tables: expected an index or *`},
		{"an unknown relation", mine + pinLine("seed", "at_mots", "1"), `./mine.yaml:6:28: pins.1.relation: "at_mots": expected equals, at_most, at_least, equals_if_set, absent`},
		{"values of the wrong type", mine + pinLine("horizon", "equals", "30") + pinLine("seed", "equals", "x") + pinLine("gates.host_cpu", "at_most", "70") + pinLine("load.rate", "equals", "1s") +
			pinLine("phases", "equals", "four") + pinLine("load.arrivals", "equals", "often") + pinLine("gates.enforce", "equals", "enforced") + pinLine("slo", "equals", "1s") + pinLine("phases.*.dependencies.a.cost", "at_most", ".nan") + pinLine("expect.*.at_most", "at_most", "1"),
			`./mine.yaml:6:46: pins.1.value: "30": expected a duration such as 5ms, 30s or 1h30m
./mine.yaml:7:43: pins.2.value: "x": expected a whole number
./mine.yaml:8:54: pins.3.value: "70": too large: expected a percentage such as 90%, or a number from 0 to 1
./mine.yaml:9:48: pins.4.value: "1s": expected a rate such as 100/s, 6000/min or 1/10s
./mine.yaml:10:45: pins.5.value: "four": expected a length: a whole number
./mine.yaml:11:52: pins.6.value: "often": expected one of constant, poisson, burst, trace
./mine.yaml:12:52: pins.7.value: "enforced": expected true or false
./mine.yaml:13:42: pins.8.value: "1s": is of many settings: expected the path of one of them, such as end_to_end
./mine.yaml:14:68: pins.9.value: ".nan": expected a number
./mine.yaml:15:56: pins.10.value: "1": cannot be pinned: expected the path of a number, a duration, a share, a rate or a word`},
		{"an order of words", mine + pinLine("load.arrivals", "at_most", "burst"), "./mine.yaml:6:37: pins.1.relation: at_most: expected equals: words have no order"},
		{"what always has a value", mine + pinLine("seed", "absent", "1"), `./mine.yaml:6:28: pins.1.relation: absent: expected another one: seed always has a value
./mine.yaml:6:43: pins.1.value: 1: has no meaning with relation: absent`},
		{"pins that stand twice", mine + pinLine("seed", "equals", "1") + pinLine("seed", "at_most", "1") + pinLine("phases.*.for", "at_least", "20s") + pinLine("phases.*.for", "equals", "20s"),
			`./mine.yaml:7:12: pins.2.path: seed: is pinned already, by pin 2
./mine.yaml:8:12: pins.3.path: phases.*.for: is pinned already, by pin 1
./mine.yaml:9:12: pins.4.path: phases.*.for: is pinned already, by pin 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, small+"protocol: ./mine.yaml\n", map[string]string{"mine.yaml": c.protocol})
			_, err := Read(path, Options{})
			faults(t, err, c.want)
		})
	}
	path := write(t, small+"protocol: ../mine.yaml\n", map[string]string{})
	_, err := Read(path, Options{})
	faults(t, err, path+`:12:11: protocol: "../mine.yaml": expected a file in the study's folder, so that the results can keep a copy`)
}

// FuzzProtocol: no text makes the reader panic, and what it takes as a protocol
// can be held against a study.
func FuzzProtocol(f *testing.F) {
	f.Add([]byte(mine))
	f.Add([]byte(mine + pinLine("compositions.*.timeout.after", "at_most", "1s") + pinLine("phases", "equals_if_set", "2")))
	f.Add([]byte(mine + pinLine("dependencies.*.latency.first.normal.mean", "equals", "1ms") + pinLine("tables.0", "equals", "herd")))
	f.Add([]byte(mine + pinLine("compositions.x.*", "absent", "1") + pinLine("expect.*.measure", "equals", "y")))
	file, err := studies.Files.ReadFile("protocols/replica-loss@0.2.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	s := must(f, all)
	f.Fuzz(func(t *testing.T, b []byte) {
		own := &reader{file: "p", places: places{}, role: "protocol"}
		p := own.readProtocol(b)
		if len(own.errs) > 0 {
			if own.errs.Error() == "" {
				t.Fatal("a fault without words")
			}
			return
		}
		r := &reader{file: "s", places: places{}}
		for _, pin := range p.Pins {
			for _, e := range r.violations(s, p, pin) {
				if e.Value == "" || !strings.Contains(e.Want, " pins ") {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}
