package sweep

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/study"
)

// small is a study that takes draws of chance and no time.
const small = `
study: small
load: {rate: 50/s, arrivals: poisson}
dependencies: {service: {latency: {exponential: {mean: 20ms}}, fail: {ratio: 0.2}}}
phases: [{name: good, for: 1s}, {name: bad, for: 1s, dependencies: {service: {fail_after: 5ms}}}]
compositions:
  retry: [{retry: {attempts: 3}}]
  plain: [{timeout: {after: 30ms}}]
`

func readStudy(t *testing.T, text string, sets ...string) *study.Study {
	t.Helper()
	s, err := study.Read("-", study.Options{Stdin: strings.NewReader(text), Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newSweep(t *testing.T, change func(*Config), vary ...string) *Sweep {
	t.Helper()
	c := Config{Source: "small.yaml", Study: readStudy(t, small), Seeds: 2, Workers: 2}
	for _, text := range vary {
		a, err := ParseAxis(text, 10)
		if err != nil {
			t.Fatal(err)
		}
		c.Axes = append(c.Axes, a)
	}
	if change != nil {
		change(&c)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish runs a sweep into a folder and returns all that it wrote, by name.
func finish(t *testing.T, s *Sweep, path string) map[string]string {
	t.Helper()
	folder, err := lab.NewFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), folder, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Conclude(folder); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	if err := filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, path)] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

var varied = []string{"compositions.*.retry.attempts=1..3", "load.rate=20/s..60/s in 3"}

// Nothing that is written depends on how many points run at a time.
func TestWorkersChangeNothing(t *testing.T) {
	one := finish(t, newSweep(t, func(c *Config) { c.Workers = 1; c.Pareto = "completed/offered:max,attempts/offered:min" }, varied...), t.TempDir())
	many := finish(t, newSweep(t, func(c *Config) { c.Workers = 7; c.Pareto = "completed/offered:max,attempts/offered:min" }, varied...), t.TempDir())
	if diff := cmp.Diff(one, many); diff != "" {
		t.Error(diff)
	}
	if len(one) < 10 || strings.Count(one["/"+JournalFile], "\n") != 10 {
		t.Errorf("%d files, %d lines in the journal", len(one), strings.Count(one["/"+JournalFile], "\n"))
	}
}

// A sweep that was cut anywhere ends with the very files of one that was not.
func TestResume(t *testing.T) {
	whole := finish(t, newSweep(t, nil, varied...), t.TempDir())
	journal := whole["/"+JournalFile]
	head := strings.IndexByte(journal, '\n') + 1
	second := head + strings.IndexByte(journal[head:], '\n') + 1
	for _, c := range []struct {
		why  string
		left string
	}{
		{"nothing was written", ""},
		{"in the middle of the plan", journal[:head/2]},
		{"before the newline behind the plan", journal[:head-1]},
		{"after the plan", journal[:head]},
		{"in the middle of a point", journal[:head+(second-head)/2]},
		{"before the newline of a point", journal[:second-1]},
		{"after a point", journal[:second]},
		{"before the last byte", journal[:len(journal)-1]},
		{"not at all", journal},
		{"the disk has the length of a line, and not its text", journal[:second] + strings.Repeat("\x00", 30) + "\n"},
	} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, JournalFile), []byte(c.left), 0o666); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, finish(t, newSweep(t, nil, varied...), path)); diff != "" {
			t.Errorf("cut %s: %s", c.why, diff)
		}
	}
}

