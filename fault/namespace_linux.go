package fault

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/mdlayher/netlink"
)

// namespaceVariable tells a program that InNamespace has started it.
const namespaceVariable = "BRUNT_NAMESPACE"

// capNetAdmin is CAP_NET_ADMIN of include/uapi/linux/capability.h.
const capNetAdmin = 12

// InNamespace runs a program in a user and a network namespace of its own, in
// which an ordinary user may make black holes, and returns its exit status. It
// is for this program once more: the program calls [EnterNamespace] first. The
// user stays who he is. The network has nothing but a loopback device, and ends
// with the last process in it.
//
// Streams are those of cmd, of which nothing else than Path, Args, Env, Dir and
// these is taken. The signals that a user sends (INT, TERM, HUP, QUIT) are
// passed on while it runs; it has a process group of its own, so that a
// terminal's come once. It is killed when this process dies.
func InNamespace(ctx context.Context, cmd *exec.Cmd) (status int, err error) {
	inside := exec.CommandContext(ctx, cmd.Path)
	inside.Args, inside.Dir = cmd.Args, cmd.Dir
	inside.Env = append(cmd.Environ(), namespaceVariable+"="+networkNamespace())
	inside.Stdin, inside.Stdout, inside.Stderr = cmd.Stdin, cmd.Stdout, cmd.Stderr
	uid, gid := os.Geteuid(), os.Getegid()
	inside.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		AmbientCaps: []uintptr{capNetAdmin}, // or an exec as anybody but root would lose it
		Setpgid:     true,
		Pdeathsig:   syscall.SIGKILL,
	}
	runtime.LockOSThread() // the kernel takes the end of the thread for the parent's
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := inside.Start(); err != nil {
		return 0, fmt.Errorf("run %s in a namespace of its own: %w", cmd.Path, err)
	}
	ended := make(chan struct{})
	passed := make(chan struct{})
	go func() {
		defer close(passed)
		for {
			select {
			case s := <-signals:
				_ = inside.Process.Signal(s) // it may be ending
			case <-ended:
				return
			}
		}
	}()
	err = inside.Wait()
	close(ended)
	<-passed
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil {
			err = fmt.Errorf("run %s in a namespace of its own: %w", cmd.Path, err)
		}
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, fmt.Errorf("run %s in a namespace of its own: %w", cmd.Path, context.Cause(ctx))
	}
	if wait, ok := exit.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return 128 + int(wait.Signal()), nil
	}
	return exit.ExitCode(), nil
}

// EnterNamespace brings the loopback device up when [InNamespace] has started
// this program, and reports whether it did. It is to be called before anything
// listens.
func EnterNamespace(getenv func(string) string) (inside bool, err error) {
	outside := getenv(namespaceVariable)
	if outside == "" {
		return false, nil
	}
	if outside == networkNamespace() {
		return false, fmt.Errorf("enter a network namespace: %s is set, and this is still %s", namespaceVariable, outside)
	}
	lo, err := net.InterfaceByName(loopbackDevice)
	if err != nil {
		return false, fmt.Errorf("bring the loopback device up: %w", err)
	}
	if lo.Flags&net.FlagUp != 0 {
		return true, nil // a process started by one inside
	}
	conn, err := netlink.Dial(syscall.NETLINK_ROUTE, nil)
	if err != nil {
		return false, fmt.Errorf("bring the loopback device up: %w", err)
	}
	defer conn.Close()
	// struct ifinfomsg of rtnetlink(7): family, pad, type, index, flags, change.
	info := make([]byte, syscall.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(info[4:], uint32(lo.Index))
	binary.NativeEndian.PutUint32(info[8:], syscall.IFF_UP)
	binary.NativeEndian.PutUint32(info[12:], syscall.IFF_UP)
	if _, err := conn.Execute(netlink.Message{
		Header: netlink.Header{Type: syscall.RTM_NEWLINK, Flags: netlink.Request | netlink.Acknowledge},
		Data:   info,
	}); err != nil {
		return false, fmt.Errorf("bring the loopback device up: %w", err)
	}
	return true, nil
}
