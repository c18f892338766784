package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/check"
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
		// a quantile may come to be the longest time of an attempt
		{Hedge{Extra: 2, After: 10 * ms, Quantile: check.Share(950_000)}, Bound{1, 50 * ms}, Bound{3, 150 * ms}},
		{Hedge{Extra: 2, After: 60 * ms, Quantile: check.Share(950_000), OnFailure: true}, Bound{1, 50 * ms}, Bound{3, 150 * ms}},
		{Hedge{Extra: 2, After: 60 * ms, Quantile: check.Share(950_000)}, Bound{1, 50 * ms}, Bound{3, 170 * ms}},
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

// Once attempts of 1, 2, … ms have succeeded, the delay is their quantile and no
// longer `after`.
func TestHedgeQuantile(t *testing.T) {
	tests := []struct {
		name    string
		hedge   Hedge
		samples int
		want    time.Duration // when the hedge of a call that hangs starts
	}{
		{"too few", Hedge{Quantile: check.Share(950_000)}, 19, 70 * ms},
		{"enough", Hedge{Quantile: check.Share(950_000)}, 20, 19 * ms},
		{"the median", Hedge{Quantile: check.Share(500_000)}, 20, 10 * ms},
		// of the last 25: 16 … 40, rank 13
		{"the last ones", Hedge{Quantile: check.Share(500_000), Over: 25}, 40, 28 * ms},
		{"off", Hedge{}, 40, 70 * ms},
	}
	for _, test := range tests {
		test.hedge.Extra, test.hedge.After = 1, 70*ms
		w := newWorld(never)
		s := w.wrap(target{w: w}, &test.hedge)
		for i := range test.samples {
			s.(*hedge).took.add(time.Duration(i+1) * ms)
		}
		w.call(s, 0, 100*ms)
		w.loop.Run()
		if w.log[1] != test.want.String()+" attempt 2 start hedge" {
			t.Errorf("%s: %q, want a hedge after %v", test.name, w.log, test.want)
		}
	}
}

