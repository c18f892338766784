package measure

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRank(t *testing.T) {
	tests := []struct {
		name string
		q    PPM
		n    int64
		want int64
	}{
		// math.Ceil(q*n) is one too many in each of these five.
		{"float trap .07", 70_000, 100, 7},
		{"float trap .14", 140_000, 100, 14},
		{"float trap .28", 280_000, 100, 28},
		{"float trap .55", 550_000, 100, 55},
		{"float trap .56", 560_000, 100, 56},
		{"just above a whole rank", 70_001, 100, 8},
		{"one sample", 500_000, 1, 1},
		{"two samples, lower middle", 500_000, 2, 1},
		{"three samples, middle", 500_000, 3, 2},
		{"p0 is the first", 0, 10, 1},
		{"p100 is the last", Million, 10, 10},
		{"p99.9 of few is the last", 999_000, 10, 10},
		{"ten million", 990_000, 10_000_000, 9_900_000},
		{"p50 of an even number", 500_000, 1000, 500},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Rank(test.q, test.n); got != test.want {
				t.Errorf("Rank(%d, %d) = %d, want %d", test.q, test.n, got, test.want)
			}
		})
	}
}

// Rank is the ceiling of the exact product, and the least rank that carries.
func TestRankIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := PPM(rapid.Int64Range(1, int64(Million)).Draw(t, "q"))
		n := rapid.Int64Range(1, 1e12).Draw(t, "n")
		product := new(big.Int).Mul(big.NewInt(int64(q)), big.NewInt(n))
		want, rest := new(big.Int).DivMod(product, big.NewInt(int64(Million)), new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		r := Rank(q, n)
		if want.Int64() != r {
			t.Fatalf("Rank(%d, %d) = %d, want %d", q, n, r, want)
		}
		if !carries(q, r, n) || carries(q, r-1, n) {
			t.Fatalf("%d is not the least of %d to carry %d", r, n, q)
		}
	})
}

func TestPPMString(t *testing.T) {
	for q, want := range map[PPM]string{500_000: "p50", 999_000: "p99.9", 999_900: "p99.99", 70_000: "p7"} {
		if q.String() != want {
			t.Errorf("%d is %s, want %s", int64(q), q, want)
		}
	}
}

// Selecting gives what sorting would, on every shape that is hard for
// quickselect, and keeps the samples.
func TestSelectRanks(t *testing.T) {
	shapes := map[string]func(i, n int) int64{
		"ascending":  func(i, n int) int64 { return int64(i) },
		"descending": func(i, n int) int64 { return int64(n - i) },
		"equal":      func(i, n int) int64 { return 7 },
		"two values": func(i, n int) int64 { return int64(i * 7919 % 2) },
		"organ pipe": func(i, n int) int64 { return int64(min(i, n-i)) },
		"scattered":  func(i, n int) int64 { return int64(i) * 0x9e3779b97f4a7c1 % 100_003 },
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, small, small + 1, 1000, 20_000} {
				xs := make([]int64, n)
				for i := range xs {
					xs[i] = shape(i, n)
				}
				want := slices.Sorted(slices.Values(xs))
				var ranks []int64
				for _, q := range []PPM{1, 500_000, 500_000, 950_000, 990_000, 999_000, Million} {
					ranks = append(ranks, Rank(q, int64(n)))
				}
				selectRanks(xs, ranks)
				for _, r := range ranks {
					if xs[r-1] != want[r-1] {
						t.Fatalf("%d samples: rank %d is %d, want %d", n, r, xs[r-1], want[r-1])
					}
				}
				slices.Sort(xs)
				if !slices.Equal(xs, want) {
					t.Fatalf("%d samples: selecting changed them", n)
				}
			}
		})
	}
}

// Seven of a hundred are 7 %, whatever 0.07*100 is in floats; so the seventh of
// a hundred completions is the quantile, and needs no eighth.
func TestCarries(t *testing.T) {
	for _, q := range []PPM{70_000, 140_000, 280_000, 550_000, 560_000} {
		k := int64(q / 10_000)
		if !carries(q, k, 100) || carries(q, k-1, 100) {
			t.Errorf("%v: %d of 100 carry it: %v, one less: %v", q, k, carries(q, k, 100), carries(q, k-1, 100))
		}
		if got := NewCurve(uniform(100, 0, 0), 0).Quantile(q); got.Status != Reached || *got.Millis != Millis(time.Duration(k)*time.Millisecond) {
			t.Errorf("%v of 1, 2, … 100 ms: %+v", q, got)
		}
	}
}
