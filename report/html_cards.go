package report

import (
	"slices"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// card is one headline number, of each composition.
type card struct {
	title string
	what  string
	lines []cardLine
}

// cardLine is the number of one composition: a value with what is known of its
// interval, or words in its place.
type cardLine struct {
	name   string
	value  string
	words  bool // no number, but what there is to say in its place
	beside string
}

// cards writes the headline numbers.
func (p *page) cards(r *lab.Result, c *config) {
	if len(r.Compositions) == 0 {
		return
	}
	p.heading("headlines", "Headline numbers")
	if n := len(r.Repeats); n > 1 {
		p.element(`p class="soft"`, "Over "+plural(int64(n), "repeat", "repeats")+": a mean with its 95 % t-interval, a median with its range.")
	} else if r.Deterministic {
		p.element(`p class="soft"`, noChance)
	} else {
		p.element(`p class="soft"`, "Of one run. Requests of one run are not independent, so an interval over runs needs repeats (repeat: 20 in the study).")
	}
	p.raw("<div class=\"cards\">\n")
	for _, card := range []card{availability(r, c), doneCard(r), amplificationCard(r), recoveryCard(r)} {
		p.raw("<article class=\"card\">\n")
		p.element("h3", card.title)
		p.element(`p class="soft"`, card.what)
		p.raw("<dl>\n")
		for _, l := range card.short() {
			p.raw("<div><dt>")
			p.text(l.name)
			p.raw("</dt><dd><b")
			if l.words {
				p.raw(` class="words"`)
			}
			p.raw(">")
			p.text(l.value)
			p.raw("</b>")
			if l.beside != "" {
				p.raw(" <small>")
				p.text(l.beside)
				p.raw("</small>")
			}
			p.raw("</dd></div>\n")
		}
		p.raw("</dl>\n</article>\n")
	}
	p.raw("</div>\n")
}

// short is the lines of a card; one for all compositions when they say the same
// in place of a number.
func (k card) short() []cardLine {
	for i, l := range k.lines {
		if first := k.lines[0]; !l.words || i > 0 && (l.value != first.value || l.beside != first.beside) {
			return k.lines
		}
	}
	if len(k.lines) < 2 {
		return k.lines
	}
	one := k.lines[0]
	one.name = "all compositions"
	return []cardLine{one}
}

// overRuns is a number over the repeats, if the run has any.
func overRuns(comp *measure.Composition, name string) (l cardLine, ok bool) {
	for i := range comp.Summary {
		s := &comp.Summary[i]
		if s.Name != name {
			continue
		}
		l.name = comp.Name
		_, _, what := named(name)
		scale := scaleOf(what)
		if s.Refused == s.N {
			l.value, l.words, l.beside = "refused", true, sentence(s.Reason)
			return l, true
		}
		decimals := spreadDecimals(s, scale)
		l.value, l.beside = middle(s, scale, decimals), around(s, scale, decimals)
		if s.SD != nil && *s.SD == 0 {
			l.beside = "the same in every repeat"
		}
		return l, true
	}
	return l, false
}

// availability is the share of requests that were served.
func availability(r *lab.Result, c *config) card {
	k := card{title: "Availability", what: "Requests that completed, of all offered in the whole run."}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		if rate := servedRate(comp); rate != nil {
			k.what = "Requests that completed " + promised(c) + ", of all offered in the whole run."
			k.lines = append(k.lines, rateLine(comp.Name, rate))
			continue
		}
		if l, ok := overRuns(comp, "whole completed/offered"); ok {
			k.lines = append(k.lines, l)
			continue
		}
		l := cardLine{name: comp.Name}
		if comp.Whole.Offered == 0 {
			l.value, l.words, l.beside = "refused", true, "No request was offered."
		} else {
			l.value = percentages.write(100*float64(comp.Whole.Completed)/float64(comp.Whole.Offered), 1, false)
			l.beside = integer(comp.Whole.Completed) + " of " + integer(comp.Whole.Offered)
			if worst, share := worstPhase(comp); worst != "" {
				l.beside += "; least in " + worst + ", " + percentages.write(100*share, 1, false)
			}
		}
		k.lines = append(k.lines, l)
	}
	return k
}

// servedRate is goodput of the whole run, of a study with an SLO.
func servedRate(comp *measure.Composition) *measure.Rate {
	if comp.Service == nil {
		return nil
	}
	for i := range comp.Service.Goodput {
		if g := &comp.Service.Goodput[i]; wholeRun(g.Phase) == wholeRun("") {
			return &g.Rate
		}
	}
	return nil
}

func rateLine(name string, rate *measure.Rate) cardLine {
	l := cardLine{name: name}
	if rate.Share == nil {
		l.value, l.words, l.beside = "refused", true, sentence(rate.Reason)
		return l
	}
	l.value = percentages.write(100**rate.Share, 1, false)
	l.beside = integer(rate.Count) + " of " + integer(rate.Of)
	if rate.Low != nil && rate.High != nil {
		l.beside += "; 95 % interval " + percentages.write(100**rate.Low, 1, false) + " to " + percentages.write(100**rate.High, 1, false) + ", within this run"
	}
	return l
}

