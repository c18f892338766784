package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"brunt/record"
)

// WindowKind is what a window is for.
type WindowKind string

// The windows of a fault study, in order.
const (
	Warmup          WindowKind = "warm-up" // discarded: counted and no more
	BaselineWindow  WindowKind = "baseline"
	Guard           WindowKind = "guard" // reported by itself, feeds nothing
	FaultWindow     WindowKind = "fault"
	RecoveredWindow WindowKind = "recovered"
	CoolDown        WindowKind = "cool-down" // discarded
)

// Window is a stretch of a run, closed on the left and open on the right. A
// request is in the window of its intended instant, even if it ends later.
type Window struct {
	Kind     WindowKind
	From, To time.Duration
}

// Layout is how a fault study is cut into windows.
type Layout struct {
	Start     time.Duration // of the run
	Warmup    time.Duration // length
	Anchor    time.Duration // the fire: [Fault.Anchor]
	Horizon   time.Duration // the guard is this long
	Recovered time.Duration // instant of the return to the pre-fault baseline; record.Never for none
	CoolDown  time.Duration // instant at which it starts
	End       time.Duration
}

// Windows cuts the run: each window begins where the one before it ends. The
// guard is the last horizon before the fire: a request sent there can still be
// open when the fault lands, and its outcome would be the fault's. Empty
// windows are left out, and so is the recovered one when nothing recovered; an
// empty baseline is an error.
func (l Layout) Windows() ([]Window, error) {
	baseline, guard, recovered := l.Start+l.Warmup, l.Anchor-l.Horizon, l.Recovered
	if recovered == record.Never || recovered > l.CoolDown {
		recovered = l.CoolDown
	}
	switch {
	case l.Warmup < 0 || l.Horizon <= 0:
		return nil, fmt.Errorf("windows: a warm-up of %v and a horizon of %v: expected none below 0, and a horizon", l.Warmup, l.Horizon)
	case guard <= baseline:
		return nil, fmt.Errorf("windows: no baseline is left: the warm-up ends at %v and the guard starts at %v", baseline, guard)
	case recovered < l.Anchor || l.CoolDown < l.Anchor || l.End < l.CoolDown:
		return nil, fmt.Errorf("windows: fire at %v, recovery at %v, cool-down at %v, end at %v: not in this order", l.Anchor, recovered, l.CoolDown, l.End)
	}
	all := []Window{
		{Warmup, l.Start, baseline},
		{BaselineWindow, baseline, guard},
		{Guard, guard, l.Anchor},
		{FaultWindow, l.Anchor, recovered},
		{RecoveredWindow, recovered, l.CoolDown},
		{CoolDown, l.CoolDown, l.End},
	}
	return slices.DeleteFunc(all, func(w Window) bool { return w.From == w.To }), nil
}

// WindowNumbers are the numbers of one window.
type WindowNumbers struct {
	Window    WindowKind `json:"window"`
	From      Millis     `json:"from_ms"`
	To        Millis     `json:"to_ms"`
	Discarded bool       `json:"discarded"` // warm-up and cool-down: counts alone
	Offered   int64      `json:"offered"`
	Completed int64      `json:"completed"`
	Errored   int64      `json:"errored"`
	Censored  int64      `json:"censored"`

	Goodput   *Rate      `json:"goodput"` // null where no SLO was given, or discarded
	Incidence *Incidence `json:"incidence"`
	Intervals []Bounds   `json:"intervals"`
	// CompletedOnly is conditional on completion. With a Caveat it stands only
	// beside the curve.
	CompletedOnly *Percentiles `json:"completed_only"`
	Caveat        string       `json:"caveat,omitempty"`
	// FirstToken is of completed requests too; absent where none was a stream.
	FirstToken *Percentiles `json:"first_token,omitempty"`
	// WithinSecond is the incidence of completion within a second.
	WithinSecond *float64 `json:"completed_within_1s,omitempty"`
	Note         string   `json:"note,omitempty"` // what the window does not say

	Curve *Curve `json:"-"` // nil where discarded
}

// Bounds are the interval of a quantile, or its refusal. A bound may be a
// verdict instead of a time.
type Bounds struct {
	Q      float64   `json:"q"`
	Lower  *Quantile `json:"lower"`
	Upper  *Quantile `json:"upper"`
	Reason string    `json:"interval_refused,omitempty"`
}

// mostIncomplete is the share of a window that may fail to complete before
// percentiles of the completed are misleading by themselves.
const mostIncomplete PPM = 50_000

