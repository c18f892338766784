package front

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func instant(s int64) time.Time { return time.Unix(s, 0).UTC() }

// example is a log of two fronts, one after the other; the first was killed.
func example() []Entry {
	return []Entry{
		{What: Start, At: instant(1)},
		{What: Up, At: instant(1), Replica: "a", Detail: "check passed"},
		{What: Routed, At: instant(2), Number: 1, Request: "x", Replica: "a"},
		{What: Routed, At: instant(3), Number: 2, Request: "x", Replica: "b"}, // the same id again
		{What: Done, At: instant(4), Number: 2, Request: "x", Replica: "b", Status: 200, Bytes: 5, Took: 1000},
		{What: Done, At: instant(5), Number: 3, Request: "y\n\"é", Status: 503, Bytes: 9, Cause: NoneUp},
		{What: Start, At: instant(6)},
		{What: Done, At: instant(6), Number: 1, Request: "v", Status: 503, Cause: NoneUp}, // not the first front's
		{What: Routed, At: instant(7), Number: 2, Request: "z", Replica: "b"},
		{What: Done, At: instant(8), Number: 2, Request: "z", Replica: "b", Cause: Client, Took: 1000},
		{What: Done, At: instant(12), Request: "w", Replica: "a", Status: 200, Took: 1000}, // as other proxies log
		{What: Stop, At: instant(13)},
	}
}

func written(t interface{ Fatal(...any) }, entries []Entry) []byte {
	var out bytes.Buffer
	l := NewLog(&out)
	for _, e := range entries {
		l.add(e)
	}
	if err := l.flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestVisits(t *testing.T) {
	entries, err := ReadLog(bytes.NewReader(written(t, example())))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), entries); diff != "" {
		t.Errorf("read back, -want +got:\n%s", diff)
	}
	want := []Visit{
		{Request: "x", Replica: "a", Routed: instant(2)}, // the front was killed
		{Request: "x", Replica: "b", Routed: instant(3), Ended: true, Done: instant(4), Status: 200, Bytes: 5},
		{Request: "y\n\"é", Routed: instant(5), Ended: true, Done: instant(5), Status: 503, Bytes: 9, Cause: NoneUp},
		{Request: "v", Routed: instant(6), Ended: true, Done: instant(6), Status: 503, Cause: NoneUp},
		{Request: "z", Replica: "b", Routed: instant(7), Ended: true, Done: instant(8), Cause: Client},
		{Request: "w", Replica: "a", Routed: instant(11), Ended: true, Done: instant(12), Status: 200},
	}
	got := Visits(entries)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("visits, -want +got:\n%s", diff)
	}
	// open from its routing to before its end
	for _, test := range []struct {
		visit int
		at    int64
		want  bool
	}{{0, 1, false}, {0, 2, true}, {0, 99, true}, {1, 3, true}, {1, 4, false}, {2, 5, false}} {
		if open := got[test.visit].Open(instant(test.at)); open != test.want {
			t.Errorf("visit %d open at %d: %v", test.visit, test.at, open)
		}
	}
}

// A log that ends anywhere gives the entries whose lines are whole.
func TestTornLog(t *testing.T) {
	log := written(t, example())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(log)).Draw(t, "bytes")
		want := bytes.Count(log[:n], []byte("\n"))
		if n < len(log) && log[n] == '\n' {
			want++ // only the line feed is missing
		}
		got, err := ReadLog(bytes.NewReader(log[:n]))
		if err != nil || len(got) != want {
			t.Fatalf("%d entries, want %d; %v", len(got), want, err)
		}
	})
}

func TestBadLog(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"torn in the middle":  {"{\"what\":\"start\"}\n{\"wh\n{\"what\":\"stop\"}\n", "line 2"},
		"torn with an ending": {"{\"what\":\"start\"}\n{\"wh\n", "line 2"},
		"another format":      {"{\"level\":\"info\"}\n", "line 1: it says nothing"},
	} {
		entries, err := ReadLog(strings.NewReader(test.log))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if want := strings.Count(test.log[:strings.Index(test.log, "\n")], "start"); len(entries) != want {
			t.Errorf("%s: %d entries before the fault, want %d", name, len(entries), want)
		}
	}
	broken := errors.New("broken")
	if _, err := ReadLog(io.MultiReader(strings.NewReader("{\"what\":\"start\"}\n"), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
}

type failing struct{ error }

func (f failing) Read([]byte) (int, error)  { return 0, f.error }
func (f failing) Write([]byte) (int, error) { return 0, f.error }

// A log is gone on with after its last whole line.
func TestOpenLog(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, test := range map[string]struct{ before, after string }{
		"new":            {"", ""},
		"whole":          {"one\ntwo\n", "one\ntwo\n"},
		"torn":           {"one\ntwo\nthr", "one\ntwo\n"},
		"torn, long":     {"one\n" + long, "one\n"},
		"torn from 0 on": {long, ""},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(test.before), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := OpenLog(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString("more\n")
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != test.after+"more\n" {
			t.Errorf("%s: %.60q, %v", name, got, err)
		}
	}
	if _, err := OpenLog(t.TempDir()); err == nil {
		t.Error("a folder was opened as a log")
	}
}

// A log that cannot be written is told at once and at the end, and does not
// keep the front from serving.
func TestLogFails(t *testing.T) {
	full := errors.New("disk full")
	f, err := New(unchecked("http://127.0.0.1:1"), hasty, NewLog(failing{full}))
	if err != nil {
		t.Fatal(err)
	}
	f.log.add(Entry{What: Start})
	if err := f.log.flush(); !errors.Is(err, full) {
		t.Errorf("flush: %v", err)
	}
	f.log.add(Entry{What: Stop})
	if err := f.log.flush(); !errors.Is(err, full) {
		t.Errorf("flush again: %v", err)
	}
	if s := f.State(); !strings.Contains(s.Log, "disk full") {
		t.Errorf("state: %+v", s)
	}
}

// What the log looks like is a contract with whoever else reads it.
func TestLogLines(t *testing.T) {
	for want, e := range map[string]Entry{
		`{"what":"routed","at":"1970-01-01T00:00:02Z","n":1,"request":"x","replica":"a"}`:                                                        {What: Routed, At: instant(2), Number: 1, Request: "x", Replica: "a"},
		`{"what":"done","at":"1970-01-01T00:00:02Z","n":1,"request":"x","replica":"a","status":502,"bytes":3,"cause":"reset","duration_ms":1.5}`: {What: Done, At: instant(2), Number: 1, Request: "x", Replica: "a", Status: 502, Bytes: 3, Cause: Reset, Took: 1.5},
		`{"what":"down","at":"1970-01-01T00:00:02.000000001Z","replica":"a","detail":"status 503"}`:                                              {What: Down, At: instant(2).Add(1), Replica: "a", Detail: "status 503"},
	} {
		got, err := json.Marshal(e)
		if err != nil || string(got) != want {
			t.Errorf("got  %s (%v)\nwant %s", got, err, want)
		}
	}
}
