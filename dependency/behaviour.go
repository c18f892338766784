// Package dependency simulates what a caller depends on: how long an answer
// takes, and when it does not come.
//
// A [Behaviour] is the configuration, a [Model] the running dependency. It
// lives on one [clock.Loop]. A [Cluster] is a dependency with its replicas and
// its balancer, a [Station] the workers and the queue of one replica.
package dependency

import (
	"time"

	"brunt/check"
)

// Behaviour says how a dependency answers. A phase that names a setting
// replaces it as a whole from its start on; an attempt keeps the behaviour of
// the phase in which it started.
//
// An attempt is judged in this order: refuse, hang, fail_after, fail (first,
// then ratio), else it succeeds after the latency, or is what was recorded.
type Behaviour struct {
	// How long an answer takes: a duration, a distribution, or first and later by the attempt's number within its request.
	Latency *ByAttempt `yaml:"latency"`
	// Which attempts fail.
	Fail *Fail `yaml:"fail"`
	// Every attempt fails, this long after its start.
	FailAfter *time.Duration `yaml:"fail_after"`
	// No attempt is ever answered.
	Hang *bool `yaml:"hang"`
	// Every attempt fails at once.
	Refuse *bool `yaml:"refuse"`
	// How long a cancelled attempt lives on before the dependency is rid of it.
	CancelCleanup *time.Duration `yaml:"cancel_cleanup"`
	// What an attempt costs, in any unit.
	Cost *float64 `yaml:"cost"`
	// For streams: how long the first token takes. Then token_gap and tokens make up the rest; latency is not used.
	FirstToken *Latency `yaml:"first_token"`
	// For streams: the time between two tokens, drawn for each gap.
	TokenGap *Latency `yaml:"token_gap"`
	// For streams: how many tokens an answer has.
	Tokens *int `yaml:"tokens"`
	// A recording that stands in for the dependency, in place of latency or first_token: the folder of a run, or a mapping.
	Replay *Replay `yaml:"replay"`
	// Every time that is drawn for an answer is this many times as long. With workers it is they who are slow: it counts when one takes an attempt up, so a backlog is worked off at the speed of the day.
	Slowdown *float64 `yaml:"slowdown"`
	// What an attempt that fails, or finds no room, is told to wait before it is made again.
	RetryAfter *time.Duration `yaml:"retry_after"`
	// How many attempts are worked on at once, by each replica. Without it nothing waits for anything else.
	Workers *int `yaml:"workers"`
	// How many attempts may wait for a worker, at each replica: a number, or unbounded, which it is when left out.
	Queue *Room `yaml:"queue"`
	// Which attempt a worker takes up next: fifo (when left out), lifo or codel.
	Discipline *Discipline `yaml:"discipline"`
	// The settings of discipline codel.
	Codel *Codel `yaml:"codel"`
	// What becomes of an attempt that its caller has given up: stops, or burns a worker's time to its end. Left out, it burns with workers and at services, and stops elsewhere.
	OnCancel *OnCancel `yaml:"on_cancel"`
	// Whether the deadline of its caller is known: heeded (nothing is done for an attempt after it) or, when left out, ignored.
	Deadline *Deadline `yaml:"deadline"`
	// Whether all workers stand still. What they were at goes on afterwards.
	Paused *bool `yaml:"paused"`
	// How many replicas there are, each with workers and a queue of its own. Left out, there is one.
	Replicas *int `yaml:"replicas"`
	// How attempts are spread over replicas.
	Balancer *Balancer `yaml:"balancer"`
	// What is different about single replicas.
	Replica []Replica `yaml:"replica"`
	// What its answers look like where it is served over HTTP.
	Wire *Wire `yaml:"wire"`
}

// Fail says which attempts fail.
type Fail struct {
	// This share of the attempts fails, drawn for each.
	Ratio float64 `yaml:"ratio"`
	// The first so many attempts of each request fail.
	First int `yaml:"first"`
	// How long after its start an attempt fails. Without it, when its answer would have come.
	After *time.Duration `yaml:"after"`
}

// ByAttempt is a latency that may differ between the first attempt of a
// request and later ones.
type ByAttempt struct {
	// The latency of the first attempt of each request.
	First *Latency `yaml:"first"`
	// The latency of every further attempt.
	Later *Latency `yaml:"later"`
	Latency
}

