//go:build unix

package target

import (
	"errors"
	"net"
	"syscall"
)

// canTry says that a connection can be read and written without waiting.
const canTry = true

// alive reports whether an idle connection can carry a request: the other side
// has neither ended it nor said anything. Nothing has been written yet, so
// that taking another connection instead sends nothing twice. A connection that
// ends between this look and the writing is an error of the call.
func (n *conn) alive() bool {
	if n.bare >= 0 {
		return silent(n.bare)
	}
	if n.in.Buffered() > 0 || n.raw == nil {
		return false
	}
	alive := false
	err := n.raw.Read(func(fd uintptr) bool {
		alive = silent(int(fd))
		return true // never wait
	})
	return err == nil && alive
}

// silent reports that there is nothing to read, and no end either.
func silent(fd int) bool {
	var b [1]byte
	_, err := syscall.Read(fd, b[:])
	return err == syscall.EAGAIN
}

// try writes as much as can be written without waiting.
func (n *conn) try(b []byte) (done int, err error) {
	if n.raw == nil {
		return 0, networkError("write", net.ErrClosed)
	}
	failed := n.raw.Write(func(fd uintptr) bool {
		done, err = tryWrite(int(fd), b)
		return true // never wait
	})
	return done, errors.Join(err, failed)
}

func tryWrite(fd int, b []byte) (int, error) {
	for {
		done, err := syscall.Write(fd, b)
		switch err {
		case nil:
			return done, nil
		case syscall.EAGAIN:
			return 0, nil
		case syscall.EINTR:
		default:
			return 0, networkError("write", err)
		}
	}
}
