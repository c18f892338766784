package measure

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"brunt/record"
)

// BreakerShare is in what state the breakers of one stage were over time.
type BreakerShare struct {
	Stage   string
	Callers int // whose breaker changed its state at least once
	// By column, what part of the time, over those callers, they were open and
	// half-open. The rest they were closed.
	Open, HalfOpen []float64
}

// breakerLog adds up for how long breakers were in each state.
type breakerLog struct {
	origin, step, end time.Duration
	columns           int
	log               map[breakerKey]*breakerState
	time              map[string]*breakerTime
}

type breakerKey struct {
	stage  string
	caller int32
}

type breakerState struct {
	state string
	since time.Duration
}

// breakerTime is, by column, how long the breakers of a stage were open and
// half-open.
type breakerTime struct {
	callers        int
	open, halfOpen []time.Duration
}

// stateHalfOpen is the state of a breaker that lets probes through.
const stateHalfOpen = "half-open"

func (l *breakerLog) changed(e *record.Event) {
	key := breakerKey{e.Stage, e.Caller}
	b := l.log[key]
	if b == nil {
		b = &breakerState{}
		l.log[key] = b
		of := l.of(e.Stage)
		of.callers++
	}
	l.pass(key.stage, b, e.At)
	b.state, b.since = e.State, e.At
}

func (l *breakerLog) of(stage string) *breakerTime {
	if l.time == nil {
		l.time = make(map[string]*breakerTime)
	}
	t := l.time[stage]
	if t == nil {
		t = &breakerTime{open: make([]time.Duration, l.columns), halfOpen: make([]time.Duration, l.columns)}
		l.time[stage] = t
	}
	return t
}

// pass counts the time that a breaker was in its state up to an instant.
func (l *breakerLog) pass(stage string, b *breakerState, until time.Duration) {
	into := l.of(stage).open
	switch b.state {
	case stateOpen:
	case stateHalfOpen:
		into = l.of(stage).halfOpen
	default:
		return
	}
	from, until := max(b.since, l.origin), min(until, l.end)
	for from < until {
		i := (from - l.origin) / l.step
		next := min(l.origin+(i+1)*l.step, until)
		into[i] += next - from
		from = next
	}
}

// shares closes the log.
func (l *breakerLog) shares() []BreakerShare {
	keys := slices.SortedFunc(maps.Keys(l.log), func(a, b breakerKey) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(a.caller, b.caller))
	})
	for _, key := range keys {
		l.pass(key.stage, l.log[key], l.end)
	}
	var all []BreakerShare
	for _, stage := range slices.Sorted(maps.Keys(l.time)) {
		t := l.time[stage]
		s := BreakerShare{Stage: stage, Callers: t.callers, Open: make([]float64, l.columns), HalfOpen: make([]float64, l.columns)}
		for i := range l.columns {
			from := l.origin + time.Duration(i)*l.step
			whole := float64(min(l.step, l.end-from)) * float64(t.callers)
			s.Open[i], s.HalfOpen[i] = float64(t.open[i])/whole, float64(t.halfOpen[i])/whole
		}
		all = append(all, s)
	}
	return all
}
