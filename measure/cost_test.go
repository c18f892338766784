package measure

import (
	"testing"
	"time"

	"brunt/record"
)

// TestCostDoesNotOverflow: a million attempts at a million units each are 1e12
// units, beyond what 64 bits of billionths hold.
func TestCostDoesNotOverflow(t *testing.T) {
	var c cost
	for range 1_000_000 {
		c.add(1e6)
	}
	if got := c.units(); got != 1e12 {
		t.Errorf("the sum is %v, not 1e12", got)
	}
	var carried cost
	carried.plus(cost{low: 1<<64 - 1})
	carried.plus(cost{low: 1})
	if (carried != cost{high: 1}) {
		t.Errorf("a carry gives %+v", carried)
	}
	var tenths cost
	for range 10 {
		tenths.add(0.1)
	}
	if got := tenths.units(); got != 1 {
		t.Errorf("ten tenths are %v", got)
	}
}

// TestHerdOfAYear: attempts far apart take room for themselves, not for the
// empty buckets between them.
func TestHerdOfAYear(t *testing.T) {
	const hour = time.Hour
	plan := Plan{Phases: []Span{{Name: "year", To: 8760 * hour}}, Dependencies: []string{"d"}, Horizon: time.Second, HerdBucket: 20 * time.Millisecond}
	allocated := testing.AllocsPerRun(1, func() {
		r := NewRecorder(plan, 8760)
		for i := range 8760 {
			at := time.Duration(i) * hour
			r.Attempt(&record.Attempt{Request: int64(i), Intended: at, Start: at, End: at, CleanupEnd: at})
		}
		if h := r.herdOf(); h.Peak != 1 || h.Buckets != nil || h.Reason == "" {
			t.Errorf("%+v", h)
		}
		if n := len(r.herd.pages); n != 8760 {
			t.Errorf("%d pages for 8760 attempts an hour apart", n)
		}
	})
	if allocated > 20_000 {
		t.Errorf("%v allocations", allocated)
	}
}

// TestHerdListsInOrder: buckets come in the order of time, whatever the order
// of rows.
func TestHerdListsInOrder(t *testing.T) {
	plan := Plan{Phases: []Span{{Name: "a", To: time.Hour}}, Dependencies: []string{"d"}, Horizon: time.Second, HerdBucket: 20 * time.Millisecond}
	r := NewRecorder(plan, 3)
	for _, at := range []time.Duration{59 * time.Minute, 0, 30 * time.Minute, 30*time.Minute + 20*time.Millisecond} {
		r.Attempt(&record.Attempt{Start: at, End: at, CleanupEnd: at})
	}
	h := r.herdOf()
	for i, want := range []time.Duration{0, 30 * time.Minute, 30*time.Minute + 20*time.Millisecond, 59 * time.Minute} {
		if h.Buckets[i].From != Millis(want) {
			t.Errorf("bucket %d is at %v, not %v", i, time.Duration(h.Buckets[i].From), want)
		}
	}
}
