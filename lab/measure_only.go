package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"brunt/clock"
	"brunt/measure"
	"brunt/study"
)

// Measure runs one composition of a study once, on the virtual clock, and
// returns what [Find] knows of it: the numbers of a [Run] of the study on its
// seed. Left out is what no name asks for and what costs time: intervals of
// quantiles, and what needs the rows one by one (the return from a fault by
// windows, goodput at other limits). It writes nothing and judges nothing, and
// may be called from any goroutine: many small runs, as those of a sweep, go
// through here.
//
// When the context ends before the run does, its error is returned.
func Measure(ctx context.Context, s *study.Study, composition string) (c measure.Composition, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("composition %s: brunt has a fault of its own, please report it: %v\n%s", composition, p, debug.Stack())
		}
	}()
	if s.Clock != study.Virtual {
		return c, errors.New("measure one composition: expected the virtual clock")
	}
	if _, ok := s.Compositions.Get(composition); !ok {
		return c, fmt.Errorf("measure composition %s: the study has none of that name", composition)
	}
	schedule := s.Schedule()
	held := plan(s)
	held.Sampled = false
	m := measure.NewRecorder(held, schedule.Expected())
	if err := runOn(ctx, clock.Virtual(), s, composition, schedule, m, false, nil); err != nil {
		return c, err
	}
	if err := ctx.Err(); err != nil { // a run that was cut short tells nothing of the study
		return c, err
	}
	if c, err = m.Composition(composition); err != nil {
		return c, fmt.Errorf("composition %s: %w", composition, err)
	}
	return c, nil
}
