package target

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// headSeeds are heads that are plain, and such that only look like it.
var headSeeds = []string{
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 204 No Content\r\n\r\n",
	"HTTP/1.1 304 x\r\nContent-Length: 7\r\nDate: y\r\n\r\n",
	"HTTP/1.1 503 Oh\r\nContent-Length: 0\r\nRetry-After: 3\r\nretry-after: 4\r\nConnection: close\r\n\r\n",
	"HTTP/1.1 200\r\nContent-Length:\t5 \r\nX-Brunt-Replica: a\r\nx-brunt-replica: b\r\nConnection: Keep-Alive\r\n\r\n",
	"HTTP/1.1 200 OK\r\nX-Brunt-Replica:\r\nX-Brunt-Replica: b\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"HTTP/1.1 200 OK\nContent-Length: 5\n\n",
	"HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\n",
	"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 5\r\n\r\n",
	"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 103 x\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 000 x\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 2000 x\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close, x\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: a\x00b\r\n\r\n",
}

// What is taken for a plain head is one, and says the same, to net/http.
func FuzzHead(f *testing.F) {
	for _, s := range headSeeds {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, isHead bool) {
		method := "GET"
		if isHead {
			method = "HEAD"
		}
		h, plain := parseHead(b, method, "X-Brunt-Replica")
		if !plain {
			return
		}
		in := bufio.NewReaderSize(bytes.NewReader(b), len(b)+16)
		r, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("net/http: %v", err)
		}
		length := r.ContentLength
		if r.Body == http.NoBody {
			length = 0
		}
		if r.StatusCode != h.status || length != h.content || r.Close != h.close || len(r.TransferEncoding) > 0 || len(b)-in.Buffered() != h.size {
			t.Errorf("%+v, to net/http %d of %d, close %v, encoding %v, size %d", h, r.StatusCode, length, r.Close, r.TransferEncoding, len(b)-in.Buffered())
		}
		for name, got := range map[string][]byte{"Retry-After": h.retryAfter, "Date": h.date, "X-Brunt-Replica": h.replica} {
			if want := r.Header.Get(name); want != string(got) {
				t.Errorf("%s %q, to net/http %q", name, got, want)
			}
		}
	})
}

// The plain ones among the seeds are seen as such: a parser that knows none
// would agree with net/http in everything.
func TestPlainHeads(t *testing.T) {
	plain := 0
	for _, s := range headSeeds {
		if _, ok := parseHead([]byte(s), "GET", ""); ok {
			plain++
		}
		for i := range strings.Index(s, "\n\r\n") + 2 { // what is not whole is not plain
			if _, ok := parseHead([]byte(s[:i]), "GET", ""); ok {
				t.Errorf("%q", s[:i])
			}
		}
	}
	if plain != 6 {
		t.Errorf("%d of the seeds are plain, expected 6", plain)
	}
}

// Names are compared without case, but nothing else is.
func TestSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{{"Date", "date", true}, {"DATE", "date", true}, {"dat", "date", false}, {"d@te", "d`te", false}, {"[", "{", false}, {"X-1", "x-1", true}} {
		if got := same([]byte(test.a), test.b); got != test.want {
			t.Errorf("%q and %q: %v", test.a, test.b, got)
		}
	}
}
