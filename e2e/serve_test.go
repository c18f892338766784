package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"brunt/lab"
)

// server is a brunt serve of the folder runs in a folder of its own.
type server struct {
	t                       *testing.T
	folder, address, origin string
}

// serving makes two runs, usual and patient, and serves them until the test ends.
func serving(t *testing.T) *server {
	t.Helper()
	path, err := brunt()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, folder: t.TempDir()}
	for _, one := range [][2]string{{"usual", "seed=1"}, {"patient", "compositions.*.retry.attempts=5"}} {
		cmd := exec.Command(path, "run", "outage", "--out", filepath.Join("runs", one[0]), "--set", one[1])
		cmd.Dir = s.folder
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("brunt run: %v\n%s", err, out)
		}
	}
	rows := t.TempDir()
	cmd := exec.Command(path, "serve")
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), "TMPDIR="+rows)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		var status *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &status) || status.ExitCode() != 130 {
			t.Errorf("after an interrupt brunt serve ends with %v\n%s", err, stderr.Bytes())
		}
		if left, _ := os.ReadDir(rows); len(left) > 0 {
			t.Errorf("it leaves %v behind", left)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v", err)
	}
	s.address = strings.TrimSpace(line)
	s.origin, _, _ = strings.Cut(s.address, "/?")
	return s
}

// visit opens the printed address in a tab of its own, and from there a path.
func (s *server) visit(v view, path string) *tab {
	s.t.Helper()
	within, forget := context.WithTimeout(browser, 20*time.Second)
	s.t.Cleanup(forget)
	p := s.tab(within, v)
	p.check(chromedp.Do(p.ctx, chromedp.Navigate(s.address)))
	if path != "/" {
		p.check(chromedp.Do(p.ctx, chromedp.Navigate(s.origin+path)))
	}
	js[any](p, readScript)
	return p
}

// tab is a new tab, or what is named, of which all that it does is heard.
func (s *server) tab(parent context.Context, v view, o ...chromedp.ContextOption) *tab {
	s.t.Helper()
	p := &tab{t: s.t}
	ctx, leave := chromedp.NewContext(parent, append(o, chromedp.WithListener(p.hear))...)
	s.t.Cleanup(leave)
	p.ctx = ctx
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	if v.width > 0 {
		p.look(v)
	}
	return p
}

// frame is the page in a frame whose address begins so. It has an origin of its
// own, and so the browser takes it for a page of its own.
func (s *server) frame(p *tab, address string) *tab {
	s.t.Helper()
	all, err := chromedp.Targets(p.ctx)
	p.check(err)
	for _, one := range all {
		if one.Type == "iframe" && strings.HasPrefix(one.URL, s.origin+address) {
			f := s.tab(p.ctx, view{}, chromedp.WithTargetID(one.TargetID), chromedp.WithDetachOnCancel())
			js[any](f, readScript)
			return f
		}
	}
	s.t.Fatalf("no frame shows %s", address)
	return nil
}

// quiet fails the test if pages said anything, or asked anybody else.
func (s *server) quiet(pages ...*tab) {
	s.t.Helper()
	for _, p := range pages {
		if n := js[int](p, `performance.getEntriesByType("resource").filter((e) => !e.name.startsWith(`+quoted(s.origin+"/")+`)).length`); n != 0 {
			s.t.Errorf("the page has asked somebody else for %d things", n)
		}
		p.mu.Lock()
		for _, said := range p.said {
			s.t.Errorf("the page says: %s", said)
		}
		for _, asked := range p.asked {
			if !strings.HasPrefix(asked, s.origin+"/") {
				s.t.Errorf("the page asked for %s", asked)
			}
		}
		p.mu.Unlock()
	}
}

