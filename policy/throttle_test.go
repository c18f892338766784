package policy

import (
	"math"
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

func throttles() *Throttle {
	c := new(Throttle)
	c.SetDefaults()
	return c
}

// What counts as a request and what as an accept, and the probability that
// comes of it, worked out by hand from equation 21-1.
func TestThrottleProbability(t *testing.T) {
	everything := []Pushback{PushbackOverload, PushbackTimeout, PushbackFailure}
	ends := map[rune]answer{
		's': okNow, 'f': failNow, 't': atOnce(record.Timeout), 'o': atOnce(record.Overload), 'c': atOnce(record.Connect),
		'r': atOnce(record.Limiter), 'x': never, // given up after a millisecond
	}
	tests := []struct {
		name    string
		k       float64
		rejects []Pushback
		least   int
		ends    string
		want    float64
	}{
		{"no history", 2, nil, 0, "", 0},
		// (1 - 0) / 2
		{"one rejection", 2, nil, 0, "o", 0.5},
		// 4 of 8 with k of 2: just met
		{"k times the accepts", 2, nil, 0, "ssssoooo", 0},
		// (8 - 6) / 9
		{"beyond", 2, nil, 0, "sssooooo", 2. / 9},
		// (11 - 1.1*9) / 12
		{"a smaller k", 1.1, nil, 0, "sssssssssoo", (11 - 9.9) / 12},
		// k of 1 refuses nothing of what is accepted
		{"k of 1", 1, nil, 0, "ssssssss", 0},
		// a timeout and a lost connection count as overload does: (3 - 0) / 4
		{"what counts as turned away", 2, nil, 0, "otc", 0.75},
		// a failure is an accept: the dependency took it
		{"failures are accepts", 2, nil, 0, "ffff", 0},
		// unless the study says otherwise: (4 - 0) / 5
		{"failures are rejections", 2, everything, 0, "ffff", 0.8},
		// only what is listed
		{"only timeouts", 2, []Pushback{PushbackTimeout}, 0, "oooot", 0},
		// neither a refusal inside nor a cancelled call counts: (1 - 0) / 2
		{"what never counts", 2, nil, 0, "rrxxo", 0.5},
		{"below min_calls", 2, nil, 5, "oooo", 0},
		{"min_calls met", 2, nil, 5, "ooooo", 5. / 6},
	}
	for _, test := range tests {
		w := newWorld()
		s := w.wrap(target{w: w}, &Throttle{K: test.k, Window: time.Hour, MinCalls: test.least, Rejects: test.rejects}).(*throttle)
		for i, end := range test.ends {
			w.answers = append(w.answers, ends[end])
			// each call goes in without a draw: the history is what is looked at
			c := &caller{w: w, n: i + 1, stage: s}
			w.callers = append(w.callers, c)
			r := &throttleRun{stage: s, to: c}
			inner, o := s.inner.Start(Call{Request: &c.request}, r)
			if !o.Open() {
				s.learn(o)
				continue
			}
			r.inner = inner
			r.Cancel()
		}
		if got := s.probability(); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: probability %v, want %v", test.name, got, test.want)
		}
	}
}

// A refusal goes out as one, is counted as a request, and stays in the stage.
func TestThrottleRefuses(t *testing.T) {
	w := newWorld(atOnce(record.Overload))
	s := w.wrap(target{w: w}, throttles()).(*throttle)
	for i := range 200 {
		w.call(s, time.Duration(i)*ms, -1)
	}
	w.loop.Run()
	var refused, seen int
	for _, c := range w.callers {
		refused += int(c.request.Refusals)
	}
	for _, l := range w.log {
		if strings.HasSuffix(l, " throttle") {
			seen++
		}
	}
	if refused != seen {
		t.Errorf("%d refusals counted and %d seen", refused, seen)
	}
	if s.sum != (accepted{200, 0}) {
		t.Errorf("counted %+v, want 200 requests and no accept", s.sum)
	}
	// the probability is n/(n+1) before call n+1, so that the sum of 1/(n+1), 5.9,
	// are expected to go in, with a standard deviation below 2.1
	if in := 200 - refused; w.starts != in || in < 1 || in > 13 {
		t.Errorf("%d calls went in, %d were not refused, want about 6", w.starts, in)
	}
}

