package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"brunt/measure"
	"brunt/record"
)

// Number is one number of a result, by name: what expectations, findings and
// comparisons speak of.
type Number struct {
	Value   float64 // in milliseconds when Unit is "ms"
	Unit    string
	Refusal string // why the data cannot carry it; empty when Value holds
	Beyond  bool   // the refused number lies above any that could have been measured
}

// names of numbers that belong to one phase, or to the whole run
var phaseNumbers = map[string]func(*measure.Phase) Number{
	"offered":           func(p *measure.Phase) Number { return count(p.Offered) },
	"submitted":         func(p *measure.Phase) Number { return count(p.Submitted) },
	"admitted":          func(p *measure.Phase) Number { return count(p.Admitted) },
	"completed":         func(p *measure.Phase) Number { return count(p.Completed) },
	"errored":           func(p *measure.Phase) Number { return count(p.Errored) },
	"censored":          func(p *measure.Phase) Number { return count(p.Censored) },
	"attempts":          func(p *measure.Phase) Number { return count(p.Attempts) },
	"attempts/offered":  func(p *measure.Phase) Number { return ratio(p.Attempts, p.Offered, "no request was offered") },
	"attempts/admitted": func(p *measure.Phase) Number { return ratio(p.Attempts, p.Admitted, "no request was admitted") },
	"completed/offered": func(p *measure.Phase) Number { return ratio(p.Completed, p.Offered, "no request was offered") },
	"errored/offered":   func(p *measure.Phase) Number { return ratio(p.Errored, p.Offered, "no request was offered") },
	"censored/offered":  func(p *measure.Phase) Number { return ratio(p.Censored, p.Offered, "no request was offered") },
	"cost":              func(p *measure.Phase) Number { return Number{Value: p.Cost} },
	"denied":            func(p *measure.Phase) Number { return count(p.Denied) },
	"retries":           func(p *measure.Phase) Number { return count(p.Retries) },
	"retries/attempts":  func(p *measure.Phase) Number { return ratio(p.Retries, p.Attempts, "no attempt was made") },
	"wasted":            func(p *measure.Phase) Number { return count(p.Wasted) },
	"wasted/attempts":   func(p *measure.Phase) Number { return ratio(p.Wasted, p.Attempts, "no attempt was made") },
	"goodput": func(p *measure.Phase) Number {
		if p.Good == nil {
			return Number{Refusal: "the study has no slo: nobody knows what is good"}
		}
		return ratio(*p.Good, p.Offered, "no request was offered")
	},
	"lag.p99": func(p *measure.Phase) Number { return millis(p.SchedulerLag.P99, p.SchedulerLag.Reason) },
	"lag.max": func(p *measure.Phase) Number { return millis(p.SchedulerLag.Max, p.SchedulerLag.Reason) },
}

// names of numbers that a composition has once
var wholeNumbers = map[string]func(*measure.Composition) Number{
	"recovery": func(c *measure.Composition) Number {
		n := millis(c.Recovery.CleanWindow, c.Recovery.Reason)
		n.Beyond = strings.HasPrefix(n.Refusal, "not observed")
		return n
	},
	"cancelled":          func(c *measure.Composition) Number { return count(c.Cancelled) },
	"losers_pending":     func(c *measure.Composition) Number { return count(c.LosersPending) },
	"cleanup.p99":        func(c *measure.Composition) Number { return millis(c.Cleanup.P99, c.Cleanup.Reason) },
	"cleanup.max":        func(c *measure.Composition) Number { return millis(c.Cleanup.Max, c.Cleanup.Reason) },
	"peak.requests":      func(c *measure.Composition) Number { return count(c.Peak.Requests) },
	"peak.attempts":      func(c *measure.Composition) Number { return count(c.Peak.Attempts) },
	"active_after_drain": func(c *measure.Composition) Number { return count(c.ActiveAfterDrain) },
	"herd.peak":          func(c *measure.Composition) Number { return count(c.Herd.Peak) },
	"herd.retry_peak":    func(c *measure.Composition) Number { return count(c.Herd.RetryPeak) },
	"metastable":         ofStability(metastable),
	"time_to_recover":    ofStability(timeToRecover),
	"retry_share":        ofStability(func(s *measure.Stability) Number { return fraction(s.RetryShare, s.RetryShareReason) }),
	"wasted_share":       ofStability(func(s *measure.Stability) Number { return fraction(s.WastedShare, s.WastedShareReason) }),
	"guest.unattributed": ofGuest(func(g *measure.Guest) int64 { return g.Unattributed }),
	"guest.late":         ofGuest(func(g *measure.Guest) int64 { return g.Late }),
	"guest.unserved":     guestUnserved,
	"guest.unheard":      ofGuest(func(g *measure.Guest) int64 { return g.Unheard }),
	"guest.cut_off":      ofGuest(func(g *measure.Guest) int64 { return g.CutOff }),
	"opens":              opens,
	"false_opens":        falseOpens,
	"time_to_open":       timeToOpen,
}

// guestUnserved is refused where attempts are nobody's: they may be of those
// requests.
func guestUnserved(c *measure.Composition) Number {
	n := ofGuest(func(g *measure.Guest) int64 { return g.Unserved })(c)
	if n.Refusal == "" && c.Guest.Unattributed > 0 {
		return Number{Refusal: fmt.Sprintf("not known: %s attempts belong to no request, and may be of those that seem to have none", thousands(c.Guest.Unattributed))}
	}
	return n
}

