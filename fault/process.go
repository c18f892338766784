package fault

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// Process names one process for ever. A pid alone names another one after a
// while.
type Process struct {
	PID int `json:"pid"`
	// Start is when it began, in clock ticks since the boot.
	Start uint64 `json:"start"`
}

// Identify returns the process that has a pid now. It needs /proc, so Linux.
func Identify(pid int) (Process, error) {
	p, _, err := look(pid)
	return p, err
}

// look returns the process that has a pid, and its state as one letter:
// fields 22 and 3 of /proc/PID/stat, proc_pid_stat(5). The name in field 2 may
// hold anything, so the count begins behind its last parenthesis.
func look(pid int) (p Process, state byte, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.ErrProcessDone
	}
	if err != nil {
		return p, 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	_, rest, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) < 20 {
		return p, 0, fmt.Errorf("look at process %d: its stat has %d fields behind the name", pid, len(fields))
	}
	start, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return p, 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return Process{pid, start}, fields[0][0], nil
}

// Alive reports whether the process is there and has not ended. One that has
// ended and that nobody has waited for is not alive.
func (p Process) Alive() bool {
	now, state, err := look(p.PID)
	return err == nil && now == p && state != 'Z' && state != 'X'
}

func (p Process) String() string { return fmt.Sprintf("process %d", p.PID) }

// hold returns a handle on the process, or an error that is
// [os.ErrProcessDone] when it has ended. On Linux the handle is a pidfd, so
// that it can never mean a later process of the same pid: it is opened first,
// and what had the pid then is the process if it still has it now.
func (p Process) hold() (*os.Process, error) {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return nil, fmt.Errorf("hold %v: %w", p, err)
	}
	if !p.Alive() {
		handle.Release()
		return nil, fmt.Errorf("hold %v: %w", p, os.ErrProcessDone)
	}
	return handle, nil
}

// signal sends a signal to the process. The error is [os.ErrProcessDone] when
// it has ended.
func (p Process) signal(s os.Signal) error {
	handle, err := p.hold()
	if err != nil {
		return err
	}
	defer handle.Release()
	if err := handle.Signal(s); err != nil {
		return fmt.Errorf("send %v to %v: %w", s, p, err)
	}
	return nil
}
