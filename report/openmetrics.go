package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// OpenMetrics writes the numbers of a result as OpenMetrics 1.0 text
// (prometheus.io/docs/specs/om/open_metrics_spec, version 1.0, section "Text
// format"), for a Pushgateway or the textfile collector of the node exporter. These
// two read the older text format of Prometheus (0.0.4), so the text uses nothing
// that is not in both: counters and gauges, and no timestamps.
//
// Times are in seconds. A number that the data cannot carry is absent, neither 0
// nor NaN. Counters are of each phase, without the whole run, so that they can be
// added up; gauges have the phase whole too. A result that is not valid has its
// verdict and its gates alone. Of a study that repeats, the numbers are those of the
// first repeat, as in compositions of result.json.
func OpenMetrics(w io.Writer, r *lab.Result) error {
	m := &exposition{w: bufio.NewWriter(w), study: r.Study, written: map[string]bool{}}
	m.verdicts(r)
	if r.Valid {
		for _, f := range families {
			m.family(f, r)
		}
	}
	m.w.WriteString("# EOF\n")
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("writing study %q as OpenMetrics: %w", r.Study, err)
	}
	return nil
}

// family is one metric family, and how it is read from a result.
type family struct {
	name, unit, help string // the unit is the end of the name
	counter          bool
	phase            func(add sampler, c *measure.Composition, p *measure.Phase) // of each phase
	once             func(add sampler, c *measure.Composition)                   // of each composition
}

// sampler adds a sample, with further labels: names and values in turn.
type sampler func(value string, labels ...string)

// refusedIsAbsent ends the help of what can be refused.
const refusedIsAbsent = " Absent, not 0, where the data cannot carry it."

