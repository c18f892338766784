package report

import (
	"slices"
	"time"

	"brunt/lab"
)

// replayFacts say in the header, for each recording, how many calls were made
// to have it, how many were replayed in this run, and what both cost.
func replayFacts(r *lab.Result) (list []fact) {
	if !r.Valid {
		return nil
	}
	for i := range r.Replays {
		list = append(list, fact{Text: replayFact(r, &r.Replays[i])})
	}
	return list
}

// standIn names a dependency, and the phases where it has several recordings.
func standIn(r *lab.Result, p *lab.Replay) string {
	for i := range r.Replays {
		if other := &r.Replays[i]; other != p && other.Dependency == p.Dependency {
			return p.Dependency + " in " + plainPhases(p.Phases)
		}
	}
	return p.Dependency
}

func replayFact(r *lab.Result, p *lab.Replay) string {
	from := &p.Recording
	calls := plural(from.Calls, "upstream call", "upstream calls")
	if from.Simulated {
		calls = plural(from.Calls, "call of a simulation", "calls of a simulation")
	}
	words := standIn(r, p) + ": " + calls + " recorded"
	if from.Cost > 0 {
		words += " at a cost of " + number(from.Cost)
	}
	words += ", " + integer(p.Drawn) + " replayed"
	if p.DrawnCost > 0 {
		words += " that would have cost " + number(p.DrawnCost)
	}
	return words
}

// replayed is the section on the recordings that stand in for dependencies.
func replayed(r *lab.Result) (s section, show bool) {
	if len(r.Replays) == 0 {
		return s, false
	}
	cost := slices.ContainsFunc(r.Replays, func(p lab.Replay) bool { return p.Recording.Cost > 0 || p.DrawnCost > 0 })
	b := builder{table: Table{Title: "Replayed recordings", Keys: 1}}
	b.column("Dependency")
	b.column("Recorded calls", counts)
	b.column("Completed", percentages)
	b.column("Given up", percentages)
	b.column("Longest ms", milliseconds)
	b.column("Replayed", counts)
	if cost {
		b.column("Cost recorded / spared", costs, costs)
	}
	for i := range r.Replays {
		p := &r.Replays[i]
		from := &p.Recording
		name := standIn(r, p)
		s.Items = append(s.Items, name+": "+whence(from)+".")
		b.row(name)
		b.cell(num(from.Calls))
		b.cell(b.share(from.Completed, from.Calls))
		b.cell(b.share(from.Cut, from.Calls))
		if from.Endless == nil {
			b.cell(num(from.Longest))
		} else {
			b.cell(value{words: "> " + milliseconds.write(from.Longest, milliseconds.decimals(from.Longest), from.Longest >= groupFrom) + b.foot(endless(*from.Endless, from.Longest))})
		}
		b.cell(num(p.Drawn))
		if cost {
			b.cell(num(from.Cost), num(p.DrawnCost))
		}
		if from.LeftOut > 0 {
			b.note(name + ": " + plural(from.LeftOut, "recorded call", "recorded calls") + " failed on the machine that made them, and are left out.")
		}
		if lost := from.Calls - from.LeftOut - from.Kept; lost > 0 {
			b.note(name + ": the recording is large; " + integer(from.Kept) + " of its calls, drawn at random, stand for all.")
		}
	}
	b.table.Caption = "A recorded call is replayed whole: its time to the first token and to the end, outcome, tokens and cost. Each attempt draws one, and knows nothing of the others: " +
		"what the target did in a row is lost. A call that its caller gave up is replayed as one of those that took longer."
	if cost {
		b.table.Caption += " Cost recorded: of the calls made for the recording. Spared: of those replayed, had they been made upstream."
	}
	t := b.finish()
	s.Title, s.Table = t.Title, &t
	return s, true
}

// whence says which calls a recording is of.
func whence(from *lab.Recorded) string {
	words := from.Target + " as it was in the study " + from.Study
	if from.Phase != wholePhase {
		words += ", phase " + from.Phase
	}
	if from.Composition != "" {
		words += ", composition " + from.Composition
	}
	if from.Started != nil {
		words += ", run at " + *from.Started
	}
	if from.Invalid {
		words += "; that run is not valid"
	}
	if from.Simulated {
		words += "; it was simulated there"
	}
	return words
}

// wholePhase is what results call all phases together.
const wholePhase = "whole"

func endless(share, longest float64) string {
	return number(100*share) + " % of the replayed attempts never end: nobody waited longer than " + duration(time.Duration(longest*1e6)) + " for them when they were recorded"
}

// neverReplayed reports whether a recording without one completed call stands
// in for a dependency in a phase.
func (c *config) neverReplayed(dependency, phase string) bool {
	return slices.ContainsFunc(c.replays, func(p lab.Replay) bool {
		return p.Dependency == dependency && p.Recording.Completed == 0 && slices.Contains(p.Phases, phase)
	})
}
