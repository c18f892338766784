package policy

import (
	"slices"
	"time"
)

// leastSamples is how many samples a moving quantile needs in any case.
const leastSamples = 20

// movingQuantile is a quantile of the last samples by nearest rank: of n
// samples the one with rank ⌈q·n⌉ from below, in whole numbers. It keeps them
// in the order of their coming and, beside it, sorted; a sample takes a shift
// of the sorted ones, which for some thousands is as quick as any tree.
type movingQuantile struct {
	ppm    int64
	over   int // how many samples it keeps
	ring   []time.Duration
	next   int // the oldest sample, once the ring is full
	sorted []time.Duration
}

// needs is how many samples the quantile needs: at least [leastSamples], and
// so many that one of them lies above it. The whole is no quantile.
func (q *movingQuantile) needs() int {
	return max(leastSamples, int((million+million-q.ppm-1)/(million-q.ppm)))
}

// add takes a sample, in the place of the oldest when there are enough.
func (q *movingQuantile) add(d time.Duration) {
	if len(q.ring) < q.over {
		i, _ := slices.BinarySearch(q.sorted, d)
		q.ring = append(q.ring, d)
		q.sorted = slices.Insert(q.sorted, i, d)
		return
	}
	old := q.ring[q.next]
	q.ring[q.next] = d
	q.next = (q.next + 1) % q.over
	from, _ := slices.BinarySearch(q.sorted, old)
	to, _ := slices.BinarySearch(q.sorted, d)
	if to > from { // the old one leaves from below: what lies between moves down
		to--
		copy(q.sorted[from:to], q.sorted[from+1:to+1])
	} else {
		copy(q.sorted[to+1:from+1], q.sorted[to:from])
	}
	q.sorted[to] = d
}

// value returns the quantile; ok is false while samples are lacking.
func (q *movingQuantile) value() (d time.Duration, ok bool) {
	n := len(q.sorted)
	if n < q.needs() {
		return 0, false
	}
	return q.sorted[max((q.ppm*int64(n)+million-1)/million, 1)-1], true
}
