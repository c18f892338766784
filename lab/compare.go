package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"brunt/measure"
)

// RunComparison holds one run against another: B - A.
type RunComparison struct {
	A            ComparedRun           `json:"a"`
	B            ComparedRun           `json:"b"`
	Paired       bool                  `json:"paired"` // by seed, on the same arrivals and the same luck
	Reason       string                `json:"reason,omitempty"`
	Compositions []ComparedComposition `json:"compositions"`
	Rules        []RuleVerdict         `json:"rules"`
}

// ComparedRun names one side.
type ComparedRun struct {
	Study       string     `json:"study"`
	StudySHA256 string     `json:"study_sha256"`
	Instrument  Instrument `json:"instrument"`
	Seeds       []int64    `json:"seeds"`
}

// ComparedComposition is a composition that both runs have.
type ComparedComposition struct {
	Name    string               `json:"name"`
	Numbers []measure.Difference `json:"numbers"`
}

// Rule is a limit on a difference, such as "outage.attempts/offered +10%".
type Rule struct {
	Text    string
	Phase   string // "whole" for the whole run
	Measure string
	Limit   float64 // share of A that B may exceed it by; below 0: fall short by
}

// RuleVerdict is what became of a rule in one composition.
type RuleVerdict struct {
	Rule        string             `json:"rule"`
	Composition string             `json:"composition"`
	Difference  measure.Difference `json:"difference"`
	Verdict     measure.Regression `json:"verdict"`
	Failed      bool               `json:"failed"`
}

