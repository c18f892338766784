package study

import (
	"fmt"
	"strconv"
	"time"

	"brunt/check"
	"brunt/dependency"
)

const (
	// fewRecorded is so few attempts that the tail of a replay is that of a few.
	fewRecorded = 100
	// manyGuessed is the share of attempts with unknown ends from which on a
	// replay leans on what is assumed of them.
	manyGuessed = 0.05
)

// doubtReplays reports recordings that carry less than a study asks of them.
func (s *Study) doubtReplays(p check.Problems) {
	for _, of := range s.Replays() {
		in := p.In("dependencies", of.Dependency, "replay")
		if override, ok := s.Phases[of.Phases[0]].Dependencies.Get(of.Dependency); ok && override.Replay != nil {
			in = p.In("phases", strconv.Itoa(of.Phases[0]), "dependencies", of.Dependency, "replay")
		}
		rec, from := of.Recording, of.Recording.Origin
		if from.Invalid {
			in.Doubt("", nil, "is from a run that is not valid: what looks like the target's doing may be that of the machine that called it")
		}
		if from.Phases > 1 {
			in.Doubt("", nil, "takes attempts of %d phases of that run together, as if it had been like that all the time: name one as phase, or a recording for each phase", from.Phases)
		}
		if from.Compositions > 1 {
			in.Doubt("", nil, "takes attempts of %d compositions of that run together, which may have met the target under different loads: name one as composition", from.Compositions)
		}
		if n := rec.Kept(); n < fewRecorded {
			in.Doubt("", nil, "has %d attempts: what is rarer than one in %d cannot be in it", n, n)
		}
		s.doubtCut(in, of.Dependency, rec)
		if share := float64(from.LeftOut) / float64(from.Calls); share > manyGuessed {
			in.Doubt("", nil, "leaves out %d of %d calls (%s), which failed on the machine that made them: what the target would have done with these is not known", from.LeftOut, from.Calls, percentage(share))
		}
	}
}

// doubtCut reports attempts that the recording's callers gave up where that
// matters: an attempt that was given up shows how long the target took at least.
func (s *Study) doubtCut(p check.Problems, name string, rec *dependency.Recording) {
	if share := float64(rec.CutBefore()) / float64(rec.Kept()); share > manyGuessed {
		p.Doubt("", nil, "has %s attempts (%s) that were given up while others that took longer came to their end: each is replayed as one that took longer, which is right only if nobody gave up because it was slow", grouped(rec.CutBefore()), percentage(share))
	}
	known, ends := rec.Longest()
	if ends {
		return
	}
	var patience time.Duration
	for _, stack := range s.Compositions.All() {
		patience = max(patience, s.patience(stack, name, s.Horizon))
	}
	for _, service := range s.Services.All() {
		patience = max(patience, s.patience(service.Stack, name, s.Horizon))
	}
	if patience > known {
		p.Doubt("", nil, "nobody waited longer than %v there, and callers here wait up to %v: the %s of the attempts that had not ended by then never end here", known, patience, percentage(rec.Endless()))
	}
}

func percentage(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// patience is how long a call of a target may take before a stage of the stack,
// or what surrounds the stack, gives it up; 0 when the stack never calls it.
func (s *Study) patience(stack Stack, name string, within time.Duration) (longest time.Duration) {
	for i := range stack {
		switch stage := &stack[i]; {
		case stage.Timeout != nil:
			within = min(within, stage.Timeout.After)
		case stage.Call == name:
			return within
		case stage.Fallback != nil:
			for _, branch := range stage.Fallback.To {
				longest = max(longest, s.patience(branch, name, within))
			}
		}
	}
	if !ends(stack) && s.onlyCallee() == name {
		return within
	}
	return longest
}
