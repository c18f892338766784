package spool

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"

	"brunt/record"
)

// Reader reads the rows of a spool.
type Reader struct {
	path   string
	file   *os.File
	header Header
	parts  []part
	torn   int64
}

// part is where the rows of one composition are.
type part struct {
	frames  []frame
	reached time.Duration // up to where it is known
}

// frame is where rows begin and end.
type frame struct{ from, to int64 }

// Open looks through a spool. One that was cut short anywhere behind its header
// holds what comes before; a frame that is broken with others behind it is an
// error, as is a file that is no spool, or one of another version. The reader
// must be closed.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	r := &Reader{path: path, file: file}
	if err := r.look(); err != nil {
		_ = file.Close() // the error of the closing would only hide the one that matters
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Header returns what the rows are of.
func (r *Reader) Header() Header { return r.header }

// Reached returns the instant up to which composition i is known, or
// [record.Never] when there is nothing of it.
func (r *Reader) Reached(i int) time.Duration { return r.parts[i].reached }

// Torn returns how many bytes at the end make no whole frame.
func (r *Reader) Torn() int64 { return r.torn }

// look finds the frames, and checks each.
func (r *Reader) look() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	in := &frames{in: bufio.NewReaderSize(r.file, 64<<10), size: info.Size()}
	begin := make([]byte, min(int64(len(magic)), in.size))
	if _, err := io.ReadFull(in.in, begin); err != nil {
		return err
	}
	if string(begin) != magic[:len(begin)] {
		return errors.New("not a spool of rows")
	}
	in.at = int64(len(begin))
	head, whole, err := in.next()
	if err != nil {
		return err
	}
	if !whole {
		return errors.New("the file was cut short before its first row")
	}
	if err := json.Unmarshal(head, &r.header); err != nil {
		return fmt.Errorf("the file is damaged (its header: %w)", err)
	}
	if r.header.Version != version {
		return fmt.Errorf("rows of version %d, this brunt reads version %d; use the brunt that wrote them", r.header.Version, version)
	}
	r.parts = make([]part, len(r.header.Compositions))
	for i := range r.parts {
		r.parts[i].reached = record.Never
	}
	for {
		at := in.at + headSize
		b, whole, err := in.next()
		if err != nil {
			return err
		}
		if !whole {
			r.torn = in.size - in.at
			return nil
		}
		composition, n := binary.Uvarint(b)
		reached, m := binary.Varint(b[max(n, 0):])
		if n <= 0 || m <= 0 || composition >= uint64(len(r.parts)) {
			return fmt.Errorf("the file is damaged (at byte %d: rows of no composition)", at)
		}
		p := &r.parts[composition]
		p.reached = max(p.reached, time.Duration(reached))
		p.frames = append(p.frames, frame{at + int64(n+m), in.at})
	}
}

// frames goes through a file frame by frame.
type frames struct {
	in       *bufio.Reader
	at, size int64
	content  []byte
}

// next returns the content of the next frame, good until the one after it, and
// goes past it. whole is false at the end of the file, and where the rest of it
// is no frame because the writing ended there.
func (f *frames) next() (content []byte, whole bool, err error) {
	if f.size-f.at < headSize {
		return nil, false, nil
	}
	var head [headSize]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return nil, false, err
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length > f.size-f.at-headSize {
		return nil, false, nil
	}
	if length > mostFrame {
		return nil, false, fmt.Errorf("the file is damaged (at byte %d: %d bytes are no frame)", f.at, length)
	}
	if int64(cap(f.content)) < length {
		f.content = make([]byte, length)
	}
	f.content = f.content[:length]
	if _, err := io.ReadFull(f.in, f.content); err != nil {
		return nil, false, err
	}
	next := f.at + headSize + length
	if length == 0 || crc32.Checksum(f.content, checksums) != binary.LittleEndian.Uint32(head[4:]) {
		// The last frame of a file that lost its end may have its length and not
		// its content; where the system lost a whole page, zeros stand for it.
		rest, err := f.blank()
		if err != nil {
			return nil, false, err
		}
		if rest {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("the file is damaged (at byte %d: a frame is not what was written)", f.at)
	}
	f.at = next
	return f.content, true, nil
}

// blank reports whether nothing but zeros is left.
func (f *frames) blank() (bool, error) {
	for {
		b, err := f.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		case b != 0:
			return false, nil
		}
	}
}

// Feed gives sink the rows of composition i, in the order in which they came.
// After an error sink has a part of them.
func (r *Reader) Feed(i int, sink record.Sink) error {
	var (
		b []byte
		c content
		q record.Request
		a record.Attempt
		e record.Event
	)
	for _, f := range r.parts[i].frames {
		if n := int(f.to - f.from); cap(b) < n {
			b = make([]byte, n)
		} else {
			b = b[:n]
		}
		if _, err := r.file.ReadAt(b, f.from); err != nil && len(b) > 0 {
			return fmt.Errorf("%s: %w", r.path, err)
		}
		for c.b = b; len(c.b) > 0; {
			switch c.byte() {
			case request:
				if c.request(&q); c.err == nil {
					sink.Request(&q)
				}
			case attempt:
				if c.attempt(&a); c.err == nil {
					sink.Attempt(&a)
				}
			case event:
				if c.event(&e); c.err == nil {
					sink.Event(&e)
				}
			default:
				c.fail()
			}
		}
		if c.err != nil {
			return fmt.Errorf("%s: at byte %d: %w", r.path, f.from, c.err)
		}
	}
	return nil
}
