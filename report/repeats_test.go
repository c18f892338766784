package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/measure"
)

func known(values ...float64) []measure.Scalar {
	list := make([]measure.Scalar, len(values))
	for i, v := range values {
		list[i].Value = v
	}
	return list
}

const neverDone = "62 % completed, and at most 62 % could have"

// repeatedResult is provider-failure over five seeds.
func repeatedResult(t testing.TB) *lab.Result {
	r := providerResult(t)
	r.Study = "repeated"
	refused := measure.Scalar{Refused: neverDone, Beyond: true}
	single := map[string][]measure.Scalar{
		"before completed/offered": known(0.94, 0.95, 0.96, 0.95, 0.95), // nothing is done to a dependency there: not shown
		"outage completed/offered": known(0, 0, 0, 0, 0),
		"outage attempts/offered":  known(1, 1, 1, 1, 1),
		"whole completed/offered":  known(0.625, 0.633, 0.638, 0.632, 0.642),
		"whole p50":                known(738.41, 774.58, 774.15, 765.97, 749.41),
		"whole p99":                {refused, refused, refused, refused, refused},
		"whole recovery":           known(1087.18, 1105.58, 1198.32, 1069.13, 964.17),
		"whole peak.requests":      known(20, 20, 20, 20, 20),
	}
	fallback := map[string][]measure.Scalar{
		"before completed/offered": known(0.99, 1, 1, 1, 1),
		"outage completed/offered": known(0.985, 0.965, 0.985, 0.965, 0.985),
		"outage attempts/offered":  known(2, 2, 2, 2, 2),
		"whole completed/offered":  known(0.985, 0.988, 0.995, 0.988, 0.993),
		"whole p50":                known(741.2, 774.58, 774.15, 765.97, 749.41),
		"whole p99":                {{Value: 3207.1}, refused, {Value: 3249.4}, refused, {Value: 3204.6}},
		"whole recovery":           known(1087.18, 1105.58, 1198.32, 1069.13, 964.17),
		"whole peak.requests":      known(33, 33, 33, 33, 32),
	}
	names := []string{"before completed/offered", "outage completed/offered", "outage attempts/offered", "whole completed/offered",
		"whole p50", "whole p99", "whole recovery", "whole peak.requests"}
	r.Compositions = r.Compositions[:2]
	pair := lab.Comparison{A: "single", B: "fallback"}
	for _, name := range names {
		heavy := name == "whole recovery"
		r.Compositions[0].Summary = append(r.Compositions[0].Summary, measure.SpreadOf(name, single[name], heavy))
		r.Compositions[1].Summary = append(r.Compositions[1].Summary, measure.SpreadOf(name, fallback[name], heavy))
		pair.Numbers = append(pair.Numbers, measure.Compare(name, single[name], fallback[name]))
	}
	statistic, p := 63.96, 1.3e-15
	pair.Gray = &measure.GrayTest{Statistic: &statistic, DF: 1, P: &p}
	r.Comparisons = []lab.Comparison{pair}
	for k := range int64(5) {
		r.Repeats = append(r.Repeats, lab.Repeat{Seed: r.Seed + k})
	}
	return r
}

// tableNamed returns a further table of a section.
func tableNamed(t *testing.T, s section, title string) *Table {
	t.Helper()
	for i := range s.Tables {
		if s.Tables[i].Title == title {
			return &s.Tables[i]
		}
	}
	t.Fatalf("no table %q", title)
	return nil
}

// rowsOf returns the cells of a table as texts.
func rowsOf(t *Table) [][]string {
	var rows [][]string
	for _, cells := range t.Rows {
		var row []string
		for _, c := range cells {
			row = append(row, c.String())
		}
		rows = append(rows, row)
	}
	return rows
}

