package measure

import (
	"runtime"
	"testing"
	"time"

	"brunt/chance"
	"brunt/record"
)

// long is the plan of the outage study, at the length of n requests at 100/s.
func long(n int64) Plan {
	quarter := time.Duration(n) * 10 * ms / 4
	return Plan{
		Phases: []Span{{"healthy", 0, quarter}, {"slowdown", quarter, 2 * quarter},
			{"outage", 2 * quarter, 3 * quarter}, {"recovery", 3 * quarter, 4 * quarter}},
		Dependencies: []string{"service"},
		Horizon:      30 * time.Second,
		Recovery:     CleanWindow{Phase: 3, Window: 250 * ms, Least: 25},
		HerdBucket:   20 * ms,
		Detector:     Pinned,
		Trigger:      &Trigger{Phases: []string{"slowdown", "outage"}, From: quarter, To: 3 * quarter},
	}
}

// feed gives a recorder the i-th request of a run with scattered latencies,
// and its attempt.
func feed(r *Recorder, source chance.Source, i int64, q *record.Request, a *record.Attempt) {
	at := time.Duration(i) * 10 * ms
	latency := time.Duration(source.Draw(chance.Latency, i, 0, 0).Exp() * 1e8)
	*q = ended(i, at, latency, record.Completed, record.None)
	q.Attempts, q.ServedBy = 1, 0
	*a = record.Attempt{Request: i, Intended: at, Start: at, End: at + latency, CleanupEnd: at + latency, FirstToken: record.Never}
	r.Request(q)
	r.Attempt(a)
}

func TestWarmRecorderAllocatesNothing(t *testing.T) {
	const n = 20_000
	r := NewRecorder(long(n), n)
	var q record.Request
	var a record.Attempt
	i := int64(0)
	if allocs := testing.AllocsPerRun(n/2, func() {
		feed(r, chance.New(1), i, &q, &a)
		i++
	}); allocs != 0 {
		t.Errorf("%v allocations a request", allocs)
	}
}

func BenchmarkRequest(b *testing.B) {
	r := NewRecorder(long(int64(b.N)), int64(b.N))
	q := ended(0, 0, 5*ms, record.Completed, record.None)
	q.Attempts, q.ServedBy = 1, 0
	b.ReportAllocs()
	b.ResetTimer()
	for i := range int64(b.N) {
		q.Index, q.Intended = i, time.Duration(i)*10*ms
		q.Submitted, q.End = q.Intended, q.Intended+5*ms
		r.Request(&q)
	}
}

func BenchmarkAttempt(b *testing.B) {
	r := NewRecorder(long(int64(b.N)), int64(b.N))
	a := record.Attempt{FirstToken: record.Never}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range int64(b.N) {
		a.Request, a.Intended = i, time.Duration(i)*10*ms
		a.Start, a.End = a.Intended, a.Intended+5*ms
		r.Attempt(&a)
	}
}

// BenchmarkComposition reports what the numbers of a run cost a request, and
// the memory that a run of ten million takes until they are made.
func BenchmarkComposition(b *testing.B) {
	const n = 10_000_000
	var before, after runtime.MemStats
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		r := NewRecorder(long(n), n)
		var q record.Request
		var a record.Attempt
		for i := range int64(n) {
			feed(r, chance.New(1), i, &q, &a)
		}
		b.StartTimer()
		if _, err := r.Composition("long"); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/request")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/1e6, "MB")
}
