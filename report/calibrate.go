package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"brunt/lab"
	"brunt/measure"
	"brunt/study"
)

// CalibrationText writes a calibration for a terminal: what was found, how to
// use it, and every step of it. source is what the study was read from, for the
// command that uses it.
func CalibrationText(w io.Writer, c *lab.Calibration, source string, opt TextOptions) error {
	if opt.Width <= 0 {
		opt.Width = usualWidth
	}
	t := &terminal{w: bufio.NewWriter(w), width: max(opt.Width, leastWidth), color: opt.Color}
	d := calibration(c, source)
	t.heading(d)
	for i := range d.Sections {
		t.section(&d.Sections[i])
	}
	if opt.Folder != "" {
		t.line("")
		t.line(t.paint("RESULTS", bold))
		t.line(indent + clean(opt.Folder))
	}
	return calibrated(t.w.Flush())
}

// CalibrationMarkdown writes the same as Markdown.
func CalibrationMarkdown(w io.Writer, c *lab.Calibration, source string) error {
	m := &markdown{bufio.NewWriter(w)}
	d := calibration(c, source)
	m.heading(d)
	for i := range d.Sections {
		m.section(&d.Sections[i])
	}
	return calibrated(m.w.Flush())
}

// CalibrationJSON writes calibration.json, laid out as [JSON] does.
func CalibrationJSON(w io.Writer, c *lab.Calibration) error {
	compact, err := encode(c)
	if err == nil {
		_, err = w.Write(indentJSON(compact))
	}
	return calibrated(err)
}

func calibrated(err error) error {
	if err != nil {
		return fmt.Errorf("writing the calibration: %w", err)
	}
	return nil
}

// calibration makes the report that both formats share.
func calibration(c *lab.Calibration, source string) *document {
	d := &document{Title: c.Study + ": the capacity of " + c.Of + ", through " + c.Composition}
	steps := int64(0)
	for i := range c.Trials {
		steps += int64(len(c.Trials[i].Steps))
	}
	d.Facts = []fact{capacityFact(c), {Text: string(c.Clock) + " clock"}, {Text: plural(int64(len(c.Trials)), "trial", "trials")}, {Text: plural(steps, "step", "steps")}}
	found := section{Title: "Capacity", Lead: []string{capacityWords(c), sustainedMeans(c)}}
	d.Sections = append(d.Sections, found)
	if c.ShareRate != "" {
		if source == "-" || source == "" {
			source = "STUDY"
		}
		d.Sections = append(d.Sections, section{Title: "To use it", Items: []string{
			fmt.Sprintf("brunt run %s --set load.rate=%s: at %s of it", source, c.ShareRate, percent(c.Share)),
			fmt.Sprintf("calibrate: {share: %s} in the study makes brunt run measure it first, and take that share", percent(c.Share)),
		}})
	}
	if len(c.Trials) > 1 {
		t := trials(c)
		d.Sections = append(d.Sections, section{Title: t.Title, Table: &t})
	}
	t := calibrationSteps(c)
	d.Sections = append(d.Sections, section{Title: t.Title, Table: &t})
	return d
}

func capacityFact(c *lab.Calibration) fact {
	if c.Status == lab.CapacityFound {
		return fact{"capacity " + c.CapacityAs, Good}
	}
	return fact{"no capacity: " + string(c.Status), Bad}
}

// capacityWords says what was found and what stopped it, or why there is none.
func capacityWords(c *lab.Calibration) string {
	if c.Status != lab.CapacityFound {
		return "There is no capacity to tell. " + sentence(c.Reason)
	}
	words := "The highest rate that is sustained is " + c.CapacityAs
	switch n := len(c.Trials); {
	case n == 2:
		words += ", the lower one of two trials"
	case n > 1 && n%2 == 0:
		words += ", the lower median of " + strconv.Itoa(n) + " trials"
	case n > 1:
		words += ", the median of " + strconv.Itoa(n) + " trials"
	}
	return words + ". A step above it, " + stopped(c.Reason)
}

// sustainedMeans says what is asked of a step.
func sustainedMeans(c *lab.Calibration) string {
	good := "complete within the horizon"
	if c.SLO != nil {
		var limits []string
		if d := c.SLO.FirstToken; d != nil {
			limits = append(limits, "have their first token within "+millis(*d))
		}
		if d := c.SLO.EndToEnd; d != nil {
			limits = append(limits, "end within "+millis(*d))
		}
		good = "complete, and " + list(limits)
	}
	return fmt.Sprintf("A rate is sustained when at least %s %% of its requests %s, none is shed, and in flight does not grow through the second half of the step.", strconv.FormatFloat(100*c.Least, 'g', 8, 64), good)
}

