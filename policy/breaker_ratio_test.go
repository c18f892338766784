package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/record"
)

// opensAt makes one call after the other, `step` apart, whose ends are f
// (failure), s (success) and r (refused inside), and returns which of them
// opened the breaker, from 1; 0 for none.
func opensAt(c *Breaker, step time.Duration, ends string) int {
	w := newWorld()
	s := w.wrap(target{w: w}, c)
	for i, end := range ends {
		w.answers = append(w.answers, map[rune]answer{'f': failNow, 's': okNow, 'r': atOnce(record.Limiter)}[end])
		w.call(s, time.Duration(i)*step, -1)
	}
	w.loop.Run()
	n := 0
	for _, l := range w.log {
		if strings.HasSuffix(l, "breaker open") {
			return n
		}
		if strings.HasSuffix(l, "start") {
			n++
		}
	}
	return 0
}

func TestBreakerRatio(t *testing.T) {
	rep := strings.Repeat
	byCalls := func(ratio float64, calls, least int) *Breaker {
		return &Breaker{Ratio: ratio, Calls: calls, MinCalls: least, OpenFor: time.Hour, Probes: 1, CloseAfter: 1}
	}
	byTime := func(ratio float64, window time.Duration, least int) *Breaker {
		return &Breaker{Ratio: ratio, Window: window, MinCalls: least, OpenFor: time.Hour, Probes: 1, CloseAfter: 1}
	}
	tests := []struct {
		name    string
		breaker *Breaker
		step    time.Duration
		ends    string
		want    int
	}{
		// 0.55 of 20 is 11, and 0.55*20 is more than 11 in floating point
		{"11 of 20 meet 0.55", byCalls(0.55, 20, 20), ms, rep("s", 9) + rep("f", 11), 20},
		{"10 of 20 do not", byCalls(0.55, 20, 20), ms, rep("s", 10) + rep("f", 10), 0},
		// the ring holds the last 20: the 21st call pushes a success out
		{"the ring slides", byCalls(0.55, 20, 20), ms, rep("s", 10) + rep("f", 11), 21},
		// and failures are pushed out as well: never more than 3 of 6
		{"failures slide out of the ring", byCalls(0.6, 6, 6), ms, rep("fffsss", 5), 0},
		// nothing counts before min_calls
		{"min_calls", byCalls(0.5, 20, 7), ms, rep("f", 8), 7},
		// its default is 10, or the ring when that is smaller
		{"default min_calls", byCalls(0.5, 20, 0), ms, rep("f", 12), 10},
		{"default min_calls of a small ring", byCalls(0.5, 4, 0), ms, rep("f", 12), 4},
		{"default min_calls of a window", byTime(0.5, time.Second, 0), ms, rep("f", 12), 10},
		// only a failure opens it: the success that fills min_calls does not
		{"opens on a failure", byCalls(0.5, 20, 10), ms, rep("f", 9) + "sf", 11},
		// what a stage inside refuses is no call
		{"refusals do not count", byCalls(0.5, 20, 10), ms, rep("f", 9) + "rrf", 12},
		// one call every 10 ms, a bucket each: the last ten are seen, so that the
		// failures are 5 of 10 at the 15th call
		{"the window slides", byTime(0.5, 100*ms, 10), 10 * ms, rep("s", 10) + rep("f", 10), 15},
		// slower than the window: two calls are never in it together
		{"slow calls leave the window", byTime(0.1, 100*ms, 2), 100 * ms, rep("f", 10), 0},
		// a nanosecond quicker, and the first is still in a bucket of the window
		{"the last nanosecond of the window", byTime(0.1, 100*ms, 2), 100*ms - 1, "ff", 2},
		// a gap of many windows empties it whole
		{"a long gap", byTime(0.1, 100*ms, 2), 12345 * ms, rep("f", 10), 0},
	}
	for _, test := range tests {
		if got := opensAt(test.breaker, test.step, test.ends); got != test.want {
			t.Errorf("%s: opened at call %d, want %d", test.name, got, test.want)
		}
	}
}

