package measure

import (
	"fmt"
	"slices"
	"time"

	"brunt/record"
)

// Bounds on what is kept of the workers of one target: the attempts whose wait
// is kept with its instants, for the exact maximum of the queue, and the
// replicas that are listed.
const (
	mostWaits    = 1 << 20
	mostReplicas = 1 << 20
	mostListed   = 100
)

// station counts what the workers of one target did.
type station struct {
	Station
	phases []usage // by the phase in which an attempt starts

	// how many more there are at the start of a step than at that of the one before
	queueChange, busyChange []int64

	// when attempts came into the queue and left it, nil once they are too many
	entered, left []int64
	waited        int64
}

// usage is what a station did for the attempts of one phase.
type usage struct {
	attempts, worked, overloaded, cancelled, completed int64

	busy, useful, wasted, failed time.Duration

	queued int64   // attempts that have a wait, be it 0
	waits  samples // those above 0

	// of all attempts, whenever they start: what falls into the phase
	answered      int64 // completed ones that end in it
	busyWithin    time.Duration
	waitingWithin cost // in seconds: its billionths are nanoseconds

	replicas []replicaUse
}

type replicaUse struct {
	attempts int64
	busy     time.Duration
}

func (r *Recorder) planStations() {
	r.stations = make([]*station, len(r.plan.Dependencies))
	for i, s := range r.plan.Stations[:min(len(r.plan.Stations), len(r.stations))] {
		if s.Workers <= 0 {
			continue
		}
		r.stations[i] = &station{
			Station: s, phases: make([]usage, len(r.phases)),
			queueChange: make([]int64, len(r.steps)), busyChange: make([]int64, len(r.steps)),
		}
	}
}

// slots returns how many workers there are in a phase.
func (s *station) slots(phase int) int {
	if phase < len(s.Slots) {
		return s.Slots[phase]
	}
	return s.Replicas * s.Workers
}

// wrongWork says what is wrong with what a row tells of workers.
func (r *Recorder) wrongWork(a *record.Attempt) string {
	switch {
	case a.Wait < 0 || a.Busy < 0 || a.Replica < 0 && (a.Replica != record.Unnamed || r.stations[a.Dependency] != nil) || a.Replica >= mostReplicas:
		return "has an attempt with a negative wait or busy time, or a replica out of range"
	case r.stations[a.Dependency] == nil && (a.Wait > 0 || a.Busy > 0):
		return "has an attempt that a worker had, at a dependency without workers"
	case a.Wait > a.CleanupEnd-a.Start || a.Busy > a.CleanupEnd-a.Start-a.Wait:
		return "has an attempt that a worker still had when the dependency was rid of it"
	}
	return ""
}

// workedOn reports whether a worker took the attempt up. Of those that no
// worker was busy with, only those can be told that ended by what a worker does.
func workedOn(a *record.Attempt) bool {
	return a.Busy > 0 || !a.Cancelled && (a.Cause == record.None || a.Cause != record.Overload && a.Wait > 0)
}

// turnedAway reports whether the attempt neither had a worker nor waited for
// one: it was refused, or found the queue full.
func turnedAway(a *record.Attempt) bool {
	return !a.Cancelled && a.Cause != record.None && a.Busy == 0 && a.Wait == 0
}

// stationAttempt counts an attempt at a target with workers, that starts in
// the given phase.
func (r *Recorder) stationAttempt(s *station, phase int, a *record.Attempt) {
	u := &s.phases[phase]
	u.attempts++
	switch {
	case a.Cancelled:
		u.cancelled++
	case a.Cause == record.None:
		u.completed++
		if a.End < r.end() {
			s.phases[r.phaseAt(a.End)].answered++
		}
	case a.Cause == record.Overload:
		u.overloaded++
	}
	if workedOn(a) {
		u.worked++
	}
	u.busy += a.Busy
	switch {
	case a.Wasted:
		u.wasted += a.Busy
	case a.Cause == record.None:
		u.useful += a.Busy
	default:
		u.failed += a.Busy
	}
	if !turnedAway(a) {
		u.queued++
		if a.Wait > 0 {
			u.waits.add(a.Wait)
			s.noteWait(a)
		}
	}
	u.replica(a.Replica).add(a.Busy)

	taken := a.Start + a.Wait
	r.eachPhase(phase, a.Start, taken, func(i int, d time.Duration) {
		s.phases[i].waitingWithin.plus(cost{low: uint64(d)})
	})
	r.eachPhase(phase, taken, taken+a.Busy, func(i int, d time.Duration) { s.phases[i].busyWithin += d })
	r.stepStretch(s.queueChange, a.Start, taken)
	r.stepStretch(s.busyChange, taken, taken+a.Busy)
}

