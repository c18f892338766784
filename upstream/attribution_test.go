package upstream

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

func TestTraceID(t *testing.T) {
	for _, test := range []struct {
		name, text, want string
	}{
		{"as it should be", parent, trace},
		{"not sampled", "00-" + trace + "-00f067aa0ba902b7-00", trace},
		{"a later version", "cc-" + trace + "-00f067aa0ba902b7-01", trace},
		{"a later version with more", "cc-" + trace + "-00f067aa0ba902b7-01-what-the-future-will-be-like", trace},
		{"a later version that goes on without a dash", "cc-" + trace + "-00f067aa0ba902b7-01.x", ""},
		{"version 00 has no more", parent + "-more", ""},
		{"nor a last dash", parent + "-", ""},
		{"version ff", "ff-" + trace + "-00f067aa0ba902b7-01", ""},
		{"no version", "0x-" + trace + "-00f067aa0ba902b7-01", ""},
		{"upper case", "00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01", ""},
		{"a trace of zeros", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", ""},
		{"a parent of zeros", "00-" + trace + "-0000000000000000-01", ""},
		{"a short trace", "00-" + trace[1:] + "-00f067aa0ba902b7-01", ""},
		{"a long trace", "00-0" + trace + "-00f067aa0ba902b7-01", ""},
		{"no flags", "00-" + trace + "-00f067aa0ba902b7", ""},
		{"flags that are none", "00-" + trace + "-00f067aa0ba902b7-0x", ""},
		{"other dashes", strings.ReplaceAll(parent, "-", "_"), ""},
		{"nothing", "", ""},
	} {
		if got := traceID(test.text); got != test.want {
			t.Errorf("%s: %q: %q, want %q", test.name, test.text, got, test.want)
		}
	}
}

func TestAttribute(t *testing.T) {
	long := strings.Repeat("x", longest)
	for _, test := range []struct {
		name string
		h    http.Header
		want Arrival
	}{
		{"nothing", http.Header{}, Arrival{}},
		{"our own header counts", http.Header{RequestHeader: {"1"}, requestID: {"2"}}, Arrival{Request: "1"}},
		{"else the usual one", http.Header{requestID: {"2"}}, Arrival{Request: "2"}},
		{"also for one that is no name", http.Header{RequestHeader: {"a b"}, requestID: {"2"}}, Arrival{Request: "2"}},
		{"the first of several", http.Header{RequestHeader: {"1", "3"}}, Arrival{Request: "1"}},
		{"a long one", http.Header{RequestHeader: {long}}, Arrival{Request: long}},
		{"one that is too long", http.Header{RequestHeader: {long + "x"}}, Arrival{}},
		{"not ASCII", http.Header{RequestHeader: {"ä"}}, Arrival{}},
		{"a trace", http.Header{traceParent: {parent}}, Arrival{Trace: trace}},
		{"two traces", http.Header{traceParent: {parent, parent}}, Arrival{}},
	} {
		if got := attribute(0, test.h); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// wellFormed is W3C Trace Context, section 3.2, as a pattern, but for zeros.
var wellFormed = regexp.MustCompile(`^(00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}|(?:[1-9a-f][0-9a-f]|0[1-9a-f])-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?s:-.*)?)$`)

func byPattern(s string) string {
	m := wellFormed.FindStringSubmatch(s)
	if m == nil || strings.HasPrefix(s, "ff") {
		return ""
	}
	id, caller := m[2]+m[4], m[3]+m[5]
	if strings.Trim(id, "0") == "" || strings.Trim(caller, "0") == "" {
		return ""
	}
	return id
}

// Texts that are nearly right are taken and refused as the pattern has it.
func TestTraceIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(parent + rapid.SampledFrom([]string{"", "-", "-x", "x"}).Draw(t, "tail"))
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123456789abcdefABF-g ")).Draw(t, "to")
		}
		if got, want := traceID(string(text)), byPattern(string(text)); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

func FuzzTraceID(f *testing.F) {
	for _, s := range []string{parent, parent + "-x", "cc" + parent[2:] + "-x", "ff" + parent[2:], ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := traceID(s), byPattern(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	})
}
