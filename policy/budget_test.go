package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/check"
	"brunt/clock"
	"brunt/record"
)

// defaults of each kind, as an empty mapping in a study sets them.
func inFlightBudget() *InFlightBudget { c := new(InFlightBudget); c.SetDefaults(); return c }
func recentBudget() *RecentBudget     { c := new(RecentBudget); c.SetDefaults(); return c }
func grpcBudget() *GRPCBudget         { c := new(GRPCBudget); c.SetDefaults(); return c }
func costedBudget() *CostedBudget     { c := new(CostedBudget); c.SetDefaults(); return c }

// tireless is a retry with so many tries that only a budget ends them.
func tireless(b Budget) *Retry {
	return &Retry{Attempts: 1000, Backoff: Backoff{Kind: NoBackoff}, Budget: &b}
}

// attempts makes one call at once and returns how many attempts it took.
func attempts(w *world, s Stage) int {
	before := w.starts
	c := w.call(s, w.loop.Now(), -1)
	w.loop.Run()
	if c.ends != 1 {
		panic("the call did not end")
	}
	return w.starts - before
}

func repeat(n int, a answer) []answer { return slices.Repeat([]answer{a}, n) }

// gRPC A6, section "Throttling Retry Attempts and Hedged RPCs": the count
// begins at 10, each failure takes 1, and a retry needs more than 5. So the
// failures that leave 9, 8, 7 and 6 are retried and the fifth, which leaves 5,
// is not: four retries. Five more failures take the count to 0, where it stays.
// From there a retry needs more than 6 before its own failure: 60 successes are
// too few.
func TestGRPCBudgetEmpties(t *testing.T) {
	w := newWorld(repeat(5+20, failNow)...)
	w.answers = append(w.answers, repeat(60, okNow)...)
	w.answers = append(w.answers, failNow)
	s := w.wrap(target{w: w}, tireless(Budget{GRPC: grpcBudget()}))
	if got := attempts(w, s); got != 1+4 {
		t.Errorf("the full bucket allows %d attempts, want 5", got)
	}
	if denied := w.callers[0].request.Denied; denied != 1 {
		t.Errorf("%d denials counted, want 1", denied)
	}
	for i := range 20 {
		if got := attempts(w, s); got != 1 {
			t.Fatalf("call %d at an empty bucket: %d attempts, want 1", i, got)
		}
	}
	for range 60 {
		attempts(w, s)
	}
	// 60 successes: 6.0, of which the failure leaves 5
	if got := attempts(w, s); got != 1 {
		t.Errorf("after 60 successes: %d attempts, want 1", got)
	}
	w.answers = slices.Concat(w.answers[:w.starts], repeat(11, okNow), []answer{failNow, failNow, okNow})
	for range 11 {
		attempts(w, s)
	}
	// 5 and 1.1: one retry, whose failure leaves 4.1
	if got := attempts(w, s); got != 2 {
		t.Errorf("with 6.1 tokens: %d attempts, want 2", got)
	}
}

// A failure counts whether or not tries are left, a refusal only where the
// retry repeats it, and nothing counts beyond the ends.
func TestGRPCBudgetCounts(t *testing.T) {
	tests := []struct {
		name    string
		retry   Retry
		answers []answer
		want    int64 // thousandths of a token
	}{
		{"the last try counts", Retry{Attempts: 2}, []answer{failNow}, 8000},
		{"a success brings the ratio", Retry{Attempts: 2}, []answer{failNow, okNow}, 9100},
		{"never above the maximum", Retry{Attempts: 2}, []answer{okNow}, 10000},
		{"a refusal", Retry{Attempts: 2}, []answer{atOnce(record.Circuit)}, 10000},
		{"a refusal that is repeated", Retry{Attempts: 2, On: []Retryable{OnCircuit}}, []answer{atOnce(record.Circuit)}, 8000},
		{"a failure that is not repeated", Retry{Attempts: 2, On: []Retryable{OnTimeout}}, []answer{failNow}, 10000},
	}
	for _, test := range tests {
		w := newWorld(test.answers...)
		test.retry.Backoff, test.retry.Budget = Backoff{Kind: NoBackoff}, &Budget{GRPC: grpcBudget()}
		s := w.wrap(target{w: w}, &test.retry)
		attempts(w, s)
		if got := s.(*retry).budget.(*grpc).tokens; got != test.want {
			t.Errorf("%s: %d thousandths of a token, want %d", test.name, got, test.want)
		}
	}
}