// MeasureWindows returns the numbers of each window, and how many rows lie in
// none. slo may be nil. A deterministic run has no intervals of rates. The
// windows must not overlap.
func MeasureWindows(rows []Row, windows []Window, horizon time.Duration, slo *SLO, deterministic bool) ([]WindowNumbers, int64, error) {
	sorted := slices.SortedFunc(slices.Values(windows), func(a, b Window) int { return cmp.Compare(a.From, b.From) })
	for i, w := range sorted {
		if w.To < w.From || i > 0 && w.From < sorted[i-1].To {
			return nil, 0, fmt.Errorf("windows: %s from %v to %v overlaps another or ends before it begins", w.Kind, w.From, w.To)
		}
	}
	parts := make([][]Row, len(windows))
	outside := int64(0)
	for _, r := range rows {
		i := slices.IndexFunc(windows, func(w Window) bool { return w.From <= r.Intended && r.Intended < w.To })
		if i < 0 {
			outside++
			continue
		}
		parts[i] = append(parts[i], r)
	}
	numbers := make([]WindowNumbers, len(windows))
	for i, w := range windows {
		numbers[i] = w.measure(parts[i], horizon, slo, deterministic)
	}
	return numbers, outside, nil
}

func (w Window) measure(rows []Row, horizon time.Duration, slo *SLO, deterministic bool) WindowNumbers {
	n := WindowNumbers{Window: w.Kind, From: Millis(w.From), To: Millis(w.To), Offered: int64(len(rows))}
	observations := make([]Observation, len(rows))
	var good Ratio
	for i, r := range rows {
		observations[i] = r.Observation()
		if slo != nil {
			good.add(slo.Met(r))
		}
	}
	c := NewCurve(observations, horizon)
	n.Completed, n.Errored, n.Censored = c.Completed, c.Errored, c.Censored
	switch w.Kind {
	case Warmup, CoolDown:
		n.Discarded, n.Note = true, "discarded: its requests are counted and feed no number"
		return n
	case Guard:
		n.Note = "feeds no other number: a request of the last horizon before the fire may owe its outcome to the fault"
	}
	if slo != nil {
		rate := RateOf(good.Good, good.Scheduled, deterministic)
		n.Goodput = &rate
	}
	n.Curve = c
	n.Incidence = c.Summary("in the " + string(w.Kind) + " window")
	for _, q := range reported {
		i := c.QuantileInterval(q)
		if deterministic {
			i = QuantileInterval{Reason: fmt.Sprintf("%v-CI omitted (the run is deterministic: it has no sampling error)", q)}
		}
		n.Intervals = append(n.Intervals, Bounds{Q: q.Float(), Lower: i.Lower, Upper: i.Upper, Reason: i.Reason})
	}
	p := percentilesOf(completions(rows), "no request completed in the "+string(w.Kind)+" window")
	n.CompletedOnly = &p
	if first := firstTokens(rows); len(first) > 0 {
		p := percentilesOf(first, "")
		n.FirstToken = &p
	}
	if c.Scheduled > 0 && (horizon <= 0 || horizon >= time.Second) {
		within := c.At(time.Second)
		n.WithinSecond = &within
	}
	if lost := n.Errored + n.Censored; lost*int64(Million) > int64(mostIncomplete)*n.Offered {
		n.Caveat = fmt.Sprintf("%s of requests did not complete: percentiles of those that did leave out the worst, and stand only beside the curve", share(float64(lost)/float64(n.Offered)))
	}
	return n
}

// firstTokens returns the sorted times to the first token of completed requests.
func firstTokens(rows []Row) []int64 {
	var all []int64
	for _, r := range rows {
		if r.Outcome == record.Completed && r.FirstToken != record.Never {
			all = append(all, int64(r.FirstToken))
		}
	}
	slices.Sort(all)
	return all
}

// Summary returns what the curve says of the reported quantiles. where ends
// the sentence that says why there is nothing.
func (c *Curve) Summary(where string) *Incidence {
	s := &Incidence{CensoredBeforeHorizon: c.CensoredBeforeHorizon}
	if c.Scheduled == 0 {
		s.Reason = "no request was offered " + where
	} else {
		final, ceiling := c.Final(), c.Ceiling()
		s.Final, s.Ceiling = &final, &ceiling
	}
	for _, q := range reported {
		v := c.Quantile(q)
		if c.Scheduled == 0 {
			v.Reason = s.Reason
		}
		s.Quantiles = append(s.Quantiles, v)
	}
	return s
}
