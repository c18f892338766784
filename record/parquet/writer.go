package parquet

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"brunt/record"
)

// Writer writes the rows of a run. It holds a bounded number of them: a
// composition that gets far ahead of those before it waits for them. So the
// compositions must be begun in their order, and each must be closed, also one
// that is not run in the end.
type Writer struct {
	requests *table[record.Request]
	attempts *table[record.Attempt]
	events   *table[record.Event]
	tables   []fileWriter // those three
	sinks    []*Sink

	end sync.Once // the first of Close and Abort
	err error     // what Close says; written in end
}

// fileWriter is a table of any row.
type fileWriter interface {
	halt()
	wait() error
	remove()
}

// Create makes the three files in dir, which must exist, in place of those
// that may be there. The compositions are named in the order in which their
// rows shall stand; dependencies by their position in the study.
func Create(dir string, compositions, dependencies []string) (*Writer, error) {
	return create(dir, compositions, dependencies, making{bounds: usual, file: createFile})
}

// CreateWatched is [Create] for a run that should end when its rows cannot be
// kept: failed is told of each file whose writing fails, from a goroutine of the
// writer. [Writer.Close] tells of it again.
func CreateWatched(dir string, compositions, dependencies []string, failed func(error)) (*Writer, error) {
	return create(dir, compositions, dependencies, making{bounds: usual, file: createFile, failed: failed})
}

func create(dir string, compositions, dependencies []string, how making) (*Writer, error) {
	compositions = append([]string(nil), compositions...)
	dependencies = append([]string(nil), dependencies...)
	if err := errors.Join(unique("composition", compositions), unique("dependency", dependencies)); err != nil {
		return nil, fmt.Errorf("create row files in %s: %w", dir, err)
	}
	w := new(Writer)
	err := errors.Join(
		begin(w, &w.requests, filepath.Join(dir, RequestsFile), how, compositions, dependencies, requestColumns),
		begin(w, &w.attempts, filepath.Join(dir, AttemptsFile), how, compositions, dependencies, attemptColumns),
		begin(w, &w.events, filepath.Join(dir, EventsFile), how, compositions, dependencies, eventColumns),
	)
	if err != nil {
		w.Abort()
		return nil, fmt.Errorf("create row files in %s: %w", dir, err)
	}
	w.sinks = make([]*Sink, len(compositions))
	for i := range w.sinks {
		w.sinks[i] = &Sink{
			requests: feed[record.Request]{table: w.requests, queue: w.requests.queues[i]},
			attempts: feed[record.Attempt]{table: w.attempts, queue: w.attempts.queues[i]},
			events:   feed[record.Event]{table: w.events, queue: w.events.queues[i]},
		}
	}
	return w, nil
}

// begin makes one table of the writer.
func begin[R any](w *Writer, t **table[R], path string, how making, compositions, dependencies []string, columns columnsOf[R]) error {
	made, err := newTable(path, how, compositions, dependencies, columns)
	if err != nil {
		return err
	}
	*t = made
	w.tables = append(w.tables, made)
	return nil
}

// Composition returns the sink of composition i: always the same one.
func (w *Writer) Composition(i int) *Sink { return w.sinks[i] }

// Close writes what is left and finishes the files. No sink may be in use any
// more; those that are open are closed. After an error, which says what was
// being done, none of the files is left: a part of the rows would pass for all.
func (w *Writer) Close() error {
	w.end.Do(func() {
		for _, s := range w.sinks {
			s.Close()
		}
		w.err = w.wait()
		if w.err != nil {
			w.remove()
		}
	})
	return w.err
}

// Abort gives up: it ends the writing and removes the files. Sinks may still
// be in use; their rows are thrown away. After [Writer.Close] it does nothing.
func (w *Writer) Abort() {
	w.end.Do(func() {
		for _, t := range w.tables {
			t.halt()
		}
		_ = w.wait() // files that are about to go need not be whole
		w.remove()
		w.err = ErrAborted
	})
}

// ErrAborted is what [Writer.Close] returns after [Writer.Abort].
var ErrAborted = errors.New("the row files were given up")

func (w *Writer) wait() error {
	var all []error
	for _, t := range w.tables {
		all = append(all, t.wait())
	}
	return errors.Join(all...)
}

func (w *Writer) remove() {
	for _, t := range w.tables {
		t.remove()
	}
}
