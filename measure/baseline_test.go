package measure

import (
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// load makes ten requests a second from an instant on. Of each ten the first
// good complete in 100 ms, the others fail at once.
func load(rows []Row, from, to time.Duration, good int) []Row {
	for at := from; at < to; at += time.Second {
		for i := range 10 {
			r := Row{Intended: at + time.Duration(i)*100*ms, Latency: 100 * ms, FirstToken: 50 * ms}
			if i >= good {
				r.Latency, r.FirstToken, r.Outcome = 0, record.Never, record.Errored
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// loss is a study of a fault at 300 s, of which nothing was lost before.
func loss() Fault {
	const s = time.Second
	return Fault{
		Baseline: Span{From: 60 * s, To: 270 * s},
		Planned:  300 * s, Actual: record.Never, End: 700 * s,
		Horizon: 30 * s, SLO: SLO{EndToEnd: 14 * s, FirstToken: s}, Detector: Pinned,
	}
}

func TestTwoBaselines(t *testing.T) {
	const s = time.Second
	before := load(nil, 0, 300*s, 10)
	tests := []struct {
		name    string
		after   []Row
		pre     *Millis
		plateau Baseline
		back    Detection // to the plateau
	}{
		// Nothing for 20 s, 60 % until 500 s, then all: the plateau spans 310 to
		// 498 s, ten seconds of it without goodput.
		{"plateau and recovery", load(load(load(nil, 300*s, 320*s, 0), 320*s, 500*s, 6), 500*s, 700*s, 10), millis(198 * s),
			Baseline{From: Millis(310 * s), To: Millis(498 * s), Good: 1068, Scheduled: 1880, Goodput: of(1068.0 / 1880)},
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true}},
		{"plateau too short", load(load(nil, 300*s, 320*s, 0), 320*s, 700*s, 10), millis(19 * s),
			Baseline{From: Millis(310 * s), To: Millis(319 * s), Scheduled: 90,
				Reason: "not estimable: 9s from 10s after the fire to the return to the pre-fault baseline, shorter than a window of 10s"},
			Detection{Status: NotApplicable}},
		// One second more, but nothing was served in it.
		{"plateau without goodput", load(load(nil, 300*s, 321*s, 0), 321*s, 700*s, 10), millis(20 * s),
			Baseline{From: Millis(310 * s), To: Millis(320 * s), Scheduled: 100, Reason: "not estimable: goodput in the plateau was 0"},
			Detection{Status: NotApplicable}},
		{"total outage", load(nil, 300*s, 700*s, 0), nil,
			Baseline{From: Millis(310 * s), To: Millis(700 * s), Scheduled: 3900, Reason: "not estimable: goodput in the plateau was 0"},
			Detection{Status: NotApplicable}},
		{"no load after the fire", nil, nil,
			Baseline{From: Millis(310 * s), To: Millis(700 * s), Reason: "not estimable: no request was scheduled in the plateau"},
			Detection{Status: NotApplicable}},
		{"never recovered", load(load(nil, 300*s, 320*s, 0), 320*s, 700*s, 6), nil,
			Baseline{From: Millis(310 * s), To: Millis(700 * s), Good: 2280, Scheduled: 3900, Goodput: of(2280.0 / 3900)},
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true}},
		{"never degraded", load(nil, 300*s, 700*s, 10), millis(0),
			Baseline{From: Millis(310 * s), To: Millis(310 * s), Reason: "not estimable: goodput did not fall below the entry level"},
			Detection{Status: NotApplicable}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := loss().Recovery(append(before[:len(before):len(before)], test.after...))
			if err != nil {
				t.Fatal(err)
			}
			pre := Baseline{From: Millis(60 * s), To: Millis(270 * s), Good: 2100, Scheduled: 2100, Goodput: of(1.0)}
			if diff := cmp.Diff(pre, got.PreFault.Baseline); diff != "" {
				t.Errorf("pre-fault baseline (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.pre, got.PreFault.Detection.Time); diff != "" {
				t.Errorf("return to it (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.plateau, got.Plateau.Baseline); diff != "" {
				t.Errorf("plateau (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.back, got.Plateau.Detection, cmpopts.IgnoreFields(Detection{}, "Reason", "Deficit", "DeficitReason", "Windows", "Empty")); diff != "" {
				t.Errorf("return to the plateau (-want +got):\n%s", diff)
			}
			if !strings.Contains(got.Plateau.Detection.Reason, test.plateau.Reason) {
				t.Errorf("the refusal says %q, the plateau %q", got.Plateau.Detection.Reason, test.plateau.Reason)
			}
		})
	}
}

// Tokens come back later than completions, and errors end at once.
func TestComponents(t *testing.T) {
	const s = time.Second
	rows := load(load(nil, 0, 300*s, 10), 300*s, 320*s, 0)
	for _, r := range load(nil, 320*s, 400*s, 10) {
		r.Latency, r.FirstToken = 3*s, 2*s
		rows = append(rows, r)
	}
	rows = load(rows, 400*s, 700*s, 10)
	got, err := loss().Recovery(rows)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]*Millis{"goodput": got.PreFault.Detection.Time}
	for _, c := range got.Components {
		times[c.Name] = c.Detection.Time
	}
	want := map[string]*Millis{"goodput": millis(99 * s), "first token": millis(99 * s), "end to end": millis(19 * s), "errors": millis(19 * s)}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f := loss()
	f.SLO.FirstToken = 0
	if got, err = f.Recovery(rows); err != nil || len(got.Components) != 2 || *got.PreFault.Detection.Time != Millis(19*s) {
		t.Errorf("without a limit on the first token: %+v, %v", got, err)
	}
}

// A request that was sent in the guard, and one censored early, feed nothing:
// the guard is no baseline, and what is not known is counted.
func TestGuardFeedsNothing(t *testing.T) {
	const s = time.Second
	rows := load(load(load(nil, 0, 270*s, 10), 270*s, 300*s, 0), 300*s, 700*s, 10)
	rows = append(rows, Row{Intended: 650 * s, Latency: s, FirstToken: record.Never, Outcome: record.Censored})
	got, err := loss().Recovery(rows)
	if err != nil {
		t.Fatal(err)
	}
	if b := got.PreFault.Baseline; *b.Goodput != 1 || b.Scheduled != 2100 {
		t.Errorf("the guard is in the baseline: %+v", b)
	}
	if got.Unknown != 1 {
		t.Errorf("%d unknown, want 1", got.Unknown)
	}
}

func TestAnchorAndLabel(t *testing.T) {
	const s = time.Second
	for _, test := range []struct{ planned, actual, want time.Duration }{
		{300 * s, record.Never, 300 * s},
		{300 * s, 301 * s, 300 * s},
		{300 * s, 299 * s, 299 * s},
	} {
		if got := (Fault{Planned: test.planned, Actual: test.actual}).Anchor(); got != test.want {
			t.Errorf("planned %v, actual %v: %v, want %v", test.planned, test.actual, got, test.want)
		}
	}
	f := loss()
	f.PartitionHeals = true
	got, err := f.Recovery(load(nil, 0, 700*s, 10))
	if err != nil || got.PreFault.Label != "partition heal" || got.Plateau.Label != "" {
		t.Errorf("labels %q and %q, %v", got.PreFault.Label, got.Plateau.Label, err)
	}
}

func TestFaultIsChecked(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name   string
		change func(*Fault)
		want   string
	}{
		// The last horizon before the fire is the guard's.
		{"baseline in the guard", func(f *Fault) { f.Baseline.To = 271 * s }, "a baseline up to 4m31s: it must end one horizon before the fire, at 4m30s or before"},
		{"early fire moves the guard", func(f *Fault) { f.Actual = 299 * s }, "at 4m29s or before"},
		{"empty baseline", func(f *Fault) { f.Baseline.To = 60 * s }, "it is empty"},
		{"no horizon", func(f *Fault) { f.Horizon = 0 }, "a horizon of 0s"},
		{"no limit", func(f *Fault) { f.SLO = SLO{} }, "the SLO has no limit"},
		{"limit below 0", func(f *Fault) { f.SLO.EndToEnd = -1 }, "a limit below 0"},
		{"ends before the fire", func(f *Fault) { f.End = 299 * s }, "observation ends at 4m59s"},
		{"bucket below 0", func(f *Fault) { f.Bucket = -1 }, "buckets of -1ns"},
		{"detector", func(f *Fault) { f.Detector.Hold = 0 }, "a hold of 0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := loss()
			test.change(&f)
			if _, err := f.Recovery(nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestInFlightAt(t *testing.T) {
	const s = time.Second
	rows := []Row{
		{Intended: 9 * s, Latency: 2 * s, Target: 0, Outcome: record.Errored},
		{Intended: 9 * s, Latency: 30 * s, Target: 0, Outcome: record.Censored},
		{Intended: 9 * s, Latency: 2 * s, Target: 1},
		{Intended: 9 * s, Latency: s, Target: 1},                                 // ends at the fire: still open
		{Intended: 9 * s, Latency: s - 1, Target: 0},                             // ended before it
		{Intended: 10 * s, Latency: s, Target: 0, Outcome: record.Errored},       // arrives with it: not yet open
		{Intended: 9 * s, Target: 0, Outcome: record.Errored, FirstToken: -1},    // shed: never open
		{Intended: 11 * s, Latency: 30 * s, Target: 0, Outcome: record.Censored}, // after
	}
	got := InFlightAt(rows, 10*s, func(r Row) bool { return r.Target == 0 }, false)
	fates := func(completed, errored, censored int64) *Fates {
		n := completed + errored + censored
		return &Fates{Open: n, Completed: completed, Errored: errored, Censored: censored, Failed: RateOf(errored, n, false), TimedOut: RateOf(censored, n, false)}
	}
	want := InFlight{At: Millis(10 * s), All: *fates(2, 1, 1), Victim: fates(0, 1, 1), Others: fates(2, 0, 0)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = InFlightAt(rows, 10*s, nil, false)
	if got.Victim != nil || got.Others != nil || got.Reason == "" || got.All.Open != 4 {
		t.Errorf("without a victim: %+v", got)
	}
}
