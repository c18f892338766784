package report

import (
	"slices"

	"brunt/lab"
	"brunt/measure"
)

// withinSLO is the section on how much of the load was served within the
// study's SLO. Only report.md has what other limits would give.
func withinSLO(r *lab.Result, c *config) (list []section) {
	var all []*measure.Composition
	for i := range r.Compositions {
		if r.Compositions[i].Service != nil {
			all = append(all, &r.Compositions[i])
		}
	}
	if all == nil {
		return nil
	}
	if reason := all[0].Service.Reason; reason != "" {
		return []section{{Title: "Goodput", Lead: []string{sentence(reason)}}}
	}
	goodput := goodputTable(all, c)
	list = append(list, section{Title: goodput.Title, Table: &goodput})
	if modal := modalTable(all); len(modal.Rows) > 0 {
		list[0].Tables = []Table{modal}
	}
	if sweep := sweepTable(all); len(sweep.Rows) > 0 {
		list = append(list, section{Title: sweep.Title, Table: &sweep, Long: true})
	}
	return list
}

// goodputTable is goodput by phase, with its interval where there is one.
func goodputTable(all []*measure.Composition, c *config) Table {
	b := builder{table: Table{Title: "Goodput", Keys: 1,
		Caption: "Of all requests offered, those that complete " + promised(c) + "; in brackets the 95 % interval, where there is chance in it."}}
	b.column(compositionHead)
	for _, p := range all[0].Service.Goodput {
		b.column(wholeRun(p.Phase), counts)
	}
	for _, comp := range all {
		b.row(comp.Name)
		for i := range comp.Service.Goodput {
			b.cell(b.rate(&comp.Service.Goodput[i].Rate))
		}
	}
	return b.finish()
}

// modalTable is how far the fault moves the most usual latency.
func modalTable(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "The most usual latency during the fault", Keys: 1,
		Caption: "Of completed requests: the mode during the fault, against mean and standard deviation (SD) of the baseline."}}
	b.column(compositionHead)
	b.column("Mode ms", milliseconds)
	b.column("Baseline mean / SD ms", milliseconds, milliseconds)
	b.column("Shift in SD", counts)
	for _, comp := range all {
		m := comp.Service.Modal
		if m == nil {
			continue
		}
		b.row(comp.Name)
		b.cell(b.measured(m.Mode, m.Reason))
		if m.Mean == nil || m.SD == nil {
			b.cell(b.refused(absent, m.Reason))
		} else {
			b.cell(num(inMillis(*m.Mean)), num(inMillis(*m.SD)))
		}
		if m.Sigmas == nil {
			b.cell(b.refused(string(m.Status), m.Reason))
		} else {
			b.cell(value{words: scale{"", 1}.signed(*m.Sigmas, 2)})
		}
	}
	return b.finish()
}

// sweepTable is the goodput that other limits would give.
func sweepTable(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "Goodput at other limits", Keys: 1, Caption: "Of the whole run, were the limit on the end another one."}}
	b.column("Limit")
	for _, comp := range all {
		b.column(comp.Name, counts)
	}
	for i, t := range all[0].Service.Sweep {
		if slices.ContainsFunc(all, func(c *measure.Composition) bool { return len(c.Service.Sweep) <= i }) {
			break
		}
		b.row(millis(t.Limit))
		for _, comp := range all {
			b.cell(b.rate(&comp.Service.Sweep[i].Rate))
		}
	}
	return b.finish()
}
