package measure

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"brunt/record"
)

// lookout counts what [Stability] is made of: goodput over time, and the work
// that attempts demand once things should be well again.
type lookout struct {
	horizon  time.Duration
	trigger  Trigger
	detector Detector
	wrong    string // why nothing can be told, whatever the rows

	series Goodput       // from the start of the run
	bucket *Ratio        // of the last instant looked up,
	start  time.Duration // and its start
	beyond Ratio         // what lies in no whole bucket
	quiet  Span          // the baseline
	before Ratio

	judged, end time.Duration // attempts that start from here on, up to the end
	attempts    int64
	again       int64    // retries and hedges
	busy        work     // of all targets
	wasted      int64    // busy nanoseconds
	demands     []demand // by dependency
}

// work is worker time that attempts took or would have taken.
type work struct {
	busy   int64 // nanoseconds
	worked int64
	absent int64 // attempts that no worker ever took up
}

// demand is the work that attempts at one target asked for.
type demand struct {
	all, first work
	kept       work // of attempts that were worked on and not cancelled: what one takes
}

// planLookout plans what to count: nothing without a trigger.
func (r *Recorder) planLookout() {
	r.promise = SLO{EndToEnd: r.plan.Horizon} // without a promise, whatever completes by the horizon is good
	if r.plan.SLO != nil {
		r.promise = *r.plan.SLO
	}
	if r.limit = r.promise.EndToEnd; r.limit <= 0 {
		r.limit = math.MaxInt64
	}
	t := r.plan.Trigger
	if t == nil {
		return
	}
	w := &lookout{horizon: r.plan.Horizon, trigger: *t, detector: r.plan.Detector, end: r.end()}
	w.detector.Timeout = 0 // it bounds a study's fault; here the end of observation does
	w.series = Goodput{From: r.origin, Width: cmp.Or(r.plan.Bucket, DefaultBucket)}
	w.quiet = Span{Name: "quiet", From: r.origin, To: max(t.From-r.plan.Horizon, r.origin)}
	w.judged = w.end
	w.demands = make([]demand, len(r.plan.Dependencies))
	r.watching = w
	if err := w.detector.check(w.series.Width); err != nil {
		w.wrong = err.Error()
		return
	}
	n := (w.end - r.origin) / w.series.Width
	if n > longestSeries {
		w.wrong = fmt.Sprintf("the run has %d buckets of %v, more than the %d that are looked at", n, w.series.Width, longestSeries)
		return
	}
	w.series.Buckets = make([]Ratio, n)
	if first := w.series.after(t.To + w.detector.Hold); first+w.windowBuckets() <= int(n) {
		w.judged = w.series.at(first)
		return
	}
	w.wrong = fmt.Sprintf("the run ends %v after the trigger: expected at least a hold of %v and a window of %v of whole buckets",
		w.end-t.To, w.detector.Hold, w.detector.Window)
}

func (w *lookout) windowBuckets() int { return int(w.detector.Window / w.series.Width) }

// request counts a request in its bucket. Rows come nearly in order, so the
// bucket is mostly the last one again.
func (w *lookout) request(intended time.Duration, good bool) {
	if w.bucket == nil || uint64(intended-w.start) >= uint64(w.series.Width) {
		i := int(max(intended-w.series.From, 0) / w.series.Width)
		w.bucket, w.start = &w.beyond, w.series.at(i)
		if i < len(w.series.Buckets) {
			w.bucket = &w.series.Buckets[i]
		}
	}
	w.bucket.add(good)
	if intended < w.quiet.To {
		w.before.add(good)
	}
}

// attempt counts an attempt that starts when things should be well again.
func (w *lookout) attempt(a *record.Attempt, workers bool) {
	again := a.Again || a.Why == record.Retry || a.Why == record.Hedge
	w.attempts++
	if again {
		w.again++
	}
	if !workers {
		return
	}
	w.busy.busy += int64(a.Busy)
	if a.Wasted {
		w.wasted += int64(a.Busy)
	}
	var one work
	switch {
	case workedOn(a):
		one = work{busy: int64(a.Busy), worked: 1}
	case turnedAway(a) && a.Cause != record.Overload: // it needs no worker
	default:
		one.absent = 1
	}
	d := &w.demands[a.Dependency]
	d.all.plus(one)
	if !again {
		d.first.plus(one)
	}
	if !a.Cancelled && one.worked > 0 {
		d.kept.plus(one)
	}
}

func (w *work) plus(v work) {
	w.busy += v.busy
	w.worked += v.worked
	w.absent += v.absent
}

