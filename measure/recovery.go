package measure

import (
	"fmt"
	"time"

	"brunt/record"
)

// noFault is why there is no recovery by goodput, until a caller sets it.
const noFault = "not measured: the study names no fault"

// mostWindows bounds how many clean windows are looked at.
const mostWindows = 1 << 22

// window counts the requests of one window of the recovery phase.
type window struct {
	arrived int64
	unclean int64         // not completed
	last    time.Duration // latest end
}

// planWindows makes the windows that lie wholly inside the recovery phase.
func (r *Recorder) planWindows() {
	w := r.plan.Recovery
	if w.Window <= 0 || w.Phase < 0 || w.Phase >= len(r.plan.Phases) {
		return
	}
	s := r.plan.Phases[w.Phase]
	if n := (s.To - s.From) / w.Window; n > 0 && n <= mostWindows {
		r.windows = make([]window, n)
	}
}

func (r *Recorder) windowRequest(q *record.Request, code uint64) {
	t := q.Intended - r.plan.Phases[r.plan.Recovery.Phase].From
	if t < 0 {
		return
	}
	i := t / r.plan.Recovery.Window
	if i >= time.Duration(len(r.windows)) {
		return
	}
	w := &r.windows[i]
	w.arrived++
	if code != completed {
		w.unclean++
	}
	w.last = max(w.last, q.End)
}

// recovery returns when the first clean window was over: the later of its end
// and the end of its last request, from the start of the phase. In a clean
// window every request completes, so none is shed or refused; a refusal on the
// way that a later try made good is not seen by callers.
func (r *Recorder) recovery() Recovery {
	plan := r.plan.Recovery
	out := Recovery{Window: Millis(plan.Window), GoodputReason: noFault}
	if plan.Phase < 0 || plan.Phase >= len(r.plan.Phases) {
		out.Reason = "not judged: there is no phase to recover in"
		return out
	}
	phase := r.plan.Phases[plan.Phase]
	out.Phase = phase.Name
	if plan.Window <= 0 {
		out.Reason = "not judged: no clean window is set"
		return out
	}
	enough := 0
	for i, w := range r.windows {
		if w.arrived < max(plan.Least, 1) {
			continue
		}
		enough++
		if w.unclean == 0 {
			end := phase.From + time.Duration(i+1)*plan.Window
			ms := Millis(max(end, w.last) - phase.From)
			out.CleanWindow = &ms
			return out
		}
	}
	switch length := phase.To - phase.From; {
	case length < plan.Window:
		out.Reason = fmt.Sprintf("not observed: the phase lasts %v, shorter than a window of %v", length, plan.Window)
	case len(r.windows) == 0:
		out.Reason = fmt.Sprintf("not judged: the phase has %d windows of %v, more than the %d that are looked at", length/plan.Window, plan.Window, mostWindows)
	case enough == 0:
		out.Reason = fmt.Sprintf("not observed: too few arrivals: none of %d windows of %v had the %d that it needs", len(r.windows), plan.Window, max(plan.Least, 1))
	default:
		out.Reason = fmt.Sprintf("not observed: none of %d windows of %v was clean", len(r.windows), plan.Window)
	}
	return out
}