// A mean leads with its interval, a heavy tail with its range, and a refusal
// has no mean.
func TestRepeats(t *testing.T) {
	r := repeatedResult(t)
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	s, show := overRepeats(r, c)
	if !show || s.Title != "Over 5 repeats" {
		t.Fatalf("got %q, shown %v", s.Title, show)
	}
	single := tableNamed(t, s, "single")
	want := [][]string{
		{"completed/offered", "mean 63.4 %", "62.6 to 64.2", "62.5", "63.3", "63.8", "63.2", "64.2"},
		{"p50", "mean 761 ms", "741 to 780", "738", "775", "774", "766", "749"},
		{"recovery", "median 1,087 ms", "964 to 1,198", "1,087", "1,106", "1,198", "1,069", "964"},
	}
	if diff := cmp.Diff(want, rowsOf(single)); diff != "" {
		t.Error(diff)
	}
	wantNotes := []string{
		"The same in every repeat, so the interval has no width, and says nothing of what did not vary: outage.completed/offered 0 %, outage.attempts/offered 1 and peak.requests 20.",
		"No mean, since some repeat was refused; the verdicts of all, in order of size:",
		"p99: 5 × (" + neverDone + ").",
	}
	if diff := cmp.Diff(wantNotes, single.Notes); diff != "" {
		t.Error(diff)
	}
	fallback := tableNamed(t, s, "fallback")
	wantRow := []string{"p99", "median 3,249 ms", "from 3,205", "3,207", "—", "3,249", "—", "3,205"}
	found := false
	for _, row := range rowsOf(fallback) {
		if row[0] == "p99" {
			found = true
			if diff := cmp.Diff(wantRow, row); diff != "" {
				t.Error(diff)
			}
		}
		if strings.HasPrefix(row[0], "before.") {
			t.Errorf("a row of a phase in which nothing is done: %q", row)
		}
		if row[0] == "peak.requests" && row[3] != "33" {
			t.Errorf("counts have decimals: %q", row[3])
		}
	}
	if !found {
		t.Error("no row of p99, which has a median")
	}
	if last := fallback.Notes[len(fallback.Notes)-1]; last != "p99: 3,205 ms; 3,207 ms; 3,249 ms; 2 × ("+neverDone+")." {
		t.Errorf("ordered verdicts: got %q", last)
	}
}

// Of many repeats the values stand below the table, and all of them do.
func TestManyRepeats(t *testing.T) {
	values := make([]float64, 30)
	for i := range values {
		values[i] = float64(100 + i)
	}
	c := measure.Composition{Name: "one", Summary: []measure.Spread{measure.SpreadOf("whole p50", known(values...), false)}}
	table := spreads(&c, &config{}, make([]lab.Repeat, len(values)))
	if len(table.Head) != 3 || len(table.Notes) != 1 || strings.Count(table.Notes[0], "/") != 29 {
		t.Errorf("got %d columns and the notes %q, want 3 and all 30 values", len(table.Head), table.Notes)
	}
}

// A difference is shown when noise cannot explain it; the others are counted.
func TestAgainstFirst(t *testing.T) {
	r := repeatedResult(t)
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	s, show := againstFirst(r, c)
	if !show || s.Long {
		t.Fatalf("shown %v, left out of the terminal %v: want the former", show, s.Long)
	}
	table := tableNamed(t, s, "single (A) and fallback (B)")
	want := [][]string{
		{"outage.completed/offered", "0.0 %", "97.7 %", "+97.7 pp", "+96.3 to +99.1", "—¹"},
		{"outage.attempts/offered", "1", "2", "+1", "+1 to +1²", "—¹"},
		{"completed/offered", "63.4 %", "99.0 %", "+35.6 pp", "+35.2 to +36.0", "0.9"},
		{"peak.requests", "20.0", "32.8", "+12.8", "+12.2 to +13.4", "—¹"},
	}
	if diff := cmp.Diff(want, rowsOf(table)); diff != "" {
		t.Error(diff)
	}
	all := strings.Join(table.Notes, "\n")
	for _, want := range []string{
		"No difference shown in 2 numbers. Not 0, but noise can explain it: p50 +0.6 ms (−1.0 to +2.1).",
		"Not compared, since a side has no value: p99.",
		"p < 0.0001", "takes requests as independent",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the notes do not say %q:\n%s", want, all)
		}
	}
}

