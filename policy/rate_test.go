package policy

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

func parsed(t testing.TB, s string) clock.Rate {
	t.Helper()
	r, err := clock.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRate(t *testing.T) {
	hundred := clock.PerSecond(100)
	refusing, waits := &Rate{Rate: hundred, Burst: 2}, &Rate{Rate: hundred, Burst: 1, Wait: true}
	play(t, []scene{
		{
			// a full bucket at first, then a token every 10 ms; the one that comes
			// at this very instant is there, a nanosecond early it is not
			name:    "refuses",
			stack:   []Config{refusing},
			answers: []answer{okNow},
			calls:   at(0, 0, 0, 10*ms-1, 10*ms, 10*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				0s attempt 2 start
				0s attempt 2 completed
				0s caller 2 completed
				0s caller 3 rate
				9.999999ms caller 4 rate
				10ms attempt 3 start
				10ms attempt 3 completed
				10ms caller 5 completed
				10ms caller 6 rate`,
		},
		{
			// the bucket never holds more than its burst
			name:    "a long rest",
			stack:   []Config{refusing},
			answers: []answer{okNow},
			calls:   at(time.Hour, time.Hour, time.Hour),
			want: `
				1h0m0s attempt 1 start
				1h0m0s attempt 1 completed
				1h0m0s caller 1 completed
				1h0m0s attempt 2 start
				1h0m0s attempt 2 completed
				1h0m0s caller 2 completed
				1h0m0s caller 3 rate`,
		},
		{
			// waiters are served first in, first out, a token each; a token is
			// spent on the start, not held to the end
			name:    "waits",
			stack:   []Config{waits},
			answers: []answer{ok(25 * ms)},
			calls:   at(0, 1*ms, 2*ms),
			want: `
				0s attempt 1 start
				10ms attempt 2 start
				20ms attempt 3 start
				25ms attempt 1 completed
				25ms caller 1 completed
				35ms attempt 2 completed
				35ms caller 2 completed
				45ms attempt 3 completed
				45ms caller 3 completed`,
		},
		{
			// the token goes to the waiter, although the newcomer asks at the
			// instant at which it comes
			name:    "a newcomer does not overtake",
			stack:   []Config{waits},
			answers: []answer{okNow},
			calls:   at(0, 9*ms, 10*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				10ms attempt 2 start
				10ms attempt 2 completed
				10ms caller 2 completed
				20ms attempt 3 start
				20ms attempt 3 completed
				20ms caller 3 completed`,
		},
		{
			// the token of a waiter that gives up goes to the next one
			name:    "the first waiter gives up",
			stack:   []Config{waits},
			answers: []answer{okNow},
			calls:   []visit{{0, -1}, {1 * ms, 4 * ms}, {2 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				5ms caller 2 gives up
				10ms attempt 2 start
				10ms attempt 2 completed
				10ms caller 3 completed`,
		},
		{
			// and to whoever comes later when nobody waits: it is not lost
			name:    "the only waiter gives up",
			stack:   []Config{waits},
			answers: []answer{okNow},
			calls:   []visit{{0, -1}, {1 * ms, 4 * ms}, {10 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				5ms caller 2 gives up
				10ms attempt 2 start
				10ms attempt 2 completed
				10ms caller 3 completed`,
		},
		{
			// a later waiter that gives up leaves the first one's token alone
			name:    "the second waiter gives up",
			stack:   []Config{waits},
			answers: []answer{okNow},
			calls:   []visit{{0, -1}, {1 * ms, -1}, {2 * ms, 4 * ms}, {3 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				6ms caller 3 gives up
				10ms attempt 2 start
				10ms attempt 2 completed
				10ms caller 2 completed
				20ms attempt 3 start
				20ms attempt 3 completed
				20ms caller 4 completed`,
		},
		{
			// given up after its wait, it takes its attempt along
			name:    "given up inside",
			stack:   []Config{waits},
			answers: []answer{okNow, never},
			calls:   []visit{{0, -1}, {1 * ms, 14 * ms}},
			want: `
				0s attempt 1 start
				0s attempt 1 completed
				0s caller 1 completed
				10ms attempt 2 start
				15ms caller 2 gives up
				15ms attempt 2 cancelled`,
		},
	})
}

// A call that comes at the instant of the first waiter's token and before it, as
// one that was planned earlier does, must not take that token.
func TestRateIsFirstInFirstOut(t *testing.T) {
	w := newWorld(okNow)
	s := w.wrap(target{w: w}, &Rate{Rate: clock.PerSecond(100), Burst: 1, Wait: true})
	newcomer := &caller{w: w, n: 9, stage: s}
	w.loop.At(10*ms, clock.Work, newcomer)
	w.call(s, 0, -1)
	w.call(s, ms, -1)
	w.loop.Run()
	want := lines(`
		0s attempt 1 start
		0s attempt 1 completed
		0s caller 1 completed
		10ms attempt 2 start
		10ms attempt 2 completed
		10ms caller 2 completed
		20ms attempt 3 start
		20ms attempt 3 completed
		20ms caller 9 completed`)
	if diff := cmp.Diff(want, w.log); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

// A real clock is late now and then: the tokens that came due meanwhile are not
// lost, and no more of them come than were due.
func TestRateOnALateClock(t *testing.T) {
	r := clock.PerSecond(100)
	w := newWorld(okNow)
	s := w.wrap(target{w: w}, &Rate{Rate: r, Burst: 1, Wait: true}).(*rate)
	for range 6 {
		w.call(s, 0, -1)
	}
	// late in the middle of a period: three tokens are overdue when the timer comes
	w.loop.At(5*ms, clock.Work, happens(func() {
		w.loop.Cancel(s.timer)
		s.timer = w.loop.At(35*ms, clock.Work, s)
	}))
	w.loop.Run()
	var got []string
	for _, l := range w.log {
		if instant, rest, _ := strings.Cut(l, " "); strings.HasSuffix(rest, "start") {
			got = append(got, instant)
		}
	}
	if diff := cmp.Diff([]string{"0s", "35ms", "35ms", "35ms", "40ms", "50ms"}, got); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

// tokens returns the first n instants at which a saturated, waiting rate lets
// a call start.
func tokens(r clock.Rate, burst, n int) []time.Duration {
	loop := clock.Virtual()
	var got []time.Duration
	inner := stageFunc(func(Call, Receiver) (Running, Outcome) {
		got = append(got, loop.Now())
		return nil, Completed(0, record.Never)
	})
	s := (&Rate{Rate: r, Burst: burst, Wait: true}).Wrap(inner, "rate", &Env{Loop: loop})
	var next func()
	again := receiverFunc(func(Outcome) { next() })
	request := new(Request)
	next = func() {
		for len(got) < n {
			if _, o := s.Start(Call{Request: request}, again); o.Open() {
				return
			}
		}
	}
	next()
	loop.Run()
	return got
}

type stageFunc func(Call, Receiver) (Running, Outcome)

func (f stageFunc) Start(c Call, to Receiver) (Running, Outcome) { return f(c, to) }

type receiverFunc func(Outcome)

func (f receiverFunc) Ended(o Outcome) { f(o) }

// Token k comes at exactly k/rate, rounded up to the nanosecond.
func TestRateTokensAreExact(t *testing.T) {
	tests := []struct {
		rate  string
		burst int
		want  []time.Duration
	}{
		{"100/s", 1, []time.Duration{0, 10 * ms, 20 * ms, 30 * ms}},
		// thirds of a second, rounded up each for itself
		{"3/s", 1, []time.Duration{0, 333333334, 666666667, time.Second, 1333333334}},
		{"1/3s", 1, []time.Duration{0, 3 * time.Second, 6 * time.Second}},
		// the burst is there at once, and the first token after it in a full period
		{"7/3s", 3, []time.Duration{0, 0, 0, 428571429, 857142858, 1285714286}},
		{"0.3/s", 2, []time.Duration{0, 0, 3333333334, 6666666667, 10 * time.Second}},
		// faster than a nanosecond can tell
		{"3/2ns", 1, nil},
	}
	for _, test := range tests {
		if test.want == nil {
			if _, err := clock.ParseRate(test.rate); err == nil {
				t.Errorf("%s was read", test.rate)
			}
			continue
		}
		got := tokens(parsed(t, test.rate), test.burst, len(test.want))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s, burst %d (-want +got):\n%s", test.rate, test.burst, diff)
		}
	}
}

// After a million tokens of an awkward rate not one nanosecond is lost.
func TestRateDoesNotDrift(t *testing.T) {
	const n = 1_000_000
	got := tokens(parsed(t, "999.7/s"), 1, n+1)
	exact := big.NewRat(n*10, 9997)
	exact.Mul(exact, big.NewRat(int64(time.Second), 1))
	if want := ceil(exact); got[n] != want {
		t.Errorf("token %d at %v, want %v", n, got[n], want)
	}
}

func ceil(r *big.Rat) time.Duration {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return time.Duration(q.Int64())
}

// What a refusing rate lets through is what a bucket of exact fractions would.
func TestRateIsABucketOfFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, per := rapid.Int64Range(1, 50).Draw(t, "count"), rapid.Int64Range(50, 1000).Draw(t, "per")
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		r, err := clock.ParseRate(big.NewInt(count).String() + "/" + time.Duration(per).String())
		if err != nil {
			t.Fatal(err)
		}
		loop := clock.Virtual()
		inner := stageFunc(func(Call, Receiver) (Running, Outcome) { return nil, Completed(0, record.Never) })
		s := (&Rate{Rate: r, Burst: burst}).Wrap(inner, "rate", &Env{Loop: loop})
		level, full, one := big.NewRat(int64(burst), 1), big.NewRat(int64(burst), 1), big.NewRat(1, 1)
		for range 50 {
			gap := rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(0, 5000)).Draw(t, "gap")
			if level.Add(level, big.NewRat(gap*count, per)); level.Cmp(full) > 0 {
				level.Set(full)
			}
			want := level.Cmp(one) >= 0
			if want {
				level.Sub(level, one)
			}
			var o Outcome
			loop.After(time.Duration(gap), happens(func() { _, o = s.Start(Call{Request: new(Request)}, nil) }))
			loop.Run()
			if o.Success() != want || !want && o.Cause != record.Rate {
				t.Fatalf("at %v: %v %v, want let through %v", loop.Now(), o.Success(), o.Cause, want)
			}
		}
	})
}

func TestRateCheckAndBound(t *testing.T) {
	tests := []struct {
		name string
		rate Rate
		want int // faults
	}{
		{"as it should be", Rate{Rate: clock.PerSecond(5), Burst: 1}, 0},
		{"no rate", Rate{Burst: 1}, 1},
		{"no burst", Rate{Rate: clock.PerSecond(5)}, 1},
		// the level would overflow: a million tokens of 100 days each
		{"burst of a slow rate", Rate{Rate: parsed(t, "1/2000h"), Burst: 1e6}, 1},
	}
	for _, test := range tests {
		p := check.New()
		test.rate.Check(p)
		if got := len(p.All()); got != test.want {
			t.Errorf("%s: %d faults %v, want %d", test.name, got, p.All(), test.want)
		}
	}
	inner := Bound{2, ms}
	if got := (&Rate{}).Bound(inner); got != inner {
		t.Errorf("refusing: %v, want %v", got, inner)
	}
	if got := (&Rate{Wait: true}).Bound(inner); got != (Bound{2, Unbounded}) {
		t.Errorf("waiting: %v, want an unbounded time", got)
	}
}
