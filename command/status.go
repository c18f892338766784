package command

import (
	"errors"
	"fmt"

	"brunt/lab"
	"brunt/study"
)

// The exit statuses.
const (
	statusOK       = 0
	statusExpected = 1 // an expectation failed
	statusUsage    = 2 // usage or study error
	statusInvalid  = 3 // invalid or inconclusive
	statusFailed   = 4 // could not be completed
	statusSignal   = 128
)

// usageError is a fault in how the command was called or in what it was given
// to read.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// statusError ends the command with a status and no further message.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// interrupted is a run that a signal has ended early. The signal decides the
// status; what went wrong besides, if anything, is said.
type interrupted struct {
	signal int
	error
}

func (e interrupted) Unwrap() error { return e.error }

// verdict turns what a result says into an exit status.
func verdict(r *lab.Result) error {
	switch {
	case !r.Valid, r.Aborted:
		return statusError(statusInvalid)
	case r.FailedExpectations() > 0:
		return statusError(statusExpected)
	}
	return nil
}

// status says on stderr what went wrong and turns it into an exit status.
func (c *command) status(err error) int {
	var stop interrupted
	if errors.As(err, &stop) {
		c.status(stop.error)
		return statusSignal + stop.signal
	}
	var s statusError
	var faults study.Errors
	var usage usageError
	switch {
	case err == nil:
		return statusOK
	case errors.As(err, &s):
		return int(s)
	case errors.As(err, &faults):
		fmt.Fprintln(c.stderr, faults) // each line names its file
		return statusUsage
	}
	fmt.Fprintln(c.stderr, "brunt:", err)
	if errors.As(err, &usage) || !c.started {
		return statusUsage
	}
	return statusFailed
}