// Every returns the latency that is the same for every attempt.
func Every(l *Latency) *ByAttempt { return &ByAttempt{Latency: *l} }

// Check reports what is wrong with the settings.
func (b *ByAttempt) Check(p check.Problems) {
	if b.First == nil && b.Later == nil {
		b.Latency.Check(p)
		return
	}
	if b.Latency != (Latency{}) {
		p.Add("", nil, "has first or later beside a distribution: expected one or the other")
	}
	b.First.checkPart(p.In("first"))
	b.Later.checkPart(p.In("later"))
}

func (l *Latency) checkPart(p check.Problems) {
	if l == nil {
		p.Add("", nil, "missing: first and later go together")
		return
	}
	l.Check(p)
}

// of returns the latency of a request's nth attempt (from 0).
func (b *ByAttempt) of(nth int32) *Latency {
	switch {
	case b.First == nil:
		return &b.Latency
	case nth == 0:
		return b.First
	}
	return b.Later
}

// Over returns base with the settings of b in place of its own.
//
// How an answer is made is one thing, however it is written: a recording takes
// the place of times, and times that of a recording.
func (b Behaviour) Over(base Behaviour) Behaviour {
	if b.Replay != nil {
		base.Latency, base.FirstToken, base.TokenGap, base.Tokens = nil, nil, nil, nil
	} else if b.Latency != nil || b.FirstToken != nil {
		base.Replay = nil
	}
	replace(&base.Replay, b.Replay)
	replace(&base.Latency, b.Latency)
	replace(&base.Fail, b.Fail)
	replace(&base.FailAfter, b.FailAfter)
	replace(&base.Hang, b.Hang)
	replace(&base.Refuse, b.Refuse)
	replace(&base.CancelCleanup, b.CancelCleanup)
	replace(&base.Cost, b.Cost)
	replace(&base.FirstToken, b.FirstToken)
	replace(&base.TokenGap, b.TokenGap)
	replace(&base.Tokens, b.Tokens)
	replace(&base.Slowdown, b.Slowdown)
	replace(&base.RetryAfter, b.RetryAfter)
	replace(&base.Workers, b.Workers)
	replace(&base.Queue, b.Queue)
	replace(&base.Discipline, b.Discipline)
	replace(&base.Codel, b.Codel)
	replace(&base.OnCancel, b.OnCancel)
	replace(&base.Deadline, b.Deadline)
	replace(&base.Paused, b.Paused)
	replace(&base.Replicas, b.Replicas)
	replace(&base.Balancer, b.Balancer)
	replace(&base.Wire, b.Wire)
	if b.Replica != nil {
		base.Replica = b.Replica
	}
	return base
}

func replace[T any](old **T, with *T) {
	if with != nil {
		*old = with
	}
}

// leastCost is the least cost above 0: costs are added up in billionths.
const leastCost = 1e-9

// Check reports what is wrong with the settings of an override, which may
// leave out any of them.
func (b *Behaviour) Check(p check.Problems) {
	if b.Latency != nil {
		b.Latency.Check(p.In("latency"))
	}
	if b.Fail != nil {
		check.Between(p, "fail.ratio", b.Fail.Ratio, 0, 1)
		check.Between(p, "fail.first", b.Fail.First, 0, 1e6)
		if b.Fail.After != nil {
			p.NotNegative("fail.after", *b.Fail.After)
		}
	}
	if b.FailAfter != nil {
		p.NotNegative("fail_after", *b.FailAfter)
	}
	if b.CancelCleanup != nil {
		p.NotNegative("cancel_cleanup", *b.CancelCleanup)
	}
	if b.Cost != nil {
		check.Between(p, "cost", *b.Cost, 0, 1e6)
		if c := *b.Cost; c > 0 && c < leastCost {
			p.Add("cost", c, "expected 0, or at least 0.000000001")
		}
	}
	if b.FirstToken != nil {
		b.FirstToken.Check(p.In("first_token"))
	}
	if b.TokenGap != nil {
		b.TokenGap.Check(p.In("token_gap"))
	}
	if b.Tokens != nil {
		check.Between(p, "tokens", *b.Tokens, 1, 1e5)
	}
	if b.Replay != nil {
		b.Replay.Check(p.In("replay"))
	}
	if b.Wire != nil {
		b.Wire.Check(p.In("wire"))
	}
	b.checkCapacity(p)
}

