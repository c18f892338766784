package target

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"brunt/record"
)

// FuzzAnswer: whatever a server says, the call ends, in a way that has a name.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		hello, streamHead + token + done, "HTTP/1.1 100 Continue\r\n\r\n" + hello, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"HTTP/1.0 500 x\r\n\r\nboom", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", "HTTP/1.1 302 Found\r\nLocation: x\r\n\r\n", "\x00", "HTTP/1.1 429 x\r\nRetry-After: 1e300\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", "HTTP/1.1 200 OK\r\nX-Brunt-Replica: \x1b[2J\r\n\r\n",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	success, err := expected(&Config{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string, stream bool) {
		caller := &Caller{method: "GET", success: success, stream: stream, replica: "X-Brunt-Replica", header: http.Header{}}
		caller.env.Now = func() time.Duration { return 1 }
		w := &http1{caller: caller, request: &http.Request{Method: "GET"}}
		n := newConn(&memory{from: strings.NewReader(in)}, &memory{})
		n.in = bufio.NewReader(n)
		var last *Answer
		c := &Call{caller: caller, answer: newAnswer(), report: func(e Event) { last = e.Answer }}
		c.answer.Connected = 0
		got, err := w.readHead(n, c)
		if err == nil {
			err = c.read(got)
			w.release(n, got.Response, err == nil)
		}
		c.finish(c.settle(), err)
		switch last.Cause {
		case record.None, record.Reset, record.Status, record.Stream:
		default:
			t.Errorf("cause %v", last.Cause)
		}
		if strings.ContainsAny(last.Detail+last.Replica, "\x00\x1b\r\n") || len(last.Detail) > longestDetail+len("…") {
			t.Errorf("detail %q, replica %q", last.Detail, last.Replica)
		}
		if last.Cause == record.None && (len(in) == 0 || stream && last.Terminal == record.Never) {
			t.Errorf("%q completed", in)
		}
	})
}

// memory is a connection that ends with its text.
type memory struct {
	net.Conn
	from io.Reader
}

func (m *memory) Read(b []byte) (int, error) { return m.from.Read(b) }
func (m *memory) Close() error               { return nil }
