package brunttest

import (
	"context"
	"errors"
	"net"
	"strings"

	"brunt/record"
)

// Cause is why a request did not complete.
type Cause = record.Cause

// The causes that a client can give. Circuit, Limiter and Rate are refusals of
// its own: they say nothing about the dependency.
const (
	Failure = record.Failure
	Timeout = record.Timeout
	Circuit = record.Circuit
	Limiter = record.Limiter
	Rate    = record.Rate
)

// words tell what refused a request in the errors of common libraries:
// failsafe-go 0.9.8 ("circuit breaker open", "bulkhead full", "rate limit
// exceeded"), sony/gobreaker 2 ("circuit breaker is open"), eapache/go-resiliency
// 1.7 ("circuit breaker is open"), golang.org/x/time/rate ("would exceed context
// deadline").
var words = []struct {
	word  string
	cause Cause
}{
	{"circuit", Circuit},
	{"breaker", Circuit},
	{"bulkhead", Limiter},
	{"rate limit", Rate},
	{"rate: ", Rate},
	{"limit exceeded", Limiter},
}

// causeOf says why a request failed, by the error that its client returned: by
// what the dependency or a context said, if it wraps that; else by its words; else
// it is a failure.
func causeOf(err error) Cause {
	var failed *Error
	var network net.Error
	switch {
	case errors.As(err, &failed):
		return failed.Cause
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Timeout
	}
	text := strings.ToLower(err.Error())
	for _, w := range words {
		if strings.Contains(text, w.word) {
			return w.cause
		}
	}
	return Failure
}
