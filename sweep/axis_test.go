package sweep

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func texts(levels []Amount) []string {
	var all []string
	for _, l := range levels {
		all = append(all, l.Text)
	}
	return all
}

func TestParseAxis(t *testing.T) {
	for _, c := range []struct {
		why, text string
		want      string // values, separated by |
	}{
		{"a list", "load.rate=50/s,100/s", "50/s|100/s"},
		{"one value", "a=3", "3"},
		{"commas in brackets and quotes belong to a value", `a={kind: none, x: [1,2]},"b,c",'d,e'`, `{kind: none, x: [1,2]}|"b,c"|'d,e'`},
		{"every whole number", "a=1..6", "1|2|3|4|5|6"},
		{"below 0", "a=-2..1", "-2|-1|0|1"},
		{"a list of ranges and values", "a=1..3,8,10..11", "1|2|3|8|10|11"},
		{"ten values by default", "a=0s..9s", "0s|1s|2s|3s|4s|5s|6s|7s|8s|9s"},
		{"three significant digits inside, ends as written", "a=1001/s..2003/s in 3", "1001/s|1500/s|2003/s"},
		{"durations in their own words", "a=100ms..2s in 3", "100ms|1.05s|2s"},
		{"shares", "a=0%..10% in 5", "0%|2.5%|5%|7.5%|10%"},
		{"0 of any kind", "a=0..10% in 3", "0|5%|10%"},
		{"decimals", "a=0.1..0.3 in 3", "0.1|0.2|0.3"},
		{"a whole end beside a decimal one", "a=1..1.5 in 3", "1|1.25|1.5"},
		{"steps", "a=50/s..210/s by 50/s", "50/s|100/s|150/s|200/s"},
		{"steps that end on the end", "a=0.1..0.4 by 0.1", "0.1|0.2|0.3|0.4"},
		{"whole steps", "a=1..10 by 3", "1|4|7|10"},
		{"the logarithm", "a=1ms..100ms log 3", "1ms|10ms|100ms"},
		{"whole numbers in the logarithm that fall together", "a=1..4 log 9", "1|2|3|4"},
		{"more digits where three would not do", "a=1000/s..1002/s in 5", "1000/s|1000.5/s|1001/s|1001.5/s|1002/s"},
		{"a rate keeps its time", "a=60/min..120/min in 3", "60/min|90/min|120/min"},
		{"two times meet at seconds", "a=60/min..3/s in 3", "60/min|2/s|3/s"},
		{"a rate in a time of its own", "a=1/10s..3/10s in 3", "1/10s|2/10s|3/10s"},
		{"a text with dots is no range", "a=../x.txt", "../x.txt"},
		{"nor is one between words", "a=x..y", "x..y"},
	} {
		got, err := ParseAxis(c.text, 10)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if diff := cmp.Diff(c.want, strings.Join(texts(got.Levels), "|")); diff != "" {
			t.Errorf("%s: %s", c.why, diff)
		}
	}
}

func TestParseAxisRefuses(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"no values", "load.rate", "expected PATH=VALUES"},
		{"no path", "=1", "expected PATH=VALUES"},
		{"nothing behind the sign", "a=", "there are no values"},
		{"an empty value", "a=1,,2", "a value is empty"},
		{"a value twice", "a=1,2,1", "1 stands there twice"},
		{"downwards", "a=6..1", "does not go up"},
		{"two kinds", "a=1/s..10ms", "goes from a rate to a duration"},
		{"a word behind a number", "a=1..x", "goes from a whole number to a word"},
		{"no such spacing", "a=1..6 of 2", `"of" is no way to space values`},
		{"half a spacing", "a=1..6 in", "expected from..to"},
		{"one value is no range", "a=1s..6s in 1", "is no number of values"},
		{"a step of another kind", "a=1s..6s by 2", "expected a duration above 0"},
		{"a step of 0", "a=1s..6s by 0s", "expected a duration above 0"},
		{"too many values", "a=0..1000000", "expected at most 100000"},
		{"the logarithm of 0", "a=0s..6s log 3", "a logarithm needs values above 0"},
	} {
		_, err := ParseAxis(c.text, 10)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q: got %v, want %q", c.why, c.text, err, c.want)
		}
	}
}

// The values of any range go up, begin and end as written, and read back as
// the sizes that they are taken for.
func TestRangesGoUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]string{"", "%", "ms", "s", "/s", "/min", "/10s"}).Draw(t, "unit")
		from := rapid.IntRange(1, 5000).Draw(t, "from")
		to := from + rapid.IntRange(1, 5000).Draw(t, "more")
		n := rapid.IntRange(2, 40).Draw(t, "n")
		how := rapid.SampledFrom([]string{" in ", " log "}).Draw(t, "how")
		first, last := plain(float64(from), 15)+unit, plain(float64(to), 15)+unit
		a, err := ParseAxis("p="+first+".."+last+how+plain(float64(n), 15), 10)
		if err != nil {
			t.Fatal(err)
		}
		if unit != "" && len(a.Levels) != n {
			t.Fatalf("%d values, want %d: %v", len(a.Levels), n, texts(a.Levels))
		}
		if a.Levels[0].Text != first || a.Levels[len(a.Levels)-1].Text != last {
			t.Fatalf("%v does not go from %s to %s", texts(a.Levels), first, last)
		}
		for i, l := range a.Levels {
			if i > 0 && l.Size <= a.Levels[i-1].Size {
				t.Fatalf("%v does not go up", texts(a.Levels))
			}
			if parseAmount(l.Text).Size != l.Size {
				t.Fatalf("%s is not %v", l.Text, l.Size)
			}
		}
	})
}
