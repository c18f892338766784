package measure

import (
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestSLO(t *testing.T) {
	slo := SLO{EndToEnd: 14 * time.Second, FirstToken: time.Second}
	tests := []struct {
		name                       string
		row                        Row
		met, endToEnd, token, open bool
	}{
		{"in time", Row{Latency: 5 * time.Second, FirstToken: time.Second / 2}, true, true, true, false},
		{"at exactly both limits", Row{Latency: 14 * time.Second, FirstToken: time.Second}, true, true, true, false},
		{"ends too late", Row{Latency: 14*time.Second + 1, FirstToken: time.Second}, false, false, true, false},
		{"begins too late", Row{Latency: 5 * time.Second, FirstToken: time.Second + 1}, false, true, false, false},
		{"no token", Row{Latency: 5 * time.Second, FirstToken: record.Never}, false, true, false, false},
		// An instant error is not fast, and a timeout is not a latency.
		{"errored at once", Row{Latency: 0, FirstToken: record.Never, Outcome: record.Errored}, false, false, false, false},
		{"errored in mid-stream", Row{Latency: 2 * time.Second, FirstToken: time.Second / 2, Outcome: record.Errored}, false, false, true, false},
		{"censored at the horizon", Row{Latency: 30 * time.Second, FirstToken: record.Never, Outcome: record.Censored}, false, false, false, false},
		{"censored at the limit", Row{Latency: 14 * time.Second, FirstToken: record.Never, Outcome: record.Censored}, false, false, false, false},
		{"censored before it could tell", Row{Latency: 3 * time.Second, FirstToken: record.Never, Outcome: record.Censored}, false, false, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := []bool{slo.Met(test.row), slo.EndToEndMet(test.row), slo.FirstTokenMet(test.row), slo.unknown(test.row)}
			if diff := cmp.Diff([]bool{test.met, test.endToEnd, test.token, test.open}, got); diff != "" {
				t.Errorf("met, end to end, first token, unknown (-want +got):\n%s", diff)
			}
		})
	}
	if !(SLO{EndToEnd: time.Second}).Met(Row{FirstToken: record.Never}) {
		t.Error("without a limit on the first token none is needed")
	}
}

func TestGoodputBuckets(t *testing.T) {
	const s = time.Second
	rows := []Row{
		{Intended: 10*s - 1},                            // before
		{Intended: 10 * s},                              // first instant of the first bucket
		{Intended: 11*s - 1, Latency: 60 * s},           // last instant of it, however late it ends
		{Intended: 11 * s, Outcome: record.Errored},     // second bucket
		{Intended: 13*s + s/2, Latency: s},              // in the half bucket at the end: not whole
		{Intended: 12*s + s/2, Outcome: record.Errored}, // third
	}
	g, err := NewGoodput(rows, SLO{EndToEnd: s}.Met, 10*s, 13*s+s/2, s)
	if err != nil {
		t.Fatal(err)
	}
	want := &Goodput{From: 10 * s, Width: s, Buckets: []Ratio{{1, 2}, {0, 1}, {0, 1}}, Outside: 2}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for at, want := range map[time.Duration]int{0: 0, 10 * s: 0, 10*s + 1: 1, 11 * s: 1, 12*s + 1: 3, 99 * s: 3} {
		if got := g.after(at); got != want {
			t.Errorf("the first bucket wholly after %v is %d, want %d", at, got, want)
		}
	}
	for _, bad := range [][3]time.Duration{{0, s, 0}, {s, 0, s}, {0, 100 * 24 * time.Hour, time.Millisecond}} {
		if _, err := NewGoodput(nil, SLO{}.Met, bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("no error from %v to %v by %v", bad[0], bad[1], bad[2])
		}
	}
}

// No request is counted twice or lost, and the order of rows does not matter.
func TestGoodputConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Row {
			return Row{Intended: time.Duration(rapid.IntRange(0, 50).Draw(t, "intended")), Outcome: record.Outcome(rapid.IntRange(0, 2).Draw(t, "outcome"))}
		})).Draw(t, "rows")
		g, err := NewGoodput(rows, SLO{}.Met, 5, 40, 7)
		if err != nil {
			t.Fatal(err)
		}
		if total := g.sum(0, len(g.Buckets)); total.Scheduled+g.Outside != int64(len(rows)) || total.Good > total.Scheduled {
			t.Fatalf("%+v and %d outside, of %d rows", total, g.Outside, len(rows))
		}
		other, err := NewGoodput(rapid.Permutation(rows).Draw(t, "permuted"), SLO{}.Met, 5, 40, 7)
		if diff := cmp.Diff(g, other); diff != "" || err != nil {
			t.Fatalf("permuted (-want +got):\n%s%v", diff, err)
		}
	})
}

