package parquet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	pq "github.com/parquet-go/parquet-go"
)

// table writes one file. One goroutine does it all: it takes the batches of
// the first composition until that is closed, then those of the second, and so
// on, whatever the order in which they were fed.
type table[R any] struct {
	path         string
	columnsOf    columnsOf[R]
	compositions []string
	dependencies []string
	bounds       bounds
	file         io.WriteCloser
	told         func(error) // of a failure; nil for nobody

	queues []chan []R // a bounded queue for each composition
	free   chan []R   // batches to use again

	// stop is closed when nothing more will be written. From then on sinks throw
	// their rows away instead of waiting.
	stop     chan struct{}
	stopping sync.Once

	done chan struct{}
	err  error // what went wrong; read after done
}

// making is how files are made; tests put less memory and failing files there.
type making struct {
	bounds bounds
	file   func(path string) (io.WriteCloser, error)
	failed func(error) // told when the writing of a file fails; nil for nobody
}

func createFile(path string) (io.WriteCloser, error) { return os.Create(path) }

func newTable[R any](path string, how making, compositions, dependencies []string, columnsOf columnsOf[R]) (*table[R], error) {
	file, err := how.file(path)
	if err != nil {
		return nil, err
	}
	t := &table[R]{
		path:         path,
		columnsOf:    columnsOf,
		compositions: compositions,
		dependencies: dependencies,
		bounds:       how.bounds,
		file:         file,
		told:         how.failed,
		queues:       make([]chan []R, len(compositions)),
		free:         make(chan []R, how.bounds.queue),
		stop:         make(chan struct{}),
		done:         make(chan struct{}),
	}
	for i := range t.queues {
		t.queues[i] = make(chan []R, how.bounds.queue)
	}
	go t.run()
	return t, nil
}

// run owns the file until done.
func (t *table[R]) run() {
	defer close(t.done)
	err := t.write()
	if err != nil {
		t.halt()
		if t.told != nil && !errors.Is(err, errHalted) {
			t.told(err)
		}
	}
	if closing := t.file.Close(); err == nil && closing != nil {
		err = fmt.Errorf("close %s: %w", t.path, closing)
	}
	t.err = err
}

// halt ends the writing; the rows that are not in the file yet are lost.
func (t *table[R]) halt() { t.stopping.Do(func() { close(t.stop) }) }

// wait waits for the end of the writing and says what went wrong.
func (t *table[R]) wait() error {
	<-t.done
	return t.err
}

// remove removes the file. One that cannot be removed is left: the error that
// led here is the one that counts.
func (t *table[R]) remove() { _ = os.Remove(t.path) }

// write takes batches until every composition is closed.
func (t *table[R]) write() error {
	out := pq.NewGenericWriter[any](t.file, t.options()...)
	writers := out.ColumnWriters()
	values := make([]pq.Value, t.bounds.batch)
	counts := make([]int64, len(t.compositions))
	for i, name := range t.compositions {
		columns := t.columnsOf(name, t.dependencies)
		for {
			batch, more, err := t.next(i)
			if err != nil {
				return err
			}
			if !more {
				break
			}
			if err := put(writers, columns, batch, values); err != nil {
				return t.failed(name, err)
			}
			counts[i] += int64(len(batch))
			t.recycle(batch)
			if counts[i]%int64(t.bounds.group) == 0 {
				if err := out.Flush(); err != nil {
					return t.failed(name, err)
				}
			}
		}
		// No group of rows holds two compositions, so that one can be read alone.
		if err := out.Flush(); err != nil {
			return t.failed(name, err)
		}
	}
	out.SetKeyValueMetadata(keyVersion, strconv.Itoa(version))
	out.SetKeyValueMetadata(keyCompositions, list(t.compositions))
	out.SetKeyValueMetadata(keyCounts, list(counts))
	out.SetKeyValueMetadata(keyDependencies, list(t.dependencies))
	out.SetKeyValueMetadata(keyColumns, strconv.Itoa(len(writers)))
	if err := out.Close(); err != nil {
		return fmt.Errorf("finish %s: %w", t.path, err)
	}
	return nil
}

func (t *table[R]) options() []pq.WriterOption {
	columns := t.columnsOf("", t.dependencies)
	options := []pq.WriterOption{
		schemaOf(columns),
		pq.Compression(compression),
		pq.PageBufferSize(pageBytes),
		pq.WriteBufferSize(t.bounds.write),
		// The index at the end of the file has the bounds of every page already.
		pq.DataPageStatistics(false),
		// A fixed text: by default it names the version of the library.
		pq.CreatedBy("brunt", strconv.Itoa(version), ""),
	}
	for _, c := range columns {
		if c.word || c.lists != nil {
			// The least and the greatest name or gap of a page tell nobody anything, and
			// to find them costs as much as to write the page.
			options = append(options, pq.SkipPageBounds(c.path()...))
		}
	}
	return options
}

func (t *table[R]) failed(composition string, err error) error {
	return fmt.Errorf("write rows of composition %q to %s: %w", composition, t.path, err)
}

// errHalted is why a table that was told to stop did so.
var errHalted = errors.New("halted")

// next waits for the next batch of composition i; more is false when it is
// closed and all its rows are taken.
func (t *table[R]) next(i int) (batch []R, more bool, err error) {
	select {
	case batch, more = <-t.queues[i]:
		return batch, more, nil
	case <-t.stop:
		return nil, false, errHalted
	}
}

// recycle keeps a written batch for the sinks, unless there are enough.
func (t *table[R]) recycle(batch []R) {
	select {
	case t.free <- batch[:0]:
	default:
	}
}

// put writes a batch, column by column.
func put[R any](writers []*pq.ColumnWriter, columns []column[R], rows []R, values []pq.Value) error {
	for i, c := range columns {
		values := values[:len(rows)]
		if c.lists != nil {
			values = c.lists.write(rows)
		} else if err := c.write(values, rows); err != nil {
			return err
		}
		if _, err := writers[i].WriteRowValues(values); err != nil {
			return fmt.Errorf("column %s: %w", c.name, err)
		}
	}
	return nil
}
