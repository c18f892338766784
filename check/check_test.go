package check

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProblems(t *testing.T) {
	type word string
	tests := []struct {
		name   string
		report func(Problems)
		want   []string
	}{
		{"nothing", func(p Problems) {}, nil},
		// the path grows inwards, and empty steps leave no dot
		{"paths", func(p Problems) {
			p.Add("a", 1, "expected %d", 2)
			p.In("b", "0").Add("c", "x", "100% wrong")
			p.In("b").Add("", nil, "missing")
			p.In("").Add("d", nil, "missing")
		}, []string{"a: 1: expected 2", "b.0.c: x: 100% wrong", "b: missing", "d: missing"}},
		// a collection further in is the same collection
		{"order", func(p Problems) {
			in := p.In("x")
			p.Add("1", nil, "first")
			in.Doubt("2", 3*time.Second, "second")
			p.Add("3", nil, "third")
		}, []string{"1: first", "x.2: 3s: second (doubt)", "3: third"}},
		{"positive", func(p Problems) {
			p.Positive("ok", 1)
			p.Positive("ok", Longest)
			p.Positive("zero", 0)
			p.Positive("below", -time.Second)
			p.Positive("absurd", Longest+1)
		}, []string{
			"zero: 0s: expected a duration above 0", "below: -1s: expected a duration above 0",
			"absurd: 87600h0m0.000000001s: expected a duration below ten years",
		}},
		{"not negative", func(p Problems) {
			p.NotNegative("ok", 0)
			p.NotNegative("below", -1)
			p.NotNegative("absurd", math.MaxInt64)
		}, []string{
			"below: -1ns: expected a duration of 0 or more",
			"absurd: 2562047h47m16.854775807s: expected a duration below ten years",
		}},
		// both ends belong to the range; what is no number is in no range
		{"between", func(p Problems) {
			Between(p, "ok", 1, 1, 3)
			Between(p, "ok", 3, 1, 3)
			Between(p, "low", 0, 1, 3)
			Between(p, "high", 4, 1, 3)
			Between(p, "nan", math.NaN(), 0, 1)
		}, []string{"low: 0: expected 1 to 3", "high: 4: expected 1 to 3", "nan: NaN: expected 0 to 1"}},
		{"one of", func(p Problems) {
			OneOf(p, "ok", word("b"), "a", "b")
			OneOf(p, "no", word("B"), "a", "b")
			OneOf(p, "empty", word(""), "a")
		}, []string{`no: "B": expected a, b`, `empty: "": expected a`}},
	}
	for _, test := range tests {
		p := New()
		test.report(p)
		var got []string
		for _, problem := range p.All() {
			text := problem.Error()
			if problem.Doubt {
				text += " (doubt)"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Steps from one place must not run into one another.
func TestInDoesNotShare(t *testing.T) {
	p := New().In("phases")
	first, second := p.In("0"), p.In("1")
	second.Add("for", nil, "missing")
	first.Add("for", nil, "missing")
	if all := p.All(); all[0].Path != "phases.1.for" || all[1].Path != "phases.0.for" {
		t.Errorf("paths %v", all)
	}
}
