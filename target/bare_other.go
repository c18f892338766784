//go:build !linux

package target

// canBare says that a loop can have connections.
const canBare = false

func (n *conn) strip() bool  { return false }
func (n *conn) dress() error { return nil }
func (n *conn) resetBare()   {}
func (n *conn) closeBare()   {}

func (n *conn) tryNow([]byte) (int, error)  { return 0, errNoTry }
func (n *conn) readNow([]byte) (int, error) { return 0, errNoTry }
