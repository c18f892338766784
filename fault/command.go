package fault

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// mostOutput is how much of what a command prints is kept, in bytes.
const mostOutput = 2 << 10

// clip keeps the beginning of what a command prints.
type clip struct {
	kept bytes.Buffer
	cut  bool
}

func (c *clip) Write(p []byte) (int, error) {
	room := mostOutput - c.kept.Len()
	c.kept.Write(p[:min(room, len(p))])
	c.cut = c.cut || len(p) > room
	return len(p), nil
}

func (c *clip) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(c.kept.String(), "?"))
	if c.cut {
		text += " …"
	}
	return text
}

func clipped(text string) string {
	var c clip
	c.Write([]byte(text))
	return c.String()
}

// run runs the command to its end, with variables beside those of this process,
// and returns what it printed, clipped. Past the timeout, or the end of ctx, it
// and what it has started are killed.
func (c Command) run(ctx context.Context, timeout time.Duration, environ []string) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	cmd.Env = append(cmd.Environ(), environ...)
	var out clip
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	ownGroup(cmd.SysProcAttr)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second // a grandchild may hold the output open
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("not over within %v: %w", timeout, ctx.Err())
	}
	if err != nil {
		if errors.Is(err, exec.ErrWaitDelay) {
			return out.String(), nil // the command itself has ended well
		}
		if text := out.String(); text != "" {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return out.String(), fmt.Errorf("run %s: %w", c, err)
	}
	return out.String(), nil
}

// find reports a program that is not there, before it is needed.
func (c Command) find() error {
	if len(c) == 0 {
		return nil
	}
	if _, err := exec.LookPath(c[0]); err != nil {
		return fmt.Errorf("find the program of %s: %w", c, err)
	}
	return nil
}
