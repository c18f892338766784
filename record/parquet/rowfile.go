package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
)

// rowFile is one file that is open for reading.
type rowFile[R any] struct {
	path         string
	file         *os.File
	rows         *pq.File
	columnsOf    columnsOf[R]
	dependencies []string
	compositions []string
	counts       []int64 // rows of each composition
	places       []int   // where each column stands in the file
	groups       [][]int // the groups of rows of each composition
}

func openRows[R any](path string, dependencies []string, columnsOf columnsOf[R]) (*rowFile[R], error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: the run kept no rows; run the study again and keep them: %w", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	f := &rowFile[R]{path: path, file: file, columnsOf: columnsOf, dependencies: dependencies}
	if err := f.open(); err != nil {
		// The error of the closing would only hide the one that matters.
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *rowFile[R]) close() error {
	if f == nil {
		return nil
	}
	return f.file.Close()
}

// open reads what the file says about itself and judges it.
func (f *rowFile[R]) open() (err error) {
	defer damaged(&err)
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	if err := whole(f.file, info.Size()); err != nil {
		return err
	}
	f.rows, err = pq.OpenFile(f.file, info.Size(), pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("the file is damaged (%w); run the study again", err)
	}
	if err := f.ours(); err != nil {
		return err
	}
	if err := f.placeColumns(); err != nil {
		return err
	}
	return f.divide()
}

// damaged turns a panic into an error: the library is not safe against every
// damage to a file.
func damaged(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the file is damaged (%v); run the study again", r)
	}
}

const magic = "PAR1"

// whole tells a file that was cut short from one of another kind, and keeps a
// damaged length from asking for memory.
func whole(file io.ReaderAt, size int64) error {
	const least = 12 // the magic twice, and the length of the footer
	var head [4]byte
	if _, err := file.ReadAt(head[:min(size, 4)], 0); err != nil {
		return err
	}
	if size >= 4 && string(head[:]) != magic {
		return errors.New("not a Parquet file; move it away and run the study again")
	}
	var tail [8]byte
	if size >= least {
		if _, err := file.ReadAt(tail[:], size-8); err != nil {
			return err
		}
	}
	footer := int64(binary.LittleEndian.Uint32(tail[:4]))
	if string(tail[4:]) != magic || footer > size-least {
		return fmt.Errorf("the file was cut short at %d bytes, the run did not finish it; run the study again", size)
	}
	return nil
}

// ours refuses a file that brunt did not write, or not this version of it.
func (f *rowFile[R]) ours() error {
	text, ok := f.rows.Lookup(keyVersion)
	if !ok {
		return errors.New("brunt did not write this Parquet file (or another tool rewrote it); run the study again")
	}
	if v, err := strconv.Atoi(text); err != nil || v != version {
		return fmt.Errorf("rows of version %q, this brunt reads version %d; use the brunt that wrote them, or run the study again", text, version)
	}
	return nil
}

// placeColumns finds the columns; others that are there are not looked at.
func (f *rowFile[R]) placeColumns() error {
	schema := f.rows.Schema()
	text, _ := f.rows.Lookup(keyColumns)
	made, _ := strconv.Atoi(text) // 0 in older files
	for i, c := range f.columnsOf("", f.dependencies) {
		if !has(schema, c.name) {
			// One that the file was made with is no column to do without.
			if c.lack == nil || i < made {
				return fmt.Errorf("column %s is missing; run the study again", c.name)
			}
			f.places = append(f.places, absent)
			continue
		}
		leaf, ok := schema.Lookup(c.path()...)
		if c.lists != nil {
			if !ok || leaf.MaxRepetitionLevel != 1 || leaf.MaxDefinitionLevel != 1 || leaf.Node.Type().Kind() != pq.Int64 {
				return fmt.Errorf("column %s does not hold lists of INT64; run the study again", c.name)
			}
			f.places = append(f.places, leaf.ColumnIndex)
			continue
		}
		n := leaf.Node
		if !ok {
			return fmt.Errorf("column %s holds a group, expected %s; run the study again", c.name, kind(c.node))
		}
		if n.Repeated() || n.Optional() != c.node.Optional() || n.Type().Kind() != c.node.Type().Kind() {
			return fmt.Errorf("column %s holds %s, expected %s; run the study again", c.name, kind(n), kind(c.node))
		}
		f.places = append(f.places, leaf.ColumnIndex)
	}
	return nil
}

// absent is the place of a column that the file was made without.
const absent = -1

func has(schema *pq.Schema, column string) bool {
	return slices.ContainsFunc(schema.Fields(), func(f pq.Field) bool { return f.Name() == column })
}

func kind(n pq.Node) string {
	switch {
	case n.Repeated():
		return "lists of " + n.Type().Kind().String()
	case n.Optional():
		return n.Type().Kind().String() + " or null"
	}
	return n.Type().Kind().String()
}

// divide gives each composition its groups of rows.
func (f *rowFile[R]) divide() error {
	var err error
	if f.compositions, err = unlist[string](f.rows, keyCompositions); err != nil {
		return err
	}
	if f.counts, err = unlist[int64](f.rows, keyCounts); err != nil {
		return err
	}
	if len(f.compositions) != len(f.counts) {
		return fmt.Errorf("the file is damaged (%d compositions, %d counts); run the study again", len(f.compositions), len(f.counts))
	}
	f.groups = make([][]int, len(f.counts))
	next := 0
	all := f.rows.RowGroups()
	for i, count := range f.counts {
		for ; count > 0 && next < len(all); next++ {
			f.groups[i] = append(f.groups[i], next)
			count -= all[next].NumRows()
		}
		if count != 0 {
			return fmt.Errorf("the file is damaged (composition %q should have %d rows); run the study again", f.compositions[i], f.counts[i])
		}
	}
	if next != len(all) {
		return errors.New("the file is damaged (rows of no composition); run the study again")
	}
	return nil
}
