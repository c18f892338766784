// Package record says what happened in a run: a row a request, a row an
// attempt, and a row for each change of state. Everything that brunt reports
// is computed from these rows and the study.
//
// Instants are [time.Duration] since the start of the composition's run.
// Rows are plain values; a [Sink] that keeps one must copy it.
package record

import "time"

// Never stands for an instant that did not come.
const Never time.Duration = -1

// Unnamed stands for a replica of a real target that nobody has named.
const Unnamed int32 = -1

// Outcome is how a request ended. Every scheduled request has exactly one.
type Outcome uint8

// The outcomes.
const (
	Completed Outcome = iota
	Errored
	Censored // no outcome by the horizon: a lower bound, not a duration
)

var outcomeNames = [...]string{"completed", "errored", "censored"}

// String returns the outcome's name in rows and reports.
func (o Outcome) String() string { return name(outcomeNames[:], int(o)) }

// Cause is why a request, or a call inside of it, did not complete.
type Cause uint8

// The causes. None goes with a completed or a censored request.
const (
	None    Cause = iota
	Failure       // the dependency said no
	Timeout
	Circuit // refused by a breaker
	Limiter // refused by a limit
	Rate    // refused by a rate
	Harness // shed by brunt itself: never submitted
	Connect // real targets from here on
	Reset
	Status
	Stream
	Overload // the dependency had no room: its queue was full, or dropped the attempt
	Throttle // refused by a throttle
	causes
)

var causeNames = [...]string{"", "failure", "timeout", "circuit", "limiter", "rate", "harness", "connect", "reset", "status", "stream", "overload", "throttle"}

// String returns the cause's name in rows and reports; "" for None.
func (c Cause) String() string { return name(causeNames[:], int(c)) }

// Causes returns every cause but None, in the order of reports.
func Causes() []Cause {
	list := make([]Cause, 0, causes-1)
	for c := Failure; c < causes; c++ {
		list = append(list, c)
	}
	return list
}

// Why is what started an attempt.
type Why uint8

// The reasons: the caller's own call, or a stage that decided on one more.
const (
	First Why = iota
	Retry
	Hedge
	Fallback
)

var whyNames = [...]string{"first", "retry", "hedge", "fallback"}

// String returns the reason's name in rows and reports.
func (w Why) String() string { return name(whyNames[:], int(w)) }

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}

// Request is one scheduled request at its end.
type Request struct {
	Index      int64         // position in the schedule, from 0
	Intended   time.Duration // when the schedule says
	Submitted  time.Duration // when the stack got it; Never when it was shed
	End        time.Duration // when the caller had its answer, or the horizon; the intended instant when shed
	FirstToken time.Duration // of the attempt that completed it, for streams; else Never
	Outcome    Outcome
	Cause      Cause
	Attempts   int32   // calls that reached a dependency
	Refusals   int32   // refusals by any stage on the way, also those that a later try made good
	Denied     int32   // retries and hedges that a budget did not allow
	Caller     int32   // which caller made it, from 0
	ServedBy   int32   // the dependency that completed it, by position in the study; -1 for none
	Cost       float64 // of all attempts
}

// Latency is the time from the intended instant to the end.
func (r *Request) Latency() time.Duration { return r.End - r.Intended }

