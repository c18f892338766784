package lab

import (
	"fmt"
	"slices"
	"strings"

	"brunt/measure"
	"brunt/record"
	"brunt/study"
	"brunt/target"
)

// GuestNote says of a client that is not brunt's what its rows do not, over all
// repeats.
type GuestNote struct {
	Composition string `json:"composition"`
	measure.Guest
}

// notDeterministic is why a run with a Go client in a bubble is not.
const notDeterministic = "a client in it is Go code that is not brunt's: it may draw from sources that no seed sets, and the Go runtime shuffles what falls on one instant"

// guestCounts gathers what the events of a guest tell of. Other rows it lets
// pass.
type guestCounts struct {
	measure.Guest
	told bool // a run tells at its end, and so not all do
}

func newGuestCounts(s *study.Study, composition string) *guestCounts {
	if !s.HasGuest(composition) {
		return nil
	}
	return &guestCounts{}
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
	if n := guestCount(&g.Guest, e.State); n != nil {
		*n += e.Value
		g.told = true
	}
}

// guestStates are the states of the events of a guest, whose values are counts.
var guestStates = []string{"unattributed", "late", "unserved", "unheard", "cut off"}

// guestCount is the count that an event of this state tells of; nil for an
// unknown one.
func guestCount(g *measure.Guest, state string) *int64 {
	counts := []*int64{&g.Unattributed, &g.Late, &g.Unserved, &g.Unheard, &g.CutOff}
	if i := slices.Index(guestStates, state); i >= 0 {
		return counts[i]
	}
	return nil
}

// guestNotes adds up what was noted of each guest.
func guestNotes(s *study.Study, outcomes []outcome) (list []GuestNote) {
	for i, name := range s.Compositions.Names() {
		if !s.HasGuest(name) {
			continue
		}
		sum, told := GuestNote{Composition: name}, false
		for k := i; k < len(outcomes); k += s.Compositions.Len() {
			if g := outcomes[k].composition.Guest; g != nil {
				told = true
				for _, state := range guestStates {
					*guestCount(&sum.Guest, state) += *guestCount(g, state)
				}
			}
		}
		if told {
			list = append(list, sum)
		}
	}
	return list
}

// guests tells of clients that are not brunt's.
func (f *finder) guests() {
	if len(f.result.Guests) > 0 && f.study.Clock == study.Virtual {
		var names []string
		for _, g := range f.result.Guests {
			names = append(names, g.Composition)
		}
		f.add("Not reproducible, as they run in a bubble of time: %s. %s.", and(names), strings.ToUpper(notDeterministic[:1])+notDeterministic[1:])
	}
	for _, c := range f.result.Compositions { // of the first repeat, as all sentences
		if c.Guest == nil {
			continue
		}
		g := GuestNote{c.Name, *c.Guest}
		external := f.study.External(g.Composition) != nil
		if g.Unattributed > 0 {
			lost := "as their contexts had lost it"
			if external {
				lost = "as they carried none of " + target.RequestHeader + ", X-Request-Id and the traceparent of one"
			}
			f.add("%s made %s attempts that belong to no request, %s: they count where they start, and in no request's.", g.Composition, thousands(g.Unattributed), lost)
		}
		if g.Late > 0 {
			when := fmt.Sprintf("had been over for %v", min(linger, f.study.Horizon))
			if f.study.Clock == study.Virtual {
				when = "had come to their horizon"
			}
			f.add("%s made %s attempts for requests that %s: nobody waited for them, and they count where they start.", g.Composition, thousands(g.Late), when)
		}
		if g.Unserved > 0 && g.Unattributed == 0 { // else theirs may be among those
			f.add("%s says of %s requests that they completed, though none of their attempts did: it has an answer of its own, or does not look at the status of one.", g.Composition, thousands(g.Unserved))
		}
		if g.Unheard > 0 {
			f.add("%s: %s attempts were answered when their request was over: the dependency worked for nobody.", g.Composition, thousands(g.Unheard))
		}
		if g.CutOff > 0 {
			f.add("%s left %s attempts open for a whole horizon after its last request, and cancelled none of them: they would have gone on.", g.Composition, thousands(g.CutOff))
		}
	}
}
