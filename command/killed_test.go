package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"brunt/lab"
)

// doomedStudy tells when its second phase begins, and goes on for an hour.
const doomedStudy = `
study: doomed
clock: real
load: {rate: 500/s}
horizon: 10s
dependencies: {service: {latency: 400ms}}
phases: [{name: first, for: 1200ms}, {name: second, for: 1h}]
compositions:
  plain: [{timeout: {after: 5s}}]
  never: [{retry: {attempts: 2}}]
recovery: {clean_window: 0s}
`

// A run that is killed has its rows on the disk but for those of the last
// second. They make a report that says what it is of; while the run is on they
// make none.
func TestKilledRunIsReported(t *testing.T) {
	t.Parallel()
	p := start(t, doomedStudy, "run", "study.yaml", "--out", "out")
	brunt := func(args ...string) (stdout, stderr string, status int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "brunt", args...)
		var out, told strings.Builder
		cmd.Dir, cmd.Stdout, cmd.Stderr = p.cmd.Dir, &out, &told
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), told.String(), cmd.ProcessState.ExitCode()
	}
	p.await("1/2 plain 1s of 1h0m1s: phase second")
	if out, told, status := brunt("report", "out"); status != statusUsage || out != "" || !strings.Contains(told, "the run in out is still running") {
		t.Errorf("a report while the run is on: status %d, %s", status, told)
	}
	p.signal(syscall.SIGKILL)
	p.wait()
	if _, told, status := brunt("compare", "out", "out"); status != statusUsage || !strings.Contains(told, "brunt report out") {
		t.Errorf("compare: status %d, %s", status, told)
	}

	text, told, status := brunt("report", "out")
	if status != statusInvalid || told != "" {
		t.Errorf("report: status %d\n%s", status, told)
	}
	for where, text := range map[string]string{"stdout": text, "report.md": p.file("out/report.md")} {
		for _, say := range []string{"killed", "into plain, not to be published", "censored at"} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), say) {
				t.Errorf("%s does not say %q:\n%s", where, say, text)
			}
		}
	}
	var r lab.Result
	if err := json.Unmarshal([]byte(p.file("out/result.json")), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Killed || !r.Aborted || r.Kill.Composition != "plain" {
		t.Errorf("killed: %t, aborted: %t, %+v", r.Killed, r.Aborted, r.Kill)
	}
	if wrong := unaccounted(&r); wrong != "" {
		t.Error(wrong)
	}
	w := r.Compositions[0].Whole
	// The line came when 1,200 ms were over, and a fifth of a second of rows may
	// not have been written yet.
	if at := float64(r.Kill.At) / 1e6; at < 1000 || float64(w.Offered) < at/2 || float64(w.Offered) > at/2+1 {
		t.Errorf("known up to %v ms: %d requests", at, w.Offered)
	}
	// What takes 400 ms is what had no outcome.
	if w.Censored != r.Kill.Censored || w.Censored < 150 || w.Completed < 250 || w.Incidence.CensoredBeforeHorizon != w.Censored {
		t.Errorf("%d completed, %d censored, %d of them early: %+v", w.Completed, w.Censored, w.Incidence.CensoredBeforeHorizon, r.Kill)
	}
	for _, q := range w.Incidence.Quantiles {
		if q.Lower != nil || q.Upper != nil || q.Refused == "" {
			t.Errorf("an interval although requests were censored before the horizon: %+v", q)
		}
	}
	if r.Compositions[1].Whole.Offered != 0 {
		t.Error("a composition that never began has requests")
	}
	if left, err := os.Stat(filepath.Join(p.cmd.Dir, "out/rows.spool")); err == nil {
		t.Errorf("the spool is left: %v bytes", left.Size())
	}
	// From now on it is a result as any other.
	again, _, status := brunt("report", "out")
	if again != text || status != statusInvalid {
		t.Errorf("the second report differs, or its status %d", status)
	}
	if _, told, status := brunt("compare", "out", "out"); status == statusOK || !strings.Contains(told, "was aborted") {
		t.Errorf("compare: status %d, %s", status, told)
	}
}