// The points that are in the journal are not run again.
func TestResumeRunsTheRest(t *testing.T) {
	path := t.TempDir()
	folder, err := lab.NewFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := 0
	s := newSweep(t, func(c *Config) { c.Workers = 1 }, varied...)
	err = s.Run(ctx, folder, func(done int) {
		if stopped = done; done >= 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || stopped < 3 || stopped >= 9 {
		t.Fatalf("stopped after %d points: %v", stopped, err)
	}
	first := -1
	if err := s.Run(t.Context(), folder, func(done int) {
		if first < 0 {
			first = done
		}
	}); err != nil {
		t.Fatal(err)
	}
	if first < stopped {
		t.Errorf("went on from point %d, %d were done", first, stopped)
	}
}

func TestResumeRefuses(t *testing.T) {
	path := t.TempDir()
	journal := finish(t, newSweep(t, nil, varied...), path)["/"+JournalFile]
	lines := strings.SplitAfter(journal, "\n")
	for _, c := range []struct {
		why    string
		left   string
		change func(*Config)
		want   string
	}{
		{"other seeds", journal, func(c *Config) { c.Seeds = 3 }, "seeds: 3 here, 2 there"},
		{"another study", journal, func(c *Config) { c.Study = readStudy(t, small, "load.rate=51/s") }, "study_sha256: "},
		{"other measures", journal, func(c *Config) { c.Measures = []string{"p50"} }, `measures: ["p50"] here`},
		{"other values", journal, func(c *Config) { c.Axes = c.Axes[:1] }, "vary: "},
		{"another brunt", journal, func(c *Config) { c.Instrument.Version = "v9" }, `"version":"v9"`},
		{"points out of order", lines[0] + lines[2], nil, "point 1 stands where 0 belongs"},
		{"a damaged line before whole ones", lines[0] + "{\n" + lines[1], nil, "line 2: "},
		{"no plan", "{}\n", nil, "expected a plan"},
	} {
		if err := os.WriteFile(filepath.Join(path, JournalFile), []byte(c.left), 0o666); err != nil {
			t.Fatal(err)
		}
		folder, err := lab.NewFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		err = newSweep(t, c.change, varied...).Run(t.Context(), folder, func(int) {})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
		if c.change != nil && !errors.Is(err, ErrOtherPlan) {
			t.Errorf("%s: %v is not ErrOtherPlan", c.why, err)
		}
		if after, err := os.ReadFile(filepath.Join(path, JournalFile)); err != nil || string(after) != c.left {
			t.Errorf("%s: the journal was changed (%v)", c.why, err)
		}
		folder.Close()
	}
}

// A disk that is full ends the sweep; what was written before stays.
func TestWriteFails(t *testing.T) {
	s := newSweep(t, func(c *Config) { c.Workers = 3 }, varied...)
	full := errors.New("no space left")
	var wrote []int
	err := s.pass().from(t.Context(), 0, func(points []*Finished) error {
		if len(wrote) >= 2 {
			return full
		}
		for _, p := range points {
			wrote = append(wrote, p.Point)
		}
		return nil
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	for i, p := range wrote {
		if p != i {
			t.Fatalf("points came as %v", wrote)
		}
	}
}

// A fault at one point is found before anything runs, and the first is named
// however many there are.
func TestCheckNamesThePoint(t *testing.T) {
	for _, c := range []struct{ why, vary, want string }{
		{"a value that does not load", "compositions.retry.retry.attempts=1,2,0,-1", "point 3 of 4 (attempts=0): --set compositions.retry.retry.attempts=0"},
		{"a path that is not there", "compositions.retry.retry.atempts=1..2", `point 1 of 2 (atempts=1): --set compositions.retry.retry.atempts=1: compositions.retry.0.retry.atempts: unknown field`},
		{"the first of many, wherever they are", "compositions.retry.retry.attempts=1..200,-1..0,-300..-2", "point 201 of 501 (attempts=-1): "},
		{"the real clock", "clock=virtual,real", "point 2 of 2 (clock=real): the clock is real"},
	} {
		err := newSweep(t, nil, c.vary).Check(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	a, err := ParseAxis("load.rate=20/s,30/s", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why    string
		change func(*Config)
		want   string
	}{
		{"the real clock", func(c *Config) { c.Study = readStudy(t, small, "clock=real") }, "a sweep runs on the virtual one"},
		{"an unknown measure", func(c *Config) { c.Measures = []string{"p98"} }, `measure "p98": unknown measure`},
		{"an unknown phase", func(c *Config) { c.Measures = []string{"p99@ugly"} }, `no phase "ugly": the study has good, bad`},
		{"a whole number of a phase", func(c *Config) { c.Measures = []string{"recovery@bad"} }, "belongs to the whole run"},
		{"goodput without a promise", func(c *Config) { c.Measures = []string{"goodput"} }, "the study has no slo"},
		{"an unknown composition", func(c *Config) { c.Compositions = []string{"hedge"} }, `no composition "hedge": the study has retry, plain`},
		{"one goal", func(c *Config) { c.Pareto = "p99:min" }, "expected two measures at least"},
		{"a goal without a way", func(c *Config) { c.Pareto = "p99,p50:min" }, "expected NAME:max or NAME:min"},
	} {
		config := Config{Study: readStudy(t, small), Axes: []Axis{a}, Seeds: 1}
		c.change(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}

// The lean way measures what a whole run measures, but for the intervals of
// quantiles.
func TestMeasureIsRun(t *testing.T) {
	s := readStudy(t, small+"slo: {end_to_end: 25ms}\n", "ties.runs=0")
	want, _, err := lab.Run(t.Context(), s, lab.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range want.Compositions {
		got, err := lab.Measure(t.Context(), s, c.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range lab.NumberNames() {
			name = strings.NewReplacer("NAME", "service", "CAUSE", "timeout").Replace(name)
			a, err := lab.Find(&c, nil, name)
			if err != nil {
				t.Fatal(err)
			}
			b, err := lab.Find(&got, nil, name)
			if a != b || err != nil {
				t.Errorf("%s: %s is %v, want %v (%v)", c.Name, name, b, a, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lab.Measure(ctx, s, "retry"); !errors.Is(err, context.Canceled) {
		t.Errorf("cut short: %v", err)
	}
}

// Each point runs on the study's seed and the next ones: the numbers are those
// of runs with these seeds, for a phase and for the whole run.
func TestSeeds(t *testing.T) {
	s := newSweep(t, func(c *Config) {
		c.Seeds, c.Measures, c.Compositions = 3, []string{"completed@bad", "completed", "completed@whole"}, []string{"plain"}
	}, "load.rate=40/s,50/s")
	var got []*Finished
	if err := s.pass().from(t.Context(), 1, func(points []*Finished) error {
		got = append(got, points...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := make([]Found, 3)
	for seed := range int64(3) {
		at := seeded(readStudy(t, small), 1+seed)
		c, err := lab.Measure(t.Context(), at, "plain")
		if err != nil {
			t.Fatal(err)
		}
		for k, n := range []int64{c.Phases[1].Completed, c.Whole.Completed, c.Whole.Completed} {
			want[k].add(lab.Number{Value: float64(n)})
		}
	}
	if diff := cmp.Diff([]*Finished{{1, []Cell{{"plain", want}}}}, got); diff != "" {
		t.Error(diff)
	}
	if values := want[1].Values; *values[0] == *values[1] && *values[1] == *values[2] {
		t.Error("seeds change nothing")
	}
}

// TestVerdictsHaveExactIntervals: a yes or no over seeds is a share. Of 1 in 5 the
// exact interval is [0.0051, 0.7164], and of 5 in 5 [0.4782, 1].
func TestVerdictsHaveExactIntervals(t *testing.T) {
	for _, test := range []struct {
		values    []float64
		low, high float64
	}{
		{[]float64{0, 0, 1, 0, 0}, 0.00505, 0.71642},
		{[]float64{1, 1, 1, 1, 1}, 0.47818, 1},
	} {
		var f Found
		for _, v := range test.values {
			f.add(lab.Number{Value: v})
		}
		s := f.spread("metastable")
		if s.Low == nil || s.High == nil || math.Abs(*s.Low-test.low) > 1e-4 || math.Abs(*s.High-test.high) > 1e-4 {
			t.Errorf("%v: [%v, %v], want [%v, %v]", test.values, orNaN(s.Low), orNaN(s.High), test.low, test.high)
		}
	}
}

// TestIntervalsKeepToWhatANumberCanBe: 0.9 and 1 have a t-interval of 0.95 ± 0.635,
// 0 and 2 one of 1 ± 12.7.
func TestIntervalsKeepToWhatANumberCanBe(t *testing.T) {
	for _, test := range []struct {
		name      string
		values    []float64
		low, high float64
	}{
		{"completed/offered@outage", []float64{0.9, 1}, 0.314690, 1},
		{"attempts/offered", []float64{0.9, 1}, 0.314690, 1.585310},
		{"attempts/offered", []float64{0, 2}, 0, 13.706205},
	} {
		var f Found
		for _, v := range test.values {
			f.add(lab.Number{Value: v})
		}
		s := f.spread(test.name)
		if s.Low == nil || s.High == nil || math.Abs(*s.Low-test.low) > 1e-5 || math.Abs(*s.High-test.high) > 1e-5 {
			t.Errorf("%s %v: [%v, %v], want [%v, %v]", test.name, test.values, orNaN(s.Low), orNaN(s.High), test.low, test.high)
		}
	}
}
