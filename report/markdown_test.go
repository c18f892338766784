package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brunt/lab"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"retry-breaker", "retry-breaker"},               // plain names stay readable
		{"attempts_per_offered", "attempts_per_offered"}, // an underscore within a word means nothing
		{"_so_", `\_so\_`},                               // around one it does
		{"a|b", `a\|b`},                                  // would end a cell
		{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"}, // HTML
		{"&lt;", "&amp;lt;"}, // an entity is text too
		{"![x](http://example.com)", `!\[x\](http://example.com)`}, // neither image nor link
		{"`code` **bold**", "\\`code\\` \\*\\*bold\\*\\*"},
		{"# title", `\# title`}, // a heading, were it at the start of a line
		{"1. first", `1\. first`},
		{"1.5 times", "1.5 times"}, // no list
		{"- item", `\- item`},
		{"a\n\n## b", "a ## b"},      // one line, so no heading
		{`a\|b`, `a\\\|b`},           // a backslash does not undo ours
		{"a\x1b[31mb", `a \[31mb`},   // no control codes
		{"a\u202eb\u2028c", "a b c"}, // nothing that turns writing around
	} {
		if got := escape(c.in); got != c.want {
			t.Errorf("escape(%q): got %q, want %q", c.in, got, c.want)
		}
	}
}

// hostile is text that tries to be more than text.
var hostile = rapid.StringOf(rapid.SampledFrom([]rune("ab |\\`*_<>&[]()#!~-=+1.\n\r\t\x1b\x00\u202e\u2028—漢")))

// hostileResult puts hostile text wherever a result has text.
func hostileResult(t *rapid.T, r *lab.Result) {
	draw := func() string { return hostile.Draw(t, "text") }
	r.Study, r.Question, r.TiesReason = draw(), draw(), draw()
	r.Findings = append(r.Findings, draw())
	r.Ties = nil
	for i := range r.Compositions {
		r.Compositions[i].Name = draw()
		for j := range r.Compositions[i].Phases {
			r.Compositions[i].Phases[j].Name = draw()
		}
	}
	r.Expectations[2].Reason, r.Expectations[0].Measure = draw(), draw()
	var config map[string]any
	if err := json.Unmarshal(r.Config, &config); err != nil {
		t.Fatal(err)
	}
	config["notes"] = []string{draw()}
	config["compositions"] = map[string]any{draw(): []any{map[string]any{"call": draw()}}}
	var err error
	if r.Config, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
}

// Text from a study neither breaks a table nor brings markup into the report.
func TestMarkdownHoldsHostileText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := outageResult(t)
		hostileResult(rt, r)
		var b bytes.Buffer
		if err := Markdown(&b, r, testEnvironment()); err != nil {
			rt.Fatal(err)
		}
		cells, fences := 0, 0
		for line := range strings.Lines(b.String()) {
			line = strings.TrimRight(line, "\n")
			if strings.IndexFunc(line, unprintable) >= 0 || strings.ContainsAny(line, "<>") {
				rt.Fatalf("%q has a control character or HTML", line)
			}
			if strings.HasPrefix(line, "```") {
				fences++
			}
			if !strings.HasPrefix(line, "| ") {
				cells = 0
				continue
			}
			n := unescaped(line, '|')
			if cells != 0 && n != cells {
				rt.Fatalf("%q has %d bars where the table's head has %d", line, n, cells)
			}
			cells = n
		}
		if fences != 2 { // around the command
			rt.Fatalf("%d code fences, want 2", fences)
		}
	})
}

// unescaped counts a byte where no backslash takes its meaning.
func unescaped(s string, c byte) (n int) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case c:
			n++
		}
	}
	return n
}
