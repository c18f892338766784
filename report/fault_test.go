package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/measure"
	"brunt/record"
)

// faultRows are two requests a second for three minutes, of which all fail in
// the 30 seconds after the fire, but for so many of ten.
func faultRows(of10 int) measure.Rows {
	var rows measure.Rows
	for i := range 360 {
		at := time.Duration(i) * time.Second / 2
		row := measure.Row{Intended: at, Latency: 50 * time.Millisecond, FirstToken: record.Never, Outcome: record.Completed}
		if at >= time.Minute && at < 90*time.Second && i%10 >= of10 {
			row.Outcome = record.Errored
		}
		rows = append(rows, row)
	}
	return rows
}

// faultResult is a study with a fault: one composition keeps 6 of 10 requests
// through it, the other none.
func faultResult(t testing.TB) *lab.Result {
	r := providerResult(t)
	r.Study = "fault"
	r.Compositions = r.Compositions[:2]
	f := measure.Fault{
		Baseline: measure.Span{From: 0, To: 55 * time.Second}, Planned: time.Minute, Actual: record.Never, End: 3 * time.Minute,
		Horizon: 5 * time.Second, SLO: measure.SLO{EndToEnd: 300 * time.Millisecond}, Detector: measure.Pinned,
	}
	layout := measure.Layout{Warmup: 5 * time.Second, Anchor: time.Minute, Horizon: 5 * time.Second,
		Recovered: 90 * time.Second, CoolDown: 170 * time.Second, End: 3 * time.Minute}
	windows, err := layout.Windows()
	if err != nil {
		t.Fatal(err)
	}
	for i, of10 := range []int{6, 0} {
		rows, c := faultRows(of10), &r.Compositions[i]
		if c.Recovery.Goodput, err = f.Recovery(rows); err != nil {
			t.Fatal(err)
		}
		if c.Windows, _, err = measure.MeasureWindows(rows, windows, f.Horizon, &f.SLO, false); err != nil {
			t.Fatal(err)
		}
		at := measure.InFlightAt(rows, time.Minute, nil, false)
		c.InFlight = &at
	}
	return r
}

