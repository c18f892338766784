package command

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// replicaProcess is a `brunt replica` of its own.
type replicaProcess struct {
	listening
	cmd *exec.Cmd
	out *json.Decoder
}

func startReplica(t *testing.T, args ...string) *replicaProcess {
	t.Helper()
	p := &replicaProcess{cmd: exec.Command("brunt", append([]string{"replica"}, args...)...)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil { // a test that failed
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	p.out = json.NewDecoder(out)
	if err := p.out.Decode(&p.listening); err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the process, which must have said nothing more on stdout.
func (p *replicaProcess) end(t *testing.T) *syscall.WaitStatus {
	t.Helper()
	var more any
	if err := p.out.Decode(&more); err != io.EOF {
		t.Errorf("more on stdout: %v, %v", more, err)
	}
	_ = p.cmd.Wait() // the state says it all
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return &status
}

func (p *replicaProcess) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

const question = `{"stream": true, "messages": [{"role": "user", "content": "hello"}]}`

// A replica says where it is, answers, is switched, and drains on SIGTERM: the
// stream in flight ends whole.
func TestReplicaServesAndDrains(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	p := startReplica(t, "--name", "east", "--control", "127.0.0.1:0", "--behaviour", "{first_token: 1ms, token_gap: 150ms, tokens: 3}")
	if p.Name != "east" || p.PID != p.cmd.Process.Pid || p.Control == "" {
		t.Errorf("it says %+v", p.listening)
	}
	for _, step := range []struct {
		mode   string
		status int
	}{{"error", http.StatusInternalServerError}, {"normal", http.StatusOK}} {
		switched, err := client.Post("http://"+p.Control+"/mode", "application/json", strings.NewReader(`{"mode": "`+step.mode+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		switched.Body.Close()
		answer, err := client.Post("http://"+p.Listen+"/v1/chat/completions", "application/json", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != step.status {
			t.Errorf("%s: status %d, want %d", step.mode, answer.StatusCode, step.status)
		}
	}
	response, err := client.Post("http://"+p.Listen+"/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	p.signal(t, syscall.SIGTERM)
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "token3") || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("the stream in flight: %q, %v", text, err)
	}
	if got := p.end(t).ExitStatus(); got != 143 {
		t.Errorf("exit status %d, want 143", got)
	}
}

// The second signal does not wait for a stream that never ends.
func TestReplicaQuits(t *testing.T) {
	t.Parallel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	p := startReplica(t, "--behaviour", "{first_token: 1ms, token_gap: 1h, tokens: 3}")
	if p.Control != "" {
		t.Errorf("control at %s, though nobody asked for it", p.Control)
	}
	response, err := client.Post("http://"+p.Listen+"/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	p.signal(t, syscall.SIGTERM)
	for { // the first one has been heard
		health, err := client.Get("http://" + p.Listen + "/health")
		if err != nil {
			t.Fatal(err)
		}
		health.Body.Close()
		if health.StatusCode == http.StatusServiceUnavailable {
			break
		}
	}
	p.signal(t, syscall.SIGTERM)
	if end := p.end(t); !end.Signaled() || end.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", *end)
	}
}