// sandboxed fails the test if a report could do more than show itself.
func (s *server) sandboxed(p *tab) {
	s.t.Helper()
	if got := js[string](p, `self.origin + " " + (() => { try { return document.cookie } catch (e) { return e.name } })()`); got != "null SecurityError" {
		s.t.Errorf("the origin and the cookies of a report are %q", got)
	}
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// until waits until something is so in the page. The page's policy lets nothing be
// evaluated by its own script: the browser's protocol does it.
func (p *tab) until(what string) {
	p.t.Helper()
	found, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](`(async () => { for (const end = performance.now() + 10000; performance.now() < end;) {
		if (`+what+`) return true; await new Promise((on) => setTimeout(on, 10)) } return false })()`, chromedp.EvalAwaitPromise))
	if err != nil || !found {
		p.t.Fatalf("it does not come to %s: error %v; the page says %q", what, err, js[string](p, `document.querySelector("main").innerText.slice(0, 600)`))
	}
}

// follow presses enter on an element that leads to another page.
func (p *tab) follow(element string) {
	p.t.Helper()
	js[any](p, element+".focus(); null")
	_, err := chromedp.RunResponse(p.ctx, chromedp.KeyEvent(kb.Enter))
	p.check(err)
	js[any](p, readScript)
}

// tabTo presses tab until something has the focus.
func (p *tab) tabTo(element string) {
	p.t.Helper()
	for range 80 {
		if js[bool](p, "document.activeElement === "+element) {
			return
		}
		p.keys(kb.Tab)
	}
	p.t.Fatalf("tab does not lead to %s", element)
}

// tried waits for a run other than the one before, and until its report is shown.
// It returns the address of that.
func (p *tab) tried(before string) string {
	p.t.Helper()
	p.until(`!document.querySelector("form.busy") && !alone.hidden && alone.getAttribute("href") !== ` + quoted(before) +
		` && reports.children.length === 1 && reports.querySelector("iframe:not(.coming)")?.src.includes(alone.getAttribute("href"))`)
	return js[string](p, `alone.getAttribute("href")`)
}

// stack is a row of the headline table, by its name.
func (p *tab) stack(name string) []string {
	p.t.Helper()
	return js[[]string](p, `[...numbers.querySelectorAll("tbody tr")].filter((r) => r.cells[0].textContent === `+quoted(name)+`).flatMap((r) => [...r.cells].slice(1).map((c) => c.textContent))`)
}

// as runs the command that the page shows, in a shell, and returns its result.
func (s *server) as(p *tab, out string) (*lab.Result, []byte) {
	s.t.Helper()
	line := js[string](p, `command.textContent`)
	cmd := exec.Command("sh", "-c", line+" --out "+out)
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), "PATH="+work+string(os.PathListSeparator)+os.Getenv("PATH"))
	if said, err := cmd.CombinedOutput(); err != nil {
		s.t.Logf("%s: %v\n%s", line, err, said) // expectations need not hold
	}
	text, err := os.ReadFile(filepath.Join(s.folder, out, "result.json"))
	p.check(err)
	r := &lab.Result{}
	p.check(json.Unmarshal(text, r))
	return r, text
}

// same fails the test unless the headline numbers and the report of the page are
// those of a result.
func (s *server) same(p, report *tab, r *lab.Result) {
	s.t.Helper()
	for _, name := range []string{"retry", "limit-hedge-breaker"} {
		c := composition(s.t, r, name)
		success := fmt.Sprintf("%.2f %%", 100*float64(c.Whole.Completed)/float64(c.Whole.Offered))
		attempts := fmt.Sprintf("%.3f", *c.Whole.AttemptsPerOffered)
		if row := p.stack(name); len(row) != 4 || row[0] != success || row[2] != attempts {
			s.t.Errorf("of %s the page has %q, the command makes %s and %s", name, row, success, attempts)
		}
	}
	if n := js[int](report, `document.querySelectorAll("svg.brunt-chart").length`); n < 9 {
		s.t.Errorf("the report has %d charts", n)
	}
	got := js[string](report, `[...[...document.querySelectorAll(".pair")].find((p) => p.dataset.a === "retry" && p.dataset.b === "retry-breaker").querySelectorAll("tbody tr")].find((r) => r.cells[0].textContent === "attempts/offered").cells[1].textContent`)
	if want := *composition(s.t, r, "retry").Whole.AttemptsPerOffered; got != fmt.Sprintf("%.2f", want) {
		s.t.Errorf("the report has %s attempts per request, the command makes %v", got, want)
	}
	line := js[string](p, `command.textContent`)
	if !js[bool](report, `document.body.textContent.includes(`+quoted(line)+`)`) {
		s.t.Errorf("the report does not say that %s makes it", line)
	}
}

