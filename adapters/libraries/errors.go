package libraries

import (
	"context"
	"errors"
	"slices"

	"brunt/brunttest"
	"brunt/policy"
	"brunt/record"
)

// ended is an error that a library ends a call with, and its cause.
type ended struct {
	err   error
	cause record.Cause
}

// endings are those of all libraries.
var endings = slices.Concat(failsafeErrors, gobreakerErrors, resiliencyErrors)

// causeOf tells errors of the libraries; false leaves one to brunttest.
func causeOf(err error) (record.Cause, bool) {
	var status statusError
	if errors.As(err, &status) {
		return status.cause(), true
	}
	for _, e := range endings {
		if errors.Is(err, e.err) {
			return e.cause, true
		}
	}
	return record.None, false
}

// kindOf is the cause of an error as a policy of brunt would see it: none for one
// that its caller has left.
func kindOf(err error) record.Cause {
	if c, ok := causeOf(err); ok {
		return c
	}
	var failed *brunttest.Error
	switch {
	case errors.As(err, &failed):
		return failed.Cause
	case errors.Is(err, context.DeadlineExceeded):
		return record.Timeout
	case errors.Is(err, context.Canceled):
		return record.None
	}
	return record.Failure
}

// neutral reports whether an error says nothing about the dependency: its caller
// has left, or a stage inside has refused.
func neutral(err error) bool {
	switch kindOf(err) {
	case record.None, record.Circuit, record.Limiter, record.Rate:
		return err != nil
	}
	return false
}

// repeats reports whether a retry of these settings repeats a call that ended so.
func repeats(c *policy.Retry, err error) bool {
	failure, timeout := slices.Contains(c.On, policy.OnFailure), slices.Contains(c.On, policy.OnTimeout)
	either := failure == timeout // both, or none named: both
	switch kindOf(err) {
	case record.None:
		return false
	case record.Timeout:
		return timeout || either
	case record.Circuit:
		return slices.Contains(c.On, policy.OnCircuit)
	case record.Limiter:
		return slices.Contains(c.On, policy.OnLimiter)
	case record.Rate:
		return slices.Contains(c.On, policy.OnRate)
	}
	return failure || either
}
