package fault

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"brunt/record"
)

// Victim is what a fault is done to.
type Victim struct {
	// Name is what reports call it.
	Name string
	// PID is its process. Kill and freeze need it.
	PID int
	// Addr is where it listens. Probes go there, and black_hole needs it.
	Addr netip.AddrPort
	// Health is the path that answers 2xx when the victim is well; "" for
	// /health.
	Health string
	// Control is where a brunt replica's control listens, for kind mode: an
	// address, or a URL before /mode.
	Control string
}

// Env is what a fault needs from its run.
type Env struct {
	// Now is the time since the start of the run. It is called from several
	// goroutines.
	Now func() time.Duration
	// Guard keeps the journal and the reaper.
	Guard *Guard
}

// backend makes one kind of fault. arm, fire and undo are not called at once
// with one another.
type backend interface {
	// detect finds out whether it can be done, without doing anything, and adds
	// what undoing it takes.
	detect(ctx context.Context, e *entry) error
	// arm prepares, once the journal holds the entry.
	arm(ctx context.Context, e *entry) error
	// fire sends the one message.
	fire(ctx context.Context) error
	// undo ends the fault. It may be called again after an error.
	undo(ctx context.Context, e *entry) error
	// probe tells whether the victim is well.
	probe(ctx context.Context) sight
	// tell adds to the record what only the backend knows.
	tell(r *Record)
	// close frees what is held. Nothing is called after it.
	close() error
}

// state is how far a fault has come.
type state int

const (
	idle state = iota
	armed
	fired
	undone
)

// Fault is one harm to one victim, once.
type Fault struct {
	config  Config
	victim  Victim
	env     Env
	backend backend
	entry   entry

	step   sync.Mutex // held by whoever arms, fires or undoes
	closed bool       // guarded by step
	// stop ends what goes on behind a fired fault. Guarded by step.
	stop  context.CancelFunc
	works sync.WaitGroup
	woken chan struct{} // tells the watch that the fault was undone
	seen  chan struct{} // closed when the watch has seen all there is to see

	mu     sync.Mutex // guards the rest; step is locked before it, never after
	state  state
	record Record
}

// New prepares nothing yet. The configuration has been checked.
func New(c *Config, v Victim, env Env) (*Fault, error) {
	if env.Now == nil || env.Guard == nil {
		return nil, errors.New("make a fault: it needs a clock and a guard")
	}
	f := &Fault{
		config: *c, victim: v, env: env, record: newRecord(c.Kind, v.Name),
		woken: make(chan struct{}, 1), seen: make(chan struct{}),
	}
	if f.victim.Health == "" {
		f.victim.Health = "/health"
	}
	f.entry = entry{Kind: c.Kind, Victim: v.Name, For: c.For}
	b, err := f.newBackend()
	if err != nil {
		return nil, fmt.Errorf("make the %s of %s: %w", c.Kind, v.Name, err)
	}
	f.backend = b
	return f, nil
}

func (f *Fault) newBackend() (backend, error) {
	c, v := &f.config, &f.victim
	probed := v.Addr.IsValid() && v.Addr.Port() != 0
	signals := &signals{config: c, victim: v}
	switch c.Kind {
	case Kill, Freeze:
		if v.PID <= 1 {
			return nil, fmt.Errorf("process %d: expected the victim's", v.PID)
		}
		if !probed {
			return nil, errNoAddress
		}
		return signals, nil
	case BlackHole:
		if !probed {
			return nil, errNoAddress
		}
		return &blackHole{config: c, victim: v}, nil
	case Mode:
		if v.Control == "" {
			return nil, errors.New("expected the address of the control of a brunt replica")
		}
		if !strings.Contains(v.Control, "://") {
			v.Control = "http://" + v.Control
		}
		return newModes(c, v), nil
	case Exec:
		if len(c.Observe) == 0 && !probed {
			return nil, fmt.Errorf("%w, or a command that observes it", errNoAddress)
		}
		return &commands{config: c, victim: v, run: f.env.Guard.Run()}, nil
	}
	return nil, fmt.Errorf("unknown kind %q", c.Kind)
}

var errNoAddress = errors.New("nobody could see its effect: expected an address of the victim")

// Arm prepares everything, so that firing is one message. It fails closed: when
// the fault cannot be done here, when the victim is not well, or when nobody
// would undo it. Nothing is left of it then.
func (f *Fault) Arm(ctx context.Context) error {
	f.step.Lock()
	defer f.step.Unlock()
	if s := f.at(); s != idle || f.closed {
		return f.wrong("arm", s)
	}
	if err := f.arm(ctx); err != nil {
		return fmt.Errorf("arm the %s of %s: %w", f.config.Kind, f.victim.Name, err)
	}
	f.advance(armed, func(r *Record) {
		r.Armed = f.env.Now()
		f.backend.tell(r)
	})
	return nil
}