// percent writes a share, with no more digits than it has, as a study does.
func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 8, 64) + "%" }

// trials is the table of what each trial has found.
func trials(c *lab.Calibration) Table {
	b := builder{table: Table{Title: "Trials", Keys: 1}}
	b.column("Trial", counts)
	b.column("Seed", counts)
	b.column("Capacity", counts)
	b.column("Steps", counts)
	for i := range c.Trials {
		t := &c.Trials[i]
		b.row()
		b.cell(num(int64(i + 1)))
		b.cell(num(t.Seed))
		if t.Capacity == nil {
			b.cell(b.refused(string(t.Status), t.Reason))
		} else {
			b.cell(value{words: t.CapacityAs})
		}
		b.cell(num(int64(len(t.Steps))))
	}
	return b.finish()
}

// calibrationSteps is the table of all steps, in their order.
func calibrationSteps(c *lab.Calibration) Table {
	b := builder{table: Table{
		Title: "Steps", Keys: 2, Grouped: true,
		Caption: "In their order: doubled, then 10 % more each. p50, p95 and p99 are of all requests, those that never completed too, in ms; in flight in the middle of the measured part, and at its end.",
	}}
	queues, skews := false, c.Clock == study.Real
	for i := range c.Trials {
		queues = queues || slices.ContainsFunc(c.Trials[i].Steps, func(s lab.Step) bool { return len(s.Queues) > 0 })
	}
	b.column("Trial")
	b.column("Rate", counts)
	b.column("Verdict")
	b.column("Measured", counts)
	b.column("Offered", counts)
	b.column("Completed", counts)
	b.column("Goodput", percentages)
	b.column("p50 / p95 / p99", milliseconds, milliseconds, milliseconds)
	b.column("In flight", counts, counts)
	if queues {
		b.column("Queue mean / max", ratios, counts)
	}
	if skews {
		b.column("Send skew p99 / max", milliseconds, milliseconds)
	}
	for i := range c.Trials {
		for k := range c.Trials[i].Steps {
			s := &c.Trials[i].Steps[k]
			b.row(strconv.Itoa(i + 1))
			b.cell(value{words: s.Rate})
			b.verdict(s)
			b.cell(value{words: duration(time.Duration(s.Measured))})
			b.cell(num(s.Offered))
			b.cell(num(s.Completed))
			if s.Goodput == nil {
				b.cell(b.refused(absent, "no request was offered"))
			} else {
				b.cell(num(100 * *s.Goodput))
			}
			b.cell(b.stepQuantiles(s)...)
			b.cell(num(s.InFlightMiddle), num(s.InFlightEnd))
			if queues {
				b.cell(b.stepQueue(s)...)
			}
			if skews {
				b.cell(b.stepTime(s.SendSkewP99), b.stepTime(s.SendSkewMax))
			}
		}
	}
	return b.finish()
}

// verdict adds what a step has shown; why not is a footnote.
func (b *builder) verdict(s *lab.Step) {
	if s.Status == lab.StepSustained {
		b.cell(value{words: "✓ " + string(s.Status)})
		b.tone(Good)
		return
	}
	b.cell(b.refused("✗ "+string(s.Status), s.Rate+": "+s.Why))
	b.tone(Bad)
}

func (b *builder) stepQuantiles(s *lab.Step) []value {
	parts := make([]value, 0, len(s.Quantiles))
	for i := range s.Quantiles {
		if q := &s.Quantiles[i]; q.Millis != nil {
			parts = append(parts, num(inMillis(*q.Millis)))
		} else {
			parts = append(parts, value{words: string(q.Status)})
		}
	}
	if len(parts) == 0 {
		return []value{{words: absent}}
	}
	return parts
}

// stepQueue tells of the target with the longest queue.
func (b *builder) stepQueue(s *lab.Step) []value {
	if len(s.Queues) == 0 {
		return []value{{words: absent}}
	}
	q := slices.MaxFunc(s.Queues, func(a, b lab.StepQueue) int { return int(a.Max - b.Max) })
	if q.Mean == nil {
		return []value{{words: absent}, num(q.Max)}
	}
	return []value{num(*q.Mean), num(q.Max)}
}

func (b *builder) stepTime(d *measure.Millis) value {
	if d == nil {
		return value{words: absent}
	}
	return num(inMillis(*d))
}
