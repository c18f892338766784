package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"brunt/record"
)

// reported are the quantiles of the incidence curve that a phase reports.
var reported = []PPM{500_000, 900_000, 950_000, 990_000, 999_000}

// seen is what one look at packed rows tells.
type seen struct {
	completed, errored, censored int64
	shed                         int64 // of the errored
	timely                       int64 // completed by the horizon
	early                        int64 // censored before the horizon
	lastEvent                    int64 // latest completion or error, in ns
	firstCensored                int64 // earliest censoring, in ns
}

// survey counts packed rows. A horizon of 0 is none: every censoring is early
// then.
func survey(packed []uint64, horizon int64) seen {
	if horizon <= 0 {
		horizon = math.MaxInt64
	}
	s := seen{firstCensored: math.MaxInt64}
	for _, v := range packed {
		t := int64(v >> codeBits)
		switch v & codeMask {
		case completed:
			s.completed++
			s.lastEvent = max(s.lastEvent, t)
			if t <= horizon {
				s.timely++
			}
		case censored:
			s.censored++
			s.firstCensored = min(s.firstCensored, t)
			if t < horizon {
				s.early++
			}
		case errored + uint64(record.Harness):
			s.shed++
			fallthrough
		default:
			s.errored++
			s.lastEvent = max(s.lastEvent, t)
		}
	}
	return s
}

// times returns what the latencies tell: percentiles of completed and of
// submitted requests, and the incidence curve.
func (s *seen) times(packed []uint64, scratch []int64, horizon time.Duration, sampled bool, where string) (completions, submissions Percentiles, curve Incidence) {
	curve = s.incidence(where)
	// Nothing was censored before the last event: the curve is plain counting.
	plain := s.firstCensored >= s.lastEvent
	intervals := s.intervals(sampled)
	if !plain {
		s.estimate(packed, scratch, horizon, &curve)
	}

	// The completed come first, the other outcomes after them.
	outcomes := scratch[:0]
	for _, v := range packed {
		if v&codeMask == completed {
			outcomes = append(outcomes, int64(v>>codeBits))
		}
	}
	done := outcomes
	ranks := percentileRanks(int64(len(done)), int64(len(done)))
	if plain {
		ranks = append(ranks, s.ranks(intervals)...)
		slices.Sort(ranks)
	}
	selectRanks(done, ranks)
	if plain {
		s.count(done, horizon, intervals, &curve)
	}
	for i := range curve.Quantiles {
		curve.Quantiles[i].Refused = intervals[i].refused
	}
	completions = percentilesOf(done, "no request completed "+where)

	for _, v := range packed {
		if c := v & codeMask; c >= errored && c != errored+uint64(record.Harness) {
			outcomes = append(outcomes, int64(v>>codeBits))
		}
	}
	if n := int64(len(outcomes)) + s.censored; n != int64(len(done)) {
		selectRanks(outcomes, percentileRanks(n, int64(len(outcomes))))
	}
	return completions, s.submitted(outcomes, where), curve
}

