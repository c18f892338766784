package upstream

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"brunt/record"
)

// exchange is one request and its answer.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	c      *conn
	framed bool  // it is HTTP/2's: a stream of its connection
	usage  bool  // a usage chunk ends a stream
	number int64 // of the request, from 1

	mu    sync.Mutex
	told  bool    // guarded by mu: begin was called, or is too late
	begun gradual // guarded by mu: what was told to come little by little; nil for nothing
	paced *paced  // guarded by mu: sends what is due before the end; nil for nothing
}

// handle serves one request.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(connKey{}).(*conn)
	if !s.enter() {
		if r.ProtoMajor < 2 {
			c.harden()
		}
		panic(http.ErrAbortHandler)
	}
	defer s.leave()
	c.enter()
	defer c.leave()

	if r.Method == "PRI" { // the beginning of HTTP/2, gone wrong
		s.malformed.Add(1)
		panic(http.ErrAbortHandler)
	}
	x := &exchange{w: w, r: r, c: c, framed: r.ProtoMajor == 2}
	if err := x.readBody(); err != nil {
		s.malformed.Add(1)
		if errors.Is(err, errLarge) {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		panic(http.ErrAbortHandler) // the client has left, or sends nothing
	}
	x.number = s.arrived()
	reply := s.backend.Attempt(r.Context(), attribute(c.port.Dependency, r.Header), x.begin)
	x.finish(&reply)
}

// finish answers. Nobody waits for an answer when there is none.
func (x *exchange) finish(reply *Reply) {
	x.mu.Lock()
	x.told = true
	g, p := x.begun, x.paced
	x.mu.Unlock()
	var sent int64
	var gone error
	if p != nil {
		sent, gone = p.halt()
	}
	switch {
	case reply.Err != nil || gone != nil:
		x.reset()
	case g != nil:
		g.end(sent, reply)
	case reply.Cause == record.None && reply.Tokens > 0:
		x.newStream(&Plan{FirstToken: record.Never, Tokens: reply.Tokens, Status: reply.Status, Wire: reply.Wire}).end(0, reply)
	default:
		x.answer(reply)
	}
}

// reset ends the exchange with an RST; in HTTP/2 with RST_STREAM, which leaves
// the connection to the others.
func (x *exchange) reset() {
	if !x.framed {
		x.c.harden()
	}
	panic(http.ErrAbortHandler)
}

// drop ends the exchange with the end of its connection; in HTTP/2 with
// RST_STREAM, as ending the connection would end attempts that do not fail.
func (x *exchange) drop() { panic(http.ErrAbortHandler) }

// flush sends what was written. A client that takes nothing for writeTime loses
// the exchange: the connection sees to that, but for HTTP/2, where it can be one
// stream that is not read.
func (x *exchange) flush() error {
	control := http.NewResponseController(x.w)
	x.limit(true)
	err := control.Flush()
	x.limit(false)
	return err
}

// limit begins or ends the time for writing.
func (x *exchange) limit(on bool) {
	if !x.framed {
		return
	}
	var t time.Time // none
	if on {
		t = now().Add(writeTime)
	}
	_ = http.NewResponseController(x.w).SetWriteDeadline(t) // HTTP/2 has them
}

// pieces are what bodies are read in.
var pieces = sync.Pool{New: func() any { return new([4 << 10]byte) }}

var errLarge = errors.New("the body is too large")

// readBody reads the body to its end, as only then it is seen when a client
// leaves, and throws it away.
func (x *exchange) readBody() error {
	if x.r.Body == http.NoBody {
		return nil
	}
	piece := pieces.Get().(*[4 << 10]byte)
	defer pieces.Put(piece)
	var asks asksUsage
	for size := 0; ; {
		n, err := x.r.Body.Read(piece[:])
		asks.scan(piece[:n])
		switch size += n; {
		case size > x.c.server.mostBody:
			return errLarge
		case err == io.EOF:
			x.usage = asks.found
			return nil
		case err != nil:
			return err
		}
	}
}
