package analyze

import (
	"fmt"
	"strconv"
	"strings"
)

// listed is how many faults are kept in words; the others are counted.
const listed = 20

// Fault says what is wrong with one row, or with the file as a whole.
type Fault struct {
	Row  int64 // line, from 1 with the header, or row of a Parquet file, from 1; 0 for the file as a whole
	What string
}

// Faults refuses an analysis: the rows are to blame.
type Faults struct {
	Name    string // of the file
	Parquet bool   // rows are counted, not lines
	Count   int64  // rows with a fault
	Rows    int64  // rows in all, as far as they were read
	First   []Fault
}

// Error lists the first faults, each with its line.
func (f *Faults) Error() string {
	if len(f.First) == 1 && f.First[0].Row == 0 {
		return f.Name + ": " + f.First[0].What
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d rows cannot be used, so nothing was computed", f.Name, f.Count, f.Rows)
	if f.Count > f.Rows { // the header is no row
		b.Reset()
		fmt.Fprintf(&b, "%s cannot be read, so nothing was computed", f.Name)
	}
	for _, fault := range f.First {
		b.WriteString("\n  " + f.at(fault.Row) + fault.What)
	}
	if more := f.Count - int64(len(f.First)); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

func (f *Faults) at(row int64) string {
	switch n := strconv.FormatInt(row, 10); {
	case row == 0:
		return f.Name + ": "
	case f.Parquet:
		return f.Name + ": row " + n + ": "
	default:
		return f.Name + ":" + n + ": "
	}
}

func (f *Faults) add(row int64, what string) {
	f.Count++
	if len(f.First) < listed {
		f.First = append(f.First, Fault{row, what})
	}
}

// unusable refuses a file as a whole.
func unusable(name, format string, args ...any) *Faults {
	return &Faults{Name: name, Count: 1, First: []Fault{{What: fmt.Sprintf(format, args...)}}}
}

// quoted shows a text from a file, cut where it is long.
func quoted(text []byte) string {
	const most = 40
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "…"
	}
	return strconv.Quote(string(text))
}
