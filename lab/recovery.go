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
		if c.Recovery.Goodput, c.Windows, err = recovery(s, outcomes[i].rows); err != nil {
			return "", fmt.Errorf("composition %s: %w", c.Name, err)
		}
		c.Recovery.GoodputReason = ""
		at := time.Duration(c.Recovery.Goodput.Anchor)
		inFlight := measure.InFlightAt(outcomes[i].rows, at, nil, deterministic(s))
		c.InFlight = &inFlight
	}
	return "", nil
}

// recovery measures the return from a fault that fires at the start of its
// phase, as the schedule says: nothing can delay a simulated one.
func recovery(s *study.Study, rows measure.Rows) (*measure.FaultRecovery, []measure.WindowNumbers, error) {
	layout, _ := s.Layout()
	slo := measure.SLO{EndToEnd: s.Horizon} // without a promise, whatever completes is good
	if s.SLO != nil {
		slo = *s.SLO
	}
	f := measure.Fault{
		Baseline: measure.Span{Name: "baseline", From: layout.Start + layout.Warmup, To: layout.Anchor - layout.Horizon},
		Planned:  layout.Anchor, Actual: record.Never, End: layout.CoolDown,
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

// deterministic reports whether a run has no sampling error: it takes no draw.
func deterministic(s *study.Study) bool { return s.Clock == study.Virtual && !random(s) }
