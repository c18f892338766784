package fault

import (
	"context"
	"time"

	"brunt/record"
)

// How often the victim is looked at. A frozen process finds every question of
// the meantime in its backlog, and a full backlog would change what others see:
// so probes are dense only where there is something to see.
const (
	densePace  = 10 * time.Millisecond
	laterPace  = 50 * time.Millisecond  // when what is due does not come
	seldomPace = 250 * time.Millisecond // while the fault lasts
	rarePace   = time.Second            // while it lasts long
	// commandPace is that of commands: starting a program costs milliseconds.
	commandPace = 100 * time.Millisecond
	// denseFor is how long probes stay dense when what is due does not come.
	denseFor = 5 * time.Second
	// ahead is how long before the expiry they are dense again.
	ahead = 30 * time.Millisecond
	// mostProbes bounds the probes under way.
	mostProbes = 32
)

// sight is what one probe has seen.
type sight struct {
	begun, ended time.Duration
	well         bool
	said         string // status 200, connection refused
	over         bool   // the probe was called off and saw nothing
}

// watch looks at the victim from the fire on, until its heal was seen.
func (f *Fault) watch(ctx context.Context) {
	defer close(f.seen)
	sights := make(chan sight, mostProbes)
	under, most := 0, mostProbes
	if len(f.config.Observe) > 0 {
		most = 1
	}
	timer := newTimer(0)
	defer timer.Stop()
	for !f.settled() {
		select {
		case <-ctx.Done():
		case s := <-sights:
			under--
			f.see(s)
			continue
		case <-f.woken:
		case <-timer.C:
		}
		if ctx.Err() != nil {
			break
		}
		if under < most {
			under++
			f.works.Go(func() { sights <- f.probe(ctx) })
		}
		timer.Reset(f.pace())
	}
	for ; under > 0; under-- { // one that was begun earlier may tell of an earlier effect
		f.see(<-sights)
	}
}

func (f *Fault) probe(ctx context.Context) sight {
	begun := f.env.Now()
	s := f.backend.probe(ctx)
	s.begun, s.ended, s.over = begun, f.env.Now(), ctx.Err() != nil
	return s
}

// see takes in what a probe has seen. Probes end in another order than they
// begin, so an effect may yet be moved to an earlier one.
func (f *Fault) see(s sight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := &f.record
	due := r.Expired
	if due == record.Never && f.config.For == 0 {
		due = r.Effect // nobody says when it ends
	}
	switch {
	case s.over || s.begun < r.Fired:
	case !s.well:
		if r.Heal == record.Never && (r.Effect == record.Never || s.begun < r.Effect) {
			r.Effect, r.EffectDetail = s.begun, s.said
		}
	case due != record.Never && s.ended >= due && s.begun > r.Effect:
		if r.Heal == record.Never || s.ended < r.Heal {
			r.Heal, r.HealDetail = s.ended, s.said
		}
	}
}

// settled reports whether all has been seen. A kill for ever has no heal, and
// yet somebody else may start the victim again: that is looked for until the
// fault is closed.
func (f *Fault) settled() bool {
	r := f.Record()
	return r.Heal != record.Never || f.neverHeals() && r.Effect != record.Never
}

func (f *Fault) neverHeals() bool { return f.config.Kind == Kill && f.config.For == 0 }

// pace is how long until the next probe.
func (f *Fault) pace() time.Duration {
	if len(f.config.Observe) > 0 {
		return commandPace
	}
	r, now := f.Record(), f.env.Now()
	late := func(since time.Duration) time.Duration {
		if now-since > denseFor {
			return laterPace
		}
		return densePace
	}
	switch {
	case r.Expired != record.Never:
		return late(r.Expired)
	case r.Effect == record.Never:
		return late(r.Fired)
	case f.config.For == 0:
		return late(r.Effect)
	}
	pace := seldomPace
	if now-r.Effect > 10*time.Second {
		pace = rarePace
	}
	left := r.Fired + f.config.For - now - ahead
	return max(densePace, min(pace, left))
}
