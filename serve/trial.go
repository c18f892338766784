package serve

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
)

// trial is a study that was run with other values, and not written down.
type trial struct {
	id      string
	study   *study.Study
	command []string // brunt run …, which does the same
	page    []byte   // report.html
	started string   // RFC 3339
	kept    string   // the run that it was kept as; "" for none
}

// trials runs them, so many at once, and remembers the last ones.
type trials struct {
	slots chan struct{}

	mu      sync.Mutex
	waiting int
	last    []*trial // oldest first
}

// errBusy says that too many wait already.
var errBusy = errors.New("too many runs are waiting: try again when one has ended")

// enter waits for its turn. Who has had it calls leave.
func (t *trials) enter(ctx context.Context, most int) (leave func(), err error) {
	t.mu.Lock()
	if t.waiting >= most {
		t.mu.Unlock()
		return nil, errBusy
	}
	t.waiting++
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.waiting--
		t.mu.Unlock()
	}()
	select {
	case t.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return func() { <-t.slots }, nil
}

func (t *trials) remember(one *trial, most int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last = append(t.last, one); len(t.last) > most {
		t.last = slices.Clone(t.last[len(t.last)-most:])
	}
}

func (t *trials) find(id string) *trial {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.last {
		if one.id == id {
			return one
		}
	}
	return nil
}

// affordable refuses a study that makes too much work: by its requests, and by
// the attempts that they may come to.
func (l *limits) affordable(s *study.Study) error {
	each := s.Schedule().Expected()
	var requests, attempts int64
	for _, name := range s.Compositions.Names() {
		worst := max(s.Worst(name).Attempts, 1)
		if each > l.requests || worst > l.attempts {
			requests, attempts = l.requests+1, l.attempts+1
			break
		}
		requests += each * int64(s.Repeat)
		attempts += each * int64(s.Repeat) * worst
		if requests > l.requests || attempts > l.attempts {
			break
		}
	}
	switch {
	case requests > l.requests:
		return refusal(fmt.Sprintf("It makes more than %s requests, which is too much for a page. brunt run takes it.", thousands(l.requests)))
	case attempts > l.attempts:
		return refusal(fmt.Sprintf("Its requests may come to more than %s attempts, which is too much for a page. brunt run takes it.", thousands(l.attempts)))
	}
	return nil
}

// errSlow says that a trial took too long.
var errSlow = errors.New("it took too long")

// perform runs a study and makes its report. Its rows, which the pictures are
// made from, stand in a temporary folder meanwhile. It gives up when the context
// ends, and when it takes too long.
func (s *Server) perform(ctx context.Context, st *study.Study, command []string) (one *trial, result *lab.Result, env *lab.Environment, err error) {
	leave, err := s.trials.enter(ctx, s.limits.waiting)
	if err != nil {
		return nil, nil, nil, err
	}
	defer leave()
	path, err := os.MkdirTemp("", "brunt-serve-")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make room for the rows of a trial: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	var page bytes.Buffer
	err = s.runIn(ctx, path, st, command, func(_ *lab.Folder, r *lab.Result, e *lab.Environment) error {
		result, env = r, e
		return report.HTML(&page, r, e)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	one = &trial{id: rand.Text(), study: st, command: command, page: page.Bytes(), started: env.Started}
	s.trials.remember(one, s.limits.kept)
	return one, result, env, nil
}

// runIn runs a study into a folder and has something written there. A run that
// was cut short is an error.
func (s *Server) runIn(ctx context.Context, path string, st *study.Study, command []string, write func(*lab.Folder, *lab.Result, *lab.Environment) error) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.trial, errSlow)
	defer cancel()
	folder, err := lab.NewFolder(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	if err := folder.WriteStudy(st); err != nil {
		return err
	}
	result, env, err := lab.Run(ctx, st, lab.Options{Folder: folder, Rows: true, Instrument: s.config.Instrument, Command: command})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if err := folder.WriteEnvironment(env); err != nil {
		return err
	}
	return write(folder, result, env)
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
