package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// signals kills a process or freezes it.
type signals struct {
	config *Config
	victim *Victim
	handle *os.Process // a pidfd on Linux, from arming on
}

func (s *signals) detect(_ context.Context, e *entry) error {
	p, now, err := look(s.victim.PID)
	if err != nil {
		return err
	}
	switch {
	case p.PID == os.Getpid():
		return errors.New("the victim is this process")
	case now == 'Z' || now == 'X':
		return fmt.Errorf("%v has ended", p)
	case now == 'T' || now == 't':
		return fmt.Errorf("%v is stopped already, by somebody else", p)
	case stop == nil:
		return errors.ErrUnsupported
	}
	e.Process = p
	return nil
}

func (s *signals) arm(_ context.Context, e *entry) (err error) {
	s.handle, err = e.Process.hold()
	return err
}

func (s *signals) fire(context.Context) error {
	if s.config.Kind == Freeze {
		return s.handle.Signal(stop)
	}
	return s.handle.Kill()
}

func (s *signals) undo(ctx context.Context, e *entry) error {
	_, err := e.undo(ctx, false)
	return err
}

func (s *signals) probe(ctx context.Context) sight {
	return askHealth(ctx, s.victim.Addr, s.victim.Health)
}

func (s *signals) tell(r *Record) {
	if s.config.Kind == Kill {
		r.How, r.Ends = "SIGKILL by pidfd", "nobody: what is killed stays dead until it is started again"
		return
	}
	r.How, r.Ends = "SIGSTOP by pidfd", "this process, else the reaper (SIGCONT)"
}

func (s *signals) close() error {
	if s.handle == nil {
		return nil
	}
	return s.handle.Release()
}
