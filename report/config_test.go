package report

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
)

func TestOutages(t *testing.T) {
	for _, c := range []struct {
		name, base, override string
		want                 bool
	}{
		{"hangs", `{"latency": "5ms"}`, `{"hang": true}`, true},
		{"refuses", `{"latency": "5ms"}`, `{"refuse": true}`, true},
		{"fails after a while", `{"latency": "5ms"}`, `{"fail_after": "20ms"}`, true},
		{"fails after no time", `{"latency": "5ms"}`, `{"fail_after": "0s"}`, true},
		{"always fails", `{"latency": "5ms"}`, `{"fail": {"ratio": 1}}`, true},
		{"fails often", `{"latency": "5ms"}`, `{"fail": {"ratio": 0.99}}`, false},
		{"is slow", `{"latency": "5ms"}`, `{"latency": "10s"}`, false},
		{"does not hang", `{"latency": "5ms"}`, `{"hang": false}`, false},
		{"was dead all along", `{"hang": true}`, `{}`, true},
		{"comes back in this phase", `{"hang": true, "latency": "5ms"}`, `{"hang": false}`, false},
		{"a new failure replaces the old one", `{"fail": {"ratio": 1}}`, `{"fail": {"first": 1}}`, false},
	} {
		config := `{"dependencies": {"a": {"latency": "5ms"}, "b": ` + c.base + `}, "phases": [{"name": "p", "for": "1s", "dependencies": {"b": ` + c.override + `}}]}`
		got, err := readConfig(&lab.Result{Config: json.RawMessage(config)})
		if err != nil {
			t.Fatal(err)
		}
		var want []outage
		if c.want {
			want = []outage{{"b", []string{"p"}}}
		}
		if diff := cmp.Diff(want, got.outages()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		name, stack string
		want        retrySpread
	}{
		{"no retry", `[{"timeout": {"after": "1s"}}]`, noRetry},
		{"no backoff has no jitter, whatever the default says", `[{"retry": {"backoff": {"kind": "none", "jitter": "full"}}}]`, withoutJitter},
		{"none", `[{"retry": {"backoff": {"kind": "constant", "jitter": "none"}}}]`, withoutJitter},
		{"full", `[{"retry": {"backoff": {"kind": "constant", "jitter": "full"}}}]`, withJitter},
		{"within a fallback", `[{"fallback": {"to": [[{"call": "a"}], [{"retry": {"backoff": {"kind": "linear", "jitter": "equal"}}}, {"call": "b"}]]}}]`, withJitter},
		{"one of two", `[{"retry": {"backoff": {"kind": "linear", "jitter": "full"}}}, {"retry": {"backoff": {"kind": "none"}}}]`, withJitter},
	} {
		if got := spreadOf(objects(json.RawMessage(c.stack))); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ stage, want string }{
		{`{"retry": {"attempts": 3, "backoff": {"kind": "exponential", "base": "100ms", "factor": 2, "cap": "1s", "jitter": "full"}, "on": ["failure", "circuit"]}}`,
			"retry (3 attempts in all, exponential backoff of 100 ms × 2, at most 1 s, full jitter, on failure and circuit)"},
		{`{"breaker": {"ratio": 0.5, "window": "10s", "min_calls": 20, "open_for": "5s", "probes": 2, "close_after": 3}}`,
			"breaker (opens when 50 % of the calls in 10 s failed, once 20 have ended, for 5 s, 2 probes at once, closes after 3 successes)"},
		{`{"breaker": {"ratio": 0.25, "calls": 8, "open_for": "5s", "probes": 1, "close_after": 1}}`,
			"breaker (opens when 25 % of the last 8 calls failed, for 5 s)"},
		{`{"limit": {"permits": 4, "queue": 8, "queue_timeout": "50ms", "order": "lifo"}}`,
			"limit (4 permits, 8 may wait for up to 50 ms, last in first out)"},
		{`{"limit": {"permits": 4}}`, "limit (4 permits, no queue)"},
		{`{"rate": {"rate": "100/s", "burst": 10}}`, "rate (100/s, burst of 10, others are refused)"},
		{`{"rate": {"rate": "100/s", "burst": 10, "wait": true}}`, "rate (100/s, burst of 10, others wait)"},
		{`{"hedge": {"extra": 2, "after": "20ms"}}`, "hedge (2 extra after 20 ms)"},
		{`{"novelty": {"x": 1}}`, `novelty {"x": 1}`}, // one that is not known yet is shown as it is
	} {
		if got := describeStack(json.RawMessage("[" + c.stage + "]")); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.stage, got, c.want)
		}
	}
	for _, c := range []struct{ behaviour, want string }{
		{`{"latency": {"uniform": {"min": "1ms", "max": "2s"}}, "cost": 0.5}`, "answers after a uniform time from 1 ms to 2 s; an attempt costs 0.5"},
		{`{"latency": {"exponential": {"mean": "5ms"}}}`, "answers after an exponential time (mean 5 ms)"},
		{`{"latency": {"empirical": {"file": "times.txt"}}}`, "answers after one of the times in times.txt"},
		{`{"refuse": true}`, "refuses every attempt at once"},
		{`{"fail": {"ratio": 0.1, "after": "3ms"}}`, "fails 10 % of the attempts after 3 ms"},
		{`{"first_token": "300ms", "token_gap": {"constant": "20ms"}, "tokens": 50}`, "streams, the first token after 300 ms; a token every 20 ms; 50 tokens an answer"},
		{`{}`, "as before"},
	} {
		if got := describeBehaviour(object(json.RawMessage(c.behaviour))); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.behaviour, got, c.want)
		}
	}
}
