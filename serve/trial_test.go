package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
)

// post posts JSON and returns the status and the answer.
func (h *served) post(path, body string, change ...func(*http.Request)) (int, answer) {
	h.t.Helper()
	status, header, text := h.do(http.MethodPost, path, body, change...)
	var a answer
	if header.Get("Content-Type") != "application/json" {
		h.t.Fatalf("%s: status %d, %s: %s", path, status, header.Get("Content-Type"), text)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		h.t.Fatal(err)
	}
	return status, a
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

// A trial shows what the command that it names would, is written nowhere, and
// is kept as that command would have written it.
func TestTrial(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "runs")
	h := start(t, folder)
	file := filepath.Join(h.studies, "mine.yaml")
	write(t, file, small)
	status, a := h.post("/run", `{"study": `+quoted(file)+`, "sets": [{"path": "compositions.retry.retry.attempts", "value": "5"}, {"path": "phases.storm.for", "value": "2s"}]}`)
	if status != 200 || !a.Valid || a.Error != "" {
		t.Fatalf("status %d: %+v", status, a)
	}
	if want := "brunt run " + file + " --set compositions.retry.retry.attempts=5 --set phases.storm.for=2s"; a.Command != want {
		t.Errorf("the command is %s, want %s", a.Command, want)
	}
	// The same, made by hand.
	st, err := study.Read(file, study.Options{Sets: []string{"compositions.retry.retry.attempts=5", "phases.storm.for=2s"}, Measure: lab.CheckName})
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := lab.Run(t.Context(), st, lab.Options{Instrument: lab.ThisInstrument()})
	if err != nil {
		t.Fatal(err)
	}
	var result bytes.Buffer
	if err := report.JSON(&result, want); err != nil {
		t.Fatal(err)
	}
	attempts, err := lab.Find(&want.Compositions[1], nil, "attempts/offered")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stack", "success", "done p95", "attempts per request", "recovery"}, a.Heads); diff != "" {
		t.Error(diff)
	}
	if len(a.Rows) != 2 || a.Rows[1][0] != "retry" || a.Rows[1][3] != fmt.Sprintf("%.3f", attempts.Value) {
		t.Errorf("the numbers are %v, want %v attempts", a.Rows, attempts.Value)
	}

	status, header, page := h.do(http.MethodGet, "/trial?id="+a.ID, "")
	if status != 200 {
		t.Errorf("its report: status %d", status)
	}
	contains(t, header.Get("Content-Security-Policy"), "sandbox allow-scripts;")
	contains(t, page, "What does a retry do?", "Single requests")
	// In the frame of the page it has one script more, which its own policy comes after.
	_, header, framed := h.do(http.MethodGet, "/trial?id="+a.ID+"&frame", "")
	contains(t, header.Get("Content-Security-Policy"), "sandbox allow-scripts;")
	if before, after, ok := strings.Cut(framed, "<script>"+placeScript+"</script>\n"); !ok || before+after != page || strings.Contains(before, "Content-Security-Policy") {
		t.Errorf("in a frame the report begins %.300s", framed)
	}
	if status, _ := h.get("/trial?id=other"); status != 404 {
		t.Errorf("another trial: status %d", status)
	}
	if _, err := os.Lstat(folder); err == nil {
		t.Error("something was written, though nobody has asked for it")
	}

	status, kept := h.post("/keep", `{"id": "`+a.ID+`"}`)
	if status != 200 || !strings.HasPrefix(kept.Run, "small-20") {
		t.Fatalf("status %d: %+v", status, kept)
	}
	got, err := os.ReadFile(filepath.Join(folder, kept.Run, lab.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(result.String(), string(got)); diff != "" {
		t.Error(diff)
	}
	_, _, env, err := lab.Open(filepath.Join(folder, kept.Run))
	if err != nil {
		t.Fatal(err)
	}
	if got := report.CommandLine(env.Command); got != a.Command {
		t.Errorf("its environment has the command %s", got)
	}
	if status, text := h.get("/report?run=" + kept.Run); status != 200 || !strings.Contains(text, "Single requests") {
		t.Errorf("the report of what was kept: status %d", status)
	}
	if _, again := h.post("/keep", `{"id": "`+a.ID+`"}`); again.Run != kept.Run {
		t.Errorf("kept twice, as %s and %s", kept.Run, again.Run)
	}
	// Another of the same second has a name of its own.
	_, b := h.post("/run", `{"study": `+quoted(file)+`, "sets": []}`)
	h.trials.find(b.ID).started = h.trials.find(a.ID).started
	if _, second := h.post("/keep", `{"id": "`+b.ID+`"}`); second.Run != kept.Run+"-2" {
		t.Errorf("the second is %+v", second)
	}
	// The study of what was kept can be tried in turn.
	status, c := h.post("/run", `{"study": "run:`+kept.Run+`", "sets": [{"path": "load.rate", "value": "60/s"}]}`)
	if status != 200 || c.Command != "brunt run "+filepath.Join(folder, kept.Run, lab.StudyFile)+" --set load.rate=60/s" {
		t.Errorf("status %d: %+v", status, c)
	}
	if _, text := h.get("/try?study=run:" + kept.Run); !strings.Contains(text, `data-path="compositions.retry.retry.attempts" data-now="5"`) {
		t.Errorf("the sliders do not stand where the run had them: %s", text)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "brunt-serve-*")); len(left) > 8 {
		t.Errorf("%d temporary folders are left", len(left))
	}
}

