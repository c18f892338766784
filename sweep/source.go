package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"brunt/lab"
	"brunt/measure"
	"brunt/study"
)

// source is the study that a sweep varies. Its text is kept, so that a file
// that is edited meanwhile does not change half of the points.
type source struct {
	name string // as it was given
	base *study.Study
}

// read reads the study with settings on top of its own.
func (s *source) read(sets []string) (*study.Study, error) {
	at, err := study.Read("-", study.Options{
		Stdin: bytes.NewReader(s.base.YAML()), Folder: filepath.Dir(s.name), Files: s.base.Files(), Sets: sets, Measure: lab.CheckName,
	})
	var faults study.Errors
	if errors.As(err, &faults) {
		for i := range faults {
			if faults[i].File == "stdin" {
				faults[i].File = s.name
			}
		}
		return nil, faults
	}
	if err != nil {
		return nil, err
	}
	if at.Clock != study.Virtual {
		return nil, errors.New("the clock is real: a sweep runs on the virtual one, so set clock to virtual")
	}
	return at, nil
}

// choose returns the compositions to run, all when none is named.
func (s *source) choose(named []string) ([]string, error) {
	all := s.base.Compositions.Names()
	if len(named) == 0 {
		return all, nil
	}
	var chosen []string
	for _, name := range named {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("no composition %q: the study has %s", name, strings.Join(all, ", "))
		}
	}
	for _, name := range all {
		if slices.Contains(named, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen, nil
}

// quantity is a number to be found at each point: NAME or NAME@PHASE.
type quantity struct {
	text  string
	name  string
	phase string // empty for the whole run
	unit  string
}

// parseQuantity reads NAME[@PHASE] and holds it to the study.
func parseQuantity(text string, s *study.Study) (quantity, error) {
	q := quantity{text: strings.TrimSpace(text)}
	q.name = q.text
	if i := strings.LastIndexByte(q.text, '@'); i >= 0 {
		q.name, q.phase = q.text[:i], q.text[i+1:]
	}
	if q.phase == wholeRun {
		q.phase = ""
	}
	return q, q.check(s)
}

const wholeRun = "whole"

// check holds a quantity to a study, and notes its unit.
func (q *quantity) check(s *study.Study) error {
	if q.phase != "" && !slices.ContainsFunc(s.Phases, func(p study.Phase) bool { return p.Name == q.phase }) {
		var names []string
		for _, p := range s.Phases {
			names = append(names, p.Name)
		}
		return fmt.Errorf("measure %q: no phase %q: the study has %s", q.text, q.phase, strings.Join(names, ", "))
	}
	if q.name == goodput && s.SLO == nil {
		return fmt.Errorf("measure %q: the study has no slo, so nobody knows what is good", q.text)
	}
	duration, err := lab.CheckName(q.name, q.phase != "", s.Callees())
	if err != nil {
		return fmt.Errorf("measure %q: %w", q.text, err)
	}
	if duration {
		q.unit = "ms"
	}
	return nil
}

// goodput is the measure that needs a promise to callers.
const goodput = "goodput"

// of finds the quantity in what was measured.
func (q *quantity) of(c *measure.Composition) lab.Number {
	var phase *measure.Phase
	if q.phase != "" {
		i := slices.IndexFunc(c.Phases, func(p measure.Phase) bool { return p.Name == q.phase })
		if i < 0 {
			return lab.Number{Refusal: "there is no phase " + q.phase}
		}
		phase = &c.Phases[i]
	}
	n, err := lab.Find(c, phase, q.name)
	if err != nil {
		n.Refusal = err.Error()
	}
	return n
}

// seeded returns the study with another seed.
func seeded(s *study.Study, seed int64) *study.Study {
	other := *s
	other.Seed = seed
	return &other
}

// measureAll finds quantities in some compositions of a study.
func measureAll(ctx context.Context, s *study.Study, compositions []string, quantities []quantity) ([][]lab.Number, error) {
	all := make([][]lab.Number, len(compositions))
	for i, name := range compositions {
		c, err := lab.Measure(ctx, s, name)
		if err != nil {
			return nil, err
		}
		for k := range quantities {
			all[i] = append(all[i], quantities[k].of(&c))
		}
	}
	return all, nil
}

// isVerdict reports whether a measure, as it is written, is yes or no: 1 or 0.
func isVerdict(text string) bool { return text == "metastable" }

// isShare reports whether a measure, as it is written, is a part of a whole.
func isShare(text string) bool {
	name, _, _ := strings.Cut(text, "@")
	switch name {
	case "completed/offered", "errored/offered", "censored/offered", "availability", "goodput",
		"retries/attempts", "wasted/attempts", "retry_share", "wasted_share":
		return true
	}
	return strings.HasPrefix(name, "wasted.")
}
