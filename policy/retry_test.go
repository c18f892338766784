package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// thrice is a retry with three attempts and no waiting.
var thrice = &Retry{Attempts: 3, Backoff: Backoff{Kind: NoBackoff}}

func patient(b Backoff) []Config { return []Config{&Retry{Attempts: 4, Backoff: b}} }

func TestRetry(t *testing.T) {
	play(t, []scene{
		{
			// `attempts` is a total, and the caller hears the last outcome, not the worst
			name:    "last outcome is the outcome",
			stack:   []Config{thrice},
			answers: []answer{fails(5 * ms), fails(5 * ms), timesOut(5 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				5ms attempt 1 failure
				5ms attempt 2 start retry
				10ms attempt 2 failure
				10ms attempt 3 start retry
				15ms attempt 3 timeout
				15ms caller 1 timeout`,
		},
		{
			// a success ends it, however many attempts remain
			name:    "stops at success",
			stack:   []Config{thrice},
			answers: []answer{timesOut(5 * ms), ok(2 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				5ms attempt 1 timeout
				5ms attempt 2 start retry
				7ms attempt 2 completed
				7ms caller 1 completed`,
		},
		{
			// the next attempt starts inside the report of the last one: were it
			// queued, attempt 2 would fail before attempt 3 starts
			name:    "no backoff does not queue",
			stack:   []Config{thrice},
			answers: []answer{fails(5 * ms), fails(5 * ms), ok(ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				5ms attempt 1 failure
				5ms attempt 3 start retry
				5ms attempt 2 failure
				5ms attempt 4 start retry
				6ms attempt 3 completed
				6ms caller 1 completed
				6ms attempt 4 completed
				6ms caller 2 completed`,
		},
		{
			// failures inside Start are repeated inside Start
			name:    "failures at once",
			stack:   []Config{thrice},
			answers: []answer{failNow, failNow, failNow},
			calls:   at(3 * ms),
			want: `
				3ms attempt 1 start
				3ms attempt 1 failure
				3ms attempt 2 start retry
				3ms attempt 2 failure
				3ms attempt 3 start retry
				3ms attempt 3 failure
				3ms caller 1 failure`,
		},
		{
			// constant: base each time, counted from the end of the attempt
			name:    "constant backoff",
			stack:   patient(Backoff{Kind: Constant, Base: 10 * ms}),
			answers: []answer{fails(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				1ms attempt 1 failure
				11ms attempt 2 start retry
				12ms attempt 2 failure
				22ms attempt 3 start retry
				23ms attempt 3 failure
				33ms attempt 4 start retry
				34ms attempt 4 failure
				34ms caller 1 failure`,
		},
		{
			// linear: base·n
			name:    "linear backoff",
			stack:   patient(Backoff{Kind: Linear, Base: 10 * ms}),
			answers: []answer{failNow},
			calls:   at(0),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				10ms attempt 2 start retry
				10ms attempt 2 failure
				30ms attempt 3 start retry
				30ms attempt 3 failure
				60ms attempt 4 start retry
				60ms attempt 4 failure
				60ms caller 1 failure`,
		},
		{
			// exponential: base·factor^(n-1), here 10, 30 and 90 cut to 50
			name:    "exponential backoff with a cap",
			stack:   patient(Backoff{Kind: Exponential, Base: 10 * ms, Factor: 3, Cap: 50 * ms}),
			answers: []answer{failNow},
			calls:   at(0),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				10ms attempt 2 start retry
				10ms attempt 2 failure
				40ms attempt 3 start retry
				40ms attempt 3 failure
				90ms attempt 4 start retry
				90ms attempt 4 failure
				90ms caller 1 failure`,
		},
		{
			// a caller that gives up inside takes its attempt with it
			name:    "given up while inside",
			stack:   []Config{thrice},
			answers: []answer{fails(5 * ms), never},
			calls:   []visit{{0, 8 * ms}},
			want: `
				0s attempt 1 start
				5ms attempt 1 failure
				5ms attempt 2 start retry
				8ms caller 1 gives up
				8ms attempt 2 cancelled`,
		},
		{
			// a caller that gives up during the wait is not retried
			name:    "given up while waiting",
			stack:   patient(Backoff{Kind: Constant, Base: 10 * ms}),
			answers: []answer{fails(5 * ms)},
			calls:   []visit{{0, 8 * ms}},
			want: `
				0s attempt 1 start
				5ms attempt 1 failure
				8ms caller 1 gives up`,
		},
		{
			// work in progress comes before horizons: at the very instant of its
			// giving up the attempt has started, and is cancelled
			name:    "given up at the instant of the next attempt",
			stack:   patient(Backoff{Kind: Constant, Base: 10 * ms}),
			answers: []answer{fails(5 * ms)},
			calls:   []visit{{0, 15 * ms}},
			want: `
				0s attempt 1 start
				5ms attempt 1 failure
				15ms attempt 2 start retry
				15ms caller 1 gives up
				15ms attempt 2 cancelled`,
		},
	})
}

func TestRetryOn(t *testing.T) {
	all := []record.Cause{record.Failure, record.Timeout, record.Circuit, record.Limiter, record.Rate, record.Connect, record.Reset, record.Status, record.Stream}
	real := []record.Cause{record.Connect, record.Reset, record.Status, record.Stream}
	tests := []struct {
		on   []Retryable
		want []record.Cause
	}{
		// by default what speaks against the dependency, and no refusal
		{nil, append([]record.Cause{record.Failure, record.Timeout}, real...)},
		// naming a refusal adds it and takes nothing away
		{[]Retryable{"circuit"}, append([]record.Cause{record.Failure, record.Timeout, record.Circuit}, real...)},
		{[]Retryable{"limiter", "rate"}, append([]record.Cause{record.Failure, record.Timeout, record.Limiter, record.Rate}, real...)},
		// naming just one of the two narrows; failures of real targets go with failure
		{[]Retryable{"failure"}, append([]record.Cause{record.Failure}, real...)},
		{[]Retryable{"timeout"}, []record.Cause{record.Timeout}},
		{[]Retryable{"timeout", "circuit"}, []record.Cause{record.Timeout, record.Circuit}},
		// naming both is the default
		{[]Retryable{"timeout", "failure"}, append([]record.Cause{record.Failure, record.Timeout}, real...)},
	}
	for _, test := range tests {
		for _, cause := range all {
			w := newWorld(atOnce(cause))
			w.call(w.wrap(target{w: w}, &Retry{Attempts: 3, On: test.on, Backoff: Backoff{Kind: NoBackoff}}), 0, -1)
			w.loop.Run()
			want := 1
			if slices.Contains(test.want, cause) {
				want = 3
			}
			if w.starts != want {
				t.Errorf("on %v: %s was tried %d times, want %d", test.on, cause, w.starts, want)
			}
		}
	}
}

// The retries of two retry stages, of two callers and of two rounds must not
// wait in step: no two of the waits are the same.
func TestRetryJitterDiffers(t *testing.T) {
	b := Backoff{Kind: Constant, Base: time.Hour, Jitter: Jitter{Kind: Full}}
	waits := map[time.Duration]string{}
	for caller := range int64(2) {
		var last time.Duration
		w := newWorld()
		inner := stageFunc(func(Call, Receiver) (Running, Outcome) {
			w.starts++
			what := fmt.Sprintf("caller %d, before attempt %d", caller, w.starts)
			if wait := w.loop.Now() - last; w.starts > 1 {
				if other, is := waits[wait]; is {
					t.Errorf("%s and %s: the same wait of %v", what, other, wait)
				}
				waits[wait] = what
			}
			last = w.loop.Now()
			return nil, Ended(record.Failure)
		})
		top := w.wrap(inner, &Retry{Attempts: 2, Backoff: b}, &Retry{Attempts: 3, Backoff: b})
		w.call(top, 0, -1).request.Index = caller
		w.loop.Run()
	}
	if len(waits) != 10 {
		t.Errorf("%d different waits, want 10", len(waits))
	}
}

func TestRetryBound(t *testing.T) {
	inner := Bound{Attempts: 2, Longest: 10 * ms}
	tests := []struct {
		retry Retry
		want  Bound
	}{
		// without waiting, just so many times the inner worst case
		{Retry{Attempts: 3, Backoff: Backoff{Kind: NoBackoff}}, Bound{6, 30 * ms}},
		// waits of 5, 10 between three attempts
		{Retry{Attempts: 3, Backoff: Backoff{Kind: Exponential, Base: 5 * ms, Factor: 2}}, Bound{6, 45 * ms}},
		// decorrelated: at most 3 and 9 times the base
		{Retry{Attempts: 3, Backoff: Backoff{Kind: Constant, Base: 5 * ms, Jitter: Jitter{Kind: Decorrelated}}}, Bound{6, 90 * ms}},
		// proportional: half as much again, then the cap
		{Retry{Attempts: 3, Backoff: Backoff{Kind: Constant, Base: 10 * ms, Cap: 12 * ms, Jitter: Jitter{Proportional, 0.5}}}, Bound{6, 54 * ms}},
		// told to wait: 7 instead of 5, and the backoff of 10
		{Retry{Attempts: 3, Backoff: Backoff{Kind: Exponential, Base: 5 * ms, Factor: 2}, RetryAfter: &RetryAfter{Cap: 7 * ms}}, Bound{6, 47 * ms}},
		// no budget and no deadline makes it less
		{Retry{Attempts: 3, Backoff: Backoff{Kind: NoBackoff}, Budget: &Budget{GRPC: grpcBudget()}, Needs: new(time.Duration)}, Bound{6, 30 * ms}},
	}
	for _, test := range tests {
		if got := test.retry.Bound(inner); got != test.want {
			t.Errorf("%+v: %v, want %v", test.retry, got, test.want)
		}
	}
	if got := thrice.Bound(Bound{1, Unbounded}); got != (Bound{3, Unbounded}) {
		t.Errorf("around an unbounded call: %v", got)
	}
}

// asking is a dependency that fails after a while and asks to be left alone for
// another.
func asking(w *world, after time.Duration, retryAfter time.Duration) stageFunc {
	return func(_ Call, to Receiver) (Running, Outcome) {
		w.starts++
		w.note("attempt %d start", w.starts)
		o := Ended(record.Failure)
		o.RetryAfter = retryAfter
		return scheduled(w.loop.After(after, clock.Func(func() { to.Ended(o) }))), Outcome{}
	}
}

// scheduled is a running call that nobody cancels.
type scheduled clock.Timer

func (scheduled) Cancel() { panic("cancelled") }

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name    string
		asked   time.Duration
		backoff Backoff
		heed    *RetryAfter
		want    time.Duration // from one end to the next start
	}{
		{"ignored without the setting", 50 * ms, Backoff{Kind: Constant, Base: 10 * ms}, nil, 10 * ms},
		{"longer than the backoff", 50 * ms, Backoff{Kind: Constant, Base: 10 * ms}, &RetryAfter{Cap: time.Second}, 50 * ms},
		{"shorter than the backoff", 5 * ms, Backoff{Kind: Constant, Base: 10 * ms}, &RetryAfter{Cap: time.Second}, 10 * ms},
		{"clamped", 50 * ms, Backoff{Kind: Constant, Base: 10 * ms}, &RetryAfter{Cap: 30 * ms}, 30 * ms},
		// the cap is that of the asking, not of the backoff
		{"cap below the backoff", 50 * ms, Backoff{Kind: Constant, Base: 10 * ms}, &RetryAfter{Cap: 3 * ms}, 10 * ms},
		{"without a backoff", 50 * ms, Backoff{Kind: NoBackoff}, &RetryAfter{Cap: time.Second}, 50 * ms},
		{"nothing asked", 0, Backoff{Kind: NoBackoff}, &RetryAfter{Cap: time.Second}, 0},
	}
	for _, test := range tests {
		w := newWorld()
		w.call(w.wrap(asking(w, ms, test.asked), &Retry{Attempts: 2, Backoff: test.backoff, RetryAfter: test.heed}), 0, -1)
		w.loop.Run()
		want := []string{"0s attempt 1 start", (ms + test.want).String() + " attempt 2 start", (2*ms + test.want).String() + " caller 1 failure"}
		if diff := cmp.Diff(want, w.log); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// A retry that could not end before the deadline is not made, and its wait is
// not sat out: a try takes 10 ms here, so the second would start at 20 ms.
func TestRetryNeeds(t *testing.T) {
	needs := func(d time.Duration) *time.Duration { return &d }
	tests := []struct {
		name     string
		needs    *time.Duration
		deadline time.Duration
		want     int // attempts
	}{
		{"off", nil, 0, 3},
		{"no deadline", needs(time.Hour), math.MaxInt64, 3},
		{"just enough for one more", needs(10 * ms), 30 * ms, 2},
		{"a nanosecond too little", needs(10 * ms), 30*ms - 1, 1},
		// the third would start at 50 ms
		{"just enough for two more", needs(10 * ms), 60 * ms, 3},
		{"too little for two more", needs(10 * ms), 60*ms - 1, 2},
		// 0 asks only that it starts before the deadline
		{"nothing needed", needs(0), 20*ms + 1, 2},
		{"nothing needed, at the deadline", needs(0), 20 * ms, 1},
		{"beyond the deadline", needs(0), 5 * ms, 1},
	}
	for _, test := range tests {
		w := newWorld()
		budget := &Budget{Costed: costedBudget()}
		inner := w.wrap(asking(w, 10*ms, 0), &Retry{Attempts: 3, Backoff: Backoff{Kind: Linear, Base: 10 * ms}, Needs: test.needs, Budget: budget})
		c := w.call(stageFunc(func(call Call, to Receiver) (Running, Outcome) {
			call.Deadline = test.deadline
			return inner.Start(call, to)
		}), 0, -1)
		w.loop.Run()
		if w.starts != test.want {
			t.Errorf("%s: %d attempts, want %d", test.name, w.starts, test.want)
		}
		// waits of 10 and 20 ms
		if end := []time.Duration{1: 10 * ms, 2: 30 * ms, 3: 60 * ms}[test.want]; w.loop.Now() != end {
			t.Errorf("%s: the call ended at %v, want %v", test.name, w.loop.Now(), end)
		}
		// what is not made is not paid for, and is no denial of the budget
		if left := inner.(*retry).budget.(*costed).tokens; left != 500-14*int64(test.want-1) || c.request.Denied != 0 {
			t.Errorf("%s: %d tokens left and %d denials after %d retries", test.name, left, c.request.Denied, test.want-1)
		}
	}
}

// A timeout around the retry is its deadline: the wait of 20 ms ends at 31 ms.
func TestRetryNeedsWithinATimeout(t *testing.T) {
	for after, want := range map[time.Duration]int{31 * ms: 1, 32 * ms: 2} {
		w := newWorld(fails(11 * ms))
		inner := w.wrap(target{w: w}, &Timeout{After: after}, &Retry{Attempts: 2, Backoff: Backoff{Kind: Constant, Base: 20 * ms}, Needs: new(time.Duration)})
		w.call(stageFunc(func(call Call, to Receiver) (Running, Outcome) {
			call.Deadline = math.MaxInt64
			return inner.Start(call, to)
		}), 0, -1)
		w.loop.Run()
		if w.starts != want {
			t.Errorf("timeout of %v: %d attempts, want %d", after, w.starts, want)
		}
	}
}

func TestRetryCheck(t *testing.T) {
	long, negative := check.Longest+1, -ms
	tests := []struct {
		name  string
		retry Retry
		want  []string
	}{
		{"all of them", Retry{Attempts: 4, Budget: &Budget{GRPC: grpcBudget()}, RetryAfter: &RetryAfter{Cap: time.Second}, Needs: new(time.Duration)}, nil},
		{"a budget for nothing", Retry{Attempts: 1, Budget: &Budget{GRPC: grpcBudget()}}, []string{"?attempts: 1", "?budget: has nothing to bound"}},
		{"a budget of no kind", Retry{Attempts: 2, Budget: &Budget{}}, []string{"budget: has 0 kinds"}},
		{"no cap", Retry{Attempts: 2, RetryAfter: &RetryAfter{}}, []string{"retry_after.cap: 0s"}},
		{"below nothing", Retry{Attempts: 2, Needs: &negative}, []string{"needs: -1ms"}},
		{"absurd", Retry{Attempts: 2, Needs: &long}, []string{"needs: 87600h"}},
	}
	for _, test := range tests {
		test.retry.Backoff = Backoff{Kind: NoBackoff}
		p := check.New()
		test.retry.Check(p)
		expectProblems(t, test.name, p, test.want)
	}
}
