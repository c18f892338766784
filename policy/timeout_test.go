package policy

import (
	"testing"
	"time"

	"brunt/check"
)

func TestTimeout(t *testing.T) {
	ten := []Config{&Timeout{After: 10 * ms}}
	play(t, []scene{
		{
			// the timer is set after the call inside has started, so a tie goes to the answer
			name:    "answer at exactly after wins",
			stack:   ten,
			answers: []answer{ok(10 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed`,
		},
		{
			// so does a failure at that instant
			name:    "failure at exactly after wins",
			stack:   ten,
			answers: []answer{fails(10 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 failure
				10ms caller 1 failure`,
		},
		{
			// one nanosecond later is too late; the attempt is cancelled before
			// the caller hears, and its answer changes nothing
			name:    "late answer",
			stack:   ten,
			answers: []answer{ok(10*ms + 1)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 cancelled
				10ms caller 1 timeout`,
		},
		{
			// a later try inside that would answer at that instant was scheduled
			// after the timer, so the time is over first
			name:    "answer scheduled later for that instant loses",
			stack:   []Config{&Timeout{After: 10 * ms}, thrice},
			answers: []answer{fails(4 * ms), ok(6 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				4ms attempt 1 failure
				4ms attempt 2 start retry
				10ms attempt 2 cancelled
				10ms caller 1 timeout`,
		},
		{
			// an end inside Start sets no timer
			name:    "answer at once",
			stack:   ten,
			answers: []answer{failNow},
			calls:   at(ms),
			want: `
				1ms attempt 1 start
				1ms attempt 1 failure
				1ms caller 1 failure`,
		},
		{
			// the timer goes with the call: nothing happens at 10 ms
			name:    "given up",
			stack:   ten,
			answers: []answer{never},
			calls:   []visit{{0, 3 * ms}},
			want: `
				0s attempt 1 start
				3ms caller 1 gives up
				3ms attempt 1 cancelled`,
		},
		{
			// each try has a time of its own inside a retry
			name:    "inside a retry",
			stack:   []Config{thrice, &Timeout{After: 10 * ms}},
			answers: []answer{never, never, ok(10 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 cancelled
				10ms attempt 2 start retry
				20ms attempt 2 cancelled
				20ms attempt 3 start retry
				30ms attempt 3 completed
				30ms caller 1 completed`,
		},
		{
			// outside of a retry it also ends a wait
			name:    "around a wait",
			stack:   append([]Config{&Timeout{After: 10 * ms}}, patient(Backoff{Kind: Constant, Base: 20 * ms})...),
			answers: []answer{fails(5 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				5ms attempt 1 failure
				10ms caller 1 timeout`,
		},
	})
}

func TestTimeoutLeavesNoTimer(t *testing.T) {
	w := newWorld(ok(ms))
	w.call(w.wrap(target{w: w}, &Timeout{After: 1000 * ms}), 0, -1)
	w.loop.Run()
	if now := w.loop.Now(); now != ms {
		t.Errorf("the loop ran until %v: the timer outlived its call", now)
	}
}

func TestTimeoutBoundAndCheck(t *testing.T) {
	c := Timeout{After: 10 * ms}
	for _, inner := range []Bound{{3, Unbounded}, {3, 20 * ms}} {
		if got := c.Bound(inner); got != (Bound{3, 10 * ms}) {
			t.Errorf("around %v: %v", inner, got)
		}
	}
	if got := c.Bound(Bound{1, 5 * ms}); got.Longest != 5*ms {
		t.Errorf("around a quicker call: %v", got)
	}
	for after, faults := range map[time.Duration]int{0: 1, -ms: 1, ms: 0} {
		p := check.New()
		(&Timeout{After: after}).Check(p)
		if got := len(p.All()); got != faults {
			t.Errorf("after %v: %d faults, want %d", after, got, faults)
		}
	}
}
