package study

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"brunt/dependency"
	"brunt/record"
	"brunt/record/parquet"
)

const millisecond = time.Millisecond

// upstream is the study of the runs that tests replay.
const upstream = `study: upstream
load: {rate: 10/s}
dependencies:
  east: {latency: 5ms}
  west: {latency: 5ms}
phases:
  - {name: well, for: 10s}
  - {name: ill, for: 10s}
compositions:
  plain: [{call: east}]
  other: [{call: west}]
`

// ran is an attempt of such a run.
type ran struct {
	composition int // of plain, other, plain@2
	record.Attempt
}

// row returns an attempt that began at an instant and completed.
func row(target int32, start, took time.Duration) record.Attempt {
	return record.Attempt{Dependency: target, Parent: -1, Start: start, End: start + took, CleanupEnd: start + took, FirstToken: record.Never, Wrote: record.Never, Tokens: -1}
}

// with changes a row.
func with(r record.Attempt, change func(*record.Attempt)) record.Attempt {
	change(&r)
	return r
}

// runFolder writes the folder of a run.
func runFolder(t testing.TB, rows []ran) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"study.yaml": upstream, "environment.json": `{"started": "2026-01-02T03:04:05Z"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w, err := parquet.Create(dir, []string{"plain", "other", "plain@2"}, []string{"east", "west"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		sink := w.Composition(i)
		for _, r := range rows {
			if r.composition == i {
				sink.Attempt(&r.Attempt)
			}
		}
		sink.Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// usualRows have every kind of attempt in them.
func usualRows() []ran {
	cancelled := func(a *record.Attempt) { a.Cancelled = true }
	return []ran{
		{0, with(row(0, time.Second, 5*millisecond), func(a *record.Attempt) { a.Cost = 0.25 })},
		{0, with(row(0, 2*time.Second, 5*millisecond), func(a *record.Attempt) { a.Cost = 0.25 })}, // no different
		{0, with(row(0, 3*time.Second, 2*time.Second), func(a *record.Attempt) {
			a.FirstToken, a.Status, a.Tokens = a.Start+300*millisecond, 200, 64
		})},
		{0, with(row(0, 4*time.Second, 7*millisecond), func(a *record.Attempt) { a.Cause, a.Status = record.Status, 503 })},
		{0, with(row(0, 5*time.Second, 3*time.Second), cancelled)},
		{0, with(row(0, 6*time.Second, millisecond), func(a *record.Attempt) { a.Cause = record.Harness })}, // tells nothing of the target
		{0, with(row(0, 10*time.Second, 20*millisecond), func(a *record.Attempt) { a.Cause = record.Reset })},
		{2, row(0, 25*time.Second, 9*millisecond)}, // a repeat, after the end: the last phase lasts until then
		{1, row(1, time.Second, 11*millisecond)},
		{1, row(0, time.Second, 13*millisecond)},
	}
}

// replaying is a study that replays, with a setting after replay:.
func replaying(setting string) string {
	return strings.Replace(small, "{latency: 5ms}", "{replay: "+setting+"}", 1)
}

// replayIn reads such a study beside its files, and returns its replay.
func replayIn(t *testing.T, study string) (*Study, *dependency.Replay) {
	t.Helper()
	s, err := Read(write(t, study, map[string]string{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.Dependencies.Get("a")
	return s, a.Replay
}

func TestReplayOfARun(t *testing.T) {
	run := runFolder(t, usualRows())
	sum, err := sumOf(filepath.Join(run, parquet.AttemptsFile))
	if err != nil {
		t.Fatal(err)
	}
	never := func(n int64, after time.Duration) dependency.Recorded {
		return dependency.Recorded{Times: n, After: after, FirstToken: record.Never, Tokens: -1}
	}
	paid := never(2, 5*millisecond)
	paid.Cost = 0.25
	refused := never(1, 7*millisecond)
	refused.Cause, refused.Status = record.Status, 503
	reset := never(1, 20*millisecond)
	reset.Cause = record.Reset
	cut := never(1, 3*time.Second)
	cut.Cut = true
	stream := dependency.Recorded{Times: 1, After: 2 * time.Second, FirstToken: 300 * millisecond, Status: 200, Tokens: 64}

	for _, c := range []struct {
		name, setting string
		origin        dependency.Origin
		want          []dependency.Recorded
	}{
		{"all of one target", "{folder: RUN, from: east}",
			dependency.Origin{Target: "east", Phases: 2, Compositions: 2, Calls: 9, Completed: 5, Cut: 1, LeftOut: 1, Cost: 0.5},
			[]dependency.Recorded{paid, refused, never(1, 9*millisecond), never(1, 13*millisecond), reset, stream, cut}},
		// an attempt belongs to the phase in which it started
		{"a phase", "{folder: RUN, from: east, phase: ill}",
			dependency.Origin{Target: "east", Phase: "ill", Phases: 1, Compositions: 1, Calls: 2, Completed: 1},
			[]dependency.Recorded{never(1, 9*millisecond), reset}},
		// with all its repeats
		{"a composition", "{folder: RUN, from: east, phase: well, composition: plain}",
			dependency.Origin{Target: "east", Phase: "well", Composition: "plain", Phases: 1, Compositions: 1, Calls: 6, Completed: 3, Cut: 1, LeftOut: 1, Cost: 0.5},
			[]dependency.Recorded{paid, refused, stream, cut}},
		{"another target", "{folder: RUN, from: west}",
			dependency.Origin{Target: "west", Phases: 1, Compositions: 1, Calls: 1, Completed: 1}, []dependency.Recorded{never(1, 11*millisecond)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, replay := replayIn(t, replaying(strings.Replace(c.setting, "RUN", run, 1)))
			c.origin.SHA256, c.origin.Study, c.origin.Started, c.origin.Simulated = sum, "upstream", "2026-01-02T03:04:05Z", true
			if d := cmp.Diff(c.origin, replay.Recording.Origin); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.want, replay.Recording.Attempts()); d != "" {
				t.Error(d)
			}
			// what is kept beside the results reads as the same study, without the run
			files := map[string]string{}
			for _, f := range s.Files() {
				files[f.Name] = string(f.Data)
			}
			if len(files) != 1 || files[replay.Folder] == "" || strings.Contains(string(s.YAML()), run) {
				t.Errorf("beside the study stand %v, and it says:\n%s", files, s.YAML())
			}
			path := write(t, string(s.YAML()), files)
			again, err := Read(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !equal(s, again) || string(again.YAML()) != string(s.YAML()) || len(again.Files()) != 1 {
				t.Errorf("read back:\n%s\n%v", again.YAML(), again.Files())
			}
			// so does the configuration
			if again, err = Read("-", Options{Stdin: strings.NewReader(string(s.Config())), Folder: filepath.Dir(path)}); err != nil || !equal(s, again) {
				t.Errorf("the configuration reads as another study: %v", err)
			}
			// and from elsewhere the recording is copied anew
			elsewhere, replay := replayIn(t, replaying(filepath.Join(filepath.Dir(path), replay.Folder)))
			if again, _ := again.Dependencies.Get("a"); !equal(s, elsewhere) || replay.Folder != again.Replay.Folder {
				t.Errorf("from elsewhere:\n%s", elsewhere.YAML())
			}
		})
	}
}

// Which target a recording is of when the study does not say.
func TestReplayOfTheLikeliest(t *testing.T) {
	run := runFolder(t, usualRows())
	named := strings.NewReplacer("  a:", "  west:").Replace(replaying(run))
	s, err := Read(write(t, named, map[string]string{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if west, _ := s.Dependencies.Get("west"); west.Replay.Recording.Origin.Target != "west" {
		t.Errorf("west is replayed from %s", west.Replay.Recording.Origin.Target)
	}
	// the only target of a run needs no name
	alone := strings.NewReplacer("  west: {latency: 5ms}\n", "", "call: west", "call: east").Replace(upstream)
	if err := os.WriteFile(filepath.Join(run, "study.yaml"), []byte(alone), 0o666); err != nil {
		t.Fatal(err)
	}
	if r, err := openRun(run); err != nil || r.like("a") != "east" {
		t.Errorf("of one target: %q, %v", r.like("a"), err)
	}
}

// One selection of a run is read and kept once, however often it stands in.
func TestReplaysOfAStudy(t *testing.T) {
	run := runFolder(t, usualRows())
	study := strings.NewReplacer("RUN", run).Replace(`study: two
