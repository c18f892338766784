package serve

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/study"
)

// local is a study of a file.
func local(text string) source {
	return source{id: "./x.yaml", argument: "./x.yaml", text: []byte(text)}
}

func knobsIn(t *testing.T, f source) []*knob {
	t.Helper()
	st, err := f.read(nil)
	if err != nil {
		t.Fatal(err)
	}
	knobs, err := knobsOf(f, st)
	if err != nil {
		t.Fatal(err)
	}
	return knobs
}

// What can be turned, and under which name.
func TestKnobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"stacks that agree are turned together, and others alone", `study: x
load: {rate: 6000/min, max_in_flight: 100}
dependencies: {db: {latency: {lognormal: {p50: 5ms, p99: 50ms}}, fail: {ratio: 0.25}, workers: 4, cost: 3}}
phases: [{name: a, for: 1m, load: {rate: 3/s}}, {name: b, for: 90s, dependencies: {db: {latency: 1s, slowdown: 2.5}}}]
compositions:
  one: [{retry: {attempts: 3, backoff: {kind: none}}}, {timeout: {after: 1s}}]
  two: [{retry: {attempts: 4, backoff: {kind: exponential}, budget: {recent: {share: 20%}}}}, {timeout: {after: 1s}}]
`, []string{
			"Load: load rate: load.rate=100/s", "Load: load max_in_flight: load.max_in_flight=100", "Load: horizon: horizon=30s", "Load: seed: seed=1",
			"Every stack: timeout after: compositions.*.timeout.after=1s",
			"Stack one: retry attempts: compositions.one.retry.attempts=3",
			"Stack two: retry attempts: compositions.two.retry.attempts=4",
			"Stack two: retry backoff base: compositions.two.retry.backoff.base=100ms",
			"Stack two: retry backoff factor: compositions.two.retry.backoff.factor=2",
			"Stack two: retry budget recent share: compositions.two.retry.budget.recent.share=20%",
			"Stack two: retry budget recent ttl: compositions.two.retry.budget.recent.ttl=10s",
			"Stack two: retry budget recent floor: compositions.two.retry.budget.recent.floor=10/s",
			"What is called: db: latency lognormal p50: dependencies.db.latency.lognormal.p50=5ms",
			"What is called: db: latency lognormal p99: dependencies.db.latency.lognormal.p99=50ms",
			"What is called: db: fail ratio: dependencies.db.fail.ratio=0.25",
			"What is called: db: workers: dependencies.db.workers=4",
			"Phase a: for: phases.a.for=1m0s", "Phase a: load rate: phases.a.load.rate=3/s",
			"Phase b: for: phases.b.for=1m30s", "Phase b: db latency: phases.b.dependencies.db.latency=1s", "Phase b: db slowdown: phases.b.dependencies.db.slowdown=2.5",
		}},
		{"a setting for all would be one more where a stack has another kind", `study: x
load: {rate: 1/s}
dependencies: {db: {latency: 5ms}}
phases: [{name: "a.b", for: 10s}, {name: "1", for: 10s}]
compositions:
  count: [{breaker: {consecutive: 5, open_for: 1s}}]
  other: [{breaker: {consecutive: 5, open_for: 1s}}]
  ratio: [{breaker: {ratio: 0.5, calls: 20, open_for: 1s}}]
`, []string{
			"Load: load rate: load.rate=1/s", "Load: horizon: horizon=30s", "Load: seed: seed=1",
			"Every stack: breaker open_for: compositions.*.breaker.open_for=1s",
			"Every stack: breaker probes: compositions.*.breaker.probes=1",
			"Every stack: breaker close_after: compositions.*.breaker.close_after=1",
			"Stack count: breaker consecutive: compositions.count.breaker.consecutive=5",
			"Stack other: breaker consecutive: compositions.other.breaker.consecutive=5",
			"Stack ratio: breaker ratio: compositions.ratio.breaker.ratio=0.5",
			"Stack ratio: breaker calls: compositions.ratio.breaker.calls=20",
			"What is called: db: latency: dependencies.db.latency=5ms",
			"Phase a.b: for: phases.a.b.for=10s",
			"Phase 1: for: phases.1.for=10s",
		}},
		{"the index tells two stages of one kind apart, and branches", `study: x
load: {rate: 1/s}
dependencies: {a: {latency: 5ms}, b: {latency: 5ms}}
phases: [{name: p, for: 10s}]
compositions:
  s: [{timeout: {after: 3s}}, {retry: {attempts: 2, backoff: {kind: none}}}, {timeout: {after: 1s}}, {fallback: {to: [[{timeout: {after: 500ms}}, {call: a}], [{call: b}]]}}]
`, []string{
			"Load: load rate: load.rate=1/s", "Load: horizon: horizon=30s", "Load: seed: seed=1",
			"Stack s: timeout 1 after: compositions.s.0.timeout.after=3s",
			"Stack s: retry attempts: compositions.s.retry.attempts=2",
			"Stack s: timeout 3 after: compositions.s.2.timeout.after=1s",
			"Stack s: branch 1 timeout after: compositions.s.fallback.to.0.timeout.after=500ms",
			"What is called: a: latency: dependencies.a.latency=5ms", "What is called: b: latency: dependencies.b.latency=5ms",
			"Phase p: for: phases.p.for=10s",
		}},
	} {
		var got []string
		for _, k := range knobsIn(t, local(c.text)) {
			got = append(got, k.group+": "+k.label+": "+k.path+"="+k.now)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Every built-in study on the virtual clock can be tried, and each end of each
// slider is a study, or is refused in the words of one.
func TestBuiltInsCanBeTried(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, b := range study.BuiltIn() {
		f := source{id: b.Name, argument: b.Name}
		st, err := f.read(nil)
		if why := refusal(""); errors.As(err, &why) {
			if !strings.HasPrefix(b.Name, "replica-loss") {
				t.Errorf("%s: %v", b.Name, err)
			}
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		tried++
		if err := usual.affordable(st); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		knobs := knobsIn(t, f)
		if len(knobs) < 8 {
			t.Errorf("%s: %d knobs", b.Name, len(knobs))
		}
		good := 0
		var ends []string
		for _, k := range knobs {
			if k.about == "" {
				t.Errorf("%s: %s has no meaning", b.Name, k.path)
			}
			ends = append(ends, k.path+"="+k.texts[len(k.texts)-1])
		}
		for _, end := range ends[:3] {
			switch _, err := f.read([]string{end}); {
			case err == nil:
				good++
			case !errors.As(err, new(study.Errors)):
				t.Errorf("%s: %s: %v", b.Name, end, err)
			}
		}
		if good == 0 {
			t.Errorf("%s: no slider can be moved", b.Name)
		}
	}
	if tried < 8 {
		t.Errorf("%d studies were tried", tried)
	}
}

// A slider has the value that stands there, among others, in order; each is
// written as a study takes it, and passes the check.
func TestSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]struct {
			kind string
			text *rapid.Generator[string]
		}{
			{"a duration such as 5ms", rapid.Custom(func(t *rapid.T) string {
				return formatDuration(durationOf(t))
			})},
			{"a rate such as 100/s", rapid.StringMatching(`[1-9][0-9]{0,6}/(s|min|10s)`)},
			{"a share such as 90%", rapid.StringMatching(`([0-9]|[1-9][0-9]|100)%`)},
			{"a whole number", rapid.StringMatching(`0|[1-9][0-9]{0,6}`)},
			{"a number", rapid.StringMatching(`0\.[0-9]{1,3}|[1-9][0-9]{0,3}`)},
		}).Draw(t, "kind")
		now := kind.text.Draw(t, "now")
		a, ok := amountOf(kind.kind, &value{text: now})
		if !ok {
			t.Fatalf("%s is not %s", now, kind.kind)
		}
		name := rapid.SampledFrom([]string{"attempts", "queue", "ratio", "after"}).Draw(t, "name")
		texts, at := a.steps(name, now)
		if texts[at] != now {
			t.Fatalf("%s is not at %d of %v", now, at, texts)
		}
		if len(texts) > 80 {
			t.Fatalf("%d steps: %v", len(texts), texts)
		}
		last := math.Inf(-1)
		for _, text := range texts {
			v, ok := a.parse(text)
			if !ok || v <= last || strings.ContainsAny(text, " \"'&") {
				t.Fatalf("%q after %v in %v", text, last, texts)
			}
			last = v
			if err := a.check(text, texts); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What may be typed into a field, beside the slider.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, now, text, want string
	}{
		{"a duration", "100ms", "123ms", ""},
		{"a duration", "100ms", "1.5s", ""},
		{"a duration", "100ms", "100", `"100": expected a duration such as 50ms`},
		{"a duration", "100ms", "-1s", `"-1s": expected a duration such as 50ms`},
		{"a duration", "100ms", "10h", `"10h": expected 2ms to 5s`},
		{"a duration", "100ms", "{first: 1s}", `"{first: 1s}": expected a duration such as 50ms`},
		{"a duration", "100ms", "", `"": expected a duration such as 50ms`},
		{"a rate", "100/s", "250/s", ""},
		{"a rate", "100/s", "250/min", `"250/min": expected a rate such as 100/s`},
		{"a rate", "100/s", "9999999/s", `"9999999/s": expected 5/s to 2000/s`},
		{"a whole number", "3", "7", ""},
		{"a whole number", "3", "7.0", `"7.0": expected a whole number`},
		{"a whole number", "3", "7e3", `"7e3": expected a whole number`},
		{"a whole number", "3", "0x7", `"0x7": expected a whole number`},
		{"a whole number", "3", "999", `"999": expected 1 to 20`},
		{"a number", "0.5", "NaN", `"NaN": expected a number such as 0.5`},
		{"a share", "20%", "33%", ""},
		{"a share", "20%", "0.33", `"0.33": expected a share such as 20%`},
		{"a share", "20%", "133%", `"133%": expected 0% to 100%`},
		// what YAML would make more of
		{"a whole number", "3", "&a 3", `"&a 3": expected a whole number`},
		{"a whole number", "3", "3 # more", `"3 # more": expected a whole number`},
		{"a whole number", "3", strings.Repeat("1", 99), `"` + strings.Repeat("1", 60) + `…": expected a whole number`},
	} {
		a, ok := amountOf(c.kind, &value{text: c.now})
		if !ok {
			t.Fatalf("%s is not %s", c.now, c.kind)
		}
		texts, _ := a.steps("x", c.now)
		got := ""
		if err := a.check(c.text, texts); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s for %s: %q, want %q", c.text, c.now, got, c.want)
		}
	}
	for _, kind := range []string{"true or false", "one of a, b", "text", "a mapping with x", "a list of stages"} {
		if _, ok := amountOf(kind, &value{text: "3"}); ok {
			t.Errorf("%s can be turned", kind)
		}
	}
}

