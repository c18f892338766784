package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"brunt/lab"
)

// JSON writes result.json: indented, the same bytes for the same result, with
// a newline at the end. Objects and lists that hold nothing nested stand on one
// line, which keeps long series short. A number that JSON has no word for, such
// as NaN, is an error, and nothing is written.
func JSON(w io.Writer, r *lab.Result) error {
	out := *r
	if out.Gates == nil {
		out.Gates = []lab.Gate{}
	}
	if out.Findings == nil {
		out.Findings = []string{}
	}
	if out.Expectations == nil {
		out.Expectations = []lab.Verdict{}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(&out); err != nil {
		return fmt.Errorf("writing the result of study %q as JSON: %w", r.Study, err)
	}
	if _, err := w.Write(indentJSON(bytes.TrimRight(b.Bytes(), "\n"))); err != nil {
		return fmt.Errorf("writing the result of study %q: %w", r.Study, err)
	}
	return nil
}

// indentJSON lays out compact JSON.
func indentJSON(compact []byte) []byte {
	flat := flatStarts(compact)
	out := make([]byte, 0, len(compact)*3/2)
	depth, inline := 0, false
	newline := func() {
		out = append(out, '\n')
		for range depth {
			out = append(out, indent...)
		}
	}
	for i := 0; i < len(compact); i++ {
		b := compact[i]
		switch b {
		case '"':
			end := textEnd(compact, i)
			out = append(out, compact[i:end+1]...)
			i = end
		case '{', '[':
			out = append(out, b)
			if inline = len(flat) > 0 && flat[0] == i; inline {
				flat = flat[1:]
				continue
			}
			depth++
			newline()
		case '}', ']':
			if !inline {
				depth--
				newline()
			}
			inline = false
			out = append(out, b)
		case ',':
			out = append(out, b)
			if inline {
				out = append(out, ' ')
			} else {
				newline()
			}
		case ':':
			out = append(out, b, ' ')
		default:
			out = append(out, b)
		}
	}
	return append(out, '\n')
}

// flatStarts returns where objects and lists begin that hold nothing nested,
// in order.
func flatStarts(compact []byte) (flat []int) {
	last := -1
	for i := 0; i < len(compact); i++ {
		switch compact[i] {
		case '"':
			i = textEnd(compact, i)
		case '{', '[':
			last = i
		case '}', ']':
			if last >= 0 { // nothing was opened and closed since
				flat = append(flat, last)
			}
			last = -1
		}
	}
	return flat
}

// textEnd returns where the text that begins at i has its closing quote.
func textEnd(compact []byte, i int) int {
	for i++; compact[i] != '"'; i++ {
		if compact[i] == '\\' {
			i++
		}
	}
	return i
}
