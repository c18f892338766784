package measure

import (
	"math"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
)

func TestClopperPearsonAgainstOracles(t *testing.T) {
	for _, w := range table(t, "rates.csv") {
		got, err := ClopperPearson(int64(number(t, w["k"])), int64(number(t, w["n"])))
		if err != nil {
			t.Fatal(err)
		}
		near(t, w["k"]+" of "+w["n"]+", low", got.Low, number(t, w["cp_lo"]), 1e-10)
		near(t, w["k"]+" of "+w["n"]+", high", got.High, number(t, w["cp_hi"]), 1e-10)
	}
}

func TestClopperPearsonRefuses(t *testing.T) {
	for _, kn := range [][2]int64{{0, 0}, {-1, 5}, {6, 5}} {
		if i, err := ClopperPearson(kn[0], kn[1]); err == nil {
			t.Errorf("%d of %d: %v, want an error", kn[0], kn[1], i)
		}
	}
}

func TestRankIntervalAgainstOracles(t *testing.T) {
	for _, w := range table(t, "ranks.csv") {
		q, n := PPM(math.Round(number(t, w["q"])*1e6)), int64(number(t, w["n"]))
		var want [2]int64
		for i, column := range []string{"lower_rank", "upper_rank"} {
			if w[column] != "" {
				want[i] = int64(number(t, w[column]))
			}
		}
		if lower, upper := RankInterval(q, n); [2]int64{lower, upper} != want {
			t.Errorf("%v of %d: %d, %d, want %v", q, n, lower, upper, want)
		}
	}
}

func TestRankIntervalNeeds(t *testing.T) {
	for _, w := range table(t, "least.csv") {
		q := PPM(math.Round(number(t, w["q"]) * 1e6))
		if got, want := RankIntervalNeeds(q), int64(number(t, w["min_n_upper_equal_tail"])); got != want {
			t.Errorf("%v needs %d, want %d", q, got, want)
		}
		// A low quantile needs as many: there the lower bound is the scarce one.
		if a, b := RankIntervalNeeds(q), RankIntervalNeeds(Million-q); a != b {
			t.Errorf("%v needs %d, its mirror %d", q, a, b)
		}
	}
	for _, q := range []PPM{100_000, 500_000, 990_000} {
		n := RankIntervalNeeds(q)
		if l, u := RankInterval(q, n); l == 0 || u == 0 {
			t.Errorf("%v of %d has bounds %d, %d", q, n, l, u)
		}
		if l, u := RankInterval(q, n-1); l != 0 && u != 0 {
			t.Errorf("%v of %d has bounds %d, %d, and needs fewer", q, n-1, l, u)
		}
	}
}

// uniform returns n completions at 1, 2, … n milliseconds, and others after.
func uniform(completed, censored, errored int) []Observation {
	var rows []Observation
	for i := range completed {
		rows = append(rows, Observation{Time: time.Duration(i+1) * time.Millisecond, Outcome: record.Completed})
	}
	for range censored {
		rows = append(rows, Observation{Time: time.Second, Outcome: record.Censored})
	}
	for range errored {
		rows = append(rows, Observation{Outcome: record.Errored})
	}
	return rows
}

func TestQuantileInterval(t *testing.T) {
	ms := func(n int) *Quantile {
		v := Millis(time.Duration(n) * time.Millisecond)
		return &Quantile{Q: 0.95, Status: Reached, Millis: &v}
	}
	tests := []struct {
		name string
		rows []Observation
		want QuantileInterval
	}{
		{"ranks 936 and 964", uniform(1000, 0, 0), QuantileInterval{Lower: ms(936), Upper: ms(964)}},
		{"the upper bound is outstanding", uniform(940, 60, 0), QuantileInterval{Lower: ms(936), Upper: &Quantile{
			Q: 0.95, Status: Beyond, Reason: "more than 1s: 94 % completed, and at most 100 % could have"}}},
		{"the upper bound has failed", uniform(940, 10, 50), QuantileInterval{Lower: ms(936), Upper: &Quantile{
			Q: 0.95, Status: Unattainable, Reason: "94 % completed, and at most 95 % could have"}}},
		{"too few", uniform(60, 0, 0), QuantileInterval{Reason: "p95-CI omitted (sample budget insufficient: 72 needed, 60 scheduled)"}},
		{"none", nil, QuantileInterval{Reason: "p95-CI omitted (sample budget insufficient: 72 needed, 0 scheduled)"}},
		{"censored early", append(uniform(999, 0, 0), Observation{Time: 5, Outcome: record.Censored}),
			QuantileInterval{Reason: "p95-CI omitted (1 requests censored before the horizon)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := NewCurve(test.rows, time.Second).QuantileInterval(950_000)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
