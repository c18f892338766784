package report

import (
	"cmp"
	"strings"
	"time"

	"brunt/lab"
	"brunt/measure"
)

// faultSections are the return from the study's fault, and the windows around
// it; none where a study has no fault.
func faultSections(r *lab.Result, c *config) (list []section) {
	if r.FaultReason != "" {
		list = append(list, section{Title: faultTitle, Lead: []string{sentence(r.FaultReason)}})
	}
	if s, show := fromFault(r, c); show {
		list = append(list, s)
	}
	if s, show := inWindows(r); show {
		list = append(list, s)
	}
	return list
}

const faultTitle = "Recovery from the fault"

// fromFault is the section on the return of goodput.
func fromFault(r *lab.Result, c *config) (s section, show bool) {
	var all []*measure.Composition
	for i := range r.Compositions {
		if r.Compositions[i].Recovery.Goodput != nil {
			all = append(all, &r.Compositions[i])
		}
	}
	if all == nil {
		return s, false
	}
	s.Title = faultTitle
	s.Lead = []string{
		"The fault fires at " + millis(all[0].Recovery.Goodput.Anchor) + ", the anchor from which times count. " +
			"Goodput is the share of scheduled requests that complete " + promised(c) + ". " + detector(c),
		"The two baselines answer different questions and are never merged: what was before the fault, and what the survivors settle into (the degraded plateau).",
	}
	if all[0].Recovery.Goodput.PreFault.Label == measure.PartitionHeal {
		s.Lead = append(s.Lead, "The fault ends by itself: what comes back is a "+measure.PartitionHeal+", and says nothing about the loss of a node.")
	}
	s.Tables = append(s.Tables, returns(all), componentReturns(all), sensitivity(all))
	if t, show := inFlight(all); show {
		s.Tables = append(s.Tables, t)
	}
	return s, true
}

// promised says what makes a request good.
func promised(c *config) string {
	var words []string
	if c.SLO.FirstToken > 0 {
		words = append(words, "their first token within "+c.SLO.FirstToken.String())
	}
	if c.SLO.EndToEnd > 0 {
		words = append(words, "their end within "+c.SLO.EndToEnd.String())
	}
	if words == nil {
		return "within the SLO"
	}
	return "with " + list(words)
}

// detector says when goodput counts as recovered. What the study leaves out is
// pinned.
func detector(c *config) string {
	d, set := measure.Pinned, &c.Recovery.Detector
	entry, exit := set.Entry, set.Exit
	if entry == "" {
		entry = number(100*d.Entry.Float()) + " %"
	}
	if exit == "" {
		exit = number(100*d.Exit.Float()) + " %"
	}
	window, hold := cmp.Or(set.Window, span(d.Window)), cmp.Or(set.Hold, span(d.Hold))
	words := "Recovered after: to the first window of " + window.String() + " with at least " + entry + " of the baseline's, when those that start in " +
		hold.String() + " from there all have it; a dip cancels the candidate. Below " + exit + " afterwards it has degraded again."
	if set.Timeout > 0 {
		words += " The latest entry is " + set.Timeout.String() + " after the fire."
	}
	return words
}

// returns is the table of the return to each baseline.
func returns(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "Return to each baseline", Keys: 2, Grouped: true}}
	b.column(compositionHead)
	b.column("Baseline")
	returnColumns(&b)
	for _, c := range all {
		b.returned(c.Name, "before the fault", &c.Recovery.Goodput.PreFault)
		b.returned(c.Name, "degraded plateau", &c.Recovery.Goodput.Plateau)
		if n := c.Recovery.Goodput.Unknown; n > 0 {
			b.note(c.Name + ": " + plural(n, "request was", "requests were") + " censored that could still have met the SLO. They count as not good.")
		}
	}
	return b.finish()
}

func componentReturns(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "Each part of goodput by itself", Caption: "Against what it was before the fault.", Keys: 2, Grouped: true}}
	b.column(compositionHead)
	b.column("Part")
	returnColumns(&b)
	for _, c := range all {
		for i := range c.Recovery.Goodput.Components {
			b.returned(c.Name, c.Recovery.Goodput.Components[i].Name, &c.Recovery.Goodput.Components[i].Against)
		}
	}
	return b.finish()
}

func returnColumns(b *builder) {
	b.column("Goodput there", shares)
	b.column("From / to", counts, counts)
	b.column("Recovered after", counts)
	b.column("Cancelled candidates", counts)
	b.column("Degraded again", counts)
	b.column("Deficit s", milliseconds)
}