func ofGuest(number func(*measure.Guest) int64) func(*measure.Composition) Number {
	return func(c *measure.Composition) Number {
		if c.Guest == nil {
			return Number{Refusal: "not counted: the composition ends in no client or service of the user's, or its run did not come to its end"}
		}
		return count(number(c.Guest))
	}
}

var quantiles = []string{"p50", "p90", "p95", "p99", "p99.9"}

var percentiles = []string{"p50", "p95", "p99", "max"}

func count(n int64) Number { return Number{Value: float64(n)} }

func ratio(a, b int64, reason string) Number {
	if b == 0 {
		return Number{Refusal: reason}
	}
	return Number{Value: float64(a) / float64(b)}
}

func millis(d *measure.Millis, reason string) Number {
	if d == nil {
		return Number{Unit: "ms", Refusal: reason}
	}
	return Number{Value: float64(*d) / 1e6, Unit: "ms"}
}

// NumberNames lists the names that [Find] knows; NAME stands for that of a
// dependency or a cause.
func NumberNames() []string {
	var names []string
	for n := range phaseNumbers {
		names = append(names, n)
	}
	for n := range wholeNumbers {
		names = append(names, n)
	}
	names = append(names, quantiles...)
	for _, of := range []string{"submitted.", "completed.", "first_token."} {
		for _, p := range percentiles {
			names = append(names, of+p)
		}
	}
	names = append(names, "availability", "errored.CAUSE", "calls.NAME", "calls.NAME/offered", "served.NAME", "started.NAME")
	for name := range workerNumbers {
		kind, of, _ := strings.Cut(name, ".")
		names = append(names, strings.TrimSuffix(kind+".NAME."+of, "."))
	}
	slices.Sort(names)
	return names
}

// CheckName says what is wrong with the name of a number in a study with the
// given dependencies, and whether the number is a duration.
func CheckName(name string, phase bool, dependencies []string) (duration bool, err error) {
	c := measure.Composition{Whole: measure.Phase{Causes: map[string]int64{}, ServedBy: map[string]int64{}, DependencyCalls: map[string]int64{}}}
	for _, cause := range record.Causes() {
		c.Whole.Causes[cause.String()] = 0
	}
	started := map[string]int64{}
	for _, d := range dependencies {
		c.Whole.ServedBy[d], c.Whole.DependencyCalls[d], started[d] = 0, 0, 0
	}
	c.AttemptsByStartPhase = map[string]map[string]int64{"": started}
	n, err := Find(&c, nil, name)
	if errors.Is(err, errUnknownNumber) {
		return false, err
	}
	if _, ok := wholeNumbers[name]; ok && phase {
		return false, fmt.Errorf("%s belongs to the whole run: leave the phase out", name)
	}
	return n.Unit == "ms", nil
}

var errUnknownNumber = errors.New("unknown measure")

// Find returns a number by its name: of a phase or, when that is nil, of the
// whole composition. The error says which names there are.
func Find(c *measure.Composition, p *measure.Phase, name string) (Number, error) {
	if f, ok := wholeNumbers[name]; ok {
		if p != nil {
			return Number{}, fmt.Errorf("%s belongs to the whole run, not to phase %s", name, p.Name)
		}
		return f(c), nil
	}
	row := p
	if row == nil {
		row = &c.Whole
	}
	if name == "availability" {
		name = "completed/offered"
	}
	if f, ok := phaseNumbers[name]; ok {
		return f(row), nil
	}
	if i := slices.Index(quantiles, name); i >= 0 {
		return quantile(row, i), nil
	}
	if n, ok := ofWorkers(c, p, name); ok {
		return n, nil
	}
	kind, of, _ := strings.Cut(name, ".")
	var n int64
	var ok bool
	switch kind {
	case "errored":
		n, ok = row.Causes[of]
	case "calls":
		of, per := strings.CutSuffix(of, "/offered")
		if n, ok = row.DependencyCalls[of]; ok && per {
			return ratio(n, row.Offered, "no request was offered"), nil
		}
	case "served":
		n, ok = row.ServedBy[of]
	case "started":
		for phase, started := range c.AttemptsByStartPhase {
			if k, known := started[of]; known && (p == nil || phase == p.Name) {
				n, ok = n+k, true
			}
		}
	case "submitted":
		return percentile(&row.Latency.Submitted, of, name)
	case "completed":
		return percentile(&row.Latency.Completed, of, name)
	case "first_token":
		if row.Latency.FirstToken == nil {
			return percentile(&measure.Percentiles{Reason: "no stream completed"}, of, name)
		}
		return percentile(row.Latency.FirstToken, of, name)
	}
	if !ok {
		return Number{}, unknown(name)
	}
	return count(n), nil
}

func unknown(name string) error {
	return fmt.Errorf("%w %q: expected one of %s", errUnknownNumber, name, strings.Join(NumberNames(), ", "))
}

func percentile(p *measure.Percentiles, which, name string) (Number, error) {
	switch which {
	case "p50":
		return millis(p.P50, p.Reason), nil
	case "p95":
		return millis(p.P95, p.Reason), nil
	case "p99":
		return millis(p.P99, p.Reason), nil
	case "max":
		return millis(p.Max, p.Reason), nil
	}
	return Number{}, unknown(name)
}

// quantile returns a quantile of the completion-incidence curve.
func quantile(p *measure.Phase, i int) Number {
	if i >= len(p.Incidence.Quantiles) {
		return Number{Unit: "ms", Refusal: p.Incidence.Reason}
	}
	q := p.Incidence.Quantiles[i]
	n := millis(q.Millis, q.Reason)
	n.Beyond = q.Status == measure.Beyond || q.Status == measure.Unattainable
	return n
}