// AWS: a full quota of 500 at 14 a retry pays for 35 of them (490) and leaves
// 10; at 5 a retry, after throttling, for 100. The values before 2026 are 5,
// and 10 after a timeout: 100 and 50.
func TestCostedBudgetEmpties(t *testing.T) {
	old := CostedBudget{Capacity: 500, Retry: 5, Throttle: 5, Timeout: 10, Refund: true, Increment: 1}
	tests := []struct {
		name    string
		costed  CostedBudget
		cause   record.Cause
		retries int
		left    int64
	}{
		{"failures", *costedBudget(), record.Failure, 35, 10},
		{"timeouts cost as failures do", *costedBudget(), record.Timeout, 35, 10},
		{"overloads", *costedBudget(), record.Overload, 100, 0},
		{"failures before 2026", old, record.Failure, 100, 0},
		{"timeouts before 2026", old, record.Timeout, 50, 0},
		{"overloads before 2026", old, record.Overload, 100, 0},
	}
	for _, test := range tests {
		w := newWorld(atOnce(test.cause))
		s := w.wrap(target{w: w}, tireless(Budget{Costed: &test.costed}))
		if got := attempts(w, s); got != 1+test.retries {
			t.Errorf("%s: %d retries, want %d", test.name, got-1, test.retries)
		}
		if got := s.(*retry).budget.(*costed).tokens; got != test.left {
			t.Errorf("%s: %d tokens left, want %d", test.name, got, test.left)
		}
	}
}

// The level after each call, in the SDKs' own test cases
// (aws-sdk-go-v2 v1.48.0, aws/retry/retry2026_test.go) and some more.
func TestCostedBudgetLevels(t *testing.T) {
	with := func(set func(*CostedBudget)) CostedBudget { c := costedBudget(); set(c); return *c }
	overload := atOnce(record.Overload)
	tests := []struct {
		name   string
		costed CostedBudget
		calls  [][]answer // each the answers of one call
		want   []int64    // the level after each
	}{
		{"a retry that succeeds gives back its own cost alone", *costedBudget(), [][]answer{{failNow, failNow, okNow}}, []int64{486}},
		{"tries run out", *costedBudget(), [][]answer{{failNow, failNow, failNow}}, []int64{472}},
		{"throttling", *costedBudget(), [][]answer{{overload, okNow}}, []int64{500}},
		{"the quota is reached", with(func(c *CostedBudget) { c.Capacity = 20 }), [][]answer{{failNow, failNow}}, []int64{6}},
		{"it recovers", with(func(c *CostedBudget) { c.Capacity = 30 }), [][]answer{{failNow, failNow, okNow}, {failNow, okNow}}, []int64{16, 16}},
		{"a first try that succeeds", *costedBudget(), [][]answer{{failNow, failNow, failNow}, {okNow}, {okNow}}, []int64{472, 473, 474}},
		{"without refund", with(func(c *CostedBudget) { c.Refund = false }), [][]answer{{failNow, okNow}, {okNow}}, []int64{486, 487}},
		{"each retry pays by its own cause", *costedBudget(), [][]answer{{failNow, overload, failNow}}, []int64{481}},
	}
	for _, test := range tests {
		w := newWorld()
		s := w.wrap(target{w: w}, &Retry{Attempts: 3, Backoff: Backoff{Kind: NoBackoff}, Budget: &Budget{Costed: &test.costed}})
		var got []int64
		for _, call := range test.calls {
			w.answers = append(w.answers[:w.starts], call...)
			if n := attempts(w, s); n != len(call) {
				t.Errorf("%s: %d attempts for %d answers", test.name, n, len(call))
			}
			got = append(got, s.(*retry).budget.(*costed).tokens)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: levels (-want +got):\n%s", test.name, diff)
		}
	}
}

