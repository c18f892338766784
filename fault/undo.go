package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Left is what [Undo] found of one run, and what it did.
type Left struct {
	Path  string
	Run   string
	Owner Process
	// Live is whether the run goes on.
	Live bool
	// Done says what was done, a line each; empty for a run that was left alone.
	Done []string
	// Failed is what could not be undone. The journal is kept then.
	Failed []error
}

// Undo ends what a run has left behind, by its journal, and removes the
// journal. A run that goes on is left alone unless force is set. The error is
// that of a journal that cannot be read, and [fs.ErrNotExist] when it is gone.
// Doing it again does no harm.
func Undo(ctx context.Context, path string, force bool) (Left, error) {
	return undoJournal(ctx, path, force)
}

// undoJournal is Undo. Of several at work on one journal, a reaper and a user
// say, one does it and the others find nothing.
func undoJournal(ctx context.Context, path string, force bool) (Left, error) {
	left := Left{Path: path}
	if err := ours(path, false); err != nil { // before it is opened: a pipe would wait for a writer
		return left, fmt.Errorf("undo: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return left, fmt.Errorf("undo: %w", err)
	}
	defer f.Close() // and with it the lock
	if err := lockFile(f); err != nil {
		return left, fmt.Errorf("undo: lock %s: %w", path, err)
	}
	j, err := readJournal(path)
	if err != nil {
		return left, fmt.Errorf("undo: %w", err)
	}
	left.Run, left.Owner, left.Live = j.Run, j.Owner, j.live()
	if left.Live && !force {
		return left, nil
	}
	if j.Boot != bootID() {
		left.Done = append(left.Done, "the machine was started anew since: what runs now is not what the journal names")
		return left, removeJournal(path)
	}
	var failed error
	left.Done, failed = j.undo(ctx)
	if failed != nil {
		left.Failed = append(left.Failed, failed)
		return left, nil
	}
	return left, removeJournal(path)
}

// undo ends everything that the journal holds: first the processes, since what
// was done to one of them ends with it.
func (j *journal) undo(ctx context.Context) (done []string, err error) {
	done, err = endAll(j.Processes)
	for i := range j.Faults {
		e := &j.Faults[i]
		within, cancel := context.WithTimeout(ctx, reapWithin+e.Timeout)
		did, failed := e.undo(within, j.live() && j.Owner.PID != os.Getpid())
		cancel()
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("undo the %s of %s: %w", e.Kind, e.Victim, failed))
			continue
		}
		done = append(done, fmt.Sprintf("%s of %s: %s", e.Kind, e.Victim, did))
	}
	return done, err
}

// endAll kills processes, and waits until they are gone.
func endAll(all []guarded) (done []string, err error) {
	for _, p := range all {
		failed := p.kill()
		switch {
		case errors.Is(failed, os.ErrProcessDone):
		case failed != nil:
			err = errors.Join(err, fmt.Errorf("end %s: %w", p.Name, failed))
		default:
			done = append(done, fmt.Sprintf("%s (process %d): killed", p.Name, p.PID))
		}
	}
	for until := wall().Add(time.Second); ; {
		alive := 0
		for _, p := range all {
			if p.there() {
				alive++
			}
		}
		if alive == 0 || wall().After(until) {
			return done, err
		}
		<-newTimer(2 * time.Millisecond).C
	}
}

// undo ends one fault, whoever has made it, and says what it did. It does no
// harm when the fault was not fired, or has ended. held is whether the run
// that made it may be there, and hold what it owns.
func (e *entry) undo(ctx context.Context, held bool) (did string, err error) {
	switch e.Kind {
	case Kill:
		return "nothing to undo", nil
	case Freeze:
		switch err := e.Process.signal(cont); {
		case errors.Is(err, os.ErrProcessDone):
			return fmt.Sprintf("%v is gone", e.Process), nil
		case err != nil:
			return "", err
		}
		return fmt.Sprintf("%v goes on", e.Process), nil
	case Mode:
		return e.undoMode(ctx)
	case Exec:
		if len(e.Undo) == 0 {
			return "no undo command is given: nothing was done", nil
		}
		said, err := e.Undo.run(ctx, e.Timeout, e.Environ)
		if err != nil {
			return "", err
		}
		return clipped(fmt.Sprintf("%s: %s", e.Undo, said)), nil
	case BlackHole:
		return e.undoTable(ctx, held)
	}
	return "", fmt.Errorf("unknown kind %q", e.Kind)
}

// undoTable deletes the table of a black hole.
func (e *entry) undoTable(ctx context.Context, held bool) (did string, err error) {
	if e.Network != networkNamespace() {
		return "its network namespace is not this one, and ends with its processes", nil
	}
	for {
		err := deleteTable(e.Table)
		switch {
		case err == nil:
			return "table " + e.Table + " deleted", nil
		case errors.Is(err, fs.ErrNotExist):
			return "table " + e.Table + " is gone", nil
		case !errors.Is(err, fs.ErrPermission) || !e.OwnedTable:
			return "", err
		case held:
			// The kernel ends it: each element at its timeout, the table with its owner.
			return "", fmt.Errorf("%w: the run that goes on owns it", err)
		}
		// The owner is dead, and the kernel is about to take the table.
		pause := newTimer(10 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return "", err
		}
	}
}
