package analyze

import (
	"math"
	"path/filepath"
	"testing"

	"brunt/measure"
)

// The binomial intervals of R.
func TestBandAgainstOracles(t *testing.T) {
	rows := table(t, filepath.Join(known, "rates.csv"))
	if len(rows) < 20 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, w := range rows {
		got := clopperPearson(number(t, w["k"]), number(t, w["n"]))
		near(t, w["k"]+" of "+w["n"]+", low", got.Low, number(t, w["cp_lo"]), 1e-10)
		near(t, w["k"]+" of "+w["n"]+", high", got.High, number(t, w["cp_hi"]), 1e-10)
	}
}

// From a handful of requests to a hundred million, at both ends and on both
// sides of where the quadrature takes over.
func TestBandEqualsMeasure(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 7, 20, 78, 79, 80, 81, 82, 100, 365, 799, 800, 1000, 12_345, 1_000_000, 30_000_000} {
		for _, share := range []float64{0, 1e-6, 1e-4, 0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.9999, 1} {
			for _, more := range []int64{-1, 0, 1, 50, 398, 399, 400, 401, 402} {
				k := int64(math.Round(share*float64(n))) + more
				if k < 0 || k > n {
					continue
				}
				want, err := measure.ClopperPearson(k, n)
				if err != nil {
					t.Fatal(err)
				}
				got := clopperPearson(float64(k), float64(n))
				if math.Abs(got.Low-want.Low) > 1e-10 || math.Abs(got.High-want.High) > 1e-10 {
					t.Errorf("%d of %d: %.15g, want %.15g", k, n, got, want)
				}
			}
		}
	}
}

// The limits along a long curve are those computed one by one, also where cells
// meet and where the exact ones begin.
func TestSteady(t *testing.T) {
	for _, n := range []float64{worthwhile, 123_456, 1_000_000, 30_000_000} {
		var b bands
		step := math.Floor(n / 1001)
		for k := 0.0; k <= n; k += step {
			for _, k := range []float64{k, k / step, n - k/step} {
				if k > n || k < 0 {
					continue
				}
				k = math.Round(k)
				got, want := b.binomial(k, n), clopperPearson(k, n)
				if !(math.Abs(got.Low-want.Low) < 1e-11 && math.Abs(got.High-want.High) < 1e-11) {
					t.Fatalf("%v of %v: %.15g, want %.15g", k, n, got, want)
				}
			}
		}
	}
}

// Where something was censored the effective sample changes from point to
// point, and each limit begins where the one before ended.
func TestFollower(t *testing.T) {
	var b bands
	for i := range 4000 {
		n := 900_000 * (1 + math.Sin(float64(i)/700)/4)
		k := n * float64(i) / 4000
		if i%1000 == 999 { // and there are leaps
			k, n = 3.5, 40.25
		}
		got, want := b.effective(k, n), clopperPearson(k, n)
		if !(math.Abs(got.Low-want.Low) < 1e-12 && math.Abs(got.High-want.High) < 1e-12) {
			t.Fatalf("%v of %v: %.15g, want %.15g", k, n, got, want)
		}
	}
}
