package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/record"
)

// siteOf feeds a recorder for a fault at 10 s that b suffers, with a baseline
// from 1 s to 8 s.
func siteOf(feed func(r *SiteRecorder)) *SiteRecorder {
	const s = time.Second
	r := NewSiteRecorder(SitePlan{Replicas: []string{"a", "b"}, Victim: "b", Fire: 10 * s, Baseline: Span{Name: "baseline", From: s, To: 8 * s}})
	feed(r)
	return r
}

// The shares are of first attempts intended in the baseline that an answer names
// a replica for; retries and other windows have no part in them.
func TestReplicaShares(t *testing.T) {
	attempt := func(at time.Duration, replica int32, why record.Why) *record.Attempt {
		return &record.Attempt{Intended: at, Replica: replica, Why: why}
	}
	r := siteOf(func(r *SiteRecorder) {
		for range 3 {
			r.Attempt(attempt(2*time.Second, 0, record.First))
		}
		r.Attempt(attempt(7*time.Second, 1, record.First))
		r.Attempt(attempt(7*time.Second, 1, record.Retry))              // a second try of a request
		r.Attempt(attempt(8*time.Second, 1, record.First))              // the guard
		r.Attempt(attempt(999*time.Millisecond, 1, record.First))       // the warm-up
		r.Attempt(attempt(3*time.Second, record.Unnamed, record.First)) // no answer
		r.Event(&record.Event{At: 2 * time.Second, What: record.WhatWaiting, Stage: "a", Value: 1})
		r.Event(&record.Event{At: 3 * time.Second, What: record.WhatWaiting, Stage: "a", Value: 2})
		r.Event(&record.Event{At: 9 * time.Second, What: record.WhatWaiting, Stage: "a", Value: 900})
	})
	got := r.Site(nil, record.Never)
	three, quarter, mean := 0.75, 0.25, 1.5
	want := []ReplicaShare{
		{Replica: "a", Requests: 3, Share: &three, Waiting: &mean},
		{Replica: "b", Requests: 1, Share: &quarter, WaitingReason: "not measured: nobody asked this replica for its queue"},
	}
	if diff := cmp.Diff(want, got.Shares); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
	if got.Unnamed != 1 {
		t.Errorf("%d unnamed, want 1", got.Unnamed)
	}
}

// Who had a request at the fire is what the front says, also where no answer
// came back.
func TestVictimsInFlight(t *testing.T) {
	const s = time.Second
	request := func(index int64, from, to time.Duration, o record.Outcome) *record.Request {
		return &record.Request{Index: index, Intended: from, End: to, Outcome: o, FirstToken: record.Never}
	}
	r := siteOf(func(r *SiteRecorder) {
		r.Request(request(1, 9*s, 11*s, record.Completed))  // of a
		r.Request(request(2, 9*s, 10*s, record.Errored))    // of b: ends as the fault fires, still open
		r.Request(request(3, 9*s, 39*s, record.Censored))   // of b
		r.Request(request(4, 8*s, 9*s, record.Completed))   // over before
		r.Request(request(5, 10*s, 12*s, record.Completed)) // arrives as the fault fires, not yet
		for index, name := range map[int64]string{1: "a", 2: "b", 3: "b", 4: "b"} {
			r.Event(&record.Event{At: 9 * s, What: record.WhatRoute, Stage: name, State: "routed", Value: index})
		}
	})
	got := r.InFlight()
	if got.Victim == nil || got.All.Open != 3 || got.Victim.Open != 2 || got.Victim.Errored != 1 || got.Victim.Censored != 1 || got.Others.Open != 1 {
		t.Errorf("in flight: all %+v, victim %+v, others %+v", got.All, got.Victim, got.Others)
	}
	if unknown := siteOf(func(r *SiteRecorder) { r.Request(request(1, 9*s, 11*s, record.Completed)) }).InFlight(); unknown.Victim != nil || unknown.Reason == "" {
		t.Errorf("without a log the victims are %+v (%s)", unknown.Victim, unknown.Reason)
	}
}

