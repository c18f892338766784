package report

import "brunt/lab"

// declared is the section on the comparisons that the study has declared
// beforehand, each with what is left of its p-value after all of them.
func declared(r *lab.Result) (s section, show bool) {
	if len(r.Secondary) == 0 {
		return s, false
	}
	b := builder{table: Table{Title: "Declared comparisons", Keys: 2,
		Caption: "Paired by seed, with 95 % t-intervals of the differences. p is adjusted (Holm) for the " +
			plural(int64(r.Secondary[0].Planned), "comparison", "comparisons") + " declared, refused ones included."}}
	b.column("Number")
	b.column("A and B")
	b.column("A", counts)
	b.column("B", counts)
	b.column(differenceHead, counts)
	b.column("95 % interval", counts)
	b.column("p", counts)
	b.column("Verdict")
	for i := range r.Secondary {
		pair := &r.Secondary[i]
		d := &pair.Difference
		name, _, what := named(d.Name)
		b.row(name, pair.A+", "+pair.B)
		if d.A == nil || d.B == nil || d.Mean == nil {
			for range 4 {
				b.cell(b.refused(absent, d.Reason))
			}
		} else {
			scale := scaleOf(what)
			decimals := differenceDecimals(d, scale)
			b.cell(value{words: scale.text(*d.A, decimals)})
			b.cell(value{words: scale.text(*d.B, decimals)})
			b.cell(value{words: scale.change(*d.Mean, decimals)})
			if d.Low == nil || d.High == nil {
				b.cell(b.refused(absent, d.Reason))
			} else {
				b.cell(value{words: span95(d, scale, decimals) + b.foot(d.Flag)})
			}
		}
		if pair.Adjusted == nil {
			b.cell(b.refused(absent, pair.Reason))
		} else {
			b.cell(value{words: probability(*pair.Adjusted)})
		}
		b.cell(value{words: string(d.Verdict)})
	}
	t := b.finish()
	return section{Title: t.Title, Table: &t}, true
}
