package brunttest

import (
	"time"

	"brunt/lab"
)

// patience is how long the virtual time may stand still, unless [Patience] says
// otherwise.
const patience = 10 * time.Second

// NewGuest makes a client ready for a composition of a study that a program runs
// without a test. Of the options, [Patience] and [Causes] say something of one
// client. On the virtual clock it has a bubble for each repeat, as in a test; on
// the real one its goroutines live in the program, and what it registered with
// [Dependency.Cleanup] is called when lab has it leave.
//
// What it returns serves one run at a time.
func NewGuest(client New, options ...Option) *lab.Guest {
	r := run{patience: patience}
	for _, option := range options {
		option(&r)
	}
	return r.guest(client)
}