// What cannot be run says why.
func TestTrialRefused(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir())
	h.limits.kept = 1
	write(t, filepath.Join(h.studies, "file.yaml"), "study: file\nload: {arrivals: trace, trace: t.txt}\n")
	write(t, filepath.Join(h.studies, "small.yaml"), small)
	mine := quoted(filepath.Join(h.studies, "small.yaml"))
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"no such study", "/run", `{"study": "outag"}`, 404, "no such study"},
		{"a study that is not offered", "/run", `{"study": "/etc/passwd"}`, 404, "no such study"},
		{"standard input", "/run", `{"study": "-"}`, 404, "no such study"},
		{"a run that is not there", "/run", `{"study": "run:../x"}`, 404, "no such study"},
		{"a study that reads a file", "/run", `{"study": ` + quoted(filepath.Join(h.studies, "file.yaml")) + `}`, 422, "It seems to read a file (trace)"},
		{"a real study", "/run", `{"study": "replica-loss-short"}`, 422, "It runs on the real clock"},
		{"what no slider turns", "/run", `{"study": ` + mine + `, "sets": [{"path": "clock", "value": "real"}]}`, 422, `"clock" is nothing that can be turned here`},
		{"too much", "/run", `{"study": ` + mine + `, "sets": [{"path": "load.rate", "value": "99999999/s"}]}`, 422, "expected 3/s to 1000/s"},
		{"what the study refuses", "/run", `{"study": ` + mine + `, "sets": [{"path": "horizon", "value": "1h"}]}`, 422, "expected 100ms to 3m"},
		{"no JSON", "/run", `study=outage`, 400, "read the request: "},
		{"nothing", "/run", ``, 400, "read the request: EOF"},
		{"more than asked for", "/run", `{"study": "outage", "out": "/tmp/x"}`, 400, `unknown field "out"`},
		{"two values", "/run", `{"study": "outage"} {}`, 400, "expected one value"},
		{"too large", "/run", `{"study": "` + strings.Repeat("x", 65<<10) + `"}`, 413, "too large"},
		{"a trial that is not known", "/keep", `{"id": "x"}`, 404, "not known any more"},
		{"a keep that is too large", "/keep", `{"id": "` + strings.Repeat("x", 65<<10) + `"}`, 413, "too large"},
	} {
		status, a := h.post(c.path, c.body)
		if status != c.status || !strings.Contains(a.Error, c.want) || a.ID != "" {
			t.Errorf("%s: status %d, %+v, want %d, %q", c.name, status, a, c.status, c.want)
		}
	}
	// Only the last trials are known.
	_, first := h.post("/run", `{"study": `+mine+`}`)
	_, second := h.post("/run", `{"study": `+mine+`}`)
	for id, want := range map[string]int{first.ID: 404, second.ID: 200} {
		if status, _ := h.get("/trial?id=" + id); status != want {
			t.Errorf("status %d, want %d", status, want)
		}
	}
}

// A trial that takes too long is given up.
func TestTrialTakesTooLong(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), func(s *Server) { s.limits.trial = time.Millisecond })
	write(t, filepath.Join(h.studies, "heavy.yaml"), heavy)
	status, a := h.post("/run", `{"study": `+quoted(filepath.Join(h.studies, "heavy.yaml"))+`}`)
	if status != http.StatusGatewayTimeout || !strings.Contains(a.Error, "given up after 1ms") || !strings.HasPrefix(a.Command, "brunt run ") {
		t.Errorf("status %d: %+v", status, a)
	}
}