// Calls under way speak neither way: the first calls of a run go in together.
func TestThrottleWaitsForAnswers(t *testing.T) {
	w := newWorld(ok(time.Second))
	s := w.wrap(target{w: w}, throttles())
	for i := range 100 {
		w.call(s, time.Duration(i)*ms, -1)
	}
	w.loop.Run()
	if w.starts != 100 {
		t.Errorf("%d of 100 calls went in, want all: no answer had come", w.starts)
	}
}

// A dependency that turns calls away at once when more than its rate come. With
// w calls wanted and a accepted in a second, k*a reach it for each second: of
// equation 21-1, admitted = requests * (1 - p) = k * accepts.
func TestThrottleAdmitsKTimesWhatIsAccepted(t *testing.T) {
	const wanted, accepted, seconds = 1000, 100, 80
	for _, k := range []float64{1.1, 1.5, 2, 3} {
		w := newWorld()
		config := &Throttle{K: k, Window: 10 * time.Second}
		var admitted, accepts int64 // in the second half
		tokens := 0
		inner := starts(func(Call) Outcome {
			half := w.loop.Now() >= seconds*time.Second/2
			if half {
				admitted++
			}
			if tokens == 0 {
				return Ended(record.Overload)
			}
			tokens--
			if half {
				accepts++
			}
			return Completed(0, record.Never)
		})
		s := w.wrap(inner, config)
		request := new(Request)
		for i := range int64(wanted * seconds) {
			w.loop.At(time.Duration(i)*time.Second/wanted, clock.Arrival, clock.Func(func() {
				if i%(wanted/accepted) == 0 {
					tokens = 1
				}
				request.Index = i
				s.Start(Call{Request: request}, new(quiet))
			}))
		}
		w.loop.Run()
		// the token of each ten calls is taken with near certainty only when
		// enough go in, so compare with what was accepted, not with the rate
		if got := float64(admitted) / float64(accepts); math.Abs(got-k) > 0.03*k {
			t.Errorf("k of %v: %d calls went in and %d were accepted, %.3f for each", k, admitted, accepts, got)
		}
	}
}

// starts makes a stage of a function that ends each call at once.
type starts func(Call) Outcome

func (f starts) Start(call Call, _ Receiver) (Running, Outcome) { return nil, f(call) }

// A dependency that has recovered is found out, and then nothing is refused.
func TestThrottleRecovers(t *testing.T) {
	w := newWorld()
	sick := true
	s := w.wrap(starts(func(Call) Outcome {
		if sick {
			return Ended(record.Overload)
		}
		return Completed(0, record.Never)
	}), &Throttle{K: 2, Window: 2 * time.Second}).(*throttle)
	request := new(Request)
	var refused int32
	for i := range int64(60_000) { // a minute, sick for half of it
		w.loop.At(time.Duration(i)*ms, clock.Arrival, clock.Func(func() {
			sick = i < 30_000
			request.Index = i
			before := request.Refusals
			s.Start(Call{Request: request}, new(quiet))
			if i >= 50_000 {
				refused += request.Refusals - before
			}
		}))
	}
	w.loop.Run()
	if refused > 0 {
		t.Errorf("%d calls refused in the last ten seconds, 20 s after the recovery", refused)
	}
	if request.Refusals < 25_000 {
		t.Errorf("%d calls refused, want nearly all of the first 30,000", request.Refusals)
	}
}

