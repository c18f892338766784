package report

import (
	"strconv"

	"brunt/lab"
	"brunt/measure"
)

// mostCompared is how many compositions a page holds against one another, each with
// each.
const mostCompared = 8

// pairs writes how any two compositions differ, each pair in a fold of its own, of
// which scripts let readers choose one.
func (p *page) pairs(r *lab.Result, c *config) {
	against, ok := againstFirst(r, c)
	if !ok && len(r.Comparisons) == 0 {
		return
	}
	p.heading("compare", "Compare two compositions")
	for _, l := range against.Lead {
		p.element(`p class="caption"`, l)
	}
	n := len(r.Compositions)
	if n > mostCompared {
		p.element(`p class="soft"`, "Each of the first "+strconv.Itoa(mostCompared)+" of "+strconv.Itoa(n)+" compositions with each, and the others with the first.")
	}
	repeated := len(r.Repeats) > 1
	p.raw("<div class=\"pairs\">\n")
	for a := range n {
		for b := a + 1; b < n; b++ {
			if a > 0 && b >= mostCompared {
				continue
			}
			pair := between(r, a, b)
			t := contrast{}
			for k := range pair.Numbers {
				if _, phase, _ := named(pair.Numbers[k].Name); c.matters(phase) {
					t.numbers = append(t.numbers, &pair.Numbers[k])
				}
			}
			title := pair.A + " (A) and " + pair.B + " (B)"
			table := t.table(title)
			if a == 0 {
				table.Notes = append(table.Notes, grayNote(pair, repeated))
			}
			p.raw(`<details class="pair" data-a="`)
			p.text(pair.A)
			p.raw(`" data-b="`)
			p.text(pair.B)
			p.raw(`"><summary>`)
			p.text(title)
			p.raw("</summary>\n")
			p.table(&table, title)
			p.raw("</details>\n")
		}
	}
	p.raw("</div>\n")
}

// between compares two compositions on the same arrivals and the same luck, as the
// result does with the first and each other one.
func between(r *lab.Result, a, b int) *lab.Comparison {
	if a == 0 && b-1 < len(r.Comparisons) {
		return &r.Comparisons[b-1]
	}
	pair := &lab.Comparison{A: r.Compositions[a].Name, B: r.Compositions[b].Name}
	for k := range r.Comparisons[0].Numbers {
		title := r.Comparisons[0].Numbers[k].Name
		pair.Numbers = append(pair.Numbers, measure.Compare(title, valuesOf(r, a, title), valuesOf(r, b, title)))
	}
	return pair
}

// valuesOf returns one number of a composition in all repeats.
func valuesOf(r *lab.Result, i int, title string) (values []measure.Scalar) {
	of := func(comp *measure.Composition) {
		_, phase, name := named(title)
		v := measure.Scalar{Refused: "there is no phase " + phase}
		var row *measure.Phase
		for k := range comp.Phases {
			if comp.Phases[k].Name == phase {
				row = &comp.Phases[k]
			}
		}
		if row != nil || phase == "" {
			n, err := lab.Find(comp, row, name)
			v = measure.Scalar{Value: n.Value, Refused: n.Refusal, Beyond: n.Beyond}
			if err != nil {
				v.Refused = err.Error()
			}
		}
		values = append(values, v)
	}
	if len(r.Repeats) == 0 {
		of(&r.Compositions[i])
	}
	for k := range r.Repeats {
		if all := r.Repeats[k].Compositions; i < len(all) {
			of(&all[i])
		}
	}
	return values
}
