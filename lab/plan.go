package lab

import (
	"fmt"
	"slices"

	"brunt/dependency"
	"brunt/load"
	"brunt/measure"
	"brunt/study"
)

// plan says what the rows of a study's compositions are held against.
func plan(s *study.Study) measure.Plan {
	p := measure.Plan{
		Dependencies: s.Callees(),
		Horizon:      s.Horizon,
		HerdBucket:   s.Herd.Bucket,
		Sampled:      !deterministic(s),
		Recovery:     measure.CleanWindow{Window: s.Recovery.CleanWindow},
		SLO:          s.SLO,
		Detector:     s.Recovery.Detector,
		Stations:     stations(s),
	}
	p.Trigger, p.NoTrigger = trigger(s)
	if s.Fault != nil {
		p.Bucket = s.Fault.Bucket
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

// disturbed reports whether a phase changes anything: how dependencies behave,
// or the load.
func disturbed(s *study.Study, phase int) bool {
	o := s.Phases[phase].Load
	same := load.Override{Rate: s.Load.Rate} // says what the study says already
	return faulty(s, phase) || o != (load.Override{}) && (o != same || s.Load.Spike != nil || s.Load.Sine != nil)
}

// trigger returns the stretch from the first disturbed phase to the last. With
// one that nothing quiet comes before there is none, and a reason.
func trigger(s *study.Study) (t *measure.Trigger, reason string) {
	for i, phase := range s.Phases {
		if !disturbed(s, i) {
			continue
		}
		from, to := s.Span(i)
		if i == 0 {
			return nil, fmt.Sprintf("phase %s comes first and is disturbed: there is no quiet time to come back to", phase.Name)
		}
		if t == nil {
			t = &measure.Trigger{From: from}
		}
		t.Phases, t.To = append(t.Phases, phase.Name), to
	}
	return t, ""
}

// stations says what workers each target has.
func stations(s *study.Study) []measure.Station {
	var list []measure.Station
	for _, name := range s.Callees() {
		var station measure.Station
		base := 0 // a phase that leaves the target as it is
		for i, phase := range s.Phases {
			if _, changed := phase.Dependencies.Get(name); !changed {
				base = i
				break
			}
		}
		for i := range s.Phases {
			replicas, workers, slots := manned(s.Behaviour(i, name))
			station.Slots = append(station.Slots, slots)
			if i == base {
				station.Replicas, station.Workers = replicas, workers
			}
		}
		list = append(list, station)
	}
	return list
}

// manned returns the replicas of a target, the workers of one and of all. Where
// replicas differ, that of one is the most.
func manned(b dependency.Behaviour) (replicas, workers, slots int) {
	replicas = 1
	if b.Replicas != nil {
		replicas = *b.Replicas
	}
	for i := range replicas {
		if one := b.Of(i); one.Workers != nil {
			workers, slots = max(workers, *one.Workers), slots+*one.Workers
		}
	}
	return replicas, workers, slots
}

// random reports whether a run of the study takes any draw of chance. One that
// takes none has no sampling error.
func random(s *study.Study) bool {
	if s.Load.Arrivals == load.Poisson || s.Load.DispatchNoise > 0 {
		return true
	}
	for i := range s.Phases {
		for _, name := range s.Callees() {
			if b := s.Behaviour(i, name); b.Random() {
				return true
			}
		}
	}
	for _, stack := range s.Compositions.All() {
		if stack.Guest() || jittered(stack) {
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
		return stage.Retry != nil && stage.Retry.Backoff.Random() ||
			stage.Throttle != nil || stage.Adaptive != nil && stage.Adaptive.Random()
	})
}