// Attempt is one call of a dependency, after its clean-up.
type Attempt struct {
	Request    int64 // index of its request; negative for one that belongs to none
	Intended   time.Duration
	Index      int32 // position among the request's attempts, from 0
	Dependency int32 // position in the study
	Nth        int32 // position among the request's attempts at this dependency, from 0
	Why        Why
	Cancelled  bool  // the caller did not want it any more
	Pending    bool  // was open, not cancelled, when the request's caller had its answer
	Cause      Cause // None when it succeeded or was cancelled
	Start      time.Duration
	End        time.Duration // of the call: its answer, or its cancellation
	CleanupEnd time.Duration // when the dependency was rid of it; End unless cancelled
	Cleanup    time.Duration // max(0, CleanupEnd - the caller's answer)
	FirstToken time.Duration // for streams, else Never
	Cost       float64

	// Of dependencies with capacity, and of services.
	Again   bool          // a retry or a hedge, or made by a service for one
	Parent  int32         // Index of the attempt whose service made this one; -1 for the caller itself
	Replica int32         // which replica had it, from 0; Unnamed where that is not known
	Wait    time.Duration // how long it waited for a worker
	Busy    time.Duration // how long a worker was busy with it, clean-up included; 0 without workers
	Wasted  bool          // when it ended nobody waited for its answer any more

	// Of real targets.
	Wrote  time.Duration   // when the kernel had the request, whole; Never when it was not written
	Status int32           // of the answer; 0 for none
	Tokens int64           // of the answer, as the target counts them; -1 when it does not say
	Gaps   []time.Duration // between the pieces of content of a stream; a sink that keeps the row must copy them
}

// Outcome returns the attempt's outcome in rows: completed, cancelled or a
// cause.
func (a *Attempt) Outcome() string {
	switch {
	case a.Cancelled:
		return "cancelled"
	case a.Cause == None:
		return "completed"
	}
	return a.Cause.String()
}

// Event is one change of state.
type Event struct {
	At     time.Duration
	Stage  string // path of the stage in its composition; "" for the run itself
	What   string // one of the What constants
	State  string // the new state, where it has a name
	Value  int64  // the new value, where it is a number
	Caller int32  // whose stage it is, from 0; -1 for the run itself, and for what callers share
}

// What an event tells of.
const (
	WhatPhase        = "phase"         // State: the phase that begins
	WhatBreaker      = "breaker"       // State: closed, open, half-open
	WhatPermits      = "permits"       // Value: permits in use
	WhatQueue        = "queue"         // Value: calls that wait
	WhatPeakRequests = "peak requests" // Value: most requests in flight so far
	WhatPeakAttempts = "peak attempts" // Value: most attempts in flight so far
	WhatActive       = "active"        // Value: attempts still active after the drain
	WhatAborted      = "aborted"       // Value: requests that had come when arrivals were stopped early
	WhatLimit        = "limit"         // Value: the limit of an adaptive stage
	WhatBudget       = "budget"        // Value: a budget's tokens, in thousandths
	WhatReplica      = "replica"       // State: the name of a replica; Value: its number in rows
	WhatUndispatched = "undispatched"  // Value: attempts that the client never began to send
	WhatFault        = "fault"         // of a real fault. Stage: the victim; State: armed, fired, effect, expired, heal, started
	WhatMade         = "fault made"    // how a real fault was made. State: how; Stage: who ends it; Value: packets that it lost
	WhatRoute        = "route"         // of a front. Stage: the replica; State: up, down, or routed with Value: the index of a request
	WhatProbe        = "probe"         // through a front. Stage: the victim; State: ready
	WhatWaiting      = "waiting"       // Stage: the replica; Value: requests that wait in it
	WhatGuest        = "guest"         // of a client that is not brunt's. State: unattributed, late, unserved, unheard or cut off; Value: how many
	WhatMachine      = "machine"       // State: the fingerprint of the machine; Stage: whose
)

// Sink takes rows, each once, in the order in which things ended. The pointer
// is good for the call alone.
type Sink interface {
	Request(*Request)
	Attempt(*Attempt)
	Event(*Event)
}

// Sinks hands every row to each of several sinks, in order.
type Sinks []Sink

// Request implements [Sink].
func (s Sinks) Request(r *Request) {
	for _, sink := range s {
		sink.Request(r)
	}
}

// Attempt implements [Sink].
func (s Sinks) Attempt(a *Attempt) {
	for _, sink := range s {
		sink.Attempt(a)
	}
}

// Event implements [Sink].
func (s Sinks) Event(e *Event) {
	for _, sink := range s {
		sink.Event(e)
	}
}
