package report

import (
	"slices"

	"brunt/lab"
	"brunt/measure"
)

// comesBack is the section on whether goodput returned once the trigger was
// gone; left out where no study phase disturbs anything.
func comesBack(r *lab.Result) (s section, show bool) {
	with := func(c measure.Composition) bool { return c.Stability != nil && c.Stability.Trigger != nil }
	first := slices.IndexFunc(r.Compositions, with)
	if first < 0 {
		return s, false
	}
	if !slices.ContainsFunc(r.Compositions, func(c measure.Composition) bool { return with(c) && c.Stability.Share != nil }) {
		return cannotTell(r, r.Compositions[first].Stability)
	}
	trigger := r.Compositions[first].Stability.Trigger
	b := builder{table: Table{Title: "Does it come back", Keys: 1, Caption: stabilityCaption(trigger)}}
	b.column(compositionHead)
	b.column("Verdict")
	b.column("Goodput before", percentages)
	b.column("Then / least later", percentages, percentages)
	b.column("Back after ms", milliseconds)
	b.column("Retries", percentages)
	b.column("Wasted", percentages)
	b.column("Demand: calls / all", percentages, percentages)
	b.column("Load cut", percentages)
	for i := range r.Compositions {
		c := &r.Compositions[i]
		if !with(*c) {
			continue
		}
		st := c.Stability
		b.row(c.Name, string(st.Status)+b.foot(st.Reason))
		switch st.Status {
		case measure.Metastable, measure.Late, measure.Unsettled, measure.Relapsed:
			b.tone(Bad)
		case measure.Stable:
			b.tone(Good)
		}
		b.cell(b.part(st.Baseline.Goodput, 100, st.Baseline.Reason))
		if st.Share == nil || st.Least == nil {
			b.cell(b.refused(absent, st.Reason))
		} else {
			b.cell(num(100**st.Share), num(100**st.Least))
		}
		switch {
		case st.Recovered != nil && !st.Degraded:
			b.cell(value{words: "was not away"})
		case st.Recovered != nil:
			b.cell(num(inMillis(*st.Recovered)))
		default:
			b.cell(b.refused(notObserved, st.RecoveredReason))
		}
		b.cell(b.part(st.RetryShare, 100, st.RetryShareReason))
		b.cell(b.part(st.WastedShare, 100, st.WastedShareReason))
		if st.FirstDemand == nil || st.Demand == nil {
			b.cell(b.refused(absent, st.DemandReason))
		} else {
			b.cell(num(100**st.FirstDemand), num(100**st.Demand))
		}
		b.cell(loadCut(&b, r, c))
	}
	t := b.finish()
	return section{Title: t.Title, Table: &t}, true
}

// cannotTell says why nothing is known, where workers make it worth asking.
func cannotTell(r *lab.Result, st *measure.Stability) (s section, show bool) {
	show = slices.ContainsFunc(r.Compositions, func(c measure.Composition) bool { return len(c.Capacity) > 0 })
	return section{Title: "Does it come back", Lead: []string{"Not estimable. " + sentence(st.Reason)}}, show
}

// part is a share in percent, or why there is none.
func (b *builder) part(share *float64, scale float64, reason string) value {
	if share == nil {
		return b.refused(absent, reason)
	}
	return num(scale * *share)
}

func loadCut(b *builder, r *lab.Result, c *measure.Composition) value {
	for i := range r.LoadCuts {
		if cut := &r.LoadCuts[i]; cut.Composition == c.Name {
			return b.part(cut.Share, 100, cut.Reason)
		}
	}
	return value{words: "none needed"}
}

func stabilityCaption(t *measure.TriggerSpan) string {
	return "The trigger is " + plainPhases(t.Phases) + ", from " + millis(t.From) + " to " + millis(t.To) + ". " +
		"Metastable: a hold after the trigger is gone, goodput is below exit of what it was before, and in no later window is it up to entry again. " +
		"Relapsed, unsettled: it was, and did not stay. " +
		"Then: goodput of the window that starts a hold after the trigger; least: of any window from there on. Back after: from the trigger's end to the first window at entry that stays for a hold. " +
		"Retries, of the attempts from then on; wasted, of the workers' time: spent on answers that nobody waited for any more. " +
		"Demand: the work of the calls alone, and with their retries and hedges, of what the workers can do. " +
		"Load cut: the least part of the load that must stay away for a while, for goodput to come back and stay under the full load."
}
