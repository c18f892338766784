package upstream

import (
	"bufio"
	"fmt"
	"net/http"
	"time"

	"brunt/record"
)

// head is an answer whose head comes little by little. net/http knows no such
// thing, so it is written to the connection itself, which ends with it. What comes
// with the end are the fields that are known then, and the body.
type head struct {
	*exchange
	after  time.Duration
	how    ending
	status int
	size   int
	text   string
	parts  int64
}

func newHead(x *exchange, after time.Duration, how ending, status, size int) *head {
	h := &head{exchange: x, after: after, how: how, status: status, size: size}
	h.text = fmt.Sprintf("HTTP/1.1 %03d %s\r\nConnection: close\r\nDate: %s\r\n", status, http.StatusText(status), now().UTC().Format(http.TimeFormat))
	if hasBody(status) {
		h.text += "Content-Type: " + isJSON[0] + "\r\n"
	}
	h.parts = parts(len(h.text), after)
	return h
}

// due implements [gradual].
func (h *head) due(n int64) time.Duration {
	if n >= h.parts {
		return record.Never
	}
	return share(h.after, n+1, h.parts+1)
}

// write implements [gradual].
func (h *head) write(n int64) error {
	size := int64(len(h.text))
	if _, err := h.c.Write([]byte(h.text[size*n/h.parts : size*(n+1)/h.parts])); err != nil {
		return fmt.Errorf("write a head: %w", err)
	}
	return nil
}

// flush implements [gradual]: nothing is held back.
func (h *head) flush() error { return nil }

// end implements [gradual].
func (h *head) end(n int64, reply *Reply) {
	if n == 0 {
		h.answer(reply)
		return
	}
	switch how, _ := reply.ending(); {
	case how == resets:
		h.reset()
	case how == h.how: // what has begun cannot become another answer
		h.rest(n, reply)
	}
	h.drop()
}

// rest writes what is left. Errors have no meaning: the client may have left.
func (h *head) rest(n int64, reply *Reply) {
	out := bufio.NewWriter(h.c)
	defer out.Flush()
	fmt.Fprint(out, h.text[int64(len(h.text))*n/h.parts:])
	for _, f := range patience(reply.RetryAfter) {
		fmt.Fprintf(out, "%s: %s\r\n", f.key, f.value)
	}
	switch {
	case h.how == refused:
		fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(apology), apology)
	case h.how == breaks:
		size := max(h.size, 2) // or there would be nothing to miss
		fmt.Fprintf(out, "Content-Length: %d\r\n\r\n", size)
		_ = writeJSON(out, size, 0, size/2)
	case hasBody(h.status):
		fmt.Fprintf(out, "Content-Length: %d\r\n\r\n", h.size)
		_ = writeJSON(out, h.size, 0, h.size)
	default:
		fmt.Fprint(out, "\r\n")
	}
}
