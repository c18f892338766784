package analyze

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// spill keeps sorted runs of entries in one temporary file. An entry is written
// as three variable-length numbers: the time as the difference to the one
// before, the key and the count.
type spill struct {
	file  *os.File
	named bool // the file still has its name, where it cannot be taken away
	w     *bufio.Writer
	ends  []int64 // of the runs
	size  int64
}

// newSpill makes the file and takes its name away at once, so that it is gone
// with the process, also when a signal ends that. Where an open file cannot be
// removed close does it.
func newSpill(dir string) (*spill, error) {
	file, err := os.CreateTemp(dir, "brunt-analyze-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for more distinct times than memory holds: %w", err)
	}
	return &spill{file: file, named: os.Remove(file.Name()) != nil, w: bufio.NewWriterSize(file, 1<<18)}, nil
}

// run writes entries, which must be sorted.
func (s *spill) run(entries []entry) error {
	var b [3 * binary.MaxVarintLen64]byte
	last := time.Duration(0)
	for _, e := range entries {
		out := binary.AppendUvarint(b[:0], uint64(e.time-last))
		out = binary.AppendUvarint(out, uint64(e.key))
		out = binary.AppendUvarint(out, uint64(e.count))
		last = e.time
		s.size += int64(len(out))
		s.w.Write(out) // keeps its error
	}
	s.ends = append(s.ends, s.size)
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("write a run of %d distinct times to the temporary file %s: %w", len(entries), s.file.Name(), err)
	}
	return nil
}

// merge calls see for all entries of all runs, and of those in memory, in
// order.
func (s *spill) merge(memory []entry, see func(entry) bool) error {
	m := make(merger, 0, len(s.ends)+1)
	begin := int64(0)
	for _, end := range s.ends {
		m = append(m, &cursor{r: bufio.NewReaderSize(io.NewSectionReader(s.file, begin, end-begin), 1<<16)})
		begin = end
	}
	m = append(m, &cursor{memory: memory})
	for i := len(m) - 1; i >= 0; i-- {
		switch more, err := m[i].next(); {
		case err != nil:
			return s.broken(err)
		case !more:
			m = append(m[:i], m[i+1:]...)
		}
	}
	heap.Init(&m)
	for len(m) > 0 {
		if !see(m[0].entry) {
			return nil
		}
		switch more, err := m[0].next(); {
		case err != nil:
			return s.broken(err)
		case more:
			heap.Fix(&m, 0)
		default:
			heap.Pop(&m)
		}
	}
	return nil
}

func (s *spill) broken(err error) error {
	return fmt.Errorf("read the temporary file %s: %w", s.file.Name(), err)
}

func (s *spill) close() error {
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("remove the temporary file %s: %w", s.file.Name(), err)
	}
	return nil
}

// cursor goes through one run: of the file, or in memory.
type cursor struct {
	entry  entry
	r      *bufio.Reader
	memory []entry
}

// next moves to the next entry; there may be none.
func (c *cursor) next() (more bool, err error) {
	if c.r == nil {
		if len(c.memory) == 0 {
			return false, nil
		}
		c.entry, c.memory = c.memory[0], c.memory[1:]
		return true, nil
	}
	step, err := binary.ReadUvarint(c.r)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	key, second := binary.ReadUvarint(c.r)
	count, third := binary.ReadUvarint(c.r)
	if err := errors.Join(err, second, third); err != nil {
		return false, err
	}
	c.entry = entry{c.entry.time + time.Duration(step), uint32(key), uint32(count)}
	return true, nil
}

// merger is a heap of cursors, the least entry first.
type merger []*cursor

// Len implements [heap.Interface], as the others do.
func (m merger) Len() int           { return len(m) }
func (m merger) Less(i, j int) bool { return order(m[i].entry, m[j].entry) < 0 }
func (m merger) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push is never called: cursors only leave.
func (m *merger) Push(x any) { *m = append(*m, x.(*cursor)) }

// Pop takes the last cursor away.
func (m *merger) Pop() any {
	last := len(*m) - 1
	c := (*m)[last]
	*m = (*m)[:last]
	return c
}
