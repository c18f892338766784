package measure

import (
	"math"
	"slices"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawn draws a run of the plan twoPhases: any mix of outcomes, many ties. If
// early, some are censored before the horizon.
func drawn(t *rapid.T, early bool) *rows {
	const us = time.Microsecond
	r := &rows{}
	between := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	at := time.Duration(0)
	for i := range int64(between("requests", 0, 40)) {
		at += time.Duration(between("gap", 0, 20)) * 500 * us
		q := ended(i, at, time.Duration(between("latency", 0, 8))*5*ms, record.Completed, record.None)
		q.Submitted += time.Duration(between("lag", 0, 2)) * 300 * us
		q.Refusals = int32(max(between("refusals", -3, 2), 0))
		q.Attempts = int32(between("attempts", 0, 3))
		for n := range q.Attempts {
			a := record.Attempt{Request: i, Intended: at, Index: n, Dependency: int32(between("dependency", 0, 1)),
				Why: record.Why(between("why", 0, 3)), Start: at + time.Duration(between("start", 0, 60))*ms,
				Cancelled: rapid.Bool().Draw(t, "cancelled"), Pending: rapid.Bool().Draw(t, "pending"),
				Cost: float64(between("cost", 0, 3)) * 0.1, Cleanup: time.Duration(between("clean-up", 0, 3)) * ms}
			r.attempts = append(r.attempts, a)
		}
		switch between("outcome", 0, 5) {
		case 0:
			q.Outcome, q.Cause = record.Errored, rapid.SampledFrom(record.Causes()).Draw(t, "cause")
			if q.Cause == record.Harness {
				q.Submitted, q.End = record.Never, q.Intended
			}
		case 1:
			q.Outcome, q.End = record.Censored, q.Intended+time.Second
			if early {
				q.End = q.Intended + time.Duration(between("latency", 0, 8))*5*ms
			}
		default:
			q.ServedBy = int32(between("served by", 0, 1))
			if rapid.Bool().Draw(t, "stream") {
				q.FirstToken = q.Intended + time.Duration(between("first token", 0, 4))*ms
			}
		}
		r.requests = append(r.requests, q)
	}
	return r
}

// in returns the requests of one phase of twoPhases, 2 for both.
func (r *rows) in(phase int) []record.Request {
	var list []record.Request
	for _, q := range r.requests {
		if phase == 2 || (q.Intended >= 100*ms) == (phase == 1) {
			list = append(list, q)
		}
	}
	return list
}

// naive is the nearest rank by sorting.
func naive(xs []time.Duration, q PPM) *Millis {
	if len(xs) == 0 {
		return nil
	}
	slices.Sort(xs)
	v := Millis(xs[Rank(q, int64(len(xs)))-1])
	return &v
}

// Whatever the rows, the numbers are those of plain counting over them, one
// at a time, and the incidence is the curve's.
func TestRecorderCountsLikeABook(t *testing.T) {
	for _, early := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			run := drawn(t, early)
			c, err := run.composition(twoPhases())
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range append(slices.Clone(c.Phases), c.Whole) {
				checkPhase(t, p, run.in(i))
			}
			checkHerd(t, c.Herd, run.attempts)
			checkTimeline(t, c.Timeline, run)
		})
	}
}

func checkPhase(t *rapid.T, p Phase, requests []record.Request) {
	var done, lags, tokens []time.Duration
	var curve []Observation
	want := Phase{Offered: int64(len(requests)), Causes: map[string]int64{}}
	for _, c := range record.Causes() {
		want.Causes[c.String()] = 0
	}
	for _, q := range requests {
		curve = append(curve, Observation{q.Latency(), q.Outcome})
		want.Attempts += int64(q.Attempts)
		if q.Attempts > 0 {
			want.Admitted++
		}
		if q.Submitted != record.Never {
			want.Submitted++
			lags = append(lags, q.Submitted-q.Intended)
		}
		switch q.Outcome {
		case record.Completed:
			want.Completed++
			done = append(done, q.Latency())
			if q.FirstToken != record.Never {
				tokens = append(tokens, q.FirstToken-q.Intended)
			}
		case record.Errored:
			want.Errored++
			want.Causes[q.Cause.String()]++
		case record.Censored:
			want.Censored++
		}
	}
	got := Phase{Offered: p.Offered, Submitted: p.Submitted, Admitted: p.Admitted, Attempts: p.Attempts,
		Completed: p.Completed, Errored: p.Errored, Censored: p.Censored, Causes: p.Causes}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", p.Name, diff)
	}
	values := []*Millis{p.Latency.Completed.P50, p.Latency.Completed.P95, p.Latency.Completed.P99, p.Latency.Completed.Max, p.SchedulerLag.P99, p.SchedulerLag.Max}
	naives := []*Millis{naive(done, 500_000), naive(done, 950_000), naive(done, 990_000), naive(done, Million), naive(lags, 990_000), naive(lags, Million)}
	if diff := cmp.Diff(naives, values); diff != "" {
		t.Fatalf("%s: percentiles (-want +got):\n%s", p.Name, diff)
	}
	if first := p.Latency.FirstToken; (first == nil) != (tokens == nil) || first != nil && *first.P95 != *naive(tokens, 950_000) {
		t.Fatalf("%s: first tokens %+v of %v", p.Name, first, tokens)
	}
	checkSubmitted(t, p, requests)
	checkIncidence(t, p.Incidence, NewCurve(curve, time.Second))
}

