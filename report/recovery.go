package report

import (
	"brunt/lab"
	"brunt/measure"
)

// recovery is the table of how long it takes until all is well.
func recovery(r *lab.Result, c *config) Table {
	b := builder{table: Table{Title: "How long until both are well", Caption: recoveryCaption(r, c), Keys: 1}}
	b.column(compositionHead)
	b.column("Recovery ms", milliseconds)
	b.column("Cancelled attempts", counts)
	b.column("Losers pending", counts)
	b.column("Clean-up p99 / max ms", milliseconds, milliseconds)
	b.column("Peak requests / attempts", counts, counts)
	b.column("Active after drain", counts)
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		b.row(comp.Name)
		if t := comp.Recovery.CleanWindow; t != nil {
			b.cell(num(inMillis(*t)))
		} else {
			b.cell(b.refused(notObserved, comp.Recovery.Reason))
		}
		b.cell(num(comp.Cancelled))
		b.cell(num(comp.LosersPending))
		if comp.Cleanup.P99 == nil || comp.Cleanup.Max == nil {
			b.cell(b.refused(absent, comp.Cleanup.Reason))
		} else {
			b.cell(num(inMillis(*comp.Cleanup.P99)), num(inMillis(*comp.Cleanup.Max)))
		}
		b.cell(num(comp.Peak.Requests), num(comp.Peak.Attempts))
		b.cell(num(comp.ActiveAfterDrain))
		if comp.ActiveAfterDrain != 0 {
			b.tone(Bad)
		}
	}
	return b.finish()
}

func recoveryCaption(r *lab.Result, c *config) string {
	window, phase := measure.Millis(c.Recovery.CleanWindow), c.Recovery.Phase
	if len(r.Compositions) > 0 {
		window, phase = r.Compositions[0].Recovery.Window, r.Compositions[0].Recovery.Phase
	}
	from := "of its phase"
	if phase != "" {
		from = "of phase " + phase
	}
	return "Recovery runs from the start " + from + " to the end of the first clean window of " + millis(window) +
		" or, if later, its last completion. In a clean window enough requests arrive (rate × window, at least one) and " +
		"every one completes, so none is shed or refused. " +
		"Losers pending: attempts still open when their caller had its answer. " +
		"Clean-up: how long an attempt outlives that answer, over all attempts; it counts in the peak of attempts until then."
}
