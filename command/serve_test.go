package command

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// serve prints one line, the address; answers who has it; and ends with the
// status of its signal, also while a browser holds a connection open.
func TestServe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signal syscall.Signal
		status int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		cmd := exec.Command("brunt", "serve")
		cmd.Dir = t.TempDir() // there are no runs yet
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		address, err := lines.ReadString('\n')
		if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/\?token=[A-Z2-7]{26,}\n$`).MatchString(address) {
			t.Errorf("it prints %q, %v", address, err)
		}
		transport := &http.Transport{}
		client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err := client.Get(strings.TrimSpace(address))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusSeeOther || len(response.Cookies()) != 1 {
			t.Errorf("the address is answered with %s", response.Status)
		}
		if err := cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if more, err := io.ReadAll(lines); len(more) > 0 || err != nil {
			t.Errorf("more on stdout: %q, %v", more, err)
		}
		_ = cmd.Wait() // the state says it all
		if got := cmd.ProcessState.Sys().(syscall.WaitStatus).ExitStatus(); got != c.status {
			t.Errorf("%v: exit status %d, want %d", c.signal, got, c.status)
		}
		if want := "brunt: serving the runs in runs; an interrupt ends it\n"; said.String() != want {
			t.Errorf("stderr is %q, want %q", said.String(), want)
		}
		transport.CloseIdleConnections()
	}
}
