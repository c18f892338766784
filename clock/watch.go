package clock

import (
	"errors"
	"fmt"
)

// Watcher is told of a file descriptor.
type Watcher interface {
	// Readable is called on the loop when the descriptor has something to read, has
	// come to its end, or has failed; again and again until that is read, or the
	// watch is over.
	Readable()
}

// Watch names a watched descriptor. The zero Watch names none.
type Watch struct {
	slot int32
	gen  int32
}

// Watch has a watcher told of a file descriptor, such as a connection's, while
// Run waits, and now and then while it does not get to wait. The descriptor
// belongs to the caller, who ends the watch before closing it. A watch does not
// keep Run from returning.
//
// It is an error that wraps [errors.ErrUnsupported] on the virtual clock, and on
// another system than Linux.
func (l *Loop) Watch(fd int, w Watcher) (Watch, error) {
	if l.waiter == nil {
		return Watch{}, fmt.Errorf("watch the descriptor %d: %w on the virtual clock", fd, errors.ErrUnsupported)
	}
	return l.waiter.watch(fd, w)
}

// Glance tells watchers of what is there now, within the present event: for one
// that would otherwise do something dear, such as to connect anew because no
// answer has been read. It does nothing while watchers are being told.
func (l *Loop) Glance() {
	if l.waiter != nil && !l.telling {
		l.waiter.glance()
		l.tell()
	}
}

// tell tells watchers of what the waiter has found.
func (l *Loop) tell() {
	l.telling = true
	l.waiter.tell()
	l.telling = false
}

// Unwatch ends a watch. One that is over already does nothing.
func (l *Loop) Unwatch(w Watch) {
	if l.waiter != nil {
		l.waiter.unwatch(w)
	}
}
