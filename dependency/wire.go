package dependency

import (
	"fmt"
	"strconv"

	"brunt/check"
	"brunt/record"
)

// Wire is what the answers of a dependency look like where it is served over
// HTTP. It changes no time: what the rest of a behaviour says about those holds
// with it too.
type Wire struct {
	// How an attempt that fails is answered: a status from 400 to 599 (503 when left out), reset (an RST instead of an answer), close (the connection ends instead), or cut (a body that breaks off in its middle).
	Failure Failing `yaml:"failure"`
	// The status of an answer that does not fail, from 200 to 599.
	Status int `yaml:"status"`
	// How the time of an answer is spent: silence (then all of it at once), headers (they come little by little) or body (headers at once, then the body little by little).
	Trickle Trickle `yaml:"trickle"`
	// How many bytes the body of an answer has.
	Body int `yaml:"body"`
}

// Failing names a way to fail: a status, or one of the words.
type Failing string

// The ways to fail besides a status.
const (
	ResetAnswer Failing = "reset"
	CloseAnswer Failing = "close"
	CutAnswer   Failing = "cut"
)

// Trickle says what of an answer comes little by little.
type Trickle string

// What can come little by little.
const (
	Silence        Trickle = "silence"
	TrickleHeaders Trickle = "headers"
	TrickleBody    Trickle = "body"
)

// SetDefaults sets 503 for a failure and 64 bytes for an answer.
func (w *Wire) SetDefaults() { *w = Wire{Failure: "503", Status: 200, Trickle: Silence, Body: 64} }

// mostBody bounds a body at 64 MiB.
const mostBody = 64 << 20

// Check reports what is wrong with the settings.
func (w *Wire) Check(p check.Problems) {
	switch w.Failure {
	case ResetAnswer, CloseAnswer, CutAnswer:
	default:
		if n, err := strconv.Atoi(string(w.Failure)); err != nil || n < 400 || n > 599 {
			p.Add("failure", fmt.Sprintf("%q", string(w.Failure)), "expected a status from 400 to 599, %s, %s or %s", ResetAnswer, CloseAnswer, CutAnswer)
		}
	}
	check.Between(p, "status", w.Status, 200, 599)
	check.OneOf(p, "trickle", w.Trickle, Silence, TrickleHeaders, TrickleBody)
	check.Between(p, "body", w.Body, 0, mostBody)
}

// FailureStatus is the status of an attempt that fails; 0 where there is none.
func (w *Wire) FailureStatus() int {
	n, err := strconv.Atoi(string(w.Failure))
	if err != nil {
		return 0
	}
	return n
}

// Cause is what a caller sees in an attempt that fails. Without a wire it is a
// failure.
func (w *Wire) Cause() record.Cause {
	if w != nil {
		switch w.Failure {
		case ResetAnswer, CloseAnswer:
			return record.Reset
		case CutAnswer:
			return record.Stream
		}
	}
	return record.Failure
}
