package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/clock"
	"brunt/measure"
	"brunt/study"
)

// measured runs a study and returns its result.
func measured(tb testing.TB, s *study.Study) *Result {
	tb.Helper()
	r, _, err := Run(context.Background(), s, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// composition returns one composition of a result.
func (r *Result) composition(tb testing.TB, name string) *measure.Composition {
	tb.Helper()
	for i := range r.Compositions {
		if r.Compositions[i].Name == name {
			return &r.Compositions[i]
		}
	}
	tb.Fatalf("the result has no composition %q", name)
	return nil
}

// value finds a number that must be there.
func (r *Result) value(tb testing.TB, composition, phase, name string) float64 {
	tb.Helper()
	c := r.composition(tb, composition)
	var p *measure.Phase
	for i := range c.Phases {
		if c.Phases[i].Name == phase {
			p = &c.Phases[i]
		}
	}
	n, err := Find(c, p, name)
	if err != nil || n.Refusal != "" {
		tb.Fatalf("%s %s %s: %v %s", composition, phase, name, err, n.Refusal)
	}
	return n.Value
}

// TestOutageNumbers holds the virtual outage study to numbers that follow from
// the rules of order and of the policies; most were worked out by a second
// implementation of the same rules.
func TestOutageNumbers(t *testing.T) {
	r := measured(t, read(t, "outage", "ties.runs=0"))
	type row struct {
		composition, phase                   string
		completed, errored, limiter, circuit float64
		admitted, attempts, p95, p99         float64
	}
	for _, want := range []row{
		{"retry", "healthy", 3000, 0, 0, 0, 3000, 3000, 5, 5},
		{"retry", "slowdown", 3000, 0, 0, 0, 3000, 3000, 300, 300},
		{"retry", "outage", 4, 2996, 0, 0, 3000, 8998, 60, 60},
		{"retry", "recovery", 3000, 0, 0, 0, 3000, 3000, 5, 5},
		{"retry-breaker", "healthy", 3000, 0, 0, 0, 3000, 3000, 5, 5},
		{"retry-breaker", "slowdown", 3000, 0, 0, 0, 3000, 3000, 300, 300},
		{"retry-breaker", "outage", 0, 3000, 0, 2974, 87, 141, 0, 20},
		{"retry-breaker", "recovery", 2956, 44, 0, 44, 2956, 2956, 5, 5},
		{"limit-retry-breaker", "healthy", 3000, 0, 0, 0, 3000, 3000, 5, 5},
		{"limit-retry-breaker", "slowdown", 1600, 1400, 1384, 9, 1616, 1635, 600, 600},
		{"limit-retry-breaker", "outage", 0, 3000, 0, 3000, 57, 57, 0, 20},
		{"limit-retry-breaker", "recovery", 2976, 24, 0, 24, 2976, 2976, 5, 5},
		{"limit-hedge-breaker", "healthy", 3000, 0, 0, 0, 3000, 3000, 5, 5},
		{"limit-hedge-breaker", "slowdown", 3000, 0, 0, 0, 3000, 6000, 50, 50},
		{"limit-hedge-breaker", "outage", 0, 3000, 0, 2998, 61, 63, 0, 20},
		{"limit-hedge-breaker", "recovery", 2982, 18, 0, 18, 2982, 2982, 5, 5},
	} {
		v := func(name string) float64 { return r.value(t, want.composition, want.phase, name) }
		got := row{want.composition, want.phase, v("completed"), v("errored"), v("errored.limiter"), v("errored.circuit"),
			v("admitted"), v("attempts"), v("submitted.p95"), v("submitted.p99")}
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
	type whole struct {
		composition                                              string
		recovery, cancelled, losers, cleanup, requests, attempts float64
	}
	for _, want := range []whole{
		{"retry", 250, 0, 0, 0, 30, 30},
		{"retry-breaker", 750, 0, 0, 0, 30, 30},
		{"limit-retry-breaker", 500, 0, 0, 0, 33, 16},
		{"limit-hedge-breaker", 500, 2998, 2998, 20, 6, 10},
	} {
		v := func(name string) float64 { return r.value(t, want.composition, "", name) }
		got := whole{want.composition, v("recovery"), v("cancelled"), v("losers_pending"), v("cleanup.p99"), v("peak.requests"), v("peak.attempts")}
		if got != want {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// TestOutageNamesItsArtefacts: 44 requests of retry-breaker fail in the
// recovery where another timing gives 5, and the result says so and why.
func TestOutageNamesItsArtefacts(t *testing.T) {
	r := measured(t, read(t, "outage"))
	i := slices.IndexFunc(r.Ties.Artefacts, func(a Artefact) bool {
		return a.Composition == "retry-breaker" && a.Phase == "recovery" && a.Measure == "errored"
	})
	if i < 0 {
		t.Fatalf("not among the artefacts: %+v", r.Ties.Artefacts)
	}
	if a := r.Ties.Artefacts[i]; a.Value != 44 || a.Least > 5 || a.Most >= 44 {
		t.Errorf("got %+v", a)
	}
	for _, a := range r.Ties.Artefacts {
		if a.Composition == "retry" {
			t.Errorf("a stack without a breaker has an artefact: %+v", a)
		}
	}
	all := strings.Join(r.Findings, "\n")
	for _, want := range []string{"the number of errored requests of retry-breaker in recovery is 44", "a whole number of the 10 ms between arrivals"} {
		if !strings.Contains(all, want) {
			t.Errorf("the findings do not say %q:\n%s", want, all)
		}
	}
}

// TestStampede: without jitter all come back at once; with full jitter 20
// retries over six buckets have a peak of 5 or 6 in the median.
func TestStampede(t *testing.T) {
	r := measured(t, read(t, "stampede"))
	if got := r.value(t, "jitter-none", "", "herd.retry_peak"); got != 20 {
		t.Errorf("without jitter the peak is %v, not 20", got)
	}
	if got := r.value(t, "jitter-full", "", "herd.retry_peak"); got > 8 {
		t.Errorf("with full jitter the peak is %v at the pinned seed, above 8", got)
	}
	s := read(t, "stampede", "ties.runs=0")
	var peaks []int64
	for seed := range int64(1000) {
		s.Seed = seed
		m := measure.NewRecorder(plan(s), s.Schedule().Expected())
		if err := runOn(context.Background(), clock.Virtual(), s, "jitter-full", s.Schedule(), m, false, nil); err != nil {
			t.Fatal(err)
		}
		c, err := m.Composition("jitter-full")
		if err != nil {
			t.Fatal(err)
		}
		peaks = append(peaks, c.Herd.RetryPeak)
	}
	slices.Sort(peaks)
	if median := peaks[500]; median != 5 && median != 6 {
		t.Errorf("the median peak over 1000 seeds is %d, not 5 or 6", median)
	}
}

// TestStampedeOfAny: the herd grows with the burst.
func TestStampedeOfAny(t *testing.T) {
	r := measured(t, read(t, "stampede", "load.burst=2000", "expect=[]"))
	if got := r.value(t, "jitter-none", "", "herd.retry_peak"); got != 2000 {
		t.Errorf("the peak is %v, not 2000", got)
	}
	// 2000 over six buckets of one sixth each: 333 +- 5 standard deviations of 17
	if got := r.value(t, "jitter-full", "", "herd.retry_peak"); got < 333 || got > 418 {
		t.Errorf("the peak with full jitter is %v", got)
	}
}

func TestProviderFailure(t *testing.T) {
	r := measured(t, read(t, "provider-failure"))
	between := func(composition, phase, name string, least, most float64) {
		t.Helper()
		if v := r.value(t, composition, phase, name); v < least || v > most {
			t.Errorf("%s %s %s is %v, not in %v to %v", composition, phase, name, v, least, most)
		}
	}
	between("single", "", "availability", 0.60, 0.66)
	between("single", "outage", "availability", 0, 0)
	between("single", "", "submitted.p50", 720, 756) // near 738 ms
	between("single", "outage", "started.primary", 200, 200)
	between("fallback", "", "availability", 0.98, 1)
	between("fallback", "outage", "started.primary", 200, 200)
	between("fallback", "", "submitted.p95", 3000, 3250)
	between("fallback-breaker", "", "availability", 0.98, 1)
	between("fallback-breaker", "outage", "started.primary", 23, 32) // 3, and about 20 more under way, and probes
	between("fallback-breaker", "", "errored.circuit", 0, 0)         // it reorders, it never refuses
	if fast, slow := r.value(t, "fallback-breaker-fast", "outage", "started.primary"), r.value(t, "fallback-breaker", "outage", "started.primary"); fast >= slow {
		t.Errorf("the short timeout makes %v calls, the long one %v", fast, slow)
	}
	all := strings.Join(r.Findings, "\n")
	for _, want := range []string{"Why not fewer", "about 20 more calls are under way", "What shortens it"} {
		if !strings.Contains(all, want) {
			t.Errorf("the findings do not say %q:\n%s", want, all)
		}
	}
}

// TestBackupP95 holds the backup's latency to the 1.18 s that it stands for.
func TestBackupP95(t *testing.T) {
	r := measured(t, read(t, "provider-failure", "compositions.single=[{call: backup}]", "expect=[]", "load.rate=1000/s", "ties.runs=0",
		"compositions.fallback=[{call: backup}]", "compositions.fallback-breaker=[{call: backup}]", "compositions.fallback-breaker-fast=[{call: backup}]"))
	if got := r.value(t, "single", "", "completed.p95"); got < 1165 || got > 1195 {
		t.Errorf("the backup's p95 is %v ms", got)
	}
}

// builtIn lists the built-in studies in virtual time; in a short run those of
// few requests.
func builtIn(t *testing.T) []string {
	if testing.Short() {
		return []string{"outage", "stampede", "provider-failure", "tiers", "brownout"}
	}
	var names []string
	for _, listed := range study.BuiltIn() {
		if read(t, listed.Name).Clock == study.Virtual {
			names = append(names, listed.Name)
		}
	}
	return names
}

// TestSameResultWhateverGOMAXPROCS: a virtual result is a pure function of the
// study.
func TestSameResultWhateverGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range builtIn(t) {
		s := read(t, name)
		var first []byte
		for _, procs := range []int{1, 2, 7} {
			runtime.GOMAXPROCS(procs)
			got, err := json.Marshal(measured(t, s))
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			} else if !bytes.Equal(first, got) {
				t.Errorf("%s: GOMAXPROCS=%d gives another result", s.Name, procs)
			}
		}
	}
}

// TestRemade: a result made from the rows in a folder equals the live one.
func TestRemade(t *testing.T) {
	for _, name := range builtIn(t) {
		s := read(t, name)
		folder, err := NewFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		live, env, err := Run(context.Background(), s, Options{Folder: folder, Rows: true})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(live)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{folder.WriteStudy(s), folder.WriteEnvironment(env), folder.Write(ResultFile, writer(b))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		_, again, _, err := Open(folder.Path())
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(b), string(got)); diff != "" {
			t.Errorf("%s: remade from rows (-live +remade):\n%s", s.Name, diff)
		}
	}
}

// TestOtherStagesChangeNobodysLuck: two compositions meet the same draws.
func TestOtherStagesChangeNobodysLuck(t *testing.T) {
	alone := measured(t, read(t, "provider-failure", "ties.runs=0"))
	wrapped := measured(t, read(t, "provider-failure", "ties.runs=0",
		"compositions.single=[{limit: {permits: 1000}}, {breaker: {consecutive: 1000, open_for: 1s}}, {timeout: {after: 2s}}, {call: primary}]"))
	a, b := alone.composition(t, "single"), wrapped.composition(t, "single")
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("idle stages change the numbers (-without +with):\n%s", diff)
	}
}

func TestNumberNamesAreFound(t *testing.T) {
	r := measured(t, read(t, "outage", "ties.runs=0"))
	c := &r.Compositions[0]
	for _, name := range NumberNames() {
		name = strings.NewReplacer("CAUSE", "timeout", "NAME", "service").Replace(name)
		n, err := Find(c, nil, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		duration, err := CheckName(name, false, []string{"service"})
		if err != nil || duration != (n.Unit == "ms") {
			t.Errorf("%s: checked to be a duration: %v, %v; its unit is %q", name, duration, err, n.Unit)
		}
	}
	if _, err := CheckName("atempts", false, nil); err == nil || !strings.Contains(err.Error(), "attempts/offered") {
		t.Errorf("an unknown name gives %v", err)
	}
	if _, err := CheckName("recovery", true, nil); err == nil {
		t.Error("recovery is taken as a number of one phase")
	}
}

func ExampleRun() {
	s, err := study.Read("stampede", study.Options{})
	if err != nil {
		panic(err)
	}
	r, _, err := Run(context.Background(), s, Options{})
	if err != nil {
		panic(err)
	}
	for _, c := range r.Compositions[:1] {
		fmt.Printf("%s: %d retries in one bucket\n", c.Name, c.Herd.RetryPeak)
	}
	// Output: jitter-none: 20 retries in one bucket
}
