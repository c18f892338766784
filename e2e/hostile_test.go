package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"brunt/lab"
	"brunt/measure"
	"brunt/record"
	"brunt/report"
)

// attack is a text that would run, or break what is around it, were it markup.
const attack = `</title></style></script><img src=x onerror=alert(1)><script>alert(2)</script>"'><svg onload=alert(3)>&lt;b&gt;`

// hostile is a run whose every name is an attack. A study may not have such names, but
// a result is a file that anybody can write, and targets, causes and reasons come from
// elsewhere.
func hostile(t *testing.T) *run {
	t.Helper()
	base := runOf(t, "provider-failure", "--set", "phases.*.for=4s")
	text, err := os.ReadFile(filepath.Join(base.folder, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	bad := func(suffix string) []byte {
		quoted, _ := json.Marshal(attack + suffix)
		return quoted
	}
	names := []string{base.result.Study, base.result.Question, "primary", "backup"}
	for i := range base.result.Compositions {
		names = append(names, base.result.Compositions[i].Name)
	}
	names = append(names, base.result.Phases()...)
	for i, name := range names {
		quoted, _ := json.Marshal(name)
		suffix := ""
		if i > 1 {
			suffix = " " + string(rune('a'+i)) // they must differ
		}
		text = bytes.ReplaceAll(text, quoted, bad(suffix))
	}
	text = bytes.ReplaceAll(text, []byte(`"reason": "`), []byte(`"reason": "<img src=x onerror=alert(8)>`))
	r := &run{folder: t.TempDir(), result: &lab.Result{}}
	if err := json.Unmarshal(text, r.result); err != nil {
		t.Fatal(err)
	}
	r.result.Findings = append(r.result.Findings, attack)
	for i := range r.result.Compositions {
		c := &r.result.Compositions[i]
		near := &measure.Closeup{Name: c.Name, Dependencies: []string{attack, attack}, Step: c.Timeline.Step,
			Columns:  []measure.Column{{P50: 1e6, P95: 2e6, Completed: 3, Bins: []measure.Bin{{From: 1e6, To: 2e6, Count: 3}}}},
			Breakers: []measure.BreakerShare{{Stage: attack, Callers: 2, Open: []float64{1, 0.5}, HalfOpen: []float64{0, 0.5}}},
		}
		for _, ph := range c.Phases {
			near.Curves = append(near.Curves, measure.CurveShape{Phase: ph.Name, Final: 1, Ceiling: 1, Points: []measure.ShapePoint{{At: 1e6, Share: 1}}})
		}
		q := record.Request{Index: int64(i), Outcome: record.Errored, Cause: record.Failure, End: time.Second, Attempts: 1}
		near.Traced = []measure.Traced{{Request: q, Attempts: []record.Attempt{{Request: int64(i), End: time.Second, CleanupEnd: time.Second, Cause: record.Failure, Parent: -1}}}}
		r.result.Closeups = append(r.result.Closeups, near)
	}
	var b bytes.Buffer
	if err := report.HTML(&b, r.result, nil); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("onerror=alert")); n < 100 {
		t.Fatalf("the attack is in the page %d times", n)
	}
	if err := os.WriteFile(filepath.Join(r.folder, "report.html"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

// Text that comes from elsewhere is text in the page, wherever it stands and whatever
// one does with it: nothing runs, no element is there that brunt did not write, and it
// reads as it was written.
func TestInjection(t *testing.T) {
	p := open(t, hostile(t).folder, wide)
	js[any](p, `for (const d of document.querySelectorAll("details")) d.open = true; for (const b of document.querySelectorAll("button")) b.click();
		for (const s of document.querySelectorAll("select")) for (const o of s.options) { s.value = o.value; s.dispatchEvent(new Event("change")); }
		for (const s of document.querySelectorAll("figure[data-step] svg[data-plot]")) { s.focus(); for (const key of ["ArrowRight", "+", "ArrowRight"]) s.dispatchEvent(new KeyboardEvent("keydown", {key})); }
		document.querySelector(".find input").value = "0"; document.querySelector(".find button").click(); null`)
	known := []string{"html", "head", "meta", "title", "style", "body", "script", "a", "header", "main", "footer", "nav", "div", "h1", "h2", "h3", "h4", "p", "ul", "li", "pre", "article",
		"dl", "dt", "dd", "b", "small", "figure", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "svg", "desc", "g", "path", "rect", "circle", "text",
		"button", "span", "label", "input", "select", "option"}
	for _, name := range js[[]string](p, `[...new Set([...document.querySelectorAll("*")].map((e) => e.tagName.toLowerCase()))]`) {
		if !slices.Contains(known, name) {
			t.Errorf("a <%s> in the page", name)
		}
	}
	if n := js[int](p, `document.querySelectorAll("script, img, [onerror], [onload], [onmouseover]").length`); n != 1 {
		t.Errorf("%d scripts, images and handlers, want the page's own script alone", n)
	}
	for _, what := range []string{"h1", ".question", "figure svg", ".pair", ".trace"} {
		got := js[string](p, `(() => { const e = document.querySelector("`+what+`"); return e.getAttribute("aria-label") || e.dataset.a || e.dataset.of || e.textContent })()`)
		if !strings.HasPrefix(got, attack) {
			t.Errorf("%s reads %q", what, got)
		}
	}
	if got := js[string](p, "document.title"); !strings.HasPrefix(got, attack) {
		t.Errorf("the title reads %q", got)
	}
	for _, what := range js[[]string](p, "reader.nameless()") {
		t.Errorf("no name: %s", what)
	}
	p.quiet()
}

// A test that hears nothing would tell nothing: of a page with what the policy forbids
// the browser does complain.
func TestTheBrowserComplains(t *testing.T) {
	folder := t.TempDir()
	page, err := os.ReadFile(filepath.Join(runOf(t, "outage").folder, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	page = bytes.Replace(page, []byte("</h1>"), []byte(`<img src="x.png" onerror="alert(1)"><b style="color:red">x</b><script>alert(2)</script></h1>`), 1)
	if err := os.WriteFile(filepath.Join(folder, "report.html"), page, 0o644); err != nil {
		t.Fatal(err)
	}
	p := open(t, folder, wide)
	p.mu.Lock()
	defer p.mu.Unlock()
	if said := strings.Join(p.said, "\n"); strings.Count(said, "Content Security Policy") < 3 || strings.Contains(said, "dialog") {
		t.Errorf("the browser says %q", p.said)
	}
}