// A percentile over all submitted takes the censored as never ended, and is
// no number above the time at which one was last seen.
func checkSubmitted(t *rapid.T, p Phase, requests []record.Request) {
	var times []time.Duration
	seen := Millis(math.MaxInt64 - 1)
	for _, q := range requests {
		switch {
		case q.Submitted == record.Never:
		case q.Outcome == record.Censored:
			times, seen = append(times, math.MaxInt64), min(seen, Millis(q.Latency()))
		default:
			times = append(times, q.Latency())
		}
	}
	s := p.Latency.Submitted
	for i, got := range []*Millis{s.P50, s.P95, s.P99, s.Max} {
		want := naive(times, percentiles[i])
		if want != nil && *want > seen {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" || got == nil && s.Reason == "" {
			t.Fatalf("%s: %v of submitted (-want +got):\n%s%q", p.Name, percentiles[i], diff, s.Reason)
		}
	}
}

func checkIncidence(t *rapid.T, got Incidence, c *Curve) {
	if c.Scheduled == 0 {
		if got.Final != nil || got.Quantiles[0].Status != Empty {
			t.Fatalf("incidence of nothing: %+v", got)
		}
		return
	}
	if math.Abs(*got.Final-c.Final()) > 1e-12 || math.Abs(*got.Ceiling-c.Ceiling()) > 1e-12 || got.CensoredBeforeHorizon != c.CensoredBeforeHorizon {
		t.Fatalf("final %v, ceiling %v, %d early; the curve says %v, %v, %d", *got.Final, *got.Ceiling, got.CensoredBeforeHorizon, c.Final(), c.Ceiling(), c.CensoredBeforeHorizon)
	}
	for i, q := range reported {
		if diff := cmp.Diff(withInterval(c, q), got.Quantiles[i]); diff != "" {
			t.Fatalf("%v (-curve +got):\n%s", q, diff)
		}
	}
}

func checkHerd(t *rapid.T, h Herd, attempts []record.Attempt) {
	want := map[Millis]HerdBucket{}
	for _, a := range attempts {
		from := Millis(a.Start / (20 * ms) * (20 * ms))
		b := want[from]
		b.From = from
		b.Attempts++
		if a.Why == record.Retry {
			b.Retries++
		}
		want[from] = b
	}
	got := map[Millis]HerdBucket{}
	var peak, retries int64
	for _, b := range h.Buckets {
		got[b.From] = b
		peak, retries = max(peak, b.Attempts), max(retries, b.Retries)
	}
	if diff := cmp.Diff(want, got); diff != "" || h.Peak != peak || h.RetryPeak != retries {
		t.Fatalf("herd, peaks %d and %d (-want +got):\n%s", h.Peak, h.RetryPeak, diff)
	}
}

func checkTimeline(t *rapid.T, line Timeline, run *rows) {
	n := len(line.Offered)
	stepOf := func(at time.Duration) int { return min(int(at/ms), n-1) }
	var p50 []*Millis
	for i := range n {
		start, flying, attempts := time.Duration(i)*ms, int64(0), int64(0)
		var count [3]int64
		var done []time.Duration
		for _, q := range run.requests {
			if q.Submitted != record.Never && q.Submitted < start && q.End > start {
				flying++
			}
			if stepOf(q.Intended) == i {
				count[q.Outcome]++
				if q.Outcome == record.Completed {
					done = append(done, q.Latency())
				}
			}
		}
		for _, a := range run.attempts {
			if int(a.Start/ms) == i { // what starts while the run drains is in no step
				attempts++
			}
		}
		errors := int64(0)
		for _, series := range line.Errored {
			errors += series[i]
		}
		got := []int64{line.Offered[i], line.Completed[i], errors, line.Censored[i], line.Attempts[i], line.InFlight[i]}
		want := []int64{count[0] + count[1] + count[2], count[record.Completed], count[record.Errored], count[record.Censored], attempts, flying}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", i, diff)
		}
		p50 = append(p50, naive(done, 500_000))
	}
	if diff := cmp.Diff(p50, line.P50); diff != "" {
		t.Fatalf("p50 by step (-want +got):\n%s", diff)
	}
}

// The order in which rows come changes nothing.
func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := drawn(t, true)
		run.events = []record.Event{{What: record.WhatPeakRequests, Value: 3}, {What: record.WhatPeakRequests, Value: 9},
			{What: record.WhatPeakAttempts, Value: 4}, {What: record.WhatPeakAttempts, Value: 2}}
		if rapid.Bool().Draw(t, "wrong") {
			for i := range run.requests { // which fault is told of must not depend on it either
				if i%3 == 0 {
					run.requests[i].ServedBy = 7
				}
			}
		}
		want, wantErr := run.composition(twoPhases())
		got, err := (&rows{
			requests: rapid.Permutation(run.requests).Draw(t, "requests"),
			attempts: rapid.Permutation(run.attempts).Draw(t, "attempts"),
			events:   rapid.Permutation(run.events).Draw(t, "events"),
		}).composition(twoPhases())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-in order +permuted):\n%s", diff)
		}
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("in order %v, permuted %v", wantErr, err)
		}
	})
}