// Of a single run the differences are descriptive, and stand in report.md
// alone; what does not differ has no row.
func TestSingleRunIsDescriptive(t *testing.T) {
	for _, c := range []struct {
		name          string
		deterministic bool
		want          string
	}{
		{"no draw: there is nothing that an interval could hold", true, "no sampling error"},
		{"with chance in it: one draw of many", false, "a difference is descriptive"},
	} {
		r := outageResult(t)
		r.Deterministic = c.deterministic
		r.Comparisons = []lab.Comparison{{A: "retry", B: "retry-breaker", Reason: "not computed", Numbers: []measure.Difference{
			measure.Compare("outage attempts/offered", known(2.9993), known(0.047)),
			measure.Compare("whole p95", known(300), known(300)),
		}}}
		text := textOf(t, r, TextOptions{})
		var md bytes.Buffer
		if err := Markdown(&md, r, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "AGAINST THE FIRST") || strings.Contains(text, "2.952") {
			t.Errorf("%s: the terminal shows comparisons of one run", c.name)
		}
		for _, want := range []string{c.want, "| outage.attempts/offered | 2.999 | 0.047 | −2.952 |", "No difference shown in 1 number."} {
			if !strings.Contains(md.String(), want) {
				t.Errorf("%s: report.md does not say %q", c.name, want)
			}
		}
	}
}

// Text says that a run without chance has no intervals, and only then.
func TestDeterministic(t *testing.T) {
	const says = "no draw of chance, so no sampling error and no intervals"
	r := outageResult(t)
	for _, is := range []bool{true, false} {
		r.Deterministic = is
		if got := strings.Contains(textOf(t, r, TextOptions{}), says); got != is {
			t.Errorf("deterministic %v: said %v", is, got)
		}
	}
}

// Refusals are counted; of many different ones the ends are quoted.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		verdicts []string
		want     string
	}{
		{nil, ""},
		{[]string{"a", "a", "b"}, "2 × (a); 1 × (b)"},
		{[]string{"a", "b", "b", "c"}, "1 × (a); 2 × (b); 1 × (c)"},
		{[]string{"a", "b", "c", "c", "d"}, "5 refused, from (a) to (d)"},
	} {
		if got := strings.Join(refusalsOf(c.verdicts), "; "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.verdicts, got, c.want)
		}
	}
}

// A declared comparison stands with its adjusted p, a refused one with why it
// has none.
func TestDeclared(t *testing.T) {
	p := 0.0312
	r := repeatedResult(t)
	r.Secondary = []lab.Secondary{
		{A: "single", B: "fallback", Planned: 2, Difference: measure.Compare("whole submitted.p95", known(100, 110, 120), known(130, 150, 140)), Adjusted: &p},
		{A: "single", B: "fallback", Planned: 2, Difference: measure.Compare("outage p99", []measure.Scalar{{Refused: "beyond"}}, known(1)), Reason: "no p-value to adjust"},
	}
	s, show := declared(r)
	if !show {
		t.Fatal("not shown")
	}
	want := [][]string{
		{"submitted.p95", "single, fallback", "110 ms", "140 ms", "+30 ms", "+5 to +55", "p = 0.0312", "difference"},
		{"outage.p99", "single, fallback", "—¹", "—¹", "—¹", "—¹", "—²", "refused"},
	}
	if diff := cmp.Diff(want, rowsOf(s.Table)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(s.Table.Caption, "2 comparisons declared, refused ones included") {
		t.Errorf("caption: %q", s.Table.Caption)
	}
}

// Expectations on repeats say that all repeats were judged; those on one run
// say nothing of repeats.
func TestExpectationsOverRepeats(t *testing.T) {
	for repeats, want := range map[int]string{1: "", 5: "every one of the 5 repeats"} {
		r := outageResult(t)
		if repeats > 1 {
			r.Repeats = make([]lab.Repeat, repeats)
		}
		c, err := readConfig(r)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, s := range assemble(r, c).Sections {
			if s.Title == "Expectations" {
				found = true
				if got := s.Table.Caption; (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%d repeats: caption %q", repeats, got)
				}
			}
		}
		if !found {
			t.Errorf("%d repeats: no expectations", repeats)
		}
	}
}
