package lab

import (
	"fmt"
	"time"

	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// recoveries measures, in each composition of each repeat, the return from the
// study's fault and the windows around it.
func recoveries(s *study.Study, outcomes []outcome) (reason string, err error) {
	if s.Fault == nil {
		return "", nil
	}
	for i := range outcomes {
		if outcomes[i].rows == nil {
			for i := range outcomes {
				outcomes[i].composition.Recovery.GoodputReason = "not computed: see fault_reason"
			}
			return fmt.Sprintf("not computed for more than %s requests", thousands(rowsMost)), nil
		}
		c := &outcomes[i].composition
		fired := record.Never
		if site := outcomes[i].site; site != nil {
			fired = site.Fired()
		}
		if c.Recovery.Goodput, c.Windows, err = recovery(s, outcomes[i].rows, fired); err != nil {
			return "", fmt.Errorf("composition %s: %w", c.Name, err)
		}
		c.Recovery.GoodputReason = ""
		at := time.Duration(c.Recovery.Goodput.Anchor)
		inFlight := measure.InFlightAt(outcomes[i].rows, at, nil, deterministic(s))
		if s.Fault.Injected() != nil && outcomes[i].site != nil {
			inFlight = outcomes[i].site.InFlight()
		}
		c.InFlight = &inFlight
	}
	return "", nil
}

// recovery measures the return from a fault that should fire at the start of its
// phase. A real one has fired when it was seen to; nothing delays a simulated one.
func recovery(s *study.Study, rows measure.Rows, fired time.Duration) (*measure.FaultRecovery, []measure.WindowNumbers, error) {
	layout, _ := s.Layout()
	slo := measure.SLO{EndToEnd: s.Horizon} // without a promise, whatever completes is good
	if s.SLO != nil {
		slo = *s.SLO
	}
	f := measure.Fault{
		Baseline: measure.Span{Name: "baseline", From: layout.Start + layout.Warmup, To: layout.Anchor - layout.Horizon},
		Planned:  layout.Anchor, Actual: fired, End: layout.CoolDown,
		Horizon: s.Horizon, SLO: slo, Bucket: s.Fault.Bucket, Detector: s.Recovery.Detector, PartitionHeals: s.Fault.PartitionHeals,
	}
	found, err := f.Recovery(rows)
	if err != nil {
		return nil, nil, err
	}
	if pre := found.PreFault.Detection; pre.Status == measure.Recovered {
		layout.Recovered = layout.Anchor + time.Duration(*pre.Time)
	}
	windows, err := layout.Windows()
	if err != nil {
		return nil, nil, err
	}
	numbers, _, err := measure.MeasureWindows(rows, windows, s.Horizon, s.SLO, deterministic(s))
	return found, numbers, err
}

// sitePlan says what a run on real targets is held against.
func sitePlan(s *study.Study) measure.SitePlan {
	p := measure.SitePlan{Fire: record.Never, Baseline: measure.Span{Name: "whole", To: s.Length()}}
	if s.Testbed != nil {
		p.Replicas = s.Testbed.ReplicaNames()
	}
	if layout, ok := s.Layout(); ok {
		p.Fire = layout.Anchor
		p.Baseline = measure.Span{Name: "baseline", From: layout.Start + layout.Warmup, To: layout.Anchor - layout.Horizon}
		if s.Fault.Injected() != nil {
			p.Victim = s.VictimName()
		}
	}
	return p
}

// sites adds what was seen around runs on real targets.
func sites(s *study.Study, outcomes []outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		if o.site == nil {
			continue
		}
		recovered := record.Never
		if g := o.composition.Recovery.Goodput; g != nil && g.PreFault.Detection.Status == measure.Recovered {
			recovered = time.Duration(g.Anchor) + time.Duration(*g.PreFault.Detection.Time)
		}
		var windows []measure.Window
		for _, w := range o.composition.Windows {
			windows = append(windows, measure.Window{Kind: w.Window, From: time.Duration(w.From), To: time.Duration(w.To)})
		}
		site := o.site.Site(windows, recovered)
		o.composition.Site = &site
	}
}

// deterministic reports whether a run has no sampling error: it takes no draw.
func deterministic(s *study.Study) bool { return s.Clock == study.Virtual && !random(s) }
