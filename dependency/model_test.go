package dependency

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/chance"
	"brunt/record"
)

const ms = time.Millisecond

func p[T any](v T) *T { return &v }

func answers(b Behaviour, nth ...int32) []Answer {
	m := New("service", b, chance.New(1))
	var list []Answer
	for _, n := range nth {
		list = append(list, m.Answer(7, n))
	}
	return list
}

func TestAnswer(t *testing.T) {
	five := Every(Fixed(5 * ms))
	good := func(after time.Duration) Answer { return Answer{After: after, FirstToken: record.Never} }
	bad := func(after time.Duration) Answer {
		return Answer{Fails: true, After: after, FirstToken: record.Never}
	}
	refused := bad(0)
	refused.Refused = true
	hangs := Answer{Hangs: true, FirstToken: record.Never}
	tests := []struct {
		name      string
		behaviour Behaviour
		want      []Answer // of the first attempts of a request
	}{
		{"constant", Behaviour{Latency: five}, []Answer{good(5 * ms), good(5 * ms)}},
		// by the attempt's number within its request
		{"first and later", Behaviour{Latency: &ByAttempt{First: Fixed(300 * ms), Later: Fixed(30 * ms)}}, []Answer{good(300 * ms), good(30 * ms), good(30 * ms)}},
		{"fail_after", Behaviour{Latency: five, FailAfter: p(20 * ms)}, []Answer{bad(20 * ms), bad(20 * ms)}},
		// fail_after: 0s is a setting, not the lack of one
		{"fail_after 0s", Behaviour{Latency: five, FailAfter: p(0 * ms)}, []Answer{bad(0)}},
		{"hang", Behaviour{Latency: five, Hang: p(true)}, []Answer{hangs, hangs}},
		{"refuse", Behaviour{Latency: five, Refuse: p(true)}, []Answer{refused, refused}},
		// false is as good as not given
		{"false", Behaviour{Latency: five, Refuse: p(false), Hang: p(false)}, []Answer{good(5 * ms)}},
		// the first two attempts of each request fail, when their answer would have come
		{"fail first", Behaviour{Latency: five, Fail: &Fail{First: 2}}, []Answer{bad(5 * ms), bad(5 * ms), good(5 * ms)}},
		// with fail.after they fail then, whatever the latency
		{"fail first, after", Behaviour{Latency: five, Fail: &Fail{First: 1, After: p(ms)}}, []Answer{bad(ms), good(5 * ms)}},
		{"fail at once", Behaviour{Latency: five, Fail: &Fail{First: 1, After: p(0 * ms)}}, []Answer{bad(0), good(5 * ms)}},
		{"fail all", Behaviour{Latency: five, Fail: &Fail{Ratio: 1}}, []Answer{bad(5 * ms), bad(5 * ms)}},
		{"fail none", Behaviour{Latency: five, Fail: &Fail{}}, []Answer{good(5 * ms)}},
		// the order of judgement: each hides those behind it
		{"refuse before hang", Behaviour{Refuse: p(true), Hang: p(true), FailAfter: p(ms), Fail: &Fail{Ratio: 1}}, []Answer{refused}},
		{"hang before fail_after", Behaviour{Hang: p(true), FailAfter: p(ms), Fail: &Fail{Ratio: 1}}, []Answer{hangs}},
		{"fail_after before fail", Behaviour{Latency: five, FailAfter: p(ms), Fail: &Fail{Ratio: 1, After: p(2 * ms)}}, []Answer{bad(ms)}},
		// cost and clean-up belong to every attempt, however it ends
		{"cost and clean-up", Behaviour{Latency: five, Cost: p(0.5), CancelCleanup: p(20 * ms), Fail: &Fail{First: 1}}, []Answer{
			{Fails: true, After: 5 * ms, FirstToken: record.Never, Cleanup: 20 * ms, Cost: 0.5},
			{After: 5 * ms, FirstToken: record.Never, Cleanup: 20 * ms, Cost: 0.5},
		}},
		{"cost of a refusal", Behaviour{Refuse: p(true), Cost: p(0.5), CancelCleanup: p(ms)}, []Answer{
			{Fails: true, Refused: true, FirstToken: record.Never, Cleanup: ms, Cost: 0.5},
		}},
		// a stream: the first token, then three gaps
		{"stream", Behaviour{FirstToken: Fixed(100 * ms), TokenGap: Fixed(10 * ms), Tokens: p(4)}, []Answer{{After: 130 * ms, FirstToken: 100 * ms, Tokens: 4}}},
		{"stream of one token", Behaviour{FirstToken: Fixed(100 * ms)}, []Answer{{After: 100 * ms, FirstToken: 100 * ms, Tokens: 1}}},
		// one that fails has no token that counts
		{"stream that fails", Behaviour{FirstToken: Fixed(100 * ms), TokenGap: Fixed(10 * ms), Tokens: p(4), Fail: &Fail{First: 1}}, []Answer{bad(130 * ms), {After: 130 * ms, FirstToken: 100 * ms, Tokens: 4}}},
	}
	for _, test := range tests {
		var nth []int32
		for i := range test.want {
			nth = append(nth, int32(i))
		}
		if diff := cmp.Diff(test.want, answers(test.behaviour, nth...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Become changes what starts from then on, and forgets all of the old behaviour.
func TestBecome(t *testing.T) {
	m := New("service", Behaviour{
		Latency: Every(Fixed(5 * ms)), Fail: &Fail{Ratio: 1, First: 3, After: p(ms)}, Cost: p(2.0), CancelCleanup: p(ms),
	}, chance.New(1))
	m.Become(Behaviour{FirstToken: Fixed(ms), TokenGap: Fixed(ms), Tokens: p(5)})
	if got, want := m.Answer(0, 0), (Answer{After: 5 * ms, FirstToken: ms, Tokens: 5}); got != want {
		t.Errorf("a stream: %+v, want %+v", got, want)
	}
	m.Become(Behaviour{Latency: Every(Fixed(9 * ms))})
	if got, want := m.Answer(0, 0), (Answer{After: 9 * ms, FirstToken: record.Never}); got != want {
		t.Errorf("and back: %+v, want %+v", got, want)
	}
}

// A ratio fails that share of the attempts, drawn for each attempt by itself.
// The bound is five standard errors.
func TestFailRatio(t *testing.T) {
	const n, ratio = 20000, 0.3
	m := New("service", Behaviour{Latency: Every(Fixed(ms)), Fail: &Fail{Ratio: ratio}}, chance.New(1))
	var first, second, both int
	for i := range int64(n) {
		a, b := m.Answer(i, 0).Fails, m.Answer(i, 1).Fails
		if a {
			first++
		}
		if b {
			second++
		}
		if a && b {
			both++
		}
	}
	within := func(what string, got int, p float64) {
		t.Helper()
		if off := float64(got) - n*p; off*off > 25*n*p*(1-p) {
			t.Errorf("%s: %d of %d, want about %.0f", what, got, n, n*p)
		}
	}
	within("first attempts", first, ratio)
	within("second attempts", second, ratio)
	within("both", both, ratio*ratio)
}

// A draw depends on the seed, the dependency's name, the request and the
// attempt; not on what else the dependency is asked, nor on other settings.
func TestLuckIsTheAttempts(t *testing.T) {
	latency := &Latency{Exponential: &Exponential{Mean: 100 * ms}}
	b := Behaviour{Latency: Every(latency)}
	m := New("a", b, chance.New(1))
	want := m.Answer(5, 1)
	for i := range int64(10) {
		m.Answer(i, 0)
	}
	if got := m.Answer(5, 1); got != want {
		t.Errorf("asked again: %v, want %v", got, want)
	}
	withFail := b
	withFail.Fail, withFail.Cost = &Fail{First: 1}, p(1.0)
	if got := New("a", withFail, chance.New(1)).Answer(5, 1).After; got != want.After {
		t.Errorf("with a failing first attempt: %v, want %v", got, want.After)
	}
	for what, other := range map[string]Answer{
		"other name":    New("b", b, chance.New(1)).Answer(5, 1),
		"other seed":    New("a", b, chance.New(2)).Answer(5, 1),
		"other request": m.Answer(6, 1),
		"other attempt": m.Answer(5, 2),
	} {
		if other.After == want.After {
			t.Errorf("%s: the same latency %v", what, want.After)
		}
	}
}

// The gaps of one stream are drawn one by one: their spread over a stream is
// that of single gaps, not of one gap many times over.
func TestTokenGapsAreDrawnForEach(t *testing.T) {
	const tokens = 2001
	b := Behaviour{FirstToken: Fixed(0), TokenGap: &Latency{Exponential: &Exponential{Mean: ms}}, Tokens: p(tokens)}
	for request := range int64(20) {
		a := New("llm", b, chance.New(1)).Answer(request, 0)
		// a sum of 2000 exponential gaps of 1 ms: standard deviation 1 ms·sqrt(2000) = 45 ms
		if off := a.After - 2000*ms; off < -225*ms || off > 225*ms {
			t.Errorf("request %d: %v for 2000 gaps of 1 ms", request, a.After)
		}
	}
}

// A stream with absurd gaps ends late, and not before it began.
func TestAbsurdStreamDoesNotOverflow(t *testing.T) {
	year := 9 * 365 * 24 * time.Hour
	b := Behaviour{FirstToken: Fixed(year), TokenGap: Fixed(year), Tokens: p(100000)}
	if a := answers(b, 0)[0]; a.After < year {
		t.Errorf("answer after %v", a.After)
	}
	if worst, bounded := b.Worst(); worst < year || !bounded {
		t.Errorf("worst case %v, bounded %v", worst, bounded)
	}
}