// The local page of brunt serve, in one server and in this order.
func TestServe(t *testing.T) {
	s := serving(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *server)
	}{
		{"runs", serveRuns}, {"looks", serveLooks}, {"no empty frame", serveNoEmptyFrame}, {"try", serveTry},
	} {
		t.Run(part.name, func(t *testing.T) {
			of := *s
			of.t = t
			part.test(t, &of)
		})
	}
}

// The list sorts, a run's name opens its report, and any two are compared.
func serveRuns(t *testing.T, s *server) {
	p := s.visit(wide, "/")
	if got := js[string](p, "location.href"); got != s.origin+"/" {
		t.Errorf("the token stays in the address: %s", got)
	}
	names := func() string {
		return js[string](p, `[...document.querySelector("table.sortable").tBodies[0].rows].map((r) => r.cells[0].textContent).join(" ")`)
	}
	head := func(n int) string {
		return fmt.Sprintf(`document.querySelector("table.sortable").tHead.rows[0].cells[%d]`, n)
	}
	for _, c := range []struct {
		column int
		press  string // "" clicks
		want   string
	}{
		{0, "", "patient usual"}, // by name
		{0, "", "usual patient"}, // and down
		{7, "", "usual patient"}, // by attempts per request
		{7, " ", "patient usual"},
	} {
		if c.press == "" {
			p.click(head(c.column) + `.querySelector("button")`)
		} else {
			js[any](p, head(c.column)+`.querySelector("button").focus(); null`)
			p.keys(c.press)
		}
		if got := names(); got != c.want {
			t.Errorf("sorted by column %d: %s, want %s", c.column, got, c.want)
		}
	}
	p.follow(`document.querySelector("tbody a")`)
	s.sandboxed(p)
	if n := js[int](p, "reader.charts().length"); n < 9 {
		t.Errorf("the report of a run has %d charts", n)
	}
	p.check(chromedp.Do(p.ctx, chromedp.Navigate(s.origin+"/")))
	p.click(`document.querySelector("input[name=a][value=usual]")`)
	p.click(`document.querySelector("input[name=b][value=patient]")`)
	p.follow(button("document", "Compare A with B"))
	if got := js[string](p, `document.querySelector("pre").textContent`); got != "brunt compare runs/usual runs/patient" {
		t.Errorf("the comparison is that of %s", got)
	}
	f := s.frame(p, "/difference?")
	s.sandboxed(f)
	usual, patient := s.result("usual"), s.result("patient")
	want := fmt.Sprintf("%.2f %.2f", *composition(t, usual, "retry").Whole.AttemptsPerOffered, *composition(t, patient, "retry").Whole.AttemptsPerOffered)
	if got := js[string](f, `(() => { const r = [...document.querySelectorAll("tbody tr")].find((r) => r.cells[0].textContent === "attempts/offered"); return r.cells[1].textContent + " " + r.cells[2].textContent })()`); got != want {
		t.Errorf("the comparison has %s attempts per request, the results %s", got, want)
	}
	s.quiet(p, f)
}

