package analyze

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// mostBytes is how long one row may be.
const mostBytes = 1 << 20

// lines reads a text line by line and keeps count. It does not allocate once
// warm.
type lines struct {
	r     *bufio.Reader
	at    int64  // of the line read last, from 1
	long  []byte // a line that is longer than the reader's buffer
	ended bool   // the line read last had its line end
}

// next returns the next line without its end, good until the one after. It
// returns io.EOF behind the last. A line that is too long comes cut.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.r.ReadSlice('\n')
			if len(l.long) <= mostBytes {
				l.long = append(l.long, line...)
			}
		}
		line = l.long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	l.at++
	l.ended = err == nil
	return trimEnd(line), nil
}

func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

const cutOff = "the last line has no line end: if the file was cut there, its last row may not be what was measured"
