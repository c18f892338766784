package lab

import (
	"io"
	"testing"

	"brunt/study"
)

// read reads a study that must be right.
func read(tb testing.TB, source string, sets ...string) *study.Study {
	tb.Helper()
	s, err := study.Read(source, study.Options{Sets: sets, Measure: CheckName})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// writer returns what writes b.
func writer(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
