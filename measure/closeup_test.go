package measure

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/record"
)

func closeupPlan() Plan {
	return Plan{
		Phases:       []Span{{"calm", 0, 10 * time.Second}, {"storm", 10 * time.Second, 30 * time.Second}},
		Dependencies: []string{"service"}, Horizon: 5 * time.Second, Sampled: true,
	}
}

// trip is a request with its attempts.
type trip struct {
	request  record.Request
	attempts []record.Attempt
}

func drawTrips(t *rapid.T) []trip {
	var trips []trip
	for i := range rapid.IntRange(0, 120).Draw(t, "requests") {
		at := time.Duration(i) * 250 * time.Millisecond
		q := record.Request{Index: int64(i), Intended: at, Submitted: at, FirstToken: record.Never, ServedBy: -1}
		took := time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "took"))
		q.Outcome = rapid.SampledFrom([]record.Outcome{record.Completed, record.Errored, record.Censored}).Draw(t, "outcome")
		if q.Outcome == record.Errored {
			q.Cause = rapid.SampledFrom([]record.Cause{record.Failure, record.Circuit}).Draw(t, "cause")
		}
		if q.Outcome == record.Censored {
			took = 5 * time.Second
		}
		q.End = at + took
		x := trip{request: q}
		for n := range rapid.IntRange(0, 3).Draw(t, "attempts") {
			x.attempts = append(x.attempts, record.Attempt{Request: q.Index, Intended: at, Index: int32(n), Start: at + time.Duration(n), End: q.End, CleanupEnd: q.End, FirstToken: record.Never, Parent: -1})
		}
		trips = append(trips, x)
	}
	return trips
}

// live feeds a request behind its attempts, but for the last, which outlives it.
func live(trips []trip, sink record.Sink) {
	for i := range trips {
		x := &trips[i]
		for k := range x.attempts {
			if k == len(x.attempts)-1 {
				sink.Request(&x.request)
			}
			sink.Attempt(&x.attempts[k])
		}
		if len(x.attempts) == 0 {
			sink.Request(&x.request)
		}
	}
}

// A closeup is the same live, from files, and from rows in any order.
func TestCloseupDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trips := drawTrips(t)
		first := NewCloseup(closeupPlan())
		live(trips, first)
		want := first.Closeup("retry")

		files := NewCloseup(closeupPlan())
		for i := range trips {
			files.Request(&trips[i].request)
		}
		for i := range trips {
			for k := range trips[i].attempts {
				files.Attempt(&trips[i].attempts[k])
			}
		}
		if diff := cmp.Diff(want, files.Closeup("retry")); diff != "" {
			t.Fatalf("requests before attempts (-live +files):\n%s", diff)
		}
		shuffled := NewCloseup(closeupPlan())
		live(rapid.Permutation(trips).Draw(t, "order"), shuffled)
		if diff := cmp.Diff(want, shuffled.Closeup("retry")); diff != "" {
			t.Fatalf("in another order (-live +shuffled):\n%s", diff)
		}
	})
}

