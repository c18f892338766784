package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/lab"
	"brunt/measure"
	"brunt/study"
)

// aCalibration is one on the real clock, with all that its report can show.
func aCalibration() *lab.Calibration {
	ms := func(n float64) *measure.Millis { m := measure.Millis(n * 1e6); return &m }
	f := func(v float64) *float64 { return &v }
	step := func(rate string, offered, good int64, why string) lab.Step {
		s := lab.Step{
			Rate: rate, Offered: offered, Completed: good, Good: good, Causes: map[string]int64{},
			Goodput: f(float64(good) / float64(offered)), Settled: *ms(5000), Measured: *ms(10_000),
			Quantiles:   []measure.Quantile{{Q: 0.5, Status: measure.Reached, Millis: ms(12)}, {Q: 0.95, Status: measure.Reached, Millis: ms(40)}, {Q: 0.99, Status: measure.Unattainable}},
			InFlightEnd: 3, GrowthAllowed: 12, Queues: []lab.StepQueue{{Name: "a", Max: 1}, {Name: "b", Mean: f(0.25), Max: 4}},
			SendSkewP99: ms(0.2), SendSkewMax: ms(1.5), Status: lab.StepSustained, Why: why,
		}
		if why != "" {
			s.Status = lab.StepNotSustained
		}
		return s
	}
	steps := []lab.Step{step("100/s", 1000, 1000, ""), step("200/s", 2000, 1500, "goodput is 75 %, below 99 % (of 2,000: 500 timeout)"), step("110/s", 1100, 1099, "")}
	return &lab.Calibration{
		Schema: 1, Study: "capable", Of: "one replica", Composition: "plain", Seed: 1, Clock: study.Real,
		Status: lab.CapacityFound, Capacity: f(110), CapacityAs: "110/s", Reason: "121/s is not sustained: goodput is 75 %",
		Share: 0.65, ShareRate: "71.5/s", Least: 0.99, SLO: &lab.SLO{FirstToken: ms(1000), EndToEnd: ms(30_000)},
		Trials: []lab.Trial{
			{Seed: 1, Status: lab.CapacityFound, Capacity: f(110), CapacityAs: "110/s", Steps: steps},
			{Seed: 2, Status: lab.NoCapacity, Reason: "not even 100/s is sustained: 3 shed", Steps: steps[:1]},
			{Seed: 3, Status: lab.CapacityFound, Capacity: f(120), CapacityAs: "120/s", Steps: steps[:1]},
		},
		Config: json.RawMessage(`{}`),
	}
}

func TestGoldenCalibration(t *testing.T) {
	var text, wide, md, js bytes.Buffer
	for _, err := range []error{
		CalibrationText(&text, aCalibration(), "mine.yaml", TextOptions{Folder: "calibrated"}),
		CalibrationText(&wide, aCalibration(), "-", TextOptions{Width: 180, Color: true}),
		CalibrationMarkdown(&md, aCalibration(), "mine.yaml"),
		CalibrationJSON(&js, aCalibration()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "calibration.txt", text.Bytes())
	golden(t, "calibration.color.txt", wide.Bytes())
	golden(t, "calibration.md", md.Bytes())
	golden(t, "calibration.json", js.Bytes())
}

// TestCalibrationWithoutCapacity: no number is shown, and how to use it neither.
func TestCalibrationWithoutCapacity(t *testing.T) {
	for _, status := range []lab.CalibrationStatus{lab.NoCapacity, lab.CapacityBeyond, lab.NotConclusive, lab.CalibrationEnded} {
		c := aCalibration()
		c.Status, c.Capacity, c.CapacityAs, c.ShareRate, c.Reason = status, nil, "", "", "the reason"
		var b bytes.Buffer
		if err := CalibrationText(&b, c, "mine.yaml", TextOptions{}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !strings.Contains(got, "no capacity: "+string(status)) || !strings.Contains(got, "There is no capacity to tell. The reason.") || strings.Contains(got, "load.rate=") {
			t.Errorf("%s:\n%s", status, got)
		}
	}
}

// TestCapacityWords: which of the trials counts is said.
func TestCapacityWords(t *testing.T) {
	c := aCalibration()
	three := c.Trials
	for n, want := range map[int]string{1: "is 110/s. A step", 2: "110/s, the lower one of two trials. A", 3: "110/s, the median of 3 trials. A", 4: "110/s, the lower median of 4 trials. A"} {
		c.Trials = append(three, three...)[:n]
		if got := capacityWords(c); !strings.Contains(got, want) {
			t.Errorf("%d trials: %s", n, got)
		}
	}
	c.SLO = nil
	if got := sustainedMeans(c); !strings.Contains(got, "at least 99 % of its requests complete within the horizon, none") {
		t.Error(got)
	}
}

// TestCalibrationIsWritten: what cannot be written is an error.
func TestCalibrationIsWritten(t *testing.T) {
	for name, write := range map[string]func() error{
		"text":     func() error { return CalibrationText(failing{}, aCalibration(), "", TextOptions{}) },
		"markdown": func() error { return CalibrationMarkdown(failing{}, aCalibration(), "") },
		"json":     func() error { return CalibrationJSON(failing{}, aCalibration()) },
	} {
		if err := write(); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b bytes.Buffer
	if err := CalibrationJSON(&b, aCalibration()); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(110.0, got["capacity_per_s"]); diff != "" {
		t.Error(diff)
	}
}
