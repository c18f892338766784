package measure

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
)

// PPM is a share in whole parts per million. Quantiles are held so, because a
// rank computed from a float is wrong now and then: 0.07*100 is above 7.
type PPM int64

// Million is the whole.
const Million PPM = 1_000_000

// Float returns the share as a number in [0, 1].
func (q PPM) Float() float64 { return float64(q) / float64(Million) }

// String returns the usual name of the quantile: p50, p99.9.
func (q PPM) String() string {
	return "p" + strconv.FormatFloat(float64(q)/1e4, 'f', -1, 64)
}

// check panics on a share that is none: the caller's mistake, not the data's.
func (q PPM) check() {
	if q < 0 || q > Million {
		panic(fmt.Sprintf("measure: quantile of %d parts per million", int64(q)))
	}
}

// Rank returns the nearest rank of a quantile among n samples: the least whole
// number that is at least q·n, and at least 1. n must be below 9e12.
func Rank(q PPM, n int64) int64 {
	q.check()
	return max((int64(q)*n+int64(Million)-1)/int64(Million), 1)
}

// carries reports whether k of n are a share of at least q.
func carries(q PPM, k, n int64) bool { return k*int64(Million) >= int64(q)*n }

// small is the length below which sorting beats selecting.
const small = 64

// selectRanks rearranges xs so that xs[r-1] is the r-th smallest for each of
// the ranks, which must ascend. It takes linear time for a handful of ranks,
// where sorting would take more than the whole run that made the numbers.
func selectRanks(xs []int64, ranks []int64) {
	selectWithin(xs, 1, ranks, 2*bits.Len(uint(len(xs))))
}

// selectWithin does it for a part of the samples, whose first one has the rank
// base. It is quickselect (Hoare, 1961) with three parts, since latencies are
// full of ties; after tries unlucky pivots it sorts.
func selectWithin(xs []int64, base int64, ranks []int64, tries int) {
	for ; len(ranks) > 0; tries-- {
		if len(xs) <= small || tries == 0 {
			slices.Sort(xs)
			return
		}
		below, equal := partition(xs, pivot(xs))
		i, _ := slices.BinarySearch(ranks, base+int64(below))
		j, _ := slices.BinarySearch(ranks, base+int64(equal))
		selectWithin(xs[:below], base, ranks[:i], tries-1)
		xs, base, ranks = xs[equal:], base+int64(equal), ranks[j:]
	}
}

// pivot returns the median of three medians of three.
func pivot(xs []int64) int64 {
	n, step := len(xs), len(xs)/10
	m := n / 2
	return median(
		median(xs[step], xs[2*step], xs[3*step]),
		median(xs[m-step/2], xs[m], xs[m+step/2]),
		median(xs[n-1-3*step], xs[n-1-2*step], xs[n-1-step]))
}

func median(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }

// partition rearranges xs into those below the pivot, xs[:below], those equal
// to it, xs[below:equal], and those above it.
func partition(xs []int64, pivot int64) (below, equal int) {
	above := len(xs)
	for equal < above {
		switch x := xs[equal]; {
		case x < pivot:
			xs[equal], xs[below] = xs[below], x
			below++
			equal++
		case x == pivot:
			equal++
		default:
			above--
			xs[equal], xs[above] = xs[above], x
		}
	}
	return below, equal
}
