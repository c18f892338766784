package parquet

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"brunt/record"

	pq "github.com/parquet-go/parquet-go"
)

// someRows writes a small run and returns its directory.
func someRows(t *testing.T) (dir string, written *rows) {
	t.Helper()
	dir, written = t.TempDir(), new(rows)
	for i := range int64(200) {
		written.Request(&record.Request{Index: i, End: time.Duration(i * i), ServedBy: int32(i%4) - 1, Submitted: record.Never})
		written.Attempt(&record.Attempt{Request: i, Dependency: int32(i % 3), Cancelled: i%2 == 0})
		written.Event(&record.Event{At: time.Duration(i), What: record.WhatPermits, Value: i % 16})
	}
	write(t, dir, []string{"first", "second"}, []*rows{written, written})
	return dir, written
}

// foreign writes a Parquet file with one column and the metadata given.
func foreign(t *testing.T, path string, node pq.Group, metadata ...string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := pq.NewGenericWriter[any](f, pq.NewSchema("row", node))
	for i := 0; i < len(metadata); i += 2 {
		w.SetKeyValueMetadata(metadata[i], metadata[i+1])
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// Each error names the file, and says what to do.
func TestReadErrors(t *testing.T) {
	cases := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		file  string
		say   string
	}{
		{"no rows were kept", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, AttemptsFile))
		}, AttemptsFile, "is missing: the run kept no rows"},
		{"an empty file", func(t *testing.T, dir string) {
			cut(t, filepath.Join(dir, RequestsFile), 0)
		}, RequestsFile, "cut short at 0 bytes"},
		{"less than the magic", func(t *testing.T, dir string) {
			cut(t, filepath.Join(dir, RequestsFile), 3)
		}, RequestsFile, "cut short at 3 bytes"},
		// A run that was killed leaves rows without the footer.
		{"cut in the middle", func(t *testing.T, dir string) {
			cut(t, filepath.Join(dir, EventsFile), 500)
		}, EventsFile, "cut short at 500 bytes, the run did not finish it; run the study again"},
		{"another kind of file", func(t *testing.T, dir string) {
			place(t, filepath.Join(dir, EventsFile), []byte("time,outcome\n1,ok\n"))
		}, EventsFile, "not a Parquet file"},
		// A length of the footer that is larger than the file.
		{"a footer too long", func(t *testing.T, dir string) {
			place(t, filepath.Join(dir, EventsFile), []byte("PAR1\xff\xff\xff\xffPAR1"))
		}, EventsFile, "cut short"},
		{"a footer of noise", func(t *testing.T, dir string) {
			place(t, filepath.Join(dir, EventsFile), []byte("PAR1\xff\xff\xff\xff\xff\xff\xff\xff\x08\x00\x00\x00PAR1"))
		}, EventsFile, "damaged"},
		{"Parquet of another tool", func(t *testing.T, dir string) {
			foreign(t, filepath.Join(dir, RequestsFile), pq.Group{"x": pq.String()})
		}, RequestsFile, "brunt did not write this"},
		{"a later version", func(t *testing.T, dir string) {
			foreign(t, filepath.Join(dir, RequestsFile), pq.Group{"x": pq.String()}, keyVersion, "2")
		}, RequestsFile, `rows of version "2", this brunt reads version 1`},
		{"a column too few", func(t *testing.T, dir string) {
			foreign(t, filepath.Join(dir, EventsFile), pq.Group{"stage": pq.String()}, keyVersion, "1")
		}, EventsFile, "column instant_ns is missing"},
		{"a column of another kind", func(t *testing.T, dir string) {
			foreign(t, filepath.Join(dir, EventsFile), pq.Group{"instant_ns": pq.String()}, keyVersion, "1")
		}, EventsFile, "column instant_ns holds BYTE_ARRAY, expected INT64"},
		{"a column with nulls", func(t *testing.T, dir string) {
			foreign(t, filepath.Join(dir, EventsFile), pq.Group{"instant_ns": pq.Optional(pq.Leaf(pq.Int64Type))}, keyVersion, "1")
		}, EventsFile, "column instant_ns holds INT64 or null, expected INT64"},
		{"files of two runs", func(t *testing.T, dir string) {
			other := t.TempDir()
			write(t, other, []string{"another"}, []*rows{{}})
			b, err := os.ReadFile(filepath.Join(other, EventsFile))
			if err != nil {
				t.Fatal(err)
			}
			place(t, filepath.Join(dir, EventsFile), b)
		}, EventsFile, "not of one run"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, _ := someRows(t)
			c.spoil(t, dir)
			r, err := Read(dir, dependencies)
			if err == nil {
				r.Close()
				t.Fatal("read without an error")
			}
			if !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.say) {
				t.Errorf("got %v, expected %q about %s", err, c.say, c.file)
			}
		})
	}
}

