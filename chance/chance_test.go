package chance

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A few values of the generator. A change of them changes every number that
// brunt has ever reported for a seed.
func TestDrawsArePinned(t *testing.T) {
	tests := []struct {
		seed    int64
		purpose Purpose
		request int64
		a, b    uint64
		want    Draw
	}{
		{1, Arrivals, 0, 0, 0, 0x80b9658eaa070cbb},
		{1, Latency, 42, Name("service"), 1, 0x14630ed01b4e9167},
		{-7, Jitter, 1 << 40, 3, 2, 0x416299b824513aff},
	}
	for _, test := range tests {
		if got := New(test.seed).Draw(test.purpose, test.request, test.a, test.b); got != test.want {
			t.Errorf("%+v: %#x", test, uint64(got))
		}
	}
	if got := Draw(1).Next(); got != 0x74f6cddee382fbe3 {
		t.Errorf("the draw after 1: %#x", uint64(got))
	}
	// FNV-1a of "a", from its definition
	if got := Name("a"); got != 0xaf63dc4c8601ec8c {
		t.Errorf("Name: %#x", got)
	}
}

// Every argument tells draws apart.
func TestDrawsDependOnEverything(t *testing.T) {
	seen := map[Draw]string{}
	for seed := range int64(4) {
		for _, p := range []Purpose{Arrivals, Dispatch, Latency, Fail, Jitter, Token} {
			for request := range int64(20) {
				for a := range uint64(5) {
					for b := range uint64(5) {
						what := fmt.Sprint(seed, p, request, a, b)
						d := New(seed).Draw(p, request, a, b)
						if other, is := seen[d]; is {
							t.Fatalf("the draws %s and %s are the same", what, other)
						}
						seen[d] = what
					}
				}
			}
		}
	}
}

// Pearson's chi-square over 64 cells, for the high bits that Float and Below
// use and for the low ones. With 63 degrees of freedom a value above 120 has a
// chance below 2e-5 (Wilson and Hilferty: z = ((120/63)^(1/3)-(1-2/567))/sqrt(2/567) = 4.1);
// over 200 fixed tests none may come near.
func TestUniform(t *testing.T) {
	const cells, n = 64, 6400
	for seed := range int64(100) {
		var high, low [cells]int
		for i := range int64(n) {
			d := New(seed).Draw(Latency, i, 5, 0)
			high[d.Below(cells)]++
			low[d%cells]++
		}
		for part, counts := range map[string][cells]int{"high": high, "low": low} {
			var chi float64
			for _, c := range counts {
				diff := float64(c - n/cells)
				chi += diff * diff / (n / cells)
			}
			if chi > 120 {
				t.Errorf("seed %d: chi-square of the %s bits %.1f", seed, part, chi)
			}
		}
	}
}

// Draws that differ in one argument are uncorrelated: over 20,000 pairs the
// coefficient has a standard error of 0.0071, and must stay below five of them.
func TestIndependent(t *testing.T) {
	const n = 20000
	s := New(3)
	base := func(i int64) float64 { return s.Draw(Latency, i, 1, 0).Float() }
	others := map[string]func(i int64) float64{
		"next request":      func(i int64) float64 { return s.Draw(Latency, i+1, 1, 0).Float() },
		"other purpose":     func(i int64) float64 { return s.Draw(Fail, i, 1, 0).Float() },
		"other target":      func(i int64) float64 { return s.Draw(Latency, i, 2, 0).Float() },
		"next attempt":      func(i int64) float64 { return s.Draw(Latency, i, 1, 1).Float() },
		"other seed":        func(i int64) float64 { return New(4).Draw(Latency, i, 1, 0).Float() },
		"swapped":           func(i int64) float64 { return s.Draw(Latency, i, 0, 1).Float() },
		"draw that follows": func(i int64) float64 { return s.Draw(Latency, i, 1, 0).Next().Float() },
	}
	for name, other := range others {
		var xy, xx, yy float64
		for i := range int64(n) {
			x, y := base(i)-0.5, other(i)-0.5
			xy, xx, yy = xy+x*y, xx+x*x, yy+y*y
		}
		if r := xy / math.Sqrt(xx*yy); math.Abs(r) > 5/math.Sqrt(n) {
			t.Errorf("%s: correlation %.4f", name, r)
		}
	}
}

