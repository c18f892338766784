package study

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/policy"
)

// study1 is a study with two dependencies and the given lines.
func study1(lines string) string {
	return `study: x
load: {rate: 10/s}
dependencies: {a: {latency: 10ms}, b: {latency: 20ms}}
phases: [{name: p, for: 10s}, {name: q, for: 5s, dependencies: {a: {latency: 40ms}}}]
` + lines + "\n"
}

func TestCheckStudy(t *testing.T) {
	call := "compositions: {x: [{call: a}], y: [{call: b}]}\n"
	nested := "[{call: a}]"
	for range mostNested + 1 {
		nested = "[{fallback: {to: [" + nested + "]}}]"
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "study: x", `stdin:1:1: load.rate: missing: expected a rate such as 100/s
stdin:1:1: dependencies: missing: expected at least one dependency
stdin:1:1: phases: missing: expected at least one phase
stdin:1:1: compositions: missing: expected at least one composition`},
		{"no name", strings.TrimPrefix(study1(call), "study: x\n"), "stdin:1:1: study: missing: expected the name of the study"},
		{"a name that leads elsewhere", strings.Replace(study1(call), "study: x", "study: ..", 1), `stdin:1:8: study: "..": expected ` + nameRule},
		{"a phase with a reserved name", strings.Replace(study1(call), "name: p", "name: whole", 1), "stdin:4:17: phases.0.name: whole: is what results call all phases together: expected another name"},
		{"negative time", strings.Replace(study1(call), "for: 10s", "for: -1s", 1), "stdin:4:25: phases.0.for: -1s: expected a duration above 0"},
		{"longer than ten years", strings.NewReplacer("for: 10s", "for: 87000h", "for: 5s", "for: 87000h").Replace(study1(call)), "stdin:4:49: phases.1.for: 87000h0m0s: makes the study longer than ten years"},
		{"a rate that has no meaning", strings.NewReplacer("rate: 10/s", "arrivals: burst, burst: 5", "name: p", "name: p, load: {rate: 1/s}").Replace(study1(call)), "stdin:4:33: phases.0.load.rate: 1/s: has no meaning with arrivals: burst"},
		{"too many requests in a phase", strings.Replace(study1(call), "name: p", "name: p, load: {rate: 1e8/s}", 1), "stdin:4:33: phases.0.load.rate: 100000000/s: makes 1,000,000,050 requests in 15s: expected at most 100,000,000"},
		{"too large a burst", strings.Replace(study1(call), "rate: 10/s", "arrivals: burst, burst: 100000001", 1), "stdin:2:32: load.burst: makes 100,000,001 requests in 15s: expected at most 100,000,000"},
		{"noise beyond the horizon", strings.Replace(study1(call), "10/s", "10/s, dispatch_noise: 30s", 1), "stdin:2:36: load.dispatch_noise: 30s: expected less than the horizon of 30s"},
		{"two dependencies and no call", study1("compositions: {x: []}"), "stdin:5:19: compositions.x: calls none of the 2 dependencies: expected {call: NAME} or a fallback at its end"},
		{"nothing called", study1(`compositions: {x: [{call: ""}]}`), "stdin:5:20: compositions.x.0: calls nothing: expected the name of a dependency"},
		{"a branch without an end", study1("compositions: {x: [{fallback: {to: [[{timeout: {after: 1s}}], [{call: b}]]}}]}"), "stdin:5:37: compositions.x.0.fallback.to.0: a branch ends in {call: NAME} or in another fallback: expected one of them last"},
		{"no branch", study1("compositions: {x: [{fallback: {}}]}"), "stdin:5:31: compositions.x.0.fallback.to: missing: expected the branches, each a stack that ends in {call: NAME}"},
		{"something after a fallback", study1("compositions: {x: [{fallback: {to: [[{call: a}], [{call: b}]]}}, {call: b}]}"), "stdin:5:31: compositions.x.0.fallback: fallback ends a stack: nothing may follow it"},
		{"an unknown dependency in a branch", study1("compositions: {x: [{fallback: {to: [[{call: a}], [{call: bb}]]}}]}"), `stdin:5:58: compositions.x.0.fallback.to.1.0.call: unknown dependency "bb": did you mean "b"?`},
		{"an opening that is none", study1("compositions: {x: [{fallback: {open: first, to: [[{call: a}], [{call: b}]]}}]}"), `stdin:5:38: compositions.x.0.fallback.open: "first": expected in_order, last, skip`},
		{"fallbacks in fallbacks", study1("compositions: {x: " + nested + "}"), "stdin:5:391: compositions.x" + strings.Repeat(".0.fallback.to.0", 20) + ".0.fallback: stands in 20 other fallbacks: expected at most 19"},
		{"attempts that multiply", study1("compositions: {y: [{call: b}], x: [{retry: {attempts: 101}}, {hedge: {extra: 99, after: 1ms}}, {call: a}]}"), "stdin:5:35: compositions.x: makes up to 10,100 attempts per request: expected at most 10,000"},
		{"a dependency without latency", study1(call)[:23] + strings.Replace(study1(call)[23:], "a: {latency: 10ms}", "a: {cost: 1}", 1), "stdin:3:19: dependencies.a.latency: missing: expected how long an answer takes, such as 5ms"},
		{"a stream that a phase breaks", strings.Replace(study1(call), "{latency: 40ms}", "{first_token: 1ms}", 1), "stdin:4:68: phases.1.dependencies.a.latency: given: first_token is given too: expected latency, or first_token with token_gap and tokens"},
		{"recovery in no phase", study1(call + "recovery: {phase: r}"), `stdin:6:19: recovery.phase: unknown phase "r": did you mean "p"?`},
		{"no bucket", study1(call + "herd: {bucket: 0s}"), "stdin:6:16: herd.bucket: 0s: expected a duration above 0"},
		{"a bucket too short", study1(call + "herd: {bucket: 99999ns}"), "stdin:6:16: herd.bucket: 99.999µs: expected at least 100µs"},
		{"a dependency with a reserved name", strings.NewReplacer("b: {latency", "total: {latency", "call: b", "call: total").Replace(study1(call)), "stdin:3:43: dependencies.total: total is what results call all dependencies together: expected another name"},
		{"a cost too small to add up", strings.Replace(study1(call), "a: {latency: 10ms", "a: {cost: 0.5e-9, latency: 10ms", 1), "stdin:3:26: dependencies.a.cost: 5e-10: expected 0, or at least 0.000000001"},
		{"ties without noise", study1(call + "ties: {noise: 0}"), "stdin:6:15: ties.noise: 0s: expected a duration above 0"},
		{"too many runs", study1(call + "ties: {runs: 1001}"), "stdin:6:14: ties.runs: 1001: expected 0 to 1000"},
		{"an expectation without a measure", study1(call + "expect: [{at_most: 1}]"), "stdin:6:10: expect.0.measure: missing: expected which number it is about, such as attempts/offered"},
		{"text that moves the cursor", study1(call + `question: "\e[2J"`), `stdin:6:11: question: "\x1b[2J": expected text without control characters`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := text(t, c.text)
			faults(t, err, c.want)
		})
	}
}

