package lab

import (
	"context"
	"io"
	"testing"

	"brunt/record"
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

// virtually returns what runs jobs on the virtual clock.
func virtually(all []job) func(int, record.Sink) error {
	return func(i int, sink record.Sink) error {
		return runJob(context.Background(), all, i, sink, false, nil, nil)
	}
}