// Means and variances within five standard errors of n draws.
func TestMoments(t *testing.T) {
	const n = 200000
	tests := []struct {
		name           string
		of             func(Draw) float64
		mean, variance float64
		fourth         float64 // central moment, for the error of the variance
	}{
		{"uniform", Draw.Float, 0.5, 1. / 12, 1. / 80},
		{"exponential", Draw.Exp, 1, 1, 9},
		{"normal", Draw.Normal, 0, 1, 3},
	}
	for _, test := range tests {
		var sum, squares float64
		for i := range int64(n) {
			x := test.of(New(11).Draw(Token, i, 0, 0)) - test.mean
			sum, squares = sum+x, squares+x*x
		}
		if got, most := sum/n, 5*math.Sqrt(test.variance/n); math.Abs(got) > most {
			t.Errorf("%s: mean off by %.5f, more than %.5f", test.name, got, most)
		}
		if got, most := squares/n-test.variance, 5*math.Sqrt((test.fourth-test.variance*test.variance)/n); math.Abs(got) > most {
			t.Errorf("%s: variance off by %.5f, more than %.5f", test.name, got, most)
		}
	}
}

// The share of normal draws beyond z, against its distribution function.
func TestNormalTails(t *testing.T) {
	const n = 400000
	for _, z := range []float64{-3, -2, -1, 0, 1.2815515655446004, 2.3263478740408408, 3.5} {
		var below int
		for i := range int64(n) {
			if New(12).Draw(Token, i, 0, 0).Normal() < z {
				below++
			}
		}
		p := math.Erfc(-z/math.Sqrt2) / 2
		if got, most := float64(below)/n-p, 5*math.Sqrt(p*(1-p)/n); math.Abs(got) > most {
			t.Errorf("below %v: share off by %.6f, more than %.6f", z, got, most)
		}
	}
}

// The ends of the range: the last draw once came out as an infinite normal.
func TestExtremeDraws(t *testing.T) {
	const last = Draw(math.MaxUint64)
	if got := Draw(0).Float(); got != 0 {
		t.Errorf("Float of 0: %v", got)
	}
	if got := last.Float(); got >= 1 {
		t.Errorf("Float of the last draw: %v", got)
	}
	for _, d := range []Draw{0, last} {
		if got := d.Exp(); got < 0 || math.IsInf(got, 0) {
			t.Errorf("Exp of %#x: %v", uint64(d), got)
		}
		if got := math.Abs(d.Normal()); got < 8 || got > 8.3 {
			t.Errorf("Normal of %#x: %v, want about 8.2 from 0", uint64(d), got)
		}
	}
	if low, high := Draw(0).Normal(), last.Normal(); low != -high {
		t.Errorf("the ends are not symmetric: %v and %v", low, high)
	}
}

func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Draw(rapid.Uint64().Draw(t, "draw"))
		n := rapid.Int64Range(1, math.MaxInt64).Draw(t, "n")
		if got := d.Below(n); got < 0 || got >= n {
			t.Fatalf("Below(%d): %d", n, got)
		}
		if f := d.Float(); f < 0 || f >= 1 || f*0x1p53 != math.Trunc(f*0x1p53) {
			t.Fatalf("Float: %v", f)
		}
		if f := d.Normal(); math.Abs(f) > 8.3 {
			t.Fatalf("Normal: %v", f)
		}
		if d.Below(1) != 0 {
			t.Fatal("Below(1) is not 0")
		}
	})
	// each value of a small range comes up, the ends too
	var counts [3]int
	for i := range int64(300) {
		counts[New(1).Draw(Fail, i, 0, 0).Below(3)]++
	}
	for v, c := range counts {
		if c < 60 || c > 140 {
			t.Errorf("Below(3) gave %d %d times in 300", v, c)
		}
	}
}