load: {rate: 10/s}
dependencies:
  east: &like {replay: {folder: RUN, phase: well}}
  west: {latency: 1ms}
phases:
  - {name: one, for: 1s}
  - {name: two, for: 1s, dependencies: {east: {replay: {folder: RUN, phase: ill}}, west: {replay: RUN}}}
  - {name: three, for: 1s, dependencies: {east: {latency: 3ms}}}
  - {name: four, for: 1s, dependencies: {east: {hang: true}}}
  - {name: five, for: 1s, dependencies: {east: *like}}
compositions:
  x: [{timeout: {after: 1s}}, {fallback: {to: [[{call: east}], [{call: west}]]}}]
`)
	s, err := Read(write(t, study, map[string]string{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	type replayed struct {
		Dependency, Phase string
		Phases            []int
	}
	var got []replayed
	for _, r := range s.Replays() {
		got = append(got, replayed{r.Dependency, r.Recording.Origin.Phase, r.Phases})
	}
	if d := cmp.Diff([]replayed{{"east", "well", []int{0, 4}}, {"east", "ill", []int{1}}, {"west", "", []int{1}}}, got); d != "" {
		t.Error(d)
	}
	files := map[string]string{}
	for _, f := range s.Files() {
		files[f.Name] = string(f.Data)
	}
	again, err := Read(write(t, string(s.YAML()), files), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.Replays(), again.Replays(), cmp.Comparer(func(a, b *dependency.Recording) bool { return a.Origin == b.Origin })); d != "" {
		t.Errorf("read back: %s", d)
	}
	// another study of the same text is handed the files
	if again, err = Read("-", Options{Stdin: strings.NewReader(string(s.YAML())), Folder: t.TempDir(), Files: s.Files()}); err != nil || !equal(s, again) {
		t.Errorf("with its files at hand: %v", err)
	}
	if n := len(s.Files()); n != 3 {
		t.Errorf("%d files for three recordings", n)
	}
	if west := s.Behaviour(1, "west"); west.Latency != nil || west.Replay == nil {
		t.Errorf("a recording beside times: %+v", west)
	}
}

// A setting of the command line replaces a dependency by a recording, also of a
// built-in study, which has no folder.
func TestReplayBySetting(t *testing.T) {
	run := runFolder(t, usualRows())
	s, err := Read("provider-failure", Options{Sets: []string{"dependencies.primary={replay: {folder: " + run + ", from: east}}"}})
	if err != nil {
		t.Fatal(err)
	}
	if primary, _ := s.Dependencies.Get("primary"); primary.Replay.Recording.Kept() != 8 || len(s.Files()) != 1 {
		t.Errorf("%d attempts, %d files", primary.Replay.Recording.Kept(), len(s.Files()))
	}
}

func TestReplayFaults(t *testing.T) {
	run := runFolder(t, usualRows())
	bare := t.TempDir()
	rowless := t.TempDir()
	short := runFolder(t, usualRows())
	noRows := runFolder(t, nil)
	broken := runFolder(t, usualRows())
	foreign := runFolder(t, usualRows())
	for path, text := range map[string]string{
		filepath.Join(rowless, "study.yaml"): upstream, filepath.Join(broken, "study.yaml"): "study: [",
		filepath.Join(foreign, "result.json"): `{"schema": 99, "valid": true}`,
		filepath.Join(bare, "notes.txt"):      "a remark\nanother\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(short, parquet.AttemptsFile), 300); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, setting string
		want          []string // parts of the fault
	}{
		{"nowhere", "none", []string{`:4:15: dependencies.a.replay: "none": cannot be read: stat `, "no such file or directory: expected the folder of a run, or a recording"}},
		{"nothing", "''", []string{`:4:15: dependencies.a.replay.folder: missing: expected the folder of a run, or a recording`}},
		{"a folder of something else", bare, []string{"holds no study.yaml: expected the folder of a run, or a recording"}},
		{"a run that kept no rows", "{folder: " + rowless + ", from: east}", []string{"attempts.parquet is missing: the run kept no rows; run the study again and keep them"}},
		{"rows cut short", "{folder: " + short + ", from: east}", []string{"attempts.parquet: the file was cut short at 300 bytes"}},
		{"a study that is none", broken, []string{"its study cannot be read: " + broken + "/study.yaml:1"}},
		{"rows of another schema", "{folder: " + foreign + ", from: east}", []string{"its result.json has schema 99: this brunt reads schema 1"}},
		{"which of two", run, []string{"holds attempts at east, west, and none at a: expected one of them as from"}},
		{"an unknown target", "{folder: " + run + ", from: est}", []string{`dependencies.a.replay.from: "est": that run called no such thing: `, "east"}},
		{"an unknown phase", "{folder: " + run + ", from: east, phase: wel}", []string{`dependencies.a.replay.phase: "wel": that run had no such phase: `, "well"}},
		{"an unknown composition", "{folder: " + run + ", from: east, composition: plan}", []string{`dependencies.a.replay.composition: "plan": that run had no such composition: `, "plain"}},
		{"no attempt", "{folder: " + noRows + ", from: east}", []string{"has no attempt at east: there is nothing to replay"}},
		{"none of that kind", "{folder: " + run + ", from: west, phase: ill, composition: other}", []string{"has no attempt at west in phase ill by composition other: there is nothing to replay"}},
		{"a text of another kind", filepath.Join(bare, "notes.txt"), []string{"is no recording of brunt: expected the folder of a run, or a file from its recordings"}},
		{"rows in place of a folder", filepath.Join(run, parquet.AttemptsFile), []string{"is no recording of brunt: expected the folder of a run"}},
		{"a device", "/dev/null", []string{"is not a regular file, nor a folder"}},
		{"a list", "[x]", []string{"expected the folder of a run, a recording, or a mapping with folder, from, phase, composition"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(write(t, replaying(c.setting), map[string]string{}), Options{})
			if err == nil {
				t.Fatal("it is taken")
			}
			if n := strings.Count(err.Error(), "\n"); n > 0 {
				t.Errorf("%d faults:\n%v", n+1, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nlacks: %s", err, want)
				}
			}
		})
	}
	services := strings.Replace(small, "compositions:", "services: {s: {replay: {folder: "+run+", from: east}, stack: [{call: a}]}}\ncompositions:", 1)
	services = strings.Replace(services, "{name: two, for: 20s}", "{name: two, for: 20s, dependencies: {s: {replay: {folder: "+run+", from: west}}}}", 1)
	_, err := Read(write(t, services, map[string]string{}), Options{})
	if err == nil || strings.Count(err.Error(), "a service makes calls of its own, which are in a recording too: expected a dependency") != 2 {
		t.Errorf("a service: %v", err)
	}
}

// Recordings that carry less than is asked of them.
func TestReplayDoubts(t *testing.T) {
	many := func(n int, r record.Attempt) (list []ran) {
		for range n {
			list = append(list, ran{0, r})
		}
		return list
	}
	cancelled := func(after time.Duration) record.Attempt {
		return with(row(0, 0, after), func(a *record.Attempt) { a.Cancelled = true })
	}
	well := many(200, row(0, 0, 5*millisecond))
	for _, c := range []struct {
		name, stack string
		rows        []ran
		want        []string // parts of the doubts, in order
	}{
		{"nothing", "[]", well, nil},
		{"few", "[]", well[:99], []string{"has 99 attempts: what is rarer than one in 99 cannot be in it"}},
		{"an invalid run", "[]", well, []string{"is from a run that is not valid"}},
		{"phases", "[]", append(many(1, row(0, 15*time.Second, millisecond)), well...), []string{"takes attempts of 2 phases of that run together"}},
		{"compositions", "[]", append([]ran{{1, row(0, 0, millisecond)}}, well...), []string{"takes attempts of 2 compositions of that run together"}},
		// nobody here waits longer than they did there
		{"cut at the end", "[{timeout: {after: 2s}}]", append(many(50, cancelled(2*time.Second)), well...), nil},
		{"cut at the end in a fallback", "[{fallback: {to: [[{timeout: {after: 3s}}, {retry: {attempts: 2}}, {call: a}]]}}]", append(many(50, cancelled(2*time.Second)), well...),
			[]string{"nobody waited longer than 2s there, and callers here wait up to 3s: the 20 % of the attempts that had not ended by then never end here"}},
		{"cut at the end without a timeout", "[]", append(many(50, cancelled(2*time.Second)), well...),
			[]string{"callers here wait up to 30s"}},
		// few draws have to guess
		{"cut before rarely", "[]", append(many(5, cancelled(millisecond)), well...), nil},
		{"cut before", "[]", append(many(50, cancelled(millisecond)), well...),
			[]string{"has 50 attempts (20 %) that were given up while others that took longer came to their end"}},
		{"left out", "[]", append(many(50, with(row(0, 0, 0), func(a *record.Attempt) { a.Cause = record.Harness })), well...),
			[]string{"leaves out 50 of 250 calls (20 %), which failed on the machine that made them"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := runFolder(t, c.rows)
			valid := fmt.Sprintf(`{"valid": %t}`, c.name != "an invalid run")
			if err := os.WriteFile(filepath.Join(run, "result.json"), []byte(valid), 0o666); err != nil {
				t.Fatal(err)
			}
			study := strings.Replace(replaying("{folder: "+run+", from: east}"), "plain: []", "plain: "+c.stack, 1)
			study, _, _ = strings.Cut(study, "  retry:")
			s, _ := replayIn(t, study)
			var got []string
			for _, w := range s.Warnings() {
				if strings.HasPrefix(w.Path, "dependencies.a.replay") {
					got = append(got, w.Error())
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("doubts: %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("%s\nlacks: %s", got[i], want)
				}
			}
		})
	}
}

// A file that somebody has edited is refused line by line.
func TestRecordingFaults(t *testing.T) {
	rec := dependency.NewRecording(dependency.Origin{SHA256: strings.Repeat("a", 64), Study: "s", Target: "t", Calls: 10, Completed: 2},
		[]dependency.Recorded{{Times: 2, After: 5 * millisecond, FirstToken: millisecond, Tokens: 3, Cost: 1}})
	good := string(writeRecording(rec))
	const line = "2 5000000 1000000 completed 0 3 1"
	if !strings.Contains(good, line) {
		t.Fatalf("the recording reads:\n%s", good)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"as written", "", "", ""},
		{"another version", "brunt-recording 1", "brunt-recording 2", "is no recording of brunt"},
		{"nothing", good, "", "is no recording of brunt"},
		{"no attempt", line, "", "holds no attempt: there is nothing to replay"},
		{"no target", "target t", "target -", "does not say which study and target it is of"},
		{"more attempts than calls", "calls 10", "calls 1", "holds more attempts than the 1 calls that it tells of"},
		{"more ends than calls", "completed 2", "completed 11", "holds more attempts than the 10 calls that it tells of"},
		{"a count that is none", "calls 10", "calls many", "expected a count"},
		{"a negative count", "cut 0", "cut -1", "expected a count"},
		{"no sum", "sha256 a", "sha256 z", "expected the SHA-256 of the rows"},
		{"no name", "study s", "study ../s", "expected a name"},
		{"no instant", "started -", "started today", "expected an instant as in RFC 3339"},
		{"neither", "simulated false", "simulated no", "expected true or false"},
		{"an unknown line", "cut 0", "cat 0", "expected where the recording is from"},
		{"a line twice", "cut 0", "calls 10", "expected where the recording is from, each thing once"},
		{"too few columns", line, "2 5000000", "expected an attempt: times after_ns"},
		{"none of them", line, "0 5000000 - completed 0 3 1", "times: expected a count from 1 on"},
		{"too many", line, "1099511627777 5000000 - completed 0 3 1", "times: expected a count from 1 on"},
		{"too many together", line, "1099511627776 1 - completed 0 3 1\n1 1 - completed 0 3 1", "times: more attempts than a run can make"},
		{"a duration with a unit", line, "2 5ms - completed 0 3 1", "after_ns: expected nanoseconds"},
		{"a negative duration", line, "2 -5 - completed 0 3 1", "after_ns: expected nanoseconds"},
		{"an absurd duration", line, "2 9000000000000000000 - completed 0 3 1", "after_ns: expected nanoseconds, below ten years"},
		{"a token after the end", line, "2 5 6 completed 0 3 1", "first_token_ns: expected nanoseconds up to the end"},
		{"a token of a failure", line, "2 5 1 failure 0 3 1", "first_token_ns: expected nanoseconds up to the end"},
		{"an unknown end", line, "2 5 - lost 0 3 1", "end: expected completed, cut or a cause"},
		{"an end that no target makes", line, "2 5 - harness 0 3 1", "end: expected completed, cut or a cause"},
		{"a status that is none", line, "2 5 - status 5000 3 1", "status: expected one of HTTP's"},
		{"no tokens", line, "2 5 - completed 0 -3 1", "tokens: expected a count, or -"},
		{"no cost", line, "2 5 - completed 0 3 NaN", "cost: expected 0 to 1000000"},
		{"a cost below 0", line, "2 5 - completed 0 3 -1", "cost: expected 0 to 1000000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			_, err := Read(write(t, replaying("rec.txt"), map[string]string{"rec.txt": text}), Options{})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v\nlacks: %s", err, c.want)
			}
		})
	}
	_, err := Read(write(t, replaying("{folder: rec.txt, phase: x}"), map[string]string{"rec.txt": good}), Options{})
	if err == nil || !strings.Contains(err.Error(), `replay.phase: "x": this recording holds one choice of a run's attempts already`) {
		t.Errorf("a choice within a choice: %v", err)
	}
}

