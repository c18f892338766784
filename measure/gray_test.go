package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"brunt/chance"
	"brunt/record"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func TestGrayAgainstOracles(t *testing.T) {
	for _, w := range table(t, "gray.csv") {
		groups := map[string][]Observation{}
		for _, row := range table(t, "rows/"+w["curve"]+".csv") {
			g := row["group"]
			groups[g] = append(groups[g], Observation{Time: seconds(t, row["time"]), Outcome: statuses[row["status"]]})
		}
		a, b := groups["A"], groups["B"]
		if w["event"] == "errored" {
			a, b = swapped(a), swapped(b)
		}
		got := Gray(NewCurve(a, 0), NewCurve(b, 0))
		if got.Reason != "" {
			t.Fatal(got.Reason)
		}
		want := number(t, w["statistic"])
		near(t, w["event"]+": statistic", *got.Statistic, want, 1e-9*want)
		near(t, w["event"]+": p", *got.P, number(t, w["p"]), 1e-9)
		if float64(got.DF) != number(t, w["df"]) {
			t.Errorf("%d degrees of freedom", got.DF)
		}
	}
}

// The order of the groups changes nothing, and groups that are the same do not
// differ.
func TestGrayLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var curves []*Curve
		for range rapid.IntRange(2, 4).Draw(t, "groups") {
			curves = append(curves, NewCurve(observed(t), 0))
		}
		want, got := Gray(curves...), Gray(rapid.Permutation(curves).Draw(t, "permuted")...)
		switch {
		case want.Statistic == nil || got.Statistic == nil:
			for _, g := range []GrayTest{want, got} {
				if g.Statistic == nil && g.Reason == "" {
					t.Fatalf("neither a test nor a reason: %+v", g)
				}
			}
			// Whether a matrix is singular is a matter of rounding: only an
			// outright refusal has to be one in any order.
			if (want.Statistic == nil) != (got.Statistic == nil) && want.Reason != got.Reason && want.Reason != noOverlap && got.Reason != noOverlap {
				t.Fatalf("%+v and %+v", want, got)
			}
		case !(math.Abs(*want.Statistic-*got.Statistic) <= 1e-6*(1+*want.Statistic)):
			t.Fatalf("%v, in another order %v", *want.Statistic, *got.Statistic)
		}
		same := Gray(curves[0], curves[0], curves[0])
		if same.Statistic != nil && *same.Statistic > 1e-9 {
			t.Fatalf("the same curve three times: %v", *same.Statistic)
		}
	})
}

// Under no difference the statistic of three groups is chi-squared with two
// degrees of freedom: mean 2, and above its 95 % quantile one time in twenty.
func TestGrayUnderNoDifference(t *testing.T) {
	const draws = 1000
	luck := chance.New(1)
	sum, above := 0.0, 0
	for i := range int64(draws) {
		curves := make([]*Curve, 3)
		for g := range curves {
			curves[g] = NewCurve(competing(luck, i*3+int64(g), 60, 0.7), time.Second)
		}
		x := *Gray(curves...).Statistic
		sum += x
		if x > (distuv.ChiSquared{K: 2}).Quantile(0.95) {
			above++
		}
	}
	// Four standard errors: 2/√1000 of the mean, √(.05·.95/1000) of the share.
	if mean := sum / draws; math.Abs(mean-2) > 0.26 {
		t.Errorf("mean %v, want 2", mean)
	}
	if share := float64(above) / draws; math.Abs(share-0.05) > 0.028 {
		t.Errorf("%v above the 95 %% quantile", share)
	}
}

// Two groups of which one is plainly slower.
func TestGraySeesADifference(t *testing.T) {
	fast := uniform(100, 0, 0)
	slow := slices.Clone(fast)
	for i := range slow {
		slow[i].Time *= 3
	}
	if got := Gray(NewCurve(fast, 0), NewCurve(slow, 0)); got.P == nil || *got.P > 1e-6 {
		t.Errorf("%+v", got)
	}
}

func TestGrayRefuses(t *testing.T) {
	one := NewCurve(uniform(5, 0, 0), 0)
	for name, groups := range map[string][]*Curve{
		"one group":            {one},
		"an empty group":       {one, NewCurve(nil, 0)},
		"no completion at all": {NewCurve([]Observation{{1, record.Errored}}, 0), NewCurve([]Observation{{1, record.Censored}}, 0)},
		"never together":       {NewCurve([]Observation{{1, record.Censored}}, 0), NewCurve([]Observation{{2, record.Completed}}, 0)},
	} {
		if got := Gray(groups...); got.Statistic != nil || got.P != nil || got.Reason == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
