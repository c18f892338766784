package study

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// all uses every setting that a study has, but for files.
const all = `study: all
question: Is "everything" <written>?
clock: real
seed: 9007199254740993
repeat: 3
load: {rate: 2.5/s, arrivals: poisson, max_in_flight: 7, dispatch_noise: 300us}
warmup: 2s
horizon: 10s
dependencies:
  a: {latency: 0s, fail: {ratio: 0.25, first: 2, after: 0s}, cancel_cleanup: 20ms, cost: 0}
  b: {latency: {first: 1ms, later: {normal: {mean: 1ms, sd: 0s}}}, hang: false}
  c: {latency: {lognormal: {p50: 1ms, p99: 1s}}, fail_after: 0s}
  d: {first_token: 1ms, token_gap: {exponential: {mean: 1ms}}, tokens: 3}
  e: {latency: {uniform: {min: 0s, max: 1ms}}, refuse: true}
phases:
  - {name: one, for: 1m30s, load: {rate: 1/7s}, dependencies: {a: {latency: {constant: 1ms}}}}
  - {name: two, for: 1m}
compositions:
  x:
    - rate: {rate: 5/s, burst: 2, wait: true}
    - limit: {permits: 1, queue: 2, queue_timeout: 3s, order: lifo}
    - retry: {attempts: 2, on: [failure, rate], backoff: {kind: linear, base: 1ms, factor: 3, cap: 9ms, jitter: proportional(0.25)}}
    - timeout: {after: 3s}
    - breaker: {ratio: 0.5, window: 1s, min_calls: 3, open_for: 1s, probes: 2, close_after: 3}
    - hedge: {extra: 2, after: 0s, on_failure: false}
    - fallback: {open: skip, to: [[{breaker: {consecutive: 5, open_for: 1s}}, {call: a}], [{call: b}], [{call: c}], [{call: d}], [{call: e}]]}
  y: [{call: b}]
slo: {end_to_end: 9s, first_token: 1s}
fault: {phase: two, warmup: 5s, cooldown: 6s, bucket: 500ms, black_hole: 20s, partition_heals: true}
recovery: {phase: one, clean_window: 0s, detector: {entry: 95%, exit: 0.805, window: 5s, hold: 10s, timeout: 40s}}
gates: {enforce: true, send_skew_p99: 4ms, send_skew_max: 40ms, host_cpu: 60%, gc_pause_p99: 2ms, fire_within: 400ms, stale_at_least: 0s, share_min: 40%, share_max: 60%, baseline_goodput: 0%}
herd: {bucket: 1ms}
ties: {runs: 0, noise: 0s}
tables: []
expect:
  - {composition: x, phase: one, measure: y, at_most: 6%, at_least: 60ms, equals: 1e-3}
compare:
  - {measure: y, phase: one, compositions: [x, y]}
notes: [one, "two: three"]
`

