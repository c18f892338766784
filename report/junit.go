package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"brunt/lab"
)

// JUnit writes what a run was held to as JUnit XML, for the test views of CI
// systems: a suite of one case on the run itself, one of the expectations and one
// of the gates. It keeps to what the schemas of Surefire and of Jenkins have in
// common (surefire-test-report.xsd of apache/maven-surefire, commit 15475f28, and
// junit-10.xsd of jenkinsci/xunit-plugin, commit 031e285e). env may be nil.
//
// An expectation that does not hold, or whose number was refused, is a failure. A
// gate that was enforced and not passed is an error, and so is every expectation
// of a run that is not valid, or that broke off: nobody has judged it. A gate that
// does not apply is skipped; so is one that failed without being enforced, as the
// run counts all the same, and the case says that it failed. What passes was judged.
func JUnit(w io.Writer, r *lab.Result, env *lab.Environment) error {
	expected, err := expectationCases(r)
	if err != nil {
		return err
	}
	suites := []junitSuite{
		runSuite(r, env),
		{name: clean(r.Study) + ".expectations", time: "0", cases: expected},
		{name: clean(r.Study) + ".gates", time: "0", cases: gateCases(r)},
	}
	var tests, failures, errors int
	for i := range suites {
		s := &suites[i]
		s.count()
		tests, failures, errors = tests+s.tests, failures+s.failures, errors+s.errors
	}
	x := &xmlWriter{}
	x.WriteString(xml.Header)
	x.open("testsuites", "name", clean(r.Study), "tests", strconv.Itoa(tests), "failures", strconv.Itoa(failures), "errors", strconv.Itoa(errors), "time", suites[0].time)
	for i := range suites {
		suites[i].write(x)
	}
	x.close("testsuites")
	if _, err := w.Write(x.Bytes()); err != nil {
		return fmt.Errorf("writing study %q as JUnit: %w", r.Study, err)
	}
	return nil
}

// xmlWriter writes elements, one a line. It does without reflection, which would add
// more to the program than all of this file.
type xmlWriter struct {
	bytes.Buffer
	depth int
}

// begin writes a tag without its end, with attributes: names and values in turn.
func (x *xmlWriter) begin(name string, attributes ...string) {
	for range x.depth {
		x.WriteString("  ")
	}
	x.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		x.WriteString(" " + attributes[i] + `="`)
		x.text(attributes[i+1])
		x.WriteByte('"')
	}
}

func (x *xmlWriter) open(name string, attributes ...string) {
	x.begin(name, attributes...)
	x.WriteString(">\n")
	x.depth++
}

func (x *xmlWriter) close(name string) {
	x.depth--
	for range x.depth {
		x.WriteString("  ")
	}
	x.WriteString("</" + name + ">\n")
}

// element writes an element with a text in it, which may be empty.
func (x *xmlWriter) element(name, text string, attributes ...string) {
	x.begin(name, attributes...)
	if text == "" {
		x.WriteString("/>\n")
		return
	}
	x.WriteByte('>')
	x.text(text)
	x.WriteString("</" + name + ">\n")
}

// text writes a text that means itself; what XML has no word for becomes U+FFFD.
func (x *xmlWriter) text(s string) {
	_ = xml.EscapeText(x, []byte(s)) // a buffer takes everything
}

type junitSuite struct {
	name                             string
	tests, failures, errors, skipped int
	time                             string   // seconds
	properties                       []string // names and values in turn
	cases                            []junitCase
}

func (s *junitSuite) write(x *xmlWriter) {
	x.open("testsuite", "name", s.name, "tests", strconv.Itoa(s.tests), "failures", strconv.Itoa(s.failures), "errors", strconv.Itoa(s.errors),
		"skipped", strconv.Itoa(s.skipped), "time", s.time)
	if s.properties != nil {
		x.open("properties")
		for i := 0; i+1 < len(s.properties); i += 2 {
			x.element("property", "", "name", s.properties[i], "value", s.properties[i+1])
		}
		x.close("properties")
	}
	for i := range s.cases {
		c := &s.cases[i]
		x.open("testcase", "name", c.name, "classname", c.class, "time", s.time)
		switch {
		case c.failure != nil:
			x.element("failure", c.failure.message, "message", c.failure.message, "type", c.failure.kind)
		case c.err != nil:
			x.element("error", c.err.message, "message", c.err.message, "type", c.err.kind)
		case c.skipped != "":
			x.element("skipped", "", "message", c.skipped)
		case c.out != "":
			x.element("system-out", c.out)
		}
		x.close("testcase")
	}
	x.close("testsuite")
}

// junitCase is one case; it passed when it has neither a failure nor an error and
// was not skipped.
type junitCase struct {
	name, class  string
	failure, err *junitFinding
	skipped      string // why
	out          string
}

// junitFinding says why a case did not pass.
type junitFinding struct{ kind, message string }

func finding(kind, message string) *junitFinding { return &junitFinding{kind, clean(message)} }

// count sums the cases up, and gives those of one name a number: readers take
// cases of one class and name for one.
func (s *junitSuite) count() {
	taken := map[[2]string]bool{}
	for i := range s.cases {
		c := &s.cases[i]
		name := c.name
		for n := 2; taken[[2]string{c.class, c.name}]; n++ {
			c.name = name + " (" + strconv.Itoa(n) + ")"
		}
		taken[[2]string{c.class, c.name}] = true
		s.tests++
		switch {
		case c.failure != nil:
			s.failures++
		case c.err != nil:
			s.errors++
		case c.skipped != "":
			s.skipped++
		}
	}
}

