package replica

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"brunt/chance"
	"brunt/clock"
	"brunt/dependency"
)

// engine decides: who gets a slot, which token is due when, what a mode does.
// It lives on one loop.
type engine struct {
	loop      *clock.Loop
	base      dependency.Behaviour // with workers
	model     *dependency.Model    // of an answer, up to its first token
	gaps      *dependency.Model    // of the gap before a token, as if it were an answer; nil without gaps
	station   *dependency.Station
	tokens    int
	mode      Mode
	since     time.Duration // when the mode began
	until     time.Duration // when it ends; below 0 for never
	lifted    clock.Timer
	calls     map[*call]struct{} // in flight, burnt ones too
	next      int64
	counts    Counts
	draining  bool
	abandoned bool
	graced    clock.Timer           // the end of the grace
	reading   map[*call]clock.Timer // answered, and their clients still read: when they are cut off
}

// Counts says what has become of requests so far.
type Counts struct {
	Requests  int64 `json:"requests"`  // taken in, refused ones too
	Completed int64 `json:"completed"` // answered to the last token
	Failed    int64 `json:"failed"`    // answered with 500
	Refused   int64 `json:"refused"`   // answered with 503: no room, or not ready
	Aborted   int64 `json:"aborted"`   // reset
	Left      int64 `json:"left"`      // their clients left before the end
	Tokens    int64 `json:"tokens"`    // that were due
}

func newEngine(loop *clock.Loop, c Config) *engine {
	e := &engine{
		loop: loop, base: staffed(c.Behaviour), mode: Normal, until: -1, tokens: 1,
		calls: map[*call]struct{}{}, reading: map[*call]clock.Timer{},
	}
	source := chance.New(c.Seed)
	first := e.base
	first.Tokens, first.TokenGap = nil, nil
	e.model = dependency.New(c.Name, first, source)
	if b := c.Behaviour; b.Tokens != nil {
		e.tokens = *b.Tokens
		if b.TokenGap != nil {
			gap := dependency.Behaviour{Latency: dependency.Every(b.TokenGap), Workers: e.base.Workers}
			e.gaps = dependency.New(c.Name+" gap", gap, source)
		}
	}
	e.station = dependency.NewStation(loop, &e.base)
	if c.LoadFor > 0 {
		e.become(Switch{Mode: Reload, For: c.LoadFor, Factor: 1})
	}
	return e
}

// become ends the present mode and begins another.
func (e *engine) become(s Switch) {
	if e.abandoned {
		return
	}
	e.loop.Cancel(e.lifted)
	e.lifted = clock.Timer{}
	before := e.mode
	e.mode, e.since, e.until = s.Mode, e.loop.Now(), -1
	if before == Stall && s.Mode != Stall {
		e.goOn()
	}
	switch s.Mode {
	case Slow:
		b := slowed(e.base, s.Factor)
		e.station.Become(&b)
	case Stall:
		e.halt()
	default:
		e.station.Become(&e.base)
	}
	switch s.Mode {
	case Abort:
		for _, c := range e.inFlight() {
			c.reset()
		}
	case Hang:
		for _, c := range e.inFlight() {
			c.silence()
		}
	}
	if s.For >= 0 && s.Mode != Normal {
		e.until = e.loop.Now() + s.For
		if s.For == 0 {
			e.lift()
			return
		}
		e.lifted = e.loop.At(e.until, clock.Timeline, clock.Func(e.lift))
	}
}

// lift ends a mode by itself.
func (e *engine) lift() { e.become(Switch{Mode: Normal, For: -1, Factor: 1}) }

// halt has everything stand still, from this instant.
func (e *engine) halt() {
	b := stalled(e.base)
	e.station.Become(&b)
	for _, c := range e.inFlight() {
		c.halt()
	}
}

// goOn ends a halt: tokens before the work, as they were scheduled.
func (e *engine) goOn() {
	for _, c := range e.inFlight() {
		c.goOn()
	}
	e.station.Become(&e.base)
}

// inFlight lists the calls in the order in which they came.
func (e *engine) inFlight() []*call {
	return slices.SortedFunc(maps.Keys(e.calls), func(a, b *call) int { return cmp.Compare(a.id, b.id) })
}

// arrive takes a request in.
func (e *engine) arrive(c *call) {
	c.engine, c.id, c.left = e, e.next, -1
	e.next++
	e.counts.Requests++
	switch {
	case e.abandoned:
		c.reset()
	case e.draining:
		c.refuse(draining, 0)
	case e.mode == Reload:
		c.refuse(loading, e.until-e.loop.Now())
	case e.mode == Error:
		c.fail(0)
	case e.mode == Hang:
		e.calls[c] = struct{}{}
		c.silent = true
	default:
		e.calls[c] = struct{}{}
		c.enter()
	}
}

// abandon ends everything at once.
func (e *engine) abandon() {
	e.abandoned = true
	e.loop.Cancel(e.lifted)
	e.loop.Cancel(e.graced)
	for _, c := range e.inFlight() {
		c.reset()
	}
	for c, timer := range e.reading {
		e.loop.Cancel(timer)
		delete(e.reading, c)
	}
	for _, c := range e.inFlight() { // those that nobody waits for
		c.gone()
	}
}

// ready reports whether new requests are let in.
func (e *engine) ready() bool { return e.mode != Reload && !e.draining }

// State is what a replica is at.
type State struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	Mode  Mode   `json:"mode"`
	// SinceMS is when the mode began, and UntilMS when it ends by itself, in
	// milliseconds since the replica's start; UntilMS is absent when it does not.
	SinceMS float64  `json:"since_ms"`
	UntilMS *float64 `json:"until_ms,omitempty"`
	NowMS   float64  `json:"now_ms"`
	// Working counts requests that hold a slot, Waiting those that wait for
	// one, Silent those that will never be answered.
	Working  int    `json:"working"`
	Waiting  int    `json:"waiting"`
	Silent   int    `json:"silent"`
	Draining bool   `json:"draining"`
	Counts   Counts `json:"counts"`
}

func (e *engine) state(name string) State {
	s := State{
		Name: name, Ready: e.ready(), Mode: e.mode, SinceMS: milliseconds(e.since), NowMS: milliseconds(e.loop.Now()),
		Draining: e.draining, Counts: e.counts,
	}
	if e.until >= 0 {
		until := milliseconds(e.until)
		s.UntilMS = &until
	}
	for c := range e.calls {
		if c.silent {
			s.Silent++
		}
		switch {
		case c.job.Waits():
			s.Waiting++
		case c.begun:
			s.Working++
		}
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
