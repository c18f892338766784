package measure

import (
	"fmt"

	"brunt/record"
)

// mostBuckets bounds how many herd buckets a result lists.
const mostBuckets = 2000

// bucket counts the attempts that start in one stretch of time.
type bucket struct{ attempts, retries uint32 }

// planHerd makes room for the buckets of the whole plan: growing them one by
// one would copy them again and again in a long run.
func (r *Recorder) planHerd() {
	const most = 1 << 24
	if w := r.plan.HerdBucket; w > 0 {
		r.herd = make([]bucket, 0, min(max(r.end()-r.origin, 0)/w+2, most))
	}
}

func (r *Recorder) herdAttempt(a *record.Attempt) {
	if r.plan.HerdBucket <= 0 {
		return
	}
	i := int(uint64(max(a.Start-r.origin, 0)) / uint64(r.plan.HerdBucket))
	if i >= len(r.herd) {
		r.herd = append(r.herd, make([]bucket, i+1-len(r.herd))...)
	}
	b := &r.herd[i]
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
	for _, b := range r.herd {
		h.Peak = max(h.Peak, int64(b.attempts))
		h.RetryPeak = max(h.RetryPeak, int64(b.retries))
		if b.attempts > 0 {
			filled++
		}
	}
	if filled > mostBuckets {
		h.Reason = fmt.Sprintf("%d buckets are not empty, more than the %d that are listed", filled, mostBuckets)
		return h
	}
	h.Buckets = make([]HerdBucket, 0, filled)
	for i, b := range r.herd {
		if b.attempts > 0 {
			from := Millis(r.origin) + Millis(i)*h.Bucket
			h.Buckets = append(h.Buckets, HerdBucket{From: from, Attempts: int64(b.attempts), Retries: int64(b.retries)})
		}
	}
	return h
}
