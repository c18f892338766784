package target

import (
	"net"
	"os"
	"syscall"
)

// canBare says that a loop can have connections.
const canBare = true

// strip takes the connection from package net, whose poller would be woken for
// each answer too. What is left is a bare descriptor.
func (n *conn) strip() bool {
	if n.bare >= 0 {
		return true
	}
	fd := -1
	err := n.raw.Control(func(from uintptr) {
		got, _, no := syscall.Syscall(syscall.SYS_FCNTL, from, syscall.F_DUPFD_CLOEXEC, 0)
		if no == 0 {
			fd = int(got)
		}
	})
	if err != nil || fd < 0 {
		return false
	}
	_ = n.plain.Close() // the socket lives on
	n.Conn, n.plain, n.raw, n.bare = nil, nil, nil, fd
	return true
}

// dress gives a bare connection back to package net. After an error there is no
// connection any more.
func (n *conn) dress() error {
	if n.bare < 0 {
		return nil
	}
	file := os.NewFile(uintptr(n.bare), "connection")
	n.bare = -1
	plain, err := net.FileConn(file) // has a descriptor of its own
	_ = file.Close()
	if err != nil {
		return err
	}
	n.Conn, n.plain = plain, plain
	n.raw, err = plain.(syscall.Conn).SyscallConn()
	return err
}

func (n *conn) resetBare() {
	_ = syscall.SetsockoptLinger(n.bare, syscall.SOL_SOCKET, syscall.SO_LINGER, &syscall.Linger{Onoff: 1})
	n.closeBare()
}

func (n *conn) closeBare() {
	_ = syscall.Close(n.bare)
	n.bare = -1
}

// tryNow is try for a connection that nobody else can close meanwhile.
func (n *conn) tryNow(b []byte) (int, error) { return tryWrite(n.bare, b) }

// readNow reads what is here, without waiting. It reports syscall.EAGAIN when
// there is nothing.
func (n *conn) readNow(b []byte) (int, error) {
	got, err := syscall.Read(n.bare, b)
	switch err {
	case nil:
		return got, nil
	case syscall.EAGAIN, syscall.EINTR:
		return 0, syscall.EAGAIN
	}
	return 0, networkError("read", err)
}
