package policy

import (
	"testing"
	"time"

	"brunt/check"
)

// TestBudgetOfAttemptsShrinks is the case of envoy-mobile#811: six attempts
// under way fail at one instant, and wait before their retries. The budget is
// all of the attempts under way, so it is 5, 4, 3, 2, 1 and 0 as they fail, and
// the retries that it has granted are 0, 1, 2, 3, …: three are allowed.
func TestBudgetOfAttemptsShrinks(t *testing.T) {
	for _, test := range []struct {
		name    string
		budget  InFlightBudget
		retries int
	}{
		{"all of the attempts", InFlightBudget{Share: check.Whole, Of: OfAttempts}, 3},
		{"half of them", InFlightBudget{Share: 500_000, Of: OfAttempts}, 2}, // 2, 2, 1, 1, 0, 0
		{"a floor", InFlightBudget{Share: 500_000, Floor: 4, Of: OfAttempts}, 4},
		{"all of the calls", InFlightBudget{Share: check.Whole, Of: OfCalls}, 6}, // they are in flight while they wait
		{"none", InFlightBudget{Of: OfAttempts}, 0},
	} {
		w := newWorld(fails(time.Millisecond))
		config := &Retry{Attempts: 2, Backoff: Backoff{Kind: Constant, Base: 10 * time.Millisecond}, Budget: &Budget{InFlight: &test.budget}}
		s := w.wrap(target{w: w}, config)
		for range 6 {
			w.call(s, 0, -1)
		}
		w.loop.Run()
		if got := w.starts - 6; got != test.retries {
			t.Errorf("%s: %d retries, want %d", test.name, got, test.retries)
		}
		if b := s.(*retry).budget.(*inFlight); b.calls != 0 || b.under != 0 || b.extras != 0 {
			t.Errorf("%s: in the end %d calls, %d attempts and %d retries are in flight", test.name, b.calls, b.under, b.extras)
		}
	}
}
