package lab

import (
	"brunt/record"
	"brunt/study"
)

// GuestNote says of a client that is not brunt's what its rows do not, over all
// repeats.
type GuestNote struct {
	Composition  string `json:"composition"`
	Unattributed int64  `json:"unattributed"` // attempts that belong to no request
	Unserved     int64  `json:"unserved"`     // requests that completed although no attempt of theirs did
	CutOff       int64  `json:"cut_off"`      // attempts that nobody had cancelled a horizon after the last context ended
}

// notDeterministic is why a run with a client of a Go test is not.
const notDeterministic = "a client in it is Go code of the user's own: it may draw from sources that no seed sets, and the Go runtime shuffles what falls on one instant"

// guestCounts gathers what the events of a guest tell of. Other rows it lets
// pass.
type guestCounts struct{ note GuestNote }

func newGuestCounts(s *study.Study, composition string) *guestCounts {
	if !s.HasGuest(composition) {
		return nil
	}
	return &guestCounts{GuestNote{Composition: composition}}
}

// Request implements [record.Sink].
func (*guestCounts) Request(*record.Request) {}

// Attempt implements [record.Sink].
func (*guestCounts) Attempt(*record.Attempt) {}

// Event implements [record.Sink].
func (g *guestCounts) Event(e *record.Event) {
	if e.What != record.WhatGuest {
		return
	}
	switch e.State {
	case guestStrangers:
		g.note.Unattributed += e.Value
	case guestUnserved:
		g.note.Unserved += e.Value
	case guestCutOff:
		g.note.CutOff += e.Value
	}
}

// guestNotes adds up what was noted of each guest.
func guestNotes(s *study.Study, outcomes []outcome) (list []GuestNote) {
	for i, name := range s.Compositions.Names() {
		if !s.HasGuest(name) {
			continue
		}
		sum := GuestNote{Composition: name}
		for k := i; k < len(outcomes); k += s.Compositions.Len() {
			if g := outcomes[k].guest; g != nil {
				sum.Unattributed += g.note.Unattributed
				sum.Unserved += g.note.Unserved
				sum.CutOff += g.note.CutOff
			}
		}
		list = append(list, sum)
	}
	return list
}

// guests tells of clients that are not brunt's.
func (f *finder) guests() {
	for _, g := range f.result.Guests {
		f.add("%s is run in a bubble of time. Not reproducible: %s.", g.Composition, notDeterministic)
		if g.Unattributed > 0 {
			f.add("%s made %s attempts that belong to no request, as their contexts had lost it: they reach the dependency and count among its attempts, but in no request's.", g.Composition, thousands(g.Unattributed))
		}
		if g.Unserved > 0 {
			f.add("%s says of %s requests that they completed, though none of their attempts did: it has an answer of its own, or does not look at the status of one.", g.Composition, thousands(g.Unserved))
		}
		if g.CutOff > 0 {
			f.add("%s left %s attempts open that no context of its own ended: they would have gone on for ever.", g.Composition, thousands(g.CutOff))
		}
	}
}
