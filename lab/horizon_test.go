package lab

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/clock"
	"brunt/policy"
	"brunt/record"
)

// lastRequest keeps the row of the last request.
type lastRequest struct {
	nowhere
	row record.Request
}

func (l *lastRequest) Request(q *record.Request) { l.row = *q }

// TestAnswersPastTheHorizon: what a late loop hears of an answer before it sees
// to the horizon makes no answer in time of it.
func TestAnswersPastTheHorizon(t *testing.T) {
	s := read(t, "outage", "horizon=1s")
	x := s.Compositions.Names()[0]
	const intended = 500 * time.Millisecond
	whole := record.Request{Intended: intended, Submitted: intended, FirstToken: record.Never, ServedBy: -1}
	for name, c := range map[string]struct {
		at      time.Duration // of the answer, on the loop's clock
		outcome policy.Outcome
		want    record.Request
	}{
		"in time": {at: intended + 999*time.Millisecond, outcome: policy.Completed(0, record.Never), want: record.Request{
			Outcome: record.Completed, ServedBy: 0, FirstToken: record.Never, End: intended + 999*time.Millisecond}},
		"just in time": {at: intended + time.Second, outcome: policy.Completed(0, intended+time.Second), want: record.Request{
			Outcome: record.Completed, ServedBy: 0, FirstToken: intended + time.Second, End: intended + time.Second}},
		"too late": {at: intended + time.Second + 1, outcome: policy.Completed(0, intended+time.Second), want: record.Request{
			Outcome: record.Censored, ServedBy: -1, FirstToken: record.Never, End: intended + time.Second}},
		"a failure that is too late": {at: intended + 2*time.Second, outcome: policy.Ended(record.Reset), want: record.Request{
			Outcome: record.Censored, ServedBy: -1, FirstToken: record.Never, End: intended + time.Second}},
		"a failure in time": {at: intended + time.Millisecond, outcome: policy.Ended(record.Reset), want: record.Request{
			Outcome: record.Errored, Cause: record.Reset, ServedBy: -1, FirstToken: record.Never, End: intended + time.Millisecond}},
	} {
		got := &lastRequest{}
		r := newRunner(clock.Virtual(), s, x, s.Schedule(), got, false)
		r.inFlight, r.instant = 1, c.at
		q := r.newRequest()
		q.row = whole
		q.Ended(c.outcome)
		c.want.Intended, c.want.Submitted = intended, intended
		if d := cmp.Diff(c.want, got.row); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
