package report

import (
	"strings"

	"brunt/lab"
	"brunt/measure"
	"brunt/record"
)

const (
	compositionHead = "Composition"
	phaseHead       = "Phase"
	notObserved     = "not observed"
	absent          = "—"
)

// outcomes is the table of what callers see.
func outcomes(r *lab.Result, c *config) Table {
	b := builder{table: Table{
		Title: "What callers see",
		Caption: "Requests by the phase of their intended instant, also those that end later. " +
			"Failed includes refused and shed. p95 and p99 are times from the intended instant to any outcome, over submitted requests: " +
			"an instant refusal counts as fast. Success p99 is conditional on completion. " +
			"Done p95 is the time by which 95 % of all offered requests had completed; never, where too many errored for that. " +
			"Lag is the scheduler's: how much later than intended requests were submitted.",
		Keys: 2, Grouped: true,
	}}
	b.column(compositionHead)
	b.column(phaseHead)
	b.column("Offered", counts)
	b.column("Success / failed / censored", counts, counts, counts)
	b.column("p95 ms", milliseconds)
	b.column("p99 ms", milliseconds)
	b.column("Success p99 ms", milliseconds)
	b.column("Done p95 ms", milliseconds)
	b.column("Lag p99 ms", milliseconds)
	eachPhase(r, func(comp *measure.Composition, p *measure.Phase) {
		b.row(comp.Name, p.Name)
		b.cell(num(p.Offered))
		b.cell(num(p.Completed), num(p.Errored), num(p.Censored))
		s := p.Latency.Submitted
		b.cell(b.submitted(p, s.P95, 95, c))
		b.cell(b.submitted(p, s.P99, 99, c))
		b.cell(b.measured(p.Latency.Completed.P99, p.Latency.Completed.Reason))
		b.cell(b.done(p, 0.95))
		b.cell(b.measured(p.SchedulerLag.P99, p.SchedulerLag.Reason))
	})
	return b.finish()
}

func eachPhase(r *lab.Result, do func(*measure.Composition, *measure.Phase)) {
	for i := range r.Compositions {
		for j := range r.Compositions[i].Phases {
			do(&r.Compositions[i], &r.Compositions[i].Phases[j])
		}
	}
}

// measured is a time, or the words for one that was not seen.
func (b *builder) measured(m *measure.Millis, reason string) value {
	if m == nil {
		return b.refused(absent, reason)
	}
	return num(inMillis(*m))
}

// submitted is a percentile of the time to any outcome. One whose rank falls
// on a request censored at the horizon is a lower bound and is written so.
func (b *builder) submitted(p *measure.Phase, m *measure.Millis, percent int64, c *config) value {
	if m != nil {
		return num(inMillis(*m))
	}
	rank := (percent*p.Submitted + 99) / 100 // nearest rank
	if rank > p.Submitted-p.Censored && p.Incidence.CensoredBeforeHorizon == 0 && p.Censored > 0 {
		return value{words: "> " + millis(measure.Millis(c.Horizon))}
	}
	return b.refused(absent, p.Latency.Submitted.Reason)
}

// done is a quantile of the completion-incidence curve, or its refusal.
func (b *builder) done(p *measure.Phase, q float64) value {
	for _, of := range p.Incidence.Quantiles {
		switch {
		case of.Q != q:
		case of.Millis != nil:
			return num(inMillis(*of.Millis))
		case of.Status == measure.Unattainable:
			return value{words: "never"}
		case of.Status == measure.Beyond:
			return b.refused("beyond", of.Reason)
		default:
			return b.refused(absent, of.Reason)
		}
	}
	return b.refused(absent, p.Incidence.Reason)
}

// completion is the table of quantiles of the completion-incidence curve with
// their intervals, of a run that has sampling error.
func completion(r *lab.Result) Table {
	b := builder{table: Table{
		Title: "By when requests are done",
		Caption: "Quantiles of the completion-incidence curve over all offered requests, in ms, with their 95 % intervals by order statistics. " +
			"They describe this run: requests within one run are not independent. Repeats tell more.",
		Keys: 2, Grouped: true,
	}}
	b.column(compositionHead)
	b.column(phaseHead)
	shown := []float64{0.5, 0.95, 0.99}
	for _, q := range shown {
		b.column("p"+precise(100*q), counts)
	}
	eachPhase(r, func(comp *measure.Composition, p *measure.Phase) {
		b.row(comp.Name, p.Name)
		for _, q := range shown {
			b.cell(b.quantile(p, q))
		}
	})
	return b.finish()
}

