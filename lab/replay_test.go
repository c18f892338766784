package lab

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/record"
	"brunt/record/parquet"
	"brunt/study"
)

// recordedText is a study to be recorded: a stream with failures, at random instants.
const recordedText = `study: upstream
seed: 11
load: {rate: 100/s, arrivals: poisson}
horizon: 30s
dependencies:
  model:
    first_token: {lognormal: {p50: 200ms, p95: 600ms}}
    token_gap: {exponential: {mean: 2ms}}
    tokens: 20
    fail: {ratio: 0.2}
    cost: 0.25
phases: [{name: all, for: 100s}]
compositions: {plain: []}
`

// recorded runs a study with its rows, and returns its folder and its result.
func recorded(t *testing.T, s *study.Study) (string, *Result) {
	t.Helper()
	folder, err := NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteStudy(s); err != nil {
		t.Fatal(err)
	}
	result, env, err := Run(context.Background(), s, Options{Folder: folder, Rows: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.WriteEnvironment(env); err != nil {
		t.Fatal(err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	return folder.Path(), result
}

func readText(t *testing.T, text string, sets ...string) *study.Study {
	t.Helper()
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(text), Folder: t.TempDir(), Sets: sets, Measure: CheckName})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// attempts keeps the attempts of a run.
type attempts struct {
	nowhere
	rows []record.Attempt
}

func (a *attempts) Attempt(row *record.Attempt) { a.rows = append(a.rows, *row) }

func attemptsIn(t *testing.T, folder string, s *study.Study) []record.Attempt {
	t.Helper()
	rows, err := parquet.Read(folder, s.Callees())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all attempts
	for _, name := range rows.Compositions() {
		if err := rows.Feed(name, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all.rows
}

// distance is the largest difference between two empirical distributions
// (Kolmogorov and Smirnov).
func distance(a, b []time.Duration) (d float64) {
	slices.Sort(a)
	slices.Sort(b)
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		at := min(a[i], b[j])
		for i < len(a) && a[i] == at {
			i++
		}
		for j < len(b) && b[j] == at {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}

// A replay has the distribution of what was recorded, whole attempt by whole
// attempt. Draws are with replacement, so a replay is a sample of the recording:
// the bounds are those of a chance of one in 10,000.
func TestReplayIsTheRecording(t *testing.T) {
	source := readText(t, recordedText)
	folder, _ := recorded(t, source)
	replay := readText(t, recordedText, "seed=12", "dependencies.model={replay: "+folder+"}")
	again, result := recorded(t, replay)

	was, is := attemptsIn(t, folder, source), attemptsIn(t, again, replay)
	if len(was) < 9000 || len(is) < 9000 {
		t.Fatalf("%d attempts recorded, %d replayed", len(was), len(is))
	}
	type answer struct {
		after, first time.Duration
		cause        record.Cause
		tokens       int64
	}
	answerOf := func(a *record.Attempt) answer {
		w := answer{a.End - a.Start, record.Never, a.Cause, a.Tokens}
		if a.FirstToken != record.Never {
			w.first = a.FirstToken - a.Start
		}
		return w
	}
	times := func(rows []record.Attempt, of func(answer) time.Duration) (list []time.Duration) {
		for i := range rows {
			if d := of(answerOf(&rows[i])); d != record.Never {
				list = append(list, d)
			}
		}
		return list
	}
	for what, of := range map[string]func(answer) time.Duration{
		"time to the end":         func(w answer) time.Duration { return w.after },
		"time to the first token": func(w answer) time.Duration { return w.first },
	} {
		a, b := times(was, of), times(is, of)
		if d, most := distance(a, b), 2.23/math.Sqrt(float64(len(b))); d > most {
			t.Errorf("%s: the distributions differ by %.4f, at most %.4f is chance", what, d, most)
		}
	}
	known := map[answer]bool{}
	failures := 0
	for i := range was {
		known[answerOf(&was[i])] = true
		if was[i].Cause == record.Failure {
			failures++
		}
		if (was[i].Cause == record.None) != (was[i].Tokens == 20) {
			t.Fatalf("a simulated answer with cause %q has %d tokens", was[i].Cause, was[i].Tokens)
		}
	}
	failed := 0
	for i := range is {
		if !known[answerOf(&is[i])] {
			t.Fatalf("attempt %d, %+v, is none of those recorded", i, answerOf(&is[i]))
		}
		if is[i].Cause == record.Failure {
			failed++
		}
	}
	ratio := float64(failures) / float64(len(was))
	if off := math.Abs(float64(failed)/float64(len(is)) - ratio); off > 3.9*math.Sqrt(ratio*(1-ratio)/float64(len(is))) {
		t.Errorf("%.4f failed, %.4f of them were recorded so", float64(failed)/float64(len(is)), ratio)
	}

	if len(result.Replays) != 1 {
		t.Fatalf("%d replays", len(result.Replays))
	}
	got := result.Replays[0]
	if got.Recording.Started == nil || len(got.Recording.SHA256) != 64 {
		t.Errorf("from %+v", got.Recording)
	}
	got.Recording.Started, got.Recording.SHA256, got.Recording.Longest = nil, "", 0
	n := int64(len(was))
	want := Replay{Dependency: "model", Phases: []string{"all"}, Drawn: int64(len(is)), DrawnCost: 0.25 * float64(len(is)), Recording: Recorded{
		Study: "upstream", Target: "model", Simulated: true, Phase: whole, Calls: n, Completed: n - int64(failures), Kept: n, Cost: 0.25 * float64(n),
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What callers gave up is replayed with the distribution that it had been given
// up from: a recording through hedges and a timeout reads as one without them.
func TestReplayOfImpatience(t *testing.T) {
	patient := `study: upstream
seed: 3
load: {rate: 100/s, arrivals: poisson}
dependencies: {model: {latency: {lognormal: {p50: 100ms, p95: 400ms}}, fail: {ratio: 0.1}}}
phases: [{name: all, for: 100s}]
compositions: {plain: []}
`
	source := readText(t, patient)
	folder, _ := recorded(t, source)
	was := attemptsIn(t, folder, source)
	hasty := readText(t, patient, "seed=4", "compositions.plain=[{timeout: {after: 1s}}, {hedge: {extra: 1, after: 80ms}}]")
	hastyFolder, _ := recorded(t, hasty)
	replay := readText(t, patient, "seed=5", "horizon=1s", "dependencies.model={replay: "+hastyFolder+"}")
	again, result := recorded(t, replay)

	from := result.Replays[0].Recording
	if share := float64(from.Cut) / float64(from.Calls); share < 0.2 {
		t.Fatalf("only %.3f of the attempts were given up: the test shows nothing", share)
	}
	if from.Endless == nil {
		t.Error("some took longer than the timeout, and all end")
	}
	ends := func(rows []record.Attempt) (list []time.Duration) {
		for i := range rows {
			list = append(list, min(rows[i].End-rows[i].Start, time.Second)) // the horizon of the replay
		}
		return list
	}
	a, b := ends(was), ends(attemptsIn(t, again, replay))
	// two samples, of which that with gaps is worth somewhat less
	if d, most := distance(a, b), 2.23*math.Sqrt(1/float64(len(a))+2/float64(len(b))); d > most {
		t.Errorf("the distributions differ by %.4f, at most %.4f is chance", d, most)
	}
	// leaving them out would not do: that is what the test is for
	var naive []time.Duration
	for _, row := range attemptsIn(t, hastyFolder, hasty) {
		if !row.Cancelled {
			naive = append(naive, row.End-row.Start)
		}
	}
	if d := distance(ends(was), naive); d < 0.1 {
		t.Errorf("without the attempts that were given up the distributions differ by %.4f only: the test shows nothing", d)
	}
}

// A study of recorded providers runs end to end, tells what the recordings cost
// and spared, and can be had again without the folders that it was made from.
func TestRecordedProviders(t *testing.T) {
	original := read(t, "provider-failure")
	folder, was := recorded(t, original)
	primary := fmt.Sprintf("{replay: {folder: %s, phase: before, composition: fallback}}", folder)
	down := fmt.Sprintf("{replay: {folder: %s, phase: outage, composition: fallback}}", folder)
	s := read(t, "provider-failure", "dependencies.primary="+primary, "dependencies.backup={replay: {folder: "+folder+", composition: fallback}}",
		"phases.outage.dependencies.primary="+down, "expect=[{composition: fallback, measure: availability, at_least: 98%}]", "phases.*.for=100s")
	again, result := recorded(t, s)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}

	if !result.Valid || result.FailedExpectations() != 0 || result.Deterministic {
		t.Errorf("valid %v, %d failed expectations, deterministic %v", result.Valid, result.FailedExpectations(), result.Deterministic)
	}
	// what hung hangs, so that the findings are those of an outage
	if all := strings.Join(result.Findings, "\n"); !strings.Contains(all, "through an outage of primary that lasts 100 s") {
		t.Errorf("the findings:\n%s", all)
	}
	var list []string
	drawn, cost := int64(0), 0.0
	for _, p := range result.Replays {
		list = append(list, p.Dependency+" "+strings.Join(p.Phases, "+")+" from "+p.Recording.Phase)
		drawn, cost = drawn+p.Drawn, cost+p.DrawnCost
		if p.Recording.Composition != "fallback" {
			t.Errorf("from composition %q", p.Recording.Composition)
		}
	}
	if d := cmp.Diff([]string{"primary before+after from before", "primary outage from outage", "backup before+outage+after from whole"}, list); d != "" {
		t.Error(d)
	}
	if r := result.Replays[0].Recording; r.Calls != was.composition(t, "fallback").AttemptsByStartPhase["before"]["primary"] || math.Abs(r.Cost-0.002*float64(r.Calls)) > 1e-9 {
		t.Errorf("%d calls were recorded, which cost %v", r.Calls, r.Cost)
	}
	if outage := result.Replays[1].Recording; outage.Completed != 0 || outage.Endless == nil || *outage.Endless != 1 || outage.Longest != 2000 {
		t.Errorf("the outage: %+v", outage)
	}
	calls, during, spent := int64(0), int64(0), 0.0
	for _, c := range result.Compositions {
		calls += c.Whole.Attempts
		spent += c.Whole.Cost
		during += c.AttemptsByStartPhase["outage"]["primary"]
	}
	if result.Replays[1].Drawn != during || during == 0 {
		t.Errorf("%d attempts were replayed from the outage, of %d in it", result.Replays[1].Drawn, during)
	}
	if drawn != calls || math.Abs(cost-spent) > 1e-6 {
		t.Errorf("%d attempts were replayed, of a cost of %v; there were %d, of a cost of %v", drawn, cost, calls, spent)
	}

	if err := (&Folder{path: again}).Write(ResultFile, func(w io.Writer) error {
		_, err := w.Write([]byte(fmt.Sprintf(`{"schema": 1, "study_sha256": %q}`, studySum(s))))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, remade, _, err := Open(again)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(result.Replays, remade.Replays); d != "" {
		t.Errorf("made again from the rows: %s", d)
	}
	repeat, err := study.Read(filepath.Join(again, StudyFile), study.Options{Measure: CheckName})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(result.Compositions, measured(t, repeat).Compositions); d != "" {
		t.Errorf("run again: %s", d)
	}
}

// A failure keeps the name that it had, and its status; a retry takes it for a
// failure.
func TestReplayedCauses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rec.txt"), []byte(`brunt-recording 1
study hand
target east
calls 6
completed 1
cost 0
times after_ns first_token_ns end status tokens cost
1 5000000 1000000 completed 200 7 0
1 1000000 - connect 0 - 0
1 2000000 - reset 0 - 0
1 3000000 - status 503 - 0
1 4000000 - overload 0 - 0
1 6000000 - stream 200 - 0
`), 0o666); err != nil {
		t.Fatal(err)
	}
	text := `study: hand
load: {rate: 100/s}
dependencies: {east: {replay: rec.txt}}
phases: [{name: all, for: 30s}]
compositions:
  plain: []
  retry: [{retry: {attempts: 20, backoff: {kind: none}}}]
`
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(text), Folder: dir, Measure: CheckName})
	if err != nil {
		t.Fatal(err)
	}
	folder, result := recorded(t, s)
	plain := result.composition(t, "plain").Whole
	for _, cause := range []string{"connect", "reset", "status", "overload", "stream"} {
		if n := plain.Causes[cause]; n < 400 || n > 600 { // of 3000, each a sixth: five standard errors
			t.Errorf("%d requests ended with %s", n, cause)
		}
	}
	if n := plain.Causes["failure"]; n != 0 {
		t.Errorf("%d failures were not recorded", n)
	}
	if retry := result.composition(t, "retry").Whole; retry.Completed < 2800 || float64(retry.Attempts)/float64(retry.Offered) < 4 {
		t.Errorf("with retries %d of %d completed in %d attempts", retry.Completed, retry.Offered, retry.Attempts)
	}
	for _, row := range attemptsIn(t, folder, s) {
		want := map[string]int32{"completed": 200, "status": 503, "stream": 200}[row.Outcome()]
		tokens := map[bool]int64{true: 7, false: -1}[row.Cause == record.None]
		if row.Status != want || row.Tokens != tokens {
			t.Fatalf("an attempt that ended with %s has status %d and %d tokens", row.Outcome(), row.Status, row.Tokens)
		}
	}
}
