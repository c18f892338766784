package parquet

import (
	"os"
	"testing"
	"time"

	"brunt/record"
)

// outageRows feeds what one composition of the outage study makes: 12,000
// requests, 11,250 attempts and 10,000 events, with times that look alike.
func outageRows(sink record.Sink) {
	const requests = 12_000
	queue := int64(0)
	var r record.Request // made once: they go through an interface
	var a record.Attempt
	var e record.Event
	for i := range int64(requests) {
		at := time.Duration(i) * 10 * time.Millisecond
		r = record.Request{Index: i, Intended: at, Submitted: at, FirstToken: record.Never, ServedBy: -1}
		switch i % 16 {
		case 0: // shed: not submitted
			r.Submitted, r.End, r.Outcome, r.Cause = record.Never, at, record.Errored, record.Harness
		case 1: // refused at once
			r.End, r.Outcome, r.Cause, r.Refusals = at, record.Errored, record.Circuit, 1
		default:
			r.End, r.ServedBy, r.Attempts = at+5*time.Millisecond+time.Duration(i*7919%1000), 0, 1
		}
		for n := range r.Attempts {
			a = record.Attempt{Request: i, Intended: at, Index: n, Start: at, End: r.End, CleanupEnd: r.End, FirstToken: record.Never, Wrote: record.Never, Tokens: -1}
			if i%5 == 0 {
				a.Cancelled, a.CleanupEnd, a.Cleanup = true, r.End+20*time.Millisecond, 20*time.Millisecond
			}
			sink.Attempt(&a)
		}
		if i%6 != 0 {
			queue = (queue + i*31) % 16
			e = record.Event{At: at, Stage: "0.limit", What: record.WhatPermits, Value: queue}
			sink.Event(&e)
		}
		sink.Request(&r)
	}
}

// BenchmarkOutage writes the rows of the outage study: 48,000 requests, 42,000
// attempts and 40,000 events of four compositions.
func BenchmarkOutage(b *testing.B) {
	names := []string{"retry", "retry-breaker", "limit-retry-breaker", "limit-hedge-breaker"}
	dir := b.TempDir()
	b.ReportAllocs()
	for b.Loop() {
		w, err := Create(dir, names, []string{"service"})
		if err != nil {
			b.Fatal(err)
		}
		for i := range names {
			outageRows(w.Composition(i))
			w.Composition(i).Close()
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	size := int64(0)
	for _, name := range []string{RequestsFile, AttemptsFile, EventsFile} {
		info, err := os.Stat(dir + "/" + name)
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	b.ReportMetric(float64(size)/1e3, "kB")
}

// BenchmarkFeed is the cost of a row to the one who feeds it.
func BenchmarkFeed(b *testing.B) {
	w, err := Create(b.TempDir(), []string{"one"}, []string{"service"})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Abort()
	// Full batches are thrown away, so that only the copying is measured.
	w.requests.halt()
	sink := w.Composition(0)
	r := record.Request{ServedBy: -1}
	b.ReportAllocs()
	for b.Loop() {
		sink.Request(&r)
	}
}