func (f *Fault) arm(ctx context.Context) error {
	if err := f.backend.detect(ctx, &f.entry); err != nil {
		return err
	}
	if s := f.backend.probe(ctx); !s.well {
		return fmt.Errorf("the victim is not well before it: %s", s.said)
	}
	if err := f.env.Guard.add(f, &f.entry); err != nil {
		return err
	}
	err := f.backend.arm(ctx, &f.entry)
	if err == nil {
		return nil
	}
	failed := f.backend.undo(context.WithoutCancel(ctx), &f.entry)
	if failed == nil {
		failed = f.env.Guard.strike(f, &f.entry)
	}
	return errors.Join(err, failed)
}

// Fire makes the fault and returns once it is made. A command (kind exec) may
// take a while. After an error that stands behind the fire the fault counts as
// fired, and is to be undone.
func (f *Fault) Fire(ctx context.Context) error {
	f.step.Lock()
	defer f.step.Unlock()
	if s := f.at(); s != armed || f.closed {
		return f.wrong("fire", s)
	}
	if f.config.For > 0 {
		if err := f.env.Guard.firing(&f.entry); err != nil {
			return fmt.Errorf("fire the %s of %s: %w", f.config.Kind, f.victim.Name, err)
		}
	}
	deadline := wall().Add(f.config.For)
	at := f.env.Now()
	err := f.backend.fire(ctx)
	f.advance(fired, func(r *Record) {
		r.Fired = at
		f.backend.tell(r)
	})
	behind, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.works.Go(func() { f.watch(behind) })
	if f.config.For > 0 {
		f.works.Go(func() { f.keep(behind, at, deadline) })
	}
	if err != nil {
		return fmt.Errorf("fire the %s of %s: %w", f.config.Kind, f.victim.Name, err)
	}
	return nil
}

// endsItself is whether nobody has to end the fault.
func (f *Fault) endsItself() bool {
	switch f.config.Kind {
	case BlackHole, Mode, Kill:
		return true
	case Exec:
		return len(f.config.Undo) == 0
	}
	return false
}

// keep ends the fault at its time.
func (f *Fault) keep(ctx context.Context, at time.Duration, deadline time.Time) {
	timer := newTimer(deadline.Sub(wall()))
	defer timer.Stop()
	// The reaper knows it already; on the disk it is for people.
	if err := f.env.Guard.fired(&f.entry, deadline); err != nil {
		f.note(func(r *Record) { r.Problem = err.Error() })
	}
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	if f.endsItself() {
		f.note(func(r *Record) {
			if r.Expired == record.Never {
				r.Expired = at + f.config.For
			}
		})
		f.wake()
		return
	}
	if err := f.Undo(ctx); err != nil {
		f.note(func(r *Record) { r.Problem = err.Error() })
	}
}

// Undo ends the fault, if it has not ended, and removes what was prepared. It
// may be called at any time, and again.
func (f *Fault) Undo(ctx context.Context) error {
	f.step.Lock()
	defer f.step.Unlock()
	was := f.at()
	if was == idle || was == undone {
		return nil
	}
	at := f.env.Now()
	err := f.backend.undo(ctx, &f.entry)
	if err == nil {
		err = f.env.Guard.strike(f, &f.entry)
	}
	if err != nil {
		return fmt.Errorf("undo the %s of %s: %w", f.config.Kind, f.victim.Name, err)
	}
	f.advance(undone, func(r *Record) {
		if was == fired && r.Expired == record.Never && f.config.Kind != Kill {
			r.Expired = at
		}
		r.Undone = true
		f.backend.tell(r)
	})
	f.wake()
	return nil
}

// Wait waits until the probes have seen all there is to see: the effect, and
// the heal where one is to come.
func (f *Fault) Wait(ctx context.Context) error {
	select {
	case <-f.seen:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of the %s of %s: %w", f.config.Kind, f.victim.Name, context.Cause(ctx))
	}
}

// Record returns what has become of the fault so far.
func (f *Fault) Record() Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record
	r.Output = append([]string(nil), r.Output...)
	return r
}

// Close undoes the fault and ends its probes. After an error the journal still
// holds the undo, and the guard tries again. A second call does nothing.
func (f *Fault) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), reapWithin+f.config.Timeout)
	defer cancel()
	err := f.Undo(ctx)
	f.step.Lock()
	again, end := f.closed, f.stop
	f.closed = true // so that nothing starts from here on
	f.step.Unlock()
	if again {
		return nil
	}
	if end != nil {
		end()
	}
	f.works.Wait()
	return errors.Join(err, f.backend.close())
}

func (f *Fault) at() state {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *Fault) advance(to state, change func(*Record)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state = to
	change(&f.record)
}

func (f *Fault) note(change func(*Record)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.record)
}

func (f *Fault) wake() {
	select {
	case f.woken <- struct{}{}:
	default: // it is awake
	}
}

func (f *Fault) wrong(what string, is state) error {
	return fmt.Errorf("%s the %s of %s: it is %s", what, f.config.Kind, f.victim.Name, [...]string{"not armed", "armed already", "fired already", "undone"}[is])
}
