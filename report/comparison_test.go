package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"brunt/lab"
	"brunt/measure"
)

func readBack(t testing.TB, b []byte) *lab.Result {
	t.Helper()
	var r lab.Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// comparisonFixture has a rule that holds, one that noise explains, one that
// fails and one that nobody can judge.
func comparisonFixture() *lab.RunComparison {
	const sum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
	side := lab.ComparedRun{Study: "outage", StudySHA256: sum, Instrument: lab.Instrument{Version: "0.1.0"}, Seeds: []int64{1, 2, 3}}
	c := &lab.RunComparison{A: side, B: side, Paired: true}
	attempts := measure.Compare("outage attempts/offered", known(1, 1.01, 0.99), known(1.3, 1.31, 1.28))
	noisy := measure.Compare("whole p95", known(300, 310, 290), known(360, 300, 305))
	refused := measure.Compare("whole p99", []measure.Scalar{{Refused: "beyond", Beyond: true}, {Value: 1}, {Value: 2}}, known(1, 2, 3))
	c.Compositions = []lab.ComparedComposition{{Name: "retry", Numbers: []measure.Difference{
		attempts, noisy, refused, measure.Compare("whole recovery", known(250, 250, 250), known(250, 250, 250)),
	}}}
	c.Rules = []lab.RuleVerdict{
		{Rule: "outage.attempts/offered +50%", Composition: "retry", Difference: attempts, Verdict: measure.WithinLimit},
		{Rule: "outage.attempts/offered +10%", Composition: "retry", Difference: attempts, Verdict: measure.OverLimit, Failed: true},
		{Rule: "p95 +1%", Composition: "retry", Difference: noisy, Verdict: measure.Noise},
		{Rule: "p99 +1%", Composition: "retry", Difference: refused, Verdict: measure.Unclear, Failed: true},
	}
	return c
}

func TestGoldenComparison(t *testing.T) {
	c := comparisonFixture()
	for _, f := range []struct {
		file  string
		write func(*bytes.Buffer) error
	}{
		{"comparison.txt", func(b *bytes.Buffer) error { return Comparison(b, c, TextOptions{}) }},
		{"comparison.80.txt", func(b *bytes.Buffer) error { return Comparison(b, c, TextOptions{Width: 80}) }},
		{"comparison.md", func(b *bytes.Buffer) error { return ComparisonMarkdown(b, c) }},
		{"comparison.json", func(b *bytes.Buffer) error { return ComparisonJSON(b, c) }},
	} {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, f.file, b.Bytes())
	}
}

// The verdict on the rules comes first, then what differs; what does not is
// counted.
func TestComparisonOrder(t *testing.T) {
	var b bytes.Buffer
	if err := Comparison(&b, comparisonFixture(), TextOptions{}); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	for _, want := range []string{
		"2 of 4 rules fail", "VERDICT ON THE RULES",
		"✓ within the limit", "✗ over the limit", "+29.7 %", "✓ noise can explain it", "✗ unclear",
		"WHAT DIFFERS", "outage.attempts/offered", "No difference shown in 2 numbers.", "a side has no value: p99",
		"THE TWO RUNS", "seeds 1 to 3",
	} {
		_, after, ok := strings.Cut(s, want)
		if !ok {
			t.Fatalf("no %q where it should stand in\n%s", want, &b)
		}
		s = after
	}
}

// Runs that are no pair say so first, and their differences are descriptive.
func TestComparisonNotPaired(t *testing.T) {
	c := comparisonFixture()
	c.Paired, c.Reason, c.Rules, c.B.Study = false, "not paired: load differs", nil, "other"
	var b bytes.Buffer
	if err := Comparison(&b, c, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"other (B) against outage (A)", "it may be chance", "not paired: load differs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "RULES") || strings.Contains(b.String(), "paired by seed") {
		t.Errorf("says something of rules or pairs:\n%s", &b)
	}
}

// A rule on a number that is 0 in A has no percentage.
func TestRuleOnNothing(t *testing.T) {
	c := comparisonFixture()
	d := measure.Compare("whole censored", known(0), known(3))
	c.Rules = []lab.RuleVerdict{{Rule: "censored +10%", Composition: "retry", Difference: d, Verdict: measure.OverLimit, Failed: true}}
	table := ruleVerdicts("censored +10%", c.Rules)
	if got := strings.Join(rowsOf(&table)[0], " | "); got != "✗ over the limit | retry | 0 | 3 | +3 | —¹" {
		t.Errorf("got %s", got)
	}
}

func TestComparisonWriteErrors(t *testing.T) {
	c := comparisonFixture()
	for name, err := range map[string]error{
		"text":     Comparison(failing{}, c, TextOptions{}),
		"markdown": ComparisonMarkdown(failing{}, c),
		"JSON":     ComparisonJSON(failing{}, c),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want the writer's error", name, err)
		}
	}
}

// hidden is an invalid result whose numbers were kept aside.
func hiddenResult(t testing.TB) *lab.Result {
	r := invalidResult(t)
	shown := *outageResult(t)
	shown.Valid = false
	r.Findings, r.Expectations = nil, nil
	r.Hidden = &shown
	return r
}

// The numbers of an invalid run are shown on demand only, after a warning in
// every section, and never in JSON or report.md.
func TestShowInvalid(t *testing.T) {
	r := hiddenResult(t)
	for _, width := range []int{80, 140} {
		s := textOf(t, r, TextOptions{Width: width, Invalid: true})
		lines := strings.Split(strings.TrimSpace(s), "\n")
		if lines[0] != invalidRun || lines[len(lines)-1] != invalidRun {
			t.Errorf("begins with %q and ends with %q", lines[0], lines[len(lines)-1])
		}
		if !strings.Contains(s, "8998") || !strings.Contains(s, "WHAT CALLERS SEE") || !strings.Contains(s, "NOT VALID") {
			t.Errorf("the numbers are not shown:\n%s", s)
		}
		sections := 0
		for i, line := range lines {
			if line != "" && strings.ToUpper(line) == line && strings.Trim(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ ") == "" {
				sections++
				if lines[i-1] != invalidRun {
					t.Errorf("no warning before %q", line)
				}
			}
		}
		if sections < 5 {
			t.Errorf("%d sections found", sections)
		}
		if strings.Contains(s, "are not shown") {
			t.Error("says that the numbers are not shown")
		}
	}
	var md, result bytes.Buffer
	if err := errors.Join(Markdown(&md, r, nil), JSON(&result, r)); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]string{"text that was not asked": textOf(t, r, TextOptions{}), "report.md": md.String(), "result.json": result.String()} {
		if strings.Contains(s, "8998") || strings.Contains(s, invalidRun) {
			t.Errorf("%s has the numbers of an invalid run", name)
		}
	}
}

// A valid run has no warning, whoever asks.
func TestShowInvalidOfValid(t *testing.T) {
	r := outageResult(t)
	if textOf(t, r, TextOptions{Invalid: true}) != textOf(t, r, TextOptions{}) {
		t.Error("a valid run looks different")
	}
}