// seconds returns the work in worker seconds, where an attempt that was never
// taken up is worth a mean one.
func (w work) seconds(mean float64) float64 {
	return (float64(w.busy) + float64(float64(w.absent)*mean)) / 1e9
}

// stability judges whether goodput came back. It is nil where there was nothing
// to come back from.
func (r *Recorder) stability() (*Stability, error) {
	w := r.watching
	if w == nil {
		if r.plan.NoTrigger == "" {
			return nil, nil
		}
		s := &Stability{Baseline: Baseline{Reason: r.plan.NoTrigger}}
		s.refuse(r.plan.NoTrigger)
		return s, nil
	}
	s := &Stability{
		Trigger:  &TriggerSpan{Phases: w.trigger.Phases, From: Millis(w.trigger.From), To: Millis(w.trigger.To)},
		Baseline: baselineOf(w.quiet.From, w.quiet.To, w.before),
	}
	s.Baseline.Reason = w.baselineReason()
	switch {
	case r.aborted:
		s.refuse("the run was aborted")
		return s, nil
	case w.wrong != "":
		s.refuse(w.wrong)
		return s, nil
	}
	at := Millis(w.judged)
	s.JudgedAt = &at
	r.sustain(s)
	if s.Baseline.Reason != "" {
		s.notEstimable("the baseline: " + s.Baseline.Reason)
		return s, nil
	}
	if err := w.judge(s); err != nil {
		return nil, err
	}
	switch s.Status {
	case Metastable, Late, Unsettled, Relapsed:
		s.nameLoop()
	default:
		s.SustainedReason = "goodput was not below exit after the trigger"
	}
	return s, nil
}

// refuse gives the reason for everything that is absent.
func (s *Stability) refuse(reason string) {
	s.notEstimable(reason)
	s.RetryShareReason, s.WastedShareReason, s.DemandReason = reason, reason, reason
}

// notEstimable gives the reason for what hangs on the baseline.
func (s *Stability) notEstimable(reason string) {
	s.Status, s.Reason, s.RecoveredReason, s.SustainedReason = NotEstimable, reason, reason, reason
}

// baselineReason says why the quiet time before the trigger is no level to come
// back to; "" when it is.
func (w *lookout) baselineReason() string {
	switch {
	case w.quiet.To <= w.quiet.From:
		return fmt.Sprintf("%v of quiet before the trigger leave nothing beside the guard of one horizon, %v", w.trigger.From-w.quiet.From, w.horizon)
	case w.before.Scheduled == 0:
		return "no request was scheduled in the quiet time before the trigger"
	case w.before.Good == 0:
		return "no goodput in the quiet time before the trigger"
	case 2*w.before.Good < w.before.Scheduled:
		return fmt.Sprintf("goodput was %.4g %% in the quiet time before the trigger: less than half is no level to come back to", 100**w.before.Share())
	}
	// What was lost before the trigger, the trigger has not taken.
	length := w.windowBuckets()
	if end := int((w.quiet.To - w.series.From) / w.series.Width); w.wrong == "" && end >= length {
		if last := w.series.sum(end-length, end); last.Scheduled > 0 && !last.atLeast(w.detector.Exit, w.before) {
			return fmt.Sprintf("goodput was down before the trigger: %.4g %% in the last %v of the quiet time, against %.4g %% in all of it", 100**last.Share(), w.detector.Window, 100**w.before.Share())
		}
	}
	return ""
}

