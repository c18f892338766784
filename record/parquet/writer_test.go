package parquet

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"brunt/record"
)

// small lets queues fill up with few rows.
var small = bounds{batch: 16, queue: 4, group: 64, write: 512}

// fill feeds a composition more rows than its queues hold, so that those after
// the first must wait, and marks each row with the composition.
func fill(w *Writer, composition, count int, each func(i int)) {
	sink := w.Composition(composition)
	for i := range count {
		each(i)
		sink.Request(&record.Request{Index: int64(i), Refusals: int32(composition), ServedBy: -1})
		sink.Attempt(&record.Attempt{Request: int64(i), Nth: int32(composition)})
		if i%3 == 0 {
			sink.Event(&record.Event{Value: int64(i), Stage: "s", State: []string{"a", "b", "c"}[composition]})
		}
	}
	sink.Close()
}

// However the compositions take turns, the files are the same to the byte.
func TestOrder(t *testing.T) {
	ahead := small.batch * (small.queue + 3) // more than a queue and a batch hold
	names := []string{"first", "second", "third"}
	cases := []struct {
		name  string
		procs int
		feed  func(w *Writer)
	}{
		// The order of the file.
		{"one after the other", 1, func(w *Writer) {
			for i := range names {
				fill(w, i, ahead, func(int) {})
			}
		}},
		// All at once, on one processor and on several.
		{"at once", 1, atOnce(ahead)},
		{"at once, in parallel", 4, atOnce(ahead)},
		// The first begins when the others already wait for it.
		{"first is last to begin", 4, func(w *Writer) {
			var all sync.WaitGroup
			var begun sync.WaitGroup
			begun.Add(2)
			for i := range names {
				all.Go(func() {
					if i == 0 {
						begun.Wait()
					}
					fill(w, i, ahead, func(row int) {
						if i > 0 && row == small.queue*small.batch {
							begun.Done()
						}
					})
				})
			}
			all.Wait()
		}},
		// The first gives way at every row, the others run.
		{"first is slow", 2, func(w *Writer) {
			var all sync.WaitGroup
			for i := range names {
				all.Go(func() {
					fill(w, i, ahead, func(int) {
						if i == 0 {
							runtime.Gosched()
						}
					})
				})
			}
			all.Wait()
		}},
	}
	var want map[string][]byte
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
			dir := t.TempDir()
			w, err := create(dir, names, dependencies, making{bounds: small, file: createFile})
			if err != nil {
				t.Fatal(err)
			}
			c.feed(w)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			got := contents(t, dir)
			if want == nil {
				want = got
				inOrder(t, dir, ahead)
			}
			for name := range want {
				if !bytes.Equal(want[name], got[name]) {
					t.Errorf("%s differs from that of compositions one after the other", name)
				}
			}
		})
	}
}

func atOnce(count int) func(*Writer) {
	return func(w *Writer) {
		var all sync.WaitGroup
		for i := range w.sinks {
			all.Go(func() { fill(w, i, count, func(int) {}) })
		}
		all.Wait()
	}
}

// inOrder reads the rows that fill made.
func inOrder(t *testing.T, dir string, count int) {
	t.Helper()
	r, err := Read(dir, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for c, name := range r.Compositions() {
		got := readBack(t, r, name)
		if len(got.Requests) != count || len(got.Attempts) != count || len(got.Events) != (count+2)/3 {
			t.Fatalf("%s: %d requests, %d attempts, %d events", name, len(got.Requests), len(got.Attempts), len(got.Events))
		}
		for i := range count {
			if r, a := got.Requests[i], got.Attempts[i]; r.Index != int64(i) || int(r.Refusals) != c || a.Request != int64(i) || int(a.Nth) != c {
				t.Fatalf("%s: row %d is %+v, %+v", name, i, r, a)
			}
		}
		for i, e := range got.Events {
			if e.Value != int64(3*i) {
				t.Fatalf("%s: event %d is %+v", name, i, e)
			}
		}
	}
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for _, e := range entries {
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// fullDisk takes room bytes and then no more.
type fullDisk struct {
	io.WriteCloser
	room int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		return 0, syscall.ENOSPC
	}
	d.room -= len(p)
	return d.WriteCloser.Write(p)
}

// badClose fails in the end, as a network disk may.
type badClose struct{ io.WriteCloser }

func (b badClose) Close() error { return errors.Join(b.WriteCloser.Close(), syscall.EIO) }

// A writing that fails does not stop the run; it is told at the end, and
// leaves no file that could be taken for whole.
func TestWriteError(t *testing.T) {
	full := func(room int) func(io.WriteCloser) io.WriteCloser {
		return func(f io.WriteCloser) io.WriteCloser { return &fullDisk{f, room} }
	}
	cases := []struct {
		name string
		file string
		wrap func(io.WriteCloser) io.WriteCloser
		want error
		say  string
	}{
		// Not even the header.
		{"full from the start", RequestsFile, full(0), syscall.ENOSPC, "requests.parquet"},
		// In the middle of the rows, while later compositions wait.
		{"full on the way", AttemptsFile, full(3_000), syscall.ENOSPC, `write rows of composition "first"`},
		// The error names the file that failed.
		{"events", EventsFile, full(100), syscall.ENOSPC, "events.parquet"},
		// The disk tells at the close.
		{"close", RequestsFile, func(f io.WriteCloser) io.WriteCloser { return badClose{f} }, syscall.EIO, "close "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			var told atomic.Int32
			w, err := create(dir, []string{"first", "second", "third"}, dependencies, making{bounds: small, failed: func(error) { told.Add(1) }, file: func(path string) (io.WriteCloser, error) {
				f, err := createFile(path)
				if err == nil && filepath.Base(path) == c.file {
					f = c.wrap(f)
				}
				return f, err
			}})
			if err != nil {
				t.Fatal(err)
			}
			atOnce(300)(w)
			err = w.Close()
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, expected %v with %q", err, c.want, c.say)
			}
			// A close comes when there is nothing left to stop.
			if n := told.Load(); n != 1 && c.want != syscall.EIO {
				t.Errorf("told %d times of the failure, expected once", n)
			}
			if again := w.Close(); !errors.Is(again, c.want) {
				t.Errorf("the second Close says %v", again)
			}
			if left := contents(t, dir); len(left) != 0 {
				t.Errorf("%d files are left", len(left))
			}
		})
	}
}

