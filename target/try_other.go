//go:build !unix

package target

// canTry says that a connection can be read and written without waiting.
const canTry = false

// alive reports whether an idle connection can carry a request. Without a way
// to look at one, a connection carries one request.
func (n *conn) alive() bool { return false }

func (n *conn) try([]byte) (int, error) { return 0, errNoTry }