// What counts is how long the attempt that succeeded took, from its own start.
// Failures, refusals and losers count nothing.
func TestHedgeQuantileSamples(t *testing.T) {
	w := newWorld(ok(7*ms), // first, in time
		ok(50*ms), ok(5*ms), // hedged after 10 ms: won by the second
		fails(3*ms), ok(4*ms), // launched by a failure
		okNow,
		atOnce(record.Circuit), failNow, failNow)
	s := w.wrap(target{w: w}, &Hedge{Extra: 1, After: 10 * ms, OnFailure: true, Quantile: check.Share(500_000)})
	for i := range 6 {
		w.call(s, time.Duration(i)*time.Second, -1)
	}
	w.loop.Run()
	if diff := cmp.Diff([]time.Duration{7 * ms, 5 * ms, 4 * ms, 0}, s.(*hedge).took.ring); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestHedgeBudget(t *testing.T) {
	hedge := func(extra int, b Budget) []Config {
		return []Config{&Hedge{Extra: extra, After: 10 * ms, OnFailure: true, Budget: &b}}
	}
	one := Budget{InFlight: &InFlightBudget{Floor: 1}}
	play(t, []scene{
		{
			// the second call's hedge is denied while the first one's is open; its
			// own attempt goes on, and no timer is set again
			name:    "denied in time",
			stack:   hedge(2, one),
			answers: []answer{ok(30 * ms), ok(35 * ms), never},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start
				1ms attempt 2 start
				10ms attempt 3 start hedge
				30ms attempt 1 completed
				30ms caller 1 completed
				30ms attempt 3 cancelled
				36ms attempt 2 completed
				36ms caller 2 completed`,
		},
		{
			// denied on a failure with nothing open: the failure is the outcome
			name:    "denied on a failure",
			stack:   hedge(1, Budget{GRPC: &GRPCBudget{MaxTokens: 2, TokenRatio: 1}}),
			answers: []answer{fails(4 * ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				4ms attempt 1 failure
				4ms caller 1 failure`,
		},
		{
			// denied on a failure with another open: that one goes on alone, and
			// the third is not launched by time either
			name:    "denied on a failure, another open",
			stack:   hedge(2, Budget{GRPC: &GRPCBudget{MaxTokens: 2, TokenRatio: 1}}),
			answers: []answer{fails(12 * ms), ok(40 * ms), ok(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				12ms attempt 1 failure
				50ms attempt 2 completed
				50ms caller 1 completed`,
		},
		{
			// a loser gives its place back: the next call's hedge has it
			name:    "the place of a loser",
			stack:   hedge(1, one),
			answers: []answer{ok(11 * ms), never, never, ok(ms)},
			calls:   []visit{{0, -1}, {20 * ms, -1}},
			want: `
				0s attempt 1 start
				10ms attempt 2 start hedge
				11ms attempt 1 completed
				11ms caller 1 completed
				11ms attempt 2 cancelled
				20ms attempt 3 start
				30ms attempt 4 start hedge
				31ms attempt 4 completed
				31ms caller 2 completed
				31ms attempt 3 cancelled`,
		},
	})
}

// Each call counts one denial, and what attempts cost and bring is as for a
// retry.
func TestHedgeBudgetCounts(t *testing.T) {
	tests := []struct {
		name    string
		answers []answer
		calls   []visit
		denied  int32
		want    int64 // tokens of 30, at 14 a retry and 5 after an overload
	}{
		{"no hedge needed", []answer{ok(ms)}, at(0), 0, 30},
		// by time: 14, given back by the winner only
		{"the hedge wins", []answer{ok(50 * ms), ok(5 * ms)}, at(0), 0, 30},
		{"the first wins", []answer{ok(12 * ms), ok(5 * ms)}, at(0), 0, 17}, // and brings 1
		{"after an overload", []answer{atOnce(record.Overload), failNow, failNow}, at(0), 0, 30 - 5 - 14},
		// two hedges leave 2: the third attempt of the second call is denied, once
		{"denied", []answer{never}, []visit{{0, 100 * ms}, {1, 100 * ms}}, 2, 2},
	}
	for _, test := range tests {
		w := newWorld(test.answers...)
		budget := &Budget{Costed: &CostedBudget{Capacity: 30, Retry: 14, Throttle: 5, Refund: true, Increment: 1}}
		s := w.wrap(target{w: w}, &Hedge{Extra: 2, After: 10 * ms, OnFailure: true, Budget: budget})
		for _, v := range test.calls {
			w.call(s, v.at, v.lasting)
		}
		w.loop.Run()
		var denied int32
		for _, c := range w.callers {
			denied += c.request.Denied
		}
		if got := s.(*hedge).budget.(*costed).tokens; got != test.want || denied != test.denied {
			t.Errorf("%s: %d tokens and %d denials, want %d and %d\n%q", test.name, got, denied, test.want, test.denied, w.log)
		}
	}
}

func TestHedgeCheck(t *testing.T) {
	tests := []struct {
		name  string
		hedge Hedge
		want  []string
	}{
		{"plain", Hedge{Extra: 1}, nil},
		{"a quantile", Hedge{Extra: 1, After: ms, Quantile: check.Share(950_000)}, nil},
		{"just enough samples", Hedge{Extra: 1, After: ms, Quantile: check.Share(990_000), Over: 100}, nil},
		{"never enough samples", Hedge{Extra: 1, After: ms, Quantile: check.Share(990_000), Over: 99}, []string{"over: 99: never enough for a quantile of 99%: expected at least 100"}},
		{"never enough of a thousand", Hedge{Extra: 1, After: ms, Quantile: check.Share(999_900)}, []string{"over: 1000: never enough"}},
		{"too fine", Hedge{Extra: 1, After: ms, Quantile: check.Share(999_999)}, []string{"quantile: 99.9999%: expected at most 99.999%"}},
		{"the whole", Hedge{Extra: 1, After: ms, Quantile: check.Share(million)}, []string{"quantile: 100%: expected less than 100%"}},
		{"too many samples", Hedge{Extra: 1, After: ms, Quantile: check.Share(950_000), Over: 100_001}, []string{"over: 100001"}},
		{"samples for nothing", Hedge{Extra: 1, After: ms, Over: 100}, []string{"over: 100: goes with a quantile only"}},
		{"a storm at first", Hedge{Extra: 1, Quantile: check.Share(950_000)}, []string{"?after: 0s"}},
		{"a budget of no kind", Hedge{Extra: 1, Budget: &Budget{}}, []string{"budget: has 0 kinds"}},
	}
	for _, test := range tests {
		p := check.New()
		test.hedge.Check(p)
		expectProblems(t, test.name, p, test.want)
	}
}

// A denial is the end of hedging for its call: neither a further failure nor
// the timer that was running asks again.
func TestHedgeAsksNoMoreOnceDenied(t *testing.T) {
	for _, second := range []answer{fails(5 * ms), ok(40 * ms)} {
		w := newWorld(fails(12*ms), second)
		s := w.wrap(target{w: w}, &Hedge{Extra: 2, After: 10 * ms, OnFailure: true, Budget: &Budget{GRPC: &GRPCBudget{MaxTokens: 2, TokenRatio: 1}}})
		c := w.call(s, 0, -1)
		w.loop.Run()
		if w.starts != 2 || c.request.Denied != 1 {
			t.Errorf("%d attempts and %d denials, want 2 and 1\n%q", w.starts, c.request.Denied, w.log)
		}
	}
}

// cancelling is a running call that does something when it is cancelled.
type cancelling func()

func (c cancelling) Cancel() { c() }

// A loser that ends while another is being cancelled gives its place back too.
func TestHedgeLoserEndsMeanwhile(t *testing.T) {
	w := newWorld()
	var receivers []Receiver
	inner := stageFunc(func(_ Call, to Receiver) (Running, Outcome) {
		receivers = append(receivers, to)
		switch len(receivers) {
		case 1:
			return cancelling(func() { receivers[1].Ended(Ended(record.Failure)) }), Outcome{}
		case 2:
			return cancelling(func() { t.Error("cancelled although it had ended") }), Outcome{}
		}
		return nil, Completed(0, record.Never)
	})
	s := w.wrap(inner, &Hedge{Extra: 2, After: ms, Budget: &Budget{InFlight: inFlightBudget()}})
	w.call(s, 0, -1)
	w.loop.Run()
	if found := append(w.leaks(s), unsettled(s)...); found != nil {
		t.Errorf("left over: %q", found)
	}
}
