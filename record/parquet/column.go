package parquet

import (
	"fmt"
	"strings"
	"time"

	"brunt/record"

	pq "github.com/parquet-go/parquet-go"
)

// column is one column of a file of rows R: one declaration serves both
// directions, so that they cannot drift apart.
type column[R any] struct {
	name string
	node pq.Node
	word bool // holds names
	// write makes the values of rows.
	write func(values []pq.Value, rows []R) error
	// read sets its field in rows from values, which it must not keep.
	read func(rows []R, values []pq.Value) error
	// lists stands in place of write and read where a row has any number of
	// values.
	lists *lists[R]
	// lack sets its field in rows of a file made before there was the column;
	// nil for a column that every file has.
	lack func(rows []R)
}

// later is a column that came after the first version of the files: lack is
// what the rows of older ones hold.
func (c column[R]) later(lack func(*R)) column[R] {
	c.lack = func(rows []R) {
		for i := range rows {
			lack(&rows[i])
		}
	}
	return c
}

// path is where the values of the column stand in the schema.
func (c column[R]) path() []string {
	if c.lists != nil {
		return []string{c.name, "list", "element"}
	}
	return []string{c.name}
}

// Numbers that mostly grow from row to row are kept as differences; names by
// their place in a dictionary. Both are fast to write and small.
func number(t pq.Type) pq.Node { return pq.Encoded(pq.Leaf(t), &pq.DeltaBinaryPacked) }
func text() pq.Node            { return pq.Encoded(pq.String(), &pq.RLEDictionary) }

// present marks a value of an optional column as there.
func present(v pq.Value) pq.Value { return v.Level(0, 1, 0) }

func wide[R any](name string, field func(*R) *int64) column[R] {
	return column[R]{
		name: name,
		node: number(pq.Int64Type),
		write: func(values []pq.Value, rows []R) error {
			for i := range rows {
				values[i] = pq.Int64Value(*field(&rows[i]))
			}
			return nil
		},
		read: func(rows []R, values []pq.Value) error {
			for i, v := range values {
				*field(&rows[i]) = v.Int64()
			}
			return nil
		},
	}
}

func narrow[R any](name string, field func(*R) *int32) column[R] {
	return column[R]{
		name: name,
		node: number(pq.Int32Type),
		write: func(values []pq.Value, rows []R) error {
			for i := range rows {
				values[i] = pq.Int32Value(*field(&rows[i]))
			}
			return nil
		},
		read: func(rows []R, values []pq.Value) error {
			for i, v := range values {
				*field(&rows[i]) = v.Int32()
			}
			return nil
		},
	}
}

// instant is a duration, or an instant that always comes.
func instant[R any](name string, field func(*R) *time.Duration) column[R] {
	return wide(name, func(r *R) *int64 { return (*int64)(field(r)) })
}

// maybe is an instant that may never come: null for [record.Never].
func maybe[R any](name string, field func(*R) *time.Duration) column[R] {
	return known(name, int64(record.Never), func(r *R) *int64 { return (*int64)(field(r)) })
}

// known is a number that may be unknown: null for the value given.
func known[R any](name string, unknown int64, field func(*R) *int64) column[R] {
	return column[R]{
		name: name,
		node: pq.Optional(number(pq.Int64Type)),
		write: func(values []pq.Value, rows []R) error {
			for i := range rows {
				values[i] = pq.Value{}
				if n := *field(&rows[i]); n != unknown {
					values[i] = present(pq.Int64Value(n))
				}
			}
			return nil
		},
		read: func(rows []R, values []pq.Value) error {
			for i, v := range values {
				*field(&rows[i]) = unknown
				if !v.IsNull() {
					*field(&rows[i]) = v.Int64()
				}
			}
			return nil
		},
	}
}

func flag[R any](name string, field func(*R) *bool) column[R] {
	return column[R]{
		name: name,
		node: pq.Leaf(pq.BooleanType),
		write: func(values []pq.Value, rows []R) error {
			for i := range rows {
				values[i] = pq.BooleanValue(*field(&rows[i]))
			}
			return nil
		},
		read: func(rows []R, values []pq.Value) error {
			for i, v := range values {
				*field(&rows[i]) = v.Boolean()
			}
			return nil
		},
	}
}

