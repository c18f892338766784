package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode"

	"brunt/record"
)

// connectError is a failure before there was a connection.
type connectError struct{ error }

func (e connectError) Unwrap() error { return e.error }

// brokenError is an answer that is not what was agreed on.
type brokenError struct{ text string }

func (e brokenError) Error() string { return e.text }

func broken(format string, args ...any) error { return brokenError{fmt.Sprintf(format, args...)} }

// errStopped is met by a call that was cancelled or has run out of time.
var errStopped = errors.New("the call was stopped")

// cause says why a call did not complete:
//
//	connect  there was no connection: refused, no route, no answer in time, TLS
//	reset    the connection was torn down: an RST at any time, or an end before the first byte
//	stream   the answer is broken: malformed, cut short by an orderly end, incomplete
//	harness  this machine ran out of ports or descriptors: no fault of the target's
func (c *Call) cause(err error) record.Cause {
	var connect connectError
	var bad brokenError
	var network *net.OpError
	switch {
	case exhausted(err):
		return record.Harness
	case errors.As(err, &connect) || c.answer.Connected == record.Never:
		return record.Connect
	case errors.As(err, &bad):
		return record.Stream
	case c.answer.FirstByte == record.Never:
		return record.Reset
	case errors.Is(err, io.ErrUnexpectedEOF):
		return record.Stream
	case errors.As(err, &network) || c.caller.http2: // RST_STREAM has no type of its own
		return record.Reset
	}
	return record.Stream
}

// exhausted reports that this machine has run out of something.
func exhausted(err error) bool {
	for _, no := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// describe says what went wrong, without the port of this side: that is
// another one for each connection, and equal faults should read alike.
func describe(err error) string {
	var network *net.OpError
	switch {
	case errors.Is(err, io.EOF):
		return "the connection ended before an answer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended within the answer"
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded):
		return "no connection in time"
	case errors.As(err, &network):
		var number syscall.Errno
		if errors.As(network.Err, &number) {
			return network.Op + ": " + number.Error()
		}
		return network.Op + ": " + network.Err.Error()
	}
	return err.Error()
}

const longestDetail = 240

// detail makes a text fit for rows and terminals: one line, clipped, and
// without the secrets that were sent, which a target may send back.
func (c *Caller) detail(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longestDetail {
		text = strings.ToValidUTF8(text[:longestDetail], "") + "…"
	}
	return text
}
