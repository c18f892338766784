package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// journalEnd is the end of a journal's name.
const journalEnd = ".journal"

// journal is what has to be undone for one run, on disk. Its owner alone
// writes it, whole, before it does anything that must be undone.
type journal struct {
	Schema int     `json:"schema"`
	Run    string  `json:"run"`
	Boot   string  `json:"boot"` // of the kernel: start ticks count from it
	Owner  Process `json:"owner"`
	// Grace is how long after its deadline a fault is ended by the reaper.
	Grace time.Duration `json:"grace_ns"`
	// Processes end with their owner.
	Processes []guarded `json:"processes,omitempty"`
	Faults    []entry   `json:"faults,omitempty"`
}

// guarded is a process that must not outlive the run.
type guarded struct {
	Process
	Name string `json:"name"`
	// Group says that it leads a process group, which ends with it: what a service
	// has started may outlive it.
	Group bool `json:"group,omitempty"`
}

// there reports whether anything of it is left.
func (p guarded) there() bool { return p.Alive() || p.Group && p.orphans() }

// orphans reports whether the process is gone and its group is not. The kernel
// gives no process the number of a group that is there, so the group is its own
// while no process has that number.
func (p guarded) orphans() bool {
	now, _, err := look(p.PID)
	gone := errors.Is(err, os.ErrProcessDone) || err == nil && now == p.Process && !p.Alive()
	return gone && groupThere(p.PID)
}

// kill kills it, and its group. The error is [os.ErrProcessDone] when nothing was
// there.
func (p guarded) kill() error {
	if !p.Group {
		return p.signal(os.Kill)
	}
	if handle, err := p.hold(); err == nil { // so that the number stays its own
		defer handle.Release()
		return killGroup(handle)
	} else if !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if !p.orphans() {
		return os.ErrProcessDone
	}
	return killGroup(&os.Process{Pid: p.PID})
}

// entry is one fault in a journal.
type entry struct {
	ID         string        `json:"id"`
	Kind       Kind          `json:"kind"`
	Victim     string        `json:"victim"`
	Process    Process       `json:"process"` // of the victim; zero when it is not known
	For        time.Duration `json:"for_ns"`
	Deadline   *time.Time    `json:"deadline,omitempty"` // absent before the fire
	Control    string        `json:"control,omitempty"`
	Table      string        `json:"table,omitempty"`
	OwnedTable bool          `json:"owned_table,omitempty"`
	Network    string        `json:"network,omitempty"` // the namespace of the table
	Undo       Command       `json:"undo,omitempty"`
	Timeout    time.Duration `json:"timeout_ns,omitempty"`
	Environ    []string      `json:"environ,omitempty"` // for the undo command, beside the reaper's own
}

// bootID tells this boot of the machine from others; "" where nobody knows.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

// live reports whether the run that wrote the journal goes on.
func (j *journal) live() bool { return j.Boot == bootID() && j.Owner.Alive() }

func readJournal(path string) (*journal, error) {
	if err := ours(path, false); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a journal: %w", err)
	}
	var j journal
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, fmt.Errorf("read journal %s: %w", path, err)
	}
	if j.Schema != 1 {
		return nil, fmt.Errorf("read journal %s: schema %d: expected 1, another brunt wrote it", path, j.Schema)
	}
	return &j, nil
}

// write puts the journal on the disk, so that it is there, whole, also after a
// loss of power.
func (j *journal) write(path string) error {
	text, err := json.MarshalIndent(j, "", "  ")
	if err == nil {
		err = replace(path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

func replace(path string, text []byte) error {
	next := path + ".new"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(next)
	}
	return err
}

// syncFolder makes a change of a folder's names last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// filesOf is the folder of files that go with a journal.
func filesOf(path string) string { return strings.TrimSuffix(path, journalEnd) + ".files" }

// removeJournal removes a journal, the files that go with it, and what an
// interrupted writing has left. The journal goes last, so that whoever is
// interrupted is found again.
func removeJournal(path string) error {
	if err := os.RemoveAll(filesOf(path)); err != nil {
		return fmt.Errorf("remove journal: %w", err)
	}
	err := os.Remove(path)
	if rest := os.Remove(path + ".new"); err == nil && !errors.Is(rest, fs.ErrNotExist) {
		err = rest
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove journal: %w", err)
	}
	return nil
}