// Closing clears the counts of a ratio too: min_calls must be met anew.
func TestBreakerRatioStartsAnew(t *testing.T) {
	for _, c := range []*Breaker{
		{Ratio: 0.5, Calls: 4, MinCalls: 2, OpenFor: 10 * ms, Probes: 1, CloseAfter: 1},
		{Ratio: 0.5, Window: time.Hour, MinCalls: 2, OpenFor: 10 * ms, Probes: 1, CloseAfter: 1},
	} {
		w := newWorld(failNow, failNow, okNow, failNow, okNow, failNow)
		s := w.wrap(target{w: w}, c)
		for _, v := range at(0, 1*ms, 20*ms, 21*ms, 22*ms, 23*ms) {
			w.call(s, v.at, v.lasting)
		}
		w.loop.Run()
		var got []string
		for _, l := range w.log {
			if strings.Contains(l, "breaker") {
				got = append(got, l)
			}
		}
		// closed at 20 ms, then 1 of 1, 1 of 2 with a success, 2 of 3
		want := []string{"1ms breaker open", "20ms breaker half-open", "20ms breaker closed", "23ms breaker open"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c, diff)
		}
	}
}

// A ratio of n % opens on the nth failure of 100 calls and not on the one
// before, for every n: the comparison knows no rounding.
func TestBreakerRatioIsExact(t *testing.T) {
	for n := 1; n <= 100; n++ {
		var ratio float64
		_, _ = fmt.Sscan(fmt.Sprintf("%d.%02d", n/100, n%100), &ratio)
		c := &Breaker{Ratio: ratio, Calls: 100, MinCalls: 100, OpenFor: time.Hour, Probes: 1, CloseAfter: 1}
		if got := opensAt(c, ms, strings.Repeat("s", 100-n)+strings.Repeat("f", n)); got != 100 {
			t.Errorf("%v: %d failures of 100 opened at call %d, want 100", ratio, n, got)
		}
		if got := opensAt(c, ms, strings.Repeat("s", 101-n)+strings.Repeat("f", n-1)); got != 0 {
			t.Errorf("%v: %d failures of 100 opened at call %d", ratio, n-1, got)
		}
	}
}

// The counts agree with a list of all calls that is looked through each time.
func TestBreakerCountsAsAList(t *testing.T) {
	type ended struct {
		bucket int64
		failed bool
	}
	rapid.Check(t, func(t *rapid.T) {
		c := &Breaker{Ratio: 1, OpenFor: time.Hour, Probes: 1, CloseAfter: 1}
		if rapid.Bool().Draw(t, "by time") {
			c.Window = time.Duration(rapid.IntRange(10, 200).Draw(t, "window"))
		} else {
			c.Calls = rapid.IntRange(1, 12).Draw(t, "calls")
		}
		c.MinCalls = 1e6 // never opens by itself: only the counts are looked at
		w := newWorld(okNow)
		b := w.wrap(target{w: w}, c).(*breaker)
		var list []ended
		check := func(failed bool) {
			b.count(failed)
			now := ended{failed: failed}
			if c.Window > 0 {
				now.bucket = int64(w.loop.Now() / (c.Window / 10))
			}
			list = append(list, now)
			var calls, failures int64
			for i, e := range list {
				if c.Window > 0 && e.bucket <= now.bucket-10 || c.Calls > 0 && i < len(list)-c.Calls {
					continue
				}
				calls++
				if e.failed {
					failures++
				}
			}
			if b.sum.calls != calls || b.sum.failures != failures {
				t.Fatalf("%d failures of %d after %d calls, want %d of %d", b.sum.failures, b.sum.calls, len(list), failures, calls)
			}
		}
		var instant time.Duration
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			instant += time.Duration(rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 300)).Draw(t, "gap"))
			failed := rapid.Bool().Draw(t, "failed")
			w.loop.After(instant-w.loop.Now(), happens(func() { check(failed) }))
			w.loop.Run()
		}
	})
}

type happens func()

func (f happens) Happen() { f() }
