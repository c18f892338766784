package measure

import (
	"fmt"
	"time"

	"brunt/record"
)

// Fault is what recovery from one fault is measured by. The zero value of
// Bucket stands for [DefaultBucket].
type Fault struct {
	Baseline Span          // the pre-fault baseline; ends at least a horizon before the anchor
	Planned  time.Duration // when the fault should fire
	Actual   time.Duration // when it did; record.Never when that was not seen
	End      time.Duration // of observation: no request is scheduled from here on
	Horizon  time.Duration
	SLO      SLO
	Bucket   time.Duration
	Detector Detector
	// PartitionHeals says that the fault ends by itself: what comes back then
	// is the partition's end, and no recovery from the loss of a node.
	PartitionHeals bool
}

// PartitionHeal is the label of a recovery that is a partition's end.
const PartitionHeal = "partition heal"

// Anchor returns the instant from which recovery counts, the earlier of the
// planned and the actual fire.
func (f Fault) Anchor() time.Duration {
	if f.Actual != record.Never && f.Actual < f.Planned {
		return f.Actual
	}
	return f.Planned
}

// Baseline is a goodput to return to.
type Baseline struct {
	From      Millis   `json:"from_ms"`
	To        Millis   `json:"to_ms"`
	Good      int64    `json:"good"`
	Scheduled int64    `json:"scheduled"`
	Goodput   *float64 `json:"goodput"`
	Reason    string   `json:"reason,omitempty"` // why it is not estimable
}

func (b Baseline) ratio() Ratio { return Ratio{Good: b.Good, Scheduled: b.Scheduled} }

// Against is the return to one baseline.
type Against struct {
	Baseline  Baseline  `json:"baseline"`
	Detection Detection `json:"detection"`
	Label     string    `json:"label,omitempty"` // what the return is not
}

// FaultRecovery is recovery from one fault, against two baselines that answer
// different questions and are never merged.
type FaultRecovery struct {
	Anchor      Millis      `json:"anchor_ms"`
	PreFault    Against     `json:"pre_fault"`
	Plateau     Against     `json:"degraded_plateau"`
	Sensitivity []Sensitive `json:"sensitivity"` // of the return to the pre-fault baseline
	Components  []Component `json:"components"`
	// Unknown counts requests that were censored while they could still have
	// met the SLO. They count as not good.
	Unknown int64 `json:"unknown"`
}

// Component is the return of one part of goodput to its own pre-fault baseline.
type Component struct {
	Name string `json:"name"` // first token, end to end, errors
	Against
}

// Recovery measures recovery from the fault in rows, which may come in any
// order. An error says what is wrong with the fault's description; what the
// rows cannot carry is refused in the result.
func (f Fault) Recovery(rows []Row) (*FaultRecovery, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("recovery from the fault at %v: %w", f.Anchor(), err)
	}
	if f.Bucket == 0 {
		f.Bucket = DefaultBucket
	}
	out := &FaultRecovery{Anchor: Millis(f.Anchor())}
	for _, r := range rows {
		if f.SLO.unknown(r) {
			out.Unknown++
		}
	}
	pre, series, err := f.preFault(rows, f.SLO.Met)
	if err != nil {
		return nil, err
	}
	out.PreFault = pre
	if out.Plateau, err = f.plateau(series, pre.Detection); err != nil {
		return nil, err
	}
	if out.Sensitivity, err = f.Detector.Sensitivity(series, pre.Baseline.ratio(), f.Anchor()); err != nil {
		return nil, err
	}
	out.Components, err = f.components(rows)
	return out, err
}

func (f Fault) check() error {
	switch anchor := f.Anchor(); {
	case f.Horizon <= 0:
		return fmt.Errorf("a horizon of %v: expected one above 0", f.Horizon)
	case f.Bucket < 0:
		return fmt.Errorf("buckets of %v: expected a width above 0", f.Bucket)
	case f.Baseline.To <= f.Baseline.From:
		return fmt.Errorf("a baseline from %v to %v: it is empty", f.Baseline.From, f.Baseline.To)
	case f.Baseline.To > anchor-f.Horizon:
		return fmt.Errorf("a baseline up to %v: it must end one horizon before the fire, at %v or before", f.Baseline.To, anchor-f.Horizon)
	case f.End < anchor:
		return fmt.Errorf("observation ends at %v, before the fire", f.End)
	}
	return f.SLO.check()
}