// percentileRanks returns the ranks of percentiles among n samples, those that
// lie among the known ones.
func percentileRanks(n, known int64) []int64 {
	var ranks []int64
	for _, q := range percentiles {
		if rank := Rank(q, n); rank <= known {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// percentilesOf returns the percentiles of samples, or why there are none. The
// samples at their ranks must be in place.
func percentilesOf(done []int64, reason string) Percentiles {
	if len(done) == 0 {
		return Percentiles{Reason: reason}
	}
	at := func(i int) *Millis {
		ms := Millis(done[Rank(percentiles[i], int64(len(done)))-1])
		return &ms
	}
	return Percentiles{P50: at(0), P95: at(1), P99: at(2), Max: at(3)}
}

// submitted returns the percentiles of the time to any outcome, over all
// submitted requests. A censored request has no outcome: its time is only a
// lower bound, so a percentile that lies above one is not known.
func (s *seen) submitted(outcomes []int64, where string) Percentiles {
	n, known := int64(len(outcomes))+s.censored, int64(len(outcomes))
	if n == 0 {
		return Percentiles{Reason: "no request was submitted " + where}
	}
	var values [4]*Millis
	var unknown []string
	for i, name := range []string{"p50", "p95", "p99", "max"} {
		if rank := Rank(percentiles[i], n); rank <= known && outcomes[rank-1] <= s.firstCensored {
			ms := Millis(outcomes[rank-1])
			values[i] = &ms
			continue
		}
		unknown = append(unknown, name)
	}
	p := Percentiles{P50: values[0], P95: values[1], P99: values[2], Max: values[3]}
	if unknown != nil {
		p.Reason = fmt.Sprintf("%s not known: %d of %d submitted requests were censored", strings.Join(unknown, ", "), s.censored, n)
	}
	return p
}

// incidence returns the curve's summary without what only times can tell.
func (s *seen) incidence(where string) Incidence {
	n := s.completed + s.errored + s.censored
	curve := Incidence{CensoredBeforeHorizon: s.early}
	if n == 0 {
		curve.Reason = "no request was offered " + where
		for _, q := range reported {
			curve.Quantiles = append(curve.Quantiles, Quantile{Q: q.Float(), Status: Empty, Reason: curve.Reason})
		}
	}
	return curve
}

// ranks returns the ranks among the completed at which the reported quantiles
// are reached, and the bounds of their intervals, where the curve is plain
// counting.
func (s *seen) ranks(intervals []rankInterval) []int64 {
	n := s.completed + s.errored + s.censored
	var ranks []int64
	for i, q := range reported {
		if n > 0 && carries(q, s.timely, n) {
			ranks = append(ranks, Rank(q, n))
		}
		for _, rank := range []int64{intervals[i].lower, intervals[i].upper} {
			if rank > 0 && rank <= s.timely {
				ranks = append(ranks, rank)
			}
		}
	}
	return ranks
}

// rankInterval holds the ranks of an interval, or why it is refused.
type rankInterval struct {
	lower, upper int64
	refused      string
}

// intervals returns the ranks of the intervals of the reported quantiles.
func (s *seen) intervals(sampled bool) []rankInterval {
	n := s.completed + s.errored + s.censored
	all := make([]rankInterval, len(reported))
	for i, q := range reported {
		if !sampled {
			all[i].refused = fmt.Sprintf("%v-CI omitted (the run is deterministic: it has no sampling error)", q)
			continue
		}
		all[i] = intervalOf(q, n, s.early)
	}
	return all
}

// count completes the summary where the curve is plain counting: exact, in
// whole numbers. The samples at those ranks must be in place.
func (s *seen) count(done []int64, horizon time.Duration, intervals []rankInterval, curve *Incidence) {
	n := s.completed + s.errored + s.censored
	if n == 0 {
		return
	}
	v := verdict{
		horizon: horizon,
		final:   float64(s.completed) / float64(n),
		ceiling: float64(s.completed+s.censored) / float64(n),
	}
	curve.Final, curve.Ceiling = &v.final, &v.ceiling
	bound := func(rank int64) (*Millis, Status) {
		switch {
		case rank <= s.timely:
			ms := Millis(done[rank-1])
			return &ms, Reached
		case rank <= s.completed+s.censored:
			return nil, Beyond
		}
		return nil, Unattainable
	}
	for i, q := range reported {
		var of Quantile
		if carries(q, s.timely, n) {
			of = v.reached(q, time.Duration(done[Rank(q, n)-1]))
		} else {
			of = v.refused(q, carries(q, s.completed+s.censored, n))
		}
		if in := intervals[i]; in.refused == "" {
			of.Lower, of.LowerStatus = bound(in.lower)
			of.Upper, of.UpperStatus = bound(in.upper)
		}
		curve.Quantiles = append(curve.Quantiles, of)
	}
}

// estimate completes the summary where something was censored before the last
// event: the Aalen-Johansen estimate, from packed rows in order of time.
func (s *seen) estimate(packed []uint64, scratch []int64, horizon time.Duration, curve *Incidence) {
	rows := scratch[:0]
	for _, v := range packed {
		rows = append(rows, int64(v))
	}
	slices.Sort(rows) // by time; the codes of one time are together
	e := newEstimator(int64(len(rows)))
	reached := make([]Quantile, len(reported))
	for len(rows) > 0 {
		t := rows[0] >> codeBits
		var c, d, z int64
		for len(rows) > 0 && rows[0]>>codeBits == t {
			switch rows[0] & codeMask {
			case completed:
				c++
			case censored:
				z++
			default:
				d++
			}
			rows = rows[1:]
		}
		e.step(c, d, z)
		if horizon > 0 && t > int64(horizon) {
			continue
		}
		for i, q := range reported {
			if reached[i].Status == "" && e.incidence >= q.Float()-tolerance {
				reached[i] = verdict{}.reached(q, time.Duration(t))
			}
		}
	}
	v := verdict{horizon: horizon, final: e.incidence, ceiling: e.incidence + e.outstanding}
	curve.Final, curve.Ceiling = &v.final, &v.ceiling
	for i, q := range reported {
		if reached[i].Status == "" {
			reached[i] = v.refused(q, v.ceiling >= q.Float()-tolerance)
		}
	}
	curve.Quantiles = reached
}