// The configuration holds every setting, and is the study again.
func TestConfig(t *testing.T) {
	s := must(t, all)
	again := must(t, string(s.Config()))
	if !equal(s, again) {
		t.Errorf("read back:\n%s\nwritten:\n%s", again.Config(), s.Config())
	}
	var stages [][]json.RawMessage
	var config struct {
		Seed         int64
		SLO, Fault   json.RawMessage
		Recovery     json.RawMessage
		Gates        json.RawMessage
		Load         map[string]any
		Dependencies map[string]json.RawMessage
		Compositions map[string][]json.RawMessage
		Tables       []string
	}
	if err := json.Unmarshal(s.Config(), &config); err != nil {
		t.Fatal(err)
	}
	stages = append(stages, config.Compositions["x"])
	for path, got := range map[string][2]string{
		"dependencies.a": {string(config.Dependencies["a"]), `{"latency":"0s","fail":{"ratio":0.25,"first":2,"after":"0s"},"cancel_cleanup":"20ms","cost":0}`},
		"slo":            {string(config.SLO), `{"end_to_end":"9s","first_token":"1s"}`},
		"fault":          {string(config.Fault), `{"phase":"two","warmup":"5s","cooldown":"6s","bucket":"500ms","black_hole":"20s","partition_heals":true}`},
		"recovery":       {string(config.Recovery), `{"phase":"one","clean_window":"0s","detector":{"entry":"95%","exit":"80.5%","window":"5s","hold":"10s","timeout":"40s"}}`},
		"gates":          {string(config.Gates), `{"enforce":true,"send_skew_p99":"4ms","send_skew_max":"40ms","host_cpu":"60%","gc_pause_p99":"2ms","fire_within":"400ms","stale_at_least":"0s","share_min":"40%","share_max":"60%","baseline_goodput":"0%"}`},
		"dependencies.b": {string(config.Dependencies["b"]), `{"latency":{"first":"1ms","later":{"normal":{"mean":"1ms"}}},"hang":false}`},
		"hedge":          {string(stages[0][5]), `{"hedge":{"extra":2,"on_failure":false}}`},
		"retry":          {string(stages[0][2]), `{"retry":{"attempts":2,"backoff":{"kind":"linear","base":"1ms","factor":3,"cap":"9ms","jitter":"proportional(0.25)"},"on":["failure","rate"]}}`},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %s, want %s", path, got[0], got[1])
		}
	}
	if config.Seed != 9007199254740993 || config.Load["rate"] != "2.5/s" || config.Tables == nil {
		t.Errorf("%s", s.Config())
	}
	for _, b := range BuiltIn() {
		s, err := Read(b.Name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if again := must(t, string(s.Config())); !equal(s, again) {
			t.Errorf("%s read back:\n%s\nwritten:\n%s", b.Name, again.Config(), s.Config())
		}
	}
}

