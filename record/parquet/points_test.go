package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	pq "github.com/parquet-go/parquet-go"
)

// What a sheet holds is read back by the library itself: columns in their
// order, nulls as nulls, over several groups of rows.
func TestSheet(t *testing.T) {
	rows := usual.group + 10
	var out bytes.Buffer
	s, err := NewSheet(&out, []SheetColumn{{"z", Whole}, {"a", Text}, {"m", Number}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		row := []any{int64(i), "word", float64(i) / 2}
		if i%3 == 1 {
			row = []any{nil, nil, nil}
		}
		if err := s.Row(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := pq.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range f.Schema().Columns() {
		names = append(names, c[0])
	}
	if diff := cmp.Diff([]string{"z", "a", "m"}, names); diff != "" {
		t.Error(diff)
	}
	if n := len(f.RowGroups()); n != 2 || f.NumRows() != int64(rows) {
		t.Errorf("%d groups of %d rows", n, f.NumRows())
	}
	in := f.RowGroups()[1].Rows() // the tenth row before the end on
	defer in.Close()
	got := make([]pq.Row, 4)
	if n, err := in.ReadRows(got); n != 4 {
		t.Fatal(n, err)
	}
	for k, row := range got {
		i := usual.group + k
		if i%3 == 1 {
			for _, v := range row {
				if !v.IsNull() {
					t.Errorf("row %d has %v for a null", i, v)
				}
			}
			continue
		}
		if row[0].Int64() != int64(i) || row[1].String() != "word" || row[2].Double() != float64(i)/2 {
			t.Errorf("row %d is %v", i, row)
		}
	}
}

func TestSheetRefuses(t *testing.T) {
	if _, err := NewSheet(new(bytes.Buffer), []SheetColumn{{"a", Text}, {"a", Text}}); err == nil {
		t.Error("two columns of one name pass")
	}
	for _, c := range []struct {
		why  string
		row  []any
		want string
	}{
		{"too few values", []any{"x"}, "has 1 values, expected 2"},
		{"a number for a text", []any{1.5, 1.5}, "column a: a float64 does not belong there"},
		{"a whole number for a number", []any{"x", int64(1)}, "column b: a int64 does not belong there"},
		{"something else", []any{"x", true}, "column b: a bool does not belong there"},
	} {
		s, err := NewSheet(new(bytes.Buffer), []SheetColumn{{"a", Text}, {"b", Number}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Row(c.row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.why, err, c.want)
		}
	}
}