// families are in the order of the text.
var families = []family{
	counted("requests_offered", "Requests that the schedule intended, by the phase of their intended instant.", func(p *measure.Phase) int64 { return p.Offered }),
	counted("requests_submitted", "Requests that the harness let in.", func(p *measure.Phase) int64 { return p.Submitted }),
	counted("requests_admitted", "Requests of which at least one attempt began.", func(p *measure.Phase) int64 { return p.Admitted }),
	counted("requests_completed", "Requests that completed by their horizon.", func(p *measure.Phase) int64 { return p.Completed }),
	{name: "requests_errored", counter: true, help: "Requests that ended with an error or a refusal, by cause.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addEach(add, "cause", p.Causes)
	}},
	counted("requests_censored", "Requests without an outcome by their horizon.", func(p *measure.Phase) int64 { return p.Censored }),
	{name: "requests_good", counter: true, help: "Requests that completed within the SLO. Absent in a study without one.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		if p.Good != nil {
			add(strconv.FormatInt(*p.Good, 10))
		}
	}},
	{name: "requests_served", counter: true, help: "Requests that completed, by the dependency that served them.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addEach(add, "dependency", p.ServedBy)
	}},
	{name: "attempts", counter: true, help: "Calls that reached a dependency, by the phase of their request.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addEach(add, "dependency", p.DependencyCalls)
	}},
	counted("retries", "Attempts that a retry started.", func(p *measure.Phase) int64 { return p.Retries }),
	counted("retries_denied", "Retries and hedges that a budget did not allow.", func(p *measure.Phase) int64 { return p.Denied }),
	counted("attempts_wasted", "Attempts that ended when nobody waited for them any more.", func(p *measure.Phase) int64 { return p.Wasted }),
	{name: "cost", counter: true, help: "Cost of all attempts, in the unit of the study.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		add(float(p.Cost))
	}},
	{name: "attempts_per_offered_ratio", unit: "ratio", help: "Attempts for each offered request: the amplification." + refusedIsAbsent, phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addFloat(add, p.AttemptsPerOffered)
	}},
	{name: "goodput_ratio", unit: "ratio", help: "Share of the offered requests that completed within the SLO." + refusedIsAbsent, phase: func(add sampler, c *measure.Composition, p *measure.Phase) {
		if c.Service == nil {
			return
		}
		for i := range c.Service.Goodput {
			if g := &c.Service.Goodput[i]; wholeRun(g.Phase) == wholeRun(p.Name) {
				addFloat(add, g.Share)
			}
		}
	}},
	{name: "done_ratio", unit: "ratio", help: "Share of the offered requests that had completed by the horizon: the end of the completion-incidence curve." + refusedIsAbsent, phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addFloat(add, p.Incidence.Final)
	}},
	{name: "done_seconds", unit: "seconds", help: "Time by which the given share of all offered requests had completed; errors never count as fast. Absent, not 0, where so many never completed or nobody knows.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		for i := range p.Incidence.Quantiles {
			q := &p.Incidence.Quantiles[i]
			addSeconds(add, q.Millis, "quantile", float(q.Q))
		}
	}},
	{name: "outcome_seconds", unit: "seconds", help: "Time from the intended instant to any outcome, over all submitted requests; instant refusals count as fast. Quantile 1 is the most." + refusedIsAbsent, phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addPercentiles(add, &p.Latency.Submitted)
	}},
	{name: "latency_seconds", unit: "seconds", help: "Latency of completed requests alone: conditional on completion. Quantile 1 is the most." + refusedIsAbsent, phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addPercentiles(add, &p.Latency.Completed)
	}},
	{name: "first_token_seconds", unit: "seconds", help: "Time to the first token of completed streams. Quantile 1 is the most. Absent, not 0, where there were none.", phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		if p.Latency.FirstToken != nil {
			addPercentiles(add, p.Latency.FirstToken)
		}
	}},
	{name: "scheduler_lag_seconds", unit: "seconds", help: "How much later than intended requests were submitted. Quantile 1 is the most." + refusedIsAbsent, phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		addTail(add, &p.SchedulerLag)
	}},
	{name: "recovery_seconds", unit: "seconds", help: "From the start of the recovery phase to the end of its first clean window. Absent, not 0, where none was observed.", once: func(add sampler, c *measure.Composition) {
		addSeconds(add, c.Recovery.CleanWindow)
	}},
	{name: "attempts_cancelled", counter: true, help: "Attempts that were given up while they were under way.", once: func(add sampler, c *measure.Composition) {
		add(strconv.FormatInt(c.Cancelled, 10))
	}},
	{name: "cleanup_seconds", unit: "seconds", help: "How long attempts outlived the answer of their caller. Quantile 1 is the most." + refusedIsAbsent, once: func(add sampler, c *measure.Composition) {
		addTail(add, &c.Cleanup)
	}},
	{name: "guest_attempts", counter: true, help: "Attempts of a client that is not brunt's which the attempts of requests do not tell: unattributed belong to no request, late ones to one that had been over for some time, unheard ones were answered when theirs was over, cut_off ones never ended.", once: func(add sampler, c *measure.Composition) {
		if g := c.Guest; g != nil {
			addEach(add, "kind", map[string]int64{"unattributed": g.Unattributed, "late": g.Late, "unheard": g.Unheard, "cut_off": g.CutOff})
		}
	}},
	{name: "guest_requests_unserved", counter: true, help: "Requests that a client which is not brunt's says completed, though none of their attempts did. Absent, not 0, where attempts belong to no request.", once: func(add sampler, c *measure.Composition) {
		if n, err := lab.Find(c, nil, "guest.unserved"); err == nil && n.Refusal == "" {
			add(float(n.Value))
		}
	}},
	{name: "requests_in_flight_peak", help: "The most requests in flight at once.", once: func(add sampler, c *measure.Composition) {
		add(strconv.FormatInt(c.Peak.Requests, 10))
	}},
	{name: "attempts_in_flight_peak", help: "The most attempts in flight at once.", once: func(add sampler, c *measure.Composition) {
		add(strconv.FormatInt(c.Peak.Attempts, 10))
	}},
}

// counted is a counter of one number of a phase.
func counted(name, help string, of func(*measure.Phase) int64) family {
	return family{name: name, help: help, counter: true, phase: func(add sampler, _ *measure.Composition, p *measure.Phase) {
		add(strconv.FormatInt(of(p), 10))
	}}
}

func addEach(add sampler, label string, counts map[string]int64) {
	for _, name := range sorted(counts) {
		add(strconv.FormatInt(counts[name], 10), label, name)
	}
}

func addPercentiles(add sampler, p *measure.Percentiles) {
	addSeconds(add, p.P50, "quantile", "0.5")
	addSeconds(add, p.P95, "quantile", "0.95")
	addSeconds(add, p.P99, "quantile", "0.99")
	addSeconds(add, p.Max, "quantile", "1")
}

func addTail(add sampler, t *measure.Tail) {
	addSeconds(add, t.P99, "quantile", "0.99")
	addSeconds(add, t.Max, "quantile", "1")
}