// The segments are told from the first sight of each instant; one that was not
// seen is N/A with the reason, and so are those beside it.
func TestSegments(t *testing.T) {
	const ms = time.Millisecond
	at := func(r *SiteRecorder, d time.Duration, what, stage, state string) {
		r.Event(&record.Event{At: d, What: what, Stage: stage, State: state})
	}
	all := func(r *SiteRecorder) {
		at(r, 10_001*ms, record.WhatFault, "b", "fired")
		at(r, 10_020*ms, record.WhatFault, "b", "effect")
		at(r, 10_015*ms, record.WhatFault, "b", "effect") // seen first
		at(r, 5_000*ms, record.WhatRoute, "b", "down")    // before the fault: not its
		at(r, 11_015*ms, record.WhatRoute, "b", "down")
		at(r, 10_500*ms, record.WhatRoute, "b", "routed")
		at(r, 11_500*ms, record.WhatRoute, "b", "routed") // taken out by then
		at(r, 14_000*ms, record.WhatFault, "b", "started")
		at(r, 18_000*ms, record.WhatFault, "b", "heal")
		at(r, 19_000*ms, record.WhatProbe, "b", "ready")
	}
	lengths := func(f *RealFault) (list []time.Duration) {
		for _, s := range f.Segments {
			if s.Length == nil {
				list = append(list, record.Never)
			} else {
				list = append(list, time.Duration(*s.Length))
			}
		}
		return list
	}
	f := siteOf(all).Site(nil, 25_000*ms).Fault
	if diff := cmp.Diff([]time.Duration{1000 * ms, 3985 * ms, 4000 * ms, 1000 * ms, 6000 * ms}, lengths(f)); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	if f.Stale == nil || time.Duration(*f.Stale) != 1000*ms || f.Misrouted != 1 {
		t.Errorf("stale %v, misrouted %d: want 1 s and 1", f.Stale, f.Misrouted)
	}
	// Goodput that is back before the victim is leaves the last part without length.
	early := siteOf(all).Site(nil, 12_000*ms).Fault.Segments[4]
	if early.Length != nil || early.Reason == "" {
		t.Errorf("the last segment is %+v", early)
	}
	// Nothing was seen.
	for _, s := range siteOf(func(*SiteRecorder) {}).Site(nil, record.Never).Fault.Segments {
		if s.Length != nil || s.Reason == "" {
			t.Errorf("segment %s: %v, %q", s.Name, s.Length, s.Reason)
		}
	}
}

// Gaps are called inter-token only where every stream had one piece a token.
func TestChunkGaps(t *testing.T) {
	const ms = time.Millisecond
	stream := func(at time.Duration, tokens int64, gaps ...time.Duration) *record.Attempt {
		return &record.Attempt{Intended: at, Gaps: gaps, Tokens: tokens}
	}
	windows := []Window{{BaselineWindow, time.Second, 2 * time.Second}, {FaultWindow, 2 * time.Second, 3 * time.Second}}
	r := siteOf(func(r *SiteRecorder) { r.Attempt(stream(time.Second, 3, 10*ms, 30*ms)) })
	got := r.Site(windows, record.Never).Chunks
	if len(got) != 2 || got[0].Name != "inter-token" || got[0].Gaps != 2 || time.Duration(*got[0].Times.Max) != 30*ms || time.Duration(*got[0].Times.P50) != 10*ms {
		t.Errorf("gaps of a stream with a piece a token: %+v", got)
	}
	if got[1].Times.P50 != nil || got[1].Times.Reason == "" {
		t.Errorf("a window without streams: %+v", got[1])
	}
	r.Attempt(stream(2*time.Second, 9, 10*ms)) // two pieces, nine tokens
	if got := r.Site(windows, record.Never).Chunks; got[0].Name != "inter-chunk" {
		t.Errorf("with pieces of several tokens they are called %s", got[0].Name)
	}
	r = siteOf(func(r *SiteRecorder) { r.Attempt(stream(time.Second, -1, 10*ms)) }) // the target does not count
	if got := r.Site(nil, record.Never).Chunks; got[0].Name != "inter-chunk" {
		t.Errorf("without the target's count they are called %s", got[0].Name)
	}
}

// Behind a front of the user's own nothing tells but the load: traffic is back
// with the first answer of the victim to a request that left once it was well;
// when it was taken out is not known.
func TestRestoredByTheLoad(t *testing.T) {
	const s = time.Second
	r := siteOf(func(r *SiteRecorder) {
		for _, a := range []record.Attempt{
			{Start: 11 * s, End: 16 * s, Replica: 1},                       // left before it was well
			{Start: 17 * s, End: 20 * s, Replica: 0},                       // of another
			{Start: 18 * s, End: 22 * s, Replica: 1, Cause: record.Status}, // failed
			{Start: 19 * s, End: 21 * s, Replica: 1},
			{Start: 18 * s, End: 23 * s, Replica: 1},
		} {
			r.Attempt(&a)
		}
		r.Event(&record.Event{At: 10 * s, What: record.WhatFault, Stage: "b", State: "effect"})
		r.Event(&record.Event{At: 15 * s, What: record.WhatFault, Stage: "b", State: "heal"})
	})
	f := r.Site(nil, record.Never).Fault
	if got := f.Segments[3]; got.Length == nil || time.Duration(*got.Length) != 6*s {
		t.Errorf("replica ready to traffic restored: %+v", got)
	}
	if f.Stale != nil || f.StaleReason != "not measured: the front does not tell when it takes a replica out" {
		t.Errorf("stale %v: %s", f.Stale, f.StaleReason)
	}
}
