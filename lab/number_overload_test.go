package lab

import (
	"math"
	"strings"
	"testing"
	"time"

	"brunt/measure"
	"brunt/study"
)

// overloaded is a study in which a pause fills a queue for good: with retries
// the one worker has twice the work that it can do.
const overloaded = `
study: overloaded
question: Does it come back?
horizon: 5s
load: {rate: 100/s}
slo: {end_to_end: 500ms}
dependencies:
  db.main: {latency: 7ms, workers: 1}
  free: {latency: 1ms}
recovery: {detector: {window: 5s, hold: 10s}}
phases:
  - {name: well, for: 15s}
  - {name: paused, for: 2s, dependencies: {db.main: {paused: true}}}
  - {name: after, for: 25s}
compositions:
  retries: [{retry: {attempts: 3, backoff: {kind: none}}}, {timeout: {after: 200ms}}, {breaker: {consecutive: 5000, open_for: 1s}}, {call: db.main}]
  patient: [{call: db.main}]
  free: [{breaker: {consecutive: 3, open_for: 100ms}}, {timeout: {after: 500us}}, {call: free}]
`

func overloadedStudy(t *testing.T, sets ...string) *study.Study {
	t.Helper()
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(overloaded), Sets: sets, Measure: CheckName})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A run with too much work says so in every number, and its parts add up.
func TestNumbersOfOverload(t *testing.T) {
	r := measured(t, overloadedStudy(t, "ties.runs=0"))
	stuck, patient, free := &r.Compositions[0], &r.Compositions[1], &r.Compositions[2]
	if s := stuck.Stability; s.Status != measure.Metastable || s.SustainedBy != measure.ByRetries || s.Loaded != "db.main" || math.Abs(*s.FirstDemand-0.7) > 0.01 || math.Abs(*s.Demand-2.1) > 0.05 {
		t.Errorf("with retries: %+v", s)
	}
	if s := patient.Stability; s.Status != measure.Stable || math.Abs(*s.Demand-0.7) > 0.01 {
		t.Errorf("without: %+v", s)
	}
	after := &stuck.Phases[2]
	of := &stuck.Capacity[0].Phases[2]
	tests := []struct {
		c     *measure.Composition
		phase *measure.Phase
		name  string
		want  float64
		unit  string
	}{
		{stuck, nil, "metastable", 1, ""},
		{patient, nil, "metastable", 0, ""},
		{stuck, nil, "retry_share", *stuck.Stability.RetryShare, ""},
		{stuck, nil, "wasted_share", *stuck.Stability.WastedShare, ""},
		{patient, nil, "time_to_recover", float64(*patient.Stability.Recovered) / 1e6, "ms"},
		{stuck, after, "retries", float64(after.Retries), ""},
		{stuck, after, "retries/attempts", float64(after.Retries) / float64(after.Attempts), ""},
		{stuck, after, "wasted", float64(after.Wasted), ""},
		{stuck, after, "wasted/attempts", float64(after.Wasted) / float64(after.Attempts), ""},
		{stuck, after, "denied", 0, ""},
		{stuck, after, "goodput", *stuck.Service.Goodput[2].Share, ""},
		{patient, &patient.Phases[1], "goodput", *patient.Service.Goodput[1].Share, ""},
		{patient, nil, "goodput", *patient.Service.Goodput[3].Share, ""},
		{stuck, after, "calls.db.main/offered", float64(after.Attempts) / float64(after.Offered), ""},
		{stuck, after, "wait.db.main.p50", float64(*of.Wait.P50) / 1e6, "ms"},
		{stuck, after, "wait.db.main.p95", float64(*of.Wait.P95) / 1e6, "ms"},
		{stuck, after, "wait.db.main.p99", float64(*of.Wait.P99) / 1e6, "ms"},
		{stuck, after, "wait.db.main.max", float64(*of.Wait.Max) / 1e6, "ms"},
		{stuck, after, "queue.db.main.mean", *of.Queue.Mean, ""},
		{stuck, after, "queue.db.main.max", float64(of.Queue.Max), ""},
		{stuck, nil, "queue.db.main.max", float64(stuck.Capacity[0].Whole.Queue.Max), ""},
		{stuck, after, "utilisation.db.main", 1, ""}, // never idle
		{patient, &patient.Phases[0], "utilisation.db.main", 0.7, ""},
		{stuck, after, "busy.db.main", float64(of.Busy) / 1e6, "ms"},
		{stuck, after, "wasted.db.main", *of.WastedShare, ""},
		{stuck, after, "overloaded.db.main", 0, ""},
		{stuck, nil, "opens", 0, ""},
		{stuck, nil, "false_opens", 0, ""},
		{free, nil, "opens", float64(free.Breakers[0].Opens), ""},
		{free, nil, "false_opens", float64(*free.Breakers[0].OpensBefore), ""},
	}
	for _, test := range tests {
		n, err := Find(test.c, test.phase, test.name)
		if err != nil || n.Refusal != "" || math.Abs(n.Value-test.want) > 1e-9 || n.Unit != test.unit {
			t.Errorf("%s: %+v (%v), want %v %s", test.name, n, err, test.want, test.unit)
		}
	}
	if *free.Breakers[0].OpensBefore == 0 || after.Retries == 0 || after.Wasted == 0 || *of.WastedShare < 0.9 {
		t.Errorf("numbers that cannot be told from nothing: %+v, %d retries, %d wasted, %v of the work", free.Breakers[0], after.Retries, after.Wasted, *of.WastedShare)
	}
}

