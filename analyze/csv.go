package analyze

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The columns that are read.
const (
	columnTime    = "time_ms"
	columnOutcome = "outcome"
	columnWindow  = "window"
	columnGroup   = "group"
)

var wanted = [...]string{columnTime, columnOutcome, columnWindow, columnGroup}

// places says where the wanted columns stand; -1 for not there.
type places [len(wanted)]int

// csvReader reads CSV (RFC 4180) with a header. Columns stand in any order, and
// others are skipped.
type csvReader struct {
	lines
	in      *intake
	places  places
	width   int // fields of the header
	fields  [len(wanted)][]byte
	scratch []byte // a row with quotes, unquoted
}

func readCSV(l lines, in *intake) error {
	r := &csvReader{lines: l, in: in}
	if err := r.header(); err != nil {
		return err
	}
	var one row
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			if r.at > 1 && !r.ended {
				in.warnings = append(in.warnings, cutOff)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue // no row
		}
		start := r.at
		fields, what, err := r.split(line)
		switch {
		case err != nil:
			return err
		case what != "":
			in.broken(start, what)
			continue
		case fields < r.width:
			in.broken(start, fmt.Sprintf("half a line: %d of %d fields", fields, r.width))
			continue
		case fields > r.width:
			in.broken(start, fmt.Sprintf("%d fields, the header has %d", fields, r.width))
			continue
		}
		one = row{at: start, timeText: bytes.TrimSpace(r.fields[0]), outcome: bytes.TrimSpace(r.fields[1]), window: r.fields[2], group: r.fields[3]}
		one.time, one.timeErr = parseMillis(one.timeText)
		if err := in.take(&one); err != nil {
			return err
		}
	}
}

// header finds the columns.
func (r *csvReader) header() error {
	line, err := r.next()
	if errors.Is(err, io.EOF) {
		return unusable(r.in.faults.Name, "empty: a header with time_ms and outcome was expected")
	} else if err != nil {
		return err
	}
	r.places = places{-1, -1, -1, -1}
	names := strings.Split(string(line), ",")
	r.width = len(names)
	for at, name := range names {
		name = strings.TrimSpace(strings.Trim(strings.TrimSpace(name), `"`))
		for i, want := range wanted {
			if name != want {
				continue
			}
			if r.places[i] >= 0 {
				return unusable(r.in.faults.Name, "line 1: two columns are named %s", want)
			}
			r.places[i] = at
		}
	}
	for i, want := range wanted[:2] {
		if r.places[i] < 0 {
			return unusable(r.in.faults.Name, "line 1: no column %s in the header %s", want, quoted(line))
		}
	}
	return nil
}

// split finds the wanted fields of a line and counts all. It reads on where a
// quoted field goes over the line's end, and says what is wrong with a row.
func (r *csvReader) split(line []byte) (n int, what string, err error) {
	if len(line) > mostBytes {
		return 0, fmt.Sprintf("longer than %d bytes", mostBytes), nil
	}
	r.fields = [len(wanted)][]byte{}
	if bytes.IndexByte(line, '"') >= 0 {
		return r.splitQuoted(line)
	}
	for {
		end := bytes.IndexByte(line, ',')
		field := line
		if end >= 0 {
			field = line[:end]
		}
		r.place(n, field)
		n++
		if end < 0 {
			return n, "", nil
		}
		line = line[end+1:]
	}
}

func (r *csvReader) place(n int, field []byte) {
	for i, at := range r.places {
		if at == n {
			r.fields[i] = field
		}
	}
}

// splitQuoted does it for a line with quotes. The fields are copied to scratch,
// which may move while it grows, so that they are cut out at the end.
func (r *csvReader) splitQuoted(line []byte) (n int, what string, err error) {
	r.scratch = r.scratch[:0]
	var ends [len(wanted)][2]int
	begin, inside, closed := 0, false, false
	for {
		for i := 0; i < len(line); i++ {
			switch c := line[i]; {
			case inside && c == '"' && i+1 < len(line) && line[i+1] == '"':
				r.scratch = append(r.scratch, '"')
				i++
			case inside && c == '"':
				inside, closed = false, true
			case inside:
				r.scratch = append(r.scratch, c)
			case c == ',':
				r.mark(&ends, n, begin)
				n++
				begin, closed = len(r.scratch), false
			case c == '"' && len(r.scratch) == begin && !closed:
				inside = true
			case c == '"':
				return n, "a quote within a field that does not begin with one", nil
			case closed:
				return n, "text after a closing quote", nil
			default:
				r.scratch = append(r.scratch, c)
			}
		}
		if !inside {
			break
		}
		r.scratch = append(r.scratch, '\n')
		line, err = r.next()
		if errors.Is(err, io.EOF) {
			return n, "half a line: a quote is not closed", nil
		} else if err != nil {
			return n, "", err
		}
		if len(r.scratch)+len(line) > mostBytes {
			return n, fmt.Sprintf("a quote is not closed within %d bytes", mostBytes), nil
		}
	}
	r.mark(&ends, n, begin)
	for i, e := range ends {
		r.fields[i] = r.scratch[e[0]:e[1]]
	}
	return n + 1, "", nil
}

func (r *csvReader) mark(ends *[len(wanted)][2]int, n, begin int) {
	for i, at := range r.places {
		if at == n {
			ends[i] = [2]int{begin, len(r.scratch)}
		}
	}
}
