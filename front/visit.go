package front

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ReadLog reads an access log, from first to last. A last line that was cut off
// is left out: the front that wrote it was killed. Any other line that is none
// is an error, with its number; the entries before it are returned too.
func ReadLog(r io.Reader) ([]Entry, error) {
	var all []Entry
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		torn := errors.Is(err, io.EOF)
		if err != nil && !torn {
			return all, fmt.Errorf("reading the access log: %w", err)
		}
		if torn && len(line) == 0 {
			return all, nil
		}
		var e Entry
		switch fault := json.Unmarshal(line, &e); {
		case fault == nil && e.What != "":
			all = append(all, e)
		case torn:
			return all, nil
		case fault == nil:
			return all, fmt.Errorf("reading the access log: line %d: it says nothing of what happened", n)
		default:
			return all, fmt.Errorf("reading the access log: line %d: %w", n, fault)
		}
		if torn {
			return all, nil
		}
	}
}

// Visit is one request at the front, put together from its entries.
type Visit struct {
	Request string // its id
	Replica string // empty when no upstream was chosen
	Routed  time.Time
	Ended   bool      // false when the log does not say how it ended
	Done    time.Time // when it ended
	Status  int
	Bytes   int64
	Cause   Cause
}

// Open reports whether the request was with its replica at an instant. So the
// victims of a fault are the visits of the replica that are open when it fires.
func (v Visit) Open(at time.Time) bool {
	return v.Replica != "" && !v.Routed.After(at) && (!v.Ended || v.Done.After(at))
}

// Visits puts the entries of requests together, in the order in which they came.
// A log may hold several fronts, one after the other.
func Visits(entries []Entry) []Visit {
	var all []Visit
	open := map[int64]int{} // of the present front: number of a request, place in all
	for _, e := range entries {
		switch e.What {
		case Start:
			clear(open)
		case Routed:
			open[e.Number] = len(all)
			all = append(all, Visit{Request: e.Request, Replica: e.Replica, Routed: e.At})
		case Done:
			i, ok := open[e.Number]
			if !ok {
				i = len(all)
				// No upstream was chosen, or another proxy wrote the log, which has one line for each request.
				routed := e.At.Add(-time.Duration(e.Took * float64(time.Millisecond)))
				all = append(all, Visit{Request: e.Request, Replica: e.Replica, Routed: routed})
			}
			delete(open, e.Number)
			v := &all[i]
			v.Ended, v.Done, v.Status, v.Bytes, v.Cause = true, e.At, e.Status, e.Bytes, e.Cause
		}
	}
	return all
}