// quantile is a quantile and its interval, or what is refused of them.
func (b *builder) quantile(p *measure.Phase, q float64) value {
	for _, of := range p.Incidence.Quantiles {
		if of.Q != q {
			continue
		}
		words := end(of.Millis, of.Status)
		if of.Refused != "" {
			return b.refused(words, of.Refused)
		}
		low, high := end(of.Lower, of.LowerStatus), end(of.Upper, of.UpperStatus)
		if low == words && high == words {
			return value{words: words}
		}
		return value{words: words + " [" + low + ", " + high + "]"}
	}
	return b.refused(absent, p.Incidence.Reason)
}

// end is a time, or the words for one that does not come.
func end(m *measure.Millis, s measure.Status) string {
	switch {
	case m != nil:
		return precise(inMillis(*m))
	case s == measure.Unattainable:
		return "never"
	}
	return string(s)
}

// atAllTiers reminds that attempts add up over tiers.
func atAllTiers(c *config) string {
	if len(c.Services) > 0 {
		return ", at all tiers together: see below for each of them"
	}
	return ""
}

// amplification is the table of what the dependency is hit with.
func amplification(r *lab.Result, c *config) Table {
	b := builder{table: Table{
		Title: "What the dependency is hit with",
		Caption: "Submitted: let in by the harness. Admitted: at least one attempt began; a later try of such a request may still be refused. " +
			"Refused and failed count requests by what ended them. " +
			"Attempts are all those of the row's requests, in whichever phase they start" + atAllTiers(c) + ".",
		Keys: 2, Grouped: true,
	}}
	refused, failed := occurring(r)
	b.column(compositionHead)
	b.column(phaseHead)
	b.column("Submitted / admitted", counts, counts)
	b.column("Refused: "+strings.Join(refused, partSeparator), same(counts, len(refused))...)
	if len(failed) > 0 {
		b.column("Failed: "+strings.Join(failed, partSeparator), same(counts, len(failed))...)
	}
	b.column("Attempts", counts)
	b.column("per offered", ratios)
	b.column("per admitted", ratios)
	eachPhase(r, func(comp *measure.Composition, p *measure.Phase) {
		b.row(comp.Name, p.Name)
		b.cell(num(p.Submitted), num(p.Admitted))
		b.cell(by(p, refused)...)
		if len(failed) > 0 {
			b.cell(by(p, failed)...)
		}
		b.cell(num(p.Attempts))
		b.cell(b.ratio(p.AttemptsPerOffered, p.AttemptsPerOfferedReason))
		b.cell(b.ratio(p.AttemptsPerAdmitted, p.AttemptsPerAdmittedReason))
	})
	return b.finish()
}

func same(f form, n int) []form {
	forms := make([]form, n)
	for i := range forms {
		forms[i] = f
	}
	return forms
}

// occurring returns the causes that have a place in the table: of refusals,
// harness, limiter and circuit always, rate and throttle when there was any; of failures,
// those that there were.
func occurring(r *lab.Result) (refused, failed []string) {
	refused = []string{record.Harness.String(), record.Limiter.String(), record.Circuit.String()}
	for _, cause := range record.Causes() {
		n := int64(0)
		for i := range r.Compositions {
			n += r.Compositions[i].Whole.Causes[cause.String()]
		}
		switch {
		case n == 0, cause == record.Harness, cause == record.Limiter, cause == record.Circuit:
		case cause == record.Rate, cause == record.Throttle:
			refused = append(refused, cause.String())
		default:
			failed = append(failed, cause.String())
		}
	}
	return refused, failed
}

func by(p *measure.Phase, causes []string) []value {
	values := make([]value, len(causes))
	for i, cause := range causes {
		values[i] = num(p.Causes[cause])
	}
	return values
}

func (b *builder) ratio(v *float64, reason string) value {
	if v == nil {
		return b.refused(absent, reason)
	}
	return num(*v)
}
