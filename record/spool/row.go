package spool

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"brunt/record"
)

// The kinds of rows: the byte before each.
const (
	request = 'r'
	attempt = 'a'
	event   = 'e'
)

// What a row's flags say is there, or is so.
const (
	hasSubmitted = 1 << iota
	hasFirstToken
	hasCost
	hasWrote
	hasTokens
)

const (
	isCancelled = 1 << iota
	isPending
	isAgain
	isWasted
)

func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}

// appendRequest appends a row. Instants stand as differences from the intended
// one, which makes them short; differences that run over come back right.
func appendRequest(b []byte, r *record.Request) []byte {
	has := flag(r.Submitted != record.Never, hasSubmitted) | flag(r.FirstToken != record.Never, hasFirstToken) | flag(nonzero(r.Cost), hasCost)
	b = append(b, request, has, byte(r.Outcome), byte(r.Cause))
	b = binary.AppendVarint(b, r.Index)
	b = binary.AppendVarint(b, int64(r.Intended))
	if has&hasSubmitted != 0 {
		b = binary.AppendVarint(b, int64(r.Submitted-r.Intended))
	}
	b = binary.AppendVarint(b, int64(r.End-r.Intended))
	if has&hasFirstToken != 0 {
		b = binary.AppendVarint(b, int64(r.FirstToken-r.Intended))
	}
	b = binary.AppendVarint(b, int64(r.Attempts))
	b = binary.AppendVarint(b, int64(r.Refusals))
	b = binary.AppendVarint(b, int64(r.Denied))
	b = binary.AppendVarint(b, int64(r.Caller))
	b = binary.AppendVarint(b, int64(r.ServedBy))
	if has&hasCost != 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Cost))
	}
	return b
}

func (c *content) request(r *record.Request) {
	has := c.byte()
	*r = record.Request{Outcome: record.Outcome(c.byte()), Cause: record.Cause(c.byte()), Submitted: record.Never, FirstToken: record.Never}
	r.Index = c.int()
	r.Intended = time.Duration(c.int())
	if has&hasSubmitted != 0 {
		r.Submitted = r.Intended + time.Duration(c.int())
	}
	r.End = r.Intended + time.Duration(c.int())
	if has&hasFirstToken != 0 {
		r.FirstToken = r.Intended + time.Duration(c.int())
	}
	r.Attempts, r.Refusals, r.Denied = c.int32(), c.int32(), c.int32()
	r.Caller, r.ServedBy = c.int32(), c.int32()
	if has&hasCost != 0 {
		r.Cost = c.float()
	}
}

func appendAttempt(b []byte, a *record.Attempt) []byte {
	has := flag(a.FirstToken != record.Never, hasFirstToken) | flag(nonzero(a.Cost), hasCost) | flag(a.Wrote != record.Never, hasWrote) | flag(a.Tokens != -1, hasTokens)
	is := flag(a.Cancelled, isCancelled) | flag(a.Pending, isPending) | flag(a.Again, isAgain) | flag(a.Wasted, isWasted)
	b = append(b, attempt, has, is, byte(a.Why), byte(a.Cause))
	b = binary.AppendVarint(b, a.Request)
	b = binary.AppendVarint(b, int64(a.Intended))
	for _, n := range [...]int32{a.Index, a.Dependency, a.Nth, a.Parent, a.Replica, a.Status} {
		b = binary.AppendVarint(b, int64(n))
	}
	b = binary.AppendVarint(b, int64(a.Start-a.Intended))
	b = binary.AppendVarint(b, int64(a.End-a.Start))
	b = binary.AppendVarint(b, int64(a.CleanupEnd-a.End))
	for _, d := range [...]time.Duration{a.Cleanup, a.Wait, a.Busy} {
		b = binary.AppendVarint(b, int64(d))
	}
	if has&hasFirstToken != 0 {
		b = binary.AppendVarint(b, int64(a.FirstToken-a.Start))
	}
	if has&hasCost != 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(a.Cost))
	}
	if has&hasWrote != 0 {
		b = binary.AppendVarint(b, int64(a.Wrote-a.Start))
	}
	if has&hasTokens != 0 {
		b = binary.AppendVarint(b, a.Tokens)
	}
	b = binary.AppendUvarint(b, uint64(len(a.Gaps)))
	for _, gap := range a.Gaps {
		b = binary.AppendVarint(b, int64(gap))
	}
	return b
}

