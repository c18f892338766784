package lab

import (
	"fmt"
	"strings"

	"brunt/fault"
	"brunt/measure"
)

// realFault tells of the loss of a real victim: the sentence that a published
// number stands in, with its slots filled from what was measured, and whether
// it may be called the loss of a node.
func (f *finder) realFault() {
	if f.study.Fault == nil || f.study.Fault.Injected() == nil || !f.study.CallsReal() || f.result.Killed {
		return
	}
	for i := range f.result.Compositions {
		if c := &f.result.Compositions[i]; c.Site != nil && c.Site.Fault != nil {
			f.list = append(f.list, f.headline(c))
		}
	}
	if l := f.result.NodeLoss; l != nil && !l.Represents {
		f.add("This black hole does not represent the loss of a node: %s.", strings.Join(l.Reasons, "; "))
	}
}

// headline fills the slots of the sentence. A slot that was not measured says
// so.
func (f *finder) headline(c *measure.Composition) string {
	failed, timedOut := "an unknown share", "an unknown share"
	if in := c.InFlight; in != nil && in.Victim != nil {
		v := in.Victim
		failed = fmt.Sprintf("%s (%d of %d)", percent(v.Errored, v.Open), v.Errored, v.Open)
		timedOut = fmt.Sprintf("%s (%d)", percent(v.Censored, v.Open), v.Censored)
		if v.Open == 0 {
			failed, timedOut = "none of the 0", "none"
		}
	}
	words := fmt.Sprintf("Under %s%s, %s of the victim's in-flight requests failed and %s timed out",
		variant(f.study.Fault.Injected()), f.atShare(), failed, timedOut)
	before, during := windowOf(c, measure.BaselineWindow), windowOf(c, measure.FaultWindow)
	if a, b := firstTokenP50(before), firstTokenP50(during); a != "" || b != "" {
		words += fmt.Sprintf("; first-token p50 of completed requests went from %s to %s", orUnknown(a), orUnknown(b))
	}
	if during != nil && during.WithinSecond != nil {
		words += fmt.Sprintf("; incidence of completion within 1 s was %s %%", number(100**during.WithinSecond))
	}
	return words + f.returns(c) + "."
}

// variant names what was done.
func variant(c *fault.Config) string {
	switch c.Kind {
	case fault.Kill:
		if c.For > 0 {
			return "a kill and a restart " + duration(c.For) + " later"
		}
		return "a kill"
	case fault.BlackHole:
		return "a black hole of " + duration(c.For)
	case fault.Mode:
		return fmt.Sprintf("mode %s for %s", c.Mode, duration(c.For))
	case fault.Freeze:
		return "a freeze of " + duration(c.For)
	}
	return "commands of the study"
}

// atShare says at what part of one replica's capacity the load was, where that
// was measured.
func (f *finder) atShare() string {
	if c := f.result.Calibration; c != nil {
		of := "the measured capacity"
		if c.Of == ofReplica {
			of = "one replica's measured capacity"
		}
		return fmt.Sprintf(" at %s %% of %s", number(100*c.Share), of)
	}
	return " at " + f.study.Rate(0).String()
}

// returns tells of the two returns, and of the parts of the way back.
func (f *finder) returns(c *measure.Composition) string {
	g := c.Recovery.Goodput
	if g == nil {
		return ""
	}
	words := "; recovery to the degraded plateau took " + took(&g.Plateau) + ", to the pre-fault level " + took(&g.PreFault)
	var parts []string
	for _, s := range c.Site.Fault.Segments {
		if s.Length != nil {
			parts = append(parts, fmt.Sprintf("%s for %s", span(*s.Length), s.Name))
		} else {
			parts = append(parts, fmt.Sprintf("N/A for %s (%s)", s.Name, s.Reason))
		}
	}
	return words + "; on the way " + and(parts)
}

func took(a *measure.Against) string {
	if a.Baseline.Goodput == nil {
		return "N/A (" + a.Baseline.Reason + ")"
	}
	switch d := a.Detection; d.Status {
	case measure.Recovered:
		words := span(*d.Time)
		if a.Label != "" {
			words += " (" + a.Label + ")"
		}
		return words
	case measure.HoldIncomplete:
		return "an unknown time (candidate at " + span(*d.Candidate) + ", hold incomplete)"
	}
	return "longer than was observed"
}

func windowOf(c *measure.Composition, kind measure.WindowKind) *measure.WindowNumbers {
	for i := range c.Windows {
		if c.Windows[i].Window == kind {
			return &c.Windows[i]
		}
	}
	return nil
}

func firstTokenP50(w *measure.WindowNumbers) string {
	if w == nil || w.FirstToken == nil || w.FirstToken.P50 == nil {
		return ""
	}
	return span(*w.FirstToken.P50)
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown time"
	}
	return s
}
