package study

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/clock"
)

const stacks = small + `
  both: # two retries
    - limit: {permits: 2} # a limit
    - retry: {attempts: 2}
    - retry: {attempts: 2}
  v1.5:
    - fallback: {to: [[{timeout: {after: 1s}}, {call: a}], [{call: a}]]}
tables: [outcomes]
`

func TestSet(t *testing.T) {
	attempts := func(s *Study, composition string, stage int) int {
		c, _ := s.Compositions.Get(composition)
		return c[stage].Retry.Attempts
	}
	for _, c := range []struct {
		name string
		sets []string
		ok   func(*Study) bool
	}{
		{"a scalar that is there", []string{"load.rate=250/s"}, func(s *Study) bool { return s.Load.Rate == clock.PerSecond(250) }},
		{"a field that is not", []string{"seed=7"}, func(s *Study) bool { return s.Seed == 7 }},
		{"a field of a mapping that is not", []string{"recovery.clean_window=1s"}, func(s *Study) bool { return s.Recovery.CleanWindow == time.Second }},
		{"the later setting wins", []string{"seed=7", "seed=8"}, func(s *Study) bool { return s.Seed == 8 }},
		{"all elements", []string{"phases.*.for=1s"}, func(s *Study) bool { return s.Phases[0].For == time.Second && s.Phases[1].For == time.Second }},
		{"an element by name", []string{"phases.two.for=1s"}, func(s *Study) bool { return s.Phases[0].For == 10*time.Second && s.Phases[1].For == time.Second }},
		{"an element by index", []string{"phases.1.for=1s"}, func(s *Study) bool { return s.Phases[1].For == time.Second }},
		{"a whole element", []string{"phases.0={name: other, for: 3s}"}, func(s *Study) bool { return s.Phases[0].Name == "other" }},
		{"a stage by its policy", []string{"compositions.retry.retry.attempts=4"}, func(s *Study) bool { return attempts(s, "retry", 0) == 4 }},
		{"a stage by index", []string{"compositions.both.1.retry.attempts=4"}, func(s *Study) bool { return attempts(s, "both", 1) == 4 && attempts(s, "both", 2) == 2 }},
		// stacks without a limit stay as they are
		{"a stage wherever it is", []string{"compositions.*.limit.permits=9"}, func(s *Study) bool { c, _ := s.Compositions.Get("both"); return c[0].Limit.Permits == 9 }},
		{"a name with a dot", []string{"compositions.v1.5.fallback.to.0.timeout.after=2s"}, func(s *Study) bool {
			c, _ := s.Compositions.Get("v1.5")
			return c[0].Fallback.To[0][0].Timeout.After == 2*time.Second
		}},
		{"a scalar that becomes a mapping", []string{"dependencies.a.latency.first=1s", "dependencies.a.latency.later=2s"}, func(s *Study) bool {
			a, _ := s.Dependencies.Get("a")
			return *a.Latency.First.Constant == time.Second && *a.Latency.Later.Constant == 2*time.Second && a.Latency.Constant == nil
		}},
		{"a phase's change that is not there", []string{"phases.two.dependencies.a.hang=true"}, func(s *Study) bool { return *s.Behaviour(1, "a").Hang && s.Behaviour(0, "a").Hang == nil }},
		{"a list", []string{"tables=[herd, recovery]"}, func(s *Study) bool { return len(s.Tables) == 2 && s.Tables[0] == HerdTable }},
		{"an element of words", []string{"tables.0=herd"}, func(s *Study) bool { return s.Tables[0] == HerdTable }},
		{"a value with =", []string{"question='a = b: c'"}, func(s *Study) bool { return s.Question == "a = b: c" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := must(t, stacks, c.sets...)
			if !c.ok(s) {
				t.Errorf("%v did not do it:\n%s", c.sets, s.YAML())
			}
			if again := must(t, string(s.YAML())); !equal(s, again) {
				t.Errorf("written back, it is another study:\n%s", s.YAML())
			}
			for _, comment := range []string{"# two retries", "# a limit"} {
				if !strings.Contains(string(s.YAML()), comment) {
					t.Errorf("%s is lost:\n%s", comment, s.YAML())
				}
			}
		})
	}
}

