package report

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"brunt/lab"
)

func summaryOf(t testing.TB, r *lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := StepSummary(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGoldenStepSummary(t *testing.T) {
	r := outageResult(t)
	over := 71.25
	r.Gates = []lab.Gate{{Name: "requests unaccounted for", Value: new(float64), Applies: true, Enforced: true, Passed: true}, {Name: "send skew max", Limit: 50, Value: &over, Unit: "ms", Applies: true}}
	golden(t, "outage.github.md", []byte(summaryOf(t, r)))
	golden(t, "invalid.github.md", []byte(summaryOf(t, invalidResult(t))))
}

// What failed stands before what holds, and what was judged before the tables.
func TestStepSummaryOrder(t *testing.T) {
	text := summaryOf(t, outageResult(t))
	for _, want := range []string{"2 of 3 expectations fail", "## Findings", "## Expectations", "| ✗ fails |", "| ✗ refused |", "| ✓ holds |", "<details><summary>What callers see</summary>", "</details>", "brunt 0.1.0"} {
		before, after, found := strings.Cut(text, want)
		if !found {
			t.Fatalf("no %q where it should stand; before it\n%s", want, before)
		}
		text = after
	}
	whole := summaryOf(t, outageResult(t))
	if strings.Contains(whole, "Cut to fit") || strings.Contains(whole, "<details><summary>Expectations") {
		t.Error("cut, or what failed is folded")
	}
}

// manyResult has so many compositions with names of 60 letters.
func manyResult(t testing.TB, n int) *lab.Result {
	r := outageResult(t)
	one := r.Compositions[0]
	r.Compositions, r.Expectations = nil, nil
	for i := range n {
		c := one
		c.Name = fmt.Sprintf("composition-%048d", i)
		r.Compositions = append(r.Compositions, c)
		r.Expectations = append(r.Expectations, lab.Verdict{Composition: c.Name, Measure: "offered", Relation: "equals", Limit: "1", Refused: true, Passed: i != n-1, Reason: "none"})
		r.Expectations[i].Refused = i == n-1
	}
	return r
}

// A result that is too large for GitHub is cut: whole tables, with what failed in
// them, and words on what is missing.
func TestStepSummaryFits(t *testing.T) {
	r := manyResult(t, 1200)
	text := summaryOf(t, r)
	if len(text) > StepSummaryLimit || len(text) < StepSummaryLimit/2 {
		t.Errorf("%d bytes", len(text))
	}
	_, cut, found := strings.Cut(text, "**Cut to fit 1048576 bytes:** ")
	if !found || !strings.Contains(cut, "What the dependency is hit with") {
		t.Errorf("it says that it was cut: %v, %q", found, cut)
	}
	_, rows, _ := strings.Cut(text, "## Expectations")
	if first := regexp.MustCompile(`(?m)^\| [✗✓].*$`).FindString(rows); !strings.Contains(first, "composition-"+fmt.Sprintf("%048d", 1199)) {
		t.Errorf("what failed is not first: %s", first)
	}
	if strings.Count(text, "<details>") != strings.Count(text, "</details>") {
		t.Error("a fold is left open")
	}
}

// Whatever a result holds, and however long its texts are, the summary fits, is
// whole text, closes what it opens, and says so when it is cut.
func TestStepSummaryAlwaysFits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := manyResult(t, rapid.IntRange(1, 6).Draw(rt, "compositions"))
		nastyResult(rt, r)
		long := func(name string) string {
			return strings.Repeat(rapid.SampledFrom([]string{"a", "<", "漢", "| ", "\n# "}).Draw(rt, name), rapid.SampledFrom([]int{0, 1, 100, 5_000}).Draw(rt, name+" times"))
		}
		r.Study += long("study")
		r.Question += long("question")
		r.Findings = append(r.Findings, long("finding"))
		r.Compositions[0].Name += long("composition")
		r.Instrument.Version += long("version")
		limit := rapid.IntRange(64<<10, 128<<10).Draw(rt, "limit")
		text, err := stepSummary(r, limit)
		if err != nil {
			rt.Fatal(err)
		}
		all, err := stepSummary(r, 1<<30)
		if err != nil {
			rt.Fatal(err)
		}
		said := bytes.Contains(text, []byte("**Cut to fit "))
		switch {
		case len(text) > limit:
			rt.Fatalf("%d bytes of %d", len(text), limit)
		case !utf8.Valid(text):
			rt.Fatal("cut within a character")
		case bytes.Count(text, []byte("<details>")) != bytes.Count(text, []byte("</details>")) || bytes.Count(text, []byte("\n```"))%2 != 0:
			rt.Fatal("something is left open")
		case said == bytes.Equal(text, all):
			rt.Fatalf("said to be cut: %v", said)
		}
		for line := range bytes.Lines(text) {
			line = bytes.ReplaceAll(bytes.ReplaceAll(line, []byte("<details><summary>"), nil), []byte("</summary>"), nil)
			if bytes.ContainsAny(bytes.ReplaceAll(line, []byte("</details>"), nil), "<>") || strings.ContainsFunc(strings.TrimSuffix(string(line), "\n"), unprintable) {
				rt.Fatalf("%q has markup or control codes", line)
			}
		}
	})
}

// A table that is cut keeps the footnotes of the rows that are left.
func TestTableFirst(t *testing.T) {
	b := builder{table: Table{}}
	b.column("Name")
	b.column("Value", counts)
	for i := range 30 {
		b.row("x")
		b.cell(b.refused(absent, "reason "+string(rune('a'+i))))
	}
	b.note("And this.")
	table := b.finish()
	short := table.first(12)
	if got := strings.Join(short.Notes[9:], " "); len(short.Rows) != 12 || got != "¹⁰ Reason j. ¹¹ Reason k. ¹² Reason l. And this." {
		t.Errorf("%d rows, and %s", len(short.Rows), got)
	}
	if len(table.Rows) != 30 || len(table.first(30).Notes) != 31 {
		t.Error("the table itself was cut")
	}
}

func TestStepSummaryWriteError(t *testing.T) {
	if err := StepSummary(failing{}, outageResult(t)); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
