package lab

import (
	"cmp"
	"fmt"
	"slices"

	"brunt/measure"
	"brunt/study"
)

// Repeat is one run of a study that repeats.
type Repeat struct {
	Seed         int64                 `json:"seed"`
	Compositions []measure.Composition `json:"compositions"`
}

// headline is a number that is summed up over repeats and compared between
// compositions.
type headline struct {
	name        string
	perPhase    bool
	heavyTailed bool
}

var headlines = []headline{
	{"completed/offered", true, false},
	{"attempts/offered", true, false},
	{"p50", true, false},
	{"p95", true, false},
	{"p99", true, false},
	{"submitted.p95", true, false},
	{"recovery", false, true},
	{"peak.requests", false, false},
	{"peak.attempts", false, false},
	{"herd.retry_peak", false, false},
}

// scalar returns a number as measure sums it up.
func (n Number) scalar() measure.Scalar {
	return measure.Scalar{Value: n.Value, Refused: n.Refusal, Beyond: n.Beyond}
}

// of returns the number of one phase, or of the whole run, in a composition.
func (h headline) of(phase string) func(*measure.Composition) measure.Scalar {
	return func(c *measure.Composition) measure.Scalar {
		return numberOf(c, phase, h.name).scalar()
	}
}

const whole = "whole" // what results call all phases together

// numberOf finds a number; what cannot be found is refused.
func numberOf(c *measure.Composition, phase, name string) Number {
	var p *measure.Phase
	if phase != whole {
		i := slices.IndexFunc(c.Phases, func(p measure.Phase) bool { return p.Name == phase })
		if i < 0 {
			return Number{Refusal: "there is no phase " + phase}
		}
		p = &c.Phases[i]
	}
	n, err := Find(c, p, name)
	if err != nil {
		n.Refusal = err.Error()
	}
	return n
}

// eachHeadline calls f with every headline number of every phase of a
// composition, and of the whole run.
func eachHeadline(like *measure.Composition, f func(title string, h headline, of func(*measure.Composition) measure.Scalar)) {
	for _, h := range headlines {
		if h.perPhase {
			for i := range like.Phases {
				name := like.Phases[i].Name
				f(name+" "+h.name, h, h.of(name))
			}
		}
		f(whole+" "+h.name, h, h.of(whole))
	}
}

// summarize sums the headline numbers of each composition up over the repeats.
func summarize(repeats []Repeat) {
	for i := range repeats[0].Compositions {
		c := &repeats[0].Compositions[i]
		eachHeadline(c, func(title string, h headline, of func(*measure.Composition) measure.Scalar) {
			c.Summary = append(c.Summary, measure.SpreadOf(title, over(repeats, i, of), h.heavyTailed))
		})
	}
}

// over returns one number of composition i in all repeats.
func over(repeats []Repeat, i int, of func(*measure.Composition) measure.Scalar) []measure.Scalar {
	values := make([]measure.Scalar, len(repeats))
	for k := range repeats {
		values[k] = of(&repeats[k].Compositions[i])
	}
	return values
}

// Comparison holds one composition against another on the same arrivals and
// the same luck: B - A, paired by seed.
type Comparison struct {
	A       string               `json:"a"`
	B       string               `json:"b"`
	Numbers []measure.Difference `json:"numbers"`
	Gray    *measure.GrayTest    `json:"gray"` // of the whole run; descriptive
	Reason  string               `json:"gray_reason,omitempty"`
}

// compareAll compares each composition with the first.
func compareAll(s *study.Study, repeats []Repeat, outcomes []outcome) []Comparison {
	all := []Comparison{}
	n := len(repeats[0].Compositions)
	curves := make([]*measure.Curve, n)
	for i := range curves {
		if outcomes[i].rows != nil && n > 1 {
			curves[i] = curveOf(s, outcomes[i].rows)
		}
	}
	for i := 1; i < n; i++ {
		c := Comparison{A: repeats[0].Compositions[0].Name, B: repeats[0].Compositions[i].Name}
		eachHeadline(&repeats[0].Compositions[0], func(title string, _ headline, of func(*measure.Composition) measure.Scalar) {
			c.Numbers = append(c.Numbers, measure.Compare(title, over(repeats, 0, of), over(repeats, i, of)))
		})
		if curves[0] == nil || curves[i] == nil {
			c.Reason = fmt.Sprintf("not computed for more than %s requests", thousands(rowsMost))
		} else {
			gray := measure.Gray(curves[0], curves[i])
			c.Gray = &gray
		}
		all = append(all, c)
	}
	return all
}

// Secondary is a comparison that the study has declared beforehand. Its p-value
// is adjusted for all that were declared, refused ones included (Holm).
type Secondary struct {
	A          string             `json:"a"`
	B          string             `json:"b"`
	Difference measure.Difference `json:"difference"`
	Adjusted   *float64           `json:"p_holm"`
	Reason     string             `json:"p_holm_reason,omitempty"`
	Planned    int                `json:"planned"`
}

// secondaries makes the comparisons that the study declares.
func secondaries(s *study.Study, repeats []Repeat) ([]Secondary, error) {
	all := []Secondary{}
	var ps []*float64
	for _, c := range s.Compare {
		phase := cmp.Or(c.Phase, whole)
		of := func(comp *measure.Composition) measure.Scalar { return numberOf(comp, phase, c.Measure).scalar() }
		a, b := slices.Index(s.Compositions.Names(), c.Compositions[0]), slices.Index(s.Compositions.Names(), c.Compositions[1])
		d := measure.Compare(phase+" "+c.Measure, over(repeats, a, of), over(repeats, b, of))
		all = append(all, Secondary{A: c.Compositions[0], B: c.Compositions[1], Difference: d, Planned: len(s.Compare)})
		ps = append(ps, d.P)
	}
	adjusted, err := measure.Holm(ps, len(ps))
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Adjusted = adjusted[i]; adjusted[i] == nil {
			all[i].Reason = "no p-value to adjust: " + cmp.Or(all[i].Difference.Reason, all[i].Difference.Flag)
		}
	}
	return all, nil
}

func curveOf(s *study.Study, rows measure.Rows) *measure.Curve {
	observations := make([]measure.Observation, len(rows))
	for i, row := range rows {
		observations[i] = row.Observation()
	}
	return measure.NewCurve(observations, s.Horizon)
}

// The rows of a study with more requests than this, in all compositions and
// repeats, are not kept one by one: what needs them (Gray's test, recovery from
// a fault) is refused then.
const rowsMost = 4_000_000
