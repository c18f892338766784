package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/lab"
)

// process is a brunt that runs beside the test.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *bufio.Reader
	stdout strings.Builder
	told   strings.Builder // what it said on stderr
}

// start starts brunt in a folder that holds a study.
func start(t *testing.T, study string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it would run for an hour
	t.Cleanup(cancel)
	p := &process{t: t, cmd: exec.CommandContext(ctx, "brunt", args...)}
	p.cmd.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(p.cmd.Dir, "study.yaml"), []byte(study), 0o666); err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = &p.stdout
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stderr = bufio.NewReader(pipe)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// await reads stderr until a line begins with text.
func (p *process) await(text string) {
	p.t.Helper()
	for {
		line, err := p.stderr.ReadString('\n')
		p.told.WriteString(line)
		if strings.HasPrefix(line, text) {
			return
		} else if err != nil {
			_ = p.cmd.Wait()
			p.t.Fatalf("stderr ended without %q:\n%s", text, p.told.String())
		}
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait returns how the process ended.
func (p *process) wait() syscall.WaitStatus {
	p.t.Helper()
	rest, err := io.ReadAll(p.stderr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.told.Write(rest)
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func (p *process) file(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.cmd.Dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

const stopping = "brunt: stopping arrivals and draining; once more to quit at once\n"

// longStudy runs for an hour on the real clock, and on the virtual one long
// enough to be stopped.
const longStudy = `
study: long
load: {rate: 100/s}
dependencies: {service: {latency: 5ms}}
phases: [{name: only, for: 30m}, {name: later, for: 30m}]
compositions:
  first: [{timeout: {after: 1s}}]
  second: [{retry: {attempts: 2}}]
expect: [{composition: second, measure: completed, at_least: 1000}]
`

func TestFirstSignalDrains(t *testing.T) {
	for _, test := range []struct {
		name   string
		signal syscall.Signal
		status int
		args   []string
	}{
		{"interrupt on the real clock", syscall.SIGINT, 130, []string{"--clock", "real"}},
		{"termination on the real clock", syscall.SIGTERM, 143, []string{"--clock", "real"}},
		// 20 million requests take seconds, also where there are many processors.
		{"interrupt on the virtual clock", syscall.SIGINT, 130, []string{"--set", "load.rate=2800/s"}},
		{"termination in the warm-up", syscall.SIGTERM, 143, []string{"--clock", "real", "--set", "warmup=10m"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, longStudy, append([]string{"run", "study.yaml", "--out", "out"}, test.args...)...)
			p.await("running 1/2")
			p.signal(test.signal)
			end := p.wait()
			if end.ExitStatus() != test.status {
				t.Errorf("exit status %d, want %d\n%s", end.ExitStatus(), test.status, p.told.String())
			}
			if !strings.Contains(p.told.String(), stopping) {
				t.Errorf("stderr does not say that it is stopping:\n%s", p.told.String())
			}
			for where, text := range map[string]string{"stdout": p.stdout.String(), "report.md": p.file("out/report.md")} {
				if !strings.Contains(text, "aborted: arrivals were stopped early") {
					t.Errorf("%s does not say that the run was aborted:\n%s", where, text)
				}
			}
			var r lab.Result
			if err := json.Unmarshal([]byte(p.file("out/result.json")), &r); err != nil {
				t.Fatal(err)
			}
			if !r.Aborted {
				t.Error("result.json does not say that the run was aborted")
			}
			if wrong := unaccounted(&r); wrong != "" {
				t.Error(wrong)
			}
			for i, c := range r.Compositions {
				if n := c.Whole.Offered; n >= 360_000 || i == 1 && r.Clock == "real" && n != 0 {
					t.Errorf("%s was offered %d requests after the signal", c.Name, n)
				}
			}
		})
	}
}

// What was aborted is reported again as such, and from the same rows.
func TestReportAborted(t *testing.T) {
	t.Parallel()
	p := start(t, longStudy, "run", "study.yaml", "--out", "out", "--clock", "real", "--json")
	p.await("running 1/2")
	p.signal(syscall.SIGINT)
	p.wait()
	if p.stdout.String() != p.file("out/result.json") {
		t.Errorf("stdout is not result.json:\n%s", p.stdout.String())
	}
	again := exec.CommandContext(t.Context(), "brunt", "report", "out", "--format", "json")
	again.Dir = p.cmd.Dir
	out, err := again.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != statusInvalid {
		t.Errorf("report: %v, want status %d for a run that was aborted", err, statusInvalid)
	}
	if string(out) != p.stdout.String() {
		t.Errorf("the report differs:\n%s\nwant\n%s", out, p.stdout.String())
	}
}

// hangingStudy drains for an hour.
const hangingStudy = `
study: hanging
clock: real
load: {rate: 1000/s, max_in_flight: 5}
horizon: 1h
dependencies: {service: {hang: true}}
phases: [{name: only, for: 30m}, {name: later, for: 30m}]
compositions: {plain: [{limit: {permits: 10, queue: 1}}]}
`

func TestSecondSignalQuits(t *testing.T) {
	for _, second := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(second.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, hangingStudy, "run", "study.yaml", "--out", "out")
			p.await("running 1/1")
			p.signal(syscall.SIGINT)
			p.await(strings.TrimSpace(stopping))
			p.signal(second)
			end := p.wait()
			if !end.Signaled() || end.Signal() != second {
				t.Errorf("ended with %#x, want the signal\n%s", int(end), p.told.String())
			}
			if _, err := os.Stat(filepath.Join(p.cmd.Dir, "out/result.json")); !os.IsNotExist(err) {
				t.Errorf("a run that did not end has a result: %v", err)
			}
			if strings.Contains(p.told.String(), "goroutine") {
				t.Errorf("it quit with a stack:\n%s", p.told.String())
			}
		})
	}
}

const shortStudy = `
study: short
load: {rate: 100/s}
dependencies: {service: {latency: 1ms}}
phases: [{name: only, for: 50ms}]
compositions: {first: [{timeout: {after: 1s}}], second: [{retry: {attempts: 2}}]}
recovery: {clean_window: 0s}
`

// Whoever stops reading, as head does, loses no results and sees no stack.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	nobody := func() *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		t.Cleanup(func() { _ = w.Close() })
		return w
	}
	perform := func(clock string, stdout, stderr io.Writer) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "brunt", "run", "study.yaml", "--out", "out", "--clock", clock)
		cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), stdout, stderr
		if err := os.WriteFile(filepath.Join(cmd.Dir, "study.yaml"), []byte(shortStudy), 0o666); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run() // the cases judge how it ended
		b, err := os.ReadFile(filepath.Join(cmd.Dir, "out/result.json"))
		var r lab.Result
		if err = errors.Join(err, json.Unmarshal(b, &r)); err != nil {
			t.Error(err)
		} else if wrong := unaccounted(&r); wrong != "" {
			t.Error(wrong)
		}
		return cmd
	}

	var told strings.Builder
	cmd := perform("virtual", nobody(), &told)
	if end := cmd.ProcessState.Sys().(syscall.WaitStatus); !end.Signaled() || end.Signal() != syscall.SIGPIPE || told.Len() > 0 {
		t.Errorf("nobody reads stdout: ended with %v, want SIGPIPE and no words: %q", cmd.ProcessState, told.String())
	}
	// On the real clock words come on stderr during the run.
	if cmd := perform("real", io.Discard, nobody()); !cmd.ProcessState.Success() {
		t.Errorf("nobody reads stderr: ended with %v", cmd.ProcessState)
	}
}
