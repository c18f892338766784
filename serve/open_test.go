package serve

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brunt/lab"
	"brunt/record/parquet"
)

// What is not below the folder is not there, however it is named.
func TestOnlyBelowTheFolder(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	aRunIn(t, filepath.Join(outside, "secret"))
	folder := filepath.Join(outside, "runs")
	aRunIn(t, filepath.Join(folder, "mine"))
	link := func(to, from string) {
		if err := os.MkdirAll(filepath.Dir(from), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(outside, "secret"), filepath.Join(folder, "absolute"))
	link("../secret", filepath.Join(folder, "relative"))
	link("mine", filepath.Join(folder, "inside"))
	link("..", filepath.Join(folder, "up"))
	// files of a run that lead out
	aRunIn(t, filepath.Join(folder, "page"))
	os.Remove(filepath.Join(folder, "page", lab.PageFile))
	link("../../secret/report.html", filepath.Join(folder, "page", lab.PageFile))
	link("../../secret/result.json", filepath.Join(folder, "result", lab.ResultFile))
	// what would wait for somebody to write
	aRunIn(t, filepath.Join(folder, "pipe"))
	os.Remove(filepath.Join(folder, "pipe", lab.PageFile))
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe", lab.PageFile), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe", "note"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "plain", lab.PageFile), "no run")

	h := start(t, folder)
	for _, c := range []struct {
		run    string
		status int
	}{
		{"mine", 200},
		{"inside", 200}, // a link that stays below
		{"pipe", 200},   // made from the rest
		{"../secret", 404},
		{"mine/../../secret", 404},
		{"mine/..", 404},
		{"./mine", 404}, // one name for each
		{"mine/", 404},
		{"/etc", 404},
		{filepath.Join(outside, "secret"), 404},
		{`..\secret`, 404},
		{"absolute", 404},
		{"relative", 404},
		{"up/secret", 404},
		{"up/runs/mine", 404},
		{"page", 404},
		{"result", 404},
		{"plain", 404}, // a page without a run
		{"none", 404},
		{"", 404},
		{".", 404}, // the folder itself is no run
		{"mine\x00", 404},
		{"mine/report.html", 404},
	} {
		if status, text := h.get("/report?run=" + url.QueryEscape(c.run)); status != c.status {
			t.Errorf("/report?run=%q: status %d, want %d: %.200s", c.run, status, c.status, text)
		}
		if c.status == 404 {
			for _, path := range []string{"/compare?a=mine&b=" + url.QueryEscape(c.run), "/try?study=" + url.QueryEscape("run:"+c.run)} {
				if c.run == "page" { // its result and study are its own
					continue
				}
				if status, text := h.get(path); status != 404 {
					t.Errorf("%s: status %d: %.200s", path, status, text)
				}
			}
		}
	}
	// nothing is served by its path
	for _, path := range []string{"/mine/report.html", "/runs/mine", "/../secret/report.html", "/%2e%2e/secret/report.html", "/..%2fsecret", "//etc/passwd", "/report/..", "/report/"} {
		if status, text := h.get(path); status != 404 {
			t.Errorf("%s: status %d: %.200s", path, status, text)
		}
	}
}

// A report is somebody's file: it is shown where it can do nothing.
func TestReportIsSandboxed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	aRunIn(t, filepath.Join(folder, "mine"))
	const page = "<!DOCTYPE html><script>fetch('/run', {method: 'POST'})</script>"
	write(t, filepath.Join(folder, "mine", lab.PageFile), page)
	status, header, text := start(t, folder).do(http.MethodGet, "/report?run=mine", "")
	if status != 200 || text != page {
		t.Errorf("status %d: %s", status, text)
	}
	policy := header.Get("Content-Security-Policy")
	contains(t, policy, "sandbox allow-scripts;", "default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'")
	for _, bad := range []string{"allow-same-origin", "allow-top", "allow-forms", "allow-popups", "connect-src", "'self';", "http:", "*"} {
		if strings.Contains(strings.Replace(policy, "frame-ancestors 'self'", "", 1), bad) {
			t.Errorf("the policy has %s: %s", bad, policy)
		}
	}
	if header.Get("Content-Type") != "text/html; charset=utf-8" || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("it is served as %q", header.Get("Content-Type"))
	}
	if header.Get("Cross-Origin-Opener-Policy") != "" {
		t.Error("a sandboxed page with an opener policy is not shown by browsers")
	}
}

// A report that is not there is made, with the pictures of the rows: the same as
// was written. Nothing is written.
func TestReportIsMade(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, c := range []struct {
		name, study string
		harm        func(dir string) error
		same        bool // as the page that was written; else it is made without rows
	}{
		{"from the rows", small, func(string) error { return nil }, true},
		{"no rows", small, func(dir string) error { return os.Remove(filepath.Join(dir, parquet.RequestsFile)) }, false},
		{"torn rows", small, func(dir string) error { return os.Truncate(filepath.Join(dir, parquet.AttemptsFile), 100) }, false},
		{"rows behind a link", small, func(dir string) error {
			file := filepath.Join(dir, parquet.EventsFile)
			if err := os.Rename(file, filepath.Join(dir, "elsewhere")); err != nil {
				return err
			}
			return os.Symlink("elsewhere", file)
		}, false},
		// it only seems to name one, and is not read all the same
		{"a study that names a file", small + "notes: ['replay: none']\n", func(string) error { return nil }, false},
	} {
		dir := filepath.Join(folder, c.name)
		runInto(t, dir, c.study)
		written, err := os.ReadFile(filepath.Join(dir, lab.PageFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, lab.PageFile)); err != nil {
			t.Fatal(err)
		}
		if err := c.harm(dir); err != nil {
			t.Fatal(err)
		}
		h := start(t, folder)
		status, text := h.get("/report?run=" + url.QueryEscape(c.name))
		if status != 200 || (text == string(written)) != c.same {
			t.Errorf("%s: status %d, the same: %t: %.300s", c.name, status, text == string(written), text)
		}
		contains(t, text, "What does a retry do?")
		if _, err := os.Lstat(filepath.Join(dir, lab.PageFile)); err == nil {
			t.Errorf("%s: it was written", c.name)
		}
	}
	// what cannot be read says so
	dir := filepath.Join(folder, "broken")
	write(t, filepath.Join(dir, lab.ResultFile), "{")
	status, text := start(t, folder).get("/report?run=broken")
	if status != 422 {
		t.Errorf("broken: status %d", status)
	}
	contains(t, text, "The report of broken cannot be made: read result.json: unexpected end of JSON input")
}
