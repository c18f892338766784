package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/lab"
	"brunt/measure"
)

func csvOf(t testing.TB, r *lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := CSV(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// numberLine is one line of the table.
type numberLine struct{ value, unit, low, high, reason, without string }

// linesOf reads the table back, by seed, composition, phase and measure.
func linesOf(t testing.TB, text string) map[string]numberLine {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(csvHead, rows[0]); diff != "" {
		t.Fatalf("the head: %s", diff)
	}
	lines := map[string]numberLine{}
	for _, row := range rows[1:] {
		key := strings.Join(row[:4], " ")
		if _, twice := lines[key]; twice {
			t.Errorf("%s stands there twice", key)
		}
		lines[key] = numberLine{row[4], row[5], row[6], row[7], row[8], row[9]}
	}
	return lines
}

func TestGoldenCSV(t *testing.T) {
	r := pageStudy(t)
	r.Compositions = r.Compositions[:1]
	golden(t, "page.csv", []byte(csvOf(t, r)))
	golden(t, "invalid.csv", []byte(csvOf(t, invalidResult(t))))
}

// measureOf is what the table calls a number of the JSON, by its path; low and
// high are of the number before the space.
func measureOf(path string) string {
	for _, r := range [][2]string{
		{"from_ms", "from"}, {"to_ms", "to"}, {"causes.", "errored."}, {"attempts_per_offered", "attempts/offered"}, {"attempts_per_admitted", "attempts/admitted"},
		{"latency_ms.", ""}, {"scheduler_lag_ms.", "lag."}, {"served_by.", "served."}, {"dependency_calls.", "calls."},
	} {
		if rest, ok := strings.CutPrefix(path, r[0]); ok {
			return r[1] + rest
		}
	}
	return path
}

// Every number of the phases and the whole run stands there as in result.json, and
// what is null there has no value and a reason.
func TestCSVHasEveryNumberOfTheJSON(t *testing.T) {
	r := pageStudy(t)
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Seed         json.Number
		Compositions []struct {
			Name   string
			Phases []map[string]any
			Whole  map[string]any
		}
	}
	d := json.NewDecoder(&b)
	d.UseNumber()
	if err := d.Decode(&stored); err != nil {
		t.Fatal(err)
	}
	lines := linesOf(t, csvOf(t, r))
	numbers, refusals := 0, 0
	for _, c := range stored.Compositions {
		for _, phase := range append(c.Phases, c.Whole) {
			about := stored.Seed.String() + " " + c.Name + " " + phase["name"].(string) + " "
			var walk func(path string, v any)
			walk = func(path string, v any) {
				switch v := v.(type) {
				case map[string]any:
					for name, member := range v {
						if name == "reason" || strings.HasSuffix(name, "_reason") || name == "name" {
							continue
						}
						walk(strings.TrimPrefix(path+"."+name, "."), member)
					}
				case []any: // the quantiles
					for _, of := range v {
						q := of.(map[string]any)
						share, err := q["q"].(json.Number).Float64()
						if err != nil || path != "incidence.quantiles" {
							t.Fatalf("a list at %s: %v", path, err)
						}
						name := "p" + precise(100*share)
						line := lines[about+name]
						for _, end := range [][2]string{{"lower_ms", line.low}, {"upper_ms", line.high}} {
							want := ""
							if n, ok := q[end[0]].(json.Number); ok {
								numbers++
								want = n.String()
							} else if line.without == "" {
								t.Errorf("%s%s has no %s and does not say why", about, name, end[0])
							}
							if end[1] != want {
								t.Errorf("%s%s: %s is %q, not %q", about, name, end[0], end[1], want)
							}
						}
						walk(name, q["ms"])
					}
				case json.Number, nil:
					line, there := lines[about+measureOf(path)]
					want := ""
					if n, ok := v.(json.Number); ok {
						want = n.String()
						numbers++
					} else if refusals++; line.reason == "" {
						t.Errorf("%s%s is refused without a reason", about, path)
					}
					if !there || line.value != want {
						t.Errorf("%s%s: %+v, not %q", about, path, line, want)
					}
				}
			}
			walk("", phase)
		}
	}
	if numbers < 400 || refusals < 4 {
		t.Errorf("%d numbers and %d refusals were looked at", numbers, refusals)
	}
}

// Measures have the names that expectations and rules know, and the same values.
func TestCSVSpeaksAsExpectationsDo(t *testing.T) {
	r := pageStudy(t)
	r.Compositions[0].Guest = &measure.Guest{Late: 2, Unserved: 3, Unheard: 4, CutOff: 5}
	if n := strings.Count(csvOf(t, r), ",guest."); n != 5 {
		t.Errorf("%d numbers of a client that is not brunt's, not 5", n)
	}
	unknown := map[string]bool{}
	for key, line := range linesOf(t, csvOf(t, r)) {
		words := strings.Fields(key)
		for i := range r.Compositions {
			c := &r.Compositions[i]
			if c.Name != words[1] {
				continue
			}
			var phase *measure.Phase
			for k := range c.Phases {
				if c.Phases[k].Name == words[2] {
					phase = &c.Phases[k]
				}
			}
			n, err := lab.Find(c, phase, words[3])
			if err != nil {
				unknown[words[3]] = true
				continue
			}
			v, err := strconv.ParseFloat(line.value, 64)
			if known := err == nil; known != (n.Refusal == "") || known && v != n.Value || n.Unit != line.unit {
				t.Errorf("%s: %+v, and an expectation sees %+v", key, line, n)
			}
		}
	}
	want := map[string]bool{"from": true, "to": true, "good": true, "incidence.final": true, "incidence.ceiling": true, "incidence.censored_before_horizon": true}
	if diff := cmp.Diff(want, unknown); diff != "" {
		t.Errorf("names that expectations do not know: %s", diff)
	}
}

// Each repeat has its lines.
func TestCSVOfRepeats(t *testing.T) {
	r := repeatedResult(t)
	lines := linesOf(t, csvOf(t, r))
	for _, repeat := range r.Repeats {
		for i := range repeat.Compositions {
			c := &repeat.Compositions[i]
			key := strconv.FormatInt(repeat.Seed, 10) + " " + c.Name + " whole completed"
			if got := lines[key].value; got != strconv.FormatInt(c.Whole.Completed, 10) {
				t.Errorf("%s: %q, not %d", key, got, c.Whole.Completed)
			}
		}
	}
	if len(r.Repeats) < 2 {
		t.Error("the result does not repeat")
	}
}

func TestAsText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"retry-breaker", "retry-breaker"}, // a sign within a name is none
		{"=1+1", "'=1+1"},                  // the four that OWASP names
		{"+1", "'+1"},                      //
		{"-1", "'-1"},                      //
		{"@SUM(A1)", "'@SUM(A1)"},          //
		{"\t=1", "'=1"},                    // and the two that are control codes
		{"\r=1", "'=1"},                    //
		{"\uff1d1", "'\uff1d1"},            // in full width
		{"  =1", "'  =1"},                  // behind spaces that a spreadsheet may drop
		{`"=1`, `'"=1`},                    // behind a quote
		{"x;=1;y", "x;'=1;y"},              // where cells end at semicolons
		{"a, =b", "a, =b"},                 // quoted, so in the middle of a cell
		{"a\nb", "a b"},                    // one line
		{"'", "'"},                         //
		{"\x1b\x00", ""},                   //
		{"no request; see -x", "no request; see -x"}, // only at a beginning
	} {
		if got := asText(c.in); got != c.want {
			t.Errorf("asText(%q): got %q, want %q", c.in, got, c.want)
		}
	}
}

