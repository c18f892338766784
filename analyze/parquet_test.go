package analyze

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brunt/record"
	"brunt/record/parquet"

	pq "github.com/parquet-go/parquet-go"
)

type column struct {
	name   string
	node   pq.Node
	values []any
}

// parquetFile writes a Parquet file, in pages so small that a batch takes
// several.
func parquetFile(t *testing.T, columns ...column) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	group := pq.Group{}
	for _, c := range columns {
		group[c.name] = c.node
	}
	w := pq.NewWriter(f, pq.NewSchema("rows", group), pq.PageBufferSize(64), pq.MaxRowsPerRowGroup(1500))
	for i := range columns[0].values {
		row := map[string]any{}
		for _, c := range columns {
			if v := c.values[i]; v != nil {
				row[c.name] = v
			}
		}
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// Enough rows for several batches, pages and groups of rows, in several ways
// to hold a time.
func TestParquet(t *testing.T) {
	const n = 4000
	var want strings.Builder
	want.WriteString("time_ms,outcome,group\n")
	var whole, float, small, outcome, group []any
	for i := range n {
		ms, o := i*37%2000, record.Outcome(i%3)
		whole, float, small = append(whole, int64(ms)), append(float, float64(ms)), append(small, int32(ms))
		outcome = append(outcome, o.String())
		var g any
		name := ""
		if i%4 > 0 {
			name = fmt.Sprintf("a group with a long name %d", i%4)
			g = name
		}
		group = append(group, g)
		fmt.Fprintf(&want, "%d,%v,%s\n", ms, o, name)
	}
	o := Options{Horizon: 2 * time.Second}
	text := analyzeText(t, want.String(), o)
	cases := []struct {
		name    string
		columns []column
	}{
		{"doubles, optional", []column{{"time_ms", pq.Optional(pq.Leaf(pq.DoubleType)), float}, {"outcome", pq.String(), outcome}, {"group", pq.Optional(pq.String()), group}}},
		{"whole numbers, dictionaries", []column{{"time_ms", pq.Leaf(pq.Int64Type), whole}, {"outcome", pq.Encoded(pq.String(), &pq.RLEDictionary), outcome}, {"group", pq.Optional(pq.Encoded(pq.String(), &pq.RLEDictionary)), group}}},
		{"small numbers, another column", []column{{"time_ms", pq.Leaf(pq.Int32Type), small}, {"outcome", pq.String(), outcome}, {"group", pq.Optional(pq.String()), group}, {"x", pq.Leaf(pq.DoubleType), float}}},
	}
	for _, c := range cases {
		a, err := File(parquetFile(t, c.columns...), o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(a.Groups) != 4 {
			t.Fatalf("%s: %d groups, want 4", c.name, len(a.Groups))
		}
		for i, g := range a.Groups {
			if got, want := fmt.Sprint(g.Name, curve(t, a, g)), fmt.Sprint(text.Groups[i].Name, curve(t, text, text.Groups[i])); got != want {
				t.Errorf("%s: group %q differs from the same as text", c.name, g.Name)
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestParquetFaults(t *testing.T) {
	double, words := pq.Optional(pq.Leaf(pq.DoubleType)), pq.Optional(pq.String())
	good := column{"outcome", words, []any{"completed", "errored"}}
	cases := []struct {
		name    string
		columns []column
		say     string
	}{
		{"missing, by the row", []column{{"time_ms", double, []any{1.0, nil}}, good}, "rows.parquet: row 2: time_ms is missing"},
		{"not a number", []column{{"time_ms", double, []any{math.NaN(), 1.0}}, good}, `rows.parquet: row 1: time_ms "NaN" is not a number`},
		{"infinite", []column{{"time_ms", double, []any{math.Inf(1), 1.0}}, good}, "row 1: time_ms \"+Inf\" is out of range"},
		{"negative", []column{{"time_ms", double, []any{1.0, -0.25}}, good}, `row 2: time_ms "-0.25" is negative`},
		{"too long", []column{{"time_ms", pq.Leaf(pq.Int64Type), []any{int64(1), int64(1 << 50)}}, good}, "row 2: time_ms \"1125899906842624\" is out of range"},
		{"no outcome", []column{{"time_ms", double, []any{1.0, 2.0}}, {"outcome", words, []any{"completed", nil}}}, "row 2: outcome is missing"},
		{"a column too few", []column{{"time_ms", double, []any{1.0}}}, "no column outcome"},
		{"no time", []column{good}, "no column time_ms, nor intended_ns and end_ns"},
		{"a time of words", []column{{"time_ms", words, []any{"1", "2"}}, good}, "column time_ms holds BYTE_ARRAY: a number was expected"},
		{"scaled", []column{{"time_ms", pq.Decimal(2, 18, pq.Int64Type), []any{int64(1), int64(2)}}, good}, "scaled decimals"},
		{"lists", []column{{"time_ms", pq.Repeated(pq.Leaf(pq.Int64Type)), []any{[]int64{1}, []int64{2}}}, good}, "column time_ms holds lists"},
		{"brunt's own, backwards", []column{{"intended_ns", pq.Leaf(pq.Int64Type), []any{int64(5), int64(9)}}, {"end_ns", pq.Leaf(pq.Int64Type), []any{int64(6), int64(8)}}, good}, `row 2: time_ms "-1ns" is negative`},
	}
	for _, c := range cases {
		a, err := File(parquetFile(t, c.columns...), Options{})
		if faults := new(Faults); a != nil || !errors.As(err, &faults) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: got %v, expected %q", c.name, err, c.say)
		}
	}
}

// Whatever is cut off or damaged, nothing panics and nothing is half read.
func TestDamagedParquet(t *testing.T) {
	path := parquetFile(t, column{"time_ms", pq.Leaf(pq.Int64Type), []any{int64(1), int64(2)}}, column{"outcome", pq.String(), []any{"completed", "errored"}})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 4; cut < len(whole); cut += 3 {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := File(path, Options{}); a != nil || err == nil {
			t.Fatalf("%d of %d bytes were read", cut, len(whole))
		}
	}
	for i := 4; i < len(whole); i += 5 {
		spoilt := bytes.Clone(whole)
		spoilt[i] ^= 0x55
		if err := os.WriteFile(path, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := File(path, Options{}); err == nil {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A run's own rows: times are from the intended instant, compositions are
// groups.
func TestOwnRows(t *testing.T) {
	dir := t.TempDir()
	w, err := parquet.Create(dir, []string{"retry", "hedge"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		sink := w.Composition(i)
		for n := range int64(10) {
			r := record.Request{Index: n, Intended: time.Duration(n) * time.Second, Submitted: record.Never, FirstToken: record.Never, ServedBy: -1}
			r.End = r.Intended + time.Duration(i+1)*time.Millisecond
			if n == 9 {
				r.Outcome, r.End = record.Censored, r.Intended+30*time.Second
			}
			sink.Request(&r)
		}
		sink.Close()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := File(filepath.Join(dir, parquet.RequestsFile), Options{Horizon: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(a.Groups) != 2 || a.Groups[0].Name != "hedge" || a.Whole.Scheduled != 20 || a.Whole.CensoredBeforeHorizon != 0 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []time.Duration{2, 1} {
		q := a.Groups[i].Quantiles[1]
		if q.Millis == nil || time.Duration(*q.Millis) != want*time.Millisecond {
			t.Errorf("%s: p90 %+v, want %d ms", a.Groups[i].Name, q, want)
		}
	}
}
