package sweep

import (
	"slices"

	"brunt/measure"
)

// Schema is the version of the JSON of sweeps and searches.
const Schema = 1

// Result sums a sweep up: what sweep.json holds. It is a pure function of the
// plan. The points themselves are in the tables.
type Result struct {
	Schema    int       `json:"schema"`
	Question  string    `json:"question"`
	Plan      *Plan     `json:"plan"`
	Summaries []Summary `json:"summaries"` // by measure, then composition
	Pareto    *Front    `json:"pareto"`    // null when none was asked for
	Charts    []string  `json:"charts"`    // files in the folder
	Findings  []string  `json:"findings"`
}

// Summary sums one measure of one composition up over the points.
type Summary struct {
	Measure     string      `json:"measure"`
	Unit        string      `json:"unit,omitempty"`
	Composition string      `json:"composition"`
	Points      int         `json:"points"`           // that have a mean
	Refused     int         `json:"refused"`          // points that have none, for a number was refused on some seed
	Reason      string      `json:"reason,omitempty"` // of the first that has none
	Lowest      *Extreme    `json:"lowest"`           // the first point of the least mean
	Highest     *Extreme    `json:"highest"`
	Importance  *Importance `json:"importance"`
	NoneReason  string      `json:"importance_reason,omitempty"`

	effects *effects
	spread  bool // whether any point differs from seed to seed
}

// Extreme is a point with its mean.
type Extreme struct {
	Place
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low"` // 95 % t-interval over the seeds
	High *float64 `json:"high"`
}

// Place names a point of the plan.
type Place struct {
	Point    int       `json:"point"` // from 1
	Settings []Setting `json:"settings"`

	label string
}

// Setting is one setting at a point, as the study reads it.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

func (p *Plan) place(at Point) Place {
	place := Place{Point: at.Index + 1, label: p.label(at)}
	for k, v := range at.Settings {
		place.Settings = append(place.Settings, Setting{p.axes[k].Path, v.Text})
	}
	return place
}

// summing gathers a result from the points as they come.
type summing struct {
	plan   *Plan
	result *Result
	goals  []int // measures of the Pareto goals
}

func newSumming(plan *Plan, quantities []quantity, goals []Goal) *summing {
	s := &summing{plan: plan, result: &Result{Schema: Schema, Plan: plan, Charts: []string{}, Findings: []string{}}}
	for _, q := range quantities {
		for _, c := range plan.Compositions {
			s.result.Summaries = append(s.result.Summaries, Summary{Measure: q.text, Unit: q.unit, Composition: c, effects: newEffects(plan)})
		}
	}
	if len(goals) > 0 {
		s.result.Pareto = &Front{Goals: goals, Members: []Member{}}
		for _, g := range goals {
			s.goals = append(s.goals, slices.Index(plan.Measures, g.Measure))
		}
	}
	return s
}

// add takes a finished point.
func (s *summing) add(f *Finished) {
	at := s.plan.Point(f.Point)
	place := func() Place { return s.plan.place(at) }
	for i, c := range f.Compositions {
		means := make([]*float64, len(c.Numbers))
		for k := range c.Numbers {
			spread := c.Numbers[k].spread(s.plan.Measures[k])
			means[k] = spread.Mean
			s.result.Summaries[k*len(f.Compositions)+i].add(at, place, &spread)
		}
		if front := s.result.Pareto; front != nil {
			goals := make([]*float64, len(s.goals))
			for g, k := range s.goals {
				goals[g] = means[k]
			}
			front.add(place, c.Name, goals)
		}
	}
}

func (s *Summary) add(at Point, place func() Place, spread *measure.Spread) {
	if spread.Mean == nil {
		if s.Refused++; s.Refused == 1 {
			s.Reason = spread.Reason
		}
		return
	}
	s.Points++
	s.spread = s.spread || spread.SD != nil && *spread.SD > 0
	s.effects.add(at, *spread.Mean, spread.SD)
	extreme := func() *Extreme { return &Extreme{place(), *spread.Mean, spread.Low, spread.High} }
	if s.Lowest == nil || *spread.Mean < s.Lowest.Mean {
		s.Lowest = extreme()
	}
	if s.Highest == nil || *spread.Mean > s.Highest.Mean {
		s.Highest = extreme()
	}
}

// end makes what needs all of the points.
func (s *summing) end() *Result {
	r := s.result
	for i := range r.Summaries {
		one := &r.Summaries[i]
		one.Importance, one.NoneReason = one.effects.importance()
	}
	if r.Pareto != nil {
		r.Pareto.sort()
	}
	r.findings()
	return r
}
