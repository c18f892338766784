package lab

import (
	"math"
	"time"

	"brunt/record"
	"brunt/study"
)

// Replay says what a recording that stands in for a dependency is, how often it
// was drawn from in this run, and what that spared.
type Replay struct {
	Dependency string   `json:"dependency"`
	Phases     []string `json:"phases"` // of this run, in which it stands in
	Recording  Recorded `json:"recording"`
	// Drawn counts the attempts of this run that were replayed: in all
	// compositions and repeats.
	Drawn int64 `json:"drawn"`
	// DrawnCost is what those would have cost upstream.
	DrawnCost float64 `json:"drawn_cost"`
}

// Recorded says where a recording is from, and what it cost.
type Recorded struct {
	Study       string   `json:"study"`
	Started     *string  `json:"started"` // RFC 3339; null when the run does not say
	Target      string   `json:"target"`
	Simulated   bool     `json:"simulated"`         // the recording is one of a model, not of a real thing
	Invalid     bool     `json:"invalid"`           // that run's own instrument failed
	Phase       string   `json:"phase"`             // "whole" for all phases
	Composition string   `json:"composition"`       // "" for all compositions
	SHA256      string   `json:"sha256"`            // of the attempts that it was taken from
	Calls       int64    `json:"calls"`             // upstream, to make it
	Completed   int64    `json:"completed"`         // of the calls
	Cut         int64    `json:"cut"`               // of the calls: given up by their caller
	LeftOut     int64    `json:"left_out"`          // of the calls: failures of the instrument
	Kept        int64    `json:"kept"`              // of the calls: those drawn from
	Cost        float64  `json:"cost"`              // of the calls
	Longest     float64  `json:"longest_ms"`        // known of any call
	Endless     *float64 `json:"endless,omitempty"` // the share of draws that never end; null when every call has ended
}

// replays counts the attempts of one job that recordings stand in for. It is a
// sink for its rows.
type replays struct {
	starts []time.Duration // of the phases
	of     [][]int         // by target and phase, the position among the study's replays; -1 for none
	drawn  []drawn         // by that position
}

// drawn is how often a recording was drawn from.
type drawn struct {
	attempts int64
	cost     int64 // in billionths, so that the order of rows cannot change a digit
}

const billion = 1e9

// newReplays returns a sink for a study, nil when nothing is replayed.
func newReplays(s *study.Study) *replays {
	list := s.Replays()
	if len(list) == 0 {
		return nil
	}
	r := &replays{drawn: make([]drawn, len(list))}
	for i := range s.Phases {
		from, _ := s.Span(i)
		r.starts = append(r.starts, from)
	}
	for _, name := range s.Callees() {
		phases := make([]int, len(s.Phases))
		for i := range phases {
			phases[i] = -1
		}
		for at, of := range list {
			if of.Dependency == name {
				for _, i := range of.Phases {
					phases[i] = at
				}
			}
		}
		r.of = append(r.of, phases)
	}
	return r
}

// Request implements [record.Sink].
func (r *replays) Request(*record.Request) {}

// Event implements [record.Sink].
func (r *replays) Event(*record.Event) {}

// Attempt implements [record.Sink].
func (r *replays) Attempt(a *record.Attempt) {
	phase := len(r.starts) - 1
	for phase > 0 && a.Start < r.starts[phase] {
		phase--
	}
	if at := r.of[a.Dependency][phase]; at >= 0 {
		r.drawn[at].attempts++
		r.drawn[at].cost += int64(math.Round(a.Cost * billion))
	}
}

// replayed tells of the recordings of a study, and what all jobs drew from them.
func replayed(s *study.Study, outcomes []outcome) []Replay {
	var list []Replay
	for at, of := range s.Replays() {
		from := of.Recording.Origin
		longest, ends := of.Recording.Longest()
		r := Replay{Dependency: of.Dependency, Recording: Recorded{
			Study: from.Study, Target: from.Target, Simulated: from.Simulated, Invalid: from.Invalid, Phase: from.Phase, Composition: from.Composition, SHA256: from.SHA256,
			Calls: from.Calls, Completed: from.Completed, Cut: from.Cut, LeftOut: from.LeftOut, Kept: of.Recording.Kept(),
			Cost: from.Cost, Longest: float64(longest) / float64(time.Millisecond),
		}}
		if from.Phase == "" {
			r.Recording.Phase = whole
		}
		if from.Started != "" {
			r.Recording.Started = &from.Started
		}
		if !ends {
			endless := of.Recording.Endless()
			r.Recording.Endless = &endless
		}
		for _, i := range of.Phases {
			r.Phases = append(r.Phases, s.Phases[i].Name)
		}
		// where the study says what an attempt costs, those of the recording cost that too
		if b := s.Behaviour(of.Phases[0], of.Dependency); b.Cost != nil {
			r.Recording.Cost = *b.Cost * float64(from.Calls)
		}
		cost := int64(0)
		for i := range outcomes {
			if outcomes[i].replayed != nil {
				r.Drawn += outcomes[i].replayed.drawn[at].attempts
				cost += outcomes[i].replayed.drawn[at].cost
			}
		}
		r.DrawnCost = float64(cost) / billion
		list = append(list, r)
	}
	return list
}
