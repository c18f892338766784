package sweep

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// findings says in sentences what the numbers show.
func (r *Result) findings() {
	say := func(format string, args ...any) { r.Findings = append(r.Findings, fmt.Sprintf(format, args...)) }
	varied := false
	for i := range r.Summaries {
		s := &r.Summaries[i]
		varied = varied || s.spread
		what := s.Measure + " of " + s.Composition
		if s.Refused > 0 {
			say("%s has no mean at %s of %s points. At the first it is %s", what, count(s.Refused), count(s.Points+s.Refused), s.Reason)
		}
		if s.Importance == nil {
			if s.Points > 1 {
				say("%s: no setting matters: %s.", what, s.NoneReason)
			}
			continue
		}
		say("%s", s.Importance.sentence(what, r.Plan))
	}
	if r.Plan.Seeds > 1 && !varied {
		say("No number differs from seed to seed: nothing that was measured hangs on chance, and one seed would do.")
	}
	if f := r.Pareto; f != nil {
		var goals []string
		for _, g := range f.Goals {
			goals = append(goals, g.Measure+" ("+g.Better+")")
		}
		refused := ""
		if f.Refused > 0 {
			refused = fmt.Sprintf("; %s more lack a mean and were left out", count(f.Refused))
		}
		best := len(f.Members)
		for _, m := range f.Members {
			best += m.Equal
		}
		say("Of %s points and compositions nothing beats %s in %s, by their means%s.", count(f.Of), count(best), strings.Join(goals, " and "), refused)
	}
}

// sentence says which setting matters most.
func (i *Importance) sentence(what string, plan *Plan) string {
	names := plan.shortNames()
	name := func(path string) string {
		for k := range plan.axes {
			if plan.axes[k].Path == path {
				return names[k]
			}
		}
		return path
	}
	luck := "; one seed a point tells nothing of luck, and so of noise"
	if i.Luck != nil {
		luck = "; luck of the seeds " + share(*i.Luck) + " at most"
	}
	var parts []string
	for _, e := range i.Settings {
		parts = append(parts, fmt.Sprintf("%s %s (noise floor %s)", name(e.Path), share(e.Share), e.floor()))
	}
	if len(i.Settings) == 1 && i.Full { // every point is a value of its own
		if i.Luck == nil {
			return fmt.Sprintf("%s differs from point to point%s.", what, luck)
		}
		if i.first() == nil {
			return fmt.Sprintf("%s differs between the points by no more than noise: luck of the seeds can explain %s of the variance.", what, share(*i.Luck))
		}
		return fmt.Sprintf("%s hangs on %s: luck of the seeds explains %s of the variance between the points at most.", what, name(i.Settings[0].Path), share(*i.Luck))
	}
	first := i.first()
	if first == nil {
		return fmt.Sprintf("%s: no setting stands out of the noise. Share of the variance of the point means, each alone: %s%s.", what, strings.Join(parts, ", "), luck)
	}
	joint := ""
	if rest, known := i.rest(); known && len(i.Settings) > 1 {
		joint = "; " + share(rest) + " none explains alone"
	}
	return fmt.Sprintf("%s hangs most on %s. Share of the variance of the point means, each alone: %s%s%s.", what, name(first.Path), strings.Join(parts, ", "), joint, luck)
}

// share writes a share as a percentage. One that is not 0 never reads as 0, and
// one that is not the whole never as 100 %.
func share(v float64) string {
	p := 100 * v
	switch {
	case p > 0 && p < 0.1:
		return "< 0.1 %"
	case p > 99.9 && p < 100:
		return "> 99.9 %"
	case p < 10 || p > 99 && p < 100:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + " %"
}

// count writes a whole number with commas between its thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// number writes a mean for reading: four significant digits, durations with
// their unit.
func number(v float64, unit string) string {
	text := ""
	if math.Abs(v) >= 1000 && math.Abs(v) < 1e15 {
		text = count(int(math.Round(v)))
	} else {
		text = plain(v, 4)
	}
	if unit != "" {
		text += " " + unit
	}
	return text
}
