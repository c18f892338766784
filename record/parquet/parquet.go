// Package parquet keeps the rows of a run in three Parquet files: one row a
// request, one row an attempt, one row an event. What [Create] writes, [Read]
// gives back field by field, so that numbers computed from the files equal
// those computed while the run was on.
//
// The rows stand in the order of the compositions, and of one composition in
// the order in which they came. The bytes of a file depend on nothing but its
// rows: not on how the compositions took turns, and not on GOMAXPROCS.
//
// Columns that end in _ns are nanoseconds since the start of the composition's
// run, null when the instant did not come. Outcomes, causes and dependencies
// are kept by name. The order among rows of different files is not kept.
//
// A [Writer] and a [Reader] may be used from any goroutine; a [Sink] belongs to
// the goroutine that feeds it.
//
//	w, err := parquet.Create("runs/outage", []string{"retry"}, []string{"service"})
//	sink := w.Composition(0)
//	sink.Request(&record.Request{ServedBy: -1})
//	sink.Close()
//	err = w.Close()
package parquet

import (
	"encoding/json"
	"fmt"
	"strconv"

	pq "github.com/parquet-go/parquet-go"
)

// version is the version of the columns. It goes up when a reader of the
// version before would misread the file, which more columns do not cause.
const version = 1

// The keys of what a file says about itself.
const (
	keyVersion      = "brunt.rows"
	keyCompositions = "brunt.compositions" // names, in the order of the rows
	keyCounts       = "brunt.counts"       // rows of each composition
	keyDependencies = "brunt.dependencies" // names, by position in the study
	keyColumns      = "brunt.columns"      // how many of brunt's columns there are; a file without it is older than any that came later
)

// compression is what pages are packed with. On the rows of the outage study
// snappy costs no time that could be told from none, and leaves a seventh of the
// bytes. zstd leaves half of that, but each of its encoders holds megabytes that
// are made anew when the pool of them was emptied: a quiet run is as fast, one
// under memory pressure many times slower. BenchmarkOutage measures it.
var compression = &pq.Snappy

// bounds is how many rows are held in memory.
type bounds struct {
	batch int // rows that a sink hands over at once
	queue int // batches that a composition may be ahead of the writing before it waits
	group int // rows before a file is written out; a multiple of batch
	write int // bytes that go to the file at once
}

// usual holds 3 MB of attempts for a composition that waits, and less than 10 MB
// for a file. Batches of 1,000 rows stay in the cache.
var usual = bounds{batch: 1024, queue: 32, group: 64 * 1024, write: 64 << 10}

// pageBytes is small for the memory of many columns, all of it touched for the
// first time in a short run: with 64 KiB it takes twice as many page faults, for
// a quarter less on the disk.
const pageBytes = 16 << 10

// schemaOf returns the schema that columns make, in their order.
func schemaOf[R any](columns []column[R]) *pq.Schema {
	root := group{Group: pq.Group{}}
	for _, c := range columns {
		root.Group[c.name] = c.node
		root.names = append(root.names, c.name)
	}
	return pq.NewSchema("row", root)
}

// group is a group of columns in a given order; that of the library sorts them
// by name.
type group struct {
	pq.Group
	names []string
}

// Fields returns the columns in their order.
func (g group) Fields() []pq.Field {
	byName := make(map[string]pq.Field, len(g.names))
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]pq.Field, len(g.names))
	for i, name := range g.names {
		fields[i] = byName[name]
	}
	return fields
}

// list puts a list into what a file says about itself.
func list[T any](of []T) string {
	if len(of) == 0 {
		return "[]"
	}
	text, err := json.Marshal(of)
	if err != nil {
		// Names and counts always marshal.
		return strconv.Quote(err.Error())
	}
	return string(text)
}

// unlist reads what list wrote.
func unlist[T any](file interface{ Lookup(string) (string, bool) }, key string) ([]T, error) {
	text, _ := file.Lookup(key)
	var of []T
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		return nil, fmt.Errorf("metadata %s: %q is not the list expected: %w", key, text, err)
	}
	return of, nil
}
