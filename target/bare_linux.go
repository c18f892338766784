package target

import (
	"net"
	"net/netip"
	"os"
	"syscall"
)

// canBare says that a loop can have connections.
const canBare = true

// connect connects to this machine's own address within the call of it: there
// is no other side to wait for, only a queue that has room or has not. It
// returns -1 for what a goroutine should try at leisure.
func connect(to netip.AddrPort) (fd int) {
	family, address := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if ip := to.Addr().Unmap(); ip.Is4() {
		family, address = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: ip.As4()}
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	if err = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err == nil {
		err = syscall.Connect(fd, address)
	}
	if err == syscall.EINPROGRESS { // though it may have been done by now
		_, err = syscall.Getpeername(fd)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1
	}
	return fd
}

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