func (u *usage) replica(i int32) *replicaUse {
	if n := int(i) + 1; n > len(u.replicas) {
		u.replicas = append(u.replicas, make([]replicaUse, n-len(u.replicas))...)
	}
	return &u.replicas[i]
}

func (r *replicaUse) add(busy time.Duration) {
	r.attempts++
	r.busy += busy
}

// noteWait keeps when an attempt waited, as long as there are not too many.
func (s *station) noteWait(a *record.Attempt) {
	if s.waited++; s.waited > mostWaits {
		s.entered, s.left = nil, nil
		return
	}
	s.entered = append(s.entered, int64(a.Start))
	s.left = append(s.left, int64(a.Start+a.Wait))
}

// eachPhase calls f with each phase that overlaps a stretch, from the given
// one on, and for how long. What lies in no phase's span, as the drain, is left
// out.
func (r *Recorder) eachPhase(first int, from, to time.Duration, f func(phase int, d time.Duration)) {
	for i := first; i < len(r.plan.Phases) && r.plan.Phases[i].From < to; i++ {
		s := &r.plan.Phases[i]
		if d := min(to, s.To) - max(from, s.From); d > 0 {
			f(i, d)
		}
	}
}

// capacity makes the numbers of all targets with workers.
func (r *Recorder) capacity(scratch []int64) []Capacity {
	var list []Capacity
	for i, s := range r.stations {
		if s == nil {
			continue
		}
		c := Capacity{Name: r.plan.Dependencies[i], Replicas: s.Replicas, Workers: s.Workers}
		peaks, sampled := s.peaks(r)
		var whole usage
		var all Span
		var slots float64 // worker seconds
		for k := range s.phases {
			span, u := r.plan.Phases[k], &s.phases[k]
			offered := float64(s.slots(k)) * (span.To - span.From).Seconds()
			p := u.numbers(span, offered, scratch, "in this phase")
			p.Workers, p.Queue.Max, p.Queue.Sampled = s.slots(k), peaks[k], sampled
			c.Phases = append(c.Phases, p)
			whole.plus(u)
			slots += offered
		}
		all = Span{Name: "whole", From: r.origin, To: r.end()}
		c.Whole = whole.numbers(all, slots, scratch, "in the run")
		for k := range c.Phases {
			c.Whole.Workers = max(c.Whole.Workers, c.Phases[k].Workers)
		}
		c.Whole.Queue.Max, c.Whole.Queue.Sampled = slices.Max(peaks), sampled
		if s.Replicas > 1 || len(whole.replicas) > 1 {
			c.listReplicas(s, &whole)
		}
		list = append(list, c)
	}
	return list
}

// numbers makes the numbers of attempts that start in a span, in which workers
// had so many seconds.
func (u *usage) numbers(span Span, slots float64, scratch []int64, where string) CapacityPhase {
	p := CapacityPhase{
		Name:     span.Name,
		Attempts: u.attempts, Worked: u.worked, Overloaded: u.overloaded, Cancelled: u.cancelled, Completed: u.completed,
		Busy: Millis(u.busy), Useful: Millis(u.useful), Wasted: Millis(u.wasted), Failed: Millis(u.failed),
	}
	p.WastedShare, p.WastedShareReason = per(int64(u.wasted), int64(u.busy), "no worker was busy with an attempt that started "+where)
	if length := (span.To - span.From).Seconds(); length > 0 {
		over := func(v, by float64) *float64 { v /= by; return &v }
		p.Throughput = over(float64(u.answered), length)
		p.Arrivals = over(float64(u.attempts), length)
		p.Queue.Mean = over(u.waitingWithin.units(), length)
		p.Utilisation = over(u.busyWithin.Seconds(), slots)
	} else {
		p.Queue.Reason = "no time passed " + where
		p.UtilisationReason = p.Queue.Reason
	}
	kept := u.waits.appendTo(scratch[:0])
	if v := ranked(kept, u.queued-int64(len(kept)), percentiles); v != nil {
		p.Wait = Percentiles{P50: v[0], P95: v[1], P99: v[2], Max: v[3]}
	} else {
		p.Wait.Reason = "no attempt came to a worker or a queue " + where
	}
	return p
}