func amount[R any](name string, field func(*R) *float64) column[R] {
	return column[R]{
		name: name,
		node: pq.Leaf(pq.DoubleType),
		write: func(values []pq.Value, rows []R) error {
			for i := range rows {
				values[i] = pq.DoubleValue(*field(&rows[i]))
			}
			return nil
		},
		read: func(rows []R, values []pq.Value) error {
			for i, v := range values {
				*field(&rows[i]) = v.Double()
			}
			return nil
		},
	}
}

// named is a number that stands in the file as a name out of a list. The name
// "" is null; without one in the list the column has no nulls.
func named[R any](name string, list []string, get func(*R) int, set func(*R, int)) column[R] {
	c := column[R]{name: name, node: text(), word: true}
	values := make([]pq.Value, len(list))
	places := make(map[string]int, len(list))
	null := -1
	for i, word := range list {
		if word == "" {
			null = i
			continue
		}
		values[i] = pq.ByteArrayValue([]byte(word))
		places[word] = i
	}
	if null >= 0 {
		c.node = pq.Optional(c.node)
		for i := range values {
			if i != null {
				values[i] = present(values[i])
			}
		}
	}
	c.write = func(out []pq.Value, rows []R) error {
		for i := range rows {
			at := get(&rows[i])
			if at < 0 || at >= len(values) {
				return fmt.Errorf("column %s: number %d has no name, expected 0 to %d", name, at, len(values)-1)
			}
			out[i] = values[at]
		}
		return nil
	}
	c.read = func(rows []R, in []pq.Value) error {
		for i, v := range in {
			at := null
			if !v.IsNull() {
				known := false
				if at, known = places[string(v.ByteArray())]; !known {
					return fmt.Errorf("column %s: unknown name %q, expected %s", name, v.ByteArray(), words(list))
				}
			}
			set(&rows[i], at)
		}
		return nil
	}
	return c
}

func words(list []string) string {
	kept := make([]string, 0, len(list))
	for _, word := range list {
		if word != "" {
			kept = append(kept, word)
		}
	}
	if len(kept) == 0 {
		return "none"
	}
	return strings.Join(kept, ", ")
}

// enumeration is a number of package record that has a name.
type enumeration interface {
	~uint8
	String() string
}

// enum is a field whose numbers have names.
func enum[R any, E enumeration](name string, field func(*R) *E) column[R] {
	return named(name, members[E](),
		func(r *R) int { return int(*field(r)) },
		func(r *R, at int) { *field(r) = E(at) })
}

// members returns the names of E, from 0 on.
func members[E enumeration]() []string {
	var list []string
	for e := E(0); e.String() != "unknown"; e++ {
		list = append(list, e.String())
	}
	return list
}

// mostWords bounds the words that a free column remembers.
const mostWords = 4096

// free is a text that may be anything; only a few different ones are expected.
func free[R any](name string, field func(*R) *string) column[R] {
	written := make(map[string]pq.Value)
	known := make(map[string]string)
	return column[R]{
		name: name,
		node: text(),
		word: true,
		write: func(values []pq.Value, rows []R) error {
			last := ""
			v, ok := written[last]
			for i := range rows {
				// One word often follows itself.
				if word := *field(&rows[i]); !ok || word != last {
					if v, ok = written[word]; !ok {
						if len(written) >= mostWords {
							clear(written)
						}
						v, ok = pq.ByteArrayValue([]byte(word)), true
						written[word] = v
					}
					last = word
				}
				values[i] = v
			}
			return nil
		},
		read: func(rows []R, values []pq.Value) error {
			for i, v := range values {
				word, ok := known[string(v.ByteArray())]
				if !ok {
					if len(known) >= mostWords {
						clear(known)
					}
					word = string(v.ByteArray())
					known[word] = word
				}
				*field(&rows[i]) = word
			}
			return nil
		},
	}
}

// always is a column that holds one word in all rows of a composition.
func always[R any](name, word string) column[R] {
	value := pq.ByteArrayValue([]byte(word))
	return column[R]{
		name: name,
		node: text(),
		word: true,
		write: func(values []pq.Value, _ []R) error {
			for i := range values {
				values[i] = value
			}
			return nil
		},
		read: func(_ []R, values []pq.Value) error {
			for _, v := range values {
				if string(v.ByteArray()) != word {
					return fmt.Errorf("column %s: %q where only rows of %q belong", name, v.ByteArray(), word)
				}
			}
			return nil
		},
	}
}