// Finagle's defaults: 10 a second over 10 s are 100 retries that are there from
// the start, and each call brings a fifth of one.
func TestRecentBudget(t *testing.T) {
	loop := clock.Virtual()
	b := newRecent(recentBudget(), balance{env: &Env{Loop: loop}})
	take := func() (n int) {
		for {
			if _, ok := b.grant(record.Failure); !ok {
				return n
			}
			n++
		}
	}
	calls := func(n int) {
		for range n {
			b.begin()
		}
	}
	tests := []struct {
		at    time.Duration
		calls int
		want  int
	}{
		{0, 0, 100},
		{0, 4, 0}, // four fifths of a retry
		{0, 1, 1},
		{500 * ms, 50, 10},
		// a tenth of the ttl later all is remembered still
		{9999 * ms, 0, 0},
		// the slice of the first second is forgotten: what it withdrew beyond its deposits (111 - 11)
		{10 * time.Second, 0, 100},
		{19 * time.Second, 5, 1},
		{20 * time.Second, 0, 100},
		// a long silence forgets everything, deposits too
		{25 * time.Second, 1000, 200},
		{500 * time.Second, 0, 100},
	}
	for _, test := range tests {
		loop.At(test.at, clock.Work, clock.Func(func() {
			calls(test.calls)
			if got := take(); got != test.want {
				t.Errorf("at %v, after %d calls: %d retries, want %d", test.at, test.calls, got, test.want)
			}
		}))
	}
	loop.Run()
}

// The balance is what the slices within the ttl hold, and nothing else.
func TestRecentBudgetForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Int64Range(0, million).Draw(t, "ppm")
		ttl := rapid.Int64Range(10, 40).Draw(t, "ttl")
		loop := clock.Virtual()
		b := newRecent(&RecentBudget{Share: check.Share(share), TTL: time.Duration(ttl), Floor: clock.PerSecond(1e8)}, balance{env: &Env{Loop: loop}})
		reserve := ttl / 10 * million // 1e8 a second is one in 10 ns
		type entry struct{ slice, amount int64 }
		var entries []entry
		at := int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			at += rapid.Int64Range(0, 15).Draw(t, "later")
			call := rapid.Bool().Draw(t, "call")
			loop.At(time.Duration(at), clock.Work, clock.Func(func() {
				slice := int64(loop.Now()) * 10 / ttl
				held := reserve
				for _, e := range entries {
					if e.slice > slice-10 {
						held += e.amount
					}
				}
				if call {
					b.begin()
					entries = append(entries, entry{slice, share})
					return
				}
				_, ok := b.grant(record.Failure)
				if ok != (held >= million) {
					t.Errorf("at %d with %d ppm: granted %v", loop.Now(), held, ok)
				}
				if ok {
					entries = append(entries, entry{slice, -million})
				}
			}))
		}
		loop.Run()
	})
}

// In flight: the limit is failsafe-go's rule, asked one by one.
func TestInFlightBudgetLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &inFlight{
			share: rapid.Int64Range(0, million).Draw(t, "ppm"), floor: rapid.Int64Range(0, 10).Draw(t, "floor"),
			balance: balance{env: &Env{}},
		}
		var calls, retries int64
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1:
				b.begin()
				calls++
			case 2:
				if calls > retries { // a call ends after its retry
					b.end()
					calls--
				}
			case 3, 4:
				if calls == retries {
					continue // nobody is there to ask
				}
				_, ok := b.grant(record.Failure)
				rate := retries*million <= b.share*(calls+retries)
				if want := retries < b.floor || rate; ok != want {
					t.Fatalf("%d calls, %d retries: granted %v, want %v", calls, retries, ok, want)
				}
				if ok {
					retries++
				}
			case 5:
				if retries > 0 {
					b.settle(failed, true, true, 0)
					retries--
				}
			}
		}
	})
}

