package lab

import (
	"slices"
	"sync"
	"time"

	"brunt/clock"
	"brunt/dependency"
	"brunt/load"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

// runner takes the requests of one composition through their lives, on one
// loop. It is made for one run and used on one goroutine.
type runner struct {
	loop     *clock.Loop
	study    *study.Study
	schedule *load.Schedule
	sink     record.Sink
	events   bool                          // whether every change of state is wanted, or just what is counted
	event    record.Event                  // the one that the sink is being told of
	told     func(time.Duration, Standing) // how far the run is; nil when nobody listens

	stack           policy.Stage
	clusters        []*dependency.Cluster // by position among the study's targets
	services        []policy.Stage        // their own stacks, by the same position; nil for a dependency
	late            bool                  // whether a request's row is whole only when its last attempt is gone
	remotes         []*remote             // by the same position; nil for what is simulated
	host            *host                 // of a client that is not brunt's; nil without one
	inbox           *inbox                // of real targets
	firstID         int64                 // what request 0 is called there
	replicas        map[string]int32      // of real targets, by name
	undispatched    int64                 // attempts that were never begun
	instant         time.Duration         // at which what the loop is told of happened; record.Never for now
	attemptsPool    []*attempt
	requestsPool    []*request
	submissionsPool []*submission

	arrival  arrival
	timeline []clock.Timer
	shedding int64 // most requests in flight; 0 for no limit
	horizon  time.Duration

	inFlight, peakRequests int64
	active, peakAttempts   int64
	peakRequestsAt         time.Duration
	peakAttemptsAt         time.Duration
	aborted                bool
	tally                  tally
}

// newRunner returns a runner for one composition with fresh state.
func newRunner(loop *clock.Loop, s *study.Study, composition string, schedule *load.Schedule, sink record.Sink, events bool) *runner {
	r := &runner{
		loop: loop, study: s, schedule: schedule, sink: sink,
		shedding: s.Load.MaxInFlight, horizon: s.Horizon, events: events,
	}
	r.instant = record.Never
	luck := s.Luck()
	for _, name := range s.Callees() {
		if config, real := s.RealTarget(name); real {
			r.clusters = append(r.clusters, nil)
			r.addRemote(config)
			continue
		}
		r.clusters = append(r.clusters, dependency.NewCluster(loop, name, s.Behaviour(0, name), luck))
		r.remotes = append(r.remotes, nil)
	}
	r.services = make([]policy.Stage, len(r.clusters))
	stack, _ := s.Compositions.Get(composition)
	env := &policy.Env{Loop: loop, Chance: luck, Detail: events, Observe: r.note}
	b := builder{runner: r, env: env, callers: s.Callers}
	r.stack = b.stack(stack, "")
	b.callers = 1
	for name, service := range s.Services.All() {
		r.services[r.target(name)] = b.stack(service.Stack, "service."+name)
		r.late = true
	}
	r.arrival = arrival{runner: r, cursor: schedule.Cursor()}
	return r
}

// run runs the composition until it has drained. Closing stop ends arrivals.
func (r *runner) run(stop <-chan struct{}) {
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch(stop, done)
	}()
	unwatch := sync.OnceFunc(func() {
		close(done)
		<-watched
	})
	defer unwatch() // also when something on the loop panics
	if r.watched() {
		r.beat()
	}
	r.setTimeline()
	r.arrival.schedule()
	r.loop.Run()
	unwatch()
	if r.watched() {
		r.beat()
	}
	r.tell(record.Event{At: r.peakRequestsAt, What: record.WhatPeakRequests, Value: r.peakRequests})
	r.tell(record.Event{At: r.peakAttemptsAt, What: record.WhatPeakAttempts, Value: r.peakAttempts})
	r.tell(record.Event{At: r.loop.Now(), What: record.WhatActive, Value: r.active})
	if r.inbox != nil {
		r.tell(record.Event{At: r.loop.Now(), What: record.WhatUndispatched, Value: r.undispatched})
	}
}

// tell writes an event of the run itself.
func (r *runner) tell(e record.Event) {
	e.Caller = -1
	r.note(e)
}

// note writes an event. A sink must not keep it, so one is enough for all.
func (r *runner) note(e record.Event) {
	r.event = e
	r.sink.Event(&r.event)
}

// target returns the position of a dependency or service.
func (r *runner) target(name string) int32 {
	i := slices.Index(r.study.Callees(), name)
	if i < 0 {
		panic("lab: a checked study calls the unknown dependency " + name)
	}
	return int32(i)
}

// abort stops arrivals; what is in flight goes on to its end. The phase in
// which that happens lasts until then: the real clock does not wait for others.
func (r *runner) abort() {
	for _, t := range r.timeline {
		r.loop.Cancel(t)
	}
	for _, c := range r.clusters { // the phase that would end a pause does not come any more
		if c != nil {
			c.GoOn()
		}
	}
	if r.loop.Cancel(r.arrival.timer) {
		r.aborted, r.arrival.more = true, false
		r.tell(record.Event{At: r.loop.Now(), What: record.WhatAborted, Value: r.arrival.index})
	}
}

// setTimeline schedules what changes at the start of each phase.
func (r *runner) setTimeline() {
	if _, warmup := r.sink.(nowhere); warmup { // it would last until the last phase begins
		return
	}
	for i := range r.study.Phases {
		from, _ := r.study.Span(i)
		t := r.loop.At(from, clock.Timeline, clock.Func(func() {
			for t, name := range r.study.Callees() {
				if c := r.clusters[t]; c != nil {
					c.Become(r.study.Behaviour(i, name))
				}
			}
			if r.events {
				r.tell(record.Event{At: r.loop.Now(), What: record.WhatPhase, State: r.study.Phases[i].Name})
			}
		}))
		r.timeline = append(r.timeline, t)
	}
}

