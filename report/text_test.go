package report

import (
	"bufio"
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

func textOf(t testing.TB, r *lab.Result, opt TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, testEnvironment(), opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Colour is never the only carrier of meaning: without it the text is the same.
func TestColourAddsNothing(t *testing.T) {
	for _, f := range fixtures {
		plain := textOf(t, f.make(t), TextOptions{})
		coloured := textOf(t, f.make(t), TextOptions{Color: true})
		if plain == coloured {
			t.Errorf("%s: no colour at all", f.name)
		}
		if got := colours.ReplaceAllString(coloured, ""); got != plain {
			t.Errorf("%s: the coloured text says something else:\n%s\nwant\n%s", f.name, got, plain)
		}
	}
}

// No line is wider than the terminal, ends in a space, or holds a code that
// came with the study.
func TestTextFitsAndIsClean(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := fixtures[rapid.IntRange(0, len(fixtures)-1).Draw(rt, "fixture")].make(t)
		width := rapid.IntRange(64, 160).Draw(rt, "width") // below, a table's keys and one column need more
		hostileNotes := hostile.Draw(rt, "finding")
		r.Findings = append(r.Findings, hostileNotes)
		if r.Valid {
			r.Compositions[0].Phases[0].Name = "a\x1b[2J\x07b"
		}
		for line := range strings.Lines(textOf(t, r, TextOptions{Width: width})) {
			line = strings.TrimRight(line, "\n")
			if w := displayed(line); w > width && len(strings.Fields(line)) > 2 {
				rt.Fatalf("%q takes %d columns of %d", line, w, width)
			}
			if strings.HasSuffix(line, " ") || strings.IndexFunc(line, unprintable) >= 0 {
				rt.Fatalf("%q ends in a space or has a control character", line)
			}
		}
	})
}

// What stands above the first section fits the narrowest terminal, whatever the
// facts are; and so does the name of each section.
func TestHeadingFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &document{Title: "outage", Question: "Why does the slow dependency take all of its callers with it?"}
		words := rapid.SliceOfN(rapid.StringMatching("[a-z]{1,20}( [a-z]{1,20}){0,12}"), 1, 6).Draw(t, "facts")
		for _, s := range words {
			d.Facts = append(d.Facts, fact{Text: s})
		}
		width := rapid.IntRange(leastWidth, 120).Draw(t, "width")
		var b bytes.Buffer
		to := &terminal{w: bufio.NewWriter(&b), width: width}
		to.heading(d)
		to.section(&section{Title: words[0]})
		to.w.Flush()
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimRight(line, "\n"); displayed(line) > width || strings.HasSuffix(line, " ") {
				t.Fatalf("%q takes %d columns of %d", line, displayed(line), width)
			}
		}
		shown := strings.NewReplacer("·", " ", "\n", " ").Replace(b.String())
		if got, want := strings.Join(strings.Fields(shown), " "), strings.Join(words, " "); !strings.Contains(got, want) {
			t.Fatalf("%q is not in %q", want, got)
		}
	})
	for _, f := range fixtures {
		head, _, _ := strings.Cut(textOf(t, f.make(t), TextOptions{Width: leastWidth}), "\n\n\n")
		for line := range strings.Lines(head) {
			if strings.HasPrefix(line, indent) { // tables may need more
				break
			}
			if displayed(strings.TrimRight(line, "\n")) > leastWidth {
				t.Errorf("%s: %q is too wide", f.name, line)
			}
		}
	}
}

// A fact that fits a line is not broken to fill the one before.
func TestFactsStayTogether(t *testing.T) {
	got := textOf(t, outageResult(t), TextOptions{Width: 60})
	if want := "\nno draw of chance, so no sampling error and no intervals\n"; !strings.Contains(got, want) {
		t.Errorf("no line %q in\n%s", want, got)
	}
}

// A run that counts although gates failed does not just call itself valid.
func TestValidity(t *testing.T) {
	failed, passed := lab.Gate{Applies: true}, lab.Gate{Applies: true, Passed: true}
	for _, c := range []struct {
		name  string
		valid bool
		gates []lab.Gate
		want  fact
	}{
		{"no gate", true, nil, fact{"valid", Good}},
		{"all passed", true, []lab.Gate{passed, passed}, fact{"valid", Good}},
		{"one that does not apply", true, []lab.Gate{passed, {}}, fact{"valid", Good}},
		{"one failed", true, []lab.Gate{passed, failed}, fact{"valid, but 1 gate failed (not enforced)", Bad}},
		{"two failed", true, []lab.Gate{failed, passed, failed}, fact{"valid, but 2 gates failed (not enforced)", Bad}},
		{"not valid", false, []lab.Gate{failed, {Applies: true, Enforced: true}}, fact{"NOT VALID", Bad}},
	} {
		r := outageResult(t)
		r.Valid, r.Gates = c.valid, c.gates
		if list := facts(r); !slices.Contains(list, c.want) {
			t.Errorf("%s: no %q in %v", c.name, c.want, list)
		}
	}
}

