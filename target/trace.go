package target

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// RequestHeader carries the id of a request, for a service to hand on to what it
// calls.
const RequestHeader = "X-Brunt-Request"

// ParseID reads an id of a run whose ids have the given prefix.
func ParseID(text, prefix string) (id ID, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix+"-")
	if !ok {
		return ID{}, false
	}
	request, attempt, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(request, 10, 64)
	if err != nil || n < 0 {
		return ID{}, false
	}
	k, err := strconv.ParseInt(attempt, 10, 32)
	return ID{n, int32(k)}, err == nil && k >= 0
}

// appendTrace writes the value of traceparent: W3C Trace Context, section 3.2. Its
// trace id says which request it is: the run in the first eight bytes, its number
// in the others.
func (id ID) appendTrace(b []byte, prefix string) []byte {
	b = append(b, "00-"...)
	var trace [16]byte
	run := runOf(prefix)
	copy(trace[:], run[:])
	binary.BigEndian.PutUint64(trace[8:], uint64(id.Request))
	b = hex.AppendEncode(b, trace[:])
	b = append(b, '-')
	var parent [8]byte // it must not be zero
	binary.BigEndian.PutUint64(parent[:], uint64(id.Request)<<16|uint64(uint16(id.Attempt))+1)
	b = hex.AppendEncode(b, parent[:])
	return append(b, "-01"...)
}

// ParseTrace reads a trace id of a run whose ids have the given prefix: its
// request.
func ParseTrace(trace, prefix string) (request int64, ok bool) {
	b, err := hex.DecodeString(trace)
	if err != nil || len(b) != 16 {
		return 0, false
	}
	run := runOf(prefix)
	n := binary.BigEndian.Uint64(b[8:])
	return int64(n), [8]byte(b[:8]) == run && n <= 1<<62
}

// runOf names a run in eight bytes, the first of which is not zero.
func runOf(prefix string) (run [8]byte) {
	sum := sha256.Sum256([]byte(prefix))
	copy(run[:], sum[:])
	run[0] |= 1
	return run
}
