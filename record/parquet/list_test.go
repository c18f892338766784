package parquet

import (
	"strings"
	"testing"
	"time"

	"brunt/record"

	pq "github.com/parquet-go/parquet-go"
)

// Folders written before an attempt told of its writing, status, tokens and
// gaps hold none of them. That one was, by the brunt of that time.
func TestFilesWithoutLaterColumns(t *testing.T) {
	r, err := Read("testdata/without-gaps", []string{"primary"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	want := &rows{Events: []record.Event{{What: record.WhatAborted, Caller: -1}}}
	for i := range int64(3) {
		want.Requests = append(want.Requests, record.Request{Index: i, Submitted: record.Never, FirstToken: record.Never, Attempts: 1})
		want.Attempts = append(want.Attempts, record.Attempt{Request: i, Start: 1, End: 2, CleanupEnd: 2, FirstToken: record.Never, Parent: -1,
			Wrote: record.Never, Tokens: -1})
	}
	if diff := differ(want, readBack(t, r, "one")); diff != "" {
		t.Error(diff)
	}
}

// A file that was made with a column and lacks it is not an older one.
func TestLaterColumnLost(t *testing.T) {
	dir, _ := someRows(t)
	attempts, err := newTable(dir+"/"+AttemptsFile, making{bounds: usual, file: createFile}, []string{"first", "second"}, dependencies,
		func(composition string, dependencies []string) []column[record.Attempt] {
			columns := attemptColumns(composition, dependencies)
			columns[len(columns)-1].name = "pings"
			return columns
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range attempts.queues {
		close(q)
	}
	if err := attempts.wait(); err != nil {
		t.Fatal(err)
	}
	if r, err := Read(dir, dependencies); err == nil {
		r.Close()
		t.Error("read without an error")
	} else if !strings.Contains(err.Error(), "attempts.parquet: column gaps_ns is missing") {
		t.Error(err)
	}
}

// The sink keeps gaps of its own: those of a row are good for the call alone.
func TestGapsAreLent(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, []string{"one"}, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	lent := make([]time.Duration, 2)
	want := new(rows)
	for i := range 5 {
		lent[0], lent[1] = time.Duration(i), time.Duration(i*i)
		a := record.Attempt{Index: int32(i), Gaps: lent[:i%3]}
		w.Composition(0).Attempt(&a)
		if i%3 == 0 {
			a.Gaps = nil
		}
		want.Attempt(&a)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Read(dir, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if diff := differ(want, readBack(t, r, "one")); diff != "" {
		t.Error(diff)
	}
}

// Lists that are longer than what is read at once, among rows without any:
// pages and batches end inside of them.
func TestLongLists(t *testing.T) {
	want := new(rows)
	for i := range 3000 {
		a := record.Attempt{Index: int32(i)}
		if i%97 == 0 {
			for n := range 3*usual.batch + i {
				a.Gaps = append(a.Gaps, time.Duration(n*i))
			}
		}
		want.Attempts = append(want.Attempts, a)
	}
	dir := t.TempDir()
	write(t, dir, []string{"one"}, []*rows{want})
	r, err := Read(dir, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if diff := differ(want, readBack(t, r, "one")); diff != "" {
		t.Error("other lists than were written")
	}
}

// entriesOf are entries that lie ready.
func entriesOf(values ...pq.Value) *entries {
	return &entries{buffer: values, n: len(values), reader: noMore{}}
}

type noMore struct{}

func (noMore) ReadValues([]pq.Value) (int, error) { return 0, nil }

// The memory of one batch of lists serves the next.
func TestListsReuseMemory(t *testing.T) {
	l := durations("gaps_ns", func(a *record.Attempt) *[]time.Duration { return &a.Gaps }).lists
	first := 0
	for i := range 50 {
		if err := l.read(make([]record.Attempt, 1), entriesOf(pq.Int64Value(1).Level(0, 1, 0), pq.Int64Value(2).Level(1, 1, 0))); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = cap(l.kept)
		}
	}
	if cap(l.kept) != first {
		t.Errorf("room for %d values, %d were enough for the first batch", cap(l.kept), first)
	}
}

// Entries that make no lists are damage.
func TestBrokenLists(t *testing.T) {
	one, more := pq.Int64Value(1).Level(0, 1, 0), pq.Int64Value(2).Level(1, 1, 0)
	cases := []struct {
		name string
		from *entries
		say  string
	}{
		// Fewer lists than rows.
		{"too few", entriesOf(one, more), "unexpected EOF"},
		// The first value claims to belong to the row before.
		{"no beginning", entriesOf(more, one), "begins with a repetition"},
	}
	for _, c := range cases {
		l := durations("gaps_ns", func(a *record.Attempt) *[]time.Duration { return &a.Gaps }).lists
		if err := l.read(make([]record.Attempt, 2), c.from); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, expected %q", c.name, err, c.say)
		}
	}
}
