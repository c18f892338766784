package upstream

import (
	"time"

	"brunt/record"
)

// body is an answer whose head comes at once, and whose body little by little.
// Piece 0 is the head; the last one comes with the end.
type body struct {
	*exchange
	after  time.Duration
	how    ending
	status int
	size   int   // of the whole body
	sends  int   // bytes of it that are sent
	parts  int64 // that they are sent in
}

func newBody(x *exchange, after time.Duration, how ending, status, size int) *body {
	b := &body{exchange: x, after: after, how: how, status: status, size: size, sends: size}
	if how == breaks {
		b.sends = size / 2
	}
	b.parts = parts(b.sends, after)
	return b
}

// due implements [gradual].
func (b *body) due(n int64) time.Duration {
	if n >= b.parts {
		return record.Never
	}
	return share(b.after, n, b.parts)
}

// write implements [gradual].
func (b *body) write(n int64) error {
	if n == 0 {
		b.head(b.status, b.size, true)
		return nil
	}
	return writeJSON(b.w, b.size, b.sent(n), b.sent(n+1))
}

// sent is how many bytes of the body come before the nth piece.
func (b *body) sent(n int64) int {
	if n == 0 {
		return 0
	}
	return int(int64(b.sends) * (n - 1) / b.parts)
}

// end implements [gradual].
func (b *body) end(n int64, reply *Reply) {
	if n == 0 {
		b.answer(reply)
		return
	}
	switch how, _ := reply.ending(); {
	case how == resets:
		b.reset()
	case how != b.how: // what has begun cannot become another answer
		b.drop()
	case how == whole:
		b.limit(true)
		_ = writeJSON(b.w, b.size, b.sent(n), b.sends) // the client may have left
	default:
		if writeJSON(b.w, b.size, b.sent(n), b.sends) == nil {
			_ = b.flush() // the client may have left
		}
		b.drop()
	}
}