// What cannot be said is refused in words; what lies beyond any that could be
// seen is known to.
func TestNumbersOfOverloadAreRefused(t *testing.T) {
	r := measured(t, overloadedStudy(t, "ties.runs=0"))
	quiet := measured(t, overloadedStudy(t, "ties.runs=0", "phases=[{name: well, for: 3s}]"))
	short := measured(t, overloadedStudy(t, "ties.runs=0", "phases.after.for=14s"))
	tests := []struct {
		r      *Result
		c      int
		name   string
		want   string
		beyond bool
	}{
		{r, 0, "time_to_recover", "not recovered by the end of observation", true},
		{r, 2, "metastable", "the baseline: no goodput", false},
		{r, 2, "time_to_recover", "the baseline: no goodput", false},
		{r, 0, "time_to_open", "not observed: no breaker opened", true},
		{r, 2, "wait.db.main.p95", "no attempt came to a worker", false},
		{r, 2, "wasted.db.main", "no worker was busy", false},
		{r, 0, "utilisation.free", "free has no workers", false},
		{r, 0, "wait.free.max", "free has no workers", false},
		{short, 0, "metastable", "the run ends 14s after the trigger", false},
		{short, 0, "retry_share", "the run ends 14s after the trigger", false},
		{short, 0, "time_to_recover", "the run ends 14s after the trigger", false},
		{quiet, 0, "metastable", nothingDisturbed, false},
		{quiet, 0, "time_to_recover", nothingDisturbed, false},
		{quiet, 0, "wasted_share", nothingDisturbed, false},
		{quiet, 2, "false_opens", nothingDisturbed, false},
		{quiet, 2, "time_to_open", nothingDisturbed, false},
	}
	for _, test := range tests {
		n, err := Find(&test.r.Compositions[test.c], nil, test.name)
		if err != nil || !strings.HasPrefix(n.Refusal, test.want) || n.Beyond != test.beyond {
			t.Errorf("%s: %+v (%v), want %q", test.name, n, err, test.want)
		}
	}
	if n, err := Find(&measure.Composition{}, nil, "goodput"); err != nil || !strings.HasPrefix(n.Refusal, "the study has no slo") {
		t.Errorf("goodput without an SLO: %+v (%v)", n, err)
	}
	if n, err := Find(&quiet.Compositions[2], nil, "opens"); err != nil || n.Value == 0 {
		t.Errorf("opens without a trigger: %+v (%v)", n, err)
	}
}

// Of several stages the first to open counts.
func TestTimeToOpenIsTheLeast(t *testing.T) {
	at := func(ms time.Duration) *measure.Millis { v := measure.Millis(ms * time.Millisecond); return &v }
	c := &measure.Composition{
		Stability: &measure.Stability{Trigger: &measure.TriggerSpan{}},
		Breakers:  []measure.BreakerNumbers{{TimeToOpenReason: "never"}, {TimeToOpen: at(7)}, {TimeToOpen: at(5)}, {TimeToOpen: at(6)}, {TimeToOpenReason: "never"}},
	}
	if n := timeToOpen(c); n.Value != 5 || n.Refusal != "" || n.Beyond {
		t.Errorf("%+v, want 5 ms", n)
	}
	c.Stability = &measure.Stability{Reason: "disturbed from the start"}
	if n := timeToOpen(c); n.Refusal != "disturbed from the start" || n.Unit != "ms" {
		t.Errorf("without a trigger: %+v", n)
	}
}

func TestNamesOfOverload(t *testing.T) {
	targets := []string{"db", "db.main"}
	for _, test := range []struct {
		name            string
		phase, duration bool
		wrong           string
	}{
		{"wait.db.main.p95", true, true, ""},
		{"wait.db.p95", false, true, ""},
		{"busy.db.main", true, true, ""},
		{"queue.db.mean", true, false, ""},
		{"calls.db.main/offered", true, false, ""},
		{"time_to_recover", false, true, ""},
		{"time_to_open", false, true, ""},
		{"metastable", false, false, ""},
		{"goodput", true, false, ""},
		{"metastable", true, false, "belongs to the whole run"},
		{"false_opens", true, false, "belongs to the whole run"},
		{"wait.db.p90", true, false, "unknown measure"},
		{"wait.db", true, false, "unknown measure"},
		{"queue.db", true, false, "unknown measure"},
		{"queue.other.max", true, false, "unknown measure"},
		{"utilisation", true, false, "unknown measure"},
		{"busy.", true, false, "unknown measure"},
		{"calls.other/offered", true, false, "unknown measure"},
		{"served.db/offered", true, false, "unknown measure"},
	} {
		duration, err := CheckName(test.name, test.phase, targets)
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) || duration != test.duration {
			t.Errorf("%s: %v, %v, want %v, %q", test.name, duration, err, test.duration, test.wrong)
		}
	}
}

// Of brunt's own stacks there is nothing to tell that attempts do not tell.
func TestGuestNumbersAreOfGuests(t *testing.T) {
	for _, name := range []string{"guest.unattributed", "guest.late", "guest.unserved", "guest.unheard", "guest.cut_off"} {
		if n, err := Find(&measure.Composition{}, nil, name); err != nil || n.Refusal == "" {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
}
