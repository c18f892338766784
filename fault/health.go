package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// probeWithin is how long a victim may take to answer a probe. It is below the
// second after which the kernel sends a lost SYN again, so each probe asks once.
const probeWithin = 300 * time.Millisecond

// askHealth opens a fresh connection and asks for the victim's health.
func askHealth(ctx context.Context, at netip.AddrPort, path string) sight {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	status, err := health(ctx, at, path)
	switch {
	case err != nil:
		return sight{said: plainly(err)}
	default:
		return sight{well: status/100 == 2, said: fmt.Sprintf("status %d", status)}
	}
}

// health is done by hand, as each question takes a connection and must be sent
// once.
func health(ctx context.Context, at netip.AddrPort, path string) (status int, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", at.String())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0) // neither side keeps a port for a minute
	}
	cut := context.AfterFunc(ctx, func() { conn.SetDeadline(wall()) })
	defer cut()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", path, at); err != nil {
		return 0, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	return answer.StatusCode, err
}

// plainly says in a few words what a probe met.
func plainly(err error) string {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed without an answer"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer within %v", probeWithin)
	}
	return err.Error()
}