// What is odd and yet allowed.
func TestCheckAllows(t *testing.T) {
	for name, s := range map[string]string{
		"a dependency that phases complete": strings.NewReplacer("a: {latency: 10ms}", "a: {}", "name: p", "name: p, dependencies: {a: {refuse: true}}").Replace(study1("compositions: {x: [{call: a}], y: [{call: b}]}")),
		"no policy at all":                  small,
		"no search for ties":                small + "ties: {runs: 0, noise: 0}\n",
		"noise beyond the horizon":          small + "horizon: 300us\n",
		"the shortest bucket":               small + "herd: {bucket: 100us}\n",
		"no judgement of recovery":          small + "recovery: {clean_window: 0s}\n",
	} {
		if _, err := text(t, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDoubts(t *testing.T) {
	both := ", y: [{call: a}], z: [{call: b}]}"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", study1("compositions: {x: [{timeout: {after: 2s}}, {retry: {}}, {timeout: {after: 1s}}, {call: a}]" + both), ""},
		{"a timeout within a shorter one", study1("compositions: {x: [{timeout: {after: 1s}}, {timeout: {after: 1s}}, {call: a}]" + both),
			"stdin:5:62: compositions.x.1.timeout.after: 1s: not shorter than the timeout around it of 1s, which ends the call first"},
		{"a timeout beyond the horizon", study1("compositions: {x: [{timeout: {after: 30s}}, {call: a}]" + both),
			"stdin:5:38: compositions.x.0.timeout.after: 30s: not shorter than the horizon of 30s, which ends the call first"},
		{"a timeout in a branch", study1("compositions: {x: [{timeout: {after: 1s}}, {fallback: {to: [[{timeout: {after: 3s}}, {call: a}], [{call: b}]]}}]" + both),
			"stdin:5:80: compositions.x.1.fallback.to.0.0.timeout.after: 3s: not shorter than the timeout around it of 1s, which ends the call first"},
		{"a hedge that never starts", study1("compositions: {x: [{timeout: {after: 1s}}, {hedge: {after: 1s}}, {call: a}]" + both),
			"stdin:5:60: compositions.x.1.hedge.after: 1s: not before the timeout around it of 1s: the hedge never starts by time"},
		{"retries that multiply", study1("compositions: {x: [{retry: {attempts: 2}}, {retry: {attempts: 4}}, {call: a}]" + both),
			"stdin:5:28: compositions.x.0.retry: stands directly around another retry: their attempts multiply, 2 × 4"},
		{"nothing that refuses", study1("compositions: {x: [{breaker: {consecutive: 1, open_for: 1s}}, {retry: {on: [failure, circuit]}}, {call: a}]" + both),
			"stdin:5:30: compositions.x.0.breaker: stands outside of a retry and sees only the last result of each call: failures that a retry made good do not count\n" +
				"stdin:5:86: compositions.x.1.retry.on.1: circuit: no stage inside refuses in this way"},
		{"an adaptive limit that hears little", study1("compositions: {x: [{timeout: {after: 1s}}, {adaptive: {}}, {retry: {on: [limiter, throttle]}}, {call: a}]" + both),
			"stdin:5:55: compositions.x.1.adaptive: stands outside of a retry and learns from the last result of each call only, as if the tries and the waits before it were one\n" +
				"stdin:5:55: compositions.x.1.adaptive: stands inside of the timeout of 1s, which cancels a call that is late: it learns nothing of it; put the timeout inside\n" +
				"stdin:5:74: compositions.x.2.retry.on.0: limiter: no stage inside refuses in this way\n" +
				"stdin:5:83: compositions.x.2.retry.on.1: throttle: no stage inside refuses in this way"},
		{"a throttle with all that it needs", study1("compositions: {x: [{timeout: {after: 9s}}, {retry: {on: [limiter, throttle]}}, {throttle: {}}, {adaptive: {kind: aimd}}, {timeout: {after: 1s}}, {call: a}], t: [{timeout: {after: 1s}}, {throttle: {rejects: [overload]}}, {call: a}]" + both), ""},
		{"an adaptive limit keeps requests from piling up", strings.Replace(study1("compositions: {x: [{adaptive: {}}, {call: a}], z: [{call: b}]}"), "latency: 40ms", "hang: true", 1), ""},
		{"no breaker to be open", study1("compositions: {x: [{fallback: {open: last, to: [[{call: a}], [{call: b}]]}}]" + both),
			"stdin:5:38: compositions.x.0.fallback.open: last: no branch has a breaker that could be open"},
		{"one branch", study1("compositions: {x: [{fallback: {to: [[{call: a}]]}}]" + both),
			"stdin:5:36: compositions.x.0.fallback.to: has one branch: there is nothing to fall back to"},
		{"nobody calls", study1("compositions: {x: [{call: a}]}"),
			"stdin:3:39: dependencies.b: no composition calls it"},
		{"requests pile up", strings.Replace(study1("compositions: {x: [{call: a}], y: [{timeout: {after: 1s}}, {call: a}], z: [{call: b}]}"), "latency: 40ms", "hang: true", 1),
			"stdin:5:19: compositions.x: nothing ends a call of a while it hangs: requests pile up until the horizon of 30s; add a timeout, a limit or load.max_in_flight"},
		{"a window longer than its phase", small + "recovery: {phase: one, clean_window: 11s}",
			"stdin:12:38: recovery.clean_window: 11s: longer than phase one (10s): recovery cannot be observed"},
		{"a table twice", small + "tables: [herd, herd]", "stdin:12:16: tables.1: herd: is shown already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := must(t, c.text)
			if d := cmp.Diff(c.want, s.Warnings().Error()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	s := must(t, study1(`compositions:
  call: [{call: a}]
  timeout: [{timeout: {after: 25ms}}, {call: a}]
  retry: [{retry: {attempts: 3, backoff: {kind: constant, base: 5ms, jitter: none}}}, {call: a}]
  stacked: [{retry: {attempts: 2, backoff: {kind: none}}}, {hedge: {extra: 2, after: 1ms}}, {timeout: {after: 30ms}}, {call: a}]
  fallback: [{retry: {attempts: 2, backoff: {kind: none}}}, {fallback: {to: [[{timeout: {after: 25ms}}, {call: a}], [{fallback: {to: [[{call: a}], [{call: b}]]}}]]}}]
  queue: [{fallback: {to: [[{rate: {rate: 1/s, wait: true}}, {call: a}], [{call: b}]]}}]
  hangs: [{rate: {rate: 1/s, wait: true}}, {call: b}]
`))
	for name, want := range map[string]policy.Bound{
		"call":     {Attempts: 1, Longest: 40 * time.Millisecond}, // the slowest phase
		"timeout":  {Attempts: 1, Longest: 25 * time.Millisecond},
		"retry":    {Attempts: 3, Longest: 130 * time.Millisecond}, // 3 × 40 + 2 × 5
		"stacked":  {Attempts: 6, Longest: 64 * time.Millisecond},  // 2 × (30 + 2 × 1)
		"fallback": {Attempts: 6, Longest: 170 * time.Millisecond}, // 2 × (25 + 40 + 20)
		"hangs":    {Attempts: 1, Longest: policy.Unbounded},
		"queue":    {Attempts: 2, Longest: policy.Unbounded},
		"unknown":  {},
	} {
		if got := s.Worst(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// Numbers with commas are the number.
func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		if got := strings.ReplaceAll(grouped(n), ",", ""); got != fmt.Sprint(n) {
			t.Fatalf("%d: %s", n, got)
		}
	})
}
