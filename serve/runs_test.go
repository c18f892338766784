package serve

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/record/spool"
	"brunt/sweep"
)

// edit changes a field of a JSON file.
func edit(t *testing.T, file string, change func(map[string]any)) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	change(all)
	if data, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	write(t, file, string(data))
}

// What the list says of each kind of folder, the last run first.
func TestList(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	day := 10
	run := func(name string, change func(map[string]any)) {
		dir := filepath.Join(folder, name)
		aRunIn(t, dir)
		day--
		edit(t, filepath.Join(dir, lab.EnvironmentFile), func(e map[string]any) { e["started"] = fmt.Sprintf("2026-03-0%dT12:00:00Z", day) })
		if change != nil {
			edit(t, filepath.Join(dir, lab.ResultFile), change)
		}
	}
	run("valid", nil)
	run("deep/er/run", nil)
	run("invalid", func(r map[string]any) {
		r["valid"], r["compositions"] = false, nil
		r["gates"] = []map[string]any{{"name": "send skew p99", "limit": 5, "value": 9, "passed": false}, {"name": "fine", "limit": 1, "passed": true}}
	})
	run("aborted", func(r map[string]any) { r["aborted"] = true })
	run("killed", func(r map[string]any) { r["aborted"], r["killed"] = true, true })
	run("unexpected", func(r map[string]any) {
		r["expectations"] = []map[string]any{{"composition": "plain", "measure": "p95", "passed": false}}
	})
	run("newer", func(r map[string]any) { r["schema"] = 99 })
	write(t, filepath.Join(folder, "broken", lab.ResultFile), "{")
	write(t, filepath.Join(folder, "going", lab.EnvironmentFile), `{"started": "2026-03-01T12:00:00Z"}`)
	write(t, filepath.Join(folder, "broke-off", lab.EnvironmentFile), `{"started": "2026-02-01T12:00:00Z"}`)
	write(t, filepath.Join(folder, "broke-off", spool.File), "x")
	write(t, filepath.Join(folder, "sweep", sweep.ResultFile), "{}")
	write(t, filepath.Join(folder, "sweep", "one", lab.ResultFile), "{}") // it is the sweep's
	write(t, filepath.Join(folder, "notes", "todo.md"), "")
	write(t, filepath.Join(folder, ".hidden", "run", lab.ResultFile), "{}")
	aRunIn(t, filepath.Join(folder, "a/b/c/too-deep"))
	ancient := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(folder, "broken", lab.ResultFile), ancient, ancient); err != nil {
		t.Fatal(err)
	}

	s := New(Config{Folder: folder})
	all, err := s.find()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range all.runs {
		got = append(got, fmt.Sprintf("%s: %s, %d of %d stacks: %s", one.path, one.state, one.requests, len(one.stacks), one.words))
	}
	want := []string{
		"valid: valid, 300 of 2 stacks: ",
		"deep/er/run: valid, 300 of 2 stacks: ",
		"invalid: not valid, 0 of 0 stacks: It shows no numbers: send skew p99",
		"aborted: aborted, 300 of 2 stacks: ",
		"killed: killed, 300 of 2 stacks: ",
		"unexpected: valid, not as expected, 300 of 2 stacks: ",
		"newer: unreadable, 0 of 0 stacks: result.json has schema 99: this brunt reads schema 1",
		"going: not ended, 0 of 0 stacks: It is running, or it broke off.",
		"broke-off: not ended, 0 of 0 stacks: It is running, or it broke off. When it is not running any more, brunt report makes what can be made of it.",
		"broken: unreadable, 0 of 0 stacks: read broken/result.json: unexpected end of JSON input",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if all.sweeps != 1 || all.cut != "" {
		t.Errorf("%d sweeps, %q", all.sweeps, all.cut)
	}
	var numbers []string
	for i, h := range headlines {
		for _, k := range all.runs[0].stacks {
			numbers = append(numbers, k.name+" "+h.title+" "+h.show(k.numbers[i]))
		}
	}
	want = []string{ // as brunt run prints them
		"plain success 52.67 %", "retry success 68.00 %", "plain done p95 never", "retry done p95 never",
		"plain attempts per request 1.000", "retry attempts per request 1.833", "plain recovery not seen", "retry recovery 250 ms",
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Error(diff)
	}

	// A result that has changed is read again, also one of the same length.
	changed := filepath.Join(folder, "aborted", lab.ResultFile)
	edit(t, changed, func(r map[string]any) { r["study"] = "smell" })
	if err := os.Chtimes(changed, ancient, ancient); err != nil {
		t.Fatal(err)
	}
	if all, err = s.find(); err != nil || all.runs[3].study != "smell" {
		t.Errorf("%v: %+v", err, all.runs[3])
	}
	edit(t, changed, func(r map[string]any) { r["aborted"] = false })
	if err := os.Chtimes(changed, ancient, ancient); err != nil {
		t.Fatal(err)
	}
	if all, err = s.find(); err != nil || all.runs[3].state != "valid" {
		t.Errorf("%v: %+v", err, all.runs[3])
	}
	// So is one that has ended by now.
	aRunIn(t, filepath.Join(folder, "going"))
	if all, err = s.find(); err != nil || all.runs[0].path != "going" || all.runs[0].state != "valid" {
		t.Errorf("%v: %+v", err, all.runs[0])
	}

	// On the page, what ended can be opened, and compared where it is whole.
	h := start(t, folder)
	status, text := h.get("/")
	if status != 200 {
		t.Fatalf("status %d", status)
	}
	for _, c := range []struct {
		run           string
		open, compare bool
	}{{"valid", true, true}, {"deep/er/run", true, true}, {"invalid", true, false}, {"killed", true, false}, {"broke-off", false, false}, {"broken", false, false}} {
		if got := strings.Contains(text, `<a href="/report?run=`+url.QueryEscape(c.run)+`">`); got != c.open {
			t.Errorf("%s can be opened: %t", c.run, got)
		}
		if got := strings.Contains(text, `name="a" value="`+c.run+`"`); got != c.compare {
			t.Errorf("%s can be compared: %t", c.run, got)
		}
	}
	contains(t, text, "Sweeps are not shown here (1)", ">2026-03-09 12:00:00<", `title="plain: 52.67 %`)
}

