package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// What the two sides say: the reaper on its standard output, the guard on the
// reaper's standard input. Besides, the guard says "process PID START" or "group PID START", "fire
// ID NANOSECONDS" and "undone ID", a line each.
const (
	ready     = "ready\n"
	allIsWell = "done\n"
)

const (
	// reapWithin bounds how long undoing one fault may take, beside the time
	// that a command of the user's has.
	reapWithin = 10 * time.Second
	// reapTries is how often a reaper tries to undo what fails.
	reapTries = 3
)

// Reap is the whole life of a reaper. It takes the process over: it ignores
// signals, closes descriptors that were handed down, and leaves the working
// folder. in is the pipe from the guard, on which the end of the run is seen as
// its end; out is told once that the reaper is ready.
//
// It ends a fault that is there longer than its deadline and a grace. When the
// run is gone it undoes all that the journal holds, and removes the journal.
func Reap(path string, in io.Reader, out io.WriteCloser) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	closeInherited()
	j, err := readJournal(path)
	if err != nil {
		return fmt.Errorf("reap: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return fmt.Errorf("reap: %w", err)
	}
	// Nobody may be there any more to hear it: then the pipe ends too.
	_, _ = io.WriteString(out, ready)
	_ = out.Close()
	r := &reaper{path: path, owner: j.Owner, grace: j.Grace, due: make(map[string]time.Time), fired: make(map[string]entry)}
	return r.run(in)
}

// reaper is what a reaper knows besides the journal.
type reaper struct {
	path      string
	owner     Process
	grace     time.Duration
	due       map[string]time.Time // when a fault that was fired is ended
	processes []guarded            // also those that are not in the journal yet
	// fired are the faults that are on: a journal may be lost, as its folder is
	// when the system cleans it up or the user logs out.
	fired map[string]entry
}

func (r *reaper) run(in io.Reader) error {
	lines := make(chan string)
	go func() { // ends with the pipe, and run does not return before
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	well := false
	for {
		timer := newTimer(r.next())
		select {
		case line, more := <-lines:
			timer.Stop()
			if !more {
				if well {
					return nil
				}
				return r.reap()
			}
			well = line == strings.TrimSpace(allIsWell)
			r.hear(line)
		case <-timer.C:
			r.overdue()
		}
	}
}

// hear takes in one line of the guard's.
func (r *reaper) hear(line string) {
	what, rest, _ := strings.Cut(line, " ")
	switch what {
	case "process", "group":
		p := guarded{Group: what == "group"}
		if _, err := fmt.Sscan(rest, &p.PID, &p.Start); err == nil {
			r.processes = append(r.processes, p)
		}
	case "fire":
		var id string
		var lasts int64
		if _, err := fmt.Sscan(rest, &id, &lasts); err == nil && lasts > 0 {
			r.due[id] = wall().Add(time.Duration(lasts) + r.grace)
			r.remember(id)
		}
	case "undone":
		delete(r.due, rest)
		delete(r.fired, rest)
	}
}

// remember keeps what undoing a fault takes.
func (r *reaper) remember(id string) {
	j, err := readJournal(r.path)
	if err != nil {
		return
	}
	for _, e := range j.Faults {
		if e.ID == id {
			r.fired[id] = e
		}
	}
}

// next returns how long nothing is due.
func (r *reaper) next() time.Duration {
	least := 24 * time.Hour
	now := wall()
	for _, due := range r.due {
		least = min(least, due.Sub(now))
	}
	return max(0, least)
}

// overdue ends the faults whose run is there and has not ended them.
func (r *reaper) overdue() {
	now := wall()
	for id, due := range r.due {
		if due.After(now) {
			continue
		}
		delete(r.due, id)
		e, known := r.fired[id]
		if !known || e.OwnedTable { // the kernel ends a black hole at its time
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), reapWithin+e.Timeout)
		if _, failed := e.undo(ctx, true); failed != nil {
			r.due[id] = wall().Add(time.Second) // it may work later
		}
		cancel()
	}
}

// reap undoes everything: the run is gone. What fails is tried again for a
// while, and then left in the journal.
func (r *reaper) reap() error {
	for try := 1; ; try++ {
		r.awaitOwner()
		endAll(r.processes)
		left, err := undoJournal(context.Background(), r.path, true)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// The run had ended well, or `brunt undo` was faster, or the journal is lost.
			return r.undoFired()
		case err != nil:
			return fmt.Errorf("reap: %w", err)
		case len(left.Failed) == 0:
			return nil
		case try == reapTries:
			return fmt.Errorf("reap: %w", errors.Join(left.Failed...))
		}
		<-newTimer(time.Second).C
	}
}

// undoFired undoes the faults that were on, without a journal. It does no harm
// when somebody has done it already.
func (r *reaper) undoFired() error {
	var errs []error
	for _, e := range r.fired {
		ctx, cancel := context.WithTimeout(context.Background(), reapWithin+e.Timeout)
		_, failed := e.undo(ctx, false)
		errs = append(errs, failed)
		cancel()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("reap: %w", err)
	}
	return nil
}

// awaitOwner waits for the end of the run's process: its pipe ends a moment
// before it has let go of what it owns.
func (r *reaper) awaitOwner() {
	for until := wall().Add(reapWithin / 5); r.owner.Alive() && wall().Before(until); {
		<-newTimer(time.Millisecond).C
	}
}
