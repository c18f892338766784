package measure

import (
	"fmt"
	"slices"
	"time"

	"brunt/record"
)

// Site is what was seen around a run on real targets: who had the requests,
// what was done to whom, and what came back when.
type Site struct {
	// Shares are of the requests of the baseline that a named replica answered; of
	// a run without a fault, of all.
	Shares []ReplicaShare `json:"shares"`
	// Unnamed counts attempts of that window that no replica is known of.
	Unnamed int64 `json:"unnamed"`
	// Undispatched counts attempts that the client never began to send.
	Undispatched int64 `json:"undispatched"`
	// Chunks are the gaps between the pieces of content of streams, pooled.
	Chunks []ChunkGaps `json:"chunks,omitempty"`
	// Fault is what a real fault went through; absent without one.
	Fault *RealFault `json:"fault,omitempty"`
	// Machines are the fingerprints of the machines that replicas ran on.
	Machines []string `json:"machines"`
}

// ReplicaShare is how much of the load one replica had.
type ReplicaShare struct {
	Replica  string   `json:"replica"`
	Requests int64    `json:"requests"`
	Share    *float64 `json:"share"` // of the requests of all named replicas
	// Waiting is the mean of the queue, as the replica told it.
	Waiting       *float64 `json:"waiting"`
	WaitingReason string   `json:"waiting_reason,omitempty"`
}

// ChunkGaps are the gaps between pieces of content in one window.
type ChunkGaps struct {
	Window WindowKind  `json:"window"` // "whole" without windows
	Gaps   int64       `json:"gaps"`
	Times  Percentiles `json:"times_ms"`
	// Name is "inter-token" only where every stream had one piece a token, by the
	// target's own count; else "inter-chunk".
	Name string `json:"name"`
}

// RealFault is what a real fault went through. Instants are null where they were
// not seen.
type RealFault struct {
	Victim   string        `json:"victim"`
	Planned  Millis        `json:"planned_ms"`
	Instants []SeenInstant `json:"instants"` // armed, fired, effect, expired, heal
	// Segments are the parts of the way back, one after the other where all were
	// seen.
	Segments []Segment `json:"segments"`
	// Stale is how long the front still sent requests to the victim.
	Stale       *Millis `json:"stale_ms"`
	StaleReason string  `json:"stale_reason,omitempty"`
	// Misrouted counts the requests that it sent there in that time.
	Misrouted int64 `json:"misrouted"`
	// How says how the fault was made, Ends who ends it; Lost counts the packets
	// that a black hole lost.
	How  string `json:"how"`
	Ends string `json:"ends"`
	Lost int64  `json:"packets_lost"`
}

// SeenInstant is an instant in the life of a fault.
type SeenInstant struct {
	What   string  `json:"what"`
	At     *Millis `json:"at_ms"`
	Reason string  `json:"reason,omitempty"`
}

// Segment is one part of the way back from a fault.
type Segment struct {
	Name   string  `json:"name"`
	From   *Millis `json:"from_ms"`
	To     *Millis `json:"to_ms"`
	Length *Millis `json:"length_ms"` // null: N/A
	Reason string  `json:"reason,omitempty"`
}

// SitePlan says what a site is held against.
type SitePlan struct {
	Replicas []string      // that should be there; none where nobody says
	Victim   string        // "" without a real fault
	Fire     time.Duration // as planned; record.Never without a fault
	Baseline Span          // the window of the shares
}

// SiteRecorder gathers a site from the rows of a run. It is a [record.Sink].
// One goroutine at a time may use it.
type SiteRecorder struct {
	plan SitePlan

	names        []string // of replicas, by number
	answered     map[int32]int64
	unnamed      int64
	undispatched int64
	gaps         []gap
	perToken     bool // every stream so far had one piece a token
	streams      bool
	open         []record.Request // at the fire
	routed       map[int64]string // where those were
	misrouted    []time.Duration
	waiting      map[string]*mean
	seen         map[string]time.Duration // the first sight of each state of the fault
	down         time.Duration            // of the victim, after the fire
	machines     []string
	made         record.Event     // how the fault was made
	tells        bool             // whether the front tells when it takes a replica out
	victims      []record.Attempt // that the victim completed after the fire
}

type gap struct{ intended, length time.Duration }

type mean struct {
	sum float64
	n   int64
}

// NewSiteRecorder returns a recorder for one run.
func NewSiteRecorder(p SitePlan) *SiteRecorder {
	return &SiteRecorder{
		plan: p, names: slices.Clone(p.Replicas), answered: map[int32]int64{}, routed: map[int64]string{},
		waiting: map[string]*mean{}, seen: map[string]time.Duration{}, down: record.Never, perToken: true,
	}
}

// Request implements [record.Sink].
func (r *SiteRecorder) Request(q *record.Request) {
	if f := r.plan.Fire; f != record.Never && q.Intended < f && q.End >= f {
		r.open = append(r.open, *q)
	}
}

