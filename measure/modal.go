package measure

import (
	"fmt"
	"math"
	"slices"
	"time"

	"brunt/record"
)

// ModalNeeds is how many completed requests each of two windows needs before
// their modal latency is compared: with fewer the mode is one request's luck.
const ModalNeeds = 30

// Shift says how far the modal latency of one window lies from the mean of
// another, in standard deviations of that other. Both are conditional on
// completion.
type Shift struct {
	Status   ShiftStatus `json:"status"`
	Sigmas   *float64    `json:"sigmas"`
	Mode     *Millis     `json:"mode_ms"`
	Mean     *Millis     `json:"baseline_mean_ms"`
	SD       *Millis     `json:"baseline_sd_ms"`
	Samples  int64       `json:"samples"`
	Baseline int64       `json:"baseline_samples"`
	Reason   string      `json:"reason,omitempty"` // why Sigmas is absent, in words
}

// ShiftStatus says what became of a shift.
type ShiftStatus string

// The verdicts on a shift.
const (
	ShiftMeasured     ShiftStatus = "measured"
	ShiftInfinite     ShiftStatus = "infinite"
	ShiftInsufficient ShiftStatus = "insufficient"
)

// ModalShift compares the modal latency of completed requests in a window,
// mostly during a fault, with a baseline: (mode - mean)/sd. A baseline without
// spread makes any shift infinite. The mode is the half-sample mode (Bickel and
// Frühwirth, 2006), which needs no bin width.
func ModalShift(window, baseline []Row) Shift {
	during, before := completions(window), completions(baseline)
	s := Shift{Samples: int64(len(during)), Baseline: int64(len(before))}
	if least := min(s.Samples, s.Baseline); least < ModalNeeds {
		s.Status = ShiftInsufficient
		s.Reason = fmt.Sprintf("insufficient: %d requests completed in the window and %d in the baseline, %d needed in each", s.Samples, s.Baseline, ModalNeeds)
		return s
	}
	m := mode(during)
	mean, sd := moments(before)
	ms, mms, sms := Millis(m), Millis(math.RoundToEven(mean)), Millis(math.RoundToEven(sd))
	s.Mode, s.Mean, s.SD = &ms, &mms, &sms
	sigmas := 0.0
	switch distance := float64(m) - mean; {
	case sd > 0:
		sigmas = distance / sd
	case distance != 0:
		s.Status = ShiftInfinite
		s.Reason = fmt.Sprintf("infinite: every request of the baseline took %v, it has no spread", time.Duration(mms))
		return s
	}
	s.Status, s.Sigmas = ShiftMeasured, &sigmas
	return s
}

// completions returns the latencies of completed requests, ascending: sums
// over them do not depend on the order of rows.
func completions(rows []Row) []int64 {
	var done []int64
	for _, r := range rows {
		if r.Outcome == record.Completed {
			done = append(done, int64(r.Latency))
		}
	}
	slices.Sort(done)
	return done
}

// mode returns the half-sample mode of ascending samples: the narrowest half,
// of it the narrowest half, and so on. Of equally narrow halves it takes the
// first; of two samples the mean.
func mode(xs []int64) int64 {
	for len(xs) > 3 {
		half := (len(xs) + 1) / 2
		best := 0
		for i := range len(xs) - half + 1 {
			if xs[i+half-1]-xs[i] < xs[best+half-1]-xs[best] {
				best = i
			}
		}
		xs = xs[best : best+half]
	}
	switch {
	case len(xs) == 1, len(xs) == 3 && xs[1]-xs[0] == xs[2]-xs[1]:
		return xs[len(xs)/2]
	case len(xs) == 3 && xs[2]-xs[1] < xs[1]-xs[0]:
		xs = xs[1:]
	}
	return xs[0] + (xs[1]-xs[0])/2
}

// moments returns the mean and the sample standard deviation.
func moments(xs []int64) (mean, sd float64) {
	first := xs[0] // taken off, so that equal samples have a spread of exactly 0
	for _, x := range xs {
		mean += float64(x - first)
	}
	mean /= float64(len(xs))
	for _, x := range xs {
		d := float64(x-first) - mean
		sd += d * d
	}
	return float64(first) + mean, math.Sqrt(sd / float64(len(xs)-1))
}
