package command

import (
	"context"
	"os/exec"

	"brunt/fault"
	"brunt/study"
)

// needsNamespace reports whether a study makes a black hole that this user may
// not make here, and that can be made elsewhere: all that it is about is started
// by the run.
func needsNamespace(s *study.Study) bool {
	if s.Testbed == nil || s.Fault == nil {
		return false
	}
	c := s.Fault.Injected()
	return c != nil && c.Kind == fault.BlackHole && fault.CanBlackHole() != nil
}

// runInNamespace calls this program once more, with the same arguments, in a
// network namespace of its own, and ends with its status.
func (c *command) runInNamespace(ctx context.Context) error {
	again, err := self()
	if err != nil {
		return err
	}
	cmd := exec.Command(again[0], append(again[1:], c.args...)...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env, c.stdin, c.stdout, c.stderr
	status, err := fault.InNamespace(ctx, cmd)
	switch {
	case err != nil:
		return err
	case status != 0:
		return statusError(status)
	}
	return nil
}