// preFault judges the return of one kind of good request to what it was before
// the fault. Buckets lie on a grid from the start of the run.
func (f Fault) preFault(rows []Row, good func(Row) bool) (Against, *Goodput, error) {
	var before Ratio
	for _, r := range rows {
		if f.Baseline.holds(r.Intended) {
			before.add(good(r))
		}
	}
	from := f.Anchor() / f.Bucket * f.Bucket
	series, err := NewGoodput(rows, good, from, max(f.End, from), f.Bucket)
	if err != nil {
		return Against{}, nil, err
	}
	a := Against{Baseline: baselineOf(f.Baseline.From, f.Baseline.To, before)}
	switch {
	case before.Scheduled == 0:
		a.Baseline.Reason = "not estimable: no request was scheduled in the baseline window"
	case before.Good == 0:
		a.Baseline.Reason = "not estimable: no goodput in the baseline window"
	}
	if f.PartitionHeals {
		a.Label = PartitionHeal
	}
	a.Detection, err = f.Detector.Detect(series, before, f.Anchor())
	return a, series, err
}

func baselineOf(from, to time.Duration, r Ratio) Baseline {
	return Baseline{From: Millis(from), To: Millis(to), Good: r.Good, Scheduled: r.Scheduled, Goodput: r.Share()}
}

// plateau judges the return to what the survivors settle into: goodput from
// one detector window after the anchor to the return to the pre-fault baseline,
// or to the end of observation. It hangs on that detection: its end is found by
// the same run.
func (f Fault) plateau(series *Goodput, pre Detection) (Against, error) {
	first := series.after(f.Anchor() + f.Detector.Window)
	last, until := len(series.Buckets), "the end of observation"
	if pre.Status == Recovered {
		last, until = series.after(f.Anchor()+time.Duration(*pre.Time)), "the return to the pre-fault baseline"
	}
	last = max(first, last)
	a := Against{Baseline: baselineOf(series.at(first), series.at(last), series.sum(first, last))}
	length := series.at(last) - series.at(first)
	switch b := &a.Baseline; {
	case pre.Status == Recovered && !pre.Degraded:
		b.Reason = "not estimable: goodput did not fall below the entry level"
	case length < f.Detector.Window:
		b.Reason = fmt.Sprintf("not estimable: %v from %v after the fire to %s, shorter than a window of %v", length, f.Detector.Window, until, f.Detector.Window)
	case b.Scheduled == 0:
		b.Reason = "not estimable: no request was scheduled in the plateau"
	case b.Good == 0:
		b.Reason = "not estimable: goodput in the plateau was 0"
	default:
		var err error
		a.Detection, err = f.Detector.Detect(series, b.ratio(), f.Anchor())
		return a, err
	}
	a.Baseline.Goodput = nil
	a.Detection = Detection{Status: NotApplicable, Reason: "not applicable: the plateau is " + a.Baseline.Reason, DeficitReason: "the plateau is " + a.Baseline.Reason}
	return a, nil
}

// components judges the parts of goodput by themselves, each against what it
// was before the fault: those limits that the SLO has, and errors.
func (f Fault) components(rows []Row) ([]Component, error) {
	parts := []struct {
		name string
		ask  bool
		good func(Row) bool
	}{
		{"first token", f.SLO.FirstToken > 0, f.SLO.FirstTokenMet},
		{"end to end", f.SLO.EndToEnd > 0, f.SLO.EndToEndMet},
		{"errors", true, func(r Row) bool { return r.Outcome != record.Errored }},
	}
	var list []Component
	for _, part := range parts {
		if !part.ask {
			continue
		}
		a, _, err := f.preFault(rows, part.good)
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", part.name, err)
		}
		list = append(list, Component{Name: part.name, Against: a})
	}
	return list, nil
}