// worstPhase is where the least share completed, of several phases that differ.
func worstPhase(comp *measure.Composition) (name string, share float64) {
	least, most := 2., -1.
	for i := range comp.Phases {
		p := &comp.Phases[i]
		if p.Offered == 0 {
			continue
		}
		s := float64(p.Completed) / float64(p.Offered)
		if s < least {
			name, least = p.Name, s
		}
		most = max(most, s)
	}
	if least == most {
		return "", 0
	}
	return name, least
}

// doneCard is by when 95 % of all requests are done: the headline percentile.
func doneCard(r *lab.Result) card {
	k := card{title: "Done by p95", what: "The time by which 95 % of all offered requests of the whole run had completed. Failures never count as fast."}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		if l, ok := overRuns(comp, "whole p95"); ok {
			k.lines = append(k.lines, l)
			continue
		}
		k.lines = append(k.lines, quantileLine(comp.Name, &comp.Whole.Incidence, 0.95))
	}
	return k
}

func quantileLine(name string, in *measure.Incidence, q float64) cardLine {
	l := cardLine{name: name, value: "refused", words: true, beside: sentence(in.Reason)}
	i := slices.IndexFunc(in.Quantiles, func(x measure.Quantile) bool { return x.Q == q })
	if i < 0 {
		return l
	}
	x := &in.Quantiles[i]
	switch {
	case x.Millis != nil:
		l.value, l.words, l.beside = millis(*x.Millis), false, ""
		switch {
		case x.Lower != nil || x.Upper != nil:
			l.beside = "95 % interval " + boundWords(x.Lower, x.LowerStatus) + " to " + boundWords(x.Upper, x.UpperStatus) + ", within this run"
		case x.Refused != "":
			l.beside = "No interval: " + stopped(x.Refused)
		}
	case x.Status == measure.Unattainable:
		l.value, l.beside = "never", sentence(x.Reason)
	case x.Status == measure.Beyond:
		l.value, l.beside = "beyond the horizon", sentence(x.Reason)
	default:
		l.beside = sentence(x.Reason)
	}
	return l
}

func boundWords(m *measure.Millis, s measure.Status) string {
	switch {
	case m != nil:
		return millis(*m)
	case s == measure.Unattainable:
		return "never"
	}
	return strings.ReplaceAll(string(s), "beyond", "beyond the horizon")
}

// amplificationCard is how much work callers make of their requests.
func amplificationCard(r *lab.Result) card {
	k := card{title: "Amplification", what: "Attempts that reached a dependency, for each request offered in the whole run."}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		if l, ok := overRuns(comp, "whole attempts/offered"); ok {
			k.lines = append(k.lines, l)
			continue
		}
		l := cardLine{name: comp.Name}
		if comp.Whole.AttemptsPerOffered == nil {
			l.value, l.words, l.beside = "refused", true, sentence(comp.Whole.AttemptsPerOfferedReason)
			k.lines = append(k.lines, l)
			continue
		}
		l.value = ratios.write(*comp.Whole.AttemptsPerOffered, 2, false)
		l.beside = integer(comp.Whole.Attempts) + " attempts"
		most, where := *comp.Whole.AttemptsPerOffered, ""
		for j := range comp.Phases {
			if v := comp.Phases[j].AttemptsPerOffered; v != nil && *v > most {
				most, where = *v, comp.Phases[j].Name
			}
		}
		if where != "" {
			l.beside += "; most in " + where + ", " + ratios.write(most, 2, false)
		}
		k.lines = append(k.lines, l)
	}
	return k
}

// recoveryCard is how long it took until callers were well again.
func recoveryCard(r *lab.Result) card {
	k := card{title: "Time to recovery"}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		l := cardLine{name: comp.Name}
		refuse := func(words, reason string) { l.value, l.words, l.beside = words, true, sentence(reason) }
		switch g, st := comp.Recovery.Goodput, comp.Stability; {
		case g != nil:
			k.what = "From the fire of the fault until goodput is back at what it was before, and stays."
			d := &g.PreFault.Detection
			switch {
			case d.Status == measure.Recovered && d.Time != nil:
				l.value, l.beside = millis(*d.Time), g.PreFault.Label
				if d.Deficit != nil {
					l.beside = strings.TrimPrefix(l.beside+"; deficit "+number(*d.Deficit)+" s of a full outage", "; ")
				}
			default:
				refuse(string(d.Status), d.Reason)
			}
		case st != nil && st.Share != nil:
			k.what = "From the end of the trigger until goodput is back at what it was before, and stays."
			switch {
			case st.Recovered != nil && !st.Degraded:
				refuse("was not away", "")
			case st.Recovered != nil:
				l.value, l.beside = millis(*st.Recovered), string(st.Status)
			default:
				refuse(string(st.Status), st.RecoveredReason)
			}
		default:
			k.what = "From the start of phase " + comp.Recovery.Phase + " to the end of its first clean window of " + millis(comp.Recovery.Window) + "."
			if comp.Recovery.Window == 0 {
				k.what = "Until callers are well again."
			}
			if o, ok := overRuns(comp, "whole recovery"); ok {
				l = o
			} else if t := comp.Recovery.CleanWindow; t != nil {
				l.value = millis(*t)
			} else {
				words, reason, found := strings.Cut(comp.Recovery.Reason, ": ")
				if !found {
					words, reason = "not observed", comp.Recovery.Reason
				}
				refuse(words, reason)
			}
		}
		k.lines = append(k.lines, l)
	}
	return k
}
