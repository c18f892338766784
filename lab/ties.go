package lab

import (
	"context"
	"fmt"
	"math"

	"brunt/clock"
	"brunt/measure"
	"brunt/study"
)

// A study with more requests than this in all compositions together is not
// looked through for ties: it would take longer than the run itself.
const tiesMost = 400_000

// tieNumber is a number that is looked at, with what counts as much: a noisy
// run that differs by more than this, and by more than this share. The
// tolerances are those between the real and the virtual clock.
type tieNumber struct {
	name     string
	absolute float64
	relative float64
}

var phaseTies = []tieNumber{{"errored", 5, 0.02}, {"censored", 5, 0.02}, {"attempts", 5, 0.02}, {"submitted.p95", 10, 0}}

var wholeTies = []tieNumber{{"recovery", 10, 0}}

// findTies repeats a virtual run with dispatch noise, and names the numbers
// that change much.
func findTies(ctx context.Context, s *study.Study, outcomes []outcome) (*Ties, string, error) {
	compositions := split(s, outcomes)[0].Compositions
	switch total := s.Schedule().Expected() * int64(len(compositions)); {
	case s.Clock == study.Real:
		return nil, "not looked for on the real clock", nil
	case s.HasGuests():
		return nil, "not looked for beside a client that is not brunt's", nil
	case s.Ties.Runs == 0:
		return nil, "not asked for", nil
	case s.Ties.Noise >= s.Horizon:
		return nil, "not looked for: the noise is not below the horizon", nil
	case s.Load.DispatchNoise > 0:
		return nil, "the run itself has dispatch noise", nil
	case s.Load.Arrivals == "poisson":
		return nil, "poisson arrivals lie on no grid", nil
	case total > tiesMost:
		return nil, fmt.Sprintf("not looked for in more than %s requests", thousands(tiesMost)), nil
	case ctx.Err() != nil:
		return nil, "the run was aborted", nil
	}
	noisy := make([]measure.Composition, s.Ties.Runs*len(compositions))
	err := each(len(noisy), workers(s), func(job int) error {
		i, trial := job%len(compositions), job/len(compositions)
		schedule := s.Schedule().Noisy(s.Ties.Noise, trial+1)
		p := plan(s)
		p.Sampled, p.HerdBucket = false, 0 // nobody reads the intervals of a trial, or its herd
		m := measure.NewRecorder(p, schedule.Expected())
		name := compositions[i].Name
		if err := runOn(ctx, clock.Virtual(), s, name, schedule, m, false, nil); err != nil {
			return err
		}
		c, err := m.Composition(name)
		noisy[job] = c
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("look for ties: %w", err)
	}
	ties := &Ties{Runs: s.Ties.Runs, Noise: float64(s.Ties.Noise) / 1e6, Artefacts: []Artefact{}}
	for i := range compositions {
		var trials []*measure.Composition
		for job := i; job < len(noisy); job += len(compositions) {
			trials = append(trials, &noisy[job])
		}
		for _, phase := range s.Phases {
			for _, n := range phaseTies {
				ties.compare(n, &compositions[i], trials, phase.Name)
			}
		}
		for _, n := range wholeTies {
			ties.compare(n, &compositions[i], trials, whole)
		}
	}
	return ties, "", nil
}

// compare notes a number of a phase, or of the whole run, if a trial differs
// much from the run without noise.
func (t *Ties) compare(n tieNumber, c *measure.Composition, trials []*measure.Composition, phase string) {
	value := numberOf(c, phase, n.name)
	if value.Refusal != "" {
		return
	}
	a := Artefact{Composition: c.Name, Phase: phase, Measure: n.name, Value: value.Value, Least: math.Inf(1), Most: math.Inf(-1)}
	much := false
	for _, trial := range trials {
		v := numberOf(trial, phase, n.name)
		if v.Refusal != "" {
			continue
		}
		a.Least, a.Most = min(a.Least, v.Value), max(a.Most, v.Value)
		much = much || math.Abs(v.Value-a.Value) > max(n.absolute, n.relative*a.Value)
	}
	if much {
		t.Artefacts = append(t.Artefacts, a)
	}
}
