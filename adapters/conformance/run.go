package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"brunt/adapters/libraries"
	"brunt/adapters/studies"
	"brunt/lab"
	"brunt/measure"
	"brunt/study"
)

// Report is what was seen in the scenarios. Its JSON names are a contract.
type Report struct {
	Schema    int       `json:"schema"`
	Scenarios []Outcome `json:"scenarios"`
}

// Outcome is what was seen in one scenario.
type Outcome struct {
	Scenario string    `json:"scenario"`
	Question string    `json:"question"`
	Study    string    `json:"study"` // a file of package studies
	Expected string    `json:"expected"`
	Standard string    `json:"standard"`
	Findings []Finding `json:"findings"`
}

// Finding is what was seen of one composition, or why a library has no part.
type Finding struct {
	Composition string   `json:"composition,omitempty"`
	Library     string   `json:"library"` // with its version
	Defaults    bool     `json:"defaults"`
	Verdict     Verdict  `json:"verdict"`
	Seen        []Seen   `json:"seen,omitempty"`
	Own         Own      `json:"documentation,omitempty"`
	Says        string   `json:"says,omitempty"`
	Source      string   `json:"source,omitempty"`
	Notes       []string `json:"notes,omitempty"` // in what the settings differ from the study's
}

// Seen is one number.
type Seen struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Of    float64 `json:"of,omitempty"`
	Unit  string  `json:"unit,omitempty"`
}

// Names lists the scenarios.
func Names() []string {
	var names []string
	for i := range scenarios {
		names = append(names, scenarios[i].Name)
	}
	return names
}

var errUnknown = errors.New("there is no scenario")

// Run runs scenarios, by name; all of them when none is named.
func Run(ctx context.Context, names ...string) (*Report, error) {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("%w %q: expected one of %s", errUnknown, name, strings.Join(Names(), ", "))
		}
	}
	r := &Report{Schema: 1}
	for i := range scenarios {
		s := &scenarios[i]
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		o, err := s.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		r.Scenarios = append(r.Scenarios, *o)
	}
	return r, nil
}

func (s *Scenario) file() string { return "conformance-" + s.Name + ".yaml" }

func (s *Scenario) run(ctx context.Context) (*Outcome, error) {
	text, err := studies.Files.ReadFile(s.file())
	if err != nil {
		return nil, fmt.Errorf("read its study: %w", err)
	}
	st, err := study.Read("-", study.Options{Stdin: bytes.NewReader(text), Folder: ".", Measure: lab.CheckName})
	if err != nil {
		return nil, fmt.Errorf("read its study: %w", err)
	}
	guests := map[string]*lab.Guest{}
	for _, name := range st.Compositions.Names() {
		if st.Library(name) != "" {
			if guests[name], err = libraries.New(st, name); err != nil {
				return nil, fmt.Errorf("composition %s: %w", name, err)
			}
		}
	}
	result, _, err := lab.Run(ctx, st, lab.Options{Instrument: lab.ThisInstrument(), Guests: guests})
	if err != nil {
		return nil, err
	}
	if !result.Valid || result.Aborted {
		return nil, fmt.Errorf("the run of study %s is not valid, or was broken off", st.Name)
	}
	o := &Outcome{Scenario: s.Name, Question: s.Question, Study: s.file(), Expected: s.Expected, Standard: s.Standard}
	for i := range s.subjects {
		f, err := s.find(st, result, &s.subjects[i])
		if err != nil {
			return nil, err
		}
		o.Findings = append(o.Findings, *f)
	}
	for _, m := range s.missing {
		o.Findings = append(o.Findings, Finding{Library: libraries.Version(m.library), Verdict: NotApplicable, Says: m.reason})
	}
	return o, nil
}

// find judges one composition.
func (s *Scenario) find(st *study.Study, r *lab.Result, sub *subject) (*Finding, error) {
	i := slices.IndexFunc(r.Compositions, func(c measure.Composition) bool { return c.Name == sub.composition })
	if i < 0 {
		return nil, fmt.Errorf("its study has no composition %s", sub.composition)
	}
	name := st.Library(sub.composition)
	f := &Finding{
		Composition: sub.composition, Library: "brunt", Defaults: libraries.Defaults(name),
		Verdict: AsExpected, Own: sub.own, Says: sub.says, Source: sub.source,
	}
	if name != "" {
		f.Library = libraries.Version(name)
		var err error
		if f.Notes, err = libraries.Notes(st, sub.composition); err != nil {
			return nil, err
		}
	}
	c := &r.Compositions[i]
	for _, n := range s.numbers {
		at := slices.IndexFunc(c.Phases, func(p measure.Phase) bool { return p.Name == n.phase })
		if at < 0 {
			return nil, fmt.Errorf("its study has no phase %s", n.phase)
		}
		v, err := lab.Find(c, &c.Phases[at], n.measure)
		if err != nil {
			return nil, fmt.Errorf("composition %s: %w", c.Name, err)
		}
		if v.Refusal != "" {
			return nil, fmt.Errorf("composition %s: %s of phase %s: %s", c.Name, n.measure, n.phase, v.Refusal)
		}
		f.Seen = append(f.Seen, Seen{n.label, v.Value, n.of, n.unit})
		if v.Value < n.least || v.Value > n.most {
			f.Verdict = Differs
		}
	}
	return f, nil
}

// String writes a number as a sentence has it: "61 of 80".
func (s Seen) String() string {
	text := strconv.FormatFloat(s.Value, 'f', -1, 64)
	if s.Unit != "" {
		text = strconv.FormatFloat(s.Value, 'f', 0, 64) + " " + s.Unit
	}
	if s.Of > 0 {
		text += " of " + strconv.FormatFloat(s.Of, 'f', -1, 64)
	}
	return text
}
