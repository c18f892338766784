package lab

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/study"
)

func quantity(tb testing.TB, text string) *study.Quantity {
	tb.Helper()
	var q study.Quantity
	if err := q.UnmarshalText([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	return &q
}

// An expectation holds when it does in every repeat, and shows the worst.
func TestJudgeRepeats(t *testing.T) {
	ms := func(values ...float64) (all []Number) {
		for _, v := range values {
			all = append(all, Number{Value: v, Unit: "ms"})
		}
		return all
	}
	refusal := Number{Unit: "ms", Refusal: "nothing completed"}
	for _, c := range []struct {
		name     string
		relation string
		limit    string
		numbers  []Number
		want     string // as JSON
	}{
		{"one run says nothing of repeats", "at_most", "5ms", ms(5), `"value":5,"unit":"ms","passed":true,"refused":false`},
		{"one run that fails", "at_most", "5ms", ms(6), `"value":6,"unit":"ms","passed":false,"refused":false`},
		{"the largest", "at_most", "5ms", ms(1, 5, 3), `"value":5,"unit":"ms","passed":true,"refused":false,"repeats":3,"failed_repeats":0`},
		{"one too large", "at_most", "5ms", ms(1, 7, 3), `"value":7,"unit":"ms","passed":false,"refused":false,"repeats":3,"failed_repeats":1`},
		{"the smallest", "at_least", "2ms", ms(4, 2, 3), `"value":2,"unit":"ms","passed":true,"refused":false,"repeats":3,"failed_repeats":0`},
		{"two too small", "at_least", "4ms", ms(4, 2, 3), `"value":2,"unit":"ms","passed":false,"refused":false,"repeats":3,"failed_repeats":2`},
		{"the farthest", "equals", "4ms", ms(4, 1, 6), `"value":1,"unit":"ms","passed":false,"refused":false,"repeats":3,"failed_repeats":2`},
		{"all equal", "equals", "4ms", ms(4, 4), `"value":4,"unit":"ms","passed":true,"refused":false,"repeats":2,"failed_repeats":0`},
		// no worst value is known when one is missing, good as the others are
		{"one refused", "at_most", "5ms", append(ms(1, 3), refusal), `"value":null,"unit":"ms","passed":false,"refused":true,"reason":"refused in 1 of 3 repeats: nothing completed","repeats":3,"failed_repeats":1`},
		{"one refused, one too large", "at_most", "5ms", append([]Number{refusal}, ms(6, 1)...), `"value":null,"unit":"ms","passed":false,"refused":true,"reason":"refused in 1 of 3 repeats: nothing completed","repeats":3,"failed_repeats":2`},
		{"all refused", "at_most", "5ms", []Number{refusal, refusal}, `"value":null,"unit":"ms","passed":false,"refused":true,"reason":"nothing completed","repeats":2,"failed_repeats":2`},
		// a study refuses limits that do not fit, when it knows the measures
		{"a limit that does not fit", "at_most", "5", ms(1, 2), `"value":null,"unit":"ms","passed":false,"refused":false,"reason":"the limit 5 has no unit, the measure is a duration: write 5ms","repeats":2,"failed_repeats":2`},
		{"0 fits a duration", "at_least", "0", ms(1), `"value":1,"unit":"ms","passed":true,"refused":false`},
		{"no time fits a count", "at_most", "0ms", []Number{{Value: 1}}, `"value":1,"passed":false,"refused":false`},
	} {
		e := study.Expectation{}
		*map[string]**study.Quantity{"at_most": &e.AtMost, "at_least": &e.AtLeast, "equals": &e.Equals}[c.relation] = quantity(t, c.limit)
		limits := limitsOf(e)
		if len(limits) != 1 {
			t.Fatalf("%s: %d limits", c.name, len(limits))
		}
		got, err := json.Marshal(limits[0].judge(c.numbers))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"composition":"","phase":"","measure":"","relation":"` + c.relation + `","limit":"` + c.limit + `",` + c.want + `}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s:\n%s", c.name, diff)
		}
	}
}

// The order of the repeats changes nothing, and the value shown is one of them
// that fails whenever any does.
func TestJudgeIsOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var numbers []Number
		for _, v := range rapid.SliceOfN(rapid.IntRange(0, 6), 2, 6).Draw(t, "values") {
			numbers = append(numbers, Number{Value: float64(v)})
		}
		q := &study.Quantity{Value: 3}
		for _, l := range limitsOf(study.Expectation{AtMost: q, AtLeast: q, Equals: q}) {
			v := l.judge(numbers)
			failed := 0
			for _, n := range numbers {
				if !l.holds(n.Value, 3) {
					failed++
				}
			}
			if v.Passed != (failed == 0) || *v.FailedRepeats != failed || l.holds(*v.Value, 3) != v.Passed {
				t.Fatalf("%s: %+v of %v", l.relation, v, numbers)
			}
			reversed := slices.Clone(numbers)
			slices.Reverse(reversed)
			w := l.judge(reversed)
			if l.strain(*w.Value, 3) != l.strain(*v.Value, 3) || w.Passed != v.Passed || math.IsNaN(*w.Value) {
				t.Fatalf("%s: %v backwards", l.relation, *w.Value)
			}
		}
	})
}

// TestRepeatsAreAllJudged: an expectation that the first repeat keeps and a
// later one breaks does not hold.
func TestRepeatsAreAllJudged(t *testing.T) {
	const name = "completed/offered"
	free := measured(t, read(t, "provider-failure", "ties.runs=0", "repeat=3", "expect=[{composition: single, measure: "+name+", at_least: 0, at_most: 1}, {measure: "+name+", at_most: 1, phase: outage}]"))
	var all []float64
	for k := range free.Repeats {
		n := numberOf(&free.Repeats[k].Compositions[0], whole, name)
		all = append(all, n.Value)
	}
	most, v := free.Expectations[0], free.Expectations[1]
	if *most.Value != slices.Max(all) || most.Relation != "at_most" || *v.Value != slices.Min(all) || v.Repeats != 3 || *v.FailedRepeats != 0 || !v.Passed || v.Phase != whole || v.Composition != "single" {
		t.Errorf("of %v: %+v, %+v", all, most, v)
	}
	if slices.Min(all) == slices.Max(all) {
		t.Fatalf("repeats do not differ: %v", all)
	}
	if n := len(free.Expectations); n != 2+len(free.Compositions) {
		t.Errorf("%d verdicts", n)
	}
}

// TestLimitsAreFaultsOfTheStudy: a limit whose unit is not its measure's is
// known before the run.
func TestLimitsAreFaultsOfTheStudy(t *testing.T) {
	for _, c := range []struct{ expect, want string }{
		{"{measure: attempts/offered, at_most: 60ms}", "attempts/offered is not a duration"},
		{"{measure: availability, equals: 1s}", "availability is not a duration"},
		{"{measure: started.primary, at_most: 1s}", "started.primary is not a duration"},
		{"{measure: completed.p99, at_most: 60}", "write 60ms"},
		{"{measure: p99.9, phase: outage, at_most: 60}", "write 60ms"},
		{"{measure: recovery, at_most: 50%}", "recovery is a duration"},
		{"{measure: first_token.max, at_most: 1}", "write 1ms"},
		{"{measure: completed.p99, at_most: 60ms}", ""},
		{"{measure: cost, at_most: 60}", ""},
	} {
		_, err := study.Read("provider-failure", study.Options{Sets: []string{"expect=[" + c.expect + "]"}, Measure: CheckName})
		var faults study.Errors
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.expect, err)
		case c.want != "" && (!errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %s", c.expect, err, c.want)
		}
	}
}
