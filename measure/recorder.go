package measure

import (
	"fmt"
	"math"
	"slices"
	"time"

	"brunt/record"
)

// What became of a request, in the low four bits of its packed row. The cause
// is added to errored.
const (
	absent = iota // no row came
	completed
	censored
	errored

	codeBits = 4
	codes    = 1 << codeBits
	codeMask = codes - 1
)

// Bounds on what a row may say: a latency must fit beside its code, and an
// index must not make the recorder ask for more memory than there is.
const (
	longest   = 1<<(63-codeBits) - 1
	mostIndex = 1 << 33
)

// Recorder makes numbers from rows. It is a [record.Sink]; the rows may come
// in any order, and the numbers do not depend on it. One goroutine at a time
// may use it.
//
// It keeps eight bytes a request, and what stands in the plan's buckets and
// windows. Latencies are packed by request index: since requests are indexed
// in the order of their intended instants, a phase is a range of indices.
type Recorder struct {
	plan   Plan
	origin time.Duration // start of the first phase

	packed []uint64 // by request index: latency<<codeBits | code
	rows   int64    // request rows so far
	fault  fault

	phases []tally
	at     int           // phase of the last instant looked up,
	lo, hi time.Duration // and its bounds

	stepLength time.Duration
	step       int           // of the last instant looked up,
	stepStart  time.Duration // and its start
	steps      []step
	herd       herd
	windows    []window
	stations   []*station // by dependency; nil for one without workers
	breakers   map[string]*breaker
	promise    SLO           // what good means
	limit      time.Duration // that it sets on the end
	watching   *lookout      // what became of goodput after the trigger; nil without one

	attempts  int64
	cancelled int64
	pending   int64
	cleanup   samples // those above 0
	peak      Peak
	active    int64
	aborted   bool
}

// tally counts what happened to the requests of one phase.
type tally struct {
	first     int64 // lowest index
	offered   int64
	submitted int64
	admitted  int64
	attempts  int64 // as the request rows say
	codes     [codes]int64
	lag       samples // those above 0
	token     samples // first tokens of completed streams
	served    []int64 // completed requests, by dependency
	calls     []int64 // attempt rows of the phase's requests, and strangers, by dependency
	started   []int64 // attempt rows that start in the phase, by dependency
	cost      cost    // of attempt rows of the phase's requests
	good      int64
	denied    int64
	retries   int64 // attempt rows of the phase's requests, and the next
	wasted    int64
	strangers int64 // attempt rows of no request, that start in the phase
}

// fault remembers what is wrong with the rows: how many, and the one with the
// lowest request index, so that the order of rows does not matter here either.
type fault struct {
	count int64
	index int64
	what  string
}

func (f *fault) add(index int64, what string) {
	if f.count == 0 || index < f.index || index == f.index && what < f.what {
		f.index, f.what = index, what
	}
	f.count++
}

// NewRecorder returns a recorder for one composition's rows. expect is about
// how many requests there will be; it only sizes memory.
func NewRecorder(plan Plan, expect int64) *Recorder {
	expect = min(max(expect, 0), mostIndex)
	r := &Recorder{
		plan:   plan,
		packed: make([]uint64, 0, expect+expect/64+64),
		phases: make([]tally, max(len(plan.Phases), 1)),
	}
	for i := range r.phases {
		n := len(plan.Dependencies)
		r.phases[i] = tally{first: mostIndex, served: make([]int64, n), calls: make([]int64, n), started: make([]int64, n)}
	}
	if len(plan.Phases) > 0 {
		r.origin = plan.Phases[0].From
	}
	r.seek(r.origin)
	r.planSteps()
	r.planWindows()
	r.planStations()
	r.planLookout()
	return r
}

// end returns the end of the plan's last phase.
func (r *Recorder) end() time.Duration {
	if n := len(r.plan.Phases); n > 0 {
		return r.plan.Phases[n-1].To
	}
	return r.origin
}

// phaseAt returns the position of the phase that an instant lies in. Rows come
// roughly in order, so the last answer is mostly right again.
func (r *Recorder) phaseAt(t time.Duration) int {
	if t >= r.lo && t < r.hi {
		return r.at
	}
	return r.seek(t)
}

// seek looks a phase up. The first one takes everything before it, the last
// one everything after.
func (r *Recorder) seek(t time.Duration) int {
	r.at, r.lo, r.hi = 0, math.MinInt64, math.MaxInt64
	for i, s := range r.plan.Phases[min(1, len(r.plan.Phases)):] {
		if t < s.From {
			r.hi = s.From
			break
		}
		r.at, r.lo = i+1, s.From
	}
	return r.at
}

// code returns the code of a request's outcome, or what is wrong with its row.
func (r *Recorder) code(q *record.Request) (code uint64, wrong string) {
	switch {
	case q.Index < 0 || q.Index >= mostIndex:
		return absent, "has an index out of range"
	case q.End < q.Intended || q.End-q.Intended > longest:
		return absent, "ends before its intended instant, or centuries later"
	case q.Submitted != record.Never && q.Submitted < q.Intended:
		return absent, "was submitted before its intended instant"
	case q.Denied < 0:
		return absent, "was denied fewer than no retries"
	case q.ServedBy >= int32(len(r.plan.Dependencies)):
		return absent, "was served by a dependency that the plan does not have"
	case q.Outcome == record.Completed && q.Cause == record.None:
		return completed, ""
	case q.Outcome == record.Censored && q.Cause == record.None:
		return censored, ""
	case q.Outcome == record.Errored && q.Cause != record.None && q.Cause < codes-errored:
		return errored + uint64(q.Cause), ""
	}
	return absent, "has an outcome and a cause that do not go together"
}