// What a budget denies ends the call at once, without the wait before it, and
// a retry is in flight from its grant on.
func TestBudgetDenies(t *testing.T) {
	budget := &Budget{InFlight: &InFlightBudget{Floor: 1}}
	play(t, []scene{
		{
			name:    "while another waits to be tried again",
			stack:   []Config{&Retry{Attempts: 3, Backoff: Backoff{Kind: Constant, Base: 10 * ms}, Budget: budget}},
			answers: []answer{fails(ms), fails(2 * ms), fails(ms), fails(ms)},
			calls:   at(0, 0),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				1ms attempt 1 failure
				2ms attempt 2 failure
				2ms caller 2 failure
				11ms attempt 3 start retry
				12ms attempt 3 failure
				22ms attempt 4 start retry
				23ms attempt 4 failure
				23ms caller 1 failure`,
		},
		{
			// one that is given up gives its place back
			name:    "not after that is given up",
			stack:   []Config{&Retry{Attempts: 2, Backoff: Backoff{Kind: Constant, Base: 10 * ms}, Budget: budget}},
			answers: []answer{fails(ms), fails(2 * ms), ok(ms)},
			calls:   []visit{{0, ms}, {0, -1}},
			want: `
				0s attempt 1 start
				0s attempt 2 start
				1ms attempt 1 failure
				1ms caller 1 gives up
				2ms attempt 2 failure
				12ms attempt 3 start retry
				13ms attempt 3 completed
				13ms caller 2 completed`,
		},
	})
}

// Whoever listens hears of the balance when it changes, in thousandths.
func TestBudgetTells(t *testing.T) {
	tests := []struct {
		name   string
		budget Budget
		want   []int64
	}{
		// two failures, then success; it begins full
		{"grpc", Budget{GRPC: grpcBudget()}, []int64{9000, 8000, 8100}},
		{"costed", Budget{Costed: costedBudget()}, []int64{486000, 472000, 486000}},
		{"recent", Budget{Recent: recentBudget()}, []int64{100200, 99200, 98200}},
		// how many might start: 3, then 2 while there is a retry
		{"in flight", Budget{InFlight: inFlightBudget()}, []int64{3000, 2000, 3000, 2000, 3000}},
	}
	for _, test := range tests {
		for _, detail := range []bool{false, true} {
			w := newWorld(failNow, failNow, okNow)
			var got []int64
			w.env.Detail, w.env.Caller = detail, 7
			w.env.Observe = func(e record.Event) {
				if e.What != record.WhatBudget || e.Stage != "retry" || e.Caller != 7 {
					t.Errorf("%s: unexpected event %+v", test.name, e)
				}
				got = append(got, e.Value)
			}
			attempts(w, w.wrap(target{w: w}, tireless(test.budget)))
			want := test.want
			if !detail {
				want = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, detail %v: balances (-want +got):\n%s", test.name, detail, diff)
			}
		}
	}
}

func drawBudget(t *rapid.T) *Budget {
	switch rapid.IntRange(0, 4).Draw(t, "budget") {
	case 1:
		return &Budget{InFlight: &InFlightBudget{Share: check.Share(rapid.Int64Range(0, 500_000).Draw(t, "share")), Floor: rapid.IntRange(0, 3).Draw(t, "floor")}}
	case 2:
		return &Budget{Recent: &RecentBudget{Share: check.Share(200_000), TTL: 20, Floor: clock.PerSecond(1e8)}}
	case 3:
		return &Budget{GRPC: &GRPCBudget{MaxTokens: 6, TokenRatio: 0.5}}
	case 4:
		return &Budget{Costed: &CostedBudget{Capacity: 30, Retry: 14, Throttle: 5, Refund: rapid.Bool().Draw(t, "refund"), Increment: 1}}
	}
	return nil
}

// With budgets in a stack, however it ends, nothing is left in flight in them,
// no bucket leaves its bounds, and attempts and denials fit the settings.
func TestBudgetsKeepTheirPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		outer := &Retry{Attempts: 3, Backoff: Backoff{Kind: Linear, Base: 2, Jitter: Jitter{Kind: Full}}, Budget: drawBudget(t)}
		hedged := &Hedge{Extra: 2, After: time.Duration(rapid.IntRange(0, 4).Draw(t, "after")), OnFailure: rapid.Bool().Draw(t, "on failure"), Budget: drawBudget(t)}
		between := &Limit{Permits: rapid.IntRange(1, 3).Draw(t, "permits"), Queue: 2, Order: FIFO}
		inner := &Retry{Attempts: 2, Backoff: Backoff{Kind: NoBackoff}, Budget: drawBudget(t), On: []Retryable{OnLimiter}}
		limit := &Timeout{After: time.Duration(rapid.IntRange(1, 9).Draw(t, "timeout"))}
		stack := []Config{outer, hedged, between, inner, limit}
		if rapid.Bool().Draw(t, "other order") {
			stack = []Config{hedged, limit, outer, between, inner}
		}
		top := w.wrap(target{w: w}, stack...)
		drawTale(t, w, top)
		w.loop.Run()
		if found := append(w.leaks(top), unsettled(top)...); found != nil {
			t.Fatalf("left over: %q\n%q", found, w.log)
		}
		if w.late > 0 {
			t.Fatalf("%d attempts started after their caller's end\n%q", w.late, w.log)
		}
		for _, c := range w.callers {
			// every call inside the stages around may be denied once: at most 3 × 3 × 2 of them
			if c.request.Denied < 0 || c.request.Denied > 18 {
				t.Fatalf("caller %d: %d denials", c.n, c.request.Denied)
			}
		}
	})
}

// unsettled walks a stack and returns what its budgets hold wrongly when
// nothing is under way.
func unsettled(s Stage) (found []string) {
	look := func(b budget) {
		switch b := b.(type) {
		case *inFlight:
			if b.calls != 0 || b.extras != 0 {
				found = append(found, fmt.Sprintf("in flight: %d calls, %d extras", b.calls, b.extras))
			}
		case *grpc:
			if b.tokens < 0 || b.tokens > b.most {
				found = append(found, fmt.Sprintf("grpc: %d tokens", b.tokens))
			}
		case *costed:
			if b.tokens < 0 || b.tokens > int64(b.config.Capacity) {
				found = append(found, fmt.Sprintf("costed: %d tokens", b.tokens))
			}
		}
	}
	for {
		switch at := s.(type) {
		case *retry:
			look(at.budget)
			s = at.inner
		case *hedge:
			look(at.budget)
			s = at.inner
		case *limit:
			s = at.inner
		case *timeout:
			s = at.inner
		default:
			return found
		}
	}
}

func TestWarmBudgetsAllocateNothing(t *testing.T) {
	quantile := &Hedge{Extra: 2, After: ms, OnFailure: true, Quantile: check.Share(900_000), Over: 50}
	tests := map[string]Budget{
		"in flight": {InFlight: inFlightBudget()}, "recent": {Recent: recentBudget()},
		"grpc": {GRPC: grpcBudget()}, "costed": {Costed: costedBudget()},
	}
	for name, budget := range tests {
		hedged := *quantile
		hedged.Budget = &budget
		retried := &Retry{
			Attempts: 3, Backoff: Backoff{Kind: Constant, Base: ms}, Budget: &budget,
			RetryAfter: &RetryAfter{Cap: time.Second}, Needs: new(time.Duration),
		}
		env := &Env{Loop: clock.Virtual(), Chance: chance.New(1), Detail: true, Observe: func(record.Event) {}}
		s := wrap(env, &steady{loop: env.Loop, answers: []answer{ok(2 * ms), fails(ms), ok(2 * ms), ok(3 * ms)}}, []Config{retried, &hedged})
		to, request := new(quiet), new(Request)
		calls := func() {
			for range 4 {
				if _, o := s.Start(Call{Request: request, Deadline: 1 << 62}, to); !o.Open() {
					to.Ended(o)
				}
			}
			env.Loop.Run()
		}
		for range 100 {
			calls()
		}
		if got := testing.AllocsPerRun(200, calls); got != 0 {
			t.Errorf("%s: %v allocations for 4 calls, want none", name, got)
		}
	}
}

func TestBudgetCheck(t *testing.T) {
	tests := []struct {
		name   string
		budget Budget
		want   []string // how each problem begins; a doubt with a question mark before it
	}{
		// the defaults of each kind are fine
		{"in flight", Budget{InFlight: inFlightBudget()}, nil},
		{"recent", Budget{Recent: recentBudget()}, nil},
		{"grpc", Budget{GRPC: grpcBudget()}, nil},
		{"costed", Budget{Costed: costedBudget()}, nil},
		// exactly one kind
		{"none", Budget{}, []string{"has 0 kinds"}},
		{"two", Budget{GRPC: grpcBudget(), Costed: costedBudget()}, []string{"has 2 kinds"}},
		{"a floor below nothing", Budget{InFlight: &InFlightBudget{Share: check.Share(1), Floor: -1, Of: OfCalls}}, []string{"in_flight.floor: -1"}},
		{"the whole", Budget{InFlight: &InFlightBudget{Share: check.Whole, Of: OfCalls}}, []string{"?in_flight.share: 100%: denies nothing"}},
		{"no ttl", Budget{Recent: &RecentBudget{Share: check.Share(1)}}, []string{"recent.ttl: 0s"}},
		{"a ttl of fewer than ten instants", Budget{Recent: &RecentBudget{Share: check.Share(1), TTL: 9}}, []string{"recent.ttl: 9ns: expected at least 10ns"}},
		{"a floor beyond counting", Budget{Recent: &RecentBudget{TTL: time.Hour, Floor: clock.PerSecond(1e9)}}, []string{"recent.floor: 1000000000/s"}},
		{"nothing comes in", Budget{Recent: &RecentBudget{TTL: time.Second}}, []string{"?recent: allows no retry"}},
		{"no tokens", Budget{GRPC: &GRPCBudget{TokenRatio: 1}}, []string{"grpc.max_tokens: 0"}},
		{"more than the proposal's", Budget{GRPC: &GRPCBudget{MaxTokens: 1001, TokenRatio: 1}}, []string{"grpc.max_tokens: 1001"}},
		{"no ratio", Budget{GRPC: &GRPCBudget{MaxTokens: 10}}, []string{"grpc.token_ratio: 0"}},
		{"too fine a ratio", Budget{GRPC: &GRPCBudget{MaxTokens: 10, TokenRatio: 0.0125}}, []string{"grpc.token_ratio: 0.0125: expected at most three decimals"}},
		// 2 tokens: the first failure leaves 1, which is not more than half
		{"a bucket that allows none", Budget{GRPC: &GRPCBudget{MaxTokens: 2, TokenRatio: 1}}, []string{"?grpc.max_tokens: 2: allows no retry"}},
		{"three allow one", Budget{GRPC: &GRPCBudget{MaxTokens: 3, TokenRatio: 1}}, nil},
		{"free retries", Budget{Costed: &CostedBudget{Capacity: 1}}, []string{"costed.retry: 0", "costed.throttle: 0", "?costed.refund: false"}},
		{"too small", Budget{Costed: &CostedBudget{Capacity: 4, Retry: 14, Throttle: 5, Increment: 1}}, []string{"?costed.capacity: 4"}},
		{"enough for a timeout", Budget{Costed: &CostedBudget{Capacity: 4, Retry: 14, Throttle: 5, Timeout: 4, Increment: 1}}, nil},
	}
	for _, test := range tests {
		p := check.New()
		test.budget.Check(p)
		expectProblems(t, test.name, p, test.want)
	}
}

func expectProblems(t *testing.T, name string, p check.Problems, want []string) {
	t.Helper()
	var got []string
	for _, problem := range p.All() {
		text := strings.TrimPrefix(problem.Error(), ": ")
		if problem.Doubt {
			text = "?" + text
		}
		got = append(got, text)
	}
	same := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		same = same && strings.HasPrefix(got[i], want[i])
	}
	if !same {
		t.Errorf("%s: problems %q, want %q", name, got, want)
	}
}
