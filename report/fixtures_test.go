package report

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"brunt/lab"
	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// ms returns a time of so many milliseconds.
func ms(v float64) *measure.Millis {
	m := measure.Millis(v * 1e6)
	return &m
}

// row is what the fixtures say of one phase; times in milliseconds, below 0
// for one that was not observed.
type row struct {
	phase                        string
	offered, admitted, completed int64
	harness, limiter, circuit    int64
	timeout, failure, censored   int64
	attempts                     int64
	p95, p99, success            float64
}

func (x row) measured(from time.Duration) measure.Phase {
	p := measure.Phase{
		Name: x.phase, From: measure.Millis(from), To: measure.Millis(from + 30*time.Second),
		Offered: x.offered, Submitted: x.offered - x.harness, Admitted: x.admitted, Completed: x.completed,
		Errored:  x.harness + x.limiter + x.circuit + x.timeout + x.failure,
		Censored: x.censored, Causes: map[string]int64{}, Attempts: x.attempts,
		ServedBy: map[string]int64{}, DependencyCalls: map[string]int64{},
	}
	for _, c := range record.Causes() {
		p.Causes[c.String()] = 0
	}
	for name, n := range map[string]int64{"harness": x.harness, "limiter": x.limiter, "circuit": x.circuit, "timeout": x.timeout, "failure": x.failure} {
		p.Causes[name] = n
	}
	p.AttemptsPerOffered, p.AttemptsPerOfferedReason = ratio(x.attempts, x.offered, "no request was offered in this phase")
	p.AttemptsPerAdmitted, p.AttemptsPerAdmittedReason = ratio(x.attempts, x.admitted, "no request was admitted in this phase")
	p.Latency.Submitted = measure.Percentiles{P50: ms(5), P95: ms(x.p95), P99: ms(x.p99), Max: ms(x.p99)}
	if x.success >= 0 {
		p.Latency.Completed = measure.Percentiles{P50: ms(5), P95: ms(x.success), P99: ms(x.success), Max: ms(x.success)}
	} else {
		p.Latency.Completed.Reason = "no request completed in this phase"
	}
	p.SchedulerLag = measure.Tail{P99: ms(0), Max: ms(0)}
	return p
}

func ratio(n, of int64, reason string) (*float64, string) {
	if of == 0 {
		return nil, reason
	}
	v := float64(n) / float64(of)
	return &v, ""
}

// composition makes a composition of its phases. The whole has their sums and
// the percentiles that are given.
func composition(name string, whole measure.Latencies, rows ...row) measure.Composition {
	c := measure.Composition{Name: name, AttemptsByStartPhase: map[string]map[string]int64{}, Recovery: measure.Recovery{Phase: rows[len(rows)-1].phase}}
	sum := row{phase: "whole"}
	for i, x := range rows {
		c.Phases = append(c.Phases, x.measured(time.Duration(i)*30*time.Second))
		sum.offered += x.offered
		sum.admitted += x.admitted
		sum.completed += x.completed
		sum.harness += x.harness
		sum.limiter += x.limiter
		sum.circuit += x.circuit
		sum.timeout += x.timeout
		sum.failure += x.failure
		sum.censored += x.censored
		sum.attempts += x.attempts
	}
	c.Whole = sum.measured(0)
	c.Whole.Latency = whole
	return c
}

func result(t testing.TB, name string) *lab.Result {
	t.Helper()
	config, err := os.ReadFile(filepath.Join("testdata", name+".config.json"))
	if err != nil {
		t.Fatal(err)
	}
	commit := "0123456789abcdef0123456789abcdef01234567"
	return &lab.Result{
		Schema: lab.Schema, Study: name, Seed: 42, Clock: study.Virtual, Config: config, Valid: true,
		Instrument:  lab.Instrument{Version: "0.1.0", Commit: &commit},
		StudySHA256: "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
	}
}