// Of a large recording a sample is kept, the same each time, and its counts are
// those of the whole.
func TestLargeRecording(t *testing.T) {
	defer func(n int) { mostLines = n }(mostLines)
	mostLines = 500
	rows := make([]ran, 0, 3000)
	for i := range time.Duration(3000) {
		rows = append(rows, ran{0, row(0, 0, (i+1)*millisecond)})
	}
	study := replaying("{folder: " + runFolder(t, rows) + ", from: east}")
	_, replay := replayIn(t, study)
	rec := replay.Recording
	if rec.Kept() != 500 || rec.Origin.Calls != 3000 || rec.Origin.Completed != 3000 {
		t.Fatalf("%d kept of %+v", rec.Kept(), rec.Origin)
	}
	below := 0
	for _, a := range rec.Attempts() {
		if a.After <= 1500*millisecond {
			below++
		}
	}
	if below < 194 || below > 306 { // five standard errors
		t.Errorf("%d of 500 lie in the lower half", below)
	}
	_, again := replayIn(t, study)
	if d := cmp.Diff(rec.Attempts(), again.Recording.Attempts(), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("another sample: %s", d)
	}
	// a few that do not differ are no large recording
	for i := range rows {
		rows[i].End = rows[i].Start + time.Duration(i%7)*millisecond
	}
	if _, replay := replayIn(t, replaying("{folder: "+runFolder(t, rows)+", from: east}")); replay.Recording.Kept() != 3000 || len(replay.Recording.Attempts()) != 7 {
		t.Errorf("%d of 3000 are kept, in %d lines", replay.Recording.Kept(), len(replay.Recording.Attempts()))
	}
}