// Only so many run at once, and only so many wait.
func TestTrialsWait(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), func(s *Server) { s.limits.waiting = 1 })
	var leave []func()
	for range usual.atOnce {
		l, err := h.trials.enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, err := h.trials.enter(ctx, 1)
		waited <- err
	}()
	for { // until it waits
		h.trials.mu.Lock()
		n := h.trials.waiting
		h.trials.mu.Unlock()
		if n == 1 {
			break
		}
		runtime.Gosched()
	}
	status, a := h.post("/run", `{"study": "stampede"}`)
	if status != http.StatusServiceUnavailable || !strings.Contains(a.Error, "too many runs are waiting") {
		t.Errorf("status %d: %+v", status, a)
	}
	cancel() // whoever asked has gone
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	for _, l := range leave {
		l()
	}
	if status, a := h.post("/run", `{"study": "stampede"}`); status != 200 {
		t.Errorf("when there is room again: status %d: %+v", status, a)
	}
}

// When the client goes away its trial ends, and so it does when the server ends:
// in a moment, though it would run for seconds.
func TestTrialEndsWithItsClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(h *served, cancel func())
	}{
		{"the client", func(_ *served, cancel func()) { cancel() }},
		{"the server", func(h *served, _ func()) {
			if err := h.stop(); err != nil {
				h.t.Error(err)
			}
			if len(h.trials.slots) > 0 {
				h.t.Error("the server has ended, and a trial has not")
			}
		}},
	} {
		h := start(t, t.TempDir(), func(s *Server) { s.limits.grace = time.Nanosecond })
		file := filepath.Join(h.studies, "heavy.yaml")
		write(t, file, heavy)
		r, err := http.NewRequest(http.MethodPost, h.base+"/run", strings.NewReader(`{"study": `+quoted(file)+`}`))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		r = r.WithContext(ctx)
		r.AddCookie(h.cookie)
		r.Header.Set("Origin", h.base)
		r.Header.Set("Content-Type", "application/json")
		answered := make(chan int, 1)
		go func() {
			response, err := h.client.Do(r)
			if err != nil {
				answered <- 0
				return
			}
			response.Body.Close()
			answered <- response.StatusCode
		}()
		for len(h.trials.slots) == 0 { // until it runs
			select {
			case status := <-answered:
				t.Fatalf("%s: it has ended already, with %d", c.name, status)
			default:
				runtime.Gosched()
			}
		}
		c.end(h, cancel)
		if status := <-answered; status == 200 {
			t.Errorf("%s: the trial came to its end", c.name)
		}
		h.answering.Lock() // when it has ended
		remembered := len(h.trials.last)
		h.answering.Unlock()
		if remembered != 0 {
			t.Errorf("%s: a trial that was cut short is remembered", c.name)
		}
		cancel()
	}
}

// A keep that fails leaves nothing behind.
func TestKeepFails(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	h := start(t, folder)
	_, a := h.post("/run", `{"study": "stampede"}`)
	h.limits.trial = time.Nanosecond
	status, kept := h.post("/keep", `{"id": "`+a.ID+`"}`)
	if status != 500 || kept.Run != "" || !strings.Contains(kept.Error, "keep the run: ") {
		t.Errorf("status %d: %+v", status, kept)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v is left", err, entries)
	}
}

// Slow clients and crowds are let go.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), func(s *Server) { s.limits.header, s.limits.read = 20*time.Millisecond, 20*time.Millisecond })
	address := strings.TrimPrefix(h.base, "http://")
	for _, begin := range []string{
		"",
		"GET / HTTP/1.1\r\nHost: " + address + "\r\nX-Slow: ",
		"POST /run HTTP/1.1\r\nHost: " + address + "\r\nOrigin: " + h.base + "\r\nContent-Type: application/json\r\nContent-Length: 100\r\nCookie: " + h.cookie.String() + "\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(begin)); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		text, err := bufio.NewReader(conn).ReadString(0) // to its end
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() || strings.Contains(text, " 200 ") {
			t.Errorf("%q: %q, %v", begin, text, err)
		}
		conn.Close()
	}
}

// Beyond so many connections at once, further ones are closed.
func TestCrowd(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir(), func(s *Server) { s.limits.connections = 3 })
	address := strings.TrimPrefix(h.base, "http://")
	closed := 0
	for range 6 { // one is the browser's
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", address)
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(conn).ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 403 ") {
			closed++
		}
	}
	if closed != 4 {
		t.Errorf("%d of 6 were closed, want 4", closed)
	}
	if status, _ := h.get("/"); status != 200 {
		t.Errorf("the browser gets status %d", status)
	}
}
