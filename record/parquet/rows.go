package parquet

import (
	"fmt"
	"time"

	"brunt/record"

	pq "github.com/parquet-go/parquet-go"
)

// The files of a run's rows.
const (
	RequestsFile = "requests.parquet"
	AttemptsFile = "attempts.parquet"
	EventsFile   = "events.parquet"
)

// columnsOf makes the columns of a file for the rows of one composition. New
// ones go to the end: a file says how many it was made with.
type columnsOf[R any] func(composition string, dependencies []string) []column[R]

func requestColumns(composition string, dependencies []string) []column[record.Request] {
	type row = record.Request
	// Nobody served it: the null after the dependencies' names.
	servers := append(dependencies[:len(dependencies):len(dependencies)], "")
	nobody := len(dependencies)
	return []column[row]{
		always[row]("composition", composition),
		wide("request", func(r *row) *int64 { return &r.Index }),
		instant("intended_ns", func(r *row) *time.Duration { return &r.Intended }),
		maybe("submitted_ns", func(r *row) *time.Duration { return &r.Submitted }),
		instant("end_ns", func(r *row) *time.Duration { return &r.End }),
		enum("outcome", func(r *row) *record.Outcome { return &r.Outcome }),
		enum("cause", func(r *row) *record.Cause { return &r.Cause }),
		narrow("attempts", func(r *row) *int32 { return &r.Attempts }),
		narrow("refusals", func(r *row) *int32 { return &r.Refusals }),
		named("served_by", servers, func(r *row) int {
			switch at := int(r.ServedBy); at {
			case -1:
				return nobody
			case nobody:
				return nobody + 1 // past the last dependency: no name
			default:
				return at
			}
		}, func(r *row, at int) {
			if at == nobody {
				at = -1
			}
			r.ServedBy = int32(at)
		}),
		maybe("first_token_ns", func(r *row) *time.Duration { return &r.FirstToken }),
		amount("cost", func(r *row) *float64 { return &r.Cost }),
		narrow("denied", func(r *row) *int32 { return &r.Denied }),
		narrow("caller", func(r *row) *int32 { return &r.Caller }),
	}
}

func attemptColumns(composition string, dependencies []string) []column[record.Attempt] {
	type row = record.Attempt
	return []column[row]{
		always[row]("composition", composition),
		wide("request", func(a *row) *int64 { return &a.Request }),
		instant("intended_ns", func(a *row) *time.Duration { return &a.Intended }),
		narrow("index", func(a *row) *int32 { return &a.Index }),
		named("dependency", dependencies,
			func(a *row) int { return int(a.Dependency) },
			func(a *row, at int) { a.Dependency = int32(at) }),
		narrow("nth", func(a *row) *int32 { return &a.Nth }),
		enum("why", func(a *row) *record.Why { return &a.Why }),
		instant("start_ns", func(a *row) *time.Duration { return &a.Start }),
		instant("end_ns", func(a *row) *time.Duration { return &a.End }),
		attemptOutcome(),
		attemptCancelled(),
		instant("cleanup_end_ns", func(a *row) *time.Duration { return &a.CleanupEnd }),
		instant("cleanup_ns", func(a *row) *time.Duration { return &a.Cleanup }),
		flag("pending", func(a *row) *bool { return &a.Pending }),
		maybe("first_token_ns", func(a *row) *time.Duration { return &a.FirstToken }),
		amount("cost", func(a *row) *float64 { return &a.Cost }),
		flag("again", func(a *row) *bool { return &a.Again }),
		narrow("parent", func(a *row) *int32 { return &a.Parent }),
		narrow("replica", func(a *row) *int32 { return &a.Replica }),
		instant("wait_ns", func(a *row) *time.Duration { return &a.Wait }),
		instant("busy_ns", func(a *row) *time.Duration { return &a.Busy }),
		flag("wasted", func(a *row) *bool { return &a.Wasted }),
		maybe("wrote_ns", func(a *row) *time.Duration { return &a.Wrote }).later(func(a *row) { a.Wrote = record.Never }),
		narrow("status", func(a *row) *int32 { return &a.Status }).later(func(a *row) { a.Status = 0 }),
		known("tokens", -1, func(a *row) *int64 { return &a.Tokens }).later(func(a *row) { a.Tokens = -1 }),
		durations("gaps_ns", func(a *row) *[]time.Duration { return &a.Gaps }).later(func(a *row) { a.Gaps = nil }),
	}
}

// attemptOutcome is the attempt's outcome as [record.Attempt.Outcome] has it:
// cancelled, or what its cause says. Both are read back from it.
func attemptOutcome() column[record.Attempt] {
	var list []string
	for c := range members[record.Cause]() {
		list = append(list, (&record.Attempt{Cause: record.Cause(c)}).Outcome())
	}
	cancelled := len(list)
	list = append(list, (&record.Attempt{Cancelled: true}).Outcome())

	return named("outcome", list, func(a *record.Attempt) int {
		switch {
		case a.Cancelled && a.Cause != record.None:
			return -1 // the file has one word for both
		case a.Cancelled:
			return cancelled
		case int(a.Cause) >= cancelled:
			return cancelled + 1 // no such cause: no name
		}
		return int(a.Cause)
	}, func(a *record.Attempt, at int) {
		a.Cancelled = at == cancelled
		a.Cause = record.None
		if !a.Cancelled {
			a.Cause = record.Cause(at)
		}
	})
}

// attemptCancelled repeats what the outcome says, for those who filter by it;
// it stands after the outcome, and must agree.
func attemptCancelled() column[record.Attempt] {
	c := flag("cancelled", func(a *record.Attempt) *bool { return &a.Cancelled })
	c.read = func(rows []record.Attempt, values []pq.Value) error {
		for i, v := range values {
			if v.Boolean() != rows[i].Cancelled {
				return fmt.Errorf("column cancelled: %t contradicts the outcome %s", v.Boolean(), rows[i].Outcome())
			}
		}
		return nil
	}
	return c
}

func eventColumns(composition string, _ []string) []column[record.Event] {
	type row = record.Event
	return []column[row]{
		instant("instant_ns", func(e *row) *time.Duration { return &e.At }),
		always[row]("composition", composition),
		free("stage", func(e *row) *string { return &e.Stage }),
		free("what", func(e *row) *string { return &e.What }),
		free("state", func(e *row) *string { return &e.State }),
		wide("value", func(e *row) *int64 { return &e.Value }),
		narrow("caller", func(e *row) *int32 { return &e.Caller }),
	}
}

// unique refuses names that could not be told apart, or from no name at all.
func unique(what string, names []string) error {
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("%s %d has no name", what, i)
		}
		if seen[name] {
			return fmt.Errorf("two of the same name: %s %q", what, name)
		}
		seen[name] = true
	}
	return nil
}
