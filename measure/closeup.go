package measure

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"brunt/record"
)

// Closeup is what a picture of one composition shows beside its numbers. It is
// of bounded size, however many requests there were.
type Closeup struct {
	Name string
	// Dependencies are the names of what rows call by position.
	Dependencies []string
	// Step is the length of a column: a whole number of the timeline's steps.
	Step     Millis
	Columns  []Column
	Curves   []CurveShape // completion incidence of each phase
	Breakers []BreakerShare
	Traced   []Traced // by index
}

// Traced is a request that was chosen to be looked at, with its attempts in the
// order of their start.
type Traced struct {
	Request record.Request
	// Slow says that it is one of the slowest that completed. All others were
	// drawn from those that ended alike.
	Slow     bool
	Attempts []record.Attempt
}

const (
	mostColumns = 160 // of a closeup
	mostSlow    = 10  // requests that are traced for their latency
	mostAlike   = 5   // for each way in which requests end
)

// CloseupRecorder makes a closeup from rows. It is a [record.Sink]; what it
// makes does not depend on the order of requests and attempts. One goroutine at
// a time may use it.
type CloseupRecorder struct {
	plan     Plan
	origin   time.Duration
	step     time.Duration
	columns  []timeSpread
	curves   []timeSpread // by phase
	at       int          // phase of the last request
	breakers breakerLog

	ended  []uint64 // a bit for each request that has ended
	open   opened
	traced map[int64]*chosen
	slow   []candidate
	alike  map[ending][]candidate
}

// chosen is a request that is traced for now, and in how many lists it stands.
type chosen struct {
	Traced
	lists int
}

// mostTried is how many attempts of a request are kept, the first ones.
const mostTried = 200

func (c *chosen) keep(a *record.Attempt) {
	if len(c.Attempts) < mostTried {
		row := *a
		row.Gaps = nil // it is lent
		c.Attempts = append(c.Attempts, row)
	}
}

// ending is a way in which requests end.
type ending struct {
	outcome record.Outcome
	cause   record.Cause
}

// candidate is a request with its place in some order: lower ones are kept.
type candidate struct {
	rank  uint64
	index int64
}

// NewCloseup returns a recorder for what a plan describes, which must have
// phases.
func NewCloseup(plan Plan) *CloseupRecorder {
	from, to := plan.Phases[0].From, plan.Phases[len(plan.Phases)-1].To
	span := max(to-from, 1)
	step := stepLength(span)
	steps := (span-1)/step + 1
	step *= (steps-1)/mostColumns + 1
	r := &CloseupRecorder{
		plan: plan, origin: from, step: step,
		columns: make([]timeSpread, (span-1)/step+1),
		curves:  make([]timeSpread, len(plan.Phases)),
		traced:  make(map[int64]*chosen),
		alike:   make(map[ending][]candidate),
	}
	for i := range r.columns {
		r.columns[i].fine = coarseBits
	}
	for i := range r.curves {
		r.curves[i].fine = fineBits
	}
	r.breakers.log = make(map[breakerKey]*breakerState)
	r.breakers.columns = len(r.columns)
	r.breakers.origin, r.breakers.step, r.breakers.end = from, step, to
	return r
}

// Request implements [record.Sink].
func (r *CloseupRecorder) Request(q *record.Request) {
	r.curves[r.phase(q.Intended)].add(q.Latency(), q.Outcome)
	if q.Outcome == record.Completed {
		r.columns[r.column(q.Intended)].add(q.Latency(), q.Outcome)
	}
	r.trace(q)
}

// Attempt implements [record.Sink].
func (r *CloseupRecorder) Attempt(a *record.Attempt) {
	if a.Request < 0 { // nobody's
		return
	}
	if !r.over(a.Request) {
		r.open.add(a)
		return
	}
	if t := r.traced[a.Request]; t != nil {
		t.keep(a)
	}
}

// Event implements [record.Sink].
func (r *CloseupRecorder) Event(e *record.Event) {
	if e.What == record.WhatBreaker {
		r.breakers.changed(e)
	}
}

func (r *CloseupRecorder) phase(t time.Duration) int {
	phases := r.plan.Phases
	if p := phases[r.at]; t >= p.From && t < p.To {
		return r.at
	}
	r.at = len(phases) - 1
	for r.at > 0 && t < phases[r.at].From {
		r.at--
	}
	return r.at
}

func (r *CloseupRecorder) column(t time.Duration) int {
	return int(min(max(t-r.origin, 0)/r.step, time.Duration(len(r.columns)-1)))
}

func (r *CloseupRecorder) over(index int64) bool {
	word := int(index / 64)
	return word < len(r.ended) && r.ended[word]>>(index%64)&1 == 1
}

// trace decides whether a request that has ended is one to be looked at.
func (r *CloseupRecorder) trace(q *record.Request) {
	for int(q.Index/64) >= len(r.ended) {
		r.ended = append(r.ended, 0)
	}
	r.ended[q.Index/64] |= 1 << (q.Index % 64)
	attempts := r.open.take(q.Index)

	how := ending{q.Outcome, q.Cause}
	drawn := candidate{scattered(q.Index), q.Index}
	slow := candidate{^uint64(max(q.Latency(), 0)), q.Index}
	alike := r.alike[how]
	isDrawn := admits(alike, drawn, mostAlike)
	isSlow := q.Outcome == record.Completed && admits(r.slow, slow, mostSlow)
	if !isDrawn && !isSlow {
		return
	}
	t := &chosen{Traced: Traced{Request: *q}}
	for i := range attempts {
		t.keep(&attempts[i])
	}
	r.traced[q.Index] = t
	if isDrawn {
		t.lists++
		r.alike[how] = r.admit(alike, drawn, mostAlike)
	}
	if isSlow {
		t.lists++
		r.slow = r.admit(r.slow, slow, mostSlow)
	}
}

func (a candidate) compare(b candidate) int {
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.index, b.index))
}

// admits reports whether a list of so many at most has a place for one more.
func admits(list []candidate, c candidate, most int) bool {
	return len(list) < most || c.compare(list[len(list)-1]) < 0
}

// admit puts one into an ordered list, and lets go of the last when there are too
// many.
func (r *CloseupRecorder) admit(list []candidate, c candidate, most int) []candidate {
	at, _ := slices.BinarySearchFunc(list, c, candidate.compare)
	list = slices.Insert(list, at, c)
	if len(list) <= most {
		return list
	}
	gone := list[most].index
	if t := r.traced[gone]; t.lists > 1 {
		t.lists--
	} else {
		delete(r.traced, gone)
	}
	return list[:most]
}

// Closeup returns what was seen, under a name.
func (r *CloseupRecorder) Closeup(name string) *Closeup {
	c := &Closeup{Name: name, Dependencies: r.plan.Dependencies, Step: Millis(r.step)}
	for i := range r.columns {
		c.Columns = append(c.Columns, r.columns[i].column())
	}
	for i := range r.curves {
		c.Curves = append(c.Curves, r.curves[i].shape(r.plan.Phases[i].Name, r.plan.Horizon, r.plan.Sampled))
	}
	c.Breakers = r.breakers.shares()
	for _, index := range slices.Sorted(maps.Keys(r.traced)) {
		t := r.traced[index]
		t.Slow = slices.ContainsFunc(r.slow, func(c candidate) bool { return c.index == index })
		slices.SortFunc(t.Attempts, func(a, b record.Attempt) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Index, b.Index))
		})
		c.Traced = append(c.Traced, t.Traced)
	}
	return c
}