// Attempt implements [record.Sink].
func (r *SiteRecorder) Attempt(a *record.Attempt) {
	if r.plan.Baseline.holds(a.Intended) && a.Why == record.First {
		if a.Replica == record.Unnamed {
			r.unnamed++
		} else {
			r.answered[a.Replica]++
		}
	}
	if a.Start >= r.plan.Fire && a.Cause == record.None && !a.Cancelled && r.plan.Victim != "" && r.name(a.Replica) == r.plan.Victim {
		r.victims = append(r.victims, record.Attempt{Start: a.Start, End: a.End})
	}
	if len(a.Gaps) == 0 {
		return
	}
	r.streams = true
	r.perToken = r.perToken && a.Tokens == int64(len(a.Gaps))+1
	for _, g := range a.Gaps {
		r.gaps = append(r.gaps, gap{a.Intended, g})
	}
}

// Event implements [record.Sink].
func (r *SiteRecorder) Event(e *record.Event) {
	switch e.What {
	case record.WhatReplica:
		for int64(len(r.names)) <= e.Value && e.Value < mostReplicas {
			r.names = append(r.names, "")
		}
		if 0 <= e.Value && e.Value < mostReplicas {
			r.names[e.Value] = e.State
		}
	case record.WhatUndispatched:
		r.undispatched += e.Value
	case record.WhatMachine:
		if !slices.Contains(r.machines, e.State) {
			r.machines = append(r.machines, e.State)
		}
	case record.WhatWaiting:
		if r.plan.Baseline.holds(e.At) {
			m := r.waiting[e.Stage]
			if m == nil {
				m = new(mean)
				r.waiting[e.Stage] = m
			}
			m.sum, m.n = m.sum+float64(e.Value), m.n+1
		}
	case record.WhatRoute:
		r.route(e)
	case record.WhatMade:
		r.made = *e
	case record.WhatFault, record.WhatProbe:
		if at, known := r.seen[e.State]; !known || e.At < at {
			r.seen[e.State] = e.At
		}
	}
}

// name is what a replica is called; "" where nobody says.
func (r *SiteRecorder) name(replica int32) string {
	if replica < 0 || int(replica) >= len(r.names) {
		return ""
	}
	return r.names[replica]
}

// restored is when the victim's answers came through the front again: by a
// probe, else by the first of the load that began once it was well.
func (r *SiteRecorder) restored(ready time.Duration) time.Duration {
	at := r.at("ready")
	if at != record.Never || ready == record.Never {
		return at
	}
	for _, a := range r.victims {
		if a.Start >= ready && (at == record.Never || a.End < at) {
			at = a.End
		}
	}
	return at
}

func (r *SiteRecorder) route(e *record.Event) {
	after := r.plan.Fire != record.Never && e.Stage == r.plan.Victim && e.At >= r.plan.Fire
	switch e.State {
	case "routed":
		if after {
			r.misrouted = append(r.misrouted, e.At)
		} else {
			r.routed[e.Value] = e.Stage
		}
	case "down":
		r.tells = true
		if after && r.down == record.Never {
			r.down = e.At
		}
	case "up":
		r.tells = true
	}
}

// at returns when a state of the fault was first seen, or record.Never.
func (r *SiteRecorder) at(state string) time.Duration {
	if at, ok := r.seen[state]; ok {
		return at
	}
	return record.Never
}

// Fired returns when the fault fired, as far as its victim goes; record.Never
// when that was not seen.
func (r *SiteRecorder) Fired() time.Duration { return r.at("fired") }

// InFlight counts the requests open at the fire, those of the victim apart
// where the front's log or the answers tell.
func (r *SiteRecorder) InFlight() InFlight {
	rows := make([]Row, 0, len(r.open))
	known := len(r.routed) > 0
	for i := range r.open {
		row := RowOf(&r.open[i])
		row.Target = 0
		if r.routed[r.open[i].Index] == r.plan.Victim {
			row.Target = 1
		}
		rows = append(rows, row)
	}
	var victim func(Row) bool
	if known || len(rows) == 0 {
		victim = func(row Row) bool { return row.Target == 1 }
	}
	return InFlightAt(rows, r.plan.Fire, victim, false)
}

// Site returns what was gathered. recovered is the instant of the return to the
// pre-fault baseline, or record.Never; windows cut the gaps of streams.
func (r *SiteRecorder) Site(windows []Window, recovered time.Duration) Site {
	s := Site{Undispatched: r.undispatched, Unnamed: r.unnamed, Machines: slices.Clone(r.machines), Shares: r.shares(), Chunks: r.chunks(windows)}
	if s.Machines == nil {
		s.Machines = []string{}
	}
	if r.plan.Victim != "" && r.plan.Fire != record.Never {
		s.Fault = r.fault(recovered)
	}
	return s
}

