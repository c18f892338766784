//go:build unix

package target

import "syscall"

// alive reports whether an idle connection can carry a request: the other side
// has neither ended it nor said anything. Nothing has been written yet, so
// that taking another connection instead sends nothing twice. A connection that
// ends between this look and the writing is an error of the call.
func (n *conn) alive() bool {
	if n.in.Buffered() > 0 || n.raw == nil {
		return false
	}
	alive := false
	err := n.raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, err := syscall.Read(int(fd), b[:])
		alive = err == syscall.EAGAIN
		return true // never wait
	})
	return err == nil && alive
}
