package fault

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// The signals that freeze a process, and have it go on.
var stop, cont os.Signal = syscall.SIGSTOP, syscall.SIGCONT

func ownSession(a *syscall.SysProcAttr)    { a.Setsid = true }
func ownGroup(a *syscall.SysProcAttr)      { a.Setpgid = true }
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// killGroup kills a child of ours that leads a process group, and its group.
// Nobody has waited for it, so the number is still its own.
func killGroup(p *os.Process) error {
	err := syscall.Kill(-p.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// groupThere reports whether a process group has members that have not ended.
func groupThere(id int) bool {
	if syscall.Kill(-id, 0) != nil {
		return false
	}
	names, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		if group, err := syscall.Getpgid(pid); err != nil || group != id {
			continue
		}
		if p, _, err := look(pid); err == nil && p.Alive() {
			return true
		}
	}
	return false
}

// fileOwner returns the user that a file belongs to.
func fileOwner(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// lockFile waits until this process alone has the file.
func lockFile(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// networkNamespace names the network namespace of this process.
func networkNamespace() string {
	name, _ := os.Readlink("/proc/self/ns/net")
	return name
}

// closeInherited closes the descriptors that whoever started this program has
// left open in it, beside the three usual ones: a reaper lives longer than its
// run, and must keep no pipe of a shell open. They are those that stay open
// across an exec; whatever Go opens does not.
func closeInherited() {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return // no /proc: nothing else of this package works either
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if failed == 0 && flags&syscall.FD_CLOEXEC == 0 {
			syscall.Close(fd)
		}
	}
}
