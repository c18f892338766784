package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readJSONLines reads one JSON object a line. Members stand in any order, and
// others are skipped.
func readJSONLines(l lines, in *intake) error {
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0: // no row
		case len(line) > mostBytes:
			in.broken(l.at, fmt.Sprintf("longer than %d bytes", mostBytes))
		case line[0] != '{' || !json.Valid(line):
			in.broken(l.at, "half a line: "+quoted(line)+" is not a whole JSON object")
		default:
			if err := takeObject(line, l.at, in); err != nil {
				return err
			}
		}
	}
}

// takeObject takes the row of a valid object.
func takeObject(line []byte, at int64, in *intake) error {
	one := row{at: at, timeErr: errNoTime}
	var seen [len(wanted)]bool
	rest := skipSpace(line[1:])
	for rest[0] != '}' {
		var name, value []byte
		name, rest = cutValue(rest)
		rest = skipSpace(rest)[1:] // the colon
		value, rest = cutValue(skipSpace(rest))
		rest = skipSpace(rest)
		if rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
		i := wantedMember(name)
		if i < 0 {
			continue
		}
		if seen[i] {
			in.broken(at, wanted[i]+" stands there twice")
			return nil
		}
		seen[i] = true
		if what := one.member(i, value); what != "" {
			in.broken(at, what)
			return nil
		}
	}
	return in.take(&one)
}

// member sets a member of the row, or says what is wrong with it.
func (r *row) member(i int, value []byte) (what string) {
	if string(value) == "null" {
		return ""
	}
	if wanted[i] == columnTime {
		r.timeText = value
		if r.time, r.timeErr = parseMillis(value); value[0] == '"' || value[0] == 't' || value[0] == 'f' {
			r.timeErr = errNoNumber
		}
		return ""
	}
	switch value[0] {
	case '{', '[':
		return wanted[i] + " is an object or a list: a text was expected"
	case '"':
		value = unquote(value)
	}
	switch wanted[i] {
	case columnOutcome:
		r.outcome = value
	case columnWindow:
		r.window = value
	case columnGroup:
		r.group = value
	}
	return ""
}

// wantedMember returns which of the wanted a member's name is, or -1.
func wantedMember(name []byte) int {
	name = unquote(name)
	for i, want := range wanted {
		if string(name) == want {
			return i
		}
	}
	return -1
}

// unquote returns what a JSON text says.
func unquote(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var s string
	if json.Unmarshal(text, &s) != nil {
		return nil // it is valid, so this does not happen
	}
	return []byte(s)
}

func skipSpace(b []byte) []byte {
	for b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n' {
		b = b[1:]
	}
	return b
}

// cutValue cuts the value off that valid JSON begins with.
func cutValue(b []byte) (value, rest []byte) {
	depth := 0
	for i := 0; ; i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 {
				continue
			}
			end := i
			for b[end] != ',' && b[end] != '}' && b[end] != ']' && b[end] > ' ' {
				end++
			}
			return b[:end], b[end:]
		}
		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
}
