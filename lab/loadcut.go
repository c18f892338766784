package lab

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"brunt/load"
	"brunt/measure"
	"brunt/study"
)

// cutMost bounds the requests of all runs that look for the least cut of one
// composition's load.
const cutMost = 4_000_000

// findLoadCuts looks for the least cut of the load that ends each metastable
// failure.
func findLoadCuts(ctx context.Context, s *study.Study, outcomes []outcome) ([]LoadCut, error) {
	var down []*measure.Composition
	for _, c := range split(s, outcomes)[0].Compositions {
		if st := c.Stability; st != nil && st.Status == measure.Metastable {
			down = append(down, &c)
		}
	}
	cuts := make([]LoadCut, len(down))
	err := each(len(down), workers(s), func(i int) (err error) {
		cuts[i], err = leastCut(ctx, s, down[i])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for the least load cut: %w", err)
	}
	return cuts, nil
}

// leastCut bisects: more load kept away does not help less.
func leastCut(ctx context.Context, s *study.Study, c *measure.Composition) (LoadCut, error) {
	cut := LoadCut{Composition: c.Name, For: float64(s.Recovery.CutFor) / 1e6}
	judged := time.Duration(*c.Stability.JudgedAt)
	switch {
	case s.Clock == study.Real:
		cut.Reason = "not looked for on the real clock"
	case s.HasGuest(c.Name):
		cut.Reason = "not looked for with a client that is not brunt's"
	case !s.Load.Rated():
		cut.Reason = "the load has no rate that could be cut"
	case cutStudy(s, judged, 50).Schedule().Expected()*8 > cutMost:
		cut.Reason = fmt.Sprintf("not looked for in more than %s requests", thousands(cutMost))
	case ctx.Err() != nil:
		cut.Reason = "the run was aborted"
	}
	if cut.Reason != "" {
		return cut, nil
	}
	var failed error
	ends := func(percent int) bool {
		m, err := Measure(ctx, cutStudy(s, judged, percent), c.Name)
		if failed == nil {
			failed = err
		}
		return err == nil && m.Stability != nil && (m.Stability.Status == measure.Stable || m.Stability.Status == measure.Candidate)
	}
	const most = 99
	percent := sort.Search(most+1, ends) // 0 too: some only take longer than the study
	switch {
	case ctx.Err() != nil:
		cut.Reason = "interrupted while it was looked for"
	case failed != nil:
		return cut, failed
	case percent > most:
		cut.Reason = fmt.Sprintf("a cut of %d %% for %s does not end it", most, duration(s.Recovery.CutFor))
	default:
		share := float64(percent) / 100
		cut.Share = &share
	}
	return cut, nil
}

// cutStudy is the study up to an instant, then with so many percent of the load
// kept away for a while, then with the full load for as long as it takes to
// judge.
func cutStudy(s *study.Study, from time.Duration, percent int) *study.Study {
	cut := *s
	cut.Phases = nil
	for i, p := range s.Phases {
		start, end := s.Span(i)
		if start >= from {
			break
		}
		p.For = min(end, from) - start
		cut.Phases = append(cut.Phases, p)
	}
	rate := s.Load.Rate.Times(int64(100-percent), 100)
	d := s.Recovery.Detector
	cut.Phases = append(slices.Clip(cut.Phases),
		study.Phase{Name: "load cut", For: s.Recovery.CutFor, Load: load.Override{Rate: rate}},
		study.Phase{Name: "full load", For: d.Hold + 2*d.Window})
	return &cut
}
