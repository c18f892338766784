package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// csvHead names the columns of [CSV]. Further ones may only be added behind them.
var csvHead = []string{"seed", "composition", "phase", "measure", "value", "unit", "low", "high", "reason", "interval_reason"}

// CSV writes the numbers of a result as one long table, a number a line, for
// spreadsheets and data frames: every number of the phases and of the whole run,
// each as it stands in result.json, and those that a composition has once, which
// have the phase whole. Measures have the names that an expectation calls them by,
// where it can; of a study that repeats, each repeat has its lines, by its seed.
//
// A number that the data cannot carry has an empty value, and the reason. Low and
// high are the ends of its 95 % interval; where one is not there, interval_reason
// says why. A result that is not valid has one line, on the measure result, with
// the reason.
//
// Lines end as RFC 4180 says, section 2. A text that a spreadsheet could take for a
// formula has an apostrophe before it (OWASP, "CSV Injection"): see [asText].
func CSV(w io.Writer, r *lab.Result) error {
	t := &numberLines{w: csv.NewWriter(w)}
	t.w.UseCRLF = true
	t.line(csvHead)
	repeats := r.Repeats
	if len(repeats) == 0 {
		repeats = []lab.Repeat{{Seed: r.Seed, Compositions: r.Compositions}}
	}
	if !r.Valid {
		t.seed = strconv.FormatInt(r.Seed, 10)
		t.add("result", nil, "", whyInvalid(r))
		repeats = nil
	}
	for i := range repeats {
		t.seed = strconv.FormatInt(repeats[i].Seed, 10)
		for k := range repeats[i].Compositions {
			t.composition(&repeats[i].Compositions[k])
		}
	}
	if t.w.Flush(); t.err == nil {
		t.err = t.w.Error()
	}
	if t.err != nil {
		return fmt.Errorf("writing study %q as CSV: %w", r.Study, t.err)
	}
	return nil
}

// numberLines writes a line for each number.
type numberLines struct {
	w                  *csv.Writer
	seed, of, in       string // what the next lines are about
	low, high, without string // of the next line
	err                error  // the first
}

func (t *numberLines) line(cells []string) {
	if err := t.w.Write(cells); t.err == nil {
		t.err = err
	}
}

// number returns a number as JSON has it; nothing for nil.
func (t *numberLines) number(v any) string {
	text, err := json.Marshal(v)
	if t.err == nil {
		t.err = err
	}
	if string(text) == "null" {
		return ""
	}
	return string(text)
}

// add writes one number. The reason is that of a number that is absent.
func (t *numberLines) add(name string, v any, unit, reason string) {
	value := t.number(v)
	if value != "" {
		reason = ""
	} else if reason == "" {
		reason = "the result gives no reason"
	}
	t.line([]string{t.seed, asText(t.of), asText(t.in), asText(name), value, unit, t.low, t.high, asText(reason), asText(t.without)})
	t.low, t.high, t.without = "", "", ""
}

// interval sets the interval of the next number, or why it has none.
func (t *numberLines) interval(low, high any, reason string) {
	if t.low, t.high = t.number(low), t.number(high); t.low == "" || t.high == "" {
		t.without = reason
	}
}

func (t *numberLines) millis(name string, v *measure.Millis, reason string) {
	t.add(name, v, "ms", reason)
}

func (t *numberLines) composition(c *measure.Composition) {
	t.of = c.Name
	for i := range c.Phases {
		t.phase(c, &c.Phases[i])
	}
	t.phase(c, &c.Whole)
	t.millis("recovery", c.Recovery.CleanWindow, c.Recovery.Reason)
	t.add("cancelled", c.Cancelled, "", "")
	t.add("losers_pending", c.LosersPending, "", "")
	t.millis("cleanup.p99", c.Cleanup.P99, c.Cleanup.Reason)
	t.millis("cleanup.max", c.Cleanup.Max, c.Cleanup.Reason)
	t.add("peak.requests", c.Peak.Requests, "", "")
	t.add("peak.attempts", c.Peak.Attempts, "", "")
	t.add("active_after_drain", c.ActiveAfterDrain, "", "")
	t.add("herd.peak", c.Herd.Peak, "", "")
	t.add("herd.retry_peak", c.Herd.RetryPeak, "", "")
	if g := c.Guest; g != nil {
		t.add("guest.unattributed", g.Unattributed, "", "")
		t.add("guest.late", g.Late, "", "")
		if n, err := lab.Find(c, nil, "guest.unserved"); err == nil && n.Refusal != "" {
			t.add("guest.unserved", nil, "", n.Refusal)
		} else {
			t.add("guest.unserved", g.Unserved, "", "")
		}
		t.add("guest.unheard", g.Unheard, "", "")
		t.add("guest.cut_off", g.CutOff, "", "")
	}
}

