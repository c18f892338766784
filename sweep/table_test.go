package sweep

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
)

// A row has the settings as written and by size, and of each number the mean,
// the interval and the refusals: t(.975, 1) is 12.706.
func TestCSV(t *testing.T) {
	p := laid(t, 0, 1, "a=100ms,1s", "b=x,y")
	p.Seeds, p.Compositions, p.Measures = 2, []string{"one"}, []string{"p99", "cost"}
	f := &Finished{Point: 2, Compositions: []Cell{{"one", make([]Found, 2)}}}
	numbers := f.Compositions[0].Numbers
	numbers[0].add(lab.Number{Value: 30})
	numbers[0].add(lab.Number{Value: 32})
	numbers[1].add(lab.Number{Refusal: "> 30 s", Beyond: true})
	numbers[1].add(lab.Number{Value: 1})
	table := newTable(p, []quantity{{text: "p99", unit: "ms"}, {text: "cost"}})
	var out bytes.Buffer
	if err := table.writeCSV(&out, func(each func(*Finished) error) error { return each(f) }); err != nil {
		t.Fatal(err)
	}
	want := "point,composition,a,a.size_ms,b,p99.mean_ms,p99.low_ms,p99.high_ms,p99.n,p99.refused,p99.reason,cost.mean,cost.low,cost.high,cost.n,cost.refused,cost.reason\n" +
		"3,one,1s,1000,x,31,low,high,2,0,,,,,2,1,\"refused on 1 of 2 seeds, first: > 30 s\"\n"
	head, row, _ := strings.Cut(out.String(), "\n")
	fields := strings.Split(row, ",")
	for i, end := range map[int]struct {
		name string
		want float64
	}{6: {"low", 31 - 12.7062}, 7: {"high", 31 + 12.7062}} {
		if v, err := strconv.ParseFloat(fields[i], 64); err != nil || math.Abs(v-end.want) > 1e-4 {
			t.Errorf("%s end %s, want %v", end.name, fields[i], end.want)
		}
		fields[i] = end.name
	}
	if diff := cmp.Diff(want, head+"\n"+strings.Join(fields, ",")); diff != "" {
		t.Error(diff)
	}
}

// A setting that is named like a column of ours gets another name.
func TestColumnsDiffer(t *testing.T) {
	table := newTable(laid(t, 0, 1, "point=1..2", "composition=x,y"), nil)
	seen := map[string]bool{}
	for _, c := range table.columns {
		if seen[c.Name] {
			t.Errorf("two columns %s", c.Name)
		}
		seen[c.Name] = true
	}
}
