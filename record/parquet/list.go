package parquet

import (
	"errors"
	"io"
	"time"

	pq "github.com/parquet-go/parquet-go"
)

// durations is a column whose rows have any number of durations each.
//
// It stands in the file as parquet-format has lists (LogicalTypes.md, "Lists"):
// a group of the kind LIST, in it the repeated group "list" of one "element".
// A row without durations has one entry that is not defined; any other row has
// an entry for each, of which all but the first are marked as repeated.
func durations[R any](name string, field func(*R) *[]time.Duration) column[R] {
	return column[R]{
		name:  name,
		node:  pq.List(number(pq.Int64Type)),
		lists: &lists[R]{field: field},
	}
}

// lists is what writes and reads such a column. What it holds of one batch of
// rows is used again for the next.
type lists[R any] struct {
	field  func(*R) *[]time.Duration
	values []pq.Value
	kept   []time.Duration
}

// write returns the values of rows, which are good until the next call.
func (l *lists[R]) write(rows []R) []pq.Value {
	l.values = l.values[:0]
	for i := range rows {
		of := *l.field(&rows[i])
		if len(of) == 0 {
			l.values = append(l.values, pq.Value{})
			continue
		}
		for n, d := range of {
			l.values = append(l.values, pq.Int64Value(int64(d)).Level(min(n, 1), 1, 0))
		}
	}
	return l.values
}

// read gives rows their lists, which are good until the next call.
func (l *lists[R]) read(rows []R, from *entries) error {
	l.kept = l.kept[:0]
	for i := range rows {
		v, ok, err := from.peek()
		if err != nil {
			return err
		}
		if !ok {
			return io.ErrUnexpectedEOF
		}
		if v.RepetitionLevel() != 0 {
			return errors.New("a list begins with a repetition")
		}
		begin := len(l.kept)
		for {
			if !v.IsNull() {
				l.kept = append(l.kept, time.Duration(v.Int64()))
			}
			from.at++
			if v, ok, err = from.peek(); err != nil {
				return err
			}
			if !ok || v.RepetitionLevel() == 0 {
				break
			}
		}
		of := l.field(&rows[i])
		*of = nil
		// A list that outgrew the memory of those before left them where they were.
		if end := len(l.kept); end > begin {
			*of = l.kept[begin:end:end]
		}
	}
	return nil
}

// entries are the values of one column of one group of rows, one by one. They
// are numbers, so that they outlive the page that they came with.
type entries struct {
	reader pq.ValueReader
	buffer []pq.Value
	at, n  int
}

// peek returns the next entry without going past it; ok is false after the
// last one.
func (e *entries) peek() (v pq.Value, ok bool, err error) {
	if e.at == e.n {
		if e.buffer == nil {
			e.buffer = make([]pq.Value, usual.batch)
		}
		e.at = 0
		if e.n, err = e.reader.ReadValues(e.buffer); e.n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				return v, false, nil
			}
			return v, false, err
		}
	}
	return e.buffer[e.at], true, nil
}