// arrival is the next intended instant. It schedules its successor when it
// happens, so that the loop holds one of them at a time.
type arrival struct {
	runner *runner
	cursor *load.Cursor
	timer  clock.Timer
	index  int64
	at     time.Duration
	more   bool
}

func (a *arrival) schedule() {
	if a.at, a.more = a.cursor.Next(); a.more {
		a.timer = a.runner.loop.AtRank(a.at, clock.Arrival, uint64(a.index), a)
	}
}

// Happen implements [clock.Event].
func (a *arrival) Happen() {
	index, intended := a.index, a.at
	a.index++
	a.schedule()
	r := a.runner
	if r.told != nil && r.loop.Virtual() && index&0xffff == 0 {
		r.told(intended, Standing{})
	}
	if delay := r.schedule.Delay(index); delay > 0 {
		r.later(index, intended, delay)
		return
	}
	r.submit(index, intended)
}

// submission is a request that dispatch noise holds back.
type submission struct {
	runner   *runner
	index    int64
	intended time.Duration
}

func (r *runner) later(index int64, intended, delay time.Duration) {
	var s *submission
	if n := len(r.submissionsPool); n > 0 {
		s = r.submissionsPool[n-1]
		r.submissionsPool = r.submissionsPool[:n-1]
	} else {
		s = new(submission)
	}
	*s = submission{r, index, intended}
	r.loop.AtRank(intended+delay, clock.Arrival, uint64(index), s)
}

// Happen implements [clock.Event].
func (s *submission) Happen() {
	r, index, intended := s.runner, s.index, s.intended
	r.submissionsPool = append(r.submissionsPool, s)
	r.submit(index, intended)
}

// request is a request in flight, and after its end until its last attempt is
// gone.
type request struct {
	policy.Request
	runner  *runner
	row     record.Request
	running policy.Running
	horizon clock.Timer
	nth     []int32 // attempts so far, by target
	visits  int32   // calls so far of a service of the user's own
	alive   int     // attempts that have not ended, clean-up included
}

// submit offers a request: the stack gets it, or the harness sheds it.
func (r *runner) submit(index int64, intended time.Duration) {
	q := r.newRequest()
	q.row = record.Request{Index: index, Intended: intended, Submitted: r.loop.Now(), FirstToken: record.Never, ServedBy: -1}
	q.row.Caller = r.study.Caller(index)
	q.Request = policy.Request{Index: index, Caller: q.row.Caller, Owner: q}
	if r.shedding > 0 && r.inFlight >= r.shedding {
		q.row.Submitted = record.Never
		q.row.Outcome, q.row.Cause = record.Errored, record.Harness
		q.finish(intended)
		return
	}
	if r.inFlight++; r.inFlight > r.peakRequests {
		r.peakRequests, r.peakRequestsAt = r.inFlight, q.row.Submitted
	}
	q.horizon = r.loop.At(intended+r.horizon, clock.Horizon, q)
	running, o := r.stack.Start(policy.Call{Request: &q.Request, Deadline: intended + r.horizon}, q)
	if o.Open() {
		q.running = running
		return
	}
	q.Ended(o)
}

func (r *runner) newRequest() *request {
	if n := len(r.requestsPool); n > 0 {
		q := r.requestsPool[n-1]
		r.requestsPool = r.requestsPool[:n-1]
		clear(q.nth)
		q.visits = 0
		return q
	}
	return &request{runner: r, nth: make([]int32, len(r.clusters))}
}

// Ended implements [policy.Receiver]: the caller has its answer, unless that came
// past the horizon, of which a late loop had not heard.
func (q *request) Ended(o policy.Outcome) {
	q.runner.loop.Cancel(q.horizon)
	end := q.runner.loop.Now()
	if at := q.runner.instant; at != record.Never {
		end = max(at, q.row.Intended)
	}
	horizon := q.row.Intended + q.runner.horizon
	switch {
	case end > horizon:
		q.row.Outcome, end = record.Censored, horizon
	case o.Success():
		q.row.Outcome, q.row.ServedBy, q.row.FirstToken = record.Completed, o.Dependency(), o.FirstToken
	default:
		q.row.Outcome, q.row.Cause = record.Errored, o.Cause
	}
	q.runner.inFlight--
	q.finish(end)
}

// Happen implements [clock.Event]: the horizon has come first. The request
// ends at exactly the horizon, also when the loop is late.
func (q *request) Happen() {
	q.row.Outcome = record.Censored
	running := q.running
	q.runner.inFlight--
	q.alive++ // keeps q while the stack is being cancelled
	q.finish(q.row.Intended + q.runner.horizon)
	running.Cancel()
	q.alive--
	q.recycle()
}

func (q *request) finish(end time.Duration) {
	q.Over = true
	q.row.End = end
	q.runner.tally.count(&q.row)
	if !q.runner.late {
		q.write()
	}
	q.recycle()
}

func (q *request) write() {
	q.row.Refusals, q.row.Denied = q.Refusals, q.Denied
	q.runner.sink.Request(&q.row)
}

// recycle gives q back once nothing refers to it any more. A service can go on
// making calls for a request that is over, so only then its row is whole.
func (q *request) recycle() {
	if q.Over && q.alive == 0 {
		if q.runner.late {
			q.write()
		}
		q.running = nil
		q.runner.requestsPool = append(q.runner.requestsPool, q)
	}
}
