package report

import (
	"brunt/lab"
	"brunt/measure"
)

// siteSections are what was seen around runs on real targets: what became of
// the fault, who had the load, and how streams flowed.
func siteSections(r *lab.Result) (list []section) {
	var all []*measure.Composition
	for i := range r.Compositions {
		if r.Compositions[i].Site != nil {
			all = append(all, &r.Compositions[i])
		}
	}
	if all == nil {
		return nil
	}
	if s, show := realFault(r, all); show {
		list = append(list, s)
	}
	s := section{Title: "Who had the load"}
	for _, t := range []Table{replicaShares(all), chunkGaps(all)} {
		if len(t.Rows) > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	if len(s.Tables) > 0 {
		list = append(list, s)
	}
	return list
}

// realFault is the section on what a real fault went through.
func realFault(r *lab.Result, all []*measure.Composition) (s section, show bool) {
	s.Title = "What was done, and what came back"
	b := builder{table: Table{Title: "The fault", Keys: 1,
		Caption: "Instants since the start of the run. Effect and end are the first that a probe saw; the fire counts from the earlier of planned and fired."}}
	b.column(compositionHead)
	b.column("Victim")
	b.column("Planned", counts)
	for _, what := range []string{"Armed", "Fired", "Effect", "Expired", "End seen"} {
		b.column(what, counts)
	}
	b.column("Stale route", counts)
	b.column("Sent to it meanwhile", counts)
	way := builder{table: Table{Title: "The way back", Keys: 2, Grouped: true,
		Caption: "Parts of the return, each by its own instants: a direct probe of the victim, and one through the front. N/A is what was not measured, with the reason."}}
	way.column(compositionHead)
	way.column("Part")
	way.column("From / to", counts, counts)
	way.column("Took", counts)
	for _, c := range all {
		f := c.Site.Fault
		if f == nil {
			continue
		}
		show = true
		b.row(c.Name)
		b.cell(value{words: f.Victim})
		b.cell(value{words: millis(f.Planned)})
		for _, i := range f.Instants {
			b.cell(b.instant(i.At, i.Reason))
		}
		b.cell(b.instant(f.Stale, f.StaleReason))
		b.cell(num(f.Misrouted))
		for _, g := range f.Segments {
			way.row(c.Name, g.Name)
			way.cell(way.instant(g.From, "not seen"), way.instant(g.To, "not seen"))
			way.cell(way.instant(g.Length, g.Reason))
		}
	}
	for _, c := range all {
		if f := c.Site.Fault; f != nil && f.How != "" {
			words := c.Name + ": " + f.How + "; who ends it: " + f.Ends
			if f.Lost > 0 {
				words += "; " + plural(f.Lost, "packet was", "packets were") + " lost in it"
			}
			s.Lead = append(s.Lead, sentence(words))
		}
	}
	if l := r.NodeLoss; l != nil && l.Represents {
		s.Lead = append(s.Lead, "The route stayed stale and nothing was reset: this black hole represents the loss of a node.")
	}
	s.Tables = append(s.Tables, b.finish(), way.finish())
	return s, show
}

// instant is a time, or N/A with its reason.
func (b *builder) instant(at *measure.Millis, reason string) value {
	if at == nil {
		return b.refused("N/A", reason)
	}
	return value{words: millis(*at)}
}

// replicaShares is the table of who had the baseline's requests.
func replicaShares(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "Replicas", Keys: 2, Grouped: true,
		Caption: "Of the baseline's requests where the study has a fault, else of all: those that an answer named its replica for."}}
	b.column(compositionHead)
	b.column("Replica")
	b.column("Requests", counts)
	b.column("Share", shares)
	b.column("Mean queue", counts)
	for _, c := range all {
		for i, r := range c.Site.Shares {
			name := r.Replica
			if i == 0 && c.Site.Unnamed > 0 {
				name += b.foot(plural(c.Site.Unnamed, "request went", "requests went") + " to a replica that no answer named.")
			}
			b.row(c.Name, name)
			b.cell(num(r.Requests))
			if r.Share == nil {
				b.cell(b.refused(absent, "no answer named any replica"))
			} else {
				b.cell(num(100 * *r.Share))
			}
			if r.Waiting == nil {
				b.cell(b.refused(absent, r.WaitingReason))
			} else {
				b.cell(num(*r.Waiting))
			}
		}
	}
	return b.finish()
}

// chunkGaps is the table of how streams flowed.
func chunkGaps(all []*measure.Composition) Table {
	b := builder{table: Table{Title: "Gaps within streams", Keys: 2, Grouped: true,
		Caption: "Between neighbouring pieces of content, pooled over all streams of a window, also of those that did not complete. Inter-token only where each stream had one piece a token by the target's own count; else inter-chunk."}}
	b.column(compositionHead)
	b.column("Window")
	b.column("Kind")
	b.column("Gaps", counts)
	b.column("p50 / p95 / p99 / max ms", milliseconds, milliseconds, milliseconds, milliseconds)
	for _, c := range all {
		for _, g := range c.Site.Chunks {
			b.row(c.Name, string(g.Window))
			b.cell(value{words: g.Name})
			b.cell(num(g.Gaps))
			if g.Times.P50 == nil {
				b.cell(b.refused(absent, g.Times.Reason))
				continue
			}
			b.cell(num(inMillis(*g.Times.P50)), num(inMillis(*g.Times.P95)), num(inMillis(*g.Times.P99)), num(inMillis(*g.Times.Max)))
		}
	}
	return b.finish()
}