// Rows that a file cannot hold exactly are refused, not bent.
func TestRefusedRows(t *testing.T) {
	cases := []struct {
		name string
		feed func(*Sink)
		say  string
	}{
		{"an outcome without a name", func(s *Sink) { s.Request(&record.Request{Outcome: 3, ServedBy: -1}) }, "column outcome: number 3"},
		{"a cause without a name", func(s *Sink) { s.Request(&record.Request{Cause: 200, ServedBy: -1}) }, "column cause: number 200"},
		{"a reason without a name", func(s *Sink) { s.Attempt(&record.Attempt{Why: 9}) }, "column why: number 9"},
		{"an attempt's cause without a name", func(s *Sink) { s.Attempt(&record.Attempt{Cause: record.Throttle + 1}) }, "column outcome"},
		{"a cancelled attempt with a cause", func(s *Sink) { s.Attempt(&record.Attempt{Cancelled: true, Cause: record.Failure}) }, "column outcome"},
		{"a dependency that is not there", func(s *Sink) { s.Attempt(&record.Attempt{Dependency: 3}) }, "column dependency: number 3"},
		{"a server one past the last", func(s *Sink) { s.Request(&record.Request{ServedBy: 3}) }, "column served_by"},
		{"a server below nobody", func(s *Sink) { s.Request(&record.Request{ServedBy: -2}) }, "column served_by"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, err := Create(t.TempDir(), []string{"one"}, dependencies)
			if err != nil {
				t.Fatal(err)
			}
			c.feed(w.Composition(0))
			if err := w.Close(); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, expected %q", err, c.say)
			}
		})
	}
}

// Abort ends the writing also while sinks are fed and wait for room.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	w, err := create(dir, []string{"first", "second"}, dependencies, making{bounds: small, file: createFile})
	if err != nil {
		t.Fatal(err)
	}
	ahead := make(chan bool)
	fed := make(chan bool)
	go func() {
		defer close(fed)
		// The first never ends, so this one fills its queue and waits.
		fill(w, 1, 10*small.batch*small.queue, func(i int) {
			if i == small.batch*small.queue {
				close(ahead)
			}
		})
	}()
	<-ahead
	w.Abort()
	<-fed
	w.Abort()
	if err := w.Close(); !errors.Is(err, ErrAborted) {
		t.Errorf("Close after Abort says %v", err)
	}
	if left := contents(t, dir); len(left) != 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// Abort behind a Close that went well, as a deferred call, harms nothing.
func TestAbortAfterClose(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, []string{"one"}, []*rows{{}})
	w, err := Create(dir, []string{"one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Composition(0).Close()
	w.Composition(0).Close() // twice is harmless
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if got := len(contents(t, dir)); got != 3 {
		t.Errorf("%d files, expected 3", got)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestCreateErrors(t *testing.T) {
	full := t.TempDir()
	if err := os.Mkdir(filepath.Join(full, EventsFile), 0o755); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name                       string
		dir                        string
		compositions, dependencies []string
		say                        string
	}{
		{"no such directory", filepath.Join(full, "none"), []string{"a"}, nil, "no such file"},
		// The two files made before the one that cannot be are taken away again.
		{"one file cannot be made", full, []string{"a"}, nil, "is a directory"},
		{"two compositions of a name", full, []string{"a", "a"}, nil, `composition "a"`},
		{"a dependency without a name", full, []string{"a"}, []string{"x", ""}, "dependency 1 has no name"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Create(c.dir, c.compositions, c.dependencies); err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, expected %q", err, c.say)
			}
			entries, err := os.ReadDir(full)
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) != 1 {
				t.Errorf("files are left: %v", entries)
			}
		})
	}
}

// A row costs its feeder a copy; batches come back to be used again.
func TestNoAllocationOnceWarm(t *testing.T) {
	const batch, batches = 16, 32
	w, err := create(t.TempDir(), []string{"one"}, dependencies, making{bounds: bounds{batch: batch, queue: 8, group: 1 << 20, write: 4096}, file: createFile})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	sink := w.Composition(0)
	request, attempt, event := record.Request{ServedBy: -1}, record.Attempt{}, record.Event{What: record.WhatQueue}
	feed := func() {
		for range batch * batches {
			sink.Request(&request)
			sink.Attempt(&attempt)
			sink.Event(&event)
		}
	}
	for range 10 {
		feed()
	}
	// The writing goroutines allocate for a page now and then, and the count
	// takes them in. Batches that were made anew would be three times batches.
	if n := testing.AllocsPerRun(20, feed); n >= 2*batches {
		t.Errorf("%v allocations for %d batches of each kind", n, batches)
	}
}
