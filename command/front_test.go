package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brunt/front"
)

// frontProcess is a `brunt front` that runs beside the test.
type frontProcess struct {
	cmd             *exec.Cmd
	stderr          strings.Builder
	Listen, Control string
	PID             int
	log             string
}

func startFront(t *testing.T, args ...string) *frontProcess {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	p := &frontProcess{log: filepath.Join(t.TempDir(), "front.jsonl")}
	p.cmd = exec.CommandContext(ctx, "brunt", append([]string{"front", "--log", p.log}, args...)...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	if err != nil || p.PID != p.cmd.Process.Pid {
		_ = p.cmd.Wait()
		t.Fatalf("it said %q (%v)\n%s", line, err, p.stderr.String())
	}
	return p
}

// stop sends SIGTERM and returns the exit status.
func (p *frontProcess) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // its status is what counts
	return p.cmd.ProcessState.ExitCode()
}

func (p *frontProcess) entries(t *testing.T) []front.Entry {
	t.Helper()
	f, err := os.Open(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := front.ReadLog(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The whole way: it says where it listens, answers, logs, and drains on SIGTERM
// with a request in flight.
func TestFrontDrainsOnTerm(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-release
		fmt.Fprint(w, "late")
	}))
	defer upstream.Close()
	p := startFront(t, "--upstream", "a="+upstream.URL, "--health", "")
	status := make(chan int, 1)
	go func() {
		<-begun
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		for { // until it takes no more
			c, err := net.Dial("tcp", p.Listen)
			if err != nil {
				break
			}
			c.Close()
		}
		close(release)
		_ = p.cmd.Wait()
		status <- p.cmd.ProcessState.ExitCode()
	}()
	res, err := http.Get("http://" + p.Listen)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.Header.Get(front.ReplicaHeader); res.StatusCode != 200 || got != "a" {
		t.Errorf("status %d from %q", res.StatusCode, got)
	}
	if got := <-status; got != statusOK {
		t.Errorf("exit status %d\n%s", got, p.stderr.String())
	}
	all := p.entries(t)
	if len(all) != 4 || all[0].What != front.Start || all[3].What != front.Stop {
		t.Errorf("the log: %+v", all)
	}
}

// kill -9 with a request in flight: the log still tells where it was.
func TestFrontKilled(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	p := startFront(t, "--upstream", "a=http://"+hole.Addr().String(), "--health", "")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.Listen, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(front.RequestID, "victim")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
			t.Error("there was an answer")
		}
	}()
	for late := time.After(20 * time.Second); len(front.Visits(p.entries(t))) == 0; {
		select {
		case <-late:
			t.Fatal("the request is not in the log")
		default:
		}
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	<-ended
	v := front.Visits(p.entries(t))
	if len(v) != 1 || v[0].Request != "victim" || v[0].Replica != "a" || v[0].Ended {
		t.Errorf("visits: %+v", v)
	}
}

// What cannot end in time is cut off, and that is said.
func TestFrontCut(t *testing.T) {
	begun := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	}))
	defer upstream.Close()
	p := startFront(t, "--upstream", "a="+upstream.URL, "--health", "", "--drain", "1ms")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if res, err := http.Get("http://" + p.Listen); err == nil {
			res.Body.Close()
			t.Error("there was an answer")
		}
	}()
	<-begun
	if got := p.stop(t); got != statusFailed || !strings.Contains(p.stderr.String(), "brunt: draining for 1ms: 1: answers were cut off") {
		t.Errorf("exit status %d\n%s", got, p.stderr.String())
	}
	<-ended
	http.DefaultClient.CloseIdleConnections()
}