func (r *SiteRecorder) shares() []ReplicaShare {
	list := make([]ReplicaShare, len(r.names))
	total := int64(0)
	for i, name := range r.names {
		list[i] = ReplicaShare{Replica: name, Requests: r.answered[int32(i)]}
		total += list[i].Requests
	}
	for i := range list {
		if total > 0 {
			share := float64(list[i].Requests) / float64(total)
			list[i].Share = &share
		}
		if m := r.waiting[list[i].Replica]; m != nil {
			waiting := m.sum / float64(m.n)
			list[i].Waiting = &waiting
		} else {
			list[i].WaitingReason = "not measured: nobody asked this replica for its queue"
		}
	}
	return list
}

// chunks pools the gaps of each window.
func (r *SiteRecorder) chunks(windows []Window) []ChunkGaps {
	if !r.streams {
		return nil
	}
	name := "inter-chunk"
	if r.perToken {
		name = "inter-token"
	}
	if len(windows) == 0 {
		windows = []Window{{Kind: "whole", From: 0, To: 1<<63 - 1}}
	}
	var list []ChunkGaps
	for _, w := range windows {
		var in []int64
		for _, g := range r.gaps {
			if w.From <= g.intended && g.intended < w.To {
				in = append(in, int64(g.length))
			}
		}
		slices.Sort(in)
		list = append(list, ChunkGaps{
			Window: w.Kind, Gaps: int64(len(in)), Name: name,
			Times: percentilesOf(in, fmt.Sprintf("no stream of the %s window had a second piece of content", w.Kind)),
		})
	}
	return list
}

// fault puts the instants of the fault together.
func (r *SiteRecorder) fault(recovered time.Duration) *RealFault {
	f := &RealFault{Victim: r.plan.Victim, Planned: Millis(r.plan.Fire), How: r.made.State, Ends: r.made.Stage, Lost: r.made.Value}
	for _, what := range []string{"armed", "fired", "effect", "expired", "heal"} {
		at := r.at(what)
		i := SeenInstant{What: what, At: millisOf(at)}
		if at == record.Never {
			i.Reason = "not seen"
		}
		f.Instants = append(f.Instants, i)
	}
	effect := r.at("effect")
	until := r.down
	if until == record.Never && effect != record.Never {
		f.StaleReason = r.noDown()
	} else if effect == record.Never {
		f.StaleReason = "the effect of the fault was not seen"
	} else {
		f.Stale = millisOf(max(0, until-effect))
	}
	for _, at := range r.misrouted {
		if effect != record.Never && at >= effect && (until == record.Never || at < until) {
			f.Misrouted++
		}
	}
	f.Segments = r.segments(effect, recovered)
	return f
}

// noDown is why it is not known that the front took the victim out.
func (r *SiteRecorder) noDown() string {
	if r.tells {
		return "the front never took the victim out"
	}
	return "not measured: the front does not tell when it takes a replica out"
}

// ReadyToRestored is the segment from the first direct answer of the victim to
// the first one through the front.
const ReadyToRestored = "replica ready to traffic restored"

// segments cut the way back: noticed, started, ready, routed, recovered.
func (r *SiteRecorder) segments(effect, recovered time.Duration) []Segment {
	started := r.at("started")
	ready := r.at("heal")
	restored := r.restored(ready)
	expired := r.at("expired")
	began, beginning := started, "the victim was not started again"
	name := "start to replica ready"
	if started == record.Never && expired != record.Never {
		began, beginning, name = expired, "the fault did not end", "fault's end to replica ready"
	}
	list := []Segment{
		segment("effect to out of the front", effect, "no effect was seen", r.down, r.noDown()),
		segment("effect to start again", effect, "no effect was seen", started, "the victim was not started again"),
		segment(name, began, beginning, ready, "the victim never answered a direct probe again"),
		segment(ReadyToRestored, ready, "the victim never answered a direct probe again", restored, "the victim never answered through the front again"),
		segment("traffic restored to recovered", restored, "the victim never answered through the front again", recovered, "no return to the pre-fault baseline was observed"),
	}
	if last := &list[4]; last.Length != nil && *last.Length < 0 {
		last.Length, last.Reason = nil, "goodput was back before the victim was: the others carried the load"
	}
	return list
}

func segment(name string, from time.Duration, noFrom string, to time.Duration, noTo string) Segment {
	s := Segment{Name: name, From: millisOf(from), To: millisOf(to)}
	switch {
	case from == record.Never:
		s.Reason = noFrom
	case to == record.Never:
		s.Reason = noTo
	default:
		s.Length = inMillis(to - from)
	}
	return s
}

// millisOf returns an instant; nil for one that did not come.
func millisOf(d time.Duration) *Millis {
	if d == record.Never {
		return nil
	}
	return inMillis(d)
}

func inMillis(d time.Duration) *Millis {
	m := Millis(d)
	return &m
}
