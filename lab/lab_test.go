package lab

import (
	"context"
	"io"
	"slices"
	"strings"
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
		return runJob(context.Background(), all, i, sink, false, nil, nil, nil)
	}
}

// TestFolderIsClaimed: two runs never write to one folder at the same time.
func TestFolderIsClaimed(t *testing.T) {
	dir := t.TempDir()
	first, err := NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(dir); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a second run gets the same folder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := NewFolder(dir)
	if err != nil {
		t.Errorf("a folder without a result cannot be used again: %v", err)
	}
	again.Close()
}

// TestWhyIsTrue: what hangs on ties without a breaker's doing is not laid at a
// breaker's door.
func TestWhyIsTrue(t *testing.T) {
	r := measured(t, read(t, "outage", "load.max_in_flight=1", "expect=[]", "phases.*.for=10s"))
	all := strings.Join(r.Findings, "\n")
	if strings.Contains(all, "Artefact of ties") && strings.Contains(all, "in slowdown") && strings.Contains(all, "Why: the breaker") {
		t.Errorf("the breaker is blamed for the slowdown:\n%s", all)
	}
}

// TestNeverWellAgain: a study that never recovers does not say that it did.
func TestNeverWellAgain(t *testing.T) {
	r := measured(t, read(t, "outage", "dependencies.service.hang=true", "horizon=1s", "expect=[]", "phases.*.for=2s", "ties.runs=0"))
	all := strings.Join(r.Findings, "\n")
	if strings.Contains(all, "were well again") || !strings.Contains(all, "were not well again in recovery") {
		t.Errorf("the findings:\n%s", all)
	}
}

// After the first error nothing more is begun.
func TestEachStopsAfterAnError(t *testing.T) {
	var called []int
	err := each(5, 1, func(i int) error {
		called = append(called, i)
		if i == 1 {
			panic("two")
		}
		return nil
	})
	if !slices.Equal(called, []int{0, 1}) || err == nil || !strings.Contains(err.Error(), "two") {
		t.Errorf("%v, called for %v", err, called)
	}
}