func (t *numberLines) phase(c *measure.Composition, p *measure.Phase) {
	t.in = p.Name
	t.millis("from", &p.From, "")
	t.millis("to", &p.To, "")
	count := func(name string, n int64) { t.add(name, n, "", "") }
	each := func(kind string, counts map[string]int64) {
		for _, name := range sorted(counts) {
			count(kind+name, counts[name])
		}
	}
	count("offered", p.Offered)
	count("submitted", p.Submitted)
	count("admitted", p.Admitted)
	count("completed", p.Completed)
	count("errored", p.Errored)
	each("errored.", p.Causes)
	count("censored", p.Censored)
	t.goodput(c, p)
	count("attempts", p.Attempts)
	t.add("attempts/offered", p.AttemptsPerOffered, "", p.AttemptsPerOfferedReason)
	t.add("attempts/admitted", p.AttemptsPerAdmitted, "", p.AttemptsPerAdmittedReason)
	count("retries", p.Retries)
	count("denied", p.Denied)
	count("wasted", p.Wasted)
	each("calls.", p.DependencyCalls)
	each("served.", p.ServedBy)
	each("started.", c.AttemptsByStartPhase[p.Name])
	t.add("cost", p.Cost, "", "")
	t.quantiles(&p.Incidence)
	t.percentiles("submitted", &p.Latency.Submitted)
	t.percentiles("completed", &p.Latency.Completed)
	if of := p.Latency.FirstToken; of != nil {
		t.percentiles("first_token", of)
	}
	t.millis("lag.p99", p.SchedulerLag.P99, p.SchedulerLag.Reason)
	t.millis("lag.max", p.SchedulerLag.Max, p.SchedulerLag.Reason)
}

// goodput writes what was served within the SLO, of a study that has one.
func (t *numberLines) goodput(c *measure.Composition, p *measure.Phase) {
	if p.Good != nil {
		t.add("good", p.Good, "", "")
	}
	if c.Service == nil {
		return
	}
	for i := range c.Service.Goodput {
		if g := &c.Service.Goodput[i]; wholeRun(g.Phase) == wholeRun(p.Name) {
			t.interval(g.Low, g.High, g.Reason)
			t.add("goodput", g.Share, "", g.Reason)
		}
	}
}

// quantiles writes the completion-incidence curve.
func (t *numberLines) quantiles(in *measure.Incidence) {
	for i := range in.Quantiles {
		q := &in.Quantiles[i]
		reason := q.Refused
		if reason == "" {
			reason = strings.Join(slices.DeleteFunc([]string{boundReason("low", q.Lower, q.LowerStatus), boundReason("high", q.Upper, q.UpperStatus)},
				func(s string) bool { return s == "" }), "; ")
		}
		t.interval(q.Lower, q.Upper, reason)
		because := q.Reason
		if because == "" {
			because = string(q.Status)
		}
		t.millis("p"+strconv.FormatFloat(100*q.Q, 'f', -1, 64), q.Millis, because)
	}
	t.add("incidence.final", in.Final, "", in.Reason)
	t.add("incidence.ceiling", in.Ceiling, "", in.Reason)
	t.add("incidence.censored_before_horizon", in.CensoredBeforeHorizon, "", "")
}

// boundReason says why an end of an interval is no time.
func boundReason(side string, m *measure.Millis, s measure.Status) string {
	if m != nil || s == "" {
		return ""
	}
	return side + " is " + string(s)
}

func (t *numberLines) percentiles(kind string, p *measure.Percentiles) {
	t.millis(kind+".p50", p.P50, p.Reason)
	t.millis(kind+".p95", p.P95, p.Reason)
	t.millis(kind+".p99", p.P99, p.Reason)
	t.millis(kind+".max", p.Max, p.Reason)
}

// formula holds what makes a spreadsheet take a cell for a formula when it begins
// with it, full-width forms included.
const formula = "=+-@\uff1d\uff0b\uff0d\uff20"

// asText makes a text mean itself in a cell: one line without control codes, and
// with an apostrophe before what a spreadsheet would calculate. Where the decimal
// mark is a comma, cells end at semicolons, whatever the quotes; so what follows
// one is treated as another beginning.
func asText(s string) string {
	s = clean(s)
	if !strings.ContainsAny(s, formula) {
		return s
	}
	parts := strings.Split(s, ";")
	for i, p := range parts {
		if begin := strings.TrimLeft(p, " \"'\u00a0"); begin != "" && strings.ContainsAny(string([]rune(begin)[:1]), formula) {
			parts[i] = "'" + p
		}
	}
	return strings.Join(parts, ";")
}
