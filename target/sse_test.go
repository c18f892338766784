package target

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// events reads a stream to its end: NAME=data for each event.
func events(from io.Reader) (all []string, err error) {
	r := newSSEReader(bufio.NewReaderSize(from, 16))
	for {
		ev, err := r.next()
		if err != nil {
			return all, err
		}
		all = append(all, ev.name+"="+string(ev.data))
	}
}

func TestSSE(t *testing.T) {
	huge := strings.Repeat("x", 200_000)
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"=a"}},
		{"several lines", "data: a\ndata\ndata: b\n\n", []string{"=a\n\nb"}},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"=a", "=b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"=a", "=b"}},
		{"mixed", "data: a\r\ndata: b\n\rdata: c\r\n\n", []string{"=a\nb", "=c"}},
		// one space belongs to the colon, no more
		{"spaces", "data:  a\n\ndata:b \n\n", []string{"= a", "=b "}},
		{"comments", ": ping\n\n:\ndata: a\n: x\n\n", []string{"=a"}},
		{"names", "event: error\ndata: a\n\ndata: b\n\n", []string{"error=a", "=b"}},
		// an event without data is none, and its name does not stay
		{"no data", "event: ping\n\ndata: a\n\n", []string{"=a"}},
		{"other fields", "id: 1\nretry: 5\nfoo: bar\ndata: a\n\n", []string{"=a"}},
		{"empty data", "data\n\ndata:\n\n", []string{"=", "="}},
		{"byte order mark", "\uFEFFdata: a\n\n\uFEFFdata: b\n\n", []string{"=a"}},
		{"no mark", "\xEFdata: a\n\ndata: b\n\n", []string{"=b"}},
		// servers leave these out behind [DONE]
		{"no blank line", "data: a\n", []string{"=a"}},
		{"no end of line", "data: a\n\ndata: b", []string{"=a", "=b"}},
		{"colons", "data: a: b\n\n", []string{"=a: b"}},
		{"huge", "data: " + huge + "\n\ndata: b\n\n", []string{"=" + huge, "=b"}},
	}
	for _, test := range tests {
		for name, from := range map[string]io.Reader{
			"whole": strings.NewReader(test.in), "byte by byte": iotest.OneByteReader(strings.NewReader(test.in)),
		} {
			got, err := events(from)
			if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%s, %s: %v (-want +got):\n%.500s", test.name, name, err, diff)
			}
		}
	}
}

// What breaks off yields no half event.
func TestSSEBroken(t *testing.T) {
	broken := errors.New("broken")
	got, err := events(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%v, %v", got, err)
	}
}

// An event without end does not fill the memory, on one line or on many.
func TestSSEHuge(t *testing.T) {
	for name, unit := range map[string]string{"a line": "x", "lines": "data: " + strings.Repeat("x", 1000) + "\n"} {
		_, err := events(io.MultiReader(strings.NewReader("data: "), &endless{unit: unit}))
		if !errors.Is(err, errHugeEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type endless struct {
	unit string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.unit[e.at]
		e.at = (e.at + 1) % len(e.unit)
	}
	return len(b), nil
}

// An event is there as soon as its last byte is: the LF behind a CR is not
// waited for.
func TestSSEDoesNotWait(t *testing.T) {
	from, to := io.Pipe()
	r := newSSEReader(bufio.NewReader(from))
	go func() { _, _ = io.WriteString(to, "data: a\r\r") }()
	ev, err := r.next() // hangs when it waits
	if err != nil || string(ev.data) != "a" {
		t.Errorf("%q, %v", ev.data, err)
	}
	_ = to.Close()
}

// What is written is read, however it is cut and whatever ends its lines.
func TestSSEProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.StringMatching(`[a-z:{}" ]{0,20}`)
		list := rapid.SliceOf(rapid.SliceOfN(line, 1, 4)).Draw(r, "events")
		var in strings.Builder
		var want []string
		for _, lines := range list {
			for _, l := range lines {
				in.WriteString("data: " + l + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "end"))
			}
			in.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", ": c\n\n"}).Draw(r, "end"))
			want = append(want, "="+strings.Join(lines, "\n"))
		}
		got, err := events(iotest.HalfReader(strings.NewReader(in.String())))
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			r.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// No input upsets the reader, and how it is cut changes nothing. What it reads
// as a chat either is one, or is refused.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", "\r\r\n\n\r", "\uFEFFdata\r\n\r", ":\n", "data:{\"error\":{\"message\":\"x\"}}\n\n",
		"event: error\ndata: x\n\n", "data: {\"usage\":{\"completion_tokens\":-1}}\r\r", "\xEF\xBB",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := events(strings.NewReader(in))
		cut, errCut := events(iotest.OneByteReader(strings.NewReader(in)))
		if diff := cmp.Diff(whole, cut); diff != "" || !errors.Is(err, io.EOF) || !errors.Is(errCut, io.EOF) {
			t.Fatalf("%v, %v: %s", err, errCut, diff)
		}
		for _, ev := range whole {
			name, data, _ := strings.Cut(ev, "=")
			a := newAnswer()
			r, err := readChunk(sseEvent{name, []byte(data)}, &a)
			if err != nil && r != (read{}) {
				t.Fatalf("%q is %+v and %v", data, r, err)
			}
			if a.CompletionTokens < -1 || a.PromptTokens < -1 || a.CachedTokens < -1 {
				t.Fatalf("%q counts %+v", data, a)
			}
		}
	})
}
