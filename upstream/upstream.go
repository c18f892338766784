// Package upstream serves simulated dependencies over HTTP/1.1 and HTTP/2, as
// Server-Sent Events where they stream: what a service of the user's own finds in
// the place of its dependencies.
//
// It reads requests and writes answers. What becomes of an attempt, and when, a
// [Backend] decides.
//
//	server, err := upstream.Listen([]upstream.Address{{Name: "primary", Listen: "127.0.0.1:9001"}}, backend)
//	err = server.Close()
//
// A Server may be used from any goroutine.
package upstream

import (
	"context"
	"time"

	"brunt/dependency"
	"brunt/record"
)

// Address is where one dependency is served.
type Address struct {
	// Name is the dependency's, for errors.
	Name string
	// Dependency is its number, which the backend is told.
	Dependency int
	// Listen is a host and a port; port 0 takes a free one.
	Listen string
}

// Backend decides what becomes of attempts.
type Backend interface {
	// Attempt waits until the dependency has answered, or the context, which is that
	// of the client's connection, has ended. Where it is known before the end what
	// the answer will look like, begin is told, once, from any goroutine, while
	// Attempt waits; it does not block. It may be called from any goroutine.
	Attempt(ctx context.Context, a Arrival, begin func(Plan)) Reply
}

// Arrival is an attempt that has arrived.
type Arrival struct {
	Dependency int
	// Request is what the header X-Brunt-Request says, or else X-Request-Id; Trace
	// is the trace id of traceparent (W3C Trace Context), 32 hexadecimal digits. Each is
	// "" when missing or malformed.
	Request, Trace string
}

// RequestHeader tells whose request an attempt belongs to: the value that the
// service was called with.
const RequestHeader = "X-Brunt-Request"

// Plan is what an answer will look like, from the moment at which it is worked
// on, unless its client leaves first.
type Plan struct {
	// After is how long it takes; record.Never for one that never comes.
	After time.Duration
	// FirstToken is how long its first token takes, and Tokens how many there are;
	// record.Never and 0 but for streams.
	FirstToken time.Duration
	Tokens     int64
	// Fails says that it will be a failure.
	Fails bool
	// Status is that of a recorded answer; 0 for the wire's.
	Status int
	// Wire is its form; nil for the usual one.
	Wire *dependency.Wire
}

// Reply is what came of an attempt.
type Reply struct {
	// Err says that there is no answer: the client left, or the run is over.
	Err error
	// Cause is why the dependency failed; record.None when it did not.
	Cause record.Cause
	// RetryAfter is how long it asks to wait; 0 for nothing.
	RetryAfter time.Duration
	// Status is that of a recorded answer; 0 for the wire's.
	Status int
	// Tokens is how many tokens the answer has; 0 but for streams.
	Tokens int64
	// Wire is its form; nil for the usual one.
	Wire *dependency.Wire
}