// A folder that is not there yet has no runs, and one that is itself a run has one.
func TestListOfOddFolders(t *testing.T) {
	t.Parallel()
	status, text := start(t, filepath.Join(t.TempDir(), "none")).get("/")
	if status != 200 {
		t.Errorf("status %d", status)
	}
	contains(t, text, "There are none yet.", `href="/try?study=outage"`)
	dir := t.TempDir()
	aRunIn(t, dir)
	h := start(t, dir)
	_, text = h.get("/")
	contains(t, text, `<a href="/report?run=.">this folder</a>`)
	if status, _ := h.get("/report?run=."); status != 200 {
		t.Errorf("status %d", status)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	if status, text := start(t, file).get("/"); status != 500 {
		t.Errorf("a file: status %d: %s", status, text)
	}
}

// No text of a file or a client becomes markup.
func TestTextIsNoMarkup(t *testing.T) {
	t.Parallel()
	const bad = `"><script>alert(1)</script>'<img src=x onerror=alert(1)>&amp;` + "\u202e\x1b[2J"
	folder := t.TempDir()
	name := `<b onclick="alert(1)">`
	for i, run := range []string{name, "two"} {
		aRunIn(t, filepath.Join(folder, run))
		edit(t, filepath.Join(folder, run, lab.ResultFile), func(r map[string]any) {
			r["study"], r["question"] = bad, bad
			for _, c := range r["compositions"].([]any) {
				c.(map[string]any)["name"] = bad
			}
		})
		edit(t, filepath.Join(folder, run, lab.EnvironmentFile), func(e map[string]any) { e["started"] = []string{bad, "2026-03-01T12:00:00Z"}[i] })
	}
	aRunIn(t, filepath.Join(folder, "invalid"))
	edit(t, filepath.Join(folder, "invalid", lab.ResultFile), func(r map[string]any) {
		r["valid"], r["gates"] = false, []map[string]any{{"name": bad, "passed": false}}
	})
	h := start(t, folder)
	write(t, filepath.Join(h.studies, `<b>.yaml`), "study: odd\nquestion: "+fmt.Sprintf("%q", strings.ReplaceAll(bad, "\u202e\x1b", ""))+strings.TrimPrefix(small, "study: small\nquestion: What does a retry do?"))
	write(t, filepath.Join(h.studies, "wrong.yaml"), "study: wrong\nload: {rate: '"+strings.ReplaceAll(bad[:40], "'", "")+"'}\n")
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`)
	for _, path := range []string{
		"/", "/compare?a=" + url.QueryEscape(name) + "&b=two", "/compare?a=invalid&b=two",
		"/try?study=" + url.QueryEscape(h.studies+"/<b>.yaml"), "/try?study=" + url.QueryEscape(h.studies+"/wrong.yaml"),
		"/try?study=" + url.QueryEscape("run:"+name), "/nothing?" + url.QueryEscape(bad), "/try?study=" + url.QueryEscape(bad),
	} {
		status, header, text := h.do("GET", path, "")
		if status >= 500 {
			t.Errorf("%s: status %d", path, status)
		}
		if policy := header.Get("Content-Security-Policy"); policy != ourPolicy {
			t.Errorf("%s: policy %s", path, policy)
		}
		scripts, styles := script.FindAllStringSubmatch(text, -1), style.FindAllStringSubmatch(text, -1)
		if len(scripts) != 1 || len(styles) != 1 || !strings.Contains(ourPolicy, digest(scripts[0][1])) || !strings.Contains(ourPolicy, digest(styles[0][1])) {
			t.Errorf("%s: %d scripts, %d styles, and not those that the policy names", path, len(scripts), len(styles))
		}
		rest := style.ReplaceAllString(script.ReplaceAllString(text, ""), "")
		for _, tag := range regexp.MustCompile(`<[a-zA-Z][^<>]*>?`).FindAllString(rest, -1) {
			if strings.HasPrefix(tag, "<script") || strings.HasPrefix(tag, "<img") || strings.HasPrefix(tag, "<b>") || strings.HasPrefix(tag, "<b ") ||
				regexp.MustCompile(`\s(on\w+|style)=`).MatchString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(tag, `""`)) {
				t.Errorf("%s: %s", path, tag)
			}
		}
		for _, r := range "\u202e\x1b" {
			if strings.ContainsRune(rest, r) {
				t.Errorf("%s: %U is in the page", path, r)
			}
		}
	}
	_, text := h.get("/")
	contains(t, text, "&lt;script&gt;alert(1)", "&lt;b onclick=&#34;alert(1)&#34;&gt;")
}

// Two runs are compared as brunt compare does.
func TestCompare(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	aRunIn(t, filepath.Join(folder, "a"))
	runInto(t, filepath.Join(folder, "b"), small, "compositions.retry.retry.attempts=5")
	h := start(t, folder)
	status, text := h.get("/compare?a=a&b=b")
	if status != 200 {
		t.Errorf("status %d", status)
	}
	contains(t, text, "B, which is b, against A, which is a.", `sandbox="allow-scripts" src="/difference?a=a&amp;b=b"`, "brunt compare "+folder+"/a "+folder+"/b")
	status, header, text := h.do("GET", "/difference?a=a&b=b", "")
	if status != 200 {
		t.Errorf("status %d", status)
	}
	contains(t, header.Get("Content-Security-Policy"), "sandbox allow-scripts;", "frame-ancestors 'self'")
	contains(t, text, "<!DOCTYPE html>", "attempts/offered")
	aRunIn(t, filepath.Join(folder, "cut"))
	edit(t, filepath.Join(folder, "cut", lab.ResultFile), func(r map[string]any) { r["aborted"] = true })
	if status, text = h.get("/compare?a=a&b=cut"); status != 422 {
		t.Errorf("an aborted run: status %d", status)
	}
	contains(t, text, "was aborted: numbers of a part of it cannot be compared")
	for path, status := range map[string]int{"/compare": 404, "/compare?a=a": 404, "/compare?a=a&b=c": 404, "/compare?a=a&b=a": 200, "/difference": 404, "/difference?a=a&b=cut": 404} {
		if got, _ := h.get(path); got != status {
			t.Errorf("%s: status %d, want %d", path, got, status)
		}
	}
}
