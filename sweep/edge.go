package sweep

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// Status says what a search found on one seed, or on all.
type Status string

// What a search can find. There is an edge only within the range: where a
// statement holds throughout or nowhere, nothing is said of what lies beyond.
const (
	Above   Status = "true above"       // the statement is true from the edge on
	Below   Status = "true below"       // it is true up to the edge
	Always  Status = "true throughout"  // no edge
	Never   Status = "false throughout" // no edge
	Refused Status = "refused"          // no edge where its number can be told, and elsewhere it is refused
	Mixed   Status = "mixed"            // the seeds disagree
)

// Edges is what a search found.
type Edges struct {
	Schema       int               `json:"schema"`
	Study        string            `json:"study"`
	Question     string            `json:"question"`
	Instrument   lab.Instrument    `json:"instrument"`
	Path         string            `json:"path"`
	From         string            `json:"from"`
	To           string            `json:"to"`
	Log          bool              `json:"log"`
	Unit         string            `json:"unit,omitempty"` // of edges as numbers
	Until        string            `json:"until"`
	Seeds        int               `json:"seeds"`
	Tolerance    float64           `json:"tolerance"`
	Compositions []CompositionEdge `json:"compositions"`
	Warnings     []string          `json:"warnings"`
}

// CompositionEdge is the edge of one composition.
type CompositionEdge struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Found  int    `json:"found"` // seeds with an edge
	// The edge over the seeds; there is a median and a mean only when every
	// seed has one, and all the same way.
	Median *float64 `json:"median"`
	Least  *float64 `json:"min"` // of those found
	Most   *float64 `json:"max"`
	Mean   *float64 `json:"mean"`
	Low    *float64 `json:"low"` // 95 % t-interval of the mean
	High   *float64 `json:"high"`
	Reason string   `json:"reason,omitempty"` // why a number is absent, or what to beware of
	Edges  []Edge   `json:"edges"`            // by seed
}

// Edge is what was found on one seed: the value nearest to the edge at which
// the statement is true, and how near one is at which it is false.
type Edge struct {
	Seed    int64    `json:"seed"`
	Status  Status   `json:"status"`
	Value   *float64 `json:"value"`
	True    string   `json:"true_at,omitempty"`
	False   string   `json:"false_at,omitempty"`
	Changes int      `json:"changes"` // in the scan of the whole range; more than 1 when it is not monotone
	Scan    []Tried  `json:"scan"`
	Runs    int      `json:"runs"`
	Reason  string   `json:"reason,omitempty"`
}

// Tried is one value of the scan.
type Tried struct {
	Value   string `json:"value"`
	Holds   bool   `json:"holds"`
	Refused string `json:"refused,omitempty"` // why nothing is known

	at Amount
}

// says is what the statement is at a value.
func (t *Tried) says() string {
	if t.Refused != "" {
		return string(Refused)
	}
	return fmt.Sprint(t.Holds)
}

// change counts how often the known values of the scan change, and returns the
// two neighbours between which to look: a known one, and the next that is
// something else. It looks for the first change from below; beside a refused
// value there may be one too. Without any the status is settled.
func (e *Edge) change() (sides [2]Tried, ok bool) {
	first := -1 // of the known
	last := -1
	refused := 0
	for i := range e.Scan {
		if e.Scan[i].Refused != "" {
			refused++
			continue
		}
		if first < 0 {
			first = i
		} else if e.Scan[i].Holds != e.Scan[last].Holds {
			e.Changes++
		}
		last = i
	}
	switch {
	case first < 0:
		e.Status, e.Reason = Refused, "everywhere, as at "+e.Scan[0].Value+": "+e.Scan[0].Refused
		return sides, false
	case refused == 0 && e.Changes == 0:
		e.Status = Never
		if e.Scan[0].Holds {
			e.Status = Always
		}
		return sides, false
	}
	for i := first; i+1 < len(e.Scan); i++ {
		if e.Scan[i+1].Refused != "" || e.Scan[i+1].Holds != e.Scan[i].Holds {
			return [2]Tried{e.Scan[i], e.Scan[i+1]}, true
		}
	}
	return [2]Tried{e.Scan[first], e.Scan[first-1]}, true // all that is refused lies below
}

// settle makes the edge of two values near enough to each other.
func (e *Edge) settle(near, far Tried) {
	if far.Refused != "" {
		e.Status = Refused
		e.Reason = fmt.Sprintf("%s from %s up, refused from %s down: %s", near.says(), near.Value, far.Value, far.Refused)
		if far.at.Size > near.at.Size {
			e.Reason = fmt.Sprintf("%s up to %s, refused from %s up: %s", near.says(), near.Value, far.Value, far.Refused)
		}
		return
	}
	holds, fails := near, far
	if !near.Holds {
		holds, fails = far, near
	}
	e.Status = Below
	if holds.at.Size > fails.at.Size {
		e.Status = Above
	}
	e.True, e.False, e.Value = holds.Value, fails.Value, &holds.at.Size
}

// conclude sums the seeds up.
func (s *Search) conclude(edges []Edge) *Edges {
	base := s.source.base
	out := &Edges{
		Schema: Schema, Study: base.Name, Question: base.Question, Instrument: s.config.Instrument,
		Path: s.path, From: s.stretch.From.Text, To: s.stretch.To.Text, Log: s.stretch.Log, Unit: s.stretch.From.kind.unit(),
		Until: s.statement.text, Seeds: s.config.Seeds, Tolerance: s.config.Tolerance, Warnings: []string{},
	}
	for i, name := range s.compositions {
		c := CompositionEdge{Name: name, Edges: edges[i*s.config.Seeds : (i+1)*s.config.Seeds]}
		c.sum()
		out.Compositions = append(out.Compositions, c)
		out.warn(&c)
	}
	return out
}

