package testbed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// process is one of the testbed's, and what holds it.
type process struct {
	Process
	cmd    *exec.Cmd
	stderr string        // the file that takes what it says
	done   chan struct{} // closed when it has ended and is waited for
}

// start starts a process and waits until it says where it listens.
func (t *Testbed) start(ctx context.Context, name string, args []string) (_ *process, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start %s: %w", name, err)
		}
	}()
	p := &process{Process: Process{Name: name}, stderr: filepath.Join(t.env.Folder, name+".log"), done: make(chan struct{})}
	says, err := os.OpenFile(p.stderr, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer says.Close() // the process has its own
	command := append(append([]string{}, t.env.Command...), args...)
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Stderr = says
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is the run's to handle
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.env.Start != nil {
		err = t.env.Start(p.cmd, name)
	} else {
		err = p.cmd.Start()
	}
	if err != nil {
		_ = os.Remove(p.stderr) // nobody has said anything
		return nil, err
	}
	p.PID = p.cmd.Process.Pid
	line := make(chan string, 1)
	go func() {
		defer close(p.done)
		out := bufio.NewReader(stdout)
		text, _ := out.ReadString('\n') // an empty one tells that it ended before
		line <- text
		_, _ = io.Copy(io.Discard, out)
		_ = p.cmd.Wait() // how it ended is no news: it is killed in the end
	}()
	select {
	case text := <-line:
		if err := p.read(text); err != nil {
			return nil, errors.Join(err, p.end(t.env.After))
		}
		return p, nil
	case <-t.env.After(patience):
		err = fmt.Errorf("it has not said where it listens within %v", patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, p.end(t.env.After))
}

// read reads where the process listens.
func (p *process) read(line string) error {
	var said struct{ Listen, Control string }
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Listen == "" || said.Control == "" {
		text, _ := os.ReadFile(p.stderr)
		return fmt.Errorf("it did not say where it listens: %s", clip(string(text)))
	}
	p.Listen, p.Control = said.Listen, "http://"+said.Control
	return nil
}

// goodbye is how long the front may take to write the rest of its log.
const goodbye = 2 * time.Second

// end ends the process, if it has not ended, and waits for it.
func (p *process) end(after func(time.Duration) <-chan time.Time) error {
	if p.Name == Front {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // one that has ended takes none
		select {
		case <-p.done:
		case <-after(goodbye):
		}
	}
	err := p.cmd.Process.Kill() // also one that stands still
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.done
	if err == nil {
		_ = os.Remove(p.stderr) // what it said on its way out is no news
	}
	return err
}

// clip keeps the end of what a process said.
func clip(s string) string {
	const most = 400
	s = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' {
			return -1 // a terminal would obey it
		}
		return c
	}, s))
	if s == "" {
		return "it said nothing"
	}
	if len(s) > most {
		s = "… " + s[len(s)-most:]
	}
	return s
}
