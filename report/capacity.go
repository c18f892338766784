package report

import (
	"cmp"
	"slices"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// workers is the section on what the workers of dependencies and services did;
// left out where nothing has any.
func workers(r *lab.Result) (s section, show bool) {
	b := builder{table: Table{Title: "What the workers do", Keys: 2, Grouped: true, Caption: "Attempts count in the phase of their start, completed ones per second in that of their end. " +
		"In use: busy time of the workers that falls into the phase, of all that there is; above 100 % where a phase takes workers away that are still at work. Wasted: worker time for answers that nobody waited for any more. " +
		"Overload: attempts that found the queue full or were dropped from it. Wait: for a worker, of attempts that got one or left the queue. " +
		"Queue: its mean over the time of the phase, and its maximum."}}
	b.column(compositionHead)
	b.column("Phase")
	b.column("Attempts / completed per s", milliseconds, milliseconds)
	b.column("In use", percentages)
	b.column("Wasted", percentages)
	b.column("Overload", counts)
	b.column("Wait p50 / p99 ms", milliseconds, milliseconds)
	b.column("Queue mean / max", milliseconds, counts)
	for i := range r.Compositions {
		c := &r.Compositions[i]
		for j := range c.Capacity {
			t := &c.Capacity[j]
			if t.Whole.Attempts == 0 {
				continue
			}
			show = true
			name := c.Name
			if several(c) {
				name += " at " + t.Name
			}
			for k := range t.Phases {
				b.workersIn(name, &t.Phases[k])
			}
		}
	}
	t := b.finish()
	return section{Title: t.Title, Table: &t}, show
}

// several reports whether a composition calls more than one target with
// workers.
func several(c *measure.Composition) bool {
	n := 0
	for i := range c.Capacity {
		if c.Capacity[i].Whole.Attempts > 0 {
			n++
		}
	}
	return n > 1
}

func (b *builder) workersIn(name string, p *measure.CapacityPhase) {
	b.row(name, p.Name)
	if p.Arrivals == nil || p.Throughput == nil {
		b.cell(b.refused(absent, "the phase has no length"))
	} else {
		b.cell(num(*p.Arrivals), num(*p.Throughput))
	}
	b.cell(b.part(p.Utilisation, 100, p.UtilisationReason))
	b.cell(b.part(p.WastedShare, 100, p.WastedShareReason))
	b.cell(num(p.Overloaded))
	if p.Wait.P50 == nil || p.Wait.P99 == nil {
		b.cell(b.refused(absent, p.Wait.Reason))
	} else {
		b.cell(num(inMillis(*p.Wait.P50)), num(inMillis(*p.Wait.P99)))
	}
	if p.Queue.Mean == nil {
		b.cell(b.refused(absent, p.Queue.Reason))
	} else {
		b.cell(num(*p.Queue.Mean), num(p.Queue.Max))
	}
}

// replicas is the section on how the balancers spread the load; left out where
// no target has several replicas.
func replicas(r *lab.Result) (s section, show bool) {
	b := builder{table: Table{Title: "Which replica gets what", Keys: 2, Grouped: true,
		Caption: "Attempts by the phase of their start. Share: of the target's attempts in the phase. Busy: worker time of those attempts."}}
	b.column(compositionHead)
	b.column("Phase")
	b.column("Replica", counts)
	b.column("Attempts", counts)
	b.column("Share", percentages)
	b.column("Busy ms", milliseconds)
	for i := range r.Compositions {
		c := &r.Compositions[i]
		for j := range c.Capacity {
			for k := range c.Capacity[j].Phases {
				p := &c.Capacity[j].Phases[k]
				if p.Attempts == 0 || len(p.Replicas) > mostReplicas {
					continue
				}
				for _, one := range p.Replicas {
					show = true
					b.row(c.Name, p.Name)
					b.cell(num(int64(one.Replica)))
					b.cell(num(one.Attempts))
					b.cell(b.part(one.Share, 100, "no attempt"))
					b.cell(num(inMillis(one.Busy)))
				}
			}
		}
	}
	t := b.finish()
	return section{Title: t.Title, Table: &t, Long: true}, show
}

// mostReplicas bounds the rows of one composition and phase.
const mostReplicas = 10

// tiers is the section on who calls whom how often; left out where the study
// has no services.
func tiers(r *lab.Result, c *config) (s section, show bool) {
	if len(c.Services) == 0 || len(r.Compositions) == 0 {
		return s, false
	}
	b := builder{table: Table{Title: "Attempts at each tier", Keys: 2, Grouped: true,
		Caption: "Attempts at each service and dependency for one request offered, by the phase of the request; those that are hit least come first."}}
	b.column(compositionHead)
	b.column("Phase")
	b.column("Attempts a request at each tier")
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		names := called(comp, c)
		for j := range comp.Phases {
			p := &comp.Phases[j]
			words := make([]string, len(names))
			for k, name := range names {
				words[k] = name + " " + absent
				if p.Offered > 0 {
					words[k] = name + " " + ratios.write(float64(p.DependencyCalls[name])/float64(p.Offered), 2, true)
				}
			}
			b.row(comp.Name, p.Name, strings.Join(words, ", "))
		}
	}
	t := b.finish()
	return section{Title: t.Title, Table: &t}, true
}

// called returns the tiers that a composition calls, those that are hit least
// first.
func called(comp *measure.Composition, c *config) (names []string) {
	for _, m := range slices.Concat(c.Services, c.Dependencies) {
		if comp.Whole.DependencyCalls[m.Name] > 0 {
			names = append(names, m.Name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(comp.Whole.DependencyCalls[a], comp.Whole.DependencyCalls[b])
	})
	return names
}

// breakers is the section on when breakers opened; left out where none did.
func breakers(r *lab.Result, c *config) (s section, show bool) {
	b := builder{table: Table{Title: "When breakers open", Keys: 2,
		Caption: "Openings of all callers' breakers, those after a failed probe included. Before the trigger nothing is wrong: such openings are false. " +
			"Time to open: of the first one from the trigger on, since the start of the disturbed phase that it followed."}}
	b.column(compositionHead)
	b.column("Stage")
	b.column("Callers", counts)
	b.column("Opens", counts)
	b.column("False / during / after", counts, counts, counts)
	b.column("Time to open ms", milliseconds)
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		for _, n := range comp.Breakers {
			show = true
			b.row(comp.Name, n.Stage)
			b.cell(num(n.Callers))
			b.cell(num(n.Opens))
			if n.OpensBefore == nil || n.OpensDuring == nil || n.OpensAfter == nil {
				b.cell(b.refused(absent, n.Reason))
			} else {
				b.cell(num(*n.OpensBefore), num(*n.OpensDuring), num(*n.OpensAfter))
			}
			if n.TimeToOpen == nil {
				b.cell(b.refused(absent, n.TimeToOpenReason))
			} else {
				b.cell(num(inMillis(*n.TimeToOpen)))
			}
		}
	}
	t := b.finish()
	return section{Title: t.Title, Table: &t, Long: c.Callers <= 1}, show
}

// overloadSections are those on capacity, tiers, breakers and stability.
func overloadSections(r *lab.Result, c *config) (list []section) {
	add := func(s section, show bool) {
		if show {
			list = append(list, s)
		}
	}
	add(comesBack(r))
	add(workers(r))
	add(tiers(r, c))
	add(replicas(r))
	add(breakers(r, c))
	return list
}
