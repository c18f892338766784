package lab

import (
	"fmt"
	"slices"
	"time"

	"brunt/measure"
	"brunt/study"
)

// services measures how much of the load each composition served within the
// study's SLO.
func services(s *study.Study, outcomes []outcome) error {
	if s.SLO == nil {
		return nil
	}
	for i := range outcomes {
		c := &outcomes[i].composition
		if outcomes[i].rows == nil {
			c.Service = &measure.Service{Reason: fmt.Sprintf("not computed for more than %s requests", thousands(rowsMost))}
			continue
		}
		var err error
		if c.Service, err = service(s, outcomes[i].rows); err != nil {
			return fmt.Errorf("composition %s: %w", c.Name, err)
		}
	}
	return nil
}

func service(s *study.Study, rows measure.Rows) (*measure.Service, error) {
	out := &measure.Service{}
	goodput := func(name string, rows []measure.Row) {
		var good int64
		for _, r := range rows {
			if s.SLO.Met(r) {
				good++
			}
		}
		out.Goodput = append(out.Goodput, measure.PhaseGoodput{Phase: name, Rate: measure.RateOf(good, int64(len(rows)), deterministic(s))})
	}
	for i, p := range s.Phases {
		goodput(p.Name, phaseRows(s, rows, i))
	}
	goodput(whole, rows)
	var err error
	if out.Sweep, err = s.SLO.Sweep(rows, thresholds(s), deterministic(s)); err != nil {
		return nil, err
	}
	if l, ok := s.Layout(); ok {
		from, to := l.Start+l.Warmup, l.Anchor-l.Horizon
		baseline := rowsWithin(rows, from, to)
		fault := phaseRows(s, rows, slices.IndexFunc(s.Phases, func(p study.Phase) bool { return p.Name == s.Fault.Phase }))
		shift := measure.ModalShift(fault, baseline)
		out.Modal = &shift
	}
	return out, nil
}

// thresholds are the limits of the sweep: around the SLO's own, up to the
// horizon.
func thresholds(s *study.Study) []time.Duration {
	own := s.SLO.EndToEnd
	if own == 0 {
		own = s.Horizon
	}
	var limits []time.Duration
	for _, quarters := range []time.Duration{1, 2, 3, 4, 6, 8, 16} {
		if limit := own / 4 * quarters; limit > 0 && limit <= s.Horizon {
			limits = append(limits, limit)
		}
	}
	return limits
}

func phaseRows(s *study.Study, rows measure.Rows, phase int) []measure.Row {
	from, to := s.Span(phase)
	return rowsWithin(rows, from, to)
}

func rowsWithin(rows measure.Rows, from, to time.Duration) []measure.Row {
	var within []measure.Row
	for _, r := range rows {
		if from <= r.Intended && r.Intended < to {
			within = append(within, r)
		}
	}
	return within
}
