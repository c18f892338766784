//go:build linux || darwin || freebsd || netbsd || openbsd

package lab

import (
	"errors"
	"os"
	"syscall"
)

// lock claims a folder for this process, until the file is closed or the
// process ends, however it ends. held is true when another process has it.
func lock(folder *os.File) (held bool, err error) {
	err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