// runSuite is the run itself: whether its numbers count. So a run that is not
// valid is no pass whatever else was judged.
func runSuite(r *lab.Result, env *lab.Environment) junitSuite {
	s := junitSuite{name: clean(r.Study) + ".run", time: "0"}
	if env != nil {
		s.time = strconv.FormatFloat(env.WallMillis/1000, 'f', 3, 64)
	}
	add := func(name, value string) {
		if value != "" {
			s.properties = append(s.properties, name, clean(value))
		}
	}
	add("study", r.Study)
	add("clock", string(r.Clock))
	add("seed", strconv.FormatInt(r.Seed, 10))
	add("study_sha256", r.StudySHA256)
	add("brunt", r.Instrument.Version)
	if p := r.Protocol; p != nil {
		add("protocol", p.Name+"@"+p.Version)
	}
	c := junitCase{name: "the run is valid and came to its end", class: clean(r.Study) + ".run"}
	if reason := notJudged(r); reason != "" {
		c.err = finding("invalid", reason)
	} else {
		c.out = clean(strings.Join(r.Findings, " "))
	}
	s.cases = []junitCase{c}
	return s
}

// notJudged says why nothing that a run shows can be held against its study;
// nothing for one whose numbers count.
func notJudged(r *lab.Result) string {
	switch {
	case !r.Valid:
		return whyInvalid(r)
	case r.Kill != nil:
		return "The run " + r.Kill.How() + " " + millis(r.Kill.At) + " into " + r.Kill.Composition + ": its numbers are of a part of it."
	case r.Aborted || r.Killed:
		return "The run was aborted: its numbers are of a part of it."
	}
	return ""
}

// expectationCases has a case for each expectation and composition.
func expectationCases(r *lab.Result) (list []junitCase, err error) {
	verdicts := r.Expectations
	reason := notJudged(r)
	if reason != "" && len(verdicts) == 0 {
		if verdicts, err = unjudged(r); err != nil {
			return nil, err
		}
	}
	for _, v := range verdicts {
		measured := v.Measure + " of " + v.Composition + ", " + wholeRun(v.Phase)
		expected := relation(v.Relation) + v.Limit
		c := junitCase{name: clean(wholeRun(v.Phase) + " " + v.Measure + " " + expected), class: clean(r.Study + ".expectations." + v.Composition)}
		switch {
		case v.Value != nil:
			measured += ": " + quantity(*v.Value, v.Unit, strings.HasSuffix(v.Limit, "%"))
		case v.Reason != "":
			measured += ": refused: " + v.Reason
		default:
			measured += ": no value"
		}
		if v.Repeats > 1 {
			measured += "; the worst of " + strconv.Itoa(v.Repeats) + " repeats"
			if v.FailedRepeats != nil {
				measured += ", of which " + strconv.Itoa(*v.FailedRepeats) + " failed"
			}
		}
		text := measured + "; expected " + expected
		switch {
		case reason != "":
			c.err = finding("not judged", "not judged: "+reason)
		case v.Passed && !v.Refused:
			c.out = clean(text)
		case v.Refused:
			c.failure = finding("refused", text)
		default:
			c.failure = finding("expectation", text)
		}
		list = append(list, c)
	}
	return list, nil
}

// unjudged lists the expectations of a study whose run was not held to them: each
// limit, in each composition that it is about, as a run lists them.
func unjudged(r *lab.Result) (list []lab.Verdict, err error) {
	var c struct {
		Compositions mapping `json:"compositions"`
		Expect       []struct {
			Composition string `json:"composition"`
			Phase       string `json:"phase"`
			Measure     string `json:"measure"`
			AtMost      string `json:"at_most"`
			AtLeast     string `json:"at_least"`
			Equals      string `json:"equals"`
		} `json:"expect"`
	}
	if len(r.Config) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(r.Config, &c); err != nil {
		return nil, fmt.Errorf("reading the expectations of study %q: %w", r.Study, err)
	}
	for _, e := range c.Expect {
		for _, of := range c.Compositions {
			if e.Composition != "" && e.Composition != of.Name {
				continue
			}
			for _, l := range [][2]string{{"at_most", e.AtMost}, {"at_least", e.AtLeast}, {"equals", e.Equals}} {
				if l[1] != "" {
					list = append(list, lab.Verdict{Composition: of.Name, Phase: e.Phase, Measure: e.Measure, Relation: l[0], Limit: l[1]})
				}
			}
		}
	}
	return list, nil
}

// gateCases has a case for each gate.
func gateCases(r *lab.Result) (list []junitCase) {
	for _, g := range r.Gates {
		c := junitCase{name: clean(g.Name), class: clean(r.Study) + ".gates"}
		text := g.Name + ": " + gateValue(g) + ", limit " + quantity(g.Limit, g.Unit, false)
		if g.AtLeast {
			text = g.Name + ": " + gateValue(g) + ", at least " + quantity(g.Limit, g.Unit, false)
		}
		if g.Reason != "" {
			text += "; " + g.Reason
		}
		switch {
		case !g.Applies:
			if c.skipped = clean(g.Reason); c.skipped == "" {
				c.skipped = "does not apply"
			}
		case g.Passed:
			c.out = clean(text)
		case g.Enforced:
			c.err = finding("gate", text)
		default:
			c.skipped = clean("failed, not enforced: " + text)
		}
		list = append(list, c)
	}
	return list
}