// Request implements [record.Sink].
func (r *Recorder) Request(q *record.Request) {
	code, wrong := r.code(q)
	if code == absent {
		r.fault.add(q.Index, wrong)
		return
	}
	if q.Index >= int64(len(r.packed)) {
		r.reach(q.Index)
	}
	if r.packed[q.Index] != 0 {
		r.fault.add(q.Index, "has more than one row")
		return
	}
	r.packed[q.Index] = uint64(q.End-q.Intended)<<codeBits | code
	r.rows++

	p := &r.phases[r.phaseAt(q.Intended)]
	p.first = min(p.first, q.Index)
	p.offered++
	p.codes[code]++
	p.attempts += int64(q.Attempts)
	if q.Attempts > 0 {
		p.admitted++
	}
	if q.Submitted != record.Never {
		p.submitted++
		if q.Submitted > q.Intended {
			p.lag.add(q.Submitted - q.Intended)
		}
	}
	if code == completed {
		if q.ServedBy >= 0 {
			p.served[q.ServedBy]++
		}
		if q.FirstToken != record.Never {
			p.token.add(max(q.FirstToken-q.Intended, 0))
		}
	}
	p.denied += int64(q.Denied)
	good := code == completed && q.End-q.Intended <= r.limit && (r.promise.FirstToken <= 0 || r.promise.Met(RowOf(q)))
	if good {
		p.good++
	}
	if r.watching != nil {
		r.watching.request(q.Intended, good)
	}
	r.stepRequest(q, good)
	if len(r.windows) > 0 {
		r.windowRequest(q, code)
	}
}

// reach makes room for a request index. Rows that did not come stay absent.
func (r *Recorder) reach(index int64) {
	if n := int(index) + 1 - cap(r.packed); n > 0 {
		grown := make([]uint64, len(r.packed), int(index)+1+int(index)/4)
		copy(grown, r.packed)
		r.packed = grown
	}
	r.packed = r.packed[:index+1] // never written before, so all zero
}

// Attempt implements [record.Sink].
func (r *Recorder) Attempt(a *record.Attempt) {
	if a.Dependency < 0 || int(a.Dependency) >= len(r.plan.Dependencies) {
		r.fault.add(a.Request, "has an attempt at a dependency that the plan does not have")
		return
	}
	if a.Start < a.Intended || a.Cleanup < 0 || !(a.Cost >= 0 && a.Cost < 9e9) {
		r.fault.add(a.Request, "has an attempt that starts before its intended instant, a negative clean-up, or a cost outside 0 to 9e9")
		return
	}
	if a.Wait|a.Busy|time.Duration(a.Replica) != 0 {
		if wrong := r.wrongWork(a); wrong != "" {
			r.fault.add(a.Request, wrong)
			return
		}
	}
	r.attempts++
	p := &r.phases[r.phaseAt(a.Intended)]
	p.calls[a.Dependency]++
	if a.Request < 0 { // it belongs to no request: its intended instant is its start
		p.strangers++
	}
	if a.Why == record.Retry {
		p.retries++
	}
	if a.Wasted {
		p.wasted++
	}
	if a.Cost != 0 {
		p.cost.add(a.Cost)
	}
	phase := r.phaseAt(a.Start)
	r.phases[phase].started[a.Dependency]++
	if a.Cancelled {
		r.cancelled++
	}
	if a.Pending {
		r.pending++
	}
	if a.Cleanup > 0 {
		r.cleanup.add(a.Cleanup)
	}
	if a.Start < r.end() {
		r.stepAttempt(a)
	}
	if s := r.stations[a.Dependency]; s != nil {
		r.stationAttempt(s, phase, a)
	}
	if w := r.watching; w != nil && w.judged <= a.Start && a.Start < w.end {
		w.attempt(a, r.stations[a.Dependency] != nil)
	}
	r.herdAttempt(a)
}

// Event implements [record.Sink].
func (r *Recorder) Event(e *record.Event) {
	switch e.What {
	case record.WhatPeakRequests:
		r.peak.Requests = max(r.peak.Requests, e.Value)
	case record.WhatPeakAttempts:
		r.peak.Attempts = max(r.peak.Attempts, e.Value)
	case record.WhatActive:
		r.active = max(r.active, e.Value)
	case record.WhatAborted:
		r.aborted = true
	case record.WhatBreaker:
		r.breakerEvent(e)
	}
}

// Aborted reports whether arrivals were stopped early.
func (r *Recorder) Aborted() bool { return r.aborted }

// checkRows reports rows that are wrong, missing, or not in the order of their
// intended instants.
func (r *Recorder) checkRows() error {
	switch {
	case len(r.plan.Phases) == 0:
		return fmt.Errorf("the plan has no phases")
	case r.fault.count > 0:
		return fmt.Errorf("%d rows are wrong: request %d %s", r.fault.count, r.fault.index, r.fault.what)
	case r.rows != int64(len(r.packed)):
		return fmt.Errorf("%d of %d requests have no row: the first is request %d",
			int64(len(r.packed))-r.rows, len(r.packed), slices.Index(r.packed, 0))
	}
	// Every index is there once. So if each phase begins at the index where
	// those before it end, each is a range.
	next := int64(0)
	for i := range r.phases {
		if p := &r.phases[i]; p.offered > 0 && p.first != next {
			return fmt.Errorf("requests are not indexed in the order of their intended instants: phase %s begins at request %d, expected %d",
				r.plan.Phases[i].Name, p.first, next)
		}
		next += r.phases[i].offered
	}
	next = 0
	for i := range r.steps {
		if s := &r.steps[i]; s.offered > 0 && s.first != next {
			return fmt.Errorf("requests are not indexed in the order of their intended instants: the timeline's step %d begins at request %d, expected %d",
				i, s.first, next)
		}
		next += r.steps[i].offered
	}
	return nil
}
