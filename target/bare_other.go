//go:build !linux

package target

import (
	"errors"
	"fmt"
	"net/netip"
)

// canBare says that a loop can have connections.
const canBare = false

func connect(netip.AddrPort) (fd int) { return -1 }

func (n *conn) strip() bool  { return false }
func (n *conn) dress() error { return nil }
func (n *conn) resetBare()   {}
func (n *conn) closeBare()   {}

func (n *conn) tryNow([]byte) (int, error)  { return 0, errNoTry }
func (n *conn) readNow([]byte) (int, error) { return 0, errNoTry }

// errNoTry is met by nobody: without a way to try, nothing does.
var errNoTry = fmt.Errorf("try without blocking: %w", errors.ErrUnsupported)
