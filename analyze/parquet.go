package analyze

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	pq "github.com/parquet-go/parquet-go"
)

// The columns of brunt's own requests.parquet that stand for time_ms.
const (
	columnIntended    = "intended_ns"
	columnEnd         = "end_ns"
	columnComposition = "composition" // is a group
)

// batch is how many rows of a Parquet file are held at once.
const batch = 1024

// readParquet reads a file with the columns of a CSV header, or brunt's own.
func readParquet(file *os.File, in *intake) (err error) {
	in.faults.Parquet = true
	name := in.faults.Name
	// The library is not safe against every damage to a file.
	defer func() {
		if r := recover(); r != nil {
			err = unusable(name, "the Parquet file is damaged: %v", r)
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	rows, err := pq.OpenFile(file, info.Size(), pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return unusable(name, "the Parquet file is damaged: %v", err)
	}
	columns, err := parquetColumns(rows.Schema(), name)
	if err != nil {
		return err
	}
	at := int64(0)
	for _, group := range rows.RowGroups() {
		if err := columns.read(group, &at, in); err != nil {
			return err
		}
	}
	return nil
}

// parquetColumn is one column that is read, a batch at a time.
type parquetColumn struct {
	name   string
	leaf   int // -1 when the file has none
	kind   pq.Kind
	reader pq.ColumnChunkValueReader
	values []pq.Value
}

// columns of a Parquet file; own says that times are brunt's own instants.
type columns struct {
	time, outcome, window, group, end parquetColumn
	own                               bool
}

func (c *columns) all() []*parquetColumn {
	return []*parquetColumn{&c.time, &c.outcome, &c.window, &c.group, &c.end}
}

func parquetColumns(schema *pq.Schema, name string) (*columns, error) {
	c := &columns{
		time: parquetColumn{name: columnTime}, outcome: parquetColumn{name: columnOutcome},
		window: parquetColumn{name: columnWindow}, group: parquetColumn{name: columnGroup}, end: parquetColumn{},
	}
	_, plain := schema.Lookup(columnTime)
	_, intended := schema.Lookup(columnIntended)
	_, end := schema.Lookup(columnEnd)
	if c.own = !plain && intended && end; c.own {
		c.time.name, c.end.name = columnIntended, columnEnd
		if _, grouped := schema.Lookup(columnGroup); !grouped {
			c.group.name = columnComposition
		}
	}
	for _, column := range c.all() {
		column.leaf = -1
		if column.name == "" {
			continue
		}
		leaf, ok := schema.Lookup(column.name)
		if !ok {
			continue
		}
		column.leaf, column.kind = leaf.ColumnIndex, leaf.Node.Type().Kind()
		if leaf.Node.Repeated() || leaf.MaxRepetitionLevel > 0 {
			return nil, unusable(name, "column %s holds lists", column.name)
		}
	}
	numeric := func(k pq.Kind) bool {
		return k == pq.Int32 || k == pq.Int64 || !c.own && (k == pq.Float || k == pq.Double)
	}
	switch {
	case c.time.leaf < 0:
		return nil, unusable(name, "no column time_ms, nor intended_ns and end_ns")
	case c.outcome.leaf < 0:
		return nil, unusable(name, "no column outcome")
	case !numeric(c.time.kind):
		return nil, unusable(name, "column %s holds %v: a number was expected", c.time.name, c.time.kind)
	case c.own && !numeric(c.end.kind):
		return nil, unusable(name, "column %s holds %v: a number was expected", c.end.name, c.end.kind)
	}
	if leaf, _ := schema.Lookup(c.time.name); leaf.Node.Type().LogicalType() != nil && strings.HasPrefix(leaf.Node.Type().LogicalType().String(), "DECIMAL") {
		return nil, unusable(name, "column %s holds scaled decimals: a plain number was expected", c.time.name)
	}
	return c, nil
}

// read takes the rows of one group.
func (c *columns) read(group pq.RowGroup, at *int64, in *intake) (err error) {
	chunks := group.ColumnChunks()
	for _, column := range c.all() {
		if column.leaf >= 0 {
			column.reader = pq.NewColumnChunkValueReader(chunks[column.leaf])
		}
	}
	defer func() {
		for _, column := range c.all() {
			if column.leaf >= 0 {
				err = errors.Join(err, column.reader.Close())
			}
		}
	}()
	var one row
	for left := group.NumRows(); left > 0; {
		n := int(min(left, batch))
		for _, column := range c.all() {
			if err := column.fill(n); err != nil {
				return unusable(in.faults.Name, "the Parquet file is damaged: column %s after row %d: %v", column.name, *at, err)
			}
		}
		for i := range n {
			*at++
			one = row{at: *at, outcome: c.outcome.text(i), window: c.window.text(i), group: c.group.text(i)}
			c.timeOf(i, &one)
			if err := in.take(&one); err != nil {
				return err
			}
		}
		left -= int64(n)
	}
	return nil
}

// timeOf sets the time of row i of the batch.
func (c *columns) timeOf(i int, r *row) {
	v := c.time.values[i]
	if v.IsNull() || c.own && c.end.values[i].IsNull() {
		r.timeErr = errNoTime
		return
	}
	switch {
	case c.own:
		r.time = time.Duration(c.end.whole(i) - c.time.whole(i))
	case c.time.kind == pq.Int32, c.time.kind == pq.Int64:
		ms := c.time.whole(i)
		if r.time = time.Duration(ms) * time.Millisecond; r.time/time.Millisecond != time.Duration(ms) {
			r.timeErr = errRange
		}
	case c.time.kind == pq.Float:
		r.time, r.timeErr = fromMillis(float64(v.Float()))
	default:
		r.time, r.timeErr = fromMillis(v.Double())
	}
	if r.time < 0 && r.timeErr == nil {
		r.timeErr = errNegative
	}
	if r.timeErr != nil {
		r.timeText = fmt.Append(nil, v)
		if c.own {
			r.timeText = fmt.Append(nil, r.time)
		}
	}
}

// fill reads the next n values.
func (c *parquetColumn) fill(n int) error {
	if c.leaf < 0 {
		return nil
	}
	if c.values == nil {
		c.values = make([]pq.Value, batch)
	}
	for left := c.values[:n]; len(left) > 0; {
		read, err := c.reader.ReadValues(left)
		if read == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if c.kind == pq.ByteArray || c.kind == pq.FixedLenByteArray {
			// A value lives as long as the page that it came with.
			for i, v := range left[:read] {
				left[i] = v.Clone()
			}
		}
		left = left[read:]
	}
	return nil
}

func (c *parquetColumn) whole(i int) int64 {
	if c.kind == pq.Int32 {
		return int64(c.values[i].Int32())
	}
	return c.values[i].Int64()
}

// text returns what a name's value says.
func (c *parquetColumn) text(i int) []byte {
	switch {
	case c.leaf < 0 || c.values[i].IsNull():
		return nil
	case c.kind == pq.ByteArray, c.kind == pq.FixedLenByteArray:
		return c.values[i].ByteArray()
	}
	return fmt.Append(nil, c.values[i])
}
