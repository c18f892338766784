package measure

import (
	"time"

	"brunt/record"
)

// Row is one scheduled request, as goodput, windows and recovery see it. One
// that was never sent is errored with a latency of 0.
type Row struct {
	Intended   time.Duration  // when the schedule says
	Latency    time.Duration  // from Intended to the end; where censored, how long it was watched
	FirstToken time.Duration  // from Intended to the first token; record.Never when there was none
	Outcome    record.Outcome // how it ended
	Target     int32          // who had it, in the caller's numbering; -1 when not known
}

// RowOf returns the row of a request that brunt made.
func RowOf(q *record.Request) Row {
	r := Row{Intended: q.Intended, Latency: q.Latency(), FirstToken: record.Never, Outcome: q.Outcome, Target: q.ServedBy}
	if q.FirstToken != record.Never {
		r.FirstToken = max(q.FirstToken-q.Intended, 0)
	}
	return r
}

// End returns the instant at which the request ended, or was last watched.
func (r Row) End() time.Duration { return r.Intended + r.Latency }

// Observation returns the row as the incidence curve sees it.
func (r Row) Observation() Observation { return Observation{Time: r.Latency, Outcome: r.Outcome} }

// Rows keeps the rows of a run, 32 bytes a request. It is a [record.Sink].
// One goroutine at a time may add to it.
type Rows []Row

// Request implements [record.Sink].
func (r *Rows) Request(q *record.Request) { *r = append(*r, RowOf(q)) }

// Attempt implements [record.Sink].
func (*Rows) Attempt(*record.Attempt) {}

// Event implements [record.Sink].
func (*Rows) Event(*record.Event) {}

// holds reports whether an instant lies in the span, closed on the left and
// open on the right.
func (s Span) holds(t time.Duration) bool { return s.From <= t && t < s.To }
