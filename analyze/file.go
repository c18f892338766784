package analyze

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
)

// format is what a file is written in.
type format uint8

const (
	asCSV format = iota
	asJSONLines
	asParquet
	asGzip
)

// File analyzes the rows of a file: CSV, JSON Lines or Parquet, told apart by
// what stands in it. The error is *[Faults] when the rows are to blame.
func File(path string, o Options) (*Analysis, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	var head [4]byte
	n, err := io.ReadFull(file, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if recognise(head[:n]) == asParquet {
		return analyze(path, o, func(in *intake) error { return readParquet(file, in) })
	}
	return Read(io.MultiReader(bytes.NewReader(head[:n]), file), path, o)
}

// Read analyzes the rows of a stream: CSV or JSON Lines, told apart by what
// stands in it. The name is for words. The error is *[Faults] when the rows are
// to blame.
func Read(r io.Reader, name string, o Options) (*Analysis, error) {
	return analyze(name, o, func(in *intake) error {
		b := bufio.NewReaderSize(r, 1<<18)
		if head, _ := b.Peek(3); string(head) == "\xef\xbb\xbf" { // a byte order mark
			_, _ = b.Discard(3) // they are in the buffer
		}
		head, err := b.Peek(512)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		switch recognise(head) {
		case asParquet:
			return unusable(name, "Parquet cannot be read from a stream: name the file instead")
		case asGzip:
			return unusable(name, "compressed: gunzip -c FILE | brunt analyze -")
		case asJSONLines:
			err = readJSONLines(lines{r: b}, in)
		default:
			err = readCSV(lines{r: b}, in)
		}
		if faults := (*Faults)(nil); err != nil && !errors.As(err, &faults) {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return err
	})
}

// recognise tells formats apart by how they begin.
func recognise(head []byte) format {
	switch text := bytes.TrimSpace(head); {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return asParquet
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		return asGzip
	case bytes.HasPrefix(text, []byte("{")):
		return asJSONLines
	}
	return asCSV
}

func analyze(name string, o Options, read func(*intake) error) (a *Analysis, err error) {
	t := &tally{most: cmp.Or(o.most, usualMost), dir: o.dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	in := newIntake(name, o.Horizon, t)
	if err := read(in); err != nil {
		return nil, err
	}
	if err := in.judge(); err != nil {
		return nil, err
	}
	return newAnalysis(in, o)
}
