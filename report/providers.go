package report

import (
	"slices"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// providers is the table of what each configuration of providers delivers:
// over the whole run, and while a dependency is dead.
func providers(r *lab.Result, c *config) Table {
	b := builder{table: Table{Title: "What each configuration delivers", Keys: 1}}
	outages := c.outages()
	during := outagePhases(c, outages)
	backups := c.backups(outages)
	cost := slices.ContainsFunc(r.Compositions, func(comp measure.Composition) bool { return comp.Whole.Cost != 0 })

	b.column("Configuration")
	b.column("Success", percentages)
	if len(during) > 0 {
		b.column("Success in outage", percentages)
	}
	b.column("p50 ms", milliseconds)
	b.column("p95 ms", milliseconds)
	b.column("p99 ms", milliseconds)
	for _, o := range outages {
		b.column("Calls to dead "+o.Dependency, counts)
	}
	for _, name := range backups {
		b.column("Served by "+name, counts)
	}
	if cost {
		b.column("Cost", costs)
	}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		whole := &comp.Whole
		b.row(comp.Name)
		b.cell(b.share(whole.Completed, whole.Offered))
		if len(during) > 0 {
			b.cell(b.share(sumOver(comp, during)))
		}
		b.cell(b.submitted(whole, whole.Latency.Submitted.P50, 50, c))
		b.cell(b.submitted(whole, whole.Latency.Submitted.P95, 95, c))
		b.cell(b.submitted(whole, whole.Latency.Submitted.P99, 99, c))
		for _, o := range outages {
			b.cell(num(callsDuring(comp, o)))
		}
		for _, name := range backups {
			b.cell(num(whole.ServedBy[name]))
		}
		if cost {
			b.cell(num(whole.Cost))
		}
	}
	b.table.Caption = providersCaption(outages, backups, cost)
	return b.finish()
}

func providersCaption(outages []outage, backups []string, cost bool) string {
	words := []string{"Success: requests that complete, of those offered, in the whole run."}
	for _, o := range outages {
		words = append(words, o.Dependency+" is dead in "+plainPhases(o.Phases)+": no attempt that starts there can succeed.")
	}
	if len(outages) > 0 {
		words = append(words, "Success in outage: of requests whose intended instant lies there. Calls to the dead are attempts that start there, whenever their request arrived.")
	}
	words = append(words, "p50, p95 and p99 are times from the intended instant to any outcome, over all submitted requests of the run: "+
		"a failed request counts with the time of its failure.")
	if len(backups) > 0 {
		words = append(words, "Served by: completed requests by the dependency that completed them.")
	}
	if cost {
		words = append(words, "Cost: of all attempts, also of those in vain, in the study's unit.")
	}
	return strings.Join(words, " ")
}

func plainPhases(names []string) string {
	if len(names) == 1 {
		return "phase " + names[0]
	}
	return "phases " + list(names)
}

// outagePhases returns the phases in which any dependency is dead.
func outagePhases(c *config, outages []outage) (names []string) {
	for _, p := range c.Phases {
		if slices.ContainsFunc(outages, func(o outage) bool { return slices.Contains(o.Phases, p.Name) }) {
			names = append(names, p.Name)
		}
	}
	return names
}

// backups returns the dependencies that are never dead while another one is;
// all of them when none ever is.
func (c *config) backups(outages []outage) (names []string) {
	for _, d := range c.Dependencies {
		if !slices.ContainsFunc(outages, func(o outage) bool { return o.Dependency == d.Name }) {
			names = append(names, d.Name)
		}
	}
	return names
}

func sumOver(comp *measure.Composition, phases []string) (completed, offered int64) {
	for i := range comp.Phases {
		if p := &comp.Phases[i]; slices.Contains(phases, p.Name) {
			completed += p.Completed
			offered += p.Offered
		}
	}
	return completed, offered
}

func callsDuring(comp *measure.Composition, o outage) (n int64) {
	for _, phase := range o.Phases {
		n += comp.AttemptsByStartPhase[phase][o.Dependency]
	}
	return n
}

// share is a percentage, refused when there is nothing to take it of.
func (b *builder) share(part, of int64) value {
	if of == 0 {
		return b.refused(absent, "no request was offered")
	}
	return num(100 * float64(part) / float64(of))
}
