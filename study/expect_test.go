package study

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMeasureNames(t *testing.T) {
	var asked []string
	judge := func(name string, phase bool, dependencies []string) (bool, error) {
		asked = append(asked, fmt.Sprint(name, phase, dependencies))
		if name == "bad" {
			return false, fmt.Errorf("no such number")
		}
		return false, nil
	}
	s := study1("compositions: {x: [{call: a}], y: [{call: b}]}\nexpect: [{measure: good, phase: p, at_most: 1}, {measure: bad, at_least: 1}]")
	_, err := Read("-", Options{Stdin: strings.NewReader(s), Measure: judge})
	faults(t, err, `stdin:6:59: expect.1.measure: "bad": no such number`)
	if d := cmp.Diff([]string{"goodtrue [a b]", "badfalse [a b]"}, asked); d != "" {
		t.Error(d)
	}
}

// A limit that does not fit its measure, or that contradicts another one, is a
// fault of the study, and not of the run.
func TestLimits(t *testing.T) {
	judge := func(name string, _ bool, _ []string) (bool, error) { return name == "time", nil }
	const hasUnit = "ratio is not a duration: expected a number or a percentage, such as 0.06 or 6%"
	for _, c := range []struct{ name, limits, want string }{
		{"a duration of a ratio", "measure: ratio, at_most: 60ms", "stdin:6:36: expect.0.at_most: 60ms: " + hasUnit},
		{"a number of a duration", "measure: time, at_least: 60", "stdin:6:36: expect.0.at_least: 60: has no unit, and time is a duration: write 60ms or 60s"},
		{"a percentage of a duration", "measure: time, equals: 6%", "stdin:6:34: expect.0.equals: 6%: time is a duration: expected one such as 5ms, 30s or 1h30m"},
		{"one of several", "measure: ratio, at_least: 1, at_most: 2s", "stdin:6:49: expect.0.at_most: 2s: " + hasUnit},
		// 0 is the same in every unit
		{"nothing", "measure: ratio, at_most: 0ms", ""},
		{"no time", "measure: time, equals: 0", ""},
		{"none of it", "measure: time, equals: 0%", ""},
		{"what fits", "measure: time, at_least: 1us, at_most: 1h", ""},
		{"the same twice", "measure: ratio, at_least: 6%, equals: 0.06, at_most: 6e-2", ""},
		{"a least above the most", "measure: ratio, at_least: 7%, at_most: 0.06", "stdin:6:37: expect.0.at_least: 7%: is above at_most: no number is at least 7% and at most 0.06"},
		{"a least time above none", "measure: time, at_least: 1ns, at_most: 0", "stdin:6:36: expect.0.at_least: 1ns: is above at_most: no number is at least 1ns and at most 0"},
		{"more than the most", "measure: time, equals: 1001ms, at_most: 1s", "stdin:6:34: expect.0.equals: 1001ms: is above at_most: no number is 1001ms and at most 1s"},
		{"less than the least", "measure: ratio, equals: 1, at_least: 2", "stdin:6:35: expect.0.equals: 1: is below at_least: no number is 1 and at least 2"},
		// what cannot be read is compared with nothing
		{"a fault beside it", "measure: ratio, at_most: much, at_least: 2", "stdin:6:36: expect.0.at_most: much: expected a number, a percentage or a duration"},
		{"digits in groups", "measure: ratio, at_most: 1_2000", "stdin:6:36: expect.0.at_most: 1_2000: expected no underscores: write 12000"},
		{"another notation", "measure: ratio, at_most: 0x1p4", "stdin:6:36: expect.0.at_most: 0x1p4: expected a number, a percentage or a duration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := study1("compositions: {x: [{call: a}], y: [{call: b}]}\nexpect: [{" + c.limits + "}]")
			_, err := Read("-", Options{Stdin: strings.NewReader(s), Measure: judge})
			if c.want != "" {
				faults(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// Limits are refused exactly when no number keeps both.
func TestLimitsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least, most := rapid.IntRange(-3, 3).Draw(t, "least"), rapid.IntRange(-3, 3).Draw(t, "most")
		unit := rapid.SampledFrom([]string{"", "%", "ms"}).Draw(t, "unit")
		s := study1(fmt.Sprintf("compositions: {x: [{call: a}], y: [{call: b}]}\nexpect: [{measure: m, at_least: %d%s, at_most: %d%[2]s}]", least, unit, most))
		_, err := Read("-", Options{Stdin: strings.NewReader(s)})
		if (least > most) != (err != nil) {
			t.Fatal(err)
		}
	})
}
