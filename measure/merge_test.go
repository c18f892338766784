package measure

import (
	"slices"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var wholeCurve = cmp.AllowUnexported(Curve{}, Point{})

// The curve of merged shards is that of their rows together, to the last bit;
// so is one made from counts.
func TestMergeIsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := observed(t)
		shards := make([][]Observation, rapid.IntRange(1, 4).Draw(t, "shards"))
		for _, row := range rows {
			i := rapid.IntRange(0, len(shards)-1).Draw(t, "shard")
			shards[i] = append(shards[i], row)
		}
		var curves []*Curve
		for _, shard := range shards {
			curves = append(curves, NewCurve(shard, 12))
		}
		whole := NewCurve(rows, 12)
		got, err := Merge(curves...)
		if diff := cmp.Diff(whole, got, wholeCurve); diff != "" || err != nil {
			t.Fatalf("(-whole +merged):\n%s%v", diff, err)
		}
		got, err = CurveOf(whole.Counts(), 12)
		if diff := cmp.Diff(whole, got, wholeCurve); diff != "" || err != nil {
			t.Fatalf("(-whole +of counts):\n%s%v", diff, err)
		}
	})
}

// A scan that keeps no points gives the same numbers as the curve that does.
func TestScanIsTheCurve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := NewCurve(observed(t), time.Duration(rapid.IntRange(0, 14).Draw(t, "horizon")))
		qs := []PPM{0, 70_000, 500_000, 900_000, Million}
		i := 0
		got, quantiles, err := Scan(want.Counts(), want.Horizon, qs, func(c *Curve, p *Point) {
			if diff := cmp.Diff(want.Points[i], *p, wholeCurve); diff != "" || c.BandAt(p) != want.Band(i) {
				t.Fatalf("point %d: band %v, want %v (-want +got):\n%s", i, c.BandAt(p), want.Band(i), diff)
			}
			i++
		})
		if err != nil || i != len(want.Points) {
			t.Fatalf("%d points of %d, %v", i, len(want.Points), err)
		}
		if got.Final() != want.Final() || got.Ceiling() != want.Ceiling() || got.CensoredBeforeHorizon != want.CensoredBeforeHorizon || len(got.Points) > 0 {
			t.Fatalf("final %v, ceiling %v, want %v and %v", got.Final(), got.Ceiling(), want.Final(), want.Ceiling())
		}
		for i, q := range qs {
			if diff := cmp.Diff(want.Quantile(q), quantiles[i]); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", q, diff)
			}
		}
	})
}

func TestCountsAreChecked(t *testing.T) {
	for name, counts := range map[string][]Count{
		"descending": {{Time: 2, Completed: 1}, {Time: 1, Completed: 1}},
		"twice":      {{Time: 1, Completed: 1}, {Time: 1, Errored: 1}},
		"below 0":    {{Time: 1, Completed: -1}},
	} {
		if _, err := CurveOf(slices.Values(counts), 0); err == nil {
			t.Errorf("%s: no error from CurveOf", name)
		}
		if _, _, err := Scan(slices.Values(counts), 0, nil, nil); err == nil {
			t.Errorf("%s: no error from Scan", name)
		}
	}
	// A count of nothing leaves no point.
	c, err := CurveOf(slices.Values([]Count{{Time: 1}, {Time: 2, Completed: 1}}), 0)
	if diff := cmp.Diff(NewCurve([]Observation{{2, record.Completed}}, 0), c, wholeCurve); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	if c, qs, err := Scan(slices.Values([]Count(nil)), 0, []PPM{500_000}, nil); err != nil || c.Scheduled != 0 || qs[0].Status != Empty {
		t.Errorf("scan of nothing: %+v, %v", qs, err)
	}
}

func TestMergeRefuses(t *testing.T) {
	a, b := NewCurve(uniform(3, 0, 0), time.Second), NewCurve(uniform(3, 0, 0), 2*time.Second)
	if _, err := Merge(a, b); err == nil {
		t.Error("curves under two horizons are merged")
	}
	if _, err := Merge(); err == nil {
		t.Error("nothing is merged")
	}
}

// Rows in another order give the same curve, windows and recovery.
func TestOrderOfRowsChangesNoWindow(t *testing.T) {
	const s = time.Second
	rows := load(load(load(load(nil, 0, 300*s, 10), 300*s, 320*s, 0), 320*s, 500*s, 6), 500*s, 700*s, 10)
	windows := []Window{{BaselineWindow, 60 * s, 270 * s}, {Guard, 270 * s, 300 * s}, {FaultWindow, 300 * s, 700 * s}}
	type numbers struct {
		Windows  []WindowNumbers
		Recovery *FaultRecovery
		InFlight InFlight
		Shift    Shift
	}
	measured := func(rows []Row) numbers {
		w, _, err := MeasureWindows(rows, windows, 30*s, &SLO{EndToEnd: s}, false)
		if err != nil {
			t.Fatal(err)
		}
		r, err := loss().Recovery(rows)
		if err != nil {
			t.Fatal(err)
		}
		return numbers{w, r, InFlightAt(rows, 300*s, nil, false), ModalShift(rows[:], rows[:])}
	}
	want := measured(rows)
	slices.Reverse(rows)
	for i := 0; i+7 < len(rows); i += 7 {
		rows[i], rows[len(rows)-1-i] = rows[len(rows)-1-i], rows[i]
	}
	if diff := cmp.Diff(want, measured(rows), wholeCurve); diff != "" {
		t.Errorf("(-in order +permuted):\n%s", diff)
	}
}
