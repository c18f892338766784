package measure

import (
	"time"

	"brunt/record"
)

// mostSteps bounds the timeline, so that a report of it stays small.
const mostSteps = 2000

// step counts what falls into one step of the timeline.
type step struct {
	first    int64 // lowest request index
	offered  int64
	attempts int64
	retries  int64
	wasted   int64 // attempts by their start
	good     int64
	change   int64 // of the requests in flight at the start, from the step before
}

// stepLength returns the least of 1, 2 or 5 times a power of ten milliseconds
// that covers a span in at most mostSteps steps.
func stepLength(span time.Duration) time.Duration {
	for unit := time.Millisecond; ; unit *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if (span-1)/mostSteps < n*unit {
				return n * unit
			}
		}
	}
}

func (r *Recorder) planSteps() {
	span := max(r.end()-r.origin, 1)
	r.stepLength = stepLength(span)
	r.steps = make([]step, (span-1)/r.stepLength+1)
	for i := range r.steps {
		r.steps[i].first = mostIndex
	}
	r.stepStart = r.origin
}

// stepAt returns the step that an instant lies in, the last one for all that
// come later. Rows come roughly in order, so the last answer is mostly right
// again: it saves a division.
func (r *Recorder) stepAt(t time.Duration) int {
	if uint64(t-r.stepStart) < uint64(r.stepLength) {
		return r.step
	}
	return r.seekStep(t)
}

func (r *Recorder) seekStep(t time.Duration) int {
	step := min(uint64(max(t-r.origin, 0))/uint64(r.stepLength), uint64(len(r.steps)-1))
	r.step, r.stepStart = int(step), r.origin+time.Duration(step)*r.stepLength
	return r.step
}

// stepRequest counts a request in the step of its intended instant, and where
// it is in flight: at each start of a step after its submission and before its
// end.
func (r *Recorder) stepRequest(q *record.Request, good bool) {
	i := r.stepAt(q.Intended)
	s := &r.steps[i]
	s.offered++
	if good {
		s.good++
	}
	s.first = min(s.first, q.Index)
	if q.Submitted == record.Never {
		return
	}
	if q.Submitted != q.Intended {
		i = r.stepAt(q.Submitted)
	}
	// The next start is after the submission, even if only by a nanosecond. If
	// the request has ended by then, it was in flight at none.
	if start := r.origin + time.Duration(i+1)*r.stepLength; q.End > start && i+1 < len(r.steps) {
		r.steps[i+1].change++
		if end := r.stepAt(q.End-1) + 1; end < len(r.steps) {
			r.steps[end].change--
		}
	}
}

// stepAttempt counts an attempt in the step of its start.
func (r *Recorder) stepAttempt(a *record.Attempt) {
	s := &r.steps[r.stepAt(a.Start)]
	s.attempts++
	if a.Why == record.Retry {
		s.retries++
	}
	if a.Wasted {
		s.wasted++
	}
}

// stepStretch counts what is there for a stretch of time, as requests in flight
// are: at each start of a step inside of it.
func (r *Recorder) stepStretch(change []int64, from, to time.Duration) {
	first := r.stepAt(from) + 1
	if first >= len(change) || to <= r.origin+time.Duration(first)*r.stepLength {
		return
	}
	change[first]++
	if last := r.stepAt(to-1) + 1; last < len(change) {
		change[last]--
	}
}

// timeline makes the series. scratch must have room for every request.
func (r *Recorder) timeline(scratch []int64) Timeline {
	n := len(r.steps)
	t := Timeline{
		Step:      Millis(r.stepLength),
		Offered:   make([]int64, n),
		Completed: make([]int64, n),
		Errored:   make(map[string][]int64),
		Censored:  make([]int64, n),
		Attempts:  make([]int64, n),
		InFlight:  make([]int64, n),
		P50:       make([]*Millis, n),
		P95:       make([]*Millis, n),
	}
	if r.plan.SLO != nil {
		t.Good = make([]int64, n)
	}
	r.stationSeries(&t)
	rest, flying := r.packed, int64(0)
	for i, s := range r.steps {
		flying += s.change
		t.Offered[i], t.Attempts[i], t.InFlight[i] = s.offered, s.attempts, flying
		if t.Good != nil {
			t.Good[i] = s.good
		}
		t.Retries = fill(t.Retries, i, n, s.retries)
		t.Wasted = fill(t.Wasted, i, n, s.wasted)

		var count [codes]int64
		kept := scratch[:0]
		for _, v := range rest[:s.offered] {
			count[v&codeMask]++
			if v&codeMask == completed {
				kept = append(kept, int64(v>>codeBits))
			}
		}
		rest = rest[s.offered:]
		t.Completed[i], t.Censored[i] = count[completed], count[censored]
		for _, c := range record.Causes() {
			if k := count[errored+c]; k > 0 {
				if t.Errored[c.String()] == nil {
					t.Errored[c.String()] = make([]int64, n)
				}
				t.Errored[c.String()][i] = k
			}
		}
		if v := ranked(kept, 0, percentiles[:2]); v != nil {
			t.P50[i], t.P95[i] = v[0], v[1]
		}
	}
	return t
}

// fill sets one step of a series, which is made when there is something to set.
func fill(series []int64, i, n int, v int64) []int64 {
	if v == 0 {
		return series
	}
	if series == nil {
		series = make([]int64, n)
	}
	series[i] = v
	return series
}
