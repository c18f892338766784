//go:build !linux

package fault

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Elsewhere than on Linux no guard can be made, since nothing names a process
// for ever; the rest is here so that brunt compiles.

var stop, cont os.Signal

func ownSession(*syscall.SysProcAttr)    {}
func ownGroup(*syscall.SysProcAttr)      {}
func dieWithParent(*syscall.SysProcAttr) {}
func killGroup(p *os.Process) error      { return p.Kill() }
func groupThere(int) bool                { return false }

func fileOwner(fs.FileInfo) (uid int, ok bool) { return 0, false }
func lockFile(*os.File) error                  { return errors.ErrUnsupported }
func networkNamespace() string                 { return "" }
func closeInherited()                          {}

type hole struct {
	name  string
	owned bool
	at    netip.AddrPort
}

type table struct{}

type shot struct{}

func newHole(hole) (*table, error) { return nil, errors.ErrUnsupported }
func tryHole(hole) error           { return errors.ErrUnsupported }
func deleteTable(string) error     { return errors.ErrUnsupported }
func lacksOwner(error) bool        { return false }
func refused(error) bool           { return false }

func (*table) element(uint16, time.Duration) (shot, error) { return shot{}, errors.ErrUnsupported }
func (*table) open(shot) error                             { return errors.ErrUnsupported }
func (*table) dropped() (to, from uint64, err error)       { return 0, 0, errors.ErrUnsupported }
func (*table) delete() error                               { return errors.ErrUnsupported }
func (*table) close() error                                { return nil }

// InNamespace runs a program in a network namespace of its own, which there is
// on Linux alone.
func InNamespace(context.Context, *exec.Cmd) (status int, err error) {
	return 0, errors.ErrUnsupported
}

// EnterNamespace does nothing here.
func EnterNamespace(func(string) string) (inside bool, err error) { return false, nil }
