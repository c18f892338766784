package brunttest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/lab"
	"brunt/record"
)

// Dependency is a simulated dependency of the study, as a client calls it. All
// its methods may be called from any goroutine of the bubble; a call before the
// first request, or after the last, is not answered.
type Dependency struct {
	door   *lab.Door
	bubble *bubble
	target int
	names  []string
}

// Name returns its name in the study.
func (d Dependency) Name() string { return d.names[d.target] }

// Named returns another dependency of the study. It panics when there is none of
// that name, which ends the test.
func (d Dependency) Named(name string) Dependency {
	i := slices.Index(d.names, name)
	if i < 0 {
		panic(fmt.Sprintf("brunttest: the study has no dependency %q: expected one of %s", name, strings.Join(d.names, ", ")))
	}
	d.target = i
	return d
}

// Do calls the dependency once, and returns nil when it has answered: an [Error]
// when it has failed, and the context's error when that ended first. The context
// says which request the call belongs to.
func (d Dependency) Do(ctx context.Context) error {
	reply := d.door.Call(ctx, d.target, "")
	switch {
	case reply.Err != nil:
		return reply.Err
	case reply.Cause != record.None:
		return &Error{d.Name(), reply.Cause, reply.RetryAfter}
	}
	return nil
}

// Cleanup has f called after the last request, in the bubble: for what must be
// closed so that no goroutine stays behind. It must be called before the first
// request.
func (d Dependency) Cleanup(f func()) { d.bubble.cleanups = append(d.bubble.cleanups, f) }

// Error is a failure of the dependency itself.
type Error struct {
	Dependency string
	Cause      Cause
	RetryAfter time.Duration // how long it asks to wait before a retry; 0 when it does not
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("dependency %s: %v", e.Dependency, e.Cause) }

// Request returns the request that a context carries, as the header
// X-Brunt-Request names it; "" for none.
func Request(ctx context.Context) string {
	index, ok := lab.Request(ctx)
	if !ok {
		return ""
	}
	return strconv.FormatInt(index, 10)
}
