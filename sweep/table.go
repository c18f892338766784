package sweep

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"

	"brunt/measure"
	"brunt/record/parquet"
)

// The tables of a sweep hold a row for each point and composition.
const (
	CSVFile     = "points.csv"
	ParquetFile = "points.parquet"
)

// table says how finished points become rows: the point from 1, each setting as
// written and, where it has a size, as a number; the composition; and of each
// measure its mean over the seeds, the 95 % t-interval, the number of seeds, in
// how many of them it was refused, and the reason.
type table struct {
	plan       *Plan
	quantities []quantity
	columns    []parquet.SheetColumn
}

func newTable(plan *Plan, quantities []quantity) *table {
	t := &table{plan: plan, quantities: quantities}
	add := func(name string, kind parquet.Kind) {
		for slices.ContainsFunc(t.columns, func(c parquet.SheetColumn) bool { return c.Name == name }) {
			name += "_" // a setting may be named as a column of ours
		}
		t.columns = append(t.columns, parquet.SheetColumn{Name: name, Kind: kind})
	}
	add("point", parquet.Whole)
	add("composition", parquet.Text)
	for k := range plan.axes {
		a := &plan.axes[k]
		add(a.Path, parquet.Text)
		if unit, ok := a.numeric(); ok {
			add(a.Path+".size"+suffix(unit), parquet.Number)
		}
	}
	for _, q := range quantities {
		unit := suffix(q.unit)
		add(q.text+".mean"+unit, parquet.Number)
		add(q.text+".low"+unit, parquet.Number)
		add(q.text+".high"+unit, parquet.Number)
		add(q.text+".n", parquet.Whole)
		add(q.text+".refused", parquet.Whole)
		add(q.text+".reason", parquet.Text)
	}
	return t
}

// suffix makes a unit part of a column's name.
func suffix(unit string) string {
	switch unit {
	case "":
		return ""
	case "/s":
		return "_per_s"
	case "%":
		return "_percent"
	}
	return "_" + unit
}

// rows returns the rows of a finished point.
func (t *table) rows(f *Finished) [][]any {
	at := t.plan.Point(f.Point)
	var all [][]any
	for _, c := range f.Compositions {
		row := []any{int64(f.Point + 1), c.Name}
		for k := range t.plan.axes {
			row = append(row, at.Settings[k].Text)
			if _, ok := t.plan.axes[k].numeric(); ok {
				row = append(row, at.Settings[k].Size)
			}
		}
		for k := range t.quantities {
			s := c.Numbers[k].spread(t.plan.Measures[k])
			row = append(row, known(s.Mean), known(s.Low), known(s.High), int64(s.N), int64(s.Refused), reason(&s))
		}
		all = append(all, row)
	}
	return all
}

func known(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// reason says why a number has no mean or no interval, and what to beware of.
func reason(s *measure.Spread) any {
	for _, text := range []string{s.Reason, s.Flag} {
		if text != "" {
			return text
		}
	}
	return nil
}

// writeCSV writes the rows of a journal as CSV. A null is an empty field.
func (t *table) writeCSV(w io.Writer, each func(func(*Finished) error) error) error {
	out := csv.NewWriter(w)
	fields := make([]string, len(t.columns))
	for i, c := range t.columns {
		fields[i] = c.Name
	}
	if err := out.Write(fields); err != nil {
		return err
	}
	err := each(func(f *Finished) error {
		for _, row := range t.rows(f) {
			for i, v := range row {
				fields[i] = field(v)
			}
			if err := out.Write(fields); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

func field(v any) string {
	switch x := v.(type) {
	case string:
		return strings.ReplaceAll(x, "\n", " ")
	case int64:
		return strconv.FormatInt(x, 10)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return ""
}

// writeParquet writes the rows of a journal as Parquet.
func (t *table) writeParquet(w io.Writer, each func(func(*Finished) error) error) error {
	out, err := parquet.NewSheet(w, t.columns)
	if err != nil {
		return err
	}
	err = each(func(f *Finished) error {
		for _, row := range t.rows(f) {
			if err := out.Row(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Close()
}