// result reads the result of a run in the folder.
func (s *server) result(run string) *lab.Result {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, "runs", run, "result.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	r := &lab.Result{}
	if err := json.Unmarshal(text, r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// By keys alone a study is opened, changed, run and kept. What the page shows is
// what the command that it names makes, number by number, and what is kept is that
// byte for byte. The reader of the report stays where he was.
func serveTry(t *testing.T, s *server) {
	p := s.visit(wide, "/")
	p.tabTo(`[...document.querySelectorAll(".studies a")].find((a) => a.textContent === "outage")`)
	_, err := chromedp.RunResponse(p.ctx, chromedp.KeyEvent(kb.Enter))
	p.check(err)
	first := p.tried("")
	if got := js[string](p, `command.textContent`); got != "brunt run outage" {
		t.Errorf("at first the command is %s", got)
	}
	f := s.frame(p, first)
	s.sandboxed(f)
	usual := s.result("usual")
	s.same(p, f, usual)
	js[any](p, `window.told = 0; addEventListener("message", () => told++); null`)
	js[any](f, `scrollTo({top: document.getElementById("timelines").getBoundingClientRect().top + scrollY + 120, behavior: "instant"}); null`)
	place := `Math.round(-document.getElementById("timelines").getBoundingClientRect().top)`
	if got := js[int](f, place); got != 120 {
		t.Errorf("the report stands %d pixels below its heading", got)
	}
	p.until(`told > 0`)
	s.quiet(f)

	const knob = `document.querySelector('[data-path="compositions.*.retry.attempts"]')`
	p.tabTo(knob + `.querySelector("input[type=range]")`)
	p.keys(kb.ArrowRight)
	second := p.tried(first)
	if got := js[string](p, `command.textContent`); got != "brunt run outage --set 'compositions.*.retry.attempts=4'" {
		t.Errorf("after a step of the slider the command is %s", got)
	}
	if got := js[string](p, knob+`.querySelector("input[type=text]").value + " " + `+knob+`.querySelector("input").getAttribute("aria-valuetext") + " " + `+knob+`.className`); got != "4 4 knob changed" {
		t.Errorf("the field beside the slider has %s", got)
	}
	p.tabTo(`document.querySelector("button[type=submit]")`)
	p.keys(kb.Enter)
	third := p.tried(second)
	f = s.frame(p, third)
	made, text := s.as(p, "again")
	s.same(p, f, made)
	if a, b := *composition(t, usual, "retry").Whole.AttemptsPerOffered, *composition(t, made, "retry").Whole.AttemptsPerOffered; a == b {
		t.Errorf("another value makes no difference: %v", a)
	}
	if got := js[int](f, place); got < 115 || got > 125 {
		t.Errorf("after a run the report stands %d pixels below the heading where it was at 120", got)
	}
	s.quiet(f)

	p.tabTo(`document.getElementById("keep")`)
	p.keys(" ")
	p.until(`document.getElementById("status").textContent.startsWith("Kept as ")`)
	run := strings.TrimSuffix(strings.TrimPrefix(js[string](p, `document.getElementById("status").textContent`), "Kept as "), ".")
	if kept, err := os.ReadFile(filepath.Join(s.folder, "runs", run, "result.json")); err != nil || !bytes.Equal(kept, text) {
		t.Errorf("what is kept is not what the command makes, error %v", err)
	}

	// A value by hand, which is refused; then as it was.
	p.click(knob + `.querySelector("input[type=text]")`)
	js[any](p, `document.activeElement.select(); null`)
	p.keys("many\r")
	p.until(`document.getElementById("status").className === "bad"`)
	if got := js[string](p, `document.getElementById("status").textContent`); !strings.Contains(got, "compositions.*.retry.attempts") {
		t.Errorf("of a value that is none the page says %q", got)
	}
	if !js[bool](p, "keep.disabled") {
		t.Error("what was refused can be kept")
	}
	p.click("reset")
	p.tried(third)
	if got := js[string](p, `command.textContent + " " + `+knob+`.querySelector("input[type=text]").value + " " + document.querySelectorAll(".changed").length`); got != "brunt run outage 3 0" {
		t.Errorf("as the study has it: %s", got)
	}
	p.follow(`document.querySelector("nav a")`)
	if got := js[[]string](p, `[...document.querySelectorAll("tbody th a")].map((a) => a.textContent)`); !slices.Equal(got, []string{run, "patient", "usual"}) {
		t.Errorf("the list has %q, kept was %s", got, run)
	}
	// The browser tells of answers that are refusals.
	p.mu.Lock()
	p.said = slices.DeleteFunc(p.said, func(s string) bool { return strings.Contains(s, "status of 422") })
	p.mu.Unlock()
	s.quiet(p)
}

// The report that is shown stays until a new one is there, also when that is
// overtaken on its way: nobody looks at an empty frame.
func serveNoEmptyFrame(t *testing.T, s *server) {
	p := s.visit(wide, "/try?study=outage")
	first := p.tried("")
	held := make(chan fetch.RequestID, 8)
	p.check(chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			held <- e.RequestID
		}
	}))
	call(p, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: s.origin + "/trial*"}}})
	shown := func() string {
		return js[string](p, `[...reports.children].filter((f) => getComputedStyle(f).visibility === "visible").map((f) => f.src.includes(`+quoted(first)+`) ? "first" : "another").join(" ")`)
	}
	for range 2 {
		p.click(`document.querySelector("button[type=submit]")`)
		select {
		case <-held:
		case <-p.ctx.Done():
			t.Fatal("no report is asked for")
		}
		if got := shown(); got != "first" {
			t.Errorf("while a report is on its way, what is seen is %q", got)
		}
	}
	if n := js[int](p, "reports.children.length"); n != 2 {
		t.Errorf("%d frames, want the one that is shown and the last one", n)
	}
	call(p, fetch.Disable, cdp.Empty{})
	p.tried(first)
	if got := shown(); got != "another" {
		t.Errorf("at last, what is seen is %q", got)
	}
}

