// Package conformance puts well-known Go libraries into small scenarios, each
// about one question on which such libraries differ, and compares what is seen
// with what brunt's design says and with what the library's own documentation
// does.
//
// A scenario is a study of its own (package studies), which the command also runs
// alone: go run -C adapters . run studies/conformance-stale-results.yaml. Times
// are virtual; a run takes a second or two.
//
// A finding that differs is no fault by itself: where the library documents what
// it does, the finding says so. The standard is a choice, and libraries make
// another one for good reasons.
//
// [Run] may be called from any goroutine, one call at a time.
package conformance
