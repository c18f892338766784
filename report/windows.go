package report

import (
	"brunt/lab"
	"brunt/measure"
)

// inWindows is the section on the windows around the fault. The guard stands
// by itself, since it feeds no other number.
func inWindows(r *lab.Result) (s section, show bool) {
	s.Title = "Windows around the fault"
	s.Lead = []string{"A request is in the window of its intended instant, also when it ends later. " +
		"Done by p50, p95 and p99 are of the completion curve: the time by which so many of all offered requests had completed. " +
		"Percentiles of completed requests are conditional on completion, and stand only beside the curve."}
	main := windowTable("What happened in each", func(k measure.WindowKind) bool { return k != measure.Guard }, r)
	guard := windowTable("The guard, the last horizon before the fire, by itself", func(k measure.WindowKind) bool { return k == measure.Guard }, r)
	if len(main.Rows)+len(guard.Rows) == 0 {
		return s, false
	}
	for _, t := range []Table{main, guard, windowIntervals(r)} {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	return s, true
}

func eachWindow(r *lab.Result, do func(*measure.Composition, *measure.WindowNumbers)) {
	for i := range r.Compositions {
		for j := range r.Compositions[i].Windows {
			do(&r.Compositions[i], &r.Compositions[i].Windows[j])
		}
	}
}

// windowTable is the table of the windows of some kinds.
func windowTable(title string, of func(measure.WindowKind) bool, r *lab.Result) Table {
	b := builder{table: Table{Title: title, Keys: 2, Grouped: true}}
	b.column(compositionHead)
	b.column("Window")
	b.column("From / to", counts, counts)
	b.column("Offered", counts)
	b.column("Completed / errored / censored", counts, counts, counts)
	b.column("Goodput", counts)
	b.column("Completed in the end", shares)
	for _, q := range []string{"p50", "p95", "p99"} {
		b.column("Done by "+q+" ms", milliseconds)
	}
	b.column("Of completed: p50 / p95 / p99 ms", milliseconds, milliseconds, milliseconds)
	eachWindow(r, func(c *measure.Composition, w *measure.WindowNumbers) {
		if !of(w.Window) {
			return
		}
		b.row(c.Name, string(w.Window)+b.foot(w.Note))
		b.cell(value{words: millis(w.From)}, value{words: millis(w.To)})
		b.cell(num(w.Offered))
		b.cell(num(w.Completed), num(w.Errored), num(w.Censored))
		b.windowNumbers(w)
	})
	return b.finish()
}

// windowNumbers are the cells that a discarded window has no numbers for.
func (b *builder) windowNumbers(w *measure.WindowNumbers) {
	if w.Discarded || w.Incidence == nil || w.CompletedOnly == nil {
		for range 6 {
			b.cell(value{words: "discarded"})
		}
		return
	}
	if w.Goodput == nil {
		b.cell(b.refused(absent, "the study has no SLO"))
	} else {
		b.cell(b.rate(w.Goodput))
	}
	if w.Incidence.Final == nil {
		b.cell(b.refused(absent, w.Incidence.Reason))
	} else {
		b.cell(num(100 * *w.Incidence.Final))
	}
	p := measure.Phase{Incidence: *w.Incidence}
	for _, q := range []float64{0.5, 0.95, 0.99} {
		b.cell(b.done(&p, q))
	}
	of := w.CompletedOnly
	if of.P50 == nil || of.P95 == nil || of.P99 == nil {
		b.cell(b.refused(absent, of.Reason))
		return
	}
	last := num(inMillis(*of.P99))
	if w.Caveat != "" {
		// However a table is split, they never stand without the share that they are of.
		of := absent
		if final := w.Incidence.Final; final != nil {
			of = scale{" %", 100}.text(*final, asNeeded)
		}
		last = value{words: number(last.number) + " of only " + of + b.foot(w.Caveat)}
	}
	b.cell(num(inMillis(*of.P50)), num(inMillis(*of.P95)), last)
	if w.Caveat != "" {
		b.tone(Bad)
	}
}

// windowIntervals is the table of the intervals of quantiles, or of why there
// is none. A deterministic run has none at all, and says so once.
func windowIntervals(r *lab.Result) Table {
	b := builder{table: Table{Title: "95 % intervals of the curve's quantiles", Keys: 2, Grouped: true,
		Caption: "Of order statistics; they assume no distribution, and describe this run."}}
	if r.Deterministic {
		return b.table
	}
	b.column(compositionHead)
	b.column("Window")
	for _, q := range []string{"p50", "p95", "p99"} {
		b.column(q + " from / to ms")
	}
	eachWindow(r, func(c *measure.Composition, w *measure.WindowNumbers) {
		if w.Discarded || len(w.Intervals) == 0 {
			return
		}
		b.row(c.Name, string(w.Window))
		for _, q := range []float64{0.5, 0.95, 0.99} {
			b.cell(b.bounds(w, q))
		}
	})
	return b.finish()
}

func (b *builder) bounds(w *measure.WindowNumbers, q float64) value {
	for _, of := range w.Intervals {
		switch {
		case of.Q != q:
		case of.Lower == nil || of.Upper == nil:
			return b.refused("omitted", of.Reason)
		default:
			low, high := bound(of.Lower), bound(of.Upper)
			if low == high { // both are the same verdict
				return value{words: low}
			}
			return value{words: low + partSeparator + high}
		}
	}
	return b.refused(absent, "no interval was computed")
}

// bound is one end of an interval: a time, or a verdict.
func bound(q *measure.Quantile) string {
	if q.Status == measure.Reached && q.Millis != nil {
		return number(inMillis(*q.Millis))
	}
	return string(q.Status)
}