// CheckWhole reports what is wrong with a behaviour that must be complete.
func (b *Behaviour) CheckWhole(p check.Problems) {
	b.Check(p)
	stream := b.FirstToken != nil
	b.checkReplay(p)
	switch {
	case b.Replay != nil:
	case b.Latency == nil && !stream && !b.decided():
		p.Add("latency", nil, "missing: expected how long an answer takes, such as 5ms")
	case b.Latency != nil && stream:
		p.Add("latency", "given", "first_token is given too: expected latency, or first_token with token_gap and tokens")
	case !stream && (b.TokenGap != nil || b.Tokens != nil):
		p.Add("first_token", nil, "missing: token_gap and tokens describe a stream, which begins with first_token")
	case stream && b.Tokens != nil && *b.Tokens > 1 && b.TokenGap == nil:
		p.Add("token_gap", nil, "missing: expected the time between two of the %d tokens", *b.Tokens)
	}
	b.checkWholeCapacity(p)
}

// NeverSucceeds reports whether no attempt can succeed, wherever it goes.
func (b *Behaviour) NeverSucceeds() bool {
	return b.decided() || b.Fail != nil && b.Fail.Ratio >= 1 || b.Replay != nil && !b.Replay.Recording.succeeds()
}

// Replays reports whether attempts are those of a recording.
func (b *Behaviour) Replays() bool { return b.Replay != nil && !b.decided() }

// decided reports whether every attempt ends the same way, whatever the
// latency.
func (b *Behaviour) decided() bool { return is(b.Refuse) || is(b.Hang) || b.FailAfter != nil }

func is(b *bool) bool { return b != nil && *b }

// Worst is the longest time of an answer, and whether there is such a bound.
func (b *Behaviour) Worst() (longest time.Duration, bounded bool) {
	switch {
	case is(b.Refuse):
		return 0, true
	case b.Workers != nil && (b.Queue == nil || *b.Queue != 0): // the wait has no bound worth the name
		return 0, false
	case is(b.Hang):
		return 0, false
	case b.FailAfter != nil:
		return *b.FailAfter, true
	}
	add := func(l *Latency, times int) {
		d, ok := l.longest()
		for range times {
			longest = min(longest+d, check.Longest) // as the model does
		}
		bounded = bounded && ok
	}
	bounded = true
	switch {
	case b.Replay != nil:
		longest, bounded = b.Replay.Recording.Longest()
	case b.FirstToken != nil:
		add(b.FirstToken, 1)
		if b.TokenGap != nil && b.Tokens != nil {
			add(b.TokenGap, *b.Tokens-1)
		}
	case b.Latency == nil:
		return 0, false
	case b.Latency.First != nil:
		first, okFirst := b.Latency.First.longest()
		later, okLater := b.Latency.Later.longest()
		longest, bounded = max(first, later), okFirst && okLater
	default:
		add(&b.Latency.Latency, 1)
	}
	if b.Fail != nil && b.Fail.After != nil {
		longest = max(longest, *b.Fail.After)
	}
	if b.Slowdown != nil {
		longest = nanoseconds(float64(longest) * *b.Slowdown)
	}
	for i := range b.Replica {
		one := b.Of(b.Replica[i].Number - 1)
		d, ok := one.Worst()
		longest, bounded = max(longest, d), bounded && ok
	}
	return longest, bounded
}

// Random reports whether the behaviour takes chance.
func (b *Behaviour) Random() bool {
	if b.replicas() > 1 && b.Balancer != nil && b.Balancer.Kind != RoundRobin {
		return true
	}
	for i := range b.Replica {
		if b.Replica[i].Random() {
			return true
		}
	}
	if b.Fail != nil && b.Fail.Ratio > 0 && b.Fail.Ratio < 1 {
		return true
	}
	if b.Latency != nil {
		if b.Latency.First != nil {
			if b.Latency.First.random() || b.Latency.Later.random() {
				return true
			}
		} else if b.Latency.random() {
			return true
		}
	}
	return b.FirstToken.random() || b.TokenGap.random() || b.Replays() && b.Replay.Recording.varies()
}