// Nothing is lost on the way into columns and curves, percentiles are at most a
// bin above the exact ones, and the curve is that of all rows wherever it has a
// point.
func TestCloseupCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trips := drawTrips(t)
		r := NewCloseup(closeupPlan())
		live(trips, r)
		c := r.Closeup("retry")
		byColumn := make([][]time.Duration, len(c.Columns))
		byPhase := make([][]Observation, 2)
		for i := range trips {
			q := &trips[i].request
			phase := 0
			if q.Intended >= 10*time.Second {
				phase = 1
			}
			byPhase[phase] = append(byPhase[phase], Observation{q.Latency(), q.Outcome})
			if q.Outcome == record.Completed {
				k := int(q.Intended / time.Duration(c.Step))
				byColumn[k] = append(byColumn[k], q.Latency())
			}
		}
		for i, col := range c.Columns {
			exact := byColumn[i]
			slices.Sort(exact)
			if col.Completed != int64(len(exact)) {
				t.Fatalf("column %d has %d completed, want %d", i, col.Completed, len(exact))
			}
			in := int64(0)
			for _, b := range col.Bins {
				in += b.Count
			}
			if in != col.Completed {
				t.Fatalf("column %d: its bins hold %d of %d", i, in, col.Completed)
			}
			if len(exact) == 0 {
				continue
			}
			for _, q := range []struct {
				of  PPM
				got Millis
			}{{500_000, col.P50}, {950_000, col.P95}} {
				want := exact[Rank(q.of, int64(len(exact)))-1]
				if got := time.Duration(q.got); got < want || float64(got) > float64(want)*(1+1./16)+1 {
					t.Fatalf("column %d: a percentile of %v, exactly %v", i, got, want)
				}
			}
		}
		for i, shape := range c.Curves {
			curve := NewCurve(byPhase[i], 5*time.Second)
			if shape.Offered != int64(len(byPhase[i])) || math.Abs(shape.Final-curve.Final()) > 1e-12 || math.Abs(shape.Ceiling-curve.Ceiling()) > 1e-12 {
				t.Fatalf("phase %d: %d offered, %v to %v; want %d, %v to %v", i, shape.Offered, shape.Final, shape.Ceiling, len(byPhase[i]), curve.Final(), curve.Ceiling())
			}
			for _, p := range shape.Points {
				if want := curve.At(time.Duration(p.At)); math.Abs(p.Share-want) > 1e-9 {
					t.Fatalf("phase %d at %v: %v, want %v", i, time.Duration(p.At), p.Share, want)
				}
			}
		}
	})
}

// The slowest are the slowest, every way to end is among the sample, and there
// are no more of either than there should be.
func TestCloseupSample(t *testing.T) {
	r := NewCloseup(closeupPlan())
	for i := range int64(20_000) {
		at := time.Duration(i) * time.Millisecond
		q := record.Request{Index: i, Intended: at, Submitted: at, End: at + time.Duration(i*7919%20_000)*time.Microsecond}
		if i%3 == 1 {
			q.Outcome, q.Cause = record.Errored, record.Causes()[int(i/3)%len(record.Causes())]
		}
		a := record.Attempt{Request: i, Start: at, End: q.End, Gaps: []time.Duration{1}}
		r.Attempt(&a)
		r.Request(&q)
	}
	c := r.Closeup("retry")
	slow, by := 0, map[string]int{}
	for _, x := range c.Traced {
		if len(x.Attempts) != 1 || x.Attempts[0].Gaps != nil {
			t.Errorf("request %d has attempts %v, want one, without the gaps that were lent", x.Request.Index, x.Attempts)
		}
		if x.Slow {
			slow++
			if x.Request.Latency() < 19_980*time.Microsecond || x.Request.Outcome != record.Completed {
				t.Errorf("request %d, %v after %v, counts as one of the slowest that completed", x.Request.Index, x.Request.Outcome, x.Request.Latency())
			}
			continue
		}
		by[x.Request.Cause.String()]++
	}
	if slow != mostSlow {
		t.Errorf("%d slowest, want %d", slow, mostSlow)
	}
	for _, cause := range append(record.Causes(), record.None) {
		if n := by[cause.String()]; n != mostAlike {
			t.Errorf("%d of cause %q, want %d", n, cause, mostAlike)
		}
	}
	r.Attempt(&record.Attempt{Request: -1}) // a client of its own can call without a request
	if len(r.open.rest) != 0 || len(r.traced) != len(c.Traced) {
		t.Errorf("%d attempts and %d requests are still kept", len(r.open.rest), len(r.traced))
	}
}

// Requests that stay open for long, so that others have their places in the
// table, lose no attempt.
func TestOpenedCollides(t *testing.T) {
	var o opened
	add := func(request int64, index int32) { o.add(&record.Attempt{Request: request, Index: index}) }
	add(3, 0)
	add(3+openRows, 0)
	add(3, 1)
	add(3+openRows, 1)
	if got := len(o.take(3)); got != 2 {
		t.Errorf("the first has %d attempts, want 2", got)
	}
	add(3+openRows, 2) // the place is free now, and its attempts are elsewhere
	add(3+2*openRows, 0)
	if got := len(o.take(3 + openRows)); got != 3 {
		t.Errorf("the second has %d attempts, want 3", got)
	}
	if got := len(o.take(3 + 2*openRows)); got != 1 {
		t.Errorf("the third has %d attempts, want 1", got)
	}
	if got := len(o.take(4)); got != 0 {
		t.Errorf("a request without attempts has %d", got)
	}
}

