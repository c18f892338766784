package report

import (
	"slices"
	"strings"

	"brunt/lab"
	"brunt/study"
)

// validity writes why the numbers count, or why there are none.
func (p *page) validity(r *lab.Result, c *config, d *document) {
	if !r.Valid {
		p.heading("validity", "Why there is no result")
		p.raw("<div class=\"banner\" role=\"alert\">\n")
		p.element("p", whyInvalid(r))
		p.raw("</div>\n")
	} else {
		p.heading("validity", "Do these numbers count?")
		v := validity(r)
		p.element("p"+toned(v.Tone), sentence(v.Text))
	}
	var facts []string
	if k := r.Protocol; k != nil {
		facts = append(facts, "Bound by protocol "+k.Name+"@"+k.Version+", SHA-256 "+k.SHA256+".")
	} else {
		facts = append(facts, "Bound by no protocol.")
	}
	facts = append(facts, "SHA-256 of study.yaml: "+r.StudySHA256+".")
	p.list("ul", facts)
	if r.Valid {
		if missing := notMeasured(r, c); len(missing) > 0 {
			p.element("h3", "What was not measured")
			p.list("ul", missing)
		}
	}
	for _, title := range []string{"Expectations", "Gates"} {
		for i := range d.Sections {
			s := &d.Sections[i]
			if s.Table != nil && (s.Title == title || !r.Valid && s.Table.Title == title) {
				p.element("h3", title)
				p.table(s.Table, s.Title)
			}
		}
	}
}

// missing is what a run tells nothing of, and why.
type missing struct {
	what   string
	of     []string // compositions, when it is not the same of all
	reason string
}

// notMeasured lists what this run tells nothing of, with the reason, once.
func notMeasured(r *lab.Result, c *config) (words []string) {
	var all []missing
	add := func(what, of, reason string) {
		if reason == "" {
			return
		}
		i := slices.IndexFunc(all, func(m missing) bool { return m.what == what && m.reason == reason })
		if i < 0 {
			i = len(all)
			all = append(all, missing{what: what, reason: reason})
		}
		if of != "" {
			all[i].of = append(all[i].of, of)
		}
	}
	for _, g := range r.Gates {
		if g.Applies && g.Value == nil {
			add("Gate "+g.Name, "", g.Reason)
		}
	}
	if r.Ties == nil {
		add("Artefacts of ties", "", strings.TrimPrefix(r.TiesReason, "not looked for: "))
	}
	add("Recovery from the fault", "", r.FaultReason)
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		if comp.Recovery.Goodput == nil && r.FaultReason == "" {
			add("Return of goodput from a fault", comp.Name, strings.TrimPrefix(comp.Recovery.GoodputReason, "not measured: "))
		}
		if comp.Recovery.CleanWindow == nil {
			add("A clean window in phase "+comp.Recovery.Phase, comp.Name, strings.TrimPrefix(comp.Recovery.Reason, "not observed: "))
		}
		if comp.Herd.Buckets == nil && c.asks(study.HerdTable) {
			add("The herd by its buckets", comp.Name, comp.Herd.Reason)
		}
	}
	if r.Closeups == nil {
		add("Single requests and their latencies over time", "", "the rows of this run were not kept")
	}
	for _, m := range all {
		if len(m.of) > 0 && len(m.of) < len(r.Compositions) {
			m.what += ", of " + list(m.of)
		}
		words = append(words, m.what+": "+stopped(m.reason))
	}
	return words
}