// plus adds what was done for the attempts of another phase.
func (u *usage) plus(v *usage) {
	u.attempts += v.attempts
	u.worked += v.worked
	u.overloaded += v.overloaded
	u.cancelled += v.cancelled
	u.completed += v.completed
	u.answered += v.answered
	u.busy += v.busy
	u.useful += v.useful
	u.wasted += v.wasted
	u.failed += v.failed
	u.queued += v.queued
	u.waits.chunks = append(append(u.waits.chunks, v.waits.chunks...), v.waits.last)
	u.busyWithin += v.busyWithin
	u.waitingWithin.plus(v.waitingWithin)
	for i := range v.replicas {
		one := u.replica(int32(i))
		one.attempts += v.replicas[i].attempts
		one.busy += v.replicas[i].busy
	}
}

// listReplicas lists what each replica got, in each phase and in the run.
func (c *Capacity) listReplicas(s *station, whole *usage) {
	n := max(s.Replicas, len(whole.replicas))
	if n > mostListed {
		return
	}
	list := func(u *usage) []ReplicaLoad {
		loads := make([]ReplicaLoad, n)
		for i := range loads {
			loads[i].Replica = i + 1
			if i < len(u.replicas) {
				loads[i].Attempts, loads[i].Busy = u.replicas[i].attempts, Millis(u.replicas[i].busy)
			}
			loads[i].Share, _ = per(loads[i].Attempts, u.attempts, "")
		}
		return loads
	}
	for k := range c.Phases {
		c.Phases[k].Replicas = list(&s.phases[k])
	}
	c.Whole.Replicas = list(whole)
}

// peaks returns the longest queue in each phase. Where more waited than were
// kept it looks at the starts of the timeline's steps only.
func (s *station) peaks(r *Recorder) (peaks []int64, sampled bool) {
	peaks = make([]int64, len(r.plan.Phases))
	if s.waited > mostWaits {
		for i, n := range levels(s.queueChange) {
			k := r.phaseAt(r.origin + time.Duration(i)*r.stepLength)
			peaks[k] = max(peaks[k], n)
		}
		return peaks, true
	}
	slices.Sort(s.entered) // in place: the order of rows means nothing
	slices.Sort(s.left)
	in, out := 0, 0
	level := func(t int64) int64 { // an attempt is in the queue from its start up to, not including, its end
		for in < len(s.entered) && s.entered[in] <= t {
			in++
		}
		for out < len(s.left) && s.left[out] <= t {
			out++
		}
		return int64(in - out)
	}
	for k, span := range r.plan.Phases {
		peaks[k] = level(int64(span.From))
		for in < len(s.entered) && s.entered[in] < int64(span.To) {
			peaks[k] = max(peaks[k], level(s.entered[in]))
		}
	}
	return peaks, false
}

// stationSeries adds the series of targets with workers to a timeline.
func (r *Recorder) stationSeries(t *Timeline) {
	for i, s := range r.stations {
		if s == nil {
			continue
		}
		if t.Queue == nil {
			t.Queue, t.Busy = make(map[string][]int64), make(map[string][]int64)
		}
		t.Queue[r.plan.Dependencies[i]], t.Busy[r.plan.Dependencies[i]] = levels(s.queueChange), levels(s.busyChange)
	}
}

// levels adds changes up.
func levels(changes []int64) []int64 {
	list, level := make([]int64, len(changes)), int64(0)
	for i, change := range changes {
		level += change
		list[i] = level
	}
	return list
}

// conservedWork checks the laws that the numbers of workers obey.
func (r *Recorder) conservedWork(c *Composition, check func(phase, law string, a, b int64)) {
	for i := range c.Capacity {
		of := &c.Capacity[i]
		law := func(text string) string { return fmt.Sprintf("%s: %s", of.Name, text) }
		attempts, busy := int64(0), Millis(0)
		for _, p := range append(of.Phases[:len(of.Phases):len(of.Phases)], of.Whole) {
			check(p.Name, law("busy time is not useful + wasted + failed"), int64(p.Busy), int64(p.Useful+p.Wasted+p.Failed))
			if p.Replicas != nil {
				n, b := int64(0), Millis(0)
				for _, one := range p.Replicas {
					n, b = n+one.Attempts, b+one.Busy
				}
				check(p.Name, law("attempts are not those of its replicas"), p.Attempts, n)
				check(p.Name, law("busy time is not that of its replicas"), int64(p.Busy), int64(b))
			}
		}
		for _, p := range of.Phases {
			check(p.Name, law("attempts are not those that started"), p.Attempts, c.AttemptsByStartPhase[p.Name][of.Name])
			attempts, busy = attempts+p.Attempts, busy+p.Busy
		}
		check("whole", law("attempts are not the calls of it"), attempts, c.Whole.DependencyCalls[of.Name])
		check("whole", law("busy time is not the sum of the phases"), int64(of.Whole.Busy), int64(busy))
	}
}