func sectionNamed(t *testing.T, r *lab.Result, title string) section {
	t.Helper()
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range faultSections(r, c) {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("no section %q", title)
	return section{}
}

// The two baselines stand beside each other, and a plateau without goodput is
// none.
func TestTwoBaselines(t *testing.T) {
	s := sectionNamed(t, faultResult(t), faultTitle)
	table := tableNamed(t, s, "Return to each baseline")
	want := [][]string{
		{"single", "before the fault", "100.00 %", "0 ms / 55 s", "29 s", "0", "0", "11"},
		{"single", "degraded plateau", "63.16 %", "70 s / 89 s", "0 ms", "0", "0", "0"},
		{"fallback", "before the fault", "100.00 %", "0 ms / 55 s", "29 s", "0", "0", "29"},
		{"fallback", "degraded plateau", "not estimable¹", "70 s / 89 s", "N/A²", "0", "0", "—³"},
	}
	if diff := cmp.Diff(want, rowsOf(table)); diff != "" {
		t.Error(diff)
	}
	if len(table.Notes) != 3 || !strings.Contains(table.Notes[0], "goodput in the plateau was 0") {
		t.Errorf("notes: %q", table.Notes)
	}
	if parts := tableNamed(t, s, "Each part of goodput by itself"); len(parts.Rows) != 4 {
		t.Errorf("%d rows of parts, want end to end and errors of two", len(parts.Rows))
	}
}

// Every verdict of a detector is told, with its reason.
func TestDetections(t *testing.T) {
	at := func(s float64) *measure.Millis { return ms(1000 * s) }
	share, deficit := 0.98, 12.5
	for _, c := range []struct {
		name      string
		label     string
		detection measure.Detection
		want      []string // recovered after, cancelled, degraded again, deficit
		notes     string
	}{
		{"recovered", "", measure.Detection{Status: measure.Recovered, Time: at(31), Deficit: &deficit}, []string{"31 s", "0", "0", "12.5"}, ""},
		{"a partition that heals", measure.PartitionHeal, measure.Detection{Status: measure.Recovered, Time: at(31), Deficit: &deficit},
			[]string{"31 s (partition heal)", "0", "0", "12.5"}, ""},
		{"flapping and degraded again", "", measure.Detection{Status: measure.Recovered, Time: at(31), Cancelled: 3, Deficit: &deficit,
			Redegradations: []measure.Redegradation{{From: *at(50), To: at(61)}, {From: *at(80), Reason: "not ended"}}},
			[]string{"31 s", "3", "2", "12.5"}, "degraded again from 50 s to 61 s; from 80 s (not ended) after the fire"},
		{"never", "", measure.Detection{Status: measure.NotRecovered, Reason: "not recovered by the timeout", Deficit: &deficit, DeficitReason: "up to the end"},
			[]string{"not recovered¹", "0", "0", "12.5²"}, "Not recovered by the timeout."},
		{"cut short", "", measure.Detection{Status: measure.HoldIncomplete, Reason: "candidate at 80s, hold incomplete: 5s of 30s", Deficit: &deficit},
			[]string{"hold incomplete¹", "0", "0", "12.5"}, "Candidate at 80s, hold incomplete"},
		{"no baseline", "", measure.Detection{Status: measure.NotApplicable, Reason: "no goodput to return to", DeficitReason: "none"},
			[]string{"N/A¹", "0", "0", "—²"}, "No goodput to return to."},
	} {
		comp := measure.Composition{Name: "one", Recovery: measure.Recovery{Goodput: &measure.FaultRecovery{}}}
		comp.Recovery.Goodput.PreFault = measure.Against{Baseline: measure.Baseline{Goodput: &share}, Detection: c.detection, Label: c.label}
		table := returns([]*measure.Composition{&comp})
		if diff := cmp.Diff(c.want, rowsOf(&table)[0][4:]); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
		if all := strings.Join(table.Notes, "\n"); !strings.Contains(all, c.notes) {
			t.Errorf("%s: the notes do not say %q:\n%s", c.name, c.notes, all)
		}
	}
}

// The sensitivity table has a cell for each detector, and marks the one in use.
func TestSensitivity(t *testing.T) {
	table := tableNamed(t, sectionNamed(t, faultResult(t), faultTitle), "How much the time hangs on the detector")
	if len(table.Rows) != 6 || len(table.Head) != 5 {
		t.Fatalf("%d rows of %d columns, want 3 entries of 2 compositions by 3 windows", len(table.Rows), len(table.Head))
	}
	marked := 0
	for _, cells := range table.Rows {
		for _, cell := range cells[2:] {
			if len(cell.Parts) != 3 {
				t.Errorf("%q: want a part for each hold", cell)
			}
			marked += strings.Count(cell.String(), "*")
		}
	}
	if marked != 2 {
		t.Errorf("%d cells are marked, want one a composition", marked)
	}
}

// The guard stands by itself, discarded windows have counts alone, and where
// many did not complete the percentiles of the others say of how many they are.
func TestWindows(t *testing.T) {
	s := sectionNamed(t, faultResult(t), "Windows around the fault")
	main := tableNamed(t, s, "What happened in each")
	const fault, single = "fault", "single"
	for _, row := range rowsOf(main) {
		window := strings.TrimRight(row[1], "⁰¹²³⁴⁵⁶⁷⁸⁹")
		completed := row[len(row)-1]
		switch {
		case window == string(measure.Guard):
			t.Error("the guard stands among the others")
		case window == string(measure.Warmup), window == string(measure.CoolDown):
			if row[3] == "" || completed != "discarded" {
				t.Errorf("%q: want counts alone", row)
			}
		case window == fault && row[0] == single:
			if want := "50 / 50 / 50 of only 60 %"; !strings.HasPrefix(completed, want) || completed == want {
				t.Errorf("got %q, want %q and the mark of a caveat", completed, want)
			}
		case window == fault:
			if !strings.HasPrefix(completed, absent) {
				t.Errorf("got %q of a window in which nothing completed", completed)
			}
		default:
			if completed != "50 / 50 / 50" {
				t.Errorf("%q: got %q", row[1], completed)
			}
		}
	}
	guard := tableNamed(t, s, "The guard, the last horizon before the fire, by itself")
	if len(guard.Rows) != 2 || !strings.Contains(strings.Join(guard.Notes, " "), "Feeds no other number") {
		t.Errorf("%d rows and the notes %q", len(guard.Rows), guard.Notes)
	}
	if !strings.Contains(strings.Join(main.Notes, " "), "did not complete") {
		t.Errorf("no caveat in the notes %q", main.Notes)
	}
	intervals := tableNamed(t, s, "95 % intervals of the curve's quantiles")
	if !strings.Contains(strings.Join(intervals.Notes, " "), "sample budget insufficient: 368 needed") {
		t.Errorf("an omitted interval is not explained: %q", intervals.Notes)
	}
}

// A run without chance has no table of intervals.
func TestWindowsOfDeterministicRun(t *testing.T) {
	r := faultResult(t)
	r.Deterministic = true
	for _, table := range sectionNamed(t, r, "Windows around the fault").Tables {
		if strings.Contains(table.Title, "intervals") {
			t.Errorf("table %q", table.Title)
		}
	}
}

// Why there is no recovery is said where it would stand.
func TestFaultReason(t *testing.T) {
	r := outageResult(t)
	r.FaultReason = "not computed for more than 4,000,000 requests"
	if s := textOf(t, r, TextOptions{}); !strings.Contains(s, "RECOVERY FROM THE FAULT\n  Not computed for more than 4,000,000 requests.") {
		t.Errorf("not said:\n%s", s)
	}
}

// A report hangs on what result.json holds, and on nothing else: made again
// from it, it is the same.
func TestReportFromJSON(t *testing.T) {
	for _, f := range fixtures {
		r := f.make(t)
		var b, want, got bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(&want, r, nil); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(&got, readBack(t, b.Bytes()), nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s:\n%s", f.name, diff)
		}
	}
}

// Goodput stands with its interval, a shift without end in words, and other
// limits in report.md alone.
func TestService(t *testing.T) {
	r := faultResult(t)
	sigmas := -2.25
	for i := range r.Compositions {
		s := &measure.Service{Goodput: []measure.PhaseGoodput{{Phase: "outage", Rate: measure.RateOf(50, 100, false)}, {Phase: "whole", Rate: measure.RateOf(0, 0, false)}}}
		s.Sweep = []measure.Threshold{{Limit: *ms(150), Rate: measure.RateOf(1, 4, true)}}
		s.Modal = &measure.Shift{Status: measure.ShiftMeasured, Sigmas: &sigmas, Mode: ms(40), Mean: ms(50), SD: ms(5)}
		if i == 1 {
			s.Modal = &measure.Shift{Status: measure.ShiftInsufficient, Reason: "insufficient: 3 requests"}
		}
		r.Compositions[i].Service = s
	}
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	list := withinSLO(r, c)
	if len(list) != 2 || list[0].Long || !list[1].Long {
		t.Fatalf("%d sections, want goodput and, in report.md, other limits", len(list))
	}
	if diff := cmp.Diff([]string{"single", "50 % (40 to 60)", "—¹"}, rowsOf(list[0].Table)[0]); diff != "" {
		t.Error(diff)
	}
	want := [][]string{{"single", "40", "50 / 5", "−2.25"}, {"fallback", "—¹", "—¹", "insufficient¹"}}
	if diff := cmp.Diff(want, rowsOf(&list[0].Tables[0])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"150 ms", "25 %¹", "25 %¹"}}, rowsOf(list[1].Table)); diff != "" {
		t.Error(diff)
	}
}
