package measure

import (
	"strings"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
)

// replicaLoss is the layout of the pinned study: 60, 300, 600 and 60 s.
func replicaLoss() Layout {
	const s = time.Second
	return Layout{Warmup: 60 * s, Anchor: 360 * s, Horizon: 30 * s, Recovered: 500 * s, CoolDown: 960 * s, End: 1020 * s}
}

func TestLayout(t *testing.T) {
	const s = time.Second
	full := []Window{
		{Warmup, 0, 60 * s}, {BaselineWindow, 60 * s, 330 * s}, {Guard, 330 * s, 360 * s},
		{FaultWindow, 360 * s, 500 * s}, {RecoveredWindow, 500 * s, 960 * s}, {CoolDown, 960 * s, 1020 * s},
	}
	never := append(full[:3:3], Window{FaultWindow, 360 * s, 960 * s}, full[5])
	tests := []struct {
		name   string
		change func(*Layout)
		want   []Window
		err    string
	}{
		{"all six", func(*Layout) {}, full, ""},
		{"never recovered", func(l *Layout) { l.Recovered = record.Never }, never, ""},
		{"recovered in the cool-down", func(l *Layout) { l.Recovered = 1000 * s }, never, ""},
		{"no warm-up and no cool-down", func(l *Layout) { l.Start, l.Warmup, l.End = 60*s, 0, 960*s }, full[1:5], ""},
		{"guard eats the baseline", func(l *Layout) { l.Horizon = 300 * s }, nil, "no baseline is left: the warm-up ends at 1m0s and the guard starts at 1m0s"},
		{"recovered before the fire", func(l *Layout) { l.Recovered = 359 * s }, nil, "not in this order"},
		{"ends before the cool-down", func(l *Layout) { l.End = 959 * s }, nil, "not in this order"},
		{"no horizon", func(l *Layout) { l.Horizon = 0 }, nil, "a horizon of 0s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := replicaLoss()
			test.change(&l)
			got, err := l.Windows()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v, want %q", err, test.err)
			}
		})
	}
}

func TestMeasureWindows(t *testing.T) {
	const s = time.Second
	windows, err := replicaLoss().Windows()
	if err != nil {
		t.Fatal(err)
	}
	rows := load(load(load(nil, 0, 360*s, 10), 360*s, 500*s, 9), 500*s, 1020*s, 10)
	rows = append(rows,
		Row{Intended: 330*s - 1, Latency: 30 * s, Outcome: record.Censored}, // the last instant of the baseline, ends in the guard
		Row{Intended: 2000 * s}, // in no window
	)
	slo := &SLO{EndToEnd: s}
	got, outside, err := MeasureWindows(rows, windows, 30*s, slo, false)
	if err != nil || outside != 1 {
		t.Fatalf("%d outside, %v", outside, err)
	}
	type counts struct {
		Window                       WindowKind
		Discarded                    bool
		Offered, Completed, Errored  int64
		Censored, Good               int64
		Numbers, Caveat, Note, Upper bool
	}
	var seen []counts
	for _, w := range got {
		c := counts{Window: w.Window, Discarded: w.Discarded, Offered: w.Offered, Completed: w.Completed, Errored: w.Errored, Censored: w.Censored,
			Numbers: w.Incidence != nil && w.Curve != nil && w.CompletedOnly != nil, Caveat: w.Caveat != "", Note: w.Note != ""}
		if w.Goodput != nil {
			c.Good = w.Goodput.Count
		}
		c.Upper = len(w.Intervals) == 5 && w.Intervals[0].Upper != nil && w.Intervals[0].Reason == ""
		seen = append(seen, c)
	}
	want := []counts{
		{Window: Warmup, Discarded: true, Offered: 600, Completed: 600, Note: true},
		{Window: BaselineWindow, Offered: 2701, Completed: 2700, Censored: 1, Good: 2700, Numbers: true, Upper: true},
		{Window: Guard, Offered: 300, Completed: 300, Good: 300, Numbers: true, Note: true, Upper: true},
		{Window: FaultWindow, Offered: 1400, Completed: 1260, Errored: 140, Good: 1260, Numbers: true, Caveat: true, Upper: true},
		{Window: RecoveredWindow, Offered: 4600, Completed: 4600, Good: 4600, Numbers: true, Upper: true},
		{Window: CoolDown, Discarded: true, Offered: 600, Completed: 600, Note: true},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fault := got[3]
	if q := fault.Incidence.Quantiles[2]; q.Status != Unattainable || *fault.Incidence.Final != 0.9 || *fault.CompletedOnly.P95 != Millis(100*ms) {
		t.Errorf("fault: %+v, completed only %+v", fault.Incidence, fault.CompletedOnly)
	}
	if want := "10 % of requests did not complete: percentiles of those that did leave out the worst, and stand only beside the curve"; fault.Caveat != want {
		t.Errorf("caveat %q", fault.Caveat)
	}
	// 300 requests cannot bound p99.
	if b := got[2].Intervals[3]; b.Lower != nil || b.Reason != "p99-CI omitted (sample budget insufficient: 368 needed, 300 scheduled)" {
		t.Errorf("p99 of the guard: %+v", b)
	}
}

func TestCaveatIsAboveFivePercent(t *testing.T) {
	w := []Window{{BaselineWindow, 0, time.Second}}
	for failed, want := range map[int]bool{5: false, 6: true} {
		rows := make([]Row, 100)
		for i := range failed {
			rows[i].Outcome = record.Errored
		}
		got, _, err := MeasureWindows(rows, w, time.Second, nil, false)
		if err != nil || got[0].Goodput != nil || (got[0].Caveat != "") != want {
			t.Errorf("%d of 100 failed: caveat %q, goodput %v, %v", failed, got[0].Caveat, got[0].Goodput, err)
		}
	}
}

func TestWindowsOfNothing(t *testing.T) {
	got, _, err := MeasureWindows(nil, []Window{{FaultWindow, 0, 1}}, time.Second, &SLO{EndToEnd: 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	w := got[0]
	if w.Incidence.Final != nil || w.Incidence.Reason != "no request was offered in the fault window" || w.Incidence.Quantiles[0].Status != Empty ||
		w.CompletedOnly.Reason != "no request completed in the fault window" || w.Goodput.Share != nil || w.Intervals[0].Reason == "" {
		t.Errorf("%+v", w)
	}
	// A run without chance has no sampling error, and so no interval.
	got, _, err = MeasureWindows(latencies(1, 2, 3, 4, 5, 6, 7, 8), []Window{{FaultWindow, 0, 1}}, time.Second, nil, true)
	if b := got[0].Intervals[0]; err != nil || b.Lower != nil || !strings.Contains(b.Reason, "deterministic") {
		t.Errorf("%+v, %v", b, err)
	}
	for _, bad := range [][]Window{{{FaultWindow, 0, 2}, {Guard, 1, 3}}, {{FaultWindow, 2, 1}}} {
		if _, _, err := MeasureWindows(nil, bad, time.Second, nil, false); err == nil {
			t.Errorf("no error of %v", bad)
		}
	}
}
