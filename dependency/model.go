package dependency

import (
	"time"

	"brunt/chance"
	"brunt/check"
	"brunt/record"
)

// Model is a running dependency. Its behaviour changes with [Model.Become].
type Model struct {
	id     uint64 // of its name: a draw depends on which dependency it is for
	chance chance.Source

	behaviour      Behaviour
	first, later   sampler
	firstToken     sampler
	gap            sampler
	tokens         int
	recording      *Recording // nil for times of the study's own
	cleanup        time.Duration
	cost           float64
	costs          bool // whether the study says what an attempt costs
	failFirst      int32
	failRatio      float64
	failAfter      time.Duration
	failsWithDrawn bool
	slowdown       float64
	retryAfter     time.Duration
	burns, heeds   bool
	wire           *Wire
}

// New returns a dependency that behaves in the given way.
func New(name string, b Behaviour, source chance.Source) *Model {
	m := &Model{id: chance.Name(name), chance: source}
	m.Become(b)
	return m
}

// Become changes the behaviour of attempts that start from now on. The
// behaviour must have passed its Check.
func (m *Model) Become(b Behaviour) {
	*m = Model{id: m.id, chance: m.chance, behaviour: b, tokens: 1, failsWithDrawn: true, slowdown: 1, burns: b.burns(), wire: b.Wire}
	if b.Latency != nil {
		m.first = b.Latency.of(0).sampler()
		m.later = b.Latency.of(1).sampler()
	}
	if b.FirstToken != nil {
		m.firstToken = b.FirstToken.sampler()
	}
	if b.TokenGap != nil {
		m.gap = b.TokenGap.sampler()
	}
	if b.Tokens != nil {
		m.tokens = *b.Tokens
	}
	if b.Replay != nil {
		m.recording = b.Replay.Recording
	}
	if b.CancelCleanup != nil {
		m.cleanup = *b.CancelCleanup
	}
	if b.Cost != nil {
		m.cost, m.costs = *b.Cost, true
	}
	if b.Slowdown != nil {
		m.slowdown = *b.Slowdown
	}
	if b.RetryAfter != nil {
		m.retryAfter = *b.RetryAfter
	}
	m.heeds = b.Deadline != nil && *b.Deadline == Heeded
	if f := b.Fail; f != nil {
		m.failFirst, m.failRatio = int32(f.First), f.Ratio
		if f.After != nil {
			m.failAfter, m.failsWithDrawn = *f.After, false
		}
	}
}

// Answer is what an attempt will get, unless it is cancelled first.
type Answer struct {
	Hangs      bool          // it never ends by itself
	Fails      bool          // it ends in a failure
	Cause      record.Cause  // of a failure that was recorded; record.None stands for what the wire says
	After      time.Duration // when it ends, from its start
	FirstToken time.Duration // from its start; record.Never but for streams
	Tokens     int64         // of the answer; 0 when they are not known
	Status     int32         // of a recorded answer; 0 for none
	Cleanup    time.Duration // how long it lives on when it is cancelled
	Cost       float64

	Refused    bool          // it fails at once, without a worker
	Scales     bool          // the times grow with the slowdown in force when a worker takes it up
	RetryAfter time.Duration // what a failure, or a lack of room, tells its caller to wait; 0 for nothing
	Burns      bool          // when it is cancelled it goes on to its end
	Heeds      bool          // it goes on no longer than to the deadline of its caller
	Replica    int32         // which replica has it, from 0
	Wire       *Wire         // what it looks like over HTTP; nil for the usual
}

// Failure returns why an answer that fails does.
func (a *Answer) Failure() record.Cause {
	if a.Cause == record.None {
		return a.Wire.Cause()
	}
	return a.Cause
}

// Answer decides on a request's nth attempt (from 0) at this dependency.
func (m *Model) Answer(request int64, nth int32) (a Answer) {
	m.answer(request, nth, &a)
	return a
}

func (m *Model) answer(request int64, nth int32, a *Answer) {
	*a = Answer{FirstToken: record.Never, Cleanup: m.cleanup, Cost: m.cost, RetryAfter: m.retryAfter, Burns: m.burns, Heeds: m.heeds, Wire: m.wire}
	switch b := &m.behaviour; {
	case is(b.Refuse):
		a.Fails, a.Refused = true, true
		return
	case is(b.Hang):
		a.Hangs = true
		return
	case b.FailAfter != nil:
		a.Fails, a.After = true, *b.FailAfter
		return
	}
	a.Fails = nth < m.failFirst ||
		m.failRatio > 0 && m.chance.Draw(chance.Fail, request, m.id, uint64(nth)).Float() < m.failRatio
	if a.Fails && !m.failsWithDrawn {
		a.After = m.failAfter
		return
	}
	if m.recording != nil {
		m.replay(a, m.chance.Draw(chance.Replay, request, m.id, uint64(nth)))
	} else if m.firstToken != nil {
		m.stream(a, m.chance.Draw(chance.Token, request, m.id, uint64(nth)))
	} else if m.first != nil { // a service may do nothing of its own
		sample := m.later
		if nth == 0 {
			sample = m.first
		}
		a.After = sample(m.chance.Draw(chance.Latency, request, m.id, uint64(nth)))
	}
	if m.behaviour.Workers != nil {
		a.Scales = true // by how slow the workers are when they take it up
		return
	}
	if m.slowdown != 1 {
		a.After = nanoseconds(float64(a.After) * m.slowdown)
		if a.FirstToken != record.Never {
			a.FirstToken = nanoseconds(float64(a.FirstToken) * m.slowdown)
		}
	}
}

func (m *Model) stream(a *Answer, draw chance.Draw) {
	a.FirstToken = m.firstToken(draw)
	a.After = a.FirstToken
	for range m.tokens - 1 {
		draw = draw.Next()
		a.After = min(a.After+m.gap(draw), check.Longest) // sums of absurd gaps must not overflow
	}
	if a.Fails {
		a.FirstToken = record.Never // no token of an answer that failed counts
		return
	}
	a.Tokens = int64(m.tokens)
}
