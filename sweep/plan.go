package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"brunt/chance"
	"brunt/lab"
)

// Plan says what a sweep runs: all that its points and their numbers depend
// on. It stands at the head of the journal, and a folder is gone on with only
// under an equal plan.
type Plan struct {
	Study        string         `json:"study"`
	SHA256       string         `json:"study_sha256"` // of study.yaml beside the journal
	Files        []File         `json:"files"`        // that the study names
	Vary         []Varied       `json:"vary"`
	Design       string         `json:"design"` // grid or latin hypercube
	Points       int            `json:"points"`
	Seed         int64          `json:"seed"`  // of the sampling; each point starts at its own study's seed
	Seeds        int            `json:"seeds"` // seed, seed+1, … at each point
	Compositions []string       `json:"compositions"`
	Measures     []string       `json:"measures"`
	Instrument   lab.Instrument `json:"instrument"`

	axes  []Axis
	order [][]int32 // of a Latin hypercube: which stratum of each axis a point has
}

// File is a file that the study names.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Varied is one setting of a plan.
type Varied struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`         // of a grid, or of a list that is sampled
	From   string   `json:"from,omitempty"` // of a range that is sampled
	To     string   `json:"to,omitempty"`
	Log    bool     `json:"log,omitempty"`
}

// The designs.
const (
	Grid           = "grid"
	LatinHypercube = "latin hypercube"
)

// lay fills in the design: the grid over all axes or, with sampled points, a
// Latin hypercube.
func (p *Plan) lay(axes []Axis, sampled int) error {
	if len(axes) == 0 {
		return errors.New("nothing varies: expected --vary PATH=VALUES")
	}
	paths := map[string]bool{}
	for _, a := range axes {
		if paths[a.Path] {
			return fmt.Errorf("%s varies twice: give all its values at once", a.Path)
		}
		paths[a.Path] = true
		v := Varied{Path: a.Path}
		if sampled > 0 && a.Range != nil {
			v.From, v.To, v.Log = a.Range.From.Text, a.Range.To.Text, a.Range.Log
		} else {
			for _, l := range a.Levels {
				v.Values = append(v.Values, l.Text)
			}
		}
		p.Vary = append(p.Vary, v)
	}
	p.axes = axes
	p.Design, p.Points = Grid, sampled
	if sampled > 0 {
		p.Design = LatinHypercube
		if sampled > mostPoints {
			return fmt.Errorf("%d points: expected at most %d", sampled, mostPoints)
		}
		p.shuffle()
		return nil
	}
	p.Points = 1
	for _, a := range axes {
		if p.Points *= len(a.Levels); p.Points > mostPoints {
			return fmt.Errorf("the grid has more than %d points: vary fewer values, or sample some with --points", mostPoints)
		}
	}
	return nil
}

// sampling is the purpose of the draws of a Latin hypercube. Those of package
// chance count up from 1 and never come near.
const sampling chance.Purpose = 1 << 32

// shuffle gives every point a stratum of each axis: a Latin hypercube (McKay,
// Beckman and Conover, Technometrics 21, 1979) has one point in each of the
// strata of every axis. Fisher and Yates's shuffle.
func (p *Plan) shuffle() {
	luck := chance.New(p.Seed)
	p.order = make([][]int32, len(p.axes))
	for k := range p.axes {
		order := make([]int32, p.Points)
		for i := range order {
			order[i] = int32(i)
		}
		for i := len(order) - 1; i > 0; i-- {
			j := luck.Draw(sampling, int64(i), uint64(k), 0).Below(int64(i) + 1)
			order[i], order[j] = order[j], order[i]
		}
		p.order[k] = order
	}
}

// Point is one point of a plan.
type Point struct {
	Index    int
	Settings []Amount // by axis
	Groups   []int    // by axis: which level, or which bin of a range that is sampled
}

// Point returns point i of the plan. In a grid the last setting changes from
// each point to the next.
func (p *Plan) Point(i int) Point {
	at := Point{Index: i, Settings: make([]Amount, len(p.axes)), Groups: make([]int, len(p.axes))}
	rest := i
	for k := len(p.axes) - 1; k >= 0; k-- {
		a := &p.axes[k]
		n := len(a.Levels)
		if p.order == nil {
			at.Groups[k] = rest % n
			rest /= n
			at.Settings[k] = a.Levels[at.Groups[k]]
			continue
		}
		inside := 0.5 // levels come up equally often, but for one
		if p.continuous(k) {
			inside = chance.New(p.Seed).Draw(sampling, int64(i), uint64(k), 1).Float()
		}
		share := (float64(p.order[k][i]) + inside) / float64(p.Points)
		at.Groups[k] = min(int(share*float64(p.groups(k))), p.groups(k)-1)
		if p.continuous(k) {
			at.Settings[k] = a.Range.within(share, p.Points)
		} else {
			at.Settings[k] = a.Levels[at.Groups[k]]
		}
	}
	return at
}

// continuous reports whether the values of an axis are sampled from a range.
// Whole numbers are levels even so.
func (p *Plan) continuous(k int) bool {
	r := p.axes[k].Range
	return p.order != nil && r != nil && r.From.kind != whole
}

// groups is into how many groups the points fall by their value of an axis:
// its levels, or about √n bins of a range that is sampled.
func (p *Plan) groups(k int) int {
	if p.continuous(k) {
		return max(2, int(math.Sqrt(float64(p.Points))))
	}
	return len(p.axes[k].Levels)
}

// sets returns a point as settings of its study.
func (p *Plan) sets(at Point) []string {
	sets := make([]string, len(at.Settings))
	for k, v := range at.Settings {
		sets[k] = p.axes[k].Path + "=" + v.Text
	}
	return sets
}

// label writes a point in short: attempts=3 rate=250/s.
func (p *Plan) label(at Point) string {
	names := p.shortNames()
	parts := make([]string, len(at.Settings))
	for k, v := range at.Settings {
		parts[k] = names[k] + "=" + v.Text
	}
	return strings.Join(parts, " ")
}

// shortNames returns of each path as many of its last steps as tell it from
// the others.
func (p *Plan) shortNames() []string {
	names := make([]string, len(p.axes))
	for k, a := range p.axes {
		steps := strings.Split(a.Path, ".")
		for n := 1; n <= len(steps); n++ {
			names[k] = strings.Join(steps[len(steps)-n:], ".")
			unique := true
			for other, b := range p.axes {
				unique = unique && (other == k || b.Path != names[k] && !strings.HasSuffix(b.Path, "."+names[k]))
			}
			if unique {
				break
			}
		}
	}
	return names
}

// differences says in which respects another plan differs.
func (p *Plan) differences(other *Plan) ([]string, error) {
	mine, err := fieldsOf(p)
	if err != nil {
		return nil, err
	}
	theirs, err := fieldsOf(other)
	if err != nil {
		return nil, err
	}
	var all []string
	for i := range mine {
		if !bytes.Equal(mine[i].value, theirs[i].value) {
			all = append(all, fmt.Sprintf("%s: %s here, %s there", mine[i].name, brief(mine[i].value), brief(theirs[i].value)))
		}
	}
	return all, nil
}

type jsonField struct {
	name  string
	value json.RawMessage
}

// fieldsOf returns the fields of a plan as JSON, in their order.
func fieldsOf(p *Plan) ([]jsonField, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var all []jsonField
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		f := jsonField{name: fmt.Sprint(name)}
		if err := d.Decode(&f.value); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// brief shortens JSON for a message.
func brief(b json.RawMessage) string {
	const most = 160
	if r := []rune(string(b)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(b)
}
