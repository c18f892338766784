package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

func junitOf(t testing.TB, r *lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, r, testEnvironment()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// judgedCase is a case as a reader of JUnit sees it.
type judgedCase struct {
	suite, class, name string
	verdict            string // passed, failure, error, skipped
	words              string
}

// readJUnit reads the text back, and is strict about what the schemas of Surefire
// and Jenkins both ask for.
func readJUnit(text string) ([]judgedCase, error) {
	attributes := map[string]string{
		"testsuites": "name tests failures errors time", "testsuite": "name tests failures errors skipped time",
		"properties": "", "property": "name value", "testcase": "name classname time",
		"failure": "message type", "error": "message type", "skipped": "message", "system-out": "",
	}
	within := map[string]string{
		"testsuite": "testsuites", "properties": "testsuite", "property": "properties", "testcase": "testsuite",
		"failure": "testcase", "error": "testcase", "skipped": "testcase", "system-out": "testcase",
	}
	seconds := regexp.MustCompile(`^[0-9]+(\.[0-9]{1,3})?$`)
	var cases []judgedCase
	var open []string
	suite := ""
	var want, got, all map[string]int
	var sums = map[string]int{}
	seen := map[string]bool{}
	count := func(kind string) {
		got[kind]++
		sums[kind]++
	}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			wanted, known := attributes[name]
			if !known {
				return nil, fmt.Errorf("<%s> is in no schema", name)
			}
			var has []string
			value := map[string]string{}
			for _, a := range token.Attr {
				has = append(has, a.Name.Local)
				value[a.Name.Local] = a.Value
			}
			if strings.Join(has, " ") != wanted {
				return nil, fmt.Errorf("<%s> has %v, not %s", name, has, wanted)
			}
			if len(open) > 0 && open[len(open)-1] != within[name] {
				return nil, fmt.Errorf("<%s> within <%s>", name, open[len(open)-1])
			}
			open = append(open, name)
			if s, timed := value["time"]; timed && !seconds.MatchString(s) {
				return nil, fmt.Errorf("the time %q", s)
			}
			counts := map[string]int{}
			for _, kind := range []string{"tests", "failures", "errors", "skipped"} {
				counts[kind], _ = strconv.Atoi(value[kind])
			}
			switch name {
			case "testsuites":
				all = counts
			case "testsuite":
				want, got = counts, map[string]int{"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
				suite = value["name"]
			case "testcase":
				id := suite + "\x00" + value["classname"] + "\x00" + value["name"]
				if seen[id] {
					return nil, fmt.Errorf("two cases are named %q in %q", value["name"], value["classname"])
				}
				seen[id] = true
				count("tests")
				cases = append(cases, judgedCase{suite: suite, class: value["classname"], name: value["name"], verdict: "passed"})
			case "failure", "error", "skipped":
				c := &cases[len(cases)-1]
				if c.verdict != "passed" {
					return nil, fmt.Errorf("case %q has two verdicts", c.name)
				}
				c.verdict, c.words = name, value["message"]
				count(map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[name])
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			if token.Name.Local == "testsuite" {
				if diff := cmp.Diff(want, got); diff != "" {
					return nil, fmt.Errorf("a suite counts wrongly: %s", diff)
				}
			}
		case xml.CharData:
			if s := string(token); len(open) > 0 && open[len(open)-1] == "system-out" {
				cases[len(cases)-1].words = s
			}
		}
	}
	delete(all, "skipped")
	delete(sums, "skipped")
	for kind, n := range all {
		if sums[kind] != n {
			return nil, fmt.Errorf("%s: %d in all suites, not %d", kind, sums[kind], n)
		}
	}
	return cases, nil
}

func casesOf(t testing.TB, r *lab.Result) []judgedCase {
	t.Helper()
	cases, err := readJUnit(junitOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestGoldenJUnit(t *testing.T) {
	for _, name := range []string{"outage", "invalid"} {
		r := map[string]func(testing.TB) *lab.Result{"outage": outageResult, "invalid": invalidResult}[name](t)
		r.Gates = append(r.Gates, lab.Gate{Name: "send skew max", Limit: 50, Unit: "ms", Reason: "does not apply: the virtual clock waits for the instrument"})
		golden(t, name+".junit.xml", []byte(junitOf(t, r)))
	}
}

// What each verdict becomes.
func TestJUnitVerdicts(t *testing.T) {
	three, over := 3.0, 71.25
	failed := 2
	for _, c := range []struct {
		name    string
		change  func(*lab.Result)
		verdict string // of the last case
		words   string
	}{
		{"an expectation that holds", func(r *lab.Result) {
			r.Expectations = []lab.Verdict{{Composition: "retry", Phase: "outage", Measure: "offered", Relation: "equals", Limit: "3", Value: &three, Passed: true}}
		}, "passed", "offered of retry, outage: 3; expected exactly 3"},
		{"one that does not", func(r *lab.Result) {
			r.Expectations = []lab.Verdict{{Composition: "retry", Measure: "p95", Relation: "at_most", Limit: "2ms", Unit: "ms", Value: &three, Repeats: 5, FailedRepeats: &failed}}
		}, "failure", "p95 of retry, whole run: 3 ms; the worst of 5 repeats, of which 2 failed; expected at most 2ms"},
		{"a number that was refused", func(r *lab.Result) {
			r.Expectations = []lab.Verdict{{Composition: "retry", Measure: "p95", Relation: "at_most", Limit: "2ms", Refused: true, Reason: "beyond"}}
		}, "failure", "p95 of retry, whole run: refused: beyond; expected at most 2ms"},
		{"one that is said to have passed and to be refused", func(r *lab.Result) {
			r.Expectations = []lab.Verdict{{Composition: "retry", Measure: "p95", Relation: "at_most", Limit: "2ms", Refused: true, Passed: true}}
		}, "failure", "no value"},
		{"one of a run that was aborted, which held so far", func(r *lab.Result) {
			r.Aborted = true
			r.Expectations = []lab.Verdict{{Composition: "retry", Measure: "offered", Relation: "equals", Limit: "3", Value: &three, Passed: true}}
		}, "error", "not judged: The run was aborted"},
		{"one of a run that was killed", func(r *lab.Result) {
			r.Aborted, r.Killed, r.Kill = true, true, &lab.Kill{Composition: "retry", At: *ms(500)}
			r.Expectations = []lab.Verdict{{Composition: "retry", Measure: "offered", Relation: "equals", Limit: "3", Value: &three, Passed: true}}
		}, "error", "not judged: The run was killed 500 ms into retry"},
		{"one of a run that is not valid", func(r *lab.Result) {
			r.Valid, r.Config = false, []byte(`{"compositions": {"a": [], "b": []}, "expect": [{"measure": "offered", "equals": "3"}]}`)
		}, "error", "not judged: The run is not valid"},
		{"a gate that passed", func(r *lab.Result) {
			r.Gates = []lab.Gate{{Name: "cpu", Limit: 70, Value: &three, Unit: "%", Applies: true, Passed: true}}
		}, "passed", "cpu: 3 %, limit 70 %"},
		{"a gate that failed", func(r *lab.Result) {
			r.Valid = false
			r.Gates = []lab.Gate{{Name: "cpu", Limit: 70, Value: &over, Unit: "%", Applies: true, Enforced: true, Reason: "over the limit"}}
		}, "error", "cpu: 71.25 %, limit 70 %; over the limit"},
		{"a gate that was not measured", func(r *lab.Result) {
			r.Gates = []lab.Gate{{Name: "cpu", Limit: 70, Unit: "%", Applies: true, Enforced: true, Reason: "the run was shorter than 5 s"}}
		}, "error", "cpu: not measured, limit 70 %; the run was shorter than 5 s"},
		{"a gate that failed and was not enforced", func(r *lab.Result) {
			r.Gates = []lab.Gate{{Name: "goodput", Limit: 0.99, Value: &three, Applies: true, AtLeast: true}}
		}, "skipped", "failed, not enforced: goodput: 3, at least 0.99"},
		{"a gate that does not apply", func(r *lab.Result) {
			r.Gates = []lab.Gate{{Name: "cpu", Passed: true, Reason: "does not apply: virtual"}}
		}, "skipped", "does not apply: virtual"},
		{"no expectations and no gates", func(*lab.Result) {}, "passed", "In the outage, retry turns"},
		{"not valid, whatever the gates say", func(r *lab.Result) { r.Valid, r.Config = false, nil }, "error", "no gate says why"},
	} {
		r := outageResult(t)
		r.Expectations = nil
		c.change(r)
		cases := casesOf(t, r)
		last := cases[len(cases)-1]
		if last.verdict != c.verdict || !strings.Contains(last.words, c.words) {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, last.verdict, last.words, c.verdict, c.words)
		}
	}
}

// A case that passes was judged and held, whatever a result says of itself; the
// others say why not.
func TestJUnitNeverPassesWhatNobodyJudged(t *testing.T) {
	fixed := outageResult(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := *fixed
		yes := rapid.Bool()
		r.Valid, r.Aborted = yes.Draw(rt, "valid"), yes.Draw(rt, "aborted")
		value := 1.0
		draw := func(name string) *float64 {
			if yes.Draw(rt, name) {
				return &value
			}
			return nil
		}
		r.Expectations, r.Gates = nil, nil
		for range rapid.IntRange(0, 4).Draw(rt, "expectations") {
			r.Expectations = append(r.Expectations, lab.Verdict{Composition: "retry", Measure: "m", Relation: "at_most", Limit: "1", Value: draw("value"), Passed: yes.Draw(rt, "passed"), Refused: yes.Draw(rt, "refused")})
		}
		for range rapid.IntRange(0, 4).Draw(rt, "gates") {
			r.Gates = append(r.Gates, lab.Gate{Name: "g", Value: draw("value"), Applies: yes.Draw(rt, "applies"), Enforced: yes.Draw(rt, "enforced"), Passed: yes.Draw(rt, "passed")})
		}
		var b bytes.Buffer
		if err := JUnit(&b, &r, nil); err != nil {
			rt.Fatal(err)
		}
		cases, err := readJUnit(b.String())
		if err != nil {
			rt.Fatal(err)
		}
		counts := r.Valid && !r.Aborted
		for i, c := range cases {
			held := counts
			switch {
			case i == 0:
			case strings.HasSuffix(c.suite, ".gates"):
				g := r.Gates[i-(len(cases)-len(r.Gates))]
				held = g.Applies && g.Passed
			case len(r.Expectations) > 0:
				v := r.Expectations[i-1]
				held = counts && v.Passed && !v.Refused
			}
			if (c.verdict == "passed") != held {
				rt.Fatalf("%+v of %+v and %+v, held %v", c, r.Expectations, r.Gates, held)
			}
			if c.verdict != "passed" && c.words == "" {
				rt.Fatalf("%+v does not say why", c)
			}
		}
	})
}

// A run that is not valid has the cases that it would have had.
func TestJUnitOfInvalidHasTheSameCases(t *testing.T) {
	r := pageStudy(t)
	names := func(r *lab.Result) (list []string) {
		for _, c := range casesOf(t, r) {
			list = append(list, c.class+" "+c.name)
		}
		return list
	}
	want := names(r)
	if len(r.Expectations) == 0 {
		t.Fatal("the study expects nothing")
	}
	r.Valid, r.Expectations, r.Compositions = false, []lab.Verdict{}, nil
	if diff := cmp.Diff(want, names(r)); diff != "" {
		t.Errorf("-valid +not valid:\n%s", diff)
	}
}

// nasty is text that tries to be more than text in the formats for programs.
var nasty = rapid.OneOf(hostile, rapid.SampledFrom([]string{
	`</testcase><x`, `]]>`, `<!--`, "a|b", "a\nb", `"`, `'`, "\x00\x1b[31m", "\ufffe\uffff", "\xff\xfe", `\`, `\"`, `=1+1`, `;=1`, `-2`, "@x", "&amp;", "}", "{", "# EOF", "a\n# EOF\n", "", " ",
}))

// nastyResult puts such text wherever a result has text.
func nastyResult(t *rapid.T, r *lab.Result) {
	draw := func() string { return nasty.Draw(t, "text") }
	r.Study, r.Question, r.TiesReason, r.Findings = draw(), draw(), draw(), []string{draw()}
	r.Instrument.Version, r.StudySHA256 = draw(), draw()
	r.Gates = append(r.Gates, lab.Gate{Name: draw(), Unit: draw(), Applies: true, Enforced: true, Reason: draw()}, lab.Gate{Name: draw(), Reason: draw()})
	for i := range r.Expectations {
		v := &r.Expectations[i]
		v.Composition, v.Phase, v.Measure, v.Relation, v.Limit, v.Unit, v.Reason = draw(), draw(), draw(), draw(), draw(), draw(), draw()
	}
	for i := range r.Compositions {
		c := &r.Compositions[i]
		c.Name, c.Recovery.Reason = draw(), draw()
		for k := range c.Phases {
			p := &c.Phases[k]
			p.Name, p.Latency.Completed.Reason = draw(), draw()
			p.ServedBy, p.DependencyCalls = map[string]int64{draw(): 1, draw(): 2}, map[string]int64{draw(): 3}
			p.Incidence.Quantiles = []measure.Quantile{{Q: 0.5, Reason: draw(), Refused: draw()}}
		}
	}
}

func TestJUnitHoldsNastyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := outageResult(t)
		want := 1 + len(r.Expectations) + 2
		nastyResult(rt, r)
		var b bytes.Buffer
		if err := JUnit(&b, r, nil); err != nil {
			rt.Fatal(err)
		}
		cases, err := readJUnit(b.String())
		if err != nil {
			rt.Fatal(err)
		}
		if len(cases) != want {
			rt.Fatalf("%d cases, not %d", len(cases), want)
		}
		if i := slices.IndexFunc([]rune(b.String()), func(r rune) bool { return r != '\n' && unprintable(r) && r != '\ufffd' }); i >= 0 {
			rt.Fatalf("a control code at %d of %q", i, b.String())
		}
	})
}

func TestJUnitWriteError(t *testing.T) {
	if err := JUnit(failing{}, outageResult(t), nil); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	r := invalidResult(t)
	r.Expectations, r.Config = nil, []byte("{")
	if err := JUnit(io.Discard, r, nil); err == nil || !strings.Contains(err.Error(), "reading the expectations of study") {
		t.Errorf("a broken configuration: %v", err)
	}
}
