package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brunt/record"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rows keeps every row that it is given, of all kinds in one order.
type rows struct{ All []any }

func (k *rows) Request(r *record.Request) { k.All = append(k.All, *r) }
func (k *rows) Event(e *record.Event)     { k.All = append(k.All, *e) }
func (k *rows) Attempt(a *record.Attempt) {
	kept := *a
	kept.Gaps = slices.Clone(a.Gaps)
	k.All = append(k.All, kept)
}

// feed gives a row to a sink.
func feed(sink record.Sink, row any) {
	switch r := row.(type) {
	case record.Request:
		sink.Request(&r)
	case record.Attempt:
		sink.Attempt(&r)
	case record.Event:
		sink.Event(&r)
	}
}

// anyRow draws each field of a row from all that its type can hold: a field
// that the spool leaves out does not come back.
var anyRow = rapid.OneOf(
	rapid.Map(rapid.Make[record.Request](), func(r record.Request) any { return r }),
	rapid.Map(rapid.Make[record.Attempt](), func(a record.Attempt) any {
		if len(a.Gaps) == 0 {
			a.Gaps = nil
		}
		return a
	}),
	rapid.Map(rapid.Make[record.Event](), func(e record.Event) any { return e }),
)

func header(compositions int) Header {
	h := Header{Dependencies: []string{"primary"}, About: []byte(`{"seed":1}`)}
	for i := range compositions {
		h.Compositions = append(h.Compositions, string(rune('a'+i)))
	}
	return h
}

// failer is a test of either kind.
type failer interface {
	Helper()
	Fatal(...any)
}

func readBack(t failer, r *Reader, i int) []any {
	t.Helper()
	got := new(rows)
	if err := r.Feed(i, got); err != nil {
		t.Fatal(err)
	}
	return got.All
}

// Law: what is written is read, every field of every row, in its order within a
// composition, however the compositions take turns and whenever it is written.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	rapid.Check(t, func(t *rapid.T) {
		w, err := Create(path, header(3), nil)
		if err != nil {
			t.Fatal(err)
		}
		written := make([][]any, 3)
		reached := []time.Duration{record.Never, record.Never, record.Never}
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "composition")
			if rapid.Bool().Draw(t, "reach") {
				at := time.Duration(rapid.Int64().Draw(t, "at"))
				w.Composition(i).Reach(at)
				reached[i] = max(reached[i], at)
				continue
			}
			row := anyRow.Draw(t, "row")
			feed(w.Composition(i), row)
			written[i] = append(written[i], row)
			reached[i] = max(reached[i], last(row))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		want := header(3)
		want.Version = version
		if diff := cmp.Diff(want, r.Header()); diff != "" {
			t.Fatal(diff)
		}
		for i := range written {
			if diff := cmp.Diff(written[i], readBack(t, r, i)); diff != "" {
				t.Fatalf("composition %d (-want +got):\n%s", i, diff)
			}
			if got := r.Reached(i); got != reached[i] {
				t.Fatalf("composition %d is known up to %v, expected %v", i, got, reached[i])
			}
		}
		if r.Torn() != 0 {
			t.Fatalf("%d bytes are torn", r.Torn())
		}
	})
}

// last is the instant at which a row came.
func last(row any) time.Duration {
	switch r := row.(type) {
	case record.Request:
		return r.End
	case record.Attempt:
		return r.CleanupEnd
	}
	return row.(record.Event).At
}

// some writes frames of a few rows each, and returns the bytes, the rows in
// their order, and how many of them are whole in so many bytes.
func some(t *testing.T) (b []byte, written []any, whole func(size int) int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), File)
	file := &sizes{}
	w, err := create(path, header(1), nil, func(string) (io.WriteCloser, error) { return file, nil })
	if err != nil {
		t.Fatal(err)
	}
	var counts []int
	for i := range 6 {
		at := time.Duration(i) * time.Millisecond
		for _, row := range []any{
			record.Request{Index: int64(i), Intended: at, Submitted: at, End: at, FirstToken: record.Never, ServedBy: -1},
			record.Attempt{Request: int64(i), FirstToken: record.Never, Wrote: record.Never, Tokens: -1, Gaps: []time.Duration{at, 5}},
			record.Event{At: at, What: record.WhatPhase, State: "outage"},
		} {
			feed(w.Composition(0), row)
			written = append(written, row)
			if i%2 == 0 { // or some frames would never hold two rows
				file.await(t, w, at)
				counts = append(counts, len(written))
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	counts = append(counts, len(written))
	ends := file.ends[1:] // the first is the header's
	return file.b, written, func(size int) int {
		n := 0
		for i, end := range ends {
			if end <= size {
				n = counts[min(i, len(counts)-1)]
			}
		}
		return n
	}
}

// sizes is a file that knows where each writing ended.
type sizes struct {
	mu   sync.Mutex
	some sync.Cond
	b    []byte
	ends []int
}

func (f *sizes) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.b = append(f.b, p...)
	f.ends = append(f.ends, len(f.b))
	f.some.L = &f.mu
	f.some.Broadcast()
	return len(p), nil
}

func (f *sizes) Close() error { return nil }

// await has what was fed written.
func (f *sizes) await(t *testing.T, w *Writer, at time.Duration) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.ends)
	w.Composition(0).Reach(at)
	f.some.L = &f.mu
	for len(f.ends) == n {
		f.some.Wait()
	}
}