func outageResult(t testing.TB) *lab.Result {
	r := result(t, "outage")
	r.Seed, r.Deterministic, r.Question = 1, true, "What do four stacks do to callers and to a dependency while it slows, fails and recovers?"
	all := measure.Latencies{}
	healthy := row{phase: "healthy", offered: 3000, admitted: 3000, completed: 3000, attempts: 3000, p95: 5, p99: 5, success: 5}
	slow := row{phase: "slowdown", offered: 3000, admitted: 3000, completed: 3000, attempts: 3000, p95: 300, p99: 300, success: 300}
	well := row{phase: "recovery", offered: 3000, admitted: 3000, completed: 3000, attempts: 3000, p95: 5, p99: 5, success: 5}
	r.Compositions = []measure.Composition{
		composition("retry", all, healthy, slow,
			row{phase: "outage", offered: 3000, admitted: 3000, completed: 4, failure: 2996, attempts: 8998, p95: 60, p99: 60, success: 45}, well),
		composition("retry-breaker", all, healthy, slow,
			row{phase: "outage", offered: 3000, admitted: 68, circuit: 2993, failure: 7, attempts: 84, p95: 0, p99: 20, success: -1},
			row{phase: "recovery", offered: 3000, admitted: 2956, completed: 2956, circuit: 44, attempts: 2956, p95: 5, p99: 5, success: 5}),
		composition("limit-retry-breaker", all, healthy,
			row{phase: "slowdown", offered: 3000, admitted: 1608, completed: 1600, limiter: 1384, circuit: 16, attempts: 1616, p95: 600, p99: 600, success: 600},
			row{phase: "outage", offered: 3000, admitted: 56, limiter: 3, circuit: 2997, attempts: 56, p95: 0, p99: 20.125, success: -1},
			row{phase: "recovery", offered: 3000, admitted: 2996, completed: 2996, circuit: 4, attempts: 2996, p95: 5, p99: 5, success: 5}),
		composition("limit-hedge-breaker", all, healthy,
			row{phase: "slowdown", offered: 3000, admitted: 3000, completed: 3000, attempts: 6000, p95: 50, p99: 50, success: 50},
			row{phase: "outage", offered: 3000, admitted: 142, circuit: 2996, failure: 4, attempts: 146, p95: 0, p99: 20, success: -1},
			row{phase: "recovery", offered: 3000, admitted: 2984, completed: 2984, circuit: 16, attempts: 2984, p95: 5, p99: 5, success: 5}),
	}
	for i := range r.Compositions {
		c := &r.Compositions[i]
		c.Recovery.Window, c.Recovery.CleanWindow = *ms(250), ms([]float64{250, 500, 500, 500}[i])
		c.Cleanup = measure.Tail{P99: ms(0), Max: ms(0)}
		c.Peak = []measure.Peak{{Requests: 31, Attempts: 31}, {Requests: 31, Attempts: 31}, {Requests: 33, Attempts: 16}, {Requests: 7, Attempts: 12}}[i]
	}
	hedge := &r.Compositions[3]
	hedge.Cancelled, hedge.LosersPending, hedge.Cleanup = 3088, 3088, measure.Tail{P99: ms(20), Max: ms(20)}
	r.Findings = []string{
		"In the outage, retry turns 3000 requests into 8998 attempts, 3.00 for each; with a breaker inside it makes 84.",
		"The hedge answers the slowdown in 50 ms at p95 where the others take 300 ms or more, and doubles the attempts for it.",
		"The limit refuses 1384 of 3000 requests in the slowdown, though the dependency could have answered them all.",
	}
	r.Ties = &lab.Ties{Runs: 8, Noise: 0.3, Artefacts: []lab.Artefact{
		{Composition: "retry-breaker", Phase: "recovery", Measure: "errored", Value: 44, Least: 4, Most: 6},
		{Composition: "retry-breaker", Phase: "recovery", Measure: "attempts/offered", Value: 0.9853, Least: 0.998, Most: 0.9987},
		{Composition: "limit-hedge-breaker", Phase: "whole", Measure: "cancelled", Value: 3088, Least: 3087, Most: 3087},
	}}
	value, censored := 0.028, 60.0
	r.Expectations = []lab.Verdict{
		{Composition: "retry-breaker", Phase: "outage", Measure: "attempts/offered", Relation: "at_most", Limit: "0.06", Value: &value, Passed: true},
		{Composition: "retry", Phase: "outage", Measure: "p95", Relation: "at_most", Limit: "50ms", Value: &censored, Unit: "ms"},
		{Composition: "retry-breaker", Phase: "outage", Measure: "success p99", Relation: "at_most", Limit: "50ms", Refused: true, Reason: "no request completed in this phase"},
	}
	return r
}

func stampedeResult(t testing.TB) *lab.Result {
	r := result(t, "stampede")
	r.Question = "When 20 callers fail at once, how many come back at once?"
	herds := []struct {
		name    string
		buckets map[int]int64 // by start in ms
	}{
		{"jitter-none", map[int]int64{120: 20}},
		{"jitter-proportional", map[int]int64{80: 2, 100: 8, 120: 6, 140: 4}},
		{"jitter-full", map[int]int64{0: 3, 20: 4, 40: 2, 60: 5, 80: 3, 100: 3}},
		{"jitter-decorrelated", map[int]int64{120: 3, 140: 2, 180: 4, 200: 1, 280: 6, 300: 2, 340: 2}},
	}
	for _, h := range herds {
		c := composition(h.name, measure.Latencies{}, row{phase: "burst", offered: 20, admitted: 20, completed: 20, attempts: 40, p95: 125, p99: 125, success: 125})
		c.Herd = herdOf(20, h.buckets)
		r.Compositions = append(r.Compositions, c)
	}
	r.Findings = []string{"Without jitter all 20 callers come back in the same 20 ms; full jitter leaves 5 in the fullest."}
	r.TiesReason = "the load is a burst, which has no grid"
	return r
}

