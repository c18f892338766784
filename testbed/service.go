package testbed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// ServiceConfig is a service of the user's own, and how it is started.
type ServiceConfig struct {
	// Command is a program and its arguments; a program with a slash in its name is
	// looked for in Folder.
	Command []string
	// Folder is where it runs; "" for where brunt does.
	Folder string
	// Env is added to its environment, each as NAME=VALUE.
	Env []string
	// Address is the host and port where it is to listen.
	Address string
	// Ready is the URL that answers with a 2xx once it is ready; "" when it is ready
	// as soon as it can be connected to.
	Ready string
	// Within is how long it may take to be ready.
	Within time.Duration
	// Log is the file that takes what it says, up to 64 MiB.
	Log string
	// After is the wall clock.
	After func(time.Duration) <-chan time.Time
	// Start starts a process, so that it ends with this one.
	Start func(cmd *exec.Cmd, name string) error
}

// Service is a service of the user's own that runs. Its methods may be called
// from any goroutine.
type Service struct {
	config ServiceConfig
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended and is waited for
	status error         // how it ended; read it once done is closed
	ending atomic.Bool   // it was told to end
	seen   string        // what its readiness check saw last; of the start alone
}

// How long a service may take to end once it is asked to, and to have what it has
// started say the rest when it has ended.
const (
	serviceEnd = 3 * time.Second
	logDelay   = 100 * time.Millisecond
)

// StartService starts a service and waits until it is ready. An address at which
// something listens already is an error: it would be taken for the service.
func StartService(ctx context.Context, c ServiceConfig) (_ *Service, err error) {
	defer func() {
		var ended *serviceEnded
		if err != nil && !errors.As(err, &ended) { // which names it
			err = fmt.Errorf("the service %s: %w", c.Command[0], err)
		}
	}()
	if Listening(c.Address) {
		return nil, fmt.Errorf("something listens at %s already: expected the address to be free, as the study starts what listens there (a service of an earlier run that has left its process group goes on)", c.Address)
	}
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o777); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	says := &serviceLog{file: file, left: mostLog}
	s := &Service{config: c, done: make(chan struct{})}
	s.cmd = exec.Command(c.Command[0], c.Command[1:]...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = c.Folder, says, says
	s.cmd.WaitDelay = logDelay
	s.cmd.Env = append(os.Environ(), c.Env...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it is ended with all that it has started
	if err := c.Start(s.cmd, "the service"); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	go func() {
		defer close(s.done)
		if s.status = s.cmd.Wait(); errors.Is(s.status, exec.ErrWaitDelay) {
			s.status = nil // what it has started holds the log; it has ended well itself
		}
		says.close()
	}()
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// FindProgram looks whether a service can be started at all: whether the program
// of its command is there, and can be executed.
func FindProgram(command []string, folder string) error {
	name, where := command[0], "on the PATH"
	if filepath.Base(name) != name {
		if where = "here"; !filepath.IsAbs(name) {
			where = "in " + cmp.Or(folder, ".")
			name = filepath.Join(folder, name)
			if !filepath.IsAbs(name) {
				name = "." + string(filepath.Separator) + name // or it would be looked for on the PATH
			}
		}
	}
	if _, err := exec.LookPath(name); err != nil {
		for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
			err = cause // without names that were said already
		}
		return fmt.Errorf("the service %s cannot be started: expected a program %s (%w); is it built?", command[0], where, err)
	}
	return nil
}

// Listening reports whether something listens at an address, a host and a port.
func Listening(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// wait waits until the service is ready.
func (s *Service) wait(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}, Timeout: time.Second}
	late := s.config.After(s.config.Within)
	for {
		if s.ready(ctx, client) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return s.Err()
		case <-late:
			return fmt.Errorf("it was not ready at %s within %v (%s): %s", s.config.Address, s.config.Within, cmp.Or(s.seen, "nothing listens there"), s.said())
		case <-s.config.After(20 * time.Millisecond):
		}
	}
}

func (s *Service) ready(ctx context.Context, client *http.Client) bool {
	if s.config.Ready == "" {
		return Listening(s.config.Address)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.config.Ready, nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(r)
	if err != nil {
		s.seen = err.Error()
		return false
	}
	_ = answer.Body.Close()
	s.seen = s.config.Ready + " answered " + answer.Status
	return answer.StatusCode >= 200 && answer.StatusCode < 300
}

// Done is closed when the service has ended.
func (s *Service) Done() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.done
}

// Err says that the service has ended by itself, which it was not to; nil while it
// runs.
func (s *Service) Err() error {
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
	default:
		return nil
	}
	if s.ending.Load() {
		return nil
	}
	how := "with status 0"
	if s.status != nil {
		how = s.status.Error()
	}
	return &serviceEnded{s.config.Command[0], how, s.said()}
}

// serviceEnded says that a service has ended by itself.
type serviceEnded struct{ program, how, said string }

// Error implements error.
func (e *serviceEnded) Error() string {
	return fmt.Sprintf("the service %s has ended by itself (%s): %s", e.program, e.how, e.said)
}

func (s *Service) said() string {
	text, _ := os.ReadFile(s.config.Log) // without it there is less to tell
	return clip(string(text))
}

// Close ends the service and all that it has started: it is asked first, then
// killed. A log that says nothing is removed.
func (s *Service) Close() error {
	if s == nil {
		return nil
	}
	s.ending.Store(true)
	group := -s.cmd.Process.Pid
	select {
	case <-s.done:
	default:
		_ = syscall.Kill(group, syscall.SIGTERM) // it may have ended
		select {
		case <-s.done:
		case <-s.config.After(serviceEnd):
		}
	}
	if err := syscall.Kill(group, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end the service %s: %w", s.config.Command[0], err)
	}
	<-s.done
	if info, err := os.Stat(s.config.Log); err == nil && info.Size() == 0 {
		_ = os.Remove(s.config.Log)
	}
	return nil
}

// mostLog is how much a log may take of the disk.
const mostLog = 64 << 20

// serviceLog is a log that does not grow without end: what comes later is read,
// so that the service is not held up, and forgotten.
type serviceLog struct {
	file *os.File
	left int
}

// Write implements [io.Writer]. It never fails: a disk that is full is no reason
// to end the service.
func (l *serviceLog) Write(p []byte) (int, error) {
	if l.left > 0 {
		_, _ = l.file.Write(p[:min(len(p), l.left)])
		if l.left -= len(p); l.left <= 0 {
			_, _ = fmt.Fprintf(l.file, "\n[brunt keeps no more than %d MiB of a log]\n", mostLog>>20)
		}
	}
	return len(p), nil
}

func (l *serviceLog) close() { _ = l.file.Close() }
