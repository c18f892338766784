package measure

import (
	"maps"
	"slices"
	"time"

	"brunt/record"
)

// stateOpen is the state of a breaker that refuses, as events name it.
const stateOpen = "open"

// breaker counts when the breakers of one stage opened.
type breaker struct {
	before, during, after int64
	first                 time.Duration // opening from the trigger on; record.Never for none
	callers               map[int32]struct{}
}

// breakerEvent counts a breaker that opens.
func (r *Recorder) breakerEvent(e *record.Event) {
	if e.State != stateOpen {
		return
	}
	b := r.breakers[e.Stage]
	if b == nil {
		if r.breakers == nil {
			r.breakers = make(map[string]*breaker)
		}
		b = &breaker{first: record.Never, callers: make(map[int32]struct{})}
		r.breakers[e.Stage] = b
	}
	b.callers[e.Caller] = struct{}{}
	t := r.plan.Trigger
	if t == nil || e.At < t.From {
		b.before++
		return
	}
	if e.At < t.To {
		b.during++
	} else {
		b.after++
	}
	if b.first == record.Never || e.At < b.first {
		b.first = e.At
	}
}

// breakersOf makes the numbers of each stage whose breakers opened.
func (r *Recorder) breakersOf() []BreakerNumbers {
	var list []BreakerNumbers
	for _, stage := range slices.Sorted(maps.Keys(r.breakers)) {
		b := r.breakers[stage]
		n := BreakerNumbers{Stage: stage, Callers: int64(len(b.callers)), Opens: b.before + b.during + b.after}
		switch {
		case r.plan.Trigger == nil:
			n.Reason = r.noTrigger()
			n.TimeToOpenReason = n.Reason
		case b.first == record.Never:
			n.TimeToOpenReason = "not observed: it did not open from the start of the trigger on"
		default:
			ms := Millis(b.first - r.disturbedBy(b.first))
			n.TimeToOpen = &ms
		}
		if r.plan.Trigger != nil {
			before, during, after := b.before, b.during, b.after
			n.OpensBefore, n.OpensDuring, n.OpensAfter = &before, &during, &after
		}
		list = append(list, n)
	}
	return list
}

// disturbedBy returns the start of the last disturbed phase that began by an
// instant from the trigger's start on.
func (r *Recorder) disturbedBy(t time.Duration) time.Duration {
	from := r.plan.Trigger.From
	for _, p := range r.plan.Phases {
		if p.From <= t && slices.Contains(r.plan.Trigger.Phases, p.Name) {
			from = max(from, p.From)
		}
	}
	return from
}

// noTrigger is why the plan has no trigger.
func (r *Recorder) noTrigger() string {
	if r.plan.NoTrigger != "" {
		return r.plan.NoTrigger
	}
	return "no phase is disturbed: there is no trigger"
}