// judge looks at the windows after the trigger: docs of [StabilityStatus].
func (w *lookout) judge(s *Stability) error {
	found, err := w.detector.Detect(&w.series, w.before, w.trigger.To)
	if err != nil {
		return err
	}
	s.Recovered, s.Candidate = found.Time, found.Candidate
	// A detector speaks of its anchor as the fire.
	reason := strings.ReplaceAll(found.Reason, "the fire", "the trigger")
	if found.Status != Recovered {
		s.RecoveredReason = reason
	}

	first, length := w.series.after(w.judged), w.windowBuckets()
	sum := w.series.sum(first, first+length)
	s.Share = sum.Share()
	if s.Share == nil {
		s.notEstimable(fmt.Sprintf("no request was scheduled in the %v from %v on", w.detector.Window, w.judged))
		return nil
	}
	down := !sum.atLeast(w.detector.Exit, w.before)
	entered := false
	least, most := sum, sum
	for next := first + length; ; next++ {
		if sum.Scheduled > 0 {
			entered = entered || sum.atLeast(w.detector.Entry, w.before)
			if !sum.atLeast(Million, least) {
				least = sum
			}
			if sum.atLeast(Million, most) {
				most = sum
			}
		}
		if next == len(w.series.Buckets) {
			break
		}
		sum = sum.plus(w.series.Buckets[next]).minus(w.series.Buckets[next-length])
	}
	s.Least, s.Most = least.Share(), most.Share()
	s.Degraded = found.Degraded
	s.EndsDown = !sum.atLeast(w.detector.Exit, w.before)
	back := found.Status == Recovered
	switch {
	case back && len(found.Redegradations) > 0:
		again := found.Redegradations[0]
		s.Status = Relapsed
		s.Reason = fmt.Sprintf("goodput came back %v after the trigger, and was below %s of the baseline again %v after it", time.Duration(*found.Time), percent(w.detector.Exit), time.Duration(again.From))
	case down && back:
		s.Status = Late
		s.Reason = w.downReason() + ", and came back later"
	case down && entered:
		s.Status = Unsettled
		s.Reason = w.downReason() + fmt.Sprintf(", was up to %s later, and did not stay there for %v", percent(w.detector.Entry), w.detector.Hold)
		if s.Candidate != nil {
			s.Reason = w.downReason() + fmt.Sprintf(", was up to %s later, and the run ended before it had stayed there for %v", percent(w.detector.Entry), w.detector.Hold)
		}
	case down:
		s.Status = Metastable
		s.Reason = w.downReason() + ", and never came back to " + percent(w.detector.Entry)
	case back:
		s.Status = Stable
	case found.Status == HoldIncomplete:
		s.Status, s.Reason = Candidate, reason
	default:
		s.Status = Impaired
		s.Reason = fmt.Sprintf("goodput was not below %s of the baseline %v after the trigger, and no entry at %s held for %v",
			percent(w.detector.Exit), w.judged-w.trigger.To, percent(w.detector.Entry), w.detector.Hold)
	}
	return nil
}

func (w *lookout) downReason() string {
	return fmt.Sprintf("goodput was below %s of the baseline %v after the trigger", percent(w.detector.Exit), w.judged-w.trigger.To)
}

// sustain tells what the attempts after the trigger asked of the workers.
func (r *Recorder) sustain(s *Stability) {
	w := r.watching
	s.Attempts = w.attempts
	s.RetryShare, s.RetryShareReason = per(w.again, w.attempts, "no attempt started from then on")
	s.WastedShare, s.WastedShareReason = per(w.wasted, w.busy.busy, "no worker was busy with an attempt that started from then on")
	s.DemandReason = "no target has workers"
	for i, station := range r.stations {
		if station == nil {
			continue
		}
		d, name := &w.demands[i], r.plan.Dependencies[i]
		capacity := r.capacityWithin(station, w.judged, w.end)
		mean, ok := d.mean()
		if !ok || capacity <= 0 {
			if s.Demand == nil {
				s.DemandReason = fmt.Sprintf("no worker of %s took up any attempt from then on: nobody knows how much work one is", name)
			}
			continue
		}
		all, first := d.all.seconds(mean)/capacity, d.first.seconds(mean)/capacity
		if s.Demand == nil || all > *s.Demand {
			s.Loaded, s.Demand, s.FirstDemand, s.DemandReason = name, &all, &first, ""
		}
	}
}

// mean returns the work of one attempt in nanoseconds, where it is known. Those
// that were cancelled may have been cut short, and stand in only where there are
// no others. Of no attempts at all it does not matter.
func (d *demand) mean() (nanoseconds float64, known bool) {
	of := d.kept
	if of.worked == 0 {
		of = d.all
	}
	if of.worked == 0 {
		return 0, d.all.absent == 0
	}
	return float64(of.busy) / float64(of.worked), true
}

// capacityWithin returns the worker seconds that a station has in a stretch.
func (r *Recorder) capacityWithin(s *station, from, to time.Duration) float64 {
	total := 0.0
	r.eachPhase(0, from, to, func(phase int, d time.Duration) {
		total += float64(float64(s.slots(phase)) * d.Seconds())
	})
	return total
}

// nameLoop names what keeps goodput down, from the demand on the most loaded
// target.
func (s *Stability) nameLoop() {
	switch {
	case s.Demand == nil:
		s.SustainedReason = s.DemandReason
	case *s.FirstDemand > 1:
		s.SustainedBy = ByLoad
	case *s.Demand > 1:
		s.SustainedBy = ByRetries
	case s.WastedShare != nil && *s.WastedShare >= 0.5:
		s.SustainedBy = ByStaleWork
	default:
		s.SustainedReason = fmt.Sprintf("the workers of %s could keep up, and less than half of their time was wasted: no loop is known to brunt", s.Loaded)
	}
}