// Whatever a text is, the table keeps its shape, and no cell of it is calculated,
// at whichever character a spreadsheet ends its cells.
func TestCSVHoldsNastyText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := outageResult(t)
		r.Compositions = r.Compositions[:1]
		before := strings.Count(csvOf(t, r), "\r\n")
		nastyResult(rt, r)
		var b bytes.Buffer
		if err := CSV(&b, r); err != nil {
			rt.Fatal(err)
		}
		text := b.String()
		if strings.Count(text, "\n") != strings.Count(text, "\r\n") || strings.Count(text, "\r") != strings.Count(text, "\n") {
			rt.Fatal("a line does not end with CR LF")
		}
		if lines := strings.Count(text, "\n"); lines < before {
			rt.Fatalf("%d lines, where there were %d", lines, before)
		}
		for _, separator := range ",;" {
			d := csv.NewReader(strings.NewReader(text))
			d.Comma, d.LazyQuotes, d.FieldsPerRecord = separator, separator == ';', len(csvHead)
			if separator == ';' {
				d.FieldsPerRecord = -1
			}
			rows, err := d.ReadAll()
			if err != nil {
				rt.Fatal(err)
			}
			for _, row := range rows {
				for _, cell := range row {
					if cell = strings.TrimLeft(cell, ` "`); cell != "" && strings.ContainsAny(string([]rune(cell)[:1]), formula) {
						rt.Fatalf("%q would be calculated, in %q", cell, row)
					}
				}
			}
		}
	})
}

func TestCSVWriteError(t *testing.T) {
	if err := CSV(failing{}, outageResult(t)); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}