// A spool that was cut short anywhere holds the rows of its whole frames, and
// says how much it left out. Before its header is whole it is none.
func TestTorn(t *testing.T) {
	b, written, whole := some(t)
	headers := len(magic) + headSize + int(binary.LittleEndian.Uint32(b[len(magic):]))
	path := filepath.Join(t.TempDir(), File)
	for size := range len(b) + 1 {
		for _, lost := range []struct {
			name string
			tail []byte
		}{
			{"cut", nil},
			// The system knew of the length, and lost a page.
			{"zeros", make([]byte, 100)},
		} {
			place(t, path, append(b[:size:size], lost.tail...))
			r, err := Open(path)
			if size < headers {
				if err == nil {
					r.Close()
					t.Fatalf("%s at %d: read without an error", lost.name, size)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s at %d: %v", lost.name, size, err)
			}
			n := whole(size)
			got := readBack(t, r, 0)
			if diff := cmp.Diff(written[:n], got, cmp.Transformer("none", func(s []any) []any { return append([]any{}, s...) })); diff != "" {
				t.Fatalf("%s at %d (-want +got):\n%s", lost.name, size, diff)
			}
			if n > 0 && r.Reached(0) < last(written[n-1]) {
				t.Fatalf("%s at %d: known up to %v only", lost.name, size, r.Reached(0))
			}
			r.Close()
		}
	}
	if n := whole(len(b)); n != len(written) {
		t.Fatalf("%d of %d rows are there: the test does not know what to expect", n, len(written))
	}
}

// Whatever byte is damaged, reading ends with an error or with the first rows
// as they were written; never with others.
func TestDamage(t *testing.T) {
	b, written, _ := some(t)
	path := filepath.Join(t.TempDir(), File)
	found := 0
	for i := range b {
		bad := slices.Clone(b)
		bad[i] ^= 0x55
		place(t, path, bad)
		got := new(rows)
		r, err := Open(path)
		if err != nil {
			found++
			continue
		}
		err = r.Feed(0, got)
		if h := r.Header(); i < len(b)/2 && err == nil && len(h.Compositions) == 1 && len(got.All) == len(written) {
			t.Errorf("byte %d: not noticed", i)
		}
		if n := len(got.All); n > len(written) || !cmp.Equal(append([]any{}, written[:n]...), append([]any{}, got.All...)) {
			t.Errorf("byte %d: other rows", i)
		}
		r.Close()
	}
	if found < len(b)/2 {
		t.Errorf("only %d of %d damages are errors", found, len(b))
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		name, text, say string
	}{
		{"empty", "", "cut short before its first row"},
		{"another file", "PAR1 and so on, longer than the magic is", "not a spool of rows"},
		{"a later version", framed(`{"version":9}`), "rows of version 9, this brunt reads version 1; use the brunt that wrote them"},
		{"a header of nonsense", framed(`{"version":`), "the file is damaged (its header"},
		// A whole frame of a composition that is not there.
		{"no composition", framed(`{"version":1}`, "\x00\x00"), "rows of no composition"},
		// A whole frame, its content no row.
		{"no length", framed(`{"version":1,"compositions":["a"]}`, "\x00"), "rows of no composition"},
	}
	for _, c := range cases {
		path := filepath.Join(dir, "x")
		place(t, path, []byte(c.text))
		r, err := Open(path)
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, expected %q", c.name, err, c.say)
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// framed is a spool with these contents.
func framed(contents ...string) string {
	b := []byte(magic)
	for _, c := range contents {
		frame := append(make([]byte, headSize), c...)
		_ = seal(frame) // far too short to fail
		b = append(b, frame...)
	}
	return string(b)
}

// Rows that say less than they should, or more than a field can hold, are
// errors and no panic.
func TestBrokenRows(t *testing.T) {
	whole := appendAttempt(nil, &record.Attempt{Cost: 1, Wrote: 1, Tokens: 1, FirstToken: 1, Gaps: []time.Duration{1, 2}})
	contents := []string{"?", "e\x00\x00\x00\xff\xff\xff\xff\x7f", "a\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\x01"}
	for n := 1; n < len(whole); n++ {
		contents = append(contents, string(whole[:n]))
	}
	path := filepath.Join(t.TempDir(), File)
	for _, text := range contents {
		place(t, path, []byte(framed(`{"version":1,"compositions":["a"]}`, "\x00\x00"+text)))
		r, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Feed(0, new(rows)); !errors.Is(err, errContent) {
			t.Errorf("%q: got %v", text, err)
		}
		r.Close()
	}
}

// fullDisk takes room bytes and then no more.
type fullDisk struct {
	io.WriteCloser
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	if m, err := d.WriteCloser.Write(p[:n]); err != nil || n == len(p) {
		return m, err
	}
	return n, syscall.ENOSPC
}

// A disk that is full is told of at once and again at the end. What the disk
// took can be read, and whoever goes on feeding does not wait for it.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	told := make(chan error, 2)
	w, err := create(path, header(2), func(err error) { told <- err }, func(path string) (io.WriteCloser, error) {
		f, err := createFile(path)
		return &fullDisk{f, 10_000}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.ahead = 100 << 10
	sink := w.Composition(0)
	sink.Event(&record.Event{At: 1, State: "first"})
	sink.Reach(1)
	long := record.Event{At: 2, State: strings.Repeat("x", 20_000)}
	sink.Event(&long)
	sink.Reach(2)
	if err := <-told; !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "write rows: ") {
		t.Errorf("told of %v", err)
	}
	for range 3 * w.ahead / len(long.State) { // far more than is held
		sink.Event(&long)
		w.Composition(1).Event(&long)
		sink.Reach(3)
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close says %v", err)
	}
	if len(told) > 0 {
		t.Error("told twice")
	}
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// Both frames may have gone in one, when the first was not written yet.
	if got := readBack(t, r, 0); len(got) > 1 || len(got) == 1 && got[0] != any(record.Event{At: 1, State: "first"}) {
		t.Errorf("%d rows", len(got))
	}
	if r.Torn() == 0 {
		t.Error("nothing is torn")
	}
}

// A disk that is full from the start is an error of Create, and leaves nothing.
func TestCreateOnFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), File)
	_, err := create(path, header(1), nil, func(path string) (io.WriteCloser, error) {
		f, err := createFile(path)
		return &fullDisk{f, 10}, err
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file is left")
	}
}

// slowFile takes its time: each writing waits for a leave.
type slowFile struct {
	bytes.Buffer
	leave chan bool
}

func (f *slowFile) Write(p []byte) (int, error) {
	if f.Len() > 0 {
		<-f.leave
	}
	return f.Buffer.Write(p)
}

func (f *slowFile) Close() error { return nil }

// A sink that is too far ahead waits, and what it holds stays bounded.
func TestWaitsForRoom(t *testing.T) {
	file := &slowFile{leave: make(chan bool)}
	w, err := create("x", header(1), nil, func(string) (io.WriteCloser, error) { return file, nil })
	if err != nil {
		t.Fatal(err)
	}
	w.ahead = 100 << 10
	sink := w.Composition(0)
	e := record.Event{State: strings.Repeat("x", 10<<10)}
	const events = 40
	fed := make(chan int, 1)
	go func() {
		most := 0
		for i := range int64(events) {
			e.Value = i
			sink.Event(&e)
			sink.mu.Lock()
			most = max(most, len(sink.rows))
			sink.mu.Unlock()
		}
		fed <- most
	}()
	most := 0
	for open := true; open; {
		select {
		case file.leave <- true:
		case most = <-fed:
			open = false
		}
	}
	close(file.leave)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if most > w.ahead+2*len(e.State) {
		t.Errorf("%d bytes were held", most)
	}
	path := filepath.Join(t.TempDir(), File)
	place(t, path, file.Bytes())
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := readBack(t, r, 0)
	for i, row := range got {
		if row.(record.Event).Value != int64(i) {
			t.Errorf("row %d is %d", i, row.(record.Event).Value)
		}
	}
	if len(got) != events {
		t.Errorf("%d of %d rows are there", len(got), events)
	}
}

func place(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// What a row costs the one who feeds it, and how long it is in the file: a
// request with its attempt.
func BenchmarkRows(b *testing.B) {
	path := filepath.Join(b.TempDir(), File)
	w, err := Create(path, header(1), nil)
	if err != nil {
		b.Fatal(err)
	}
	sink := w.Composition(0)
	q := record.Request{FirstToken: record.Never, Attempts: 1}
	a := record.Attempt{FirstToken: record.Never, Parent: -1, Tokens: -1}
	b.ReportAllocs()
	for b.Loop() {
		q.Index++
		q.Intended += 100 * time.Microsecond
		q.Submitted, q.End = q.Intended+50*time.Microsecond, q.Intended+5*time.Millisecond
		a.Request, a.Intended, a.Start, a.Wrote, a.End, a.CleanupEnd = q.Index, q.Intended, q.Submitted, q.Submitted+time.Microsecond, q.End, q.End
		sink.Attempt(&a)
		sink.Request(&q)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(q.Index), "B/request")
}
