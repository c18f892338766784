package dependency

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/check"
)

// An override replaces whole settings and leaves the others; the base is not
// changed by it.
func TestOver(t *testing.T) {
	base := Behaviour{
		Latency: Every(Fixed(5 * ms)), Fail: &Fail{Ratio: 0.5, First: 2, After: p(ms)}, FailAfter: p(2 * ms),
		Hang: p(true), Refuse: p(true), CancelCleanup: p(20 * ms), Cost: p(1.5),
		FirstToken: Fixed(ms), TokenGap: Fixed(2 * ms), Tokens: p(7),
	}
	before := base
	tests := []struct {
		name     string
		override Behaviour
		want     func(*Behaviour)
	}{
		{"nothing", Behaviour{}, func(*Behaviour) {}},
		{"latency", Behaviour{Latency: &ByAttempt{First: Fixed(ms), Later: Fixed(2 * ms)}}, func(b *Behaviour) {
			b.Latency = &ByAttempt{First: Fixed(ms), Later: Fixed(2 * ms)}
		}},
		// nothing of the base's fail is left: neither first nor after
		{"fail", Behaviour{Fail: &Fail{Ratio: 1}}, func(b *Behaviour) { b.Fail = &Fail{Ratio: 1} }},
		{"fail_after", Behaviour{FailAfter: p(0 * ms)}, func(b *Behaviour) { b.FailAfter = p(0 * ms) }},
		// false takes the base's true back
		{"hang", Behaviour{Hang: p(false)}, func(b *Behaviour) { b.Hang = p(false) }},
		{"refuse", Behaviour{Refuse: p(false)}, func(b *Behaviour) { b.Refuse = p(false) }},
		{"cancel_cleanup", Behaviour{CancelCleanup: p(0 * ms)}, func(b *Behaviour) { b.CancelCleanup = p(0 * ms) }},
		{"cost", Behaviour{Cost: p(0.0)}, func(b *Behaviour) { b.Cost = p(0.0) }},
		{"first_token", Behaviour{FirstToken: Fixed(9)}, func(b *Behaviour) { b.FirstToken = Fixed(9) }},
		{"token_gap", Behaviour{TokenGap: Fixed(9)}, func(b *Behaviour) { b.TokenGap = Fixed(9) }},
		{"tokens", Behaviour{Tokens: p(1)}, func(b *Behaviour) { b.Tokens = p(1) }},
	}
	for _, test := range tests {
		want := base
		test.want(&want)
		if diff := cmp.Diff(want, test.override.Over(base)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if diff := cmp.Diff(before, base); diff != "" {
			t.Errorf("%s changed the base:\n%s", test.name, diff)
		}
	}
}

func TestWorst(t *testing.T) {
	five := Every(Fixed(5 * ms))
	tests := []struct {
		name      string
		behaviour Behaviour
		want      time.Duration
		bounded   bool
	}{
		{"constant", Behaviour{Latency: five}, 5 * ms, true},
		{"first and later", Behaviour{Latency: &ByAttempt{First: Fixed(3 * ms), Later: Fixed(30 * ms)}}, 30 * ms, true},
		{"uniform", Behaviour{Latency: Every(&Latency{Uniform: &Uniform{Min: ms, Max: 9 * ms}})}, 9 * ms, true},
		{"empirical", Behaviour{Latency: Every(&Latency{Empirical: &Empirical{Times: []time.Duration{ms, 8 * ms, 2 * ms}}})}, 8 * ms, true},
		// a later failure is a later answer
		{"fail after", Behaviour{Latency: five, Fail: &Fail{Ratio: 0.1, After: p(50 * ms)}}, 50 * ms, true},
		{"fail_after", Behaviour{Latency: five, FailAfter: p(20 * ms)}, 20 * ms, true},
		// in the order of judgement
		{"refuse and hang", Behaviour{Latency: five, Refuse: p(true), Hang: p(true)}, 0, true},
		{"stream", Behaviour{FirstToken: Fixed(100 * ms), TokenGap: Fixed(10 * ms), Tokens: p(4)}, 130 * ms, true},
	}
	for _, test := range tests {
		if got, bounded := test.behaviour.Worst(); got != test.want || bounded != test.bounded {
			t.Errorf("%s: %v, bounded %v; want %v, %v", test.name, got, bounded, test.want, test.bounded)
		}
	}
	// a tail without an end has no longest answer
	for name, b := range map[string]Behaviour{
		"hang":                    {Latency: five, Hang: p(true), FailAfter: p(ms)},
		"exponential":             {Latency: Every(&Latency{Exponential: &Exponential{Mean: ms}})},
		"later one of two":        {Latency: &ByAttempt{First: Fixed(ms), Later: &Latency{Normal: &Normal{Mean: ms, SD: ms}}}},
		"gaps of a stream":        {FirstToken: Fixed(ms), TokenGap: &Latency{Lognormal: &Lognormal{P50: 1, P90: 2}}, Tokens: p(2)},
		"first token of a stream": {FirstToken: &Latency{Exponential: &Exponential{Mean: ms}}, TokenGap: Fixed(ms), Tokens: p(2)},
		"nothing":                 {},
	} {
		if got, bounded := b.Worst(); bounded {
			t.Errorf("%s: bounded by %v", name, got)
		}
	}
}

// The worst case is no less than any answer.
func TestWorstIsTheWorst(t *testing.T) {
	for name, b := range map[string]Behaviour{
		"uniform": {Latency: Every(&Latency{Uniform: &Uniform{Min: 0, Max: 3}}), Fail: &Fail{Ratio: 0.5, After: p(time.Duration(2))}},
		"stream":  {FirstToken: &Latency{Uniform: &Uniform{Max: 3}}, TokenGap: &Latency{Uniform: &Uniform{Max: 2}}, Tokens: p(3)},
	} {
		worst, _ := b.Worst()
		var reached bool
		for _, a := range answers(b, seq(2000)...) {
			if a.After > worst {
				t.Fatalf("%s: an answer after %d, worst case %d", name, a.After, worst)
			}
			reached = reached || a.After == worst
		}
		if !reached {
			t.Errorf("%s: no answer is as late as the worst case of %d", name, worst)
		}
	}
}

func seq(n int32) (list []int32) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

func TestRandom(t *testing.T) {
	five, drawn := Every(Fixed(5*ms)), &Latency{Exponential: &Exponential{Mean: ms}}
	tests := []struct {
		name      string
		behaviour Behaviour
		want      bool
	}{
		{"constant", Behaviour{Latency: five}, false},
		{"drawn", Behaviour{Latency: Every(drawn)}, true},
		{"drawn later", Behaviour{Latency: &ByAttempt{First: Fixed(ms), Later: drawn}}, true},
		{"neither drawn", Behaviour{Latency: &ByAttempt{First: Fixed(ms), Later: Fixed(ms)}}, false},
		// a share of all or of none is no matter of chance
		{"fail some", Behaviour{Latency: five, Fail: &Fail{Ratio: 0.5}}, true},
		{"fail all", Behaviour{Latency: five, Fail: &Fail{Ratio: 1}}, false},
		{"fail first", Behaviour{Latency: five, Fail: &Fail{First: 1}}, false},
		{"stream", Behaviour{FirstToken: Fixed(ms), TokenGap: drawn, Tokens: p(2)}, true},
		{"stream, constant", Behaviour{FirstToken: Fixed(ms), TokenGap: Fixed(ms), Tokens: p(2)}, false},
		{"refuse", Behaviour{Refuse: p(true)}, false},
	}
	for _, test := range tests {
		if got := test.behaviour.Random(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestBehaviourCheck(t *testing.T) {
	five := Every(Fixed(5 * ms))
	tests := []struct {
		name      string
		behaviour Behaviour
		paths     string // of a behaviour that must be whole
	}{
		{"latency", Behaviour{Latency: five}, ""},
		{"nothing", Behaviour{}, "latency"},
		// what never succeeds needs no latency
		{"refuse", Behaviour{Refuse: p(true)}, ""},
		{"hang", Behaviour{Hang: p(true)}, ""},
		{"fail_after", Behaviour{FailAfter: p(ms)}, ""},
		{"hang: false", Behaviour{Hang: p(false)}, "latency"},
		{"stream", Behaviour{FirstToken: Fixed(ms), TokenGap: Fixed(ms), Tokens: p(2)}, ""},
		{"stream without gaps", Behaviour{FirstToken: Fixed(ms), Tokens: p(2)}, "token_gap"},
		{"gaps without a stream", Behaviour{Latency: five, TokenGap: Fixed(ms)}, "first_token"},
		{"stream and latency", Behaviour{Latency: five, FirstToken: Fixed(ms)}, "latency"},
		{"first alone", Behaviour{Latency: &ByAttempt{First: Fixed(ms)}}, "latency.later"},
		{"later alone", Behaviour{Latency: &ByAttempt{Later: Fixed(ms)}}, "latency.first"},
		{"first beside a distribution", Behaviour{Latency: &ByAttempt{First: Fixed(ms), Later: Fixed(ms), Latency: *Fixed(ms)}}, "latency"},
		{"bad part", Behaviour{Latency: &ByAttempt{First: Fixed(-1), Later: Fixed(ms)}}, "latency.first"},
		// costs are added up in billionths
		{"no cost", Behaviour{Latency: five, Cost: p(0.0)}, ""},
		{"the least cost", Behaviour{Latency: five, Cost: p(1e-9)}, ""},
		{"a cost below it", Behaviour{Latency: five, Cost: p(0.99e-9)}, "cost"},
		{"numbers", Behaviour{
			Latency: five, Fail: &Fail{Ratio: 1.1, First: -1, After: p(-ms)}, FailAfter: p(-ms), CancelCleanup: p(-ms), Cost: p(-1.0), Tokens: p(0), FirstToken: Fixed(-1),
		}, "fail.ratio fail.first fail.after fail_after cancel_cleanup cost first_token tokens latency"},
	}
	for _, test := range tests {
		p := check.New()
		test.behaviour.CheckWhole(p)
		if got := paths(p); got != test.paths {
			t.Errorf("%s: faults at %q, want %q", test.name, got, test.paths)
		}
	}
	// an override may leave out anything
	override := check.New()
	(&Behaviour{}).Check(override)
	(&Behaviour{TokenGap: Fixed(ms)}).Check(override)
	if got := paths(override); got != "" {
		t.Errorf("overrides: faults at %q", got)
	}
}
