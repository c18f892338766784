package parquet

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows keeps every row that it is given.
type rows struct {
	Requests []record.Request
	Attempts []record.Attempt
	Events   []record.Event
}

func (k *rows) Request(r *record.Request) { k.Requests = append(k.Requests, *r) }
func (k *rows) Attempt(a *record.Attempt) {
	kept := *a
	kept.Gaps = slices.Clone(a.Gaps)
	k.Attempts = append(k.Attempts, kept)
}
func (k *rows) Event(e *record.Event) { k.Events = append(k.Events, *e) }

// feed gives the rows to a sink.
func (k *rows) feed(sink record.Sink) {
	for i := range k.Requests {
		sink.Request(&k.Requests[i])
	}
	for i := range k.Attempts {
		sink.Attempt(&k.Attempts[i])
	}
	for i := range k.Events {
		sink.Event(&k.Events[i])
	}
}

var dependencies = []string{"primary", "backup", "cache"}

// Generators of every value that a field may have.
var (
	anyInstant = rapid.OneOf(
		rapid.Map(rapid.Int64Range(0, int64(time.Hour)), func(n int64) time.Duration { return time.Duration(n) }),
		rapid.SampledFrom([]time.Duration{0, 1, math.MaxInt64, math.MinInt64, -2}),
	)
	anyMaybe  = rapid.OneOf(rapid.Just(record.Never), anyInstant)
	anyAmount = rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.SmallestNonzeroFloat64}))
	anyWord   = rapid.OneOf(rapid.SampledFrom([]string{"", "0.retry", "open", record.WhatBreaker, record.WhatPeakRequests}), rapid.String())

	anyRequest = rapid.Custom(func(t *rapid.T) record.Request {
		return record.Request{
			Index:      rapid.Int64().Draw(t, "index"),
			Intended:   anyInstant.Draw(t, "intended"),
			Submitted:  anyMaybe.Draw(t, "submitted"),
			End:        anyInstant.Draw(t, "end"),
			FirstToken: anyMaybe.Draw(t, "first token"),
			Outcome:    rapid.SampledFrom([]record.Outcome{record.Completed, record.Errored, record.Censored}).Draw(t, "outcome"),
			Cause:      anyCause.Draw(t, "cause"),
			Attempts:   rapid.Int32().Draw(t, "attempts"),
			Refusals:   rapid.Int32().Draw(t, "refusals"),
			ServedBy:   rapid.Int32Range(-1, int32(len(dependencies)-1)).Draw(t, "served by"),
			Cost:       anyAmount.Draw(t, "cost"),
		}
	})
	anyCause   = rapid.SampledFrom(append(record.Causes(), record.None))
	anyAttempt = rapid.Custom(func(t *rapid.T) record.Attempt {
		a := record.Attempt{
			Request:    rapid.Int64().Draw(t, "request"),
			Intended:   anyInstant.Draw(t, "intended"),
			Index:      rapid.Int32().Draw(t, "index"),
			Dependency: rapid.Int32Range(0, int32(len(dependencies)-1)).Draw(t, "dependency"),
			Nth:        rapid.Int32().Draw(t, "nth"),
			Why:        rapid.SampledFrom([]record.Why{record.First, record.Retry, record.Hedge, record.Fallback}).Draw(t, "why"),
			Cancelled:  rapid.Bool().Draw(t, "cancelled"),
			Pending:    rapid.Bool().Draw(t, "pending"),
			Start:      anyInstant.Draw(t, "start"),
			End:        anyInstant.Draw(t, "end"),
			CleanupEnd: anyInstant.Draw(t, "cleanup end"),
			Cleanup:    anyInstant.Draw(t, "cleanup"),
			FirstToken: anyMaybe.Draw(t, "first token"),
			Cost:       anyAmount.Draw(t, "cost"),
			Wrote:      anyMaybe.Draw(t, "wrote"),
			Status:     rapid.Int32().Draw(t, "status"),
			Tokens:     rapid.Int64Min(-1).Draw(t, "tokens"),
		}
		if gaps := rapid.SliceOfN(anyInstant, 0, 8).Draw(t, "gaps"); len(gaps) > 0 {
			a.Gaps = gaps
		}
		if !a.Cancelled { // a cancelled attempt has no cause
			a.Cause = anyCause.Draw(t, "cause")
		}
		return a
	})
	anyEvent = rapid.Custom(func(t *rapid.T) record.Event {
		return record.Event{
			At:    anyInstant.Draw(t, "at"),
			Stage: anyWord.Draw(t, "stage"),
			What:  anyWord.Draw(t, "what"),
			State: anyWord.Draw(t, "state"),
			Value: rapid.Int64().Draw(t, "value"),
		}
	})
	anyRows = rapid.Custom(func(t *rapid.T) *rows {
		return &rows{
			Requests: rapid.SliceOfN(anyRequest, -1, 20).Draw(t, "requests"),
			Attempts: rapid.SliceOfN(anyAttempt, -1, 20).Draw(t, "attempts"),
			Events:   rapid.SliceOfN(anyEvent, -1, 20).Draw(t, "events"),
		}
	})
)

