package policy

import (
	"brunt/check"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMovingQuantile(t *testing.T) {
	tests := []struct {
		ppm  int64
		n    int // samples 1, 2, … n, largest first
		want time.Duration
	}{
		// 20 samples in any case, though the median is known from 2
		{500_000, 19, -1},
		{500_000, 20, 10},
		// rank ⌈0.95·20⌉ = 19: one lies above
		{950_000, 19, -1},
		{950_000, 20, 19},
		{950_000, 21, 20}, // ⌈19.95⌉
		// 99% needs 100 samples, 99.9% a thousand
		{990_000, 99, -1},
		{990_000, 100, 99},
		{999_000, 999, -1},
		{999_000, 1000, 999},
		// a share that does not divide: ⌈1/(1-0.97)⌉ = 34, rank ⌈32.98⌉
		{970_000, 33, -1},
		{970_000, 34, 33},
		// the least rank is 1
		{1, 20, 1},
	}
	for _, test := range tests {
		q := movingQuantile{ppm: test.ppm, over: 1000}
		for i := test.n; i > 0; i-- {
			q.add(time.Duration(i))
		}
		got, ok := q.value()
		if !ok {
			got = -1
		}
		if got != test.want {
			t.Errorf("%v of 1 … %d: %d, want %d", check.Share(test.ppm), test.n, got, test.want)
		}
	}
}

// It is the quantile of the last samples, sorted: nothing older counts, and
// ties do not matter.
func TestMovingQuantileForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := movingQuantile{ppm: rapid.Int64Range(1, 960_000).Draw(t, "ppm"), over: rapid.IntRange(25, 60).Draw(t, "over")}
		samples := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 30), func(i int) time.Duration { return time.Duration(i) }), 0, 200).Draw(t, "samples")
		for i, d := range samples {
			q.add(d)
			last := slices.Clone(samples[max(i+1-q.over, 0) : i+1])
			slices.Sort(last)
			if !slices.Equal(last, q.sorted) {
				t.Fatalf("after %d samples it holds %v, want %v", i+1, q.sorted, last)
			}
			got, ok := q.value()
			if enough := len(last) >= q.needs(); ok != enough {
				t.Fatalf("%d samples of %d: known %v", len(last), q.needs(), ok)
			}
			// the quantile is the least sample that a share of at least q does not exceed
			below := int64(upper(last, got))
			strictly := int64(upper(last, got-1))
			if n := int64(len(last)); ok && (below*million < q.ppm*n || strictly*million >= q.ppm*n) {
				t.Fatalf("%d ppm of %v: %d", q.ppm, last, got)
			}
		}
	})
}

// upper returns how many of the sorted are at most d.
func upper(sorted []time.Duration, d time.Duration) int {
	i, _ := slices.BinarySearch(sorted, d+1)
	return i
}
