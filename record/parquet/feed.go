package parquet

import (
	"errors"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"
)

// feed gives take each row of composition i. The pointer is good for the call
// alone.
func (f *rowFile[R]) feed(i int, take func(*R)) error {
	columns := f.columnsOf(f.compositions[i], f.dependencies)
	rows := make([]R, usual.batch)
	values := make([]pq.Value, usual.batch)
	at := int64(0) // the first row of the batch
	for _, g := range f.groups[i] {
		group := f.rows.RowGroups()[g]
		c := newCursor(columns, f.places, group)
		for left := group.NumRows(); left > 0; {
			batch := rows[:min(left, int64(usual.batch))]
			if err := c.read(batch, values); err != nil {
				_ = c.close() // nothing is lost with it
				return fmt.Errorf("%s: rows of composition %q from row %d on: %w", f.path, f.compositions[i], at, err)
			}
			for r := range batch {
				take(&batch[r])
			}
			at += int64(len(batch))
			left -= int64(len(batch))
		}
		if err := c.over(); err != nil {
			_ = c.close() // nothing is lost with it
			return fmt.Errorf("%s: rows of composition %q: %w", f.path, f.compositions[i], err)
		}
		if err := c.close(); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// cursor goes through the columns of one group of rows in step.
type cursor[R any] struct {
	columns []column[R]
	places  []int
	chunks  []pq.ColumnChunk
	readers []pq.ColumnChunkValueReader
	lists   []entries // of the columns of lists
}

func newCursor[R any](columns []column[R], places []int, group pq.RowGroup) *cursor[R] {
	return &cursor[R]{columns: columns, places: places, chunks: group.ColumnChunks(),
		readers: make([]pq.ColumnChunkValueReader, len(columns)), lists: make([]entries, len(columns))}
}

// read fills rows with the next ones.
func (c *cursor[R]) read(rows []R, values []pq.Value) (err error) {
	defer damaged(&err)
	for i, column := range c.columns {
		if c.places[i] == absent {
			column.lack(rows)
			continue
		}
		if c.readers[i] == nil {
			c.readers[i] = pq.NewColumnChunkValueReader(c.chunks[c.places[i]])
			c.lists[i].reader = c.readers[i]
		}
		if column.lists != nil {
			if err := column.lists.read(rows, &c.lists[i]); err != nil {
				return fmt.Errorf("column %s: %w; the file is damaged, run the study again", column.name, err)
			}
			continue
		}
		// Values live as long as the page that they came with, so each portion is
		// used up before the next is asked for.
		for left := rows; len(left) > 0; {
			n, err := c.readers[i].ReadValues(values[:len(left)])
			if n == 0 {
				if err == nil || errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return fmt.Errorf("column %s: %w; the file is damaged, run the study again", column.name, err)
			}
			if err := column.read(left[:n], values[:n]); err != nil {
				return err
			}
			left = left[n:]
		}
	}
	return nil
}

// over refuses lists that go on after the last row.
func (c *cursor[R]) over() (err error) {
	defer damaged(&err)
	for i := range c.lists {
		if c.columns[i].lists == nil || c.readers[i] == nil {
			continue
		}
		if _, more, err := c.lists[i].peek(); more || err != nil {
			return errors.Join(fmt.Errorf("column %s goes on after the last row; the file is damaged, run the study again", c.columns[i].name), err)
		}
	}
	return nil
}

func (c *cursor[R]) close() (err error) {
	defer damaged(&err)
	var all []error
	for _, r := range c.readers {
		if r != nil {
			all = append(all, r.Close())
		}
	}
	return errors.Join(all...)
}