// failer is a test of either kind.
type failer interface {
	Helper()
	Fatal(...any)
}

// write writes the rows of each composition, one after the other.
func write(t failer, dir string, compositions []string, of []*rows) {
	t.Helper()
	w, err := Create(dir, compositions, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	for i, rows := range of {
		rows.feed(w.Composition(i))
		w.Composition(i).Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// readBack reads the rows of one composition.
func readBack(t failer, r *Reader, composition string) *rows {
	t.Helper()
	got := new(rows)
	if err := r.Feed(composition, got); err != nil {
		t.Fatal(err)
	}
	return got
}

// Law: what is written is read, every field of every row, in its order.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.SliceOfN(anyRows, 1, 4).Draw(t, "compositions")
		var names []string
		for i := range written {
			names = append(names, fmt.Sprintf("composition %d", i))
		}
		write(t, dir, names, written)
		r, err := Read(dir, dependencies)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if diff := cmp.Diff(names, r.Compositions()); diff != "" {
			t.Fatal(diff)
		}
		for i, name := range names {
			got := readBack(t, r, name)
			if diff := differ(written[i], got); diff != "" {
				t.Fatalf("%s %s", name, diff)
			}
		}
	})
}

// differ tells how rows differ from those wanted; "" when they do not.
func differ(want, got *rows) string {
	if slices.Equal(want.Requests, got.Requests) && slices.EqualFunc(want.Attempts, got.Attempts, sameAttempt) &&
		slices.Equal(want.Events, got.Events) && slices.Equal(want.costs(), got.costs()) {
		return ""
	}
	// Slow, and for the reader of the failure alone.
	return "(-want +got):\n" + cmp.Diff(want, got) + cmp.Diff(want.costs(), got.costs())
}

// sameAttempt compares every field.
func sameAttempt(a, b record.Attempt) bool { return reflect.DeepEqual(a, b) }

// costs returns all costs to the bit: 0 is not -0.
func (k *rows) costs() []uint64 {
	var all []uint64
	for _, r := range k.Requests {
		all = append(all, math.Float64bits(r.Cost))
	}
	for _, a := range k.Attempts {
		all = append(all, math.Float64bits(a.Cost))
	}
	return all
}

// Several groups of rows and many pages: the seams lose and repeat nothing.
func TestManyRows(t *testing.T) {
	long, short := new(rows), new(rows)
	for i := range int64(64*1000 + 1500) {
		long.Request(&record.Request{Index: i, Intended: time.Duration(i * i), ServedBy: int32(i%4) - 1, Submitted: time.Duration(i%3) - 1})
	}
	outageRows(short)
	// Batches of another size than that of the reader, so that pages end in the
	// middle of what it asks for.
	odd := usual
	odd.batch, odd.group = 1000, 64*1000
	dir := t.TempDir()
	w, err := create(dir, []string{"long", "none", "short"}, dependencies, making{bounds: odd, file: createFile})
	if err != nil {
		t.Fatal(err)
	}
	long.feed(w.Composition(0))
	w.Composition(0).Close()
	short.feed(w.Composition(2)) // a whole composition waits in its queue
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Read(dir, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := len(r.requests.groups[0]); n != 2 {
		t.Errorf("%d groups of rows, expected 2: the rows in memory are not bounded as meant", n)
	}
	// Against the order of the file, and one of them twice.
	for name, want := range map[string]*rows{"short": short, "none": {}, "long": long} {
		for range 2 {
			if diff := differ(want, readBack(t, r, name)); diff != "" {
				t.Fatalf("%s %s", name, diff)
			}
		}
	}
}

// Dependencies are kept by name: another order in the study moves positions.
func TestDependenciesByName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, []string{"one"}, []*rows{{
		Requests: []record.Request{{ServedBy: 0}, {ServedBy: 2}, {ServedBy: -1}},
		Attempts: []record.Attempt{{Dependency: 1}},
	}})
	r, err := Read(dir, []string{"cache", "primary", "backup", "another"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := readBack(t, r, "one")
	want := &rows{
		Requests: []record.Request{{ServedBy: 1}, {ServedBy: 0}, {ServedBy: -1}},
		Attempts: []record.Attempt{{Dependency: 2}},
	}
	if diff := differ(want, got); diff != "" {
		t.Error(diff)
	}
}

// The bytes are a contract: no row more or less, and no machine shows in them.
func TestRepeatable(t *testing.T) {
	some := new(rows)
	outageRows(some)
	var first map[string][]byte
	for range 3 {
		dir := t.TempDir()
		write(t, dir, []string{"a", "b"}, []*rows{some, some})
		files := contents(t, dir)
		if first == nil {
			first = files
		}
		if !maps.EqualFunc(first, files, bytes.Equal) {
			t.Error("two writings of the same rows differ")
		}
	}
}