// warn says of which edges there is something to beware.
func (e *Edges) warn(c *CompositionEdge) {
	// first returns the first seed of which something is so, and of how many it is.
	first := func(is func(*Edge) bool) (edge *Edge, n int) {
		for k := range c.Edges {
			if is(&c.Edges[k]) {
				if n++; n == 1 {
					edge = &c.Edges[k]
				}
			}
		}
		return edge, n
	}
	if edge, n := first(func(e *Edge) bool { return e.Changes > 1 }); n > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%s is not monotone on %d of %d seeds, and the edge is the first one from below. Seed %d: %s",
			c.Name, n, len(c.Edges), edge.Seed, edge.pattern()))
	}
	refused := func(t Tried) bool { return t.Refused != "" }
	if edge, n := first(func(e *Edge) bool { return e.Value != nil && slices.ContainsFunc(e.Scan, refused) }); n > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%s has its edge where the statement can be told; elsewhere the number is refused, on %d of %d seeds. Seed %d: %s",
			c.Name, n, len(c.Edges), edge.Seed, edge.pattern()))
	}
}

// pattern writes a scan: false at 50/s, true at 100/s to 300/s.
func (e *Edge) pattern() string {
	var parts []string
	for i := 0; i < len(e.Scan); {
		j := i
		for j+1 < len(e.Scan) && e.Scan[j+1].says() == e.Scan[i].says() {
			j++
		}
		part := fmt.Sprintf("%s at %s", e.Scan[i].says(), e.Scan[i].Value)
		if j > i {
			part += " to " + e.Scan[j].Value
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func (c *CompositionEdge) sum() {
	c.Status = c.Edges[0].Status
	scalars := make([]measure.Scalar, len(c.Edges))
	for i := range c.Edges {
		e := &c.Edges[i]
		if e.Status != c.Status {
			c.Status = Mixed
		}
		if e.Value == nil {
			scalars[i].Refused = string(e.Status)
			continue
		}
		scalars[i].Value = *e.Value
		c.Found++
		if c.Least == nil || *e.Value < *c.Least {
			c.Least = e.Value
		}
		if c.Most == nil || *e.Value > *c.Most {
			c.Most = e.Value
		}
	}
	switch c.Status {
	case Above, Below:
		spread := measure.SpreadOf(c.Name, scalars, true)
		c.Median, c.Mean, c.Low, c.High, c.Reason = spread.Median, spread.Mean, spread.Low, spread.High, spread.Reason
		if c.Reason == "" {
			c.Reason = spread.Flag
		}
	case Mixed:
		c.Reason = fmt.Sprintf("%d of %d seeds have an edge: without all of them there is no median", c.Found, len(c.Edges))
		if c.Found == len(c.Edges) {
			c.Reason = "on some seeds it is true above the edge, on others below"
		}
	case Refused:
		c.Reason = fmt.Sprintf("no edge is seen. Seed %d: %s", c.Edges[0].Seed, c.Edges[0].Reason)
	default:
		c.Reason = "no edge within the range; nothing is said of what lies beyond"
	}
}

// Conclusive reports whether every composition has an answer that its seeds
// agree on.
func (e *Edges) Conclusive() bool {
	for _, c := range e.Compositions {
		if c.Status == Mixed || c.Status == Refused {
			return false
		}
	}
	return true
}

// EdgesText writes what a search found for a terminal.
func EdgesText(w io.Writer, e *Edges) error {
	spacing := ""
	if e.Log {
		spacing = ", evenly in the logarithm"
	}
	if _, err := fmt.Fprintf(w, "%s\n%s, along %s from %s to %s%s\n%s, to %s, virtual clock\n\n", e.Study, e.Until, e.Path, e.From, e.To, spacing,
		plural(e.Seeds, "seed"), plain(100*e.Tolerance, 3)+" %"); err != nil {
		return err
	}
	main := &grid{heads: []string{"composition", "statement is", "edge", "least", "most", "mean [95 %]", "seeds"}, right: []bool{false, false, true, true, true, true, true}}
	each := &grid{heads: []string{"composition", "seed", "statement is", "true at", "false at", "runs"}, right: []bool{false, true, false, true, true, true}}
	value := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return plain(*v, 4) + e.Unit
	}
	var reasons []string
	for _, c := range e.Compositions {
		mean := value(c.Mean)
		if c.Low != nil && c.High != nil {
			mean += fmt.Sprintf(" [%s, %s]", value(c.Low), value(c.High))
		}
		main.rows = append(main.rows, []string{c.Name, string(c.Status), value(c.Median), value(c.Least), value(c.Most), mean, fmt.Sprintf("%d of %d", c.Found, len(c.Edges))})
		if c.Reason != "" {
			reasons = append(reasons, c.Name+": "+c.Reason)
		}
		said := map[string]bool{}
		for _, edge := range c.Edges {
			if edge.Status == Refused && edge.Reason != "" && !said[edge.Reason] && len(said) < 3 {
				said[edge.Reason] = true
				reasons = append(reasons, fmt.Sprintf("%s, seed %d: %s", c.Name, edge.Seed, edge.Reason))
			}
			row := []string{c.Name, fmt.Sprint(edge.Seed), string(edge.Status), edge.True, edge.False, fmt.Sprint(edge.Runs)}
			each.rows = append(each.rows, row)
		}
	}
	all := []section{{grid: main, sentences: append(reasons, e.Warnings...)}, {title: "Seed by seed", grid: each}}
	for _, s := range all {
		if s.title != "" {
			if _, err := fmt.Fprintf(w, "\n%s\n", strings.ToUpper(s.title)); err != nil {
				return err
			}
		}
		if err := s.text(w); err != nil {
			return err
		}
	}
	return nil
}
