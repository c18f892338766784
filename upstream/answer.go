package upstream

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"brunt/dependency"
	"brunt/record"
)

// usual is the form of answers that have no other.
var usual = func() (w dependency.Wire) {
	w.SetDefaults()
	return w
}()

// wireOr returns a wire, or the usual one.
func wireOr(w *dependency.Wire) *dependency.Wire {
	if w == nil {
		return &usual
	}
	return w
}

// ending is what an exchange ends in.
type ending uint8

const (
	whole   ending = iota // an answer
	refused               // an answer that says no
	resets
	closes
	breaks // half an answer
)

// ending returns what a reply ends in, and its status. A recorded cause counts
// more than the wire.
func (r *Reply) ending() (how ending, status int) {
	w := wireOr(r.Wire)
	switch r.Cause {
	case record.None:
		return whole, statusOr(r.Status, w.Status)
	case record.Reset, record.Connect:
		if w.Failure == dependency.CloseAnswer {
			return closes, 0
		}
		return resets, 0
	case record.Stream:
		return breaks, allowing(w.Status)
	case record.Overload:
		return refused, http.StatusServiceUnavailable
	case record.Status:
		if w.FailureStatus() == 0 {
			w = &usual
		}
	}
	switch w.Failure {
	case dependency.ResetAnswer:
		return resets, 0
	case dependency.CloseAnswer:
		return closes, 0
	case dependency.CutAnswer:
		return breaks, allowing(w.Status)
	}
	return refused, statusOr(r.Status, w.FailureStatus())
}

// statusOr returns a recorded status, or another for one that ends no exchange.
func statusOr(recorded, other int) int {
	if recorded < 200 || recorded > 599 {
		return other
	}
	return recorded
}

// hasBody reports whether an answer of that status has a body (RFC 9110,
// sections 15.3.5 and 15.4.5).
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// allowing returns a status whose answer can break off in its body.
func allowing(status int) int {
	if !hasBody(status) {
		return http.StatusOK
	}
	return status
}

// The values of headers that are always the same.
var (
	isJSON   = []string{"application/json"}
	isEvents = []string{"text/event-stream"}
	isFresh  = []string{"no-cache"}
)

// answer answers in one piece.
func (x *exchange) answer(reply *Reply) {
	how, status := reply.ending()
	size := wireOr(reply.Wire).Body
	switch how {
	case whole:
		x.limit(true)
		x.head(status, size, false)
		if hasBody(status) {
			_ = writeJSON(x.w, size, 0, size) // the client may have left: then nobody reads it
		}
	case refused:
		x.limit(true)
		for _, h := range patience(reply.RetryAfter) {
			x.w.Header()[h.key] = []string{h.value}
		}
		x.head(status, len(apology), false)
		_, _ = io.WriteString(x.w, apology)
	case breaks:
		size = max(size, 2) // or there would be nothing to miss
		if x.r.Method == http.MethodHead {
			x.drop()
		}
		x.head(status, size, true)
		if writeJSON(x.w, size, 0, size/2) == nil {
			_ = x.flush() // the client may have left
		}
		x.drop()
	case closes:
		x.drop()
	default:
		x.reset()
	}
}

// few is how many bytes net/http counts itself, in an answer of one piece.
const few = 1024

// head begins an answer with so many bytes; in pieces, if so.
func (x *exchange) head(status, size int, pieces bool) {
	h := x.w.Header()
	h["Content-Type"] = isJSON
	if hasBody(status) && (pieces || size > few) {
		h["Content-Length"] = []string{strconv.Itoa(size)}
	}
	x.w.WriteHeader(status)
}

// apology is the body of an answer that says no, as OpenAI's API writes one.
const apology = `{"error":{"message":"a simulated failure","type":"server_error","param":null,"code":null}}` + "\n"

// field is one of a head.
type field struct{ key, value string }

// patience is how an answer asks to wait.
func patience(wait time.Duration) []field {
	if wait <= 0 {
		return nil
	}
	seconds := (wait + time.Second - 1) / time.Second // RFC 9110, section 10.2.3: whole seconds
	milliseconds := (wait + time.Millisecond - 1) / time.Millisecond
	return []field{
		{"Retry-After", strconv.FormatInt(int64(seconds), 10)},
		{"Retry-After-Ms", strconv.FormatInt(int64(milliseconds), 10)}, // as OpenAI's clients read it
	}
}

// The parts of a body: JSON of any size.
const (
	opening = `{"pad":"`
	closing = `"}`
)

var padding = func() (p [64 << 10]byte) {
	for i := range p {
		p[i] = '.'
	}
	return p
}()

// writeJSON writes the bytes from one to another of a JSON value of a size.
func writeJSON(w io.Writer, size, from, to int) error {
	if size < len(opening)+len(closing) {
		_, err := io.WriteString(w, short(size)[from:to])
		return err
	}
	for from < to {
		var n int
		var err error
		switch end := size - len(closing); {
		case from < len(opening):
			n, err = io.WriteString(w, opening[from:min(to, len(opening))])
		case from >= end:
			n, err = io.WriteString(w, closing[from-end:to-end])
		default:
			n, err = w.Write(padding[:min(min(to, end)-from, len(padding))])
		}
		if err != nil {
			return fmt.Errorf("write a body: %w", err)
		}
		from += n
	}
	return nil
}

// short is a JSON value that has no room for a text.
func short(size int) string {
	switch size {
	case 0:
		return ""
	case 1:
		return "0"
	}
	return "{        }"[:size-1] + "}"
}
