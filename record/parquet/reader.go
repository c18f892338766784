package parquet

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"brunt/record"
)

// Reader reads the rows of a run. Several goroutines may feed from it at once.
type Reader struct {
	requests *rowFile[record.Request]
	attempts *rowFile[record.Attempt]
	events   *rowFile[record.Event]
}

// Read opens the three files in dir. The dependencies are named by their
// position in the study, and turn the names in the rows into positions again.
// The error for a file that is missing, cut short or not of brunt's making says
// which, and what to do. The reader must be closed.
func Read(dir string, dependencies []string) (*Reader, error) {
	if err := unique("dependency", dependencies); err != nil {
		return nil, fmt.Errorf("read rows in %s: %w", dir, err)
	}
	dependencies = slices.Clone(dependencies)
	r := new(Reader)
	var first, second, third error
	r.requests, first = openRows(filepath.Join(dir, RequestsFile), dependencies, requestColumns)
	r.attempts, second = openRows(filepath.Join(dir, AttemptsFile), dependencies, attemptColumns)
	r.events, third = openRows(filepath.Join(dir, EventsFile), dependencies, eventColumns)
	err := errors.Join(first, second, third)
	if err == nil && !r.together() {
		err = fmt.Errorf("%s, %s and %s in %s are not of one run: they name different compositions; run the study again", RequestsFile, AttemptsFile, EventsFile, dir)
	}
	if err != nil {
		// What could not be opened is the error to tell.
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// together tells whether the files name the same compositions.
func (r *Reader) together() bool {
	return slices.Equal(r.requests.compositions, r.attempts.compositions) &&
		slices.Equal(r.requests.compositions, r.events.compositions)
}

// Compositions returns the names of the compositions in the order of the rows.
func (r *Reader) Compositions() []string { return slices.Clone(r.requests.compositions) }

// Feed gives sink the rows of a composition as they were written: first its
// requests, then its attempts, then its events. It holds a few thousand rows at
// a time. After an error sink has a part of the rows.
func (r *Reader) Feed(composition string, sink record.Sink) error {
	at := slices.Index(r.requests.compositions, composition)
	if at < 0 {
		return fmt.Errorf("%s: no composition %q among the rows, expected %s", r.requests.path, composition, words(r.requests.compositions))
	}
	if err := r.requests.feed(at, sink.Request); err != nil {
		return err
	}
	if err := r.attempts.feed(at, sink.Attempt); err != nil {
		return err
	}
	return r.events.feed(at, sink.Event)
}

// Close closes the files.
func (r *Reader) Close() error {
	return errors.Join(r.requests.close(), r.attempts.close(), r.events.close())
}
