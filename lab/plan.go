package lab

import (
	"slices"

	"brunt/load"
	"brunt/measure"
	"brunt/study"
)

// plan says what the rows of a study's compositions are held against.
func plan(s *study.Study) measure.Plan {
	p := measure.Plan{
		Dependencies: s.Targets(),
		Horizon:      s.Horizon,
		HerdBucket:   s.Herd.Bucket,
		Sampled:      !deterministic(s),
		Recovery:     measure.CleanWindow{Window: s.Recovery.CleanWindow},
	}
	for i, phase := range s.Phases {
		from, to := s.Span(i)
		p.Phases = append(p.Phases, measure.Span{Name: phase.Name, From: from, To: to})
	}
	p.Recovery.Phase = s.RecoveryPhase()
	p.Recovery.Least = max(1, s.Rate(p.Recovery.Phase).Whole(s.Recovery.CleanWindow))
	return p
}

// faulty reports whether a phase changes how dependencies behave: whether the
// study does something to them in it.
func faulty(s *study.Study, phase int) bool { return s.Phases[phase].Dependencies.Len() > 0 }

// random reports whether a run of the study takes any draw of chance. One that
// takes none has no sampling error.
func random(s *study.Study) bool {
	if s.Load.Arrivals == load.Poisson || s.Load.DispatchNoise > 0 {
		return true
	}
	for i := range s.Phases {
		for _, name := range s.Targets() {
			if b := s.Behaviour(i, name); b.Random() {
				return true
			}
		}
	}
	for _, stack := range s.Compositions.All() {
		if jittered(stack) {
			return true
		}
	}
	for _, service := range s.Services.All() {
		if jittered(service.Stack) {
			return true
		}
	}
	return false
}

func jittered(stack study.Stack) bool {
	return slices.ContainsFunc(stack, func(stage study.Stage) bool {
		if stage.Fallback != nil {
			return slices.ContainsFunc(stage.Fallback.To, jittered)
		}
		return stage.Retry != nil && stage.Retry.Backoff.Random()
	})
}
