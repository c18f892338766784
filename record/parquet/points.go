package parquet

import (
	"fmt"
	"io"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
)

// Kind is what a column of a [Sheet] holds.
type Kind int

// The kinds of columns. Any value may be null.
const (
	Text Kind = iota
	Number
	Whole
)

// SheetColumn is one column of a sheet.
type SheetColumn struct {
	Name string
	Kind Kind
}

// Sheet writes a file of rows whose columns are known only when it is made,
// such as the points of a sweep. Its rows are not those of a run: nothing here
// reads them back. It holds a bounded number of rows and may be used from one
// goroutine.
type Sheet struct {
	columns []SheetColumn
	out     *pq.GenericWriter[any]
	row     pq.Row
	rows    int
}

// NewSheet begins a sheet. The names of columns must differ.
func NewSheet(w io.Writer, columns []SheetColumn) (*Sheet, error) {
	root := group{Group: pq.Group{}}
	for _, c := range columns {
		if _, twice := root.Group[c.Name]; twice {
			return nil, fmt.Errorf("two columns are named %q", c.Name)
		}
		var node pq.Node
		switch c.Kind {
		case Number:
			node = pq.Leaf(pq.DoubleType)
		case Whole:
			node = number(pq.Int64Type)
		default:
			node = text()
		}
		root.Group[c.Name] = pq.Optional(node)
		root.names = append(root.names, c.Name)
	}
	out := pq.NewGenericWriter[any](w, pq.NewSchema("point", root), pq.Compression(compression), pq.PageBufferSize(pageBytes),
		pq.CreatedBy("brunt", strconv.Itoa(version), ""))
	return &Sheet{columns: columns, out: out, row: make(pq.Row, len(columns))}, nil
}

// Row writes a row: a string, a float64, an int64 or, for a null, nil for each
// column.
func (s *Sheet) Row(values []any) error {
	if len(values) != len(s.columns) {
		return fmt.Errorf("row %d has %d values, expected %d", s.rows, len(values), len(s.columns))
	}
	for i, v := range values {
		var value pq.Value
		fits := true
		switch x := v.(type) {
		case nil:
			s.row[i] = pq.Value{}.Level(0, 0, i)
			continue
		case string:
			value, fits = pq.ByteArrayValue([]byte(x)), s.columns[i].Kind == Text
		case float64:
			value, fits = pq.DoubleValue(x), s.columns[i].Kind == Number
		case int64:
			value, fits = pq.Int64Value(x), s.columns[i].Kind == Whole
		default:
			fits = false
		}
		if !fits {
			return fmt.Errorf("row %d, column %s: a %T does not belong there", s.rows, s.columns[i].Name, v)
		}
		s.row[i] = value.Level(0, 1, i)
	}
	if _, err := s.out.WriteRows([]pq.Row{s.row}); err != nil {
		return fmt.Errorf("row %d: %w", s.rows, err)
	}
	s.rows++
	if s.rows%usual.group == 0 {
		if err := s.out.Flush(); err != nil {
			return fmt.Errorf("row %d: %w", s.rows, err)
		}
	}
	return nil
}

// Close ends the file; it does not close what it was written to.
func (s *Sheet) Close() error {
	if err := s.out.Close(); err != nil {
		return fmt.Errorf("finish the rows: %w", err)
	}
	return nil
}
