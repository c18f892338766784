package spool

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"brunt/record"
)

const (
	// worthWriting is how many bytes of rows are written without waiting to be
	// told: a quarter of a megabyte is some thousand rows.
	worthWriting = 256 << 10
	// mostAhead is how many bytes of rows a sink holds before it waits.
	mostAhead = 16 << 20
)

// Writer writes a spool. One goroutine of its own does it: when it is told how
// far the run is, and when enough rows have come.
type Writer struct {
	path   string
	file   io.WriteCloser
	failed func(error)
	sinks  []*Sink
	ahead  int // bytes of rows that a sink holds before it waits

	wake    chan struct{} // there is something to write
	closing chan struct{}
	done    chan struct{}
	err     error // what went wrong; of the writing goroutine until done, as is
	any     bool  // whether any frame was written

	end sync.Once
}

// Create makes a spool at path, in place of one that may be there. failed,
// unless nil, is told of the first error at once, from the goroutine that
// writes; from then on rows are thrown away. Whoever creates a spool closes it.
func Create(path string, h Header, failed func(error)) (*Writer, error) {
	return create(path, h, failed, createFile)
}

func createFile(path string) (io.WriteCloser, error) { return os.Create(path) }

// create takes the way to make the file, for tests with one that fails.
func create(path string, h Header, failed func(error), open func(string) (io.WriteCloser, error)) (*Writer, error) {
	h.Version = version
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	frame := append(make([]byte, headSize), text...)
	if err := seal(frame); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	if _, err := file.Write(append([]byte(magic), frame...)); err != nil {
		_ = file.Close() // the error of the writing is the one that counts
		_ = os.Remove(path)
		return nil, err
	}
	w := &Writer{path: path, file: file, failed: failed, ahead: mostAhead,
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{})}
	for i := range h.Compositions {
		s := &Sink{writer: w, composition: uint64(i), reached: record.Never}
		s.room.L = &s.mu
		w.sinks = append(w.sinks, s)
	}
	go w.run()
	return w, nil
}

// Composition returns the sink of composition i: always the same one.
func (w *Writer) Composition(i int) *Sink { return w.sinks[i] }

// Close writes what is left, and returns the first error of all. No sink may be
// in use any more. The file stays.
func (w *Writer) Close() error {
	w.end.Do(func() { close(w.closing) })
	<-w.done
	return w.err
}

// Empty reports whether the spool holds no rows. It may be asked after Close.
func (w *Writer) Empty() bool { return !w.any }

// run owns the file until done.
func (w *Writer) run() {
	defer close(w.done)
	open := true
	for open {
		select {
		case <-w.wake:
		case <-w.closing:
			open = false
		}
		for _, s := range w.sinks {
			if frame := s.take(); frame != nil && w.err == nil {
				w.fail(w.write(frame))
			}
		}
	}
	w.fail(w.file.Close())
}

func (w *Writer) write(frame []byte) error {
	if err := seal(frame); err != nil {
		return fmt.Errorf("%s: %w", w.path, err)
	}
	_, err := w.file.Write(frame)
	w.any = w.any || err == nil
	return err
}

// fail keeps the first error and tells of it.
func (w *Writer) fail(err error) {
	if err == nil || w.err != nil {
		return
	}
	w.err = fmt.Errorf("write rows: %w", err)
	for _, s := range w.sinks {
		s.stop()
	}
	if w.failed != nil {
		w.failed(w.err)
	}
}

// Sink takes the rows of one composition. It keeps copies. It waits only when
// it is megabytes ahead of the writing.
type Sink struct {
	writer      *Writer
	composition uint64

	mu      sync.Mutex // guards what follows, against the goroutine that writes
	room    sync.Cond
	rows    []byte // encoded, behind the room for a frame's head
	spare   []byte // to be used for rows next
	written []byte // what was taken last
	reached time.Duration
	news    bool // whether there is anything that the file does not have
	stopped bool // rows are thrown away
}

// Request implements [record.Sink].
func (s *Sink) Request(r *record.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = appendRequest(s.begun(), r)
	s.added(r.End)
}

// Attempt implements [record.Sink].
func (s *Sink) Attempt(a *record.Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = appendAttempt(s.begun(), a)
	s.added(a.CleanupEnd)
}

// Event implements [record.Sink].
func (s *Sink) Event(e *record.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = appendEvent(s.begun(), e)
	s.added(e.At)
}

// Reach says that everything that happened up to an instant is among the rows,
// and has them written.
func (s *Sink) Reach(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at > s.reached {
		s.reached, s.news = at, true
	}
	if s.news {
		s.writer.knock()
	}
}

// begun returns the rows so far. Under mu.
func (s *Sink) begun() []byte {
	if len(s.rows) == 0 {
		s.rows, s.spare = append(s.spare[:0], make([]byte, frontSize)...), nil
	}
	return s.rows
}

// added takes note of a row that was added. Under mu, which it gives up while
// it waits for room.
func (s *Sink) added(at time.Duration) {
	s.news = true
	s.reached = max(s.reached, at)
	if len(s.rows) > worthWriting {
		s.writer.knock()
	}
	for len(s.rows) > s.writer.ahead && !s.stopped {
		s.writer.knock()
		s.room.Wait()
	}
	if s.stopped {
		s.rows, s.news = s.rows[:0], false
	}
}

// knock wakes the goroutine that writes, unless it is about to wake.
func (w *Writer) knock() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// frontSize is the room before rows: for a frame's head, the composition and
// the instant.
const frontSize = headSize + 2*binary.MaxVarintLen64

// take returns a frame of what is new, to be sealed; nil when there is nothing.
// It is good until the next call.
func (s *Sink) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.news {
		return nil
	}
	frame := s.begun()
	s.rows, s.news = nil, false
	s.spare, s.written = s.written, frame
	s.room.Broadcast()

	// The front is shorter than its room, and moves up to the rows.
	var front [frontSize]byte
	n := binary.PutUvarint(front[headSize:], s.composition)
	n += binary.PutVarint(front[headSize+n:], int64(s.reached))
	from := frontSize - headSize - n
	copy(frame[from:], front[:headSize+n])
	return frame[from:]
}

func (s *Sink) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped, s.news = true, false
	s.rows, s.spare = nil, nil
	s.room.Broadcast()
}
