package target

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event, so that a broken target cannot fill the memory.
const maxEvent = 16 << 20

var errHugeEvent = fmt.Errorf("an event of more than %d MiB", maxEvent>>20)

// sseEvent is one Server-Sent Event. Its data is good until the next one is read.
type sseEvent struct {
	name string // "" for the default, message
	data []byte
}

// sseReader reads Server-Sent Events as the HTML standard says (section 9.2.6,
// "Interpreting an event stream"): lines end in LF, CR or CRLF, those that
// begin with a colon are comments, data lines are joined by LF, events without
// data are dropped. In one thing it is kinder: an event at the end of the
// stream counts without its blank line, as some servers leave that out behind
// [DONE].
//
// An event is returned as soon as its last byte is here: it never waits for
// the LF behind a CR.
type sseReader struct {
	from   *bufio.Reader
	begun  bool
	skipLF bool // the last line ended in CR: an LF belongs to it
	line   []byte
	data   []byte
}

func newSSEReader(from *bufio.Reader) *sseReader { return &sseReader{from: from} }

// next returns the next event. At the end of the stream it returns io.EOF, and
// when the stream breaks off its error.
func (r *sseReader) next() (sseEvent, error) {
	if !r.begun {
		r.begun = true
		if bom, _ := r.from.Peek(1); len(bom) == 1 && bom[0] == 0xEF { // more is asked for only when it can come
			if bom, _ = r.from.Peek(3); bytes.Equal(bom, []byte("\xEF\xBB\xBF")) {
				_, _ = r.from.Discard(3)
			}
		}
	}
	var ev sseEvent
	r.data = r.data[:0]
	for {
		line, err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return sseEvent{}, err
		}
		if len(line) == 0 {
			if len(r.data) > 0 {
				ev.data = r.data[:len(r.data)-1] // without the last LF
				return ev, nil
			}
			if err != nil {
				return sseEvent{}, io.EOF
			}
			ev.name = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(r.data)+len(value) > maxEvent {
				return sseEvent{}, errHugeEvent
			}
			r.data = append(append(r.data, value...), '\n')
		case "event":
			ev.name = string(value)
		}
	}
}

// readLine returns the next line without its end. io.EOF comes with an empty
// line alone.
func (r *sseReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		if _, err := r.from.Peek(1); err != nil {
			if errors.Is(err, io.EOF) && len(r.line) > 0 {
				return r.line, nil
			}
			return nil, err
		}
		here, _ := r.from.Peek(r.from.Buffered())
		if r.skipLF {
			r.skipLF = false
			if here[0] == '\n' {
				_, _ = r.from.Discard(1)
				continue
			}
		}
		end := lineEnd(here)
		if end < 0 {
			end = len(here)
			r.line = append(r.line, here...)
			_, _ = r.from.Discard(end)
			if len(r.line) > maxEvent {
				return nil, errHugeEvent
			}
			continue
		}
		r.skipLF = here[end] == '\r'
		r.line = append(r.line, here[:end]...)
		_, _ = r.from.Discard(end + 1)
		return r.line, nil
	}
}

// lineEnd is the place of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