// A run whose service has ended by itself could not go on: it was not killed, and
// its report says what it met.
func TestBrokenOffRunIsReported(t *testing.T) {
	t.Parallel()
	s := besiege(t)
	l, err := net.Listen("tcp", "127.9.0.1:0") // where nobody else takes a port
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.file(t, "study.yaml", fmt.Sprintf(`
study: mortal
clock: real
load: {rate: 100/s}
horizon: 1s
dependencies: {nobody: {latency: 1ms}}
phases: [{name: steady, for: 1h}]
compositions:
  mine: [{external: {url: "http://%[1]s/health", command: [timeout, "1.5", brunt, replica, --listen, "%[1]s"]}}]
expect: [{measure: completed/offered, equals: 1}]
`, at))
	run := s.start(t, nil, "run", "study.yaml", "--out", "out")
	run.expect(statusFailed)
	for _, say := range []string{"composition mine: the service timeout has ended by itself (exit status 124)", "what had been written by then can be reported: brunt report out"} {
		if !strings.Contains(run.stderr.String(), say) {
			t.Errorf("the run does not say %q: %s", say, run.stderr.String())
		}
	}
	report := s.start(t, nil, "report", "out")
	report.expect(statusInvalid)
	text := strings.Join(strings.Fields(report.stdout.String()), " ")
	for _, say := range []string{
		"aborted: broke off ", "1 expectation was not judged", "The run broke off ",
		"It met this: composition mine: the service timeout has ended by itself (exit status 124)", "Not measured: the run broke off",
	} {
		if !strings.Contains(text, say) {
			t.Errorf("the report does not say %q:\n%s", say, text)
		}
	}
	// Arrivals stopped with the service: that is when it broke off, and not the end
	// of the drain.
	r := s.result(t, "out")
	if n := int64(r.Kill.At) / 1e7; r.Kill.Censored > 0 || r.Compositions[0].Whole.Offered > n+1 || r.Compositions[0].Whole.Offered < n-2 {
		t.Errorf("%d requests, %d censored: %+v", r.Compositions[0].Whole.Offered, r.Kill.Censored, r.Kill)
	}
	if strings.Contains(text, "killed") {
		t.Errorf("the report says that it was killed:\n%s", text)
	}
}

// The first signal ends a run that starts services as it ends any: compositions
// that had not begun never begin, and there is a result.
func TestInterruptedBeforeAnotherService(t *testing.T) {
	t.Parallel()
	p := start(t, `
study: mortal
clock: real
load: {rate: 50/s}
horizon: 1s
dependencies: {nobody: {latency: 1ms}}
phases: [{name: short, for: 1s}, {name: steady, for: 1h}]
compositions:
  first: [{external: {url: &url "http://127.9.0.2:18091/health", command: &command [brunt, replica, --listen, "127.9.0.2:18091"]}}]
  second: [{external: {url: *url, command: *command}}]
`, "run", "study.yaml", "--out", "out")
	p.await("1/2 first 1s of 1h0m1s: phase steady")
	p.signal(syscall.SIGTERM)
	if status := p.wait().ExitStatus(); status != statusSignal+int(syscall.SIGTERM) {
		t.Errorf("status %d", status)
	}
	var r lab.Result
	if err := json.Unmarshal([]byte(p.file("out/result.json")), &r); err != nil {
		t.Fatal(err)
	}
	if !r.Aborted || r.Killed || r.Compositions[0].Whole.Offered == 0 || r.Compositions[1].Whole.Offered != 0 {
		t.Errorf("aborted: %t, killed: %t, %d and %d requests", r.Aborted, r.Killed, r.Compositions[0].Whole.Offered, r.Compositions[1].Whole.Offered)
	}
}
