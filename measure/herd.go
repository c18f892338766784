package measure

import (
	"fmt"
	"maps"
	"slices"

	"brunt/record"
)

// mostBuckets bounds how many herd buckets a result lists.
const mostBuckets = 2000

// bucket counts the attempts that start in one stretch of time.
type bucket struct{ attempts, retries uint32 }

// page is a run of neighbouring buckets. Pages are made where attempts start,
// so that a study of a year with a request an hour takes no more room than its
// attempts do.
type page [32]bucket

// herd counts attempts by the bucket of their start.
type herd struct {
	pages map[int64]*page
	at    int64 // position of last
	last  *page // looked up last: attempts come nearly in order
}

func (h *herd) bucket(i int64) *bucket {
	const size = int64(len(page{}))
	if at := i / size; h.last == nil || at != h.at {
		p := h.pages[at]
		if p == nil {
			if h.pages == nil {
				h.pages = map[int64]*page{}
			}
			p = new(page)
			h.pages[at] = p
		}
		h.at, h.last = at, p
	}
	return &h.last[i%size]
}

// each calls f with every bucket that is not empty, in order.
func (h *herd) each(f func(i int64, b bucket)) {
	for _, at := range slices.Sorted(maps.Keys(h.pages)) {
		for i, b := range h.pages[at] {
			if b.attempts > 0 {
				f(at*int64(len(page{}))+int64(i), b)
			}
		}
	}
}

func (r *Recorder) herdAttempt(a *record.Attempt) {
	if r.plan.HerdBucket <= 0 {
		return
	}
	b := r.herd.bucket(int64(max(a.Start-r.origin, 0) / r.plan.HerdBucket))
	b.attempts++
	if a.Why == record.Retry {
		b.retries++
	}
}

// herdOf sums the buckets up.
func (r *Recorder) herdOf() Herd {
	h := Herd{Bucket: Millis(r.plan.HerdBucket)}
	if h.Bucket <= 0 {
		h.Reason = "no length of a bucket is set"
		return h
	}
	filled := 0
	r.herd.each(func(_ int64, b bucket) {
		h.Peak = max(h.Peak, int64(b.attempts))
		h.RetryPeak = max(h.RetryPeak, int64(b.retries))
		filled++
	})
	if filled > mostBuckets {
		h.Reason = fmt.Sprintf("%d buckets are not empty, more than the %d that are listed", filled, mostBuckets)
		return h
	}
	h.Buckets = make([]HerdBucket, 0, filled)
	r.herd.each(func(i int64, b bucket) {
		from := Millis(r.origin) + Millis(i)*h.Bucket
		h.Buckets = append(h.Buckets, HerdBucket{From: from, Attempts: int64(b.attempts), Retries: int64(b.retries)})
	})
	return h
}