// returned is a row on the return to one baseline.
func (b *builder) returned(composition, baseline string, a *measure.Against) {
	b.row(composition, baseline)
	if a.Baseline.Goodput == nil {
		b.cell(b.refused("not estimable", a.Baseline.Reason))
	} else {
		b.cell(num(100 * *a.Baseline.Goodput))
	}
	b.cell(value{words: millis(a.Baseline.From)}, value{words: millis(a.Baseline.To)})
	d := &a.Detection
	recovered := string(d.Status)
	switch {
	case d.Status == measure.Recovered && d.Time != nil:
		recovered = millis(*d.Time)
		if a.Label != "" {
			recovered += " (" + a.Label + ")"
		}
		b.cell(value{words: recovered + b.foot(d.Reason)})
	case d.Status == measure.NotApplicable:
		b.cell(b.refused("N/A", d.Reason))
	default:
		b.cell(b.refused(recovered, d.Reason))
		b.tone(Bad)
	}
	b.cell(num(d.Cancelled))
	b.cell(num(int64(len(d.Redegradations))))
	if len(d.Redegradations) > 0 {
		b.tone(Bad)
		b.note(composition + ", " + baseline + ": degraded again " + degradations(d.Redegradations) + ".")
	}
	switch {
	case d.Deficit == nil:
		b.cell(b.refused(absent, d.DeficitReason))
	case d.DeficitReason != "":
		b.cell(value{words: number(*d.Deficit) + b.foot(d.DeficitReason)})
	default:
		b.cell(num(*d.Deficit))
	}
}

// mostDegradations is how many a note tells of.
const mostDegradations = 5

func degradations(list []measure.Redegradation) string {
	var words []string
	for i, r := range list {
		if i == mostDegradations {
			words = append(words, integer(int64(len(list)-i))+" times more")
			break
		}
		if r.To != nil {
			words = append(words, "from "+millis(r.From)+" to "+millis(*r.To))
		} else {
			words = append(words, "from "+millis(r.From)+" ("+r.Reason+")")
		}
	}
	return strings.Join(words, "; ") + " after the fire"
}

// sensitivity is the table of what other detectors say: a row for each entry,
// a column for each window, a part of a cell for each hold.
func sensitivity(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "How much the time hangs on the detector", Keys: 2, Grouped: true,
		Caption: "Recovered after, of the return to the baseline from before the fault. Entry: the share of the baseline that a window must reach. " +
			"no: not recovered; hold: observation ended inside a hold; N/A: cannot be judged. * marks the detector in use."}}
	b.column(compositionHead)
	b.column("Entry")
	var windows, holds []measure.Millis
	for _, cell := range all[0].Recovery.Goodput.Sensitivity {
		windows, holds = once(windows, cell.Window), once(holds, cell.Hold)
	}
	var names []string
	for _, h := range holds {
		names = append(names, millis(h))
	}
	for _, w := range windows {
		b.column("Window "+millis(w)+", hold "+strings.Join(names, partSeparator), same(counts, len(holds))...)
	}
	for _, c := range all {
		entry := -1.0
		for _, cell := range c.Recovery.Goodput.Sensitivity { // by entry, window, hold
			if cell.Entry != entry {
				entry = cell.Entry
				b.row(c.Name, number(100*entry)+" %")
			}
			last := len(b.rows) - 1
			cells := b.rows[last]
			if n := len(cells) - 1; n < 2 || len(cells[n]) == len(holds) {
				b.cell(value{words: sensitive(cell)})
			} else {
				cells[n] = append(cells[n], value{words: sensitive(cell)})
			}
		}
	}
	return b.finish()
}

func once(list []measure.Millis, m measure.Millis) []measure.Millis {
	for _, x := range list {
		if x == m {
			return list
		}
	}
	return append(list, m)
}

func sensitive(s measure.Sensitive) string {
	words := "N/A"
	switch {
	case s.Status == measure.Recovered && s.Time != nil:
		words = duration(time.Duration(*s.Time))
	case s.Status == measure.NotRecovered:
		words = "no"
	case s.Status == measure.HoldIncomplete:
		words = "hold"
	}
	if s.Chosen {
		words += "*"
	}
	return words
}

// inFlight is the table of what became of requests that were open at the fire.
func inFlight(all []*measure.Composition) (t Table, show bool) {
	b := builder{table: Table{Title: "In flight when the fault fired", Keys: 2, Grouped: true}}
	b.column(compositionHead)
	b.column("Requests")
	b.column("Open", counts)
	b.column("Completed / errored / censored", counts, counts, counts)
	b.column("Failed", counts)
	b.column("Timed out", counts)
	for _, c := range all {
		f := c.InFlight
		if f == nil {
			continue
		}
		show = true
		for _, part := range []struct {
			name  string
			fates *measure.Fates
		}{{"all", &f.All}, {"the victim's", f.Victim}, {"the others'", f.Others}} {
			if part.fates == nil {
				continue
			}
			name := part.name
			if part.fates == &f.All {
				name += b.foot(f.Reason)
			}
			b.row(c.Name, name)
			b.cell(num(part.fates.Open))
			b.cell(num(part.fates.Completed), num(part.fates.Errored), num(part.fates.Censored))
			b.cell(b.rate(&part.fates.Failed))
			b.cell(b.rate(&part.fates.TimedOut))
		}
	}
	return b.finish(), show
}

// rate is a share with its interval, or the words for what it lacks.
func (b *builder) rate(r *measure.Rate) value {
	if r.Share == nil {
		return b.refused(absent, r.Reason)
	}
	share := scale{" %", 100}
	if r.Low == nil || r.High == nil {
		return value{words: share.text(*r.Share, asNeeded) + b.foot(r.Reason)}
	}
	decimals := share.decimals((*r.High - *r.Low) / 2)
	return value{words: share.text(*r.Share, decimals) + " (" + share.bare(*r.Low, decimals) + " to " + share.bare(*r.High, decimals) + ")"}
}
