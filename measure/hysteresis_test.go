package measure

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// script makes a series of one-second buckets from 0 on: "0x20 50x5 -x3" is 20
// buckets with none of 100 requests good, five with 50, three without requests.
func script(t testing.TB, s string) *Goodput {
	t.Helper()
	g := &Goodput{Width: time.Second}
	for _, part := range strings.Fields(s) {
		good, times, _ := strings.Cut(part, "x")
		n, err := strconv.Atoi(times)
		if err != nil {
			t.Fatal(err)
		}
		b := Ratio{}
		if good != "-" {
			k, err := strconv.Atoi(good)
			if err != nil {
				t.Fatal(err)
			}
			b = Ratio{Good: int64(k), Scheduled: 100}
		}
		for range n {
			g.Buckets = append(g.Buckets, b)
		}
	}
	return g
}

func millis(d time.Duration) *Millis {
	ms := Millis(d)
	return &ms
}

func of[T any](v T) *T { return &v }

func TestDetect(t *testing.T) {
	const s = time.Second
	within := func(timeout time.Duration) Detector {
		d := Pinned
		d.Timeout = timeout
		return d
	}
	later := "up to the end of observation: goodput had not recovered"
	tests := []struct {
		name     string
		detector Detector
		series   string
		anchor   time.Duration
		want     Detection
	}{
		// The window from 19 s holds one bucket of the outage and nine good ones: exactly 90 %.
		{"clean recovery", Pinned, "0x20 100x100", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0)}},
		// Windows start with the first bucket that lies wholly after the anchor.
		{"fire within a bucket", Pinned, "0x20 100x100", s / 2,
			Detection{Status: Recovered, Time: millis(18500 * time.Millisecond), Degraded: true, Deficit: of(18.0)}},
		{"never degraded", Pinned, "100x60", 0,
			Detection{Status: Recovered, Time: millis(0), Deficit: of(0.0)}},
		// 90 % of requests, bucket by bucket: at entry is not below it.
		{"exactly at entry", Pinned, "90x60", 0,
			Detection{Status: Recovered, Time: millis(0), Deficit: of(0.0)}},
		// The window from 27 s sees two buckets of the second dip and cancels the first candidate.
		{"flapping", Pinned, "0x20 100x15 0x5 100x60", 0,
			Detection{Status: Recovered, Time: millis(39 * s), Degraded: true, Cancelled: 1, Deficit: of(24.0)}},
		// 850 of 1000 is at exit, not below it: only the fourth bucket at 50 % degrades again.
		{"re-degradation", Pinned, "0x20 100x60 50x20 100x40", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0),
				Redegradations: []Redegradation{{From: Millis(74 * s), To: millis(98 * s)}}}},
		{"between exit and entry is no re-degradation", Pinned, "0x20 100x60 86x20 100x40", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0)}},
		{"re-degradation without end", Pinned, "0x20 100x60 0x30", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0),
				Redegradations: []Redegradation{{From: Millis(72 * s), Reason: "not ended by the end of observation"}}}},
		{"never recovered", within(100 * s), "50x120", 0,
			Detection{Status: NotRecovered, Degraded: true, Reason: "not recovered by the timeout, 1m40s after the fire", Deficit: of(60.0), DeficitReason: later}},
		{"not recovered and no timeout", Pinned, "50x120", 0,
			Detection{Status: NotRecovered, Degraded: true, Reason: "not recovered by the end of observation, 2m0s after the fire", Deficit: of(60.0), DeficitReason: later}},
		{"not watched up to the timeout", within(600 * s), "50x120", 0,
			Detection{Status: NotRecovered, Degraded: true, Reason: "not recovered by the end of observation, 2m0s after the fire", Deficit: of(60.0), DeficitReason: later}},
		// An entry at exactly the timeout is in time, and its hold may go on after it.
		{"entry at the timeout", within(19 * s), "0x20 100x100", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0)}},
		{"entry after the timeout", within(18 * s), "0x20 100x100", 0,
			Detection{Status: NotRecovered, Degraded: true, Reason: "not recovered by the timeout, 18s after the fire", Deficit: of(20.0), DeficitReason: later}},
		{"total outage", Pinned, "0x120", 0,
			Detection{Status: NotRecovered, Degraded: true, Reason: "not recovered by the end of observation, 2m0s after the fire", Deficit: of(120.0), DeficitReason: later}},
		// The window starts 19 … 40 s: 22 of the 30 that are needed.
		{"hold incomplete", Pinned, "0x20 100x30", 0,
			Detection{Status: HoldIncomplete, Degraded: true, Candidate: millis(19 * s), Reason: "candidate at 19s, hold incomplete: 22s of 30s", Deficit: of(20.0), DeficitReason: later}},
		// One window short, and just enough.
		{"hold one short", Pinned, "0x20 100x37", 0,
			Detection{Status: HoldIncomplete, Degraded: true, Candidate: millis(19 * s), Reason: "candidate at 19s, hold incomplete: 29s of 30s", Deficit: of(20.0), DeficitReason: later}},
		{"hold just complete", Pinned, "0x20 100x38", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0)}},
		// The windows from 35 to 55 s are empty: the hold is 16 windows before and 14 after them.
		{"empty windows do not reset", Pinned, "0x20 100x15 -x30 100x14", 0,
			Detection{Status: Recovered, Time: millis(19 * s), Degraded: true, Deficit: of(19.0), Empty: 21}},
		{"empty windows do not advance", Pinned, "0x20 100x15 -x30 100x13", 0,
			Detection{Status: HoldIncomplete, Degraded: true, Candidate: millis(19 * s), Reason: "candidate at 19s, hold incomplete: 29s of 30s", Deficit: of(20.0), DeficitReason: later, Empty: 21}},
		{"nothing scheduled", Pinned, "-x60", 0,
			Detection{Status: NotObserved, Reason: "not observed: no request was scheduled after the fire", DeficitReason: "not observed: no request was scheduled after the fire", Empty: 51}},
		{"shorter than a window", Pinned, "100x9", 0,
			Detection{Status: NotObserved, Reason: "not observed: no window of 10s lies between the fire and the end of observation",
				DeficitReason: "not observed: no window of 10s lies between the fire and the end of observation"}},
		{"fire at the end", Pinned, "100x60", 60 * s,
			Detection{Status: NotObserved, Reason: "not observed: no window of 10s lies between the fire and the end of observation",
				DeficitReason: "not observed: no window of 10s lies between the fire and the end of observation"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.detector.Detect(script(t, test.series), Ratio{1000, 1000}, test.anchor)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Detection{}, "Windows"), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetectWithoutBaseline(t *testing.T) {
	for _, baseline := range []Ratio{{0, 0}, {0, 100}} {
		got, err := Pinned.Detect(script(t, "100x60"), baseline, 0)
		if err != nil || got.Status != NotApplicable || got.Time != nil || got.Reason == "" {
			t.Errorf("against %v: %+v, %v", baseline, got, err)
		}
	}
}

func TestDetectorIsChecked(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Detector)
		want   string
	}{
		{"entry of 0", func(d *Detector) { d.Entry, d.Exit = 0, 0 }, "entry at 0 %"},
		{"exit above entry", func(d *Detector) { d.Exit = 950_000 }, "exit at 95 %"},
		{"window between buckets", func(d *Detector) { d.Window = 1500 * time.Millisecond }, "a window of 1.5s"},
		{"no hold", func(d *Detector) { d.Hold = 0 }, "a hold of 0s"},
		{"timeout below 0", func(d *Detector) { d.Timeout = -1 }, "a timeout of -1ns"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := Pinned
			test.change(&d)
			if _, err := d.Detect(script(t, "100x60"), Ratio{1, 1}, 0); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	if _, err := Pinned.Detect(&Goodput{}, Ratio{1, 1}, 0); err == nil {
		t.Error("buckets without a width are taken")
	}
}

func TestSensitivity(t *testing.T) {
	table, err := Pinned.Sensitivity(script(t, "0x20 100x60 50x20 100x200"), Ratio{1000, 1000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range table {
		name := fmt.Sprintf("%v/%v/%v", c.Entry, time.Duration(c.Window), time.Duration(c.Hold))
		got[name] = c.Reason
		if c.Time != nil {
			got[name] = time.Duration(*c.Time).String()
		}
		if c.Chosen != (name == "0.9/10s/30s") {
			t.Errorf("%s is chosen: %v", name, c.Chosen)
		}
	}
	// By hand: a window of R enters with at most (1-X)R zero buckets in it; a
	// hold of 60 s meets the dip at 80 s, and the next entry is at its end.
	want := map[string]string{
		"0.85/5s/15s": "20s", "0.9/5s/15s": "20s", "0.95/5s/15s": "20s",
		"0.85/5s/30s": "20s", "0.9/5s/30s": "20s", "0.95/5s/30s": "20s",
		"0.85/5s/1m0s": "1m39s", "0.9/5s/1m0s": "1m39s", "0.95/5s/1m0s": "1m40s",
		"0.85/10s/15s": "19s", "0.9/10s/15s": "19s", "0.95/10s/15s": "20s",
		"0.85/10s/30s": "19s", "0.9/10s/30s": "19s", "0.95/10s/30s": "20s",
		"0.85/10s/1m0s": "1m37s", "0.9/10s/1m0s": "1m38s", "0.95/10s/1m0s": "1m39s",
		"0.85/20s/15s": "17s", "0.9/20s/15s": "18s", "0.95/20s/15s": "19s",
		"0.85/20s/30s": "17s", "0.9/20s/30s": "18s", "0.95/20s/30s": "19s",
		"0.85/20s/1m0s": "1m34s", "0.9/20s/1m0s": "1m36s", "0.95/20s/1m0s": "1m38s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	coarse := script(t, "100x60")
	coarse.Width = 10 * time.Second
	if table, err = Pinned.Sensitivity(coarse, Ratio{1, 1}, 0); err != nil || table[0].Status != NotApplicable || table[4].Status != Recovered {
		t.Errorf("windows of half a bucket: %+v, %v", table[0], err)
	}
}

// naiveDetect is the detector's definition, word by word and slow: it returns
// the surviving entry's bucket and the cancelled candidates, from bucket 0.
func naiveDetect(d Detector, g *Goodput, base Ratio) (entry, cancelled int) {
	r, h := int(d.Window/g.Width), int(d.Hold/g.Width)
	window := func(i int) (up, empty bool) {
		sum := g.sum(i, i+r)
		return float64(sum.Good)*float64(base.Scheduled)*1e6 >= float64(d.Entry)*float64(base.Good)*float64(sum.Scheduled), sum.Scheduled == 0
	}
	for i := 0; i+r <= len(g.Buckets); i++ {
		if up, empty := window(i); !up || empty {
			continue
		}
		seen := 0
		for j := i; ; j++ {
			if j+r > len(g.Buckets) {
				return -1, cancelled
			}
			up, empty := window(j)
			if empty {
				continue
			}
			if !up {
				cancelled++
				i = j
				break
			}
			if seen++; seen == h {
				return i, cancelled
			}
		}
	}
	return -1, cancelled
}

func TestDetectIsItsDefinition(t *testing.T) {
	d := Detector{Entry: 900_000, Exit: 850_000, Window: 2 * time.Second, Hold: 3 * time.Second}
	rapid.Check(t, func(t *rapid.T) {
		g := &Goodput{Width: time.Second}
		for range rapid.IntRange(0, 25).Draw(t, "buckets") {
			n := rapid.Int64Range(0, 3).Draw(t, "scheduled")
			g.Buckets = append(g.Buckets, Ratio{Good: n - min(n, rapid.Int64Range(0, 1).Draw(t, "bad")), Scheduled: n})
		}
		base := Ratio{Good: rapid.Int64Range(1, 10).Draw(t, "good"), Scheduled: 10}
		got, err := d.Detect(g, base, 0)
		if err != nil {
			t.Fatal(err)
		}
		entry, cancelled := naiveDetect(d, g, base)
		if int64(cancelled) != got.Cancelled || (entry >= 0) != (got.Status == Recovered) || entry >= 0 && *got.Time != Millis(time.Duration(entry)*time.Second) {
			t.Fatalf("entry at bucket %d after %d cancelled, got %+v", entry, cancelled, got)
		}
		last := Millis(-1)
		for i, r := range got.Redegradations {
			if r.From <= last || r.To != nil && *r.To <= r.From || r.To == nil && i != len(got.Redegradations)-1 {
				t.Fatalf("re-degradations out of order: %+v", got.Redegradations)
			}
			if r.To != nil {
				last = *r.To
			}
		}
	})
}
