package lab

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"brunt/clock"
	"brunt/fault"
	"brunt/record"
	"brunt/study"
)

// site is what goes on around one run on real targets beside its requests: the
// fault, the probes, and what the testbed says of itself. All of it becomes
// events of the run, so that a report can be made again from the rows.
type site struct {
	stand  *stand
	study  *study.Study
	runner *runner
	fault  *fault.Fault // nil without one
	victim string

	ctx     context.Context
	cancel  context.CancelFunc
	aborted func() bool // whether the run is being ended early
	work    sync.WaitGroup

	seen map[string]bool // states of the fault that were told of; of one goroutine at a time

	mu   sync.Mutex
	came []record.Event // guarded by mu: not told of yet
	errs []error        // guarded by mu
}

// arm prepares a run: its fault is armed before the first request. A site must
// be closed.
func (t *stand) arm(ctx context.Context) (*site, error) {
	if t == nil {
		return nil, nil
	}
	s := &site{stand: t, study: t.study, victim: t.study.VictimName(), seen: map[string]bool{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.aborted = func() bool { return ctx.Err() != nil }
	if t.study.Fault == nil || t.study.Fault.Injected() == nil {
		return s, nil
	}
	victim, err := s.who()
	if err == nil {
		s.fault, err = fault.New(t.study.Fault.Injected(), victim, fault.Env{Now: t.now, Guard: t.guard})
	}
	if err == nil {
		err = s.fault.Arm(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("arm the fault: %w", err), s.close())
	}
	return s, nil
}

// who says what the fault needs to know of its victim.
func (s *site) who() (fault.Victim, error) {
	v := fault.Victim{Name: s.victim}
	if bed := s.stand.bed; bed != nil {
		p, _ := bed.Replica(s.victim)
		at, err := netip.ParseAddrPort(p.Listen)
		if err != nil {
			return v, fmt.Errorf("replica %s: %w", s.victim, err)
		}
		v.PID, v.Addr, v.Control = p.PID, at, p.Control
		return v, nil
	}
	named := s.study.Fault.Victim
	if named == nil {
		return v, nil
	}
	v.PID, v.Health = named.PID, named.Health
	if named.Address != "" {
		var err error
		if v.Addr, err = netip.ParseAddrPort(named.Address); err != nil {
			return v, fmt.Errorf("the victim's address: %w", err)
		}
	}
	return v, nil
}

// begin puts what will happen on the runner's timeline.
func (s *site) begin(r *runner) {
	if s == nil {
		return
	}
	s.runner = r
	if bed := s.stand.bed; bed != nil {
		for i, name := range s.study.Testbed.ReplicaNames() {
			r.replicas[name] = int32(i)
		}
		r.loop.At(0, clock.Timeline, clock.Func(func() {
			for i, name := range s.study.Testbed.ReplicaNames() {
				r.tell(record.Event{At: r.loop.Now(), What: record.WhatReplica, State: name, Value: int64(i)})
				r.tell(record.Event{At: r.loop.Now(), What: record.WhatMachine, Stage: name, State: fingerprint()})
			}
			s.work.Go(s.watchQueues)
		}))
	}
	layout, ok := s.study.Layout()
	if !ok || s.fault == nil {
		return
	}
	s.work.Go(s.undoEarly)
	// Aborting the run takes these back: a fault that has not fired then never does.
	r.timeline = append(r.timeline, r.loop.At(layout.Anchor, clock.Timeline, clock.Func(func() {
		s.work.Go(func() { s.fail("fire the fault", s.fault.Fire(s.ctx)) })
		s.work.Go(s.watchFault)
		if s.stand.bed != nil {
			s.work.Go(s.watchReturn)
		}
	})))
	if c := s.study.Fault.Injected(); c.Kind == fault.Kill && c.For > 0 && s.stand.bed != nil {
		r.timeline = append(r.timeline, r.loop.At(layout.Anchor+c.For, clock.Timeline, clock.Func(func() {
			s.work.Go(s.restart)
		})))
	}
}

// undoEarly ends the fault as soon as the run is aborted: whoever does that wants
// the harm to stop, and not once everything has drained.
func (s *site) undoEarly() {
	<-s.ctx.Done()
	if !s.aborted() {
		return // the run has ended by itself
	}
	err := s.fault.Undo(context.WithoutCancel(s.ctx))
	s.mu.Lock()
	s.errs = append(s.errs, err)
	s.mu.Unlock()
}

// restart starts the killed replica again.
func (s *site) restart() {
	if err := s.stand.bed.Restart(s.ctx, s.victim); err != nil {
		s.fail("start the victim again", err)
		return
	}
	s.tell(record.Event{At: s.stand.now(), What: record.WhatFault, Stage: s.victim, State: StateStarted})
}

// fail keeps what went wrong, for the end of the run. Giving up is no fault.
func (s *site) fail(what string, err error) {
	if err == nil || s.ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	s.errs = append(s.errs, fmt.Errorf("%s: %w", what, err))
	s.mu.Unlock()
}

// tell writes an event of the run. Any goroutine may call it.
func (s *site) tell(e record.Event) {
	s.mu.Lock()
	s.came = append(s.came, e)
	first := len(s.came) == 1
	s.mu.Unlock()
	if first {
		s.runner.loop.Post(s.hand)
	}
}

// hand writes what has come, on the loop or after it.
func (s *site) hand() {
	s.mu.Lock()
	all := s.came
	s.came = nil
	s.mu.Unlock()
	for _, e := range all {
		s.runner.tell(e)
	}
}

// end is called when the run has drained: the fault is undone, if it is still
// on, and everything that was seen is written.
func (s *site) end() error {
	if s == nil || s.runner == nil {
		return nil
	}
	s.cancel()
	s.work.Wait()
	if s.fault != nil {
		s.mu.Lock()
		s.errs = append(s.errs, s.fault.Undo(context.WithoutCancel(s.ctx)))
		s.mu.Unlock()
		s.tellFault(s.fault.Record())
	}
	s.hand()
	s.mu.Lock()
	defer s.mu.Unlock()
	errs := append(s.errs, s.fallen(), s.tellRoutes())
	s.errs = nil
	return errors.Join(errs...)
}

// fallen tells of processes of the testbed that have ended, and that nobody was
// to end: the run was not of what the study describes.
func (s *site) fallen() error {
	if s.stand.bed == nil {
		return nil
	}
	var harm fault.Config
	if s.fault != nil {
		harm = *s.study.Fault.Injected()
	}
	var errs []error
	for _, p := range s.stand.bed.Ended() {
		if harm.Kind == fault.Exec || harm.Kind == fault.Kill && p.Name == s.victim {
			continue // commands may end anything
		}
		errs = append(errs, fmt.Errorf("%s of the testbed ended in the middle of the run: %s", p.Name, p.Said))
	}
	return errors.Join(errs...)
}

// close ends what is left of a site, whatever became of the run.
func (s *site) close() error {
	if s == nil {
		return nil
	}
	s.cancel()
	s.work.Wait()
	if s.fault == nil {
		return nil
	}
	return errors.Join(s.fault.Undo(context.WithoutCancel(s.ctx)), s.fault.Close())
}

// The states of a real fault, in events.
const (
	StateArmed   = "armed"
	StateFired   = "fired"
	StateEffect  = "effect"
	StateExpired = "expired"
	StateHeal    = "heal"
	StateStarted = "started" // the victim's process, again
	StateReady   = "ready"   // the victim answers through the front
)

// watchFault writes what the fault goes through as it does, so that a run that is
// killed knows of it.
func (s *site) watchFault() {
	s.every(probeEvery, func(context.Context) bool {
		s.tellStates(s.fault.Record())
		return false
	})
}

// tellFault writes how the fault was made, and what was not told of yet.
func (s *site) tellFault(f fault.Record) {
	s.tellStates(f)
	s.tell(record.Event{At: s.stand.now(), What: record.WhatMade, State: f.How, Stage: f.Ends, Value: int64(f.DroppedTo + f.DroppedFrom)})
}

func (s *site) tellStates(f fault.Record) {
	for _, one := range []struct {
		state string
		at    time.Duration
	}{{StateArmed, f.Armed}, {StateFired, f.Fired}, {StateEffect, f.Effect}, {StateExpired, f.Expired}, {StateHeal, f.Heal}} {
		if one.at != record.Never && !s.seen[one.state] {
			s.seen[one.state] = true
			s.tell(record.Event{At: max(one.at, 0), What: record.WhatFault, Stage: s.victim, State: one.state})
		}
	}
}

const (
	queueEvery = time.Second            // replicas are asked for their queues
	probeEvery = 50 * time.Millisecond  // from the fire on
	probeFor   = 500 * time.Millisecond // a probe that takes longer has failed
)

// every calls f again and again until the run is over, or f is done.
func (s *site) every(d time.Duration, f func(ctx context.Context) (done bool)) {
	for s.ctx.Err() == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		late := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(late)
			select {
			case <-wallAfter(probeFor):
				cancel()
			case <-ended:
			}
		}()
		next := wallAfter(d)
		done := f(ctx)
		close(ended)
		cancel()
		<-late
		if done {
			return
		}
		select {
		case <-next:
		case <-s.ctx.Done():
		}
	}
}

// watchQueues writes how many requests wait in each replica, once a second.
func (s *site) watchQueues() {
	s.every(queueEvery, func(ctx context.Context) bool {
		for _, name := range s.study.Testbed.ReplicaNames() {
			if state, err := s.stand.bed.ReplicaState(ctx, name); err == nil {
				s.tell(record.Event{At: s.stand.now(), What: record.WhatWaiting, Stage: name, Value: int64(state.Waiting)})
			}
		}
		return false
	})
}

// watchReturn probes the front once the victim itself has been seen to be well
// again, until one of its answers comes through.
func (s *site) watchReturn() {
	s.every(probeEvery, func(ctx context.Context) bool {
		if s.fault.Record().Heal == record.Never {
			return false
		}
		// As many probes as there are replicas: one of them is the victim's when it
		// takes part.
		for range s.study.Testbed.Replicas {
			if name, ok := s.stand.bed.Through(ctx); ok && name == s.victim {
				s.tell(record.Event{At: s.stand.now(), What: record.WhatProbe, Stage: s.victim, State: StateReady})
				return true
			}
		}
		return false
	})
}