func addSeconds(add sampler, m *measure.Millis, labels ...string) {
	if m != nil {
		add(float(float64(*m)/1e9), labels...)
	}
}

func addFloat(add sampler, v *float64) {
	if v != nil {
		add(float(*v))
	}
}

func float(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// exposition writes the text.
type exposition struct {
	w       *bufio.Writer // keeps its first error until it is flushed
	study   string
	written map[string]bool // series
}

// head writes what a family is. Ours have help without quotes and backslashes,
// which the two formats escape each in its own way.
func (m *exposition) head(name, kind, unit, help string) {
	m.w.WriteString("# TYPE brunt_" + name + " " + kind + "\n")
	if unit != "" {
		m.w.WriteString("# UNIT brunt_" + name + " " + unit + "\n")
	}
	m.w.WriteString("# HELP brunt_" + name + " " + help + "\n")
}

// sample writes one line. A label without a value is as if it were not there. The
// same series twice would spoil the whole text, so the second is left out: an
// expectation that a study has twice.
func (m *exposition) sample(name, value string, labels ...string) {
	series := "brunt_" + name
	separator := "{"
	for i := 0; i+1 < len(labels); i += 2 {
		if v := labelValue(labels[i+1]); v != "" {
			series += separator + labels[i] + `="` + v + `"`
			separator = ","
		}
	}
	if separator == "," {
		series += "}"
	}
	if !m.written[series] {
		m.written[series] = true
		m.w.WriteString(series + " " + value + "\n")
	}
}

var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelValue escapes a text as both formats do. Control codes stay out of it.
func labelValue(s string) string { return labelEscapes.Replace(clean(s)) }

func (m *exposition) family(f family, r *lab.Result) {
	kind, suffix := "gauge", ""
	if f.counter {
		kind, suffix = "counter", "_total"
	}
	m.head(f.name, kind, f.unit, f.help)
	for i := range r.Compositions {
		c := &r.Compositions[i]
		of := []string{"study", m.study, "composition", c.Name}
		if f.once != nil {
			f.once(func(value string, labels ...string) {
				m.sample(f.name+suffix, value, append(of[:len(of):len(of)], labels...)...)
			}, c)
			continue
		}
		phases := c.Phases
		if !f.counter {
			phases = append(phases[:len(phases):len(phases)], c.Whole)
		}
		for k := range phases {
			in := append(of[:len(of):len(of)], "phase", phases[k].Name)
			f.phase(func(value string, labels ...string) {
				m.sample(f.name+suffix, value, append(in[:len(in):len(in)], labels...)...)
			}, c, &phases[k])
		}
	}
}

// verdicts writes what became of the run, its gates and its expectations.
func (m *exposition) verdicts(r *lab.Result) {
	m.head("run", "gauge", "", "Always 1: what was run, and by what.")
	m.sample("run", "1", "study", r.Study, "clock", string(r.Clock), "seed", strconv.FormatInt(r.Seed, 10), "version", r.Instrument.Version, "study_sha256", r.StudySHA256)
	m.head("run_valid", "gauge", "", "1 when the numbers of the run count, 0 when a gate that was enforced did not pass: then there are no others.")
	m.sample("run_valid", truth(r.Valid), "study", r.Study)
	m.head("run_complete", "gauge", "", "1 when the run came to its end, 0 when it was aborted or killed and its numbers are of a part of it.")
	m.sample("run_complete", truth(!r.Aborted && !r.Killed), "study", r.Study)
	m.head("gate_passed", "gauge", "", "1 when the instrument held the gate, 0 when not or when nobody knows. Absent where the gate does not apply.")
	for _, g := range r.Gates {
		if g.Applies {
			m.sample("gate_passed", truth(g.Passed), "study", r.Study, "gate", g.Name, "enforced", strconv.FormatBool(g.Enforced))
		}
	}
	m.head("expectation_passed", "gauge", "", "1 when the expectation holds, 0 when not or when its number was refused. Absent where it was not judged.")
	if notJudged(r) != "" {
		return
	}
	for _, v := range r.Expectations {
		phase := v.Phase
		if phase == "" {
			phase = "whole"
		}
		m.sample("expectation_passed", truth(v.Passed), "study", r.Study, "composition", v.Composition, "phase", phase, "measure", v.Measure, "relation", v.Relation, "limit", v.Limit)
	}
}

func truth(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
