package front

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// flushEvery bounds how much of the log is lost with the process.
const flushEvery = 100 * time.Millisecond

// What an entry of the log tells.
type What string

// The entries.
const (
	Start  What = "start"  // the front begins to serve; numbers of requests begin anew
	Routed What = "routed" // an upstream was chosen, and nothing has been sent to it yet
	Done   What = "done"   // the request is over
	Up     What = "up"     // an upstream was found well
	Down   What = "down"   // an upstream was found down
	Stop   What = "stop"   // the front has drained: the log is whole
)

// Entry is one line of the access log, as JSON. A request that gets an upstream
// has two: routed is written at once, so that it can be told where a request was
// that never came back.
type Entry struct {
	What    What      `json:"what"`
	At      time.Time `json:"at"`
	Number  int64     `json:"n,omitempty"`           // of the request at this front, from 1: ids may come twice
	Request string    `json:"request,omitempty"`     // its id
	Replica string    `json:"replica,omitempty"`     // empty when no upstream was chosen
	Status  int       `json:"status,omitempty"`      // as sent to the caller; 0 when it was sent none
	Bytes   int64     `json:"bytes,omitempty"`       // of the answer's body
	Cause   Cause     `json:"cause,omitempty"`       // empty when the answer was passed on whole
	Took    float64   `json:"duration_ms,omitempty"` // since it was routed
	Detail  string    `json:"detail,omitempty"`      // why an upstream came up or went down
}

// Log writes entries. Any goroutine may use it.
type Log struct {
	mu  sync.Mutex // guards what follows
	w   *bufio.Writer
	err error // the first
}

// NewLog returns a log that is written to w. What is added reaches w when the
// front flushes it: at least every 100 ms while it serves, and at its end.
func NewLog(w io.Writer) *Log { return &Log{w: bufio.NewWriterSize(w, 64<<10)} }

func (l *Log) add(e Entry) {
	line, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.w.Write(append(line, '\n'))
	}
	l.fault(err)
}

// flush writes out what was added. It returns the first error of all writing.
func (l *Log) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault(l.w.Flush())
	return l.err
}

func (l *Log) fault(err error) {
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("writing the access log: %w", err)
	}
}

// keepFlushed flushes until ctx is done. An error stays for the end, and is
// seen at the control listener: the front goes on serving.
func (l *Log) keepFlushed(ctx context.Context, c Clock) {
	for {
		select {
		case <-c.After(flushEvery):
			_ = l.flush()
		case <-ctx.Done():
			return
		}
	}
}

// OpenLog opens a file for a log, to be appended to. A last line that a killed
// front did not finish is cut off, so that the next one begins on its own.
func OpenLog(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("opening the access log: %w", err)
	}
	end, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("going on with the access log: %w", err), f.Close())
	}
	return f, nil
}

// wholeLines returns how many bytes of a file are whole lines.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, errors.Join(err, notRegular(info))
	}
	var block [4096]byte
	for end := info.Size(); end > 0; {
		from := max(0, end-int64(len(block)))
		b := block[:end-from]
		if _, err := f.ReadAt(b, from); err != nil {
			return 0, err
		}
		for i := len(b) - 1; i >= 0; i-- {
			if b[i] == '\n' {
				return from + int64(i) + 1, nil
			}
		}
		end = from
	}
	return 0, nil
}

func notRegular(info os.FileInfo) error {
	if info == nil {
		return nil
	}
	return fmt.Errorf("%s is no regular file", info.Name())
}