// On a phone and on a screen, in light and in dark, nothing is cut, all text can be
// read, all controls have names and can be hit, and frames follow.
func serveLooks(t *testing.T, s *server) {
	pages := [][2]string{{"list", "/"}, {"comparison", "/compare?a=usual&b=patient"}, {"try", "/try?study=outage"}, {"refusal", "/report?run=none"}}
	for _, v := range []view{wide, {width: 390, height: 844, scheme: "dark"}} {
		p := s.visit(v, "/")
		for _, one := range pages {
			name, path := one[0], one[1]
			if v == wide && name != "list" && name != "try" {
				continue // the others are made of less
			}
			p.check(chromedp.Do(p.ctx, chromedp.Navigate(s.origin+path)))
			js[any](p, readScript)
			if name == "try" {
				id := p.tried("")
				paper := js[[4]float64](s.frame(p, id), "reader.colour(getComputedStyle(document.body).backgroundColor)")
				if dark := luminance(paper) < 0.1; dark != (v.scheme == "dark") {
					t.Errorf("in %s the report's paper is %v", v.scheme, paper)
				}
			}
			if got := js[int64](p, "document.documentElement.scrollWidth"); got > v.width {
				t.Errorf("the %s at %d is %d wide", name, v.width, got)
			}
			if top := js[float64](p, `document.querySelector("header").firstElementChild.getBoundingClientRect().top`); top < 12 {
				t.Errorf("the %s at %d begins %v pixels below the edge", name, v.width, top)
			}
			list := js[[]written](p, "reader.texts()")
			for i := range list {
				if c := list[i].contrast(); c < 4.5 {
					t.Errorf("the %s in %s: %q in %s has a contrast of %.2f", name, v.scheme, list[i].Text, list[i].Where, c)
				}
			}
			if paper := js[[4]float64](p, "reader.colour(getComputedStyle(document.body).backgroundColor)"); len(list) < 2 || luminance(paper) < 0.1 != (v.scheme == "dark") {
				t.Errorf("the %s in %s: %d kinds of text on %v", name, v.scheme, len(list), paper)
			}
			for _, what := range append(js[[]string](p, "reader.nameless()"), js[[]string](p, "reader.outline()")...) {
				t.Errorf("the %s: %s", name, what)
			}
			for _, what := range js[[]string](p, `[...document.querySelectorAll("p button, .buttons a, .knob input")].map((e) => ({e, b: e.getBoundingClientRect()})).filter(({b}) => b.width > 0 && b.height < 16).map(({e}) => e.outerHTML.slice(0, 100))`) {
				t.Errorf("the %s at %d: hard to hit: %s", name, v.width, what)
			}
		}
		p.mu.Lock()
		p.said = slices.DeleteFunc(p.said, func(s string) bool { return strings.Contains(s, "status of 404") }) // the refusal
		p.mu.Unlock()
		s.quiet(p)
	}
	// Without the token there is nothing to see.
	p := s.visit(wide, "/")
	call(p, network.ClearBrowserCookies, cdp.Empty{})
	p.check(chromedp.Do(p.ctx, chromedp.Navigate(s.origin+"/?"+url.Values{"token": {"x"}}.Encode())))
	if got := js[string](p, `document.querySelector("h1").textContent + document.querySelectorAll("table").length`); got != "Not without the token0" {
		t.Errorf("with another token the page is %q", got)
	}
}
