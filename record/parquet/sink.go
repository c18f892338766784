package parquet

import (
	"runtime"
	"slices"

	"brunt/record"
)

// Sink takes the rows of one composition. It keeps copies, and waits when it
// is too far ahead of the writing. Errors show at [Writer.Close]; after one,
// rows are thrown away.
type Sink struct {
	requests feed[record.Request]
	attempts feed[record.Attempt]
	events   feed[record.Event]
	closed   bool
}

// Request implements [record.Sink].
func (s *Sink) Request(r *record.Request) { s.requests.add(r) }

// Attempt implements [record.Sink].
func (s *Sink) Attempt(a *record.Attempt) {
	kept := s.attempts.add(a)
	if len(a.Gaps) > 0 { // they are lent
		kept.Gaps = slices.Clone(a.Gaps)
	}
}

// Event implements [record.Sink].
func (s *Sink) Event(e *record.Event) { s.events.add(e) }

// Close says that no more rows will come. Closing twice is harmless.
func (s *Sink) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.requests.close()
	s.attempts.close()
	s.events.close()
}

// feed fills batches of one kind of rows.
type feed[R any] struct {
	table *table[R]
	queue chan []R
	batch []R // being filled; none before the first row
}

// add keeps a copy of row and returns it.
func (f *feed[R]) add(row *R) *R {
	if len(f.batch) == cap(f.batch) {
		f.turn()
	}
	f.batch = append(f.batch, *row)
	return &f.batch[len(f.batch)-1]
}

// turn hands over the full batch and takes an empty one.
func (f *feed[R]) turn() {
	if len(f.batch) > 0 && !f.hand() {
		f.batch = f.batch[:0]
		return
	}
	select {
	case f.batch = <-f.table.free:
	default:
		f.batch = make([]R, 0, f.table.bounds.batch)
	}
}

// hand gives the batch to the table; false when that takes no more.
func (f *feed[R]) hand() bool {
	select {
	case f.queue <- f.batch:
		// On one processor the table would else get its turn so late that no
		// batch came back in time to be used again.
		runtime.Gosched()
		return true
	case <-f.table.stop:
		return false
	}
}

func (f *feed[R]) close() {
	if len(f.batch) > 0 {
		f.hand()
	}
	f.batch = nil
	close(f.queue)
}