// A time lies in its bin, bins follow one another without a gap, and none is
// wider than its octave's part.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fine := rapid.SampledFrom([]int{coarseBits, fineBits}).Draw(t, "fine")
		at := time.Duration(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "time")) >> rapid.IntRange(0, bits.Len64(math.MaxInt64/4)-1).Draw(t, "shift")
		bin := binOf(at, fine)
		from, to := binStart(bin, fine), binStart(bin+1, fine)
		if at < from || at >= to {
			t.Fatalf("%d is in bin %d, from %d to %d", at, bin, from, to)
		}
		if width := to - from; width > 1 && float64(width) > float64(from)/float64(int(1)<<fine) {
			t.Fatalf("bin %d from %d is %d wide", bin, from, width)
		}
	})
}

// The time that breakers are in a state is cut at columns and at the end of the
// phases; callers are taken together.
func TestBreakerShares(t *testing.T) {
	r := NewCloseup(Plan{Phases: []Span{{"one", 0, 320 * time.Millisecond}}, Horizon: time.Second}) // 2 ms a column
	event := func(ms float64, state string, caller int32) {
		r.Event(&record.Event{At: time.Duration(ms * 1e6), Stage: "1.breaker", What: record.WhatBreaker, State: state, Caller: caller})
	}
	event(1, stateOpen, 0)
	event(5, stateHalfOpen, 0)
	event(5.5, "closed", 0)
	event(4, stateOpen, 1) // to the end
	event(7, "permits", 2)
	r.Event(&record.Event{At: 0, Stage: "0.limit", What: record.WhatPermits, Value: 3})
	all := r.Closeup("x").Breakers
	if len(all) != 1 || all[0].Stage != "1.breaker" || all[0].Callers != 3 {
		t.Fatalf("breakers %+v, want one stage of three callers", all)
	}
	third := func(parts ...float64) (s []float64) {
		for _, v := range parts {
			s = append(s, math.Round(v/3*1e9)/1e9)
		}
		return s
	}
	rounded := func(v []float64) (s []float64) {
		for _, x := range v[:4] {
			s = append(s, math.Round(x*1e9)/1e9)
		}
		return s
	}
	if diff := cmp.Diff(third(0.5, 1, 1.5, 1), rounded(all[0].Open)); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(third(0, 0, 0.25, 0), rounded(all[0].HalfOpen)); diff != "" {
		t.Errorf("half-open (-want +got):\n%s", diff)
	}
	if n := len(all[0].Open); n != 160 || rounded(all[0].Open[156:])[3] != third(1)[0] {
		t.Errorf("%d columns, the last open for %v", n, all[0].Open[n-1])
	}
}

// A closeup's columns are whole steps of the timeline, at most 160.
func TestCloseupColumns(t *testing.T) {
	for _, span := range []time.Duration{1, time.Millisecond, 999 * time.Millisecond, 2 * time.Second, time.Minute, 61 * time.Second, 24 * time.Hour} {
		t.Run(fmt.Sprint(span), func(t *testing.T) {
			plan := Plan{Phases: []Span{{"one", 0, span}}, Horizon: time.Second}
			c, step := NewCloseup(plan).Closeup("x"), stepLength(span)
			if time.Duration(c.Step)%step != 0 || len(c.Columns) > mostColumns || time.Duration(len(c.Columns))*time.Duration(c.Step) < span {
				t.Errorf("%d columns of %v, in steps of %v", len(c.Columns), time.Duration(c.Step), step)
			}
		})
	}
}

// BenchmarkCloseup is what pictures cost a run, a request.
func BenchmarkCloseup(b *testing.B) {
	r := NewCloseup(Plan{Phases: []Span{{"one", 0, time.Duration(b.N) * time.Millisecond}}, Horizon: time.Second})
	b.ReportAllocs()
	for i := range int64(b.N) {
		at := time.Duration(i) * time.Millisecond
		a := record.Attempt{Request: i, Start: at, End: at + time.Duration(i%7919)*time.Microsecond}
		r.Attempt(&a)
		q := record.Request{Index: i, Intended: at, Submitted: at, End: a.End}
		r.Request(&q)
	}
}