// A tree that cannot be written as it is goes without what is in the way.
func TestWriteIsSafe(t *testing.T) {
	hard := strings.Replace(all, "[one, \"two: three\"]", "[ # a\n  one, # b\n  # c\n  'two: three' # d\n  # e\n  ] # f\n# g", 1)
	s := must(t, hard, "seed=1")
	if again := must(t, string(s.YAML())); !equal(s, again) {
		t.Errorf("read back:\n%s\nwritten:\n%s", again.Config(), s.YAML())
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(Schema())))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("study.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("study.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func generic(t *testing.T, text string) (v any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if v, err = jsonschema.UnmarshalJSON(strings.NewReader(string(b))); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchema(t *testing.T) {
	schema := compiled(t)
	good := map[string]string{"all": all, "small": small, "gates as a word": small + "gates: enforced\nprotocol: ./mine.yaml\n"}
	for _, b := range BuiltIn() {
		source, err := Source(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		good[b.Name] = string(source)
	}
	for name, text := range good {
		if err := schema.Validate(generic(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, edit := range map[string][2]string{
		"unknown field":               {"seed:", "sead:"},
		"unknown field in a stage":    {"permits: 1", "permit: 1"},
		"unknown policy":              {"timeout: {after: 3s}", "timeouts: {after: 3s}"},
		"a stage with two keys":       {"timeout: {after: 3s}", "{timeout: {after: 3s}, call: a}"},
		"a duration without unit":     {"horizon: 10s", "horizon: 10"},
		"a latency without unit":      {"latency: 0s", "latency: 5"},
		"an unknown word":             {"order: lifo", "order: lilo"},
		"an unknown word in a list":   {"[failure, rate]", "[failures]"},
		"a jitter that is none":       {"proportional(0.25)", "much"},
		"a name that is none":         {"  x:\n", "  'x y':\n"},
		"a branch that is no stack":   {"to: [[", "to: [{call: a}, ["},
		"a phase without a name":      {"name: one, for", "for"},
		"text in place of a number":   {"tokens: 3", "tokens: three"},
		"a distribution that is none": {"uniform:", "triangular:"},
		"a share beyond the whole":    {"exit: 0.805", "exit: 80.5"},
		"a share that is none":        {"entry: 95%", "entry: most"},
		"a gate without unit":         {"send_skew_p99: 4ms", "send_skew_p99: 4"},
		"an unknown gate":             {"host_cpu: 60%", "cpu: 60%"},
		"an unknown word for gates":   {"gates: {enforce: true, ", "gates: always # {"},
		"a fault in no phase":         {"fault: {phase: two, ", "fault: {"},
		"a comparison of nothing":     {"compare:\n  - {measure: y, ", "compare:\n  - {"},
	} {
		text := strings.Replace(all, edit[0], edit[1], 1)
		if text == all {
			t.Fatalf("%s: nothing changed", name)
		}
		if schema.Validate(generic(t, text)) == nil {
			t.Errorf("%s: the schema takes it", name)
		}
	}
}

// Every setting has a comment, and everything with defaults tells them.
func TestSchemaIsComplete(t *testing.T) {
	var schema struct {
		Properties map[string]map[string]any
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for name, p := range schema.Properties {
		if p["description"] == nil {
			t.Errorf("%s has no description", name)
		}
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if p, ok := m["properties"].(map[string]any); ok {
			for name, v := range p {
				if v.(map[string]any)["description"] == nil {
					t.Errorf("%s.%s has no description", path, name)
				}
			}
		}
		for k, v := range m {
			walk(path+"."+k, v)
			if list, ok := v.([]any); ok {
				for _, v := range list {
					walk(path+"."+k, v)
				}
			}
		}
	}
	for name, def := range schema.Defs {
		var v any
		if err := json.Unmarshal(def, &v); err != nil {
			t.Fatal(err)
		}
		walk(name, v)
	}
	if got := schema.Properties["horizon"]["default"]; got != "30s" {
		t.Errorf("horizon by default: %v", got)
	}
	if d := cmp.Diff([]any{"virtual", "real"}, schema.Properties["clock"]["enum"]); d != "" {
		t.Error(d)
	}
	text := string(Schema())
	for _, part := range []string{`"default": true`, `"default": "full"`, `"const": 0`, `"oneOf": [`} {
		if !strings.Contains(text, part) {
			t.Errorf("the schema lacks %s", part)
		}
	}
	if again := string(Schema()); again != text {
		t.Error("the schema is another one each time")
	}
}

func TestExplain(t *testing.T) {
	for path, parts := range map[string][]string{
		"":                                      {"a study: a mapping", "\n  horizon       How long", "Default: 30s."},
		"horizon":                               {"horizon: a duration", "is censored", "Default: 30s\n"},
		"load.arrivals":                         {"one of constant, poisson, burst, trace"},
		"tables":                                {"Words: outcomes", "Default: outcomes, amplification, recovery\n"},
		"phases.dependencies.latency":           {"a duration, or a mapping", "\n  lognormal    "},
		"phases.0.dependencies.a.latency.first": {"The latency of the first attempt", "constant"},
		"dependencies.service.fail.ratio":       {"a number", "This share"},
		"compositions.retry.backoff.jitter":     {"proportional(r)", "Default: full\n"},
		"compositions.mine.0.retry.attempts":    {"a whole number", "Default: 3\n"},
		"compositions.mine.fallback.to.0.call":  {"text", "Ends the stack"},
		"compositions.mine.retry.on":            {"Words: failure, timeout"},
		"gates":                                 {"gates: reported, enforced or a mapping with enforce, send_skew_p99", "Default: 50ms."},
		"gates.host_cpu":                        {"a share such as 90% or 0.9", "Default: 70%\n"},
		"slo.end_to_end":                        {"a duration", "0 is no limit"},
		"fault":                                 {"a mapping with phase, warmup", "Default: 1s."},
		"recovery.detector.entry":               {"a share", "Default: 90%\n"},
		"compare.0.compositions":                {"a list of words", "the second is compared with the first"},
		"protocol":                              {"./mine.yaml"},
		"repeat":                                {"a whole number", "Default: 1\n"},
		"external":                              {"compositions.external: a mapping", "Default: 30s."},
		"retry.backoff.jitter":                  {"compositions.retry.backoff.jitter: ", "Default: full\n"},
	} {
		got, err := Explain(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in\n%s", path, part, got)
			}
		}
		for _, line := range strings.Split(got, "\n")[1:] {
			if len([]rune(line)) > 80 {
				t.Errorf("%s: a line of %d", path, len([]rune(line)))
			}
		}
	}
	for path, want := range map[string]string{
		"sead":                        `no setting "sead" in a study: did you mean "seed"?`,
		"phases.dependency":           `no setting "dependency" in phases: did you mean "dependencies"?`,
		"compositions.x.retry.atempt": `no setting "atempt" in compositions.x.retry: did you mean "attempts"?`,
		"seed.x":                      `no setting "x" in seed: that is a single value`,
		"latency":                     `no setting "latency" in a study, but deeper in it, such as dependencies.latency, services.latency, dependencies.replica.latency`,
		"retry.atempt":                `no setting "atempt" in compositions.retry: did you mean "attempts"?`,
		"command.x":                   `no setting "x" in compositions.external.command: that is a single value`,
		"external.":                   `no setting "" in compositions.external: expected one of kind, url, method, headers, body, expect_status, token_env, model, prompt, max_tokens, hosted, http2, connect_timeout, replica_header, prices, command, ready, ready_within, files`,
	} {
		if _, err := Explain(path); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// FuzzRead: no text makes the reader panic, and a study that it takes is
// sound and is written back as itself.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small), "seed=2")
	f.Add([]byte(all), "phases.*.for=1s")
	f.Add([]byte(stacks), "compositions.*.limit.permits=[")
	f.Add([]byte("a: &a [*a]\n<<: {x: y}\n"), "=")
	f.Add([]byte(all), "gates.send_skew_p99=1ms")
	f.Add([]byte(small+"gates: enforced\n"), "gates.host_cpu=50%")
	f.Add([]byte(pinned(nil)), "repeat=4")
	f.Add([]byte(small+"protocol: ./none.yaml\n"), "protocol=replica-loss@0.2")
	f.Add([]byte(small+"notes: [ # x\n a, # y\n b]\n"), "notes.0=z")
	corpus, err := filepath.Glob("../studies/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	slices.Sort(corpus)
	for _, name := range corpus {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "load.rate=5/s")
	}
	f.Fuzz(func(t *testing.T, b []byte, set string) {
		for _, sets := range [][]string{nil, {set}} {
			s, err := Read("-", Options{Stdin: strings.NewReader(string(b)), Sets: sets, Folder: t.TempDir()})
			if err != nil {
				if err.Error() == "" {
					t.Fatal("a fault without words")
				}
				continue
			}
			for name, text := range map[string]string{"YAML": string(s.YAML()), "Config": string(s.Config())} {
				again, err := text1(text)
				if err != nil {
					t.Fatalf("%s does not read back: %v\n%s", name, err, text)
				}
				if !equal(s, again) {
					t.Fatalf("%s reads back as another study:\n%s\n%s", name, s.Config(), again.Config())
				}
			}
			if n := s.Schedule().Expected(); n > mostRequests {
				t.Fatalf("%d requests", n)
			}
		}
	})
}

func text1(s string) (*Study, error) { return Read("-", Options{Stdin: strings.NewReader(s)}) }

// What a struct has by default within another is what it has by itself: the
// configuration, the schema and the explanations build on it.
func TestDefaultsAreTheirOwn(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		outer := reflect.New(typ).Elem()
		setDefaults(outer)
		for _, f := range fieldsOf(typ) {
			if f.typ.Kind() == reflect.Struct && takesFields(f.typ) {
				own := reflect.New(f.typ).Elem()
				setDefaults(own)
				if d := cmp.Diff(own.Interface(), outer.FieldByIndex(f.index).Interface(), cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
					t.Errorf("%v.%s: %s", typ, f.name, d)
				}
			}
			if in := structIn(f.typ); in != nil {
				walk(in)
			}
		}
	}
	walk(reflect.TypeFor[Study]())
	if len(seen) < 20 {
		t.Errorf("only %d structs seen", len(seen))
	}
}