// A share of 90 % is at least 90 % of 1, whatever floats say; and a product of
// large counts does not overflow.
func TestRatioAtLeast(t *testing.T) {
	tests := []struct {
		name     string
		ratio    Ratio
		q        PPM
		baseline Ratio
		want     bool
	}{
		{"exactly", Ratio{9, 10}, 900_000, Ratio{7, 7}, true},
		{"one below", Ratio{899_999, 1_000_000}, 900_000, Ratio{7, 7}, false},
		// 18/60 is 0.9 · 3/9; as floats it is less.
		{"float trap", Ratio{18, 60}, 900_000, Ratio{3, 9}, true},
		{"float trap .28", Ratio{28, 100}, 280_000, Ratio{1, 1}, true},
		{"large and exactly", Ratio{900_000_000, 1_000_000_000}, 900_000, Ratio{1_000_000_000, 1_000_000_000}, true},
		{"large and one below", Ratio{899_999_999, 1_000_000_000}, 900_000, Ratio{1_000_000_000, 1_000_000_000}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.ratio.atLeast(test.q, test.baseline); got != test.want {
				t.Errorf("%v at least %v of %v: %v", test.ratio, test.q, test.baseline, got)
			}
		})
	}
}

func TestSweep(t *testing.T) {
	const s = time.Second
	rows := []Row{
		{Latency: 1 * s}, {Latency: 2 * s}, {Latency: 8 * s},
		{Latency: 0, Outcome: record.Errored},
		{Latency: 10 * s, Outcome: record.Censored},
	}
	got, err := SLO{}.Sweep(rows, []time.Duration{s, 5 * s, 10 * s, 11 * s}, true)
	if err != nil {
		t.Fatal(err)
	}
	exact := "no interval: the run is deterministic, it made no draw and has no sampling error"
	want := []Threshold{
		{Millis(s), Rate{Count: 1, Of: 5, Share: of(0.2), Deterministic: true, Reason: exact}},
		{Millis(5 * s), Rate{Count: 2, Of: 5, Share: of(0.4), Deterministic: true, Reason: exact}},
		{Millis(10 * s), Rate{Count: 3, Of: 5, Share: of(0.6), Deterministic: true, Reason: exact}},
		{Millis(11 * s), Rate{Count: 3, Of: 5, Deterministic: true, Reason: "refused: 1 of 5 requests were censored before 11s"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := (SLO{}).Sweep(rows, []time.Duration{0}, true); err == nil || !strings.Contains(err.Error(), "a limit of 0s") {
		t.Errorf("a limit of 0: %v", err)
	}
}

// latencies makes completed rows.
func latencies(ms ...int) []Row {
	var rows []Row
	for _, l := range ms {
		rows = append(rows, Row{Latency: time.Duration(l) * time.Millisecond})
	}
	return rows
}

func repeated(n int, ms ...int) []Row {
	var rows []Row
	for range n {
		rows = append(rows, latencies(ms...)...)
	}
	return rows
}

func TestModalShift(t *testing.T) {
	failed := make([]Row, 100)
	for i := range failed {
		failed[i].Outcome = record.Errored
	}
	tests := []struct {
		name             string
		window, baseline []Row
		want             Shift
	}{
		// 15 at 9 ms and 15 at 11: mean 10, sample variance 30/29. Most of the window lies at 20, a mean would say 18.
		{"measured", append(repeated(40, 20), repeated(10, 10)...), repeated(15, 9, 11),
			Shift{Status: ShiftMeasured, Sigmas: of(9.831920802501750), Mode: millis(20 * ms), Mean: millis(10 * ms), SD: millis(1017095), Samples: 50, Baseline: 30}},
		{"below the baseline", repeated(30, 9), repeated(15, 9, 11),
			Shift{Status: ShiftMeasured, Sigmas: of(-0.983192080250175), Mode: millis(9 * ms), Mean: millis(10 * ms), SD: millis(1017095), Samples: 30, Baseline: 30}},
		{"baseline without spread", repeated(30, 20), repeated(30, 5),
			Shift{Status: ShiftInfinite, Mode: millis(20 * ms), Mean: millis(5 * ms), SD: millis(0), Samples: 30, Baseline: 30,
				Reason: "infinite: every request of the baseline took 5ms, it has no spread"}},
		{"no spread and no shift", repeated(30, 5), repeated(30, 5),
			Shift{Status: ShiftMeasured, Sigmas: of(0.0), Mode: millis(5 * ms), Mean: millis(5 * ms), SD: millis(0), Samples: 30, Baseline: 30}},
		// Errors have no latency, so a total outage has no mode.
		{"nothing completed", failed, repeated(30, 5),
			Shift{Status: ShiftInsufficient, Baseline: 30, Reason: "insufficient: 0 requests completed in the window and 30 in the baseline, 30 needed in each"}},
		{"short baseline", repeated(30, 5), repeated(29, 5),
			Shift{Status: ShiftInsufficient, Samples: 30, Baseline: 29, Reason: "insufficient: 30 requests completed in the window and 29 in the baseline, 30 needed in each"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ModalShift(test.window, test.baseline), cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMode(t *testing.T) {
	tests := []struct {
		name string
		xs   []int64
		want int64
	}{
		{"one", []int64{4}, 4},
		{"two", []int64{4, 8}, 6},
		{"three, lower pair", []int64{1, 2, 9}, 1},
		{"three, upper pair", []int64{1, 8, 9}, 8},
		{"three, even", []int64{1, 5, 9}, 5},
		{"the denser of two heaps", []int64{1, 2, 3, 50, 51, 51, 51, 52, 90}, 51},
		{"equal", []int64{7, 7, 7, 7}, 7},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := mode(test.xs); got != test.want {
				t.Errorf("mode of %v is %d, want %d", test.xs, got, test.want)
			}
		})
	}
}