func TestSetFaults(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{"no value", "seed", `--set seed: expected path=value, such as load.rate=250/s`},
		{"no path", "=3", `--set =3: expected path=value, such as load.rate=250/s`},
		{"empty value", "seed=", `--set seed=: seed: nothing: expected a whole number`},
		{"unknown field", "sead=3", `--set sead=3: sead: unknown field "sead": did you mean "seed"?`},
		{"unknown phase", "phases.tow.for=3s", `--set phases.tow.for=3s: phases.tow: no "tow": did you mean "two"?`},
		{"no such index", "phases.2.for=3s", `--set phases.2.for=3s: phases.2: no element "2": there are 2, counted from 0`},
		{"unknown composition", "compositions.rety.retry.attempts=3", `--set compositions.rety.retry.attempts=3: compositions.rety: no "rety": did you mean "retry"?`},
		{"unknown stage", "compositions.both.brekaer.probes=3", `--set compositions.both.brekaer.probes=3: compositions.both.brekaer: no stage "brekaer": expected one of limit, retry, retry`},
		{"one of two stages", "compositions.both.retry.attempts=3", `--set compositions.both.retry.attempts=3: compositions.both.retry: names several stages: expected the index of one, such as 2`},
		{"a stage that is nowhere", "compositions.*.hedge.extra=1", `--set compositions.*.hedge.extra=1: compositions.plain.hedge: no stage "hedge": expected nothing here: there is none`},
		{"part of a value", "seed.x=1", `--set seed.x=1: seed.x: seed is a whole number and has no parts`},
		{"element of nothing", "expect.0.phase=one", `--set expect.0.phase=one: expect.0: there is no list to find "0" in`},
		{"broken YAML", "seed=[", `--set seed=[: seed: is not YAML: did not find expected node content`},
		{"wrong kind", "load.rate=[1]", `--set load.rate=[1]: load.rate: a list: expected a rate such as 100/s, 6000/min or 1/10s`},
		{"a value that its Check refuses", "compositions.retry.retry.attempts=0", `--set compositions.retry.retry.attempts=0: compositions.retry.0.retry.attempts: 0: expected 1 to 1000`},
		{"unknown field in a value", "recovery={fase: one}", `--set recovery={fase: one}: recovery.fase: unknown field "fase": did you mean "phase"?`},
		{"unknown dependency of a phase", "phases.two.dependencies.b.hang=true", `--set phases.two.dependencies.b.hang=true: phases.1.dependencies.b: unknown dependency "b": did you mean "a"?`},
		{"too many requests", "load.rate=1e9/s", `--set load.rate=1e9/s: load.rate: 1000000000/s: makes 30,000,000,000 requests in 30s: expected at most 100,000,000`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := text(t, stacks, c.set)
			faults(t, err, c.want)
		})
	}
	_, err := text(t, "study: x/y\n"+stacks[len("study: small\n"):], "sead=1", "seed=x")
	faults(t, err,
		`--set sead=1: sead: unknown field "sead": did you mean "seed"?`,
		`--set seed=x: seed: x: expected a whole number`,
		`stdin:1:8: study: "x/y": expected at most 64 letters, digits, dashes, dots and underscores, first a letter or a digit`)
}

// A setting does what the same words in the file do.
func TestSetIsAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempts := rapid.IntRange(1, 1000).Draw(t, "attempts")
		base := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base"))
		kind := rapid.SampledFrom([]string{"none", "constant", "linear", "exponential"}).Draw(t, "kind")
		backoff := "{kind: " + kind + ", base: " + base.String() + "}"
		sets := []string{"compositions.retry.retry.backoff=" + backoff, "compositions.retry.0.retry.attempts=" + strconv.Itoa(attempts)}
		written := strings.Replace(small, "{attempts: 3, backoff: {kind: none}}", "{attempts: "+strings.TrimPrefix(sets[1], "compositions.retry.0.retry.attempts=")+", backoff: "+backoff+"}", 1)
		a, errA := Read("-", Options{Stdin: strings.NewReader(small), Sets: sets})
		b, errB := Read("-", Options{Stdin: strings.NewReader(written)})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !equal(a, b) {
			t.Fatalf("set: %s\nwritten: %s", a.Config(), b.Config())
		}
	})
}

func TestNearest(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"retires", "retry"},
		{"retyr", "retry"}, // neighbours swapped count once
		{"Breaker", "breaker"},
		{"hegde", "hedge"},
		{"xyz", ""},
		{strings.Repeat("a", 1<<20), ""}, // hopeless, and not worth the time
	} {
		if got := nearest(c.name, []string{"retry", "breaker", "hedge", "limit"}); got != c.want {
			t.Errorf("%.10s: got %q, want %q", c.name, got, c.want)
		}
	}
	var got []int
	for _, p := range [][2]string{{"", ""}, {"a", ""}, {"ab", "ba"}, {"abc", "axc"}, {"kitten", "sitting"}} {
		got = append(got, edits(p[0], p[1]))
	}
	if d := cmp.Diff([]int{0, 1, 1, 1, 3}, got); d != "" {
		t.Error(d)
	}
}
