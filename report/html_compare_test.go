package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"brunt/lab"
	"brunt/measure"
)

// What the page computes of two compositions is what the result has of each with the
// first: the differences of two of them differ by theirs, and values are the same.
func TestPairsAgreeWithTheResult(t *testing.T) {
	short := func(sets ...string) *lab.Result {
		return resultOf(t, "../studies/outage.yaml", append(sets, "phases.*.for=2s", "load.arrivals=poisson")...)
	}
	for name, r := range map[string]*lab.Result{"one run": short(), "three": short("repeat=3")} {
		judged, intervals := 0, 0
		for a := range r.Compositions {
			for b := a + 1; b < len(r.Compositions); b++ {
				pair := between(r, a, b)
				if pair.A != r.Compositions[a].Name || pair.B != r.Compositions[b].Name || len(pair.Numbers) != len(r.Comparisons[0].Numbers) {
					t.Fatalf("%s: %d and %d are compared as %s and %s, in %d numbers", name, a, b, pair.A, pair.B, len(pair.Numbers))
				}
				for k := range pair.Numbers {
					got := &pair.Numbers[k]
					fresh := measure.Compare(got.Name, valuesOf(r, a, got.Name), valuesOf(r, b, got.Name))
					if got.Mean == nil || fresh.Mean == nil {
						if (got.Mean == nil) != (fresh.Mean == nil) {
							t.Errorf("%s: %s of %s and %s is refused on one side alone", name, got.Name, pair.A, pair.B)
						}
						continue
					}
					same := func(x, y *float64) bool {
						return (x == nil) == (y == nil) && (x == nil || math.Abs(*x-*y) <= 1e-9*max(1, math.Abs(*x)))
					}
					if !same(got.Mean, fresh.Mean) || !same(got.A, fresh.A) || !same(got.B, fresh.B) || !same(got.Low, fresh.Low) || !same(got.High, fresh.High) {
						t.Errorf("%s: %s of %s and %s: %v and %v", name, got.Name, pair.A, pair.B, *got.Mean, *fresh.Mean)
					}
					if a > 0 {
						first, second := r.Comparisons[a-1].Numbers[k], r.Comparisons[b-1].Numbers[k]
						if first.Mean != nil && second.Mean != nil && math.Abs(*second.Mean-*first.Mean-*got.Mean) > 1e-9*max(1, math.Abs(*got.Mean)) {
							t.Errorf("%s: %s of %s and %s is %v, want %v", name, got.Name, pair.A, pair.B, *got.Mean, *second.Mean-*first.Mean)
						}
					}
					judged++
					if got.Low != nil {
						intervals++
					}
				}
			}
		}
		if judged < 30 || (intervals > 0) != (name == "three") {
			t.Errorf("%s: %d numbers, %d intervals", name, judged, intervals)
		}
	}
}

// Of many compositions not each is held against each, but all against the first.
func TestPairsAreBounded(t *testing.T) {
	r := copied(t, pageStudy(t))
	comp, compared := r.Compositions[0], r.Comparisons[0]
	r.Compositions, r.Comparisons, r.Closeups = nil, nil, nil
	const n = mostCompared + 3
	for i := range n {
		c := comp
		c.Name = fmt.Sprintf("composition-%d", i)
		r.Compositions = append(r.Compositions, c)
		if i > 0 {
			r.Comparisons = append(r.Comparisons, lab.Comparison{A: "composition-0", B: c.Name, Numbers: compared.Numbers, Reason: "none"})
		}
	}
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &page{}
	p.pairs(r, c)
	want := mostCompared*(mostCompared-1)/2 + n - mostCompared
	if got := strings.Count(p.String(), `class="pair"`); got != want || !strings.Contains(p.String(), "Each of the first 8 of 11 compositions") {
		t.Errorf("%d pairs, want %d", got, want)
	}
}