// A table that is split still has every column once, and its keys in each part.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &grid{table: &Table{Keys: rapid.IntRange(0, 3).Draw(t, "keys")}}
		g.widths = rapid.SliceOfN(rapid.IntRange(1, 30), g.table.Keys+1, 12).Draw(t, "widths")
		width := rapid.IntRange(10, 120).Draw(t, "width")
		next := g.table.Keys
		for _, piece := range g.split(width) {
			used := 0
			for i, c := range piece {
				used += g.widths[c] + columnGap
				want := i
				if i >= g.table.Keys {
					want = next
					next++
				}
				if c != want {
					t.Fatalf("column %d in piece %v, want %d", c, piece, want)
				}
			}
			if used-columnGap > width && len(piece) > g.table.Keys+1 {
				t.Fatalf("piece %v takes %d of %d columns", piece, used-columnGap, width)
			}
		}
		if next != len(g.widths) {
			t.Fatalf("%d of %d columns shown", next, len(g.widths))
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"one two three", 8, "one two|three"},
		{"one two three", 7, "one two|three"}, // exactly full
		{"incomprehensible it is", 5, "incomprehensible|it is"},
		{"it took 300 ms. Then", 14, "it took|300 ms. Then"}, // a number keeps its unit
		{"", 10, ""},
	} {
		if got := strings.Join(wrap(c.in, c.width), "|"); got != c.want {
			t.Errorf("wrap(%q, %d): got %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// An invalid run shows its gates, and no number of a composition even if the
// result has some.
func TestInvalidShowsNoNumbers(t *testing.T) {
	r := invalidResult(t)
	r.Compositions = outageResult(t).Compositions
	r.Ties = outageResult(t).Ties
	var md bytes.Buffer
	if err := Markdown(&md, r, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{textOf(t, r, TextOptions{}), md.String()} {
		for _, not := range []string{"8998", "2996", "3088", "What callers see", "WHAT CALLERS SEE", "Expectations", "doubles"} {
			if strings.Contains(s, not) {
				t.Errorf("an invalid run shows %q", not)
			}
		}
		for _, want := range []string{"send skew max", "71.25 ms", "not measured", "NOT VALID"} {
			if !strings.Contains(s, want) {
				t.Errorf("an invalid run does not show %q", want)
			}
		}
	}
	if tables, err := Tables(r); err != nil || tables != nil {
		t.Errorf("Tables of an invalid run: %v, %v", tables, err)
	}
}

// A percentile that falls on a censored request is a lower bound.
func TestCensoredPercentile(t *testing.T) {
	const horizon, refused = 30_000, -1
	for _, c := range []struct {
		name     string
		censored int64
		p95, p99 float64
		want     []string
	}{
		{"none censored: an outcome at the horizon is an outcome", 0, 5, horizon, []string{"5", "30,000"}},
		{"the last 10 of 1000 are: the rank of p99 is 990", 10, 5, horizon, []string{"5", "30,000"}},
		{"the last 11 are: 990 is one of them", 11, 5, refused, []string{"5", "> 30 s"}},
		{"half of them", 500, refused, refused, []string{"> 30 s", "> 30 s"}},
	} {
		r := outageResult(t)
		x := row{phase: "outage", offered: 1000, admitted: 1000, completed: 1000 - c.censored, censored: c.censored, attempts: 1000, p95: c.p95, p99: c.p99, success: 5}
		r.Compositions = []measure.Composition{composition("retry", measure.Latencies{}, x)}
		for _, p := range []**measure.Millis{&r.Compositions[0].Phases[0].Latency.Submitted.P95, &r.Compositions[0].Phases[0].Latency.Submitted.P99} {
			if **p < 0 {
				*p = nil
			}
		}
		tables, err := Tables(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := []string{tables[0].Rows[0][4].String(), tables[0].Rows[0][5].String()}; got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// No cell is blank, in any table of any fixture.
func TestNoBlankCell(t *testing.T) {
	for _, f := range fixtures {
		r := f.make(t)
		for i := range r.Compositions { // everything that can be absent is
			for j := range r.Compositions[i].Phases {
				p := &r.Compositions[i].Phases[j]
				p.Latency, p.SchedulerLag, p.AttemptsPerAdmitted, p.AttemptsPerOffered = measure.Latencies{}, measure.Tail{}, nil, nil
			}
			r.Compositions[i].Cleanup, r.Compositions[i].Recovery.CleanWindow = measure.Tail{}, nil
			r.Compositions[i].Whole.Latency = measure.Latencies{}
		}
		tables, err := Tables(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range append(tables, expectations(r), gates(r)) {
			for _, cells := range table.Rows {
				for c, cell := range cells {
					if strings.TrimSpace(cell.String()) == "" {
						t.Errorf("%s: %s: blank cell under %s", f.name, table.Title, table.Head[c])
					}
				}
			}
		}
	}
}

// The first rows of a long list of artefacts are shown, the rest counted.
func TestManyArtefacts(t *testing.T) {
	r := outageResult(t)
	for range 20 {
		r.Ties.Artefacts = append(r.Ties.Artefacts, lab.Artefact{Composition: "retry", Phase: "outage", Measure: "attempts", Value: 1, Least: 2, Most: 3})
	}
	if s := textOf(t, r, TextOptions{}); !strings.Contains(s, "and 11 more in report.md") {
		t.Errorf("23 artefacts, 12 shown, and no word of the other 11:\n%s", s)
	}
}

type failing struct{}

var errFull = errors.New("disk full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrors(t *testing.T) {
	r := outageResult(t)
	for name, err := range map[string]error{
		"Text":     Text(failing{}, r, nil, TextOptions{}),
		"Markdown": Markdown(failing{}, r, nil),
		"JSON":     JSON(failing{}, r),
	} {
		if !errors.Is(err, errFull) || !strings.Contains(err.Error(), "outage") {
			t.Errorf("%s: got %v, want the writer's error and the study's name", name, err)
		}
	}
}

func TestBadConfig(t *testing.T) {
	r := outageResult(t)
	r.Config = []byte(`{"horizon": "soon"}`)
	if err := Text(&bytes.Buffer{}, r, nil, TextOptions{}); err == nil || !strings.Contains(err.Error(), `"soon"`) {
		t.Errorf("got %v, want an error that names the value", err)
	}
}