func TestMissingIsNotExist(t *testing.T) {
	if _, err := Read(t.TempDir(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, callers branch on fs.ErrNotExist", err)
	}
}

// Names that brunt does not know end the reading.
func TestFeedErrors(t *testing.T) {
	dir, _ := someRows(t)
	r, err := Read(dir, []string{"primary", "backup"}) // without cache
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Feed("third", new(rows)); err == nil || !strings.Contains(err.Error(), `no composition "third" among the rows, expected first, second`) {
		t.Errorf("got %v", err)
	}
	err = r.Feed("first", new(rows))
	if err == nil || !strings.Contains(err.Error(), `requests.parquet: rows of composition "first" from row 0 on: column served_by: unknown name "cache", expected primary, backup`) {
		t.Errorf("got %v", err)
	}
}

// Names of enumerations that are not brunt's, and columns that contradict each
// other, are errors. The columns are read directly: no writer makes such rows.
func TestUnknownNames(t *testing.T) {
	word := func(s string) []pq.Value { return []pq.Value{pq.ByteArrayValue([]byte(s))} }
	requests, attempts := requestColumns("one", dependencies), attemptColumns("one", dependencies)
	cases := []struct {
		column string
		err    error
		say    string
	}{
		{"outcome", read(requests, "outcome", word("lost")), `unknown name "lost", expected completed, errored, censored`},
		{"cause", read(requests, "cause", word("fire")), `unknown name "fire"`},
		{"composition", read(requests, "composition", word("two")), `"two" where only rows of "one" belong`},
		{"why", read(attempts, "why", word("luck")), `unknown name "luck", expected first, retry, hedge, fallback`},
		{"outcome of an attempt", read(attempts, "outcome", word("errored")), `unknown name "errored"`},
		{"cancelled", read(attempts, "cancelled", []pq.Value{pq.BooleanValue(true)}), "contradicts the outcome"},
	}
	for _, c := range cases {
		if c.err == nil || !strings.Contains(c.err.Error(), c.say) {
			t.Errorf("%s: got %v, expected %q", c.column, c.err, c.say)
		}
	}
}

func read[R any](columns []column[R], name string, values []pq.Value) error {
	for _, c := range columns {
		if c.name == name {
			return c.read(make([]R, len(values)), values)
		}
	}
	return nil
}

// Whatever byte of a file is damaged, reading ends with an error, or with the
// rows as written where the byte carries none of them; never with a panic, and
// never with other rows. The library does panic over some bytes of the head of
// a page, and of the start of the footer: those are tried one by one.
func TestDamage(t *testing.T) {
	dir, written := someRows(t)
	found := 0
	damage := func(name string, from, to, step int) {
		t.Helper()
		path := filepath.Join(dir, name)
		intact, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer place(t, path, intact)
		if to == 0 {
			to = len(intact)
		}
		if from < 0 { // from the start of the footer
			from = len(intact) - 8 - int(binary.LittleEndian.Uint32(intact[len(intact)-8:]))
			to += from
		}
		for i := from; i < to; i += step {
			b := append([]byte(nil), intact...)
			b[i] ^= 0x55
			place(t, path, b)
			got, err := reread(dir)
			if err != nil {
				found++
			} else if diff := differ(written, got); diff != "" {
				t.Errorf("%s: byte %d of %d: other rows without an error: %s", name, i, len(intact), diff)
			}
		}
	}
	damage(RequestsFile, 0, 0, 47)
	damage(AttemptsFile, 0, 0, 89)
	damage(RequestsFile, 190, 220, 1)
	damage(EventsFile, -1, 40, 1)
	if found < 100 {
		t.Errorf("only %d damages were found", found)
	}
}

// reread reads the first composition of a run.
func reread(dir string) (*rows, error) {
	r, err := Read(dir, dependencies)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	got := new(rows)
	return got, r.Feed("first", got)
}

// Several goroutines may read at once.
func TestFeedAtOnce(t *testing.T) {
	dir, written := someRows(t)
	r, err := Read(dir, dependencies)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			got := new(rows)
			if err := r.Feed([]string{"first", "second"}[i%2], got); err != nil {
				t.Error(err)
			} else if diff := differ(written, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	all.Wait()
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func place(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