// The counts agree with a list of all calls that is looked through each time.
func TestThrottleCountsAsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.IntRange(10, 200).Draw(t, "window"))
		w := newWorld(okNow)
		s := w.wrap(target{w: w}, &Throttle{K: 2, Window: window}).(*throttle)
		type counted struct {
			bucket  int64
			accepts bool
		}
		var list []counted
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			gap := time.Duration(rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 300)).Draw(t, "gap"))
			accepts := rapid.Bool().Draw(t, "accepts")
			w.loop.After(gap, happens(func() { s.count(accepts) }))
			w.loop.Run()
			now := int64(w.loop.Now() / (window / 10))
			list = append(list, counted{now, accepts})
			var want accepted
			for _, c := range list {
				if c.bucket > now-10 {
					want.requests++
					if c.accepts {
						want.accepts++
					}
				}
			}
			if s.sum != want {
				t.Fatalf("%+v after %d calls, want %+v", s.sum, len(list), want)
			}
			if p := s.probability(); p < 0 || p >= 1 {
				t.Fatalf("probability %v", p)
			}
		}
	})
}

// The draw goes by request and path: the same at another instant, and another
// for a further try of the same request.
func TestThrottleDraws(t *testing.T) {
	refused := func(delay time.Duration, path uint64) (got []int64) {
		w := newWorld()
		s := w.wrap(starts(func(Call) Outcome { return Completed(0, record.Never) }), &Throttle{K: 1, Window: time.Hour}).(*throttle)
		s.sum = accepted{1e9, 5e8} // refuses one in two
		for i := range int64(100) {
			w.loop.At(delay+time.Duration(i), clock.Arrival, clock.Func(func() {
				if _, o := s.Start(Call{Request: &Request{Index: i}, Path: path}, new(quiet)); o.Cause == record.Throttle {
					got = append(got, i)
				}
			}))
		}
		w.loop.Run()
		return got
	}
	first := refused(0, 0)
	if n := len(first); n < 30 || n > 70 {
		t.Errorf("%d of 100 refused, want about half", n)
	}
	if diff := cmp.Diff(first, refused(time.Second, 0)); diff != "" {
		t.Errorf("other calls refused a second later:\n%s", diff)
	}
	if slices.Equal(first, refused(0, 1)) {
		t.Error("a further try meets the same luck as the first")
	}
}

func TestThrottleCheck(t *testing.T) {
	tests := []struct {
		name string
		c    Throttle
		want []string
	}{
		{"defaults", *throttles(), nil},
		// below 1 it refuses calls of a dependency that accepts all
		{"k", Throttle{K: 0.9, Window: time.Second}, []string{"k"}},
		{"no window", Throttle{K: 2}, []string{"window"}},
		// ten buckets of a nanosecond
		{"short window", Throttle{K: 2, Window: 9}, []string{"window"}},
		{"min_calls", Throttle{K: 2, Window: 10, MinCalls: -1}, []string{"min_calls"}},
		{"rejects", Throttle{K: 2, Window: 10, Rejects: []Pushback{"circuit"}}, []string{"rejects"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, faults(&test.c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// faults returns the paths of what is wrong with a configuration.
func faults(c Config) (paths []string) {
	p := check.New()
	c.Check(p)
	for _, f := range p.All() {
		paths = append(paths, f.Path)
	}
	return paths
}

func TestWarmThrottleAllocatesNothing(t *testing.T) {
	allocatesNothing(t, &Throttle{K: 2, Window: 100 * ms}, ok(ms), atOnce(record.Overload), timesOut(2*ms))
}

// allocatesNothing makes calls in fours through one stage until it is warm, and
// counts.
func allocatesNothing(t *testing.T, c Config, answers ...answer) {
	t.Helper()
	env := &Env{Loop: clock.Virtual(), Chance: chance.New(1)}
	s := c.Wrap(&steady{loop: env.Loop, answers: answers}, "stage", env)
	to, request := new(quiet), new(Request)
	calls := func() {
		request.Index++
		for range 4 {
			if _, o := s.Start(Call{Request: request}, to); !o.Open() {
				to.Ended(o)
			}
		}
		env.Loop.Run()
	}
	for range 100 {
		calls()
	}
	if got := testing.AllocsPerRun(200, calls); got != 0 {
		t.Errorf("%v allocations for 4 calls, want none", got)
	}
}
