package policy

import (
	"testing"
	"time"

	"brunt/record"
)

func TestHedge(t *testing.T) {
	hedge := func(extra int) []Config { return []Config{&Hedge{Extra: extra, After: 10 * ms, OnFailure: true}} }
	calm := func(extra int) []Config { return []Config{&Hedge{Extra: extra, After: 10 * ms}} }
	play(t, []scene{
		{
			// quick enough: no hedge, and its timer is gone
			name:    "answer in time",
			stack:   hedge(1),
			answers: []answer{ok(9 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				9ms attempt 1 completed
				9ms caller 1 completed`,
		},
		{
			// the timer is set after the start, so an answer at its instant wins
			name:    "answer at the instant of the timer",
			stack:   hedge(1),
			answers: []answer{ok(10 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed`,
		},
		{
			// the hedge wins; the loser is cancelled after the caller has its answer
			name:    "the second wins",
			stack:   hedge(1),
			answers: []answer{ok(50 * ms), ok(5 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				15ms attempt 2 completed
				15ms caller 1 completed
				15ms attempt 1 cancelled`,
		},
		{
			name:    "the first wins",
			stack:   hedge(1),
			answers: []answer{ok(12 * ms), ok(5 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				12ms attempt 1 completed
				12ms caller 1 completed
				12ms attempt 2 cancelled`,
		},
		{
			// each launch sets the timer anew while extras remain; the losers go
			// in the order of their launch
			name:    "two extras",
			stack:   hedge(2),
			answers: []answer{ok(25 * ms), never, never},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				20ms attempt 3 start hedge
				25ms attempt 1 completed
				25ms caller 1 completed
				25ms attempt 2 cancelled
				25ms attempt 3 cancelled`,
		},
		{
			// a failure launches the next at once, and the timer counts from there
			name:    "failure launches at once",
			stack:   hedge(2),
			answers: []answer{fails(4 * ms), ok(20 * ms), ok(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				4ms attempt 1 failure
				4ms attempt 2 start hedge
				14ms attempt 3 start hedge
				15ms attempt 3 completed
				15ms caller 1 completed
				15ms attempt 2 cancelled`,
		},
		{
			// failure and timer at one instant: one launch, not two
			name:    "failure at the instant of the timer",
			stack:   hedge(2),
			answers: []answer{fails(10 * ms), ok(9 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 failure
				10ms attempt 2 start hedge
				19ms attempt 2 completed
				19ms caller 1 completed`,
		},
		{
			// a timeout counts as a failure
			name:    "timeout launches at once",
			stack:   hedge(1),
			answers: []answer{timesOut(4 * ms), ok(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				4ms attempt 1 timeout
				4ms attempt 2 start hedge
				5ms attempt 2 completed
				5ms caller 1 completed`,
		},
		{
			// attempts that fail inside their start are followed inside it
			name:    "failures at once",
			stack:   hedge(2),
			answers: []answer{failNow, failNow, failNow},
			calls:   at(0),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s attempt 2 start hedge
				0s attempt 2 failure
				0s attempt 3 start hedge
				0s attempt 3 failure
				0s caller 1 failure`,
		},
		{
			// all failed: the last failure, in time and not by number
			name:    "the last failure",
			stack:   hedge(1),
			answers: []answer{fails(15 * ms), timesOut(3 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				13ms attempt 2 timeout
				15ms attempt 1 failure
				15ms caller 1 failure`,
		},
		{
			// without on_failure a failure leaves the others to go on
			name:    "on_failure false, another open",
			stack:   calm(1),
			answers: []answer{fails(12 * ms), ok(20 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				12ms attempt 1 failure
				30ms attempt 2 completed
				30ms caller 1 completed`,
		},
		{
			// and is the outcome when nothing is open, although extras remain
			name:    "on_failure false, nothing open",
			stack:   calm(2),
			answers: []answer{fails(4 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				4ms attempt 1 failure
				4ms caller 1 failure`,
		},
		{
			// the timer that runs goes on after such a failure
			name:    "on_failure false, timer goes on",
			stack:   calm(2),
			answers: []answer{ok(40 * ms), fails(3 * ms), ok(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				13ms attempt 2 failure
				20ms attempt 3 start hedge
				21ms attempt 3 completed
				21ms caller 1 completed
				21ms attempt 1 cancelled`,
		},
		{
			// a refusal is no reason to hurry: the third attempt waits its time
			name:    "a refused attempt starts nothing early",
			stack:   hedge(2),
			answers: []answer{ok(40 * ms), atOnce(record.Circuit), ok(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				10ms attempt 2 circuit
				20ms attempt 3 start hedge
				21ms attempt 3 completed
				21ms caller 1 completed
				21ms attempt 1 cancelled`,
		},
		{
			// also one that is refused after a wait
			name:    "a refusal later on",
			stack:   hedge(2),
			answers: []answer{ok(40 * ms), {after: 2 * ms, cause: record.Limiter}, ok(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				12ms attempt 2 limiter
				20ms attempt 3 start hedge
				21ms attempt 3 completed
				21ms caller 1 completed
				21ms attempt 1 cancelled`,
		},
		{
			// nothing is open: the refusal is the outcome
			name:    "the first is refused",
			stack:   hedge(2),
			answers: []answer{atOnce(record.Circuit)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				0s attempt 1 circuit
				0s caller 1 circuit`,
		},
		{
			// the failure launched an attempt that was refused, with nothing open
			name:    "failed, then refused",
			stack:   hedge(2),
			answers: []answer{fails(4 * ms), atOnce(record.Circuit)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				4ms attempt 1 failure
				4ms attempt 2 start hedge
				4ms attempt 2 circuit
				4ms caller 1 circuit`,
		},
		{
			// the refusal came first; the failure with nothing open and no extra
			// left is the outcome
			name:    "refused, then failed",
			stack:   hedge(1),
			answers: []answer{fails(15 * ms), atOnce(record.Circuit)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				10ms attempt 2 circuit
				15ms attempt 1 failure
				15ms caller 1 failure`,
		},
		{
			// a caller that gives up takes all attempts and the timer with it
			name:    "given up",
			stack:   hedge(2),
			answers: []answer{never},
			calls:   []visit{{0, 15 * ms}},
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				15ms caller 1 gives up
				15ms attempt 1 cancelled
				15ms attempt 2 cancelled`,
		},
		{
			// after 0: the timer is due in the same instant, but still comes later
			name:    "after 0s",
			stack:   []Config{&Hedge{Extra: 1, OnFailure: true}},
			answers: []answer{ok(5 * ms), ok(5 * ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				0s attempt 2 start hedge
				0s attempt 3 start
				0s attempt 4 start hedge
				5ms attempt 1 completed
				5ms caller 1 completed
				5ms attempt 2 cancelled
				5ms attempt 3 completed
				5ms caller 2 completed
				5ms attempt 4 cancelled`,
		},
		{
			// an answer of both at one instant: the first one, and one answer only
			name:    "two answers at one instant",
			stack:   hedge(1),
			answers: []answer{ok(15 * ms), ok(5 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				15ms attempt 1 completed
				15ms caller 1 completed
				15ms attempt 2 cancelled`,
		},
	})
}

func TestHedgeBound(t *testing.T) {
	tests := []struct {
		hedge Hedge
		inner Bound
		want  Bound
	}{
		// the last attempt starts when both timers have run out
		{Hedge{Extra: 2, After: 10 * ms, OnFailure: true}, Bound{1, 50 * ms}, Bound{3, 70 * ms}},
		// or when the attempts before it have failed, if that is sooner than the timer
		{Hedge{Extra: 2, After: 100 * ms, OnFailure: true}, Bound{2, 50 * ms}, Bound{6, 150 * ms}},
		// an inner call without a bound has none hedged either
		{Hedge{Extra: 1, After: 10 * ms}, Bound{1, Unbounded}, Bound{2, Unbounded}},
	}
	for _, test := range tests {
		if got := test.hedge.Bound(test.inner); got != test.want {
			t.Errorf("%+v around %v: %v, want %v", test.hedge, test.inner, got, test.want)
		}
	}
}

// A hedge whose attempts wait longer than any of its timers still launches no
// more than it may.
func TestHedgeLaunchesNoMoreThanItsExtras(t *testing.T) {
	for extra := 1; extra <= 5; extra++ {
		w := newWorld(never)
		w.call(w.wrap(target{w: w}, &Hedge{Extra: extra, After: ms, OnFailure: true}), 0, time.Second)
		w.loop.Run()
		if w.starts != extra+1 {
			t.Errorf("extra %d: %d attempts", extra, w.starts)
		}
	}
}
