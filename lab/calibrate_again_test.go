package lab

import (
	"context"
	"testing"
	"time"

	"brunt/study"
)

// A step that tells nothing is run again, as it may have been the machine's bad
// moment; the third in a row ends the trial. All of them are kept.
func TestStepsThatTellNothing(t *testing.T) {
	s := read(t, "outage")
	for _, c := range []struct {
		name     string
		statuses []StepStatus // of the steps, in turn; then not sustained
		want     CalibrationStatus
		steps    int
	}{
		{"twice, then sustained", []StepStatus{StepInconclusive, StepInconclusive, StepSustained}, CapacityFound, 3},
		{"three times", []StepStatus{StepInconclusive, StepInconclusive, StepInconclusive, StepSustained}, NotConclusive, 3},
		{"three times at a higher rate", []StepStatus{StepSustained, StepInconclusive, StepInconclusive, StepInconclusive}, NotConclusive, 4},
		{"never", []StepStatus{StepSustained}, CapacityFound, 1},
	} {
		n := 0
		search := search{ctx: context.Background(), study: s, with: s.Calibration()}
		search.step = func(context.Context, *ground, *study.Study, string, func(at, length time.Duration)) (Step, error) {
			status := StepNotSustained
			if n < len(c.statuses) {
				status = c.statuses[n]
			}
			n++
			return Step{Status: status, Why: "why"}, nil
		}
		if err := search.run(); err != nil {
			t.Fatal(err)
		}
		if search.Status != c.want || len(search.Steps) < c.steps || c.want == NotConclusive && len(search.Steps) != c.steps {
			t.Errorf("%s: %s after %d steps: want %s after %d", c.name, search.Status, len(search.Steps), c.want, c.steps)
		}
		if c.want == NotConclusive && search.Reason == "" {
			t.Errorf("%s: no reason", c.name)
		}
	}
}