// attempt reads a row. Its gaps are good until the next one.
func (c *content) attempt(a *record.Attempt) {
	has, is := c.byte(), c.byte()
	*a = record.Attempt{
		Cancelled: is&isCancelled != 0, Pending: is&isPending != 0, Again: is&isAgain != 0, Wasted: is&isWasted != 0,
		Why: record.Why(c.byte()), Cause: record.Cause(c.byte()), FirstToken: record.Never, Wrote: record.Never, Tokens: -1,
	}
	a.Request = c.int()
	a.Intended = time.Duration(c.int())
	for _, n := range [...]*int32{&a.Index, &a.Dependency, &a.Nth, &a.Parent, &a.Replica, &a.Status} {
		*n = c.int32()
	}
	a.Start = a.Intended + time.Duration(c.int())
	a.End = a.Start + time.Duration(c.int())
	a.CleanupEnd = a.End + time.Duration(c.int())
	for _, d := range [...]*time.Duration{&a.Cleanup, &a.Wait, &a.Busy} {
		*d = time.Duration(c.int())
	}
	if has&hasFirstToken != 0 {
		a.FirstToken = a.Start + time.Duration(c.int())
	}
	if has&hasCost != 0 {
		a.Cost = c.float()
	}
	if has&hasWrote != 0 {
		a.Wrote = a.Start + time.Duration(c.int())
	}
	if has&hasTokens != 0 {
		a.Tokens = c.int()
	}
	c.gaps = c.gaps[:0]
	for range c.length() {
		c.gaps = append(c.gaps, time.Duration(c.int()))
	}
	if len(c.gaps) > 0 {
		a.Gaps = c.gaps
	}
}

func appendEvent(b []byte, e *record.Event) []byte {
	b = append(b, event)
	b = binary.AppendVarint(b, int64(e.At))
	b = binary.AppendVarint(b, e.Value)
	b = binary.AppendVarint(b, int64(e.Caller))
	for _, s := range [...]string{e.Stage, e.What, e.State} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

func (c *content) event(e *record.Event) {
	*e = record.Event{At: time.Duration(c.int()), Value: c.int(), Caller: c.int32()}
	for _, s := range [...]*string{&e.Stage, &e.What, &e.State} {
		*s = c.string()
	}
}

// nonzero tells 0 from everything else, -0 included.
func nonzero(f float64) bool { return math.Float64bits(f) != 0 }

// content is what is left of the content of a frame. After an error it reads
// zeros.
type content struct {
	b     []byte
	gaps  []time.Duration
	words map[string]string // few different ones are expected
	err   error
}

var errContent = errors.New("a row is broken")

func (c *content) fail() { c.b, c.err = nil, errContent }

func (c *content) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *content) int() int64 {
	v, n := binary.Varint(c.b)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *content) int32() int32 {
	v := c.int()
	if v != int64(int32(v)) {
		c.fail()
	}
	return int32(v)
}

func (c *content) float() float64 {
	if len(c.b) < 8 {
		c.fail()
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	c.b = c.b[8:]
	return v
}

// length reads how many of something follow, each at least a byte long.
func (c *content) length() int {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || v > uint64(len(c.b)-n) {
		c.fail()
		return 0
	}
	c.b = c.b[n:]
	return int(v)
}

// mostWords bounds the words that are kept to be used again.
const mostWords = 4096

func (c *content) string() string {
	n := c.length()
	word, ok := c.words[string(c.b[:n])]
	if !ok {
		if c.words == nil || len(c.words) >= mostWords {
			c.words = make(map[string]string)
		}
		word = string(c.b[:n])
		c.words[word] = word
	}
	c.b = c.b[n:]
	return word
}
