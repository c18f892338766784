package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

// The layout changes nothing but space: compacted, it is what it was.
func TestIndentKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		compact, err := json.Marshal(anyJSON(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		out := indentJSON(compact)
		var back bytes.Buffer
		if err := json.Compact(&back, out); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if back.String() != string(compact) {
			t.Fatalf("got %s, want %s", back.String(), compact)
		}
		if bytes.Contains(out, []byte(" \n")) || !bytes.HasSuffix(out, []byte("\n")) {
			t.Fatalf("space at the end of a line, or no newline at the end: %q", out)
		}
	})
}

func anyJSON(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return rapid.StringOf(rapid.SampledFrom([]rune(`a"\{}[]:, <&é`))).Draw(t, "text")
	case 1:
		return rapid.Int().Draw(t, "number")
	case 2:
		return nil
	case 3:
		return rapid.Bool().Draw(t, "bool")
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			list = append(list, anyJSON(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		object[rapid.StringN(0, 4, 8).Draw(t, "name")] = anyJSON(t, depth-1)
	}
	return object
}

func TestIndent(t *testing.T) {
	const in = `{"a":1,"b":[1,2],"c":{"d":[{"e":"[,]:"},{}],"f":[]}}`
	const want = `{
  "a": 1,
  "b": [1, 2],
  "c": {
    "d": [
      {"e": "[,]:"},
      {}
    ],
    "f": []
  }
}
`
	if diff := cmp.Diff(want, string(indentJSON([]byte(in)))); diff != "" {
		t.Error(diff)
	}
}

// A result that was written reads back as it was.
func TestJSONRoundTrip(t *testing.T) {
	for _, f := range fixtures {
		want := f.make(t)
		var b bytes.Buffer
		if err := JSON(&b, want); err != nil {
			t.Fatal(err)
		}
		var got lab.Result
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, want.Config); err != nil {
			t.Fatal(err)
		}
		want.Config = compact.Bytes()
		compact = bytes.Buffer{}
		if err := json.Compact(&compact, got.Config); err != nil {
			t.Fatal(err)
		}
		got.Config = compact.Bytes()
		if want.Gates == nil {
			want.Gates = []lab.Gate{}
		}
		if want.Expectations == nil {
			want.Expectations = []lab.Verdict{}
		}
		if diff := cmp.Diff(*want, got, cmpopts.IgnoreFields(measure.WindowNumbers{}, "Curve")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.name, diff)
		}
	}
}

func TestJSONDetails(t *testing.T) {
	r := outageResult(t)
	r.Question, r.Findings, r.Compositions = "a < b & c > d?", nil, nil
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"question": "a < b & c > d?"`, // not escaped for HTML
		`"findings": []`,               // a list is a list, also when empty
		`"compositions": null`,         // but no compositions is no result
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
	if r.Findings != nil {
		t.Error("the caller's result was changed")
	}
}

// What JSON has no word for is an error, and nothing is written.
func TestJSONRefusesNaN(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		r := outageResult(t)
		r.Compositions[0].Whole.Cost = v
		var b bytes.Buffer
		if err := JSON(&b, r); err == nil || b.Len() > 0 {
			t.Errorf("%v: error %v, %d bytes written", v, err, b.Len())
		}
	}
}

// fullResult is an outage result with timelines, as large as a real one.
func fullResult(t testing.TB) *lab.Result {
	r := outageResult(t)
	const steps = 1200
	for i := range r.Compositions {
		line := &r.Compositions[i].Timeline
		line.Step, line.Errored = *ms(100), map[string][]int64{"failure": nil, "circuit": nil}
		for s := range int64(steps) {
			line.Offered = append(line.Offered, 10)
			line.Completed = append(line.Completed, s%11)
			line.Errored["failure"] = append(line.Errored["failure"], s%3)
			line.Errored["circuit"] = append(line.Errored["circuit"], s%5)
			line.Censored = append(line.Censored, 0)
			line.Attempts = append(line.Attempts, s%31)
			line.InFlight = append(line.InFlight, s%17)
			line.P50 = append(line.P50, ms(5))
			line.P95 = append(line.P95, ms(float64(s)+0.125))
			r.Compositions[i].Herd.Buckets = append(r.Compositions[i].Herd.Buckets, measure.HerdBucket{From: *ms(float64(20 * s)), Attempts: 2, Retries: s % 2})
		}
	}
	return r
}

func BenchmarkJSON(b *testing.B) {
	r := fullResult(b)
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := JSON(&out, r); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.Len()))
}

func BenchmarkText(b *testing.B) {
	r, env := fullResult(b), testEnvironment()
	var out bytes.Buffer
	for b.Loop() {
		out.Reset()
		if err := Text(&out, r, env, TextOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
