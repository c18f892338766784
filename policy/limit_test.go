package policy

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"brunt/check"
	"brunt/record"
)

func lets(permits, queue int) *Limit { return &Limit{Permits: permits, Queue: queue, Order: FIFO} }

func TestLimit(t *testing.T) {
	lifo := &Limit{Permits: 1, Queue: 3, Order: LIFO}
	brief := &Limit{Permits: 1, Queue: 3, QueueTimeout: 10 * ms, Order: FIFO}
	play(t, []scene{
		{
			// one inside, one in the queue, one too many; the permit is promised,
			// the ended call reported, and then the waiter starts
			name:    "permits and queue",
			stack:   []Config{lets(1, 1)},
			answers: []answer{ok(10 * ms)},
			calls:   at(0, 0, 0),
			want: `
				0s attempt 1 start
				0s caller 3 limiter
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 2 completed`,
		},
		{
			// without a queue a call is refused at once
			name:    "no queue",
			stack:   []Config{lets(2, 0)},
			answers: []answer{ok(10 * ms)},
			calls:   at(0, 0, 0),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				0s caller 3 limiter
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 completed
				10ms caller 2 completed`,
		},
		{
			// a permit that comes free at the instant of an arrival is there for it:
			// work in progress comes first
			name:    "arrival at the instant of the permit",
			stack:   []Config{lets(1, 0)},
			answers: []answer{ok(10 * ms)},
			calls:   at(0, 10*ms),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 2 completed`,
		},
		{
			name:    "first in, first out",
			stack:   []Config{lets(1, 3)},
			answers: []answer{ok(10 * ms)},
			calls:   at(0, 1*ms, 2*ms, 3*ms),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 2 completed
				20ms attempt 3 start
				30ms attempt 3 completed
				30ms caller 3 completed
				30ms attempt 4 start
				40ms attempt 4 completed
				40ms caller 4 completed`,
		},
		{
			name:    "last in, first out",
			stack:   []Config{lifo},
			answers: []answer{ok(10 * ms)},
			calls:   at(0, 1*ms, 2*ms, 3*ms),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 4 completed
				20ms attempt 3 start
				30ms attempt 3 completed
				30ms caller 3 completed
				30ms attempt 4 start
				40ms attempt 4 completed
				40ms caller 2 completed`,
		},
		{
			// waiters that end at once are reported one by one, each before the next starts
			name:    "waiters that end at once",
			stack:   []Config{lets(1, 3)},
			answers: []answer{ok(10 * ms), failNow, okNow, ok(ms)},
			calls:   at(0, 0, 0, 0),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				10ms attempt 2 failure
				10ms caller 2 failure
				10ms attempt 3 start
				10ms attempt 3 completed
				10ms caller 3 completed
				10ms attempt 4 start
				11ms attempt 4 completed
				11ms caller 4 completed`,
		},
		{
			// calls that end at once leave no permit behind
			name:    "calls that end at once",
			stack:   []Config{lets(1, 0)},
			answers: []answer{okNow},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				0s attempt 2 start
				0s attempt 2 completed
				0s caller 2 completed`,
		},
		{
			// a waiter is refused when its time is over, and frees its place
			name:    "queue_timeout",
			stack:   []Config{&Limit{Permits: 1, Queue: 1, QueueTimeout: 10 * ms, Order: FIFO}},
			answers: []answer{ok(15 * ms)},
			calls:   at(0, 0, 10*ms),
			want: `
				0s attempt 1 start
				10ms caller 2 limiter
				15ms attempt 1 completed
				15ms caller 1 completed
				15ms attempt 2 start
				30ms attempt 2 completed
				30ms caller 3 completed`,
		},
		{
			// a tie goes to what was scheduled first: here the end that frees the permit
			name:    "permit and queue_timeout at one instant, permit first",
			stack:   []Config{brief},
			answers: []answer{ok(10 * ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 2 completed`,
		},
		{
			// here the timeout: the end of the second try was scheduled at 4 ms
			name:    "permit and queue_timeout at one instant, timeout first",
			stack:   []Config{brief, thrice},
			answers: []answer{fails(4 * ms), ok(6 * ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				4ms attempt 1 failure
				4ms attempt 2 start retry
				10ms caller 2 limiter
				10ms attempt 2 completed
				10ms caller 1 completed`,
		},
		{
			// a permit in time ends the wait: nothing more happens at 10 ms
			name:    "queue_timeout is over with the wait",
			stack:   []Config{brief},
			answers: []answer{ok(8 * ms), ok(30 * ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				8ms attempt 1 completed
				8ms caller 1 completed
				8ms attempt 2 start
				38ms attempt 2 completed
				38ms caller 2 completed`,
		},
		{
			// a waiter that gives up makes room in the queue and never starts
			name:    "waiter gives up",
			stack:   []Config{lets(1, 1)},
			answers: []answer{ok(10 * ms)},
			calls:   []visit{{0, -1}, {0, 5 * ms}, {4 * ms, -1}, {6 * ms, -1}},
			want: `
				0s attempt 1 start
				4ms caller 3 limiter
				5ms caller 2 gives up
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 4 completed`,
		},
		{
			// from the middle of the queue too
			name:    "waiter in the middle gives up",
			stack:   []Config{lets(1, 3)},
			answers: []answer{ok(10 * ms)},
			calls:   []visit{{0, -1}, {0, -1}, {0, 5 * ms}, {0, -1}},
			want: `
				0s attempt 1 start
				5ms caller 3 gives up
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				20ms attempt 2 completed
				20ms caller 2 completed
				20ms attempt 3 start
				30ms attempt 3 completed
				30ms caller 4 completed`,
		},
		{
			// the permit of a call that is given up inside survives
			name:    "given up inside",
			stack:   []Config{lets(1, 1)},
			answers: []answer{never, ok(ms)},
			calls:   []visit{{0, 5 * ms}, {0, -1}, {7 * ms, -1}},
			want: `
				0s attempt 1 start
				5ms caller 1 gives up
				5ms attempt 1 cancelled
				5ms attempt 2 start
				6ms attempt 2 completed
				6ms caller 2 completed
				7ms attempt 3 start
				8ms attempt 3 completed
				8ms caller 3 completed`,
		},
		{
			// an attempt that has timed out is still being cleaned up, but its
			// permit is free as soon as the caller of the limit is told
			name:    "clean-up holds no permit",
			stack:   []Config{lets(1, 1), &Timeout{After: 5 * ms}},
			answers: []answer{never, ok(ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				5ms attempt 1 cancelled
				5ms caller 1 timeout
				5ms attempt 2 start
				6ms attempt 2 completed
				6ms caller 2 completed`,
		},
	})
}

func TestLimitPromise(t *testing.T) {
	hedged := &Hedge{Extra: 1, After: 2 * ms, OnFailure: true}
	play(t, []scene{
		{
			// the first attempt's permit is promised to the caller's own hedge; the
			// report makes the hedge cancel it, and the promise goes to the next
			name:    "passed on when it is cancelled during the report",
			stack:   []Config{hedged, lets(1, 2)},
			answers: []answer{ok(10 * ms), ok(3 * ms)},
			calls:   at(0, 3*ms),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				13ms attempt 2 completed
				13ms caller 2 completed`,
		},
		{
			// nobody else waits: the permit is free again
			name:    "freed when nobody else waits",
			stack:   []Config{hedged, lets(1, 1)},
			answers: []answer{ok(10 * ms), ok(ms)},
			calls:   at(0, 10*ms),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed
				10ms attempt 2 start
				11ms attempt 2 completed
				11ms caller 2 completed`,
		},
		{
			// three legs of one caller, the two behind in the queue: neither of them
			// may be let in while they are cancelled
			name:    "not to another attempt of the same call",
			stack:   []Config{&Hedge{Extra: 2, After: 2 * ms, OnFailure: true}, lets(1, 2)},
			answers: []answer{ok(10 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed`,
		},
		{
			// last in, first out, the newest has the promise, and must not pass it
			// on to the older one that is cancelled next
			name:    "not to another attempt of the same call, last in first out",
			stack:   []Config{&Hedge{Extra: 2, After: 2 * ms, OnFailure: true}, &Limit{Permits: 1, Queue: 2, Order: LIFO}},
			answers: []answer{ok(10 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 1 completed
				10ms caller 1 completed`,
		},
		{
			// a hedge in a hedge: at 5 ms the newest attempt of caller 1 gets caller
			// 2's permit, at 6 ms it gives it back while the inner hedge that has the
			// answer still has an attempt in the queue
			name: "not to an attempt of an inner hedge",
			stack: []Config{
				&Hedge{Extra: 1, After: 3 * ms, OnFailure: true}, &Hedge{Extra: 1, After: ms, OnFailure: true},
				&Limit{Permits: 2, Queue: 6, Order: LIFO},
			},
			answers: []answer{ok(6 * ms), ok(5 * ms), never},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				5ms attempt 2 completed
				5ms caller 2 completed
				5ms attempt 3 start hedge
				6ms attempt 1 completed
				6ms caller 1 completed
				6ms attempt 3 cancelled`,
		},
		{
			// the permit of a timed-out attempt lets in another one of the same
			// call, which ends at once and cancels the rest: the timeout must have
			// been reported by then, or it is cancelled a second time
			name:    "to another attempt of the same call after a timeout",
			stack:   []Config{&Hedge{Extra: 1, OnFailure: true}, &Timeout{After: 5 * ms}, lets(1, 1)},
			answers: []answer{never, okNow},
			calls:   at(0),
			want: `
				0s attempt 1 start
				5ms attempt 1 cancelled
				5ms attempt 2 start hedge
				5ms attempt 2 completed
				5ms caller 1 completed`,
		},
	})
}

// Whatever comes and goes, no more are inside than there are permits, nobody
// waits beside a free permit, and at the end all are back.
func TestLimitNeverLeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Limit{
			Permits:      rapid.IntRange(1, 3).Draw(t, "permits"),
			Queue:        rapid.IntRange(0, 4).Draw(t, "queue"),
			QueueTimeout: time.Duration(rapid.IntRange(0, 6).Draw(t, "queue timeout")),
			Order:        rapid.SampledFrom([]Order{FIFO, LIFO}).Draw(t, "order"),
		}
		w := newWorld()
		w.env.Observe = func(e record.Event) {
			most := map[string]int{record.WhatPermits: c.Permits, record.WhatQueue: c.Queue}[e.What]
			if e.Value < 0 || e.Value > int64(most) {
				t.Fatalf("%s: %d of %d", e.What, e.Value, most)
			}
		}
		var stack []Config
		if rapid.Bool().Draw(t, "hedged") {
			stack = append(stack, &Hedge{Extra: 2, After: time.Duration(rapid.IntRange(0, 4).Draw(t, "after")), OnFailure: true})
		}
		stack = append(stack, c)
		if rapid.Bool().Draw(t, "retried") {
			stack = append(stack, thrice)
		}
		for range 40 {
			w.answers = append(w.answers, drawAnswer(t))
		}
		top := w.wrap(target{w: w}, stack...)
		l, isLimit := top.(*limit)
		if !isLimit {
			l = top.(*hedge).inner.(*limit)
		}
		for range rapid.IntRange(1, 12).Draw(t, "callers") {
			w.call(top, time.Duration(rapid.IntRange(0, 12).Draw(t, "at")), time.Duration(rapid.IntRange(1, 20).Draw(t, "lasting")))
		}
		for instant := range time.Duration(40) {
			w.loop.At(instant, 255, happens(func() {
				if l.queue.n > 0 && l.used < c.Permits {
					t.Fatalf("%v: %d wait while %d of %d permits are used", instant, l.queue.n, l.used, c.Permits)
				}
				if l.used > c.Permits || w.live > c.Permits {
					t.Fatalf("%v: %d permits used and %d attempts under way, of %d", instant, l.used, w.live, c.Permits)
				}
			}))
		}
		w.loop.Run()
		if found := w.leaks(top); found != nil {
			t.Fatalf("left over: %q", found)
		}
	})
}

func drawAnswer(t *rapid.T) answer {
	cause := rapid.SampledFrom([]record.Cause{record.None, record.None, record.Failure, record.Timeout, record.Circuit}).Draw(t, "cause")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return never
	case 1:
		return atOnce(cause)
	}
	return answer{cause: cause, after: time.Duration(rapid.IntRange(0, 8).Draw(t, "takes"))}
}

func TestLimitRefusalsAreCounted(t *testing.T) {
	w := newWorld(ok(10 * ms))
	s := w.wrap(target{w: w}, &Limit{Permits: 1, Queue: 1, QueueTimeout: 5 * ms, Order: FIFO})
	for range 3 {
		w.call(s, 0, -1) // inside, refused after its wait, refused at once
	}
	w.loop.Run()
	for i, want := range []int32{0, 1, 1} {
		if got := w.callers[i].request.Refusals; got != want {
			t.Errorf("caller %d: %d refusals, want %d", i+1, got, want)
		}
	}
}

func TestLimitBound(t *testing.T) {
	inner := Bound{2, 10 * ms}
	tests := []struct {
		limit Limit
		want  time.Duration
	}{
		// nothing waits without a queue
		{Limit{Permits: 4, Order: FIFO}, 10 * ms},
		// the ninth waiter is in the third generation of four
		{Limit{Permits: 4, Queue: 9, Order: FIFO}, 40 * ms},
		// a last in, first out queue can starve a waiter
		{Limit{Permits: 4, Queue: 9, Order: LIFO}, Unbounded},
		// the queue timeout bounds both
		{Limit{Permits: 4, Queue: 9, QueueTimeout: 5 * ms, Order: LIFO}, 15 * ms},
		{Limit{Permits: 4, Queue: 9, QueueTimeout: 5 * ms, Order: FIFO}, 15 * ms},
	}
	for _, test := range tests {
		if got := test.limit.Bound(inner); got != (Bound{2, test.want}) {
			t.Errorf("%+v: %v, want %v", test.limit, got, test.want)
		}
	}
}

func TestLimitCheck(t *testing.T) {
	tests := []struct {
		limit  Limit
		faults int
		doubts int
	}{
		{Limit{Permits: 1, Order: FIFO}, 0, 0},
		{Limit{Permits: 0, Order: FIFO}, 1, 0},
		{Limit{Permits: 1, Queue: -1, QueueTimeout: -1, Order: "random"}, 3, 0},
		// runs, but hardly means what was intended
		{Limit{Permits: 1, QueueTimeout: ms, Order: LIFO}, 0, 1},
	}
	for _, test := range tests {
		p := check.New()
		test.limit.Check(p)
		faults, doubts := 0, 0
		for _, problem := range p.All() {
			if problem.Doubt {
				doubts++
			} else {
				faults++
			}
		}
		if faults != test.faults || doubts != test.doubts {
			t.Errorf("%+v: %d faults and %d doubts, want %d and %d", test.limit, faults, doubts, test.faults, test.doubts)
		}
	}
}
