package target

import "bytes"

// head is the head of an answer of the plain kind.
type head struct {
	size    int   // of the head itself, with its empty line
	status  int   // 200 to 999
	content int64 // length of the body
	close   bool  // the connection ends behind this answer

	retryAfter, date, replica []byte // values of headers; the first of each
}

// parseHead reads the head of an answer at once, if it is whole and plain: a
// final status, lines that end in CRLF, a body of a length that is told. For
// anything else ok is false, and net/http reads it, which knows it all and costs
// ten times as much. So what is accepted here must mean the same there; a fuzz
// test holds the two together.
func parseHead(b []byte, method, replica string) (h head, ok bool) {
	const version = "HTTP/1.1 "
	line, rest, ok := cutLine(b)
	if !ok || len(line) < len(version)+3 || string(line[:len(version)]) != version {
		return h, false
	}
	h.content = -1
	for i, c := range line[len(version):] {
		if i == 3 {
			if c != ' ' {
				return h, false
			}
			break
		}
		if c < '0' || c > '9' {
			return h, false
		}
		h.status = h.status*10 + int(c-'0')
	}
	if h.status < 200 {
		return h, false
	}
	for {
		if line, rest, ok = cutLine(rest); !ok {
			return h, false
		}
		if len(line) == 0 {
			break
		}
		if !h.field(line, replica) {
			return h, false
		}
	}
	if method == "HEAD" || h.status == 204 || h.status == 304 {
		h.content = 0
	}
	h.size = len(b) - len(rest)
	return h, h.content >= 0
}

// cutLine cuts the first line off, without its CRLF.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return nil, nil, false
	}
	return b[:end-1], b[end+1:], true
}

// field reads one header. It reports false for one that is not plain.
func (h *head) field(line []byte, replica string) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 {
		return false
	}
	for _, c := range line[:colon] {
		if !plainName[c] {
			return false
		}
	}
	for _, c := range line[colon+1:] {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch {
	case same(name, "content-length"):
		return h.content < 0 && h.length(value)
	case same(name, "transfer-encoding"), same(name, "trailer"):
		return false
	case same(name, "connection"):
		if h.close || !same(value, "close") {
			return same(value, "keep-alive")
		}
		h.close = true
	case same(name, "retry-after"):
		first(&h.retryAfter, value)
	case same(name, "date"):
		first(&h.date, value)
	}
	if same(name, replica) {
		first(&h.replica, value)
	}
	return true
}

func first(to *[]byte, value []byte) {
	if *to == nil {
		if *to = value; value == nil {
			*to = []byte{} // an empty first one is the first one
		}
	}
}

func (h *head) length(digits []byte) bool {
	if len(digits) < 1 || len(digits) > 15 {
		return false
	}
	h.content = 0
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
		h.content = h.content*10 + int64(c-'0')
	}
	return true
}

// plainName are the characters of most names of headers.
var plainName = func() (set [256]bool) {
	for c := range set {
		set[c] = c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '-' || c == '_'
	}
	return set
}()

// same compares ASCII text, whatever its case.
func same(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		d := b[i]
		if c == d {
			continue
		}
		if c |= 0x20; c != d|0x20 || c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