// herdOf makes a herd of retries, by the start of their bucket in ms, after
// so many first attempts at 0.
func herdOf(first int64, retries map[int]int64) measure.Herd {
	h := measure.Herd{Bucket: *ms(20), Peak: first, Buckets: []measure.HerdBucket{}}
	for from := 0; from <= 100_000; from += 20 {
		n, attempts := retries[from], retries[from]
		if from == 0 {
			attempts += first
		}
		if attempts == 0 {
			continue
		}
		h.Buckets = append(h.Buckets, measure.HerdBucket{From: *ms(float64(from)), Attempts: attempts, Retries: n})
		h.Peak, h.RetryPeak = max(h.Peak, attempts), max(h.RetryPeak, n)
	}
	return h
}

func providerResult(t testing.TB) *lab.Result {
	r := result(t, "provider-failure")
	r.Question = "How much availability does a fallback chain buy while a provider is down, and what does a breaker add?"
	whole := func(p50, p95, p99 float64) measure.Latencies {
		return measure.Latencies{Submitted: measure.Percentiles{P50: ms(p50), P95: ms(p95), P99: ms(p99), Max: ms(4000)}}
	}
	before := row{phase: "before", offered: 200, admitted: 200, completed: 198, failure: 2, attempts: 209, p95: 1170, p99: 1500, success: 1500}
	after := before
	after.phase = "after"
	alone := row{phase: "before", offered: 200, admitted: 200, completed: 188, failure: 12, attempts: 200, p95: 1100, p99: 1300, success: 1300}
	aloneAfter := alone
	aloneAfter.phase, aloneAfter.completed, aloneAfter.failure = "after", 187, 13
	r.Compositions = []measure.Composition{
		composition("single", whole(738.41, 2000, 2000), alone,
			row{phase: "outage", offered: 200, admitted: 200, timeout: 200, attempts: 200, p95: 2000, p99: 2000, success: -1}, aloneAfter),
		composition("fallback", whole(741.2, 3128.4, 3196.09), before,
			row{phase: "outage", offered: 200, admitted: 200, completed: 195, failure: 5, attempts: 400, p95: 3150, p99: 3200, success: 3200}, after),
		composition("fallback-breaker", whole(752.73, 1184.06, 3095.5), before,
			row{phase: "outage", offered: 200, admitted: 200, completed: 195, failure: 5, attempts: 226, p95: 3000, p99: 3100, success: 3100}, after),
	}
	for i := range r.Compositions {
		c := &r.Compositions[i]
		c.AttemptsByStartPhase["outage"] = map[string]int64{"total": []int64{200, 400, 226}[i], "primary": []int64{200, 200, 26}[i], "backup": []int64{0, 200, 200}[i]}
		c.Whole.ServedBy = map[string]int64{"primary": []int64{375, 371, 372}[i], "backup": []int64{0, 220, 219}[i]}
		c.Whole.Cost = []float64{1.2, 1.884, 1.5385}[i]
	}
	r.Findings = []string{
		"A single provider serves 62.5 % of all requests through a 20 s outage, the fallback chain 98.5 %.",
		"Without a breaker all 200 requests of the outage go to the dead primary first and wait 2 s for it; with one 26 do.",
	}
	return r
}

func testEnvironment() *lab.Environment {
	env := &lab.Environment{
		Started: "2026-11-29T12:00:00Z", Go: "go1.26", OS: "linux", Arch: "amd64", CPUs: 2, CPU: "Example CPU @ 2.5 GHz",
		Kernel: "6.8.0", GOMAXPROCS: 2, Command: []string{"brunt", "run", "outage"}, WallMillis: 81.27,
	}
	for i, name := range []string{"first", "second"} {
		env.Compositions = append(env.Compositions, lab.Wall{Name: name, WallMillis: 20.5 * float64(i+1)})
	}
	return env
}

// invalidResult is a run whose instrument did not hold.
func invalidResult(t testing.TB) *lab.Result {
	r := outageResult(t)
	skew, over := 3.1, 71.25
	r.Clock, r.Valid, r.Compositions, r.Ties = study.Real, false, nil, nil
	r.Gates = []lab.Gate{
		{Name: "send skew p99", Limit: 5, Value: &skew, Unit: "ms", Applies: true, Enforced: true, Passed: true},
		{Name: "send skew max", Limit: 50, Value: &over, Unit: "ms", Applies: true, Enforced: true, Reason: "a request was sent more than 50 ms late"},
		{Name: "host CPU over any 5 s", Limit: 70, Unit: "%", Applies: true, Enforced: true, Reason: "the run was shorter than 5 s"},
	}
	return r
}

var fixtures = []struct {
	name string
	make func(testing.TB) *lab.Result
}{
	{"outage", outageResult}, {"stampede", stampedeResult}, {"provider-failure", providerResult}, {"invalid", invalidResult},
	{"repeated", repeatedResult}, {"fault", faultResult},
}
