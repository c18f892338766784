package measure

import (
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
)

func TestRows(t *testing.T) {
	const s = time.Second
	var rows Rows
	var sink record.Sink = &rows
	// A stream: its first token counts from the intended instant too.
	sink.Request(&record.Request{Intended: 10 * s, Submitted: 11 * s, End: 15 * s, FirstToken: 12 * s, ServedBy: 1})
	// Shed: errored at 0, with no token and nobody to serve it.
	sink.Request(&record.Request{Intended: 10 * s, Submitted: record.Never, End: 10 * s, FirstToken: record.Never, Outcome: record.Errored, Cause: record.Harness, ServedBy: -1})
	sink.Attempt(&record.Attempt{})
	sink.Event(&record.Event{})
	want := Rows{
		{Intended: 10 * s, Latency: 5 * s, FirstToken: 2 * s, Target: 1},
		{Intended: 10 * s, FirstToken: record.Never, Outcome: record.Errored, Target: -1},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rows[0].End() != 15*s || rows[1].End() != 10*s {
		t.Errorf("ends at %v and %v", rows[0].End(), rows[1].End())
	}
}
