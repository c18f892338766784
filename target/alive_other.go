//go:build !unix

package target

// alive reports whether an idle connection can carry a request. Without a way
// to look at one, a connection carries one request.
func (n *conn) alive() bool { return false }