// Files are found wherever a behaviour stands: these were once not read, and
// drawing from them failed.
func TestFilesOfReplicasAndServices(t *testing.T) {
	study := strings.Replace(small, "{latency: 5ms}", "{latency: 5ms, replicas: 2, replica: [{number: 2, latency: {empirical: {file: times}}}]}", 1)
	study = strings.Replace(study, "compositions:", "services: {s: {latency: {empirical: {file: times}}, stack: [{call: a}]}}\ncompositions:", 1)
	study = strings.NewReplacer("plain: []", "plain: [{call: s}]", "{kind: none}}", "{kind: none}}\n    - call: s").Replace(study)
	study = strings.Replace(study, "backoff: {kind: none}\n    - call: s}", "backoff: {kind: none}}\n    - call: s", 1)
	s, err := Read(write(t, study, map[string]string{"times": "1ms"}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.Dependencies.Get("a")
	service, _ := s.Services.Get("s")
	for where, l := range map[string]*dependency.ByAttempt{"replica": a.Replica[0].Latency, "service": service.Latency} {
		if d := cmp.Diff([]time.Duration{millisecond}, l.Empirical.Times); d != "" {
			t.Errorf("%s: %s", where, d)
		}
	}
}

// The example is a whole one: recordings of real calls, and a study of them.
func TestReplayExample(t *testing.T) {
	s, err := Read("../examples/replay/providers.yaml", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("doubts:\n%v", w)
	}
	list := s.Replays()
	if len(list) != 2 || list[0].Recording.Origin.Simulated || list[0].Recording.Origin.Calls != 492 || len(list[0].Phases) != 2 {
		t.Errorf("%+v", list)
	}
	if record, err := Read("../examples/replay/record.yaml", Options{}); err != nil || list[0].Recording.Origin.Study != record.Name {
		t.Errorf("its recordings are not those of record.yaml: %v", err)
	}
}

func TestReplaySchema(t *testing.T) {
	schema := compiled(t)
	for setting, good := range map[string]bool{"runs/x": true, "{folder: runs/x, from: a, phase: b, composition: c}": true, "''": false, "{folder: runs/x, fase: b}": false, "[x]": false} {
		if err := schema.Validate(generic(t, replaying(setting))); (err == nil) != good {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
