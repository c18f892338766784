package target

import (
	"time"

	"brunt/record"
)

// What says what an event tells of.
type What uint8

// The events of a call, in the order in which they come. Any but the last may
// be missing. Ended or Gone comes exactly once, and last.
const (
	Began        What = iota // the request is being worked on: it takes a connection, or dials
	Wrote                    // the request is with the kernel, whole
	FirstByte                // the first byte of the final answer is here; Status is known
	FirstContent             // the first piece of content of a stream
	Content                  // a further one
	Terminal                 // a stream says that it is complete: the caller has its answer
	Ended                    // the call is over, and its connection free; Answer tells all
	Gone                     // after Cancel: the connection is torn down, or the stream reset
)

var whats = [...]string{"began", "wrote", "first byte", "first content", "content", "terminal", "ended", "gone"}

// String returns the event's name.
func (w What) String() string {
	if int(w) < len(whats) {
		return whats[w]
	}
	return "unknown"
}

// Event is something that happened to a call.
type Event struct {
	What   What
	At     time.Duration // on the clock of [Env.Now]
	Status int           // from FirstByte on; 0 before
	Answer *Answer       // with Ended and Gone alone: what became of the call. It does not change any more
}

// Answer is what became of a call. Instants are on the clock of [Env.Now];
// [record.Never] stands for one that did not come.
type Answer struct {
	// Cause is None for a completed call, else connect, reset, status, stream or
	// timeout; or harness, when this machine ran out of ports or descriptors. After
	// a cancellation it says nothing.
	Cause  record.Cause
	Detail string // in words, clipped, without secrets

	Status  int    // of the final answer; 0 for none
	Replica string // what the answer's replica header says
	Reused  bool   // the connection had served another request before
	Writes  int    // how often the request was written: 0 or 1
	Bytes   int64  // of the answer's body

	Began        time.Duration // when work on the request began; what lies before is the delay of this machine
	Connected    time.Duration // when there was a connection, new or old
	Wrote        time.Duration
	FirstByte    time.Duration
	FirstContent time.Duration
	LastContent  time.Duration
	Terminal     time.Duration // of a stream
	End          time.Duration // of Ended or Gone

	Contents  int    // pieces of content in a stream; one a token only where the counts of tokens say so
	Reasoning int    // pieces of reasoning beside it
	Finish    string // why the stream ended, in the target's words

	PromptTokens, CachedTokens, CompletionTokens int64 // as the target counts them; -1 when it does not say

	RetryAfter time.Duration // what the answer asks to wait; 0 for nothing
}

func newAnswer() Answer {
	return Answer{
		Began: record.Never, Connected: record.Never, Wrote: record.Never, FirstByte: record.Never,
		FirstContent: record.Never, LastContent: record.Never, Terminal: record.Never, End: record.Never,
		PromptTokens: -1, CachedTokens: -1, CompletionTokens: -1,
	}
}