// Only what can be turned is set, once, and what is as it was is not.
func TestChosen(t *testing.T) {
	t.Parallel()
	knobs := knobsIn(t, local(small))
	for _, c := range []struct {
		list []set
		want []string
		err  string
	}{
		{[]set{{"compositions.retry.retry.attempts", "5"}, {"load.rate", "60/s"}}, []string{"load.rate=60/s", "compositions.retry.retry.attempts=5"}, ""}, // in the order of the page
		{[]set{{"load.rate", "50/s"}}, nil, ""}, // as it was
		{nil, nil, ""},
		{[]set{{"load.rate", "60/s"}, {"load.rate", "70/s"}}, nil, "load.rate is set twice"},
		{[]set{{"load.rate", "fast"}}, nil, `load.rate: "fast": expected a rate such as 100/s`},
		// settings that exist, and that no slider turns
		{[]set{{"clock", "real"}}, nil, `"clock" is nothing that can be turned here`},
		{[]set{{"load.trace", "/etc/passwd"}}, nil, `"load.trace" is nothing that can be turned here`},
		{[]set{{"dependencies.db.replay", "/etc"}}, nil, `"dependencies.db.replay" is nothing that can be turned here`},
		{[]set{{"repeat", "1000"}}, nil, `"repeat" is nothing that can be turned here`},
		{[]set{{"load", "{rate: 1/s}"}}, nil, `"load" is nothing that can be turned here`},
		{[]set{{"load.rate=1/s --out", "x"}}, nil, `"load.rate=1/s --out" is nothing that can be turned here`},
	} {
		got, err := chosen(knobs, c.list)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !slices.Equal(got, c.want) || text != c.err {
			t.Errorf("%v: %v, %q; want %v, %q", c.list, got, text, c.want, c.err)
		}
	}
}

func durationOf(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "ns"))
}