// ParseRule reads a rule: PHASE.MEASURE, or MEASURE for the whole run, and by
// how many percent of A the measure of B may be more (+) or less (-).
func ParseRule(text string, phases []string) (Rule, error) {
	name, limit, ok := strings.Cut(strings.TrimSpace(text), " ")
	limit = strings.TrimSpace(limit)
	number, percent := strings.CutSuffix(limit, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || !percent || err != nil || strings.ContainsAny(number, "_xX") || math.IsInf(v, 0) || math.IsNaN(v) || !strings.ContainsAny(limit[:1], "+-") || v == 0 && limit[0] == '-' {
		return Rule{}, fmt.Errorf("rule %q: expected PHASE.MEASURE and a limit such as +10%% or -5%%", text)
	}
	r := Rule{Text: text, Phase: whole, Measure: name, Limit: v / 100}
	for _, p := range phases {
		if rest, ok := strings.CutPrefix(name, p+"."); ok && (r.Phase == whole || len(p) > len(r.Phase)) {
			r.Phase, r.Measure = p, rest
		}
	}
	return r, nil
}

// runs returns the repeats of a result; one that does not repeat has one.
func (r *Result) runs() []Repeat {
	if len(r.Repeats) > 0 {
		return r.Repeats
	}
	return []Repeat{{Seed: r.Seed, Compositions: r.Compositions}}
}

// Phases returns the names of the phases of a result.
func (r *Result) Phases() []string {
	var names []string
	if len(r.Compositions) > 0 {
		for i := range r.Compositions[0].Phases {
			names = append(names, r.Compositions[0].Phases[i].Name)
		}
	}
	return names
}

// CompareRuns compares two results, composition by composition. Runs with the
// same seeds, load and phases are paired; others are compared by their means
// alone, which shows no difference beyond doubt.
func CompareRuns(a, b *Result, rules []string) (*RunComparison, error) {
	for _, r := range []*Result{a, b} {
		if !r.Valid {
			return nil, fmt.Errorf("the run of %s, study %s, is not valid: its numbers cannot be compared", r.Instrument.Version, r.Study)
		}
		if r.Aborted {
			return nil, fmt.Errorf("the run of %s, study %s, was aborted: numbers of a part of it cannot be compared", r.Instrument.Version, r.Study)
		}
	}
	c := &RunComparison{A: a.compared(), B: b.compared(), Compositions: []ComparedComposition{}, Rules: []RuleVerdict{}}
	c.Paired, c.Reason = paired(a, b)
	for i := range a.Compositions {
		name := a.Compositions[i].Name
		j := slices.IndexFunc(b.Compositions, func(c measure.Composition) bool { return c.Name == name })
		if j < 0 {
			continue
		}
		cc := ComparedComposition{Name: name}
		eachHeadline(&a.Compositions[i], func(title string, _ headline, of func(*measure.Composition) measure.Scalar) {
			cc.Numbers = append(cc.Numbers, c.difference(title, over(a.runs(), i, of), over(b.runs(), j, of)))
		})
		c.Compositions = append(c.Compositions, cc)
		for _, text := range rules {
			v, err := c.rule(text, a, b, i, j)
			if err != nil {
				return nil, err
			}
			c.Rules = append(c.Rules, v)
		}
	}
	if len(c.Compositions) == 0 {
		return nil, fmt.Errorf("the two runs have no composition in common: %s and %s", names(a), names(b))
	}
	return c, nil
}

func names(r *Result) string {
	var list []string
	for i := range r.Compositions {
		list = append(list, r.Compositions[i].Name)
	}
	return strings.Join(list, ", ")
}

func (r *Result) compared() ComparedRun {
	run := ComparedRun{Study: r.Study, StudySHA256: r.StudySHA256, Instrument: r.Instrument}
	for _, repeat := range r.runs() {
		run.Seeds = append(run.Seeds, repeat.Seed)
	}
	return run
}

// paired reports whether two runs met the same arrivals and the same luck.
func paired(a, b *Result) (ok bool, reason string) {
	if !slices.Equal(a.compared().Seeds, b.compared().Seeds) {
		return false, "not paired: the seeds differ"
	}
	for _, setting := range []string{"load", "phases", "dependencies", "horizon"} {
		if !bytes.Equal(a.setting(setting), b.setting(setting)) {
			return false, "not paired: " + setting + " differs"
		}
	}
	return true, ""
}

// setting returns one top-level setting of the study as run, as compact JSON.
func (r *Result) setting(name string) []byte {
	var config map[string]json.RawMessage
	var out bytes.Buffer
	if json.Unmarshal(r.Config, &config) != nil || json.Compact(&out, config[name]) != nil {
		return nil
	}
	return out.Bytes()
}

func (c *RunComparison) difference(title string, a, b []measure.Scalar) measure.Difference {
	if c.Paired {
		return measure.Compare(title, a, b)
	}
	// Without pairs only the means are set side by side.
	d := measure.Compare(title, meanOf(a), meanOf(b))
	if d.Verdict == measure.Descriptive {
		d.Reason = c.Reason + "; the difference of the means is descriptive"
	}
	return d
}

// meanOf turns values into one: their mean, or the refusal of any.
func meanOf(values []measure.Scalar) []measure.Scalar {
	mean := measure.Scalar{}
	for _, v := range values {
		if v.Refused != "" {
			return []measure.Scalar{v}
		}
		mean.Value += v.Value / float64(len(values))
	}
	return []measure.Scalar{mean}
}

func (c *RunComparison) rule(text string, a, b *Result, i, j int) (RuleVerdict, error) {
	r, err := ParseRule(text, a.Phases())
	if err != nil {
		return RuleVerdict{}, err
	}
	var p *measure.Phase
	if k := slices.Index(a.Phases(), r.Phase); k >= 0 {
		p = &a.Compositions[i].Phases[k]
	}
	if _, err := Find(&a.Compositions[i], p, r.Measure); err != nil {
		return RuleVerdict{}, fmt.Errorf("rule %q: %w; phases are %s", text, err, strings.Join(a.Phases(), ", "))
	}
	of := func(comp *measure.Composition) measure.Scalar { return numberOf(comp, r.Phase, r.Measure).scalar() }
	d := c.difference(r.Phase+" "+r.Measure, over(a.runs(), i, of), over(b.runs(), j, of))
	v := RuleVerdict{Rule: text, Composition: a.Compositions[i].Name, Difference: d}
	v.Verdict = d.Beyond(r.Limit, a.Deterministic && b.Deterministic)
	v.Failed = v.Verdict == measure.OverLimit || v.Verdict == measure.Unclear
	return v, nil
}

// FailedRules counts the rules that did not hold, and those that nobody can
// judge.
func (c *RunComparison) FailedRules() int {
	n := 0
	for _, r := range c.Rules {
		if r.Failed {
			n++
		}
	}
	return n
}
