package sweep

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
)

// ChartFolder holds the charts, below the folder of the sweep.
const ChartFolder = "charts"

// mostDots is about how many points of a sweep a scatter plot shows.
const mostDots = 5000

// drawing gathers what the charts show. One setting alone, or a grid of two,
// is drawn point by point; of more, each setting's main effect.
type drawing struct {
	plan       *Plan
	quantities []quantity
	goals      []Goal
	points     [][][]chart.Point // by measure, composition and point; nil for main effects
	groups     [][][][]tally     // by measure, composition, axis and group: point means
	sizes      [][]tally         // by axis and group: where its points lie
	dots       [][]chart.Dot     // by composition
}

func newDrawing(plan *Plan, quantities []quantity, goals []Goal) *drawing {
	d := &drawing{plan: plan, quantities: quantities, goals: goals, dots: make([][]chart.Dot, len(plan.Compositions))}
	if len(plan.axes) == 1 || len(plan.axes) == 2 && plan.Design == Grid {
		d.points = make([][][]chart.Point, len(quantities))
		for k := range d.points {
			d.points[k] = make([][]chart.Point, len(plan.Compositions))
		}
		return d
	}
	for k := range plan.axes {
		d.sizes = append(d.sizes, make([]tally, plan.groups(k)))
	}
	d.groups = make([][][][]tally, len(quantities))
	for k := range d.groups {
		d.groups[k] = make([][][]tally, len(plan.Compositions))
		for i := range d.groups[k] {
			for a := range plan.axes {
				d.groups[k][i] = append(d.groups[k][i], make([]tally, plan.groups(a)))
			}
		}
	}
	return d
}

// add takes a finished point.
func (d *drawing) add(f *Finished) {
	at := d.plan.Point(f.Point)
	for a := range d.sizes {
		d.sizes[a][at.Groups[a]].add(at.Settings[a].Size)
	}
	stride := max(1, d.plan.Points*len(d.plan.Compositions)/mostDots)
	for i, c := range f.Compositions {
		means := make([]float64, len(c.Numbers))
		for k := range c.Numbers {
			s := c.Numbers[k].spread(d.plan.Measures[k])
			means[k] = orNaN(s.Mean)
			if d.points != nil {
				d.points[k][i] = append(d.points[k][i], pointOf(at.Settings[0].Size, &s))
			} else if s.Mean != nil {
				for a, g := range at.Groups {
					d.groups[k][i][a][g].add(*s.Mean)
				}
			}
		}
		if len(d.goals) > 0 && f.Point%stride == 0 {
			x, y := slices.Index(d.plan.Measures, d.goals[1].Measure), slices.Index(d.plan.Measures, d.goals[0].Measure)
			d.dots[i] = append(d.dots[i], chart.Dot{X: means[x], Y: means[y]})
		}
	}
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func pointOf(x float64, s *measure.Spread) chart.Point {
	return chart.Point{X: x, Y: orNaN(s.Mean), Low: orNaN(s.Low), High: orNaN(s.High)}
}

// write draws the charts into the folder and returns their files, in order.
func (d *drawing) write(folder *lab.Folder, r *Result) ([]string, error) {
	if err := os.MkdirAll(filepath.Join(folder.Path(), ChartFolder), 0o777); err != nil {
		return nil, fmt.Errorf("make the folder of the charts: %w", err)
	}
	files := []string{}
	var err error
	put := func(name, svg string) {
		if err != nil {
			return
		}
		base := ChartFolder + "/" + fileName(name)
		file := base + ".svg"
		for n := 2; slices.Contains(files, file); n++ {
			file = fmt.Sprintf("%s-%d.svg", base, n)
		}
		files = append(files, file)
		err = folder.Write(filepath.FromSlash(file), func(w io.Writer) error {
			_, err := io.WriteString(w, svg)
			return err
		})
	}
	for k := range d.quantities {
		switch {
		case d.points == nil:
			for a := range d.plan.axes {
				put(d.quantities[k].text+" "+d.plan.shortNames()[a], d.effect(k, a))
			}
		case len(d.plan.axes) == 1:
			put(d.quantities[k].text, d.line(k))
		default:
			for i, name := range d.plan.Compositions {
				put(d.quantities[k].text+" "+name, d.heat(k, i))
			}
		}
		if svg, ok := d.bars(k, r); ok {
			put(d.quantities[k].text+" importance", svg)
		}
	}
	if r.Pareto != nil {
		put("pareto", d.scatter(r.Pareto))
	}
	return files, err
}

// fileName makes a name fit for any file system.
func fileName(name string) string {
	mapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, name)
	const most = 100
	return strings.TrimLeft(mapped[:min(len(mapped), most)], ".")
}

// along is the chart axis of a setting.
func (d *drawing) along(a int) chart.Axis {
	axis := &d.plan.axes[a]
	unit, _ := axis.numeric()
	return chart.Axis{Title: d.plan.shortNames()[a], Unit: chart.Unit(unit), Log: axis.Range != nil && axis.Range.Log}
}

func (d *drawing) of(k int) chart.Axis {
	return chart.Axis{Title: d.quantities[k].text, Unit: chart.Unit(d.quantities[k].unit)}
}

// interval says what the bands are.
func (d *drawing) interval() string {
	if d.plan.Seeds < 2 {
		return ""
	}
	return fmt.Sprintf("95 %% interval of the mean over %d seeds", d.plan.Seeds)
}

// line draws a measure over the only setting, a line for each composition.
func (d *drawing) line(k int) string {
	if _, ok := d.plan.axes[0].numeric(); !ok {
		cells := make([][]float64, len(d.plan.Compositions))
		for i, points := range d.points[k] {
			for _, p := range points {
				cells[i] = append(cells[i], p.Y)
			}
		}
		return d.byWord(k, 0, cells, "")
	}
	c := chart.Lines{Title: d.quantities[k].text, X: d.along(0), Y: d.of(k), Interval: d.interval()}
	for i, name := range d.plan.Compositions {
		points := slices.Clone(d.points[k][i])
		slices.SortStableFunc(points, func(a, b chart.Point) int { return cmpFloat(a.X, b.X) })
		c.Series = append(c.Series, chart.Series{Name: name, Points: points})
	}
	return c.SVG()
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// byWord draws a measure over a setting whose values have no size: a row for
// each composition.
func (d *drawing) byWord(k, a int, cells [][]float64, note string) string {
	c := chart.HeatMap{
		Title: d.quantities[k].text, X: d.levels(a), Y: chart.Levels{Title: "composition", Names: d.plan.Compositions},
		Value: d.of(k), Cells: cells, Note: note,
	}
	return c.SVG()
}

// levels are the values of a setting as rows or columns.
func (d *drawing) levels(a int) chart.Levels {
	axis := &d.plan.axes[a]
	unit, numeric := axis.numeric()
	l := chart.Levels{Title: d.plan.shortNames()[a], Unit: chart.Unit(unit)}
	for _, v := range axis.Levels {
		if numeric {
			l.Numbers = append(l.Numbers, v.Size)
			continue
		}
		l.Names = append(l.Names, v.Text)
	}
	return l
}

// heat draws a measure of one composition over a grid of two settings: the
// first upwards, the second to the right.
func (d *drawing) heat(k, i int) string {
	columns := len(d.plan.axes[1].Levels)
	c := chart.HeatMap{Title: d.quantities[k].text + " of " + d.plan.Compositions[i], X: d.levels(1), Y: d.levels(0), Value: d.of(k)}
	var row []float64
	for _, p := range d.points[k][i] {
		if row = append(row, p.Y); len(row) == columns {
			c.Cells = append(c.Cells, row)
			row = nil
		}
	}
	return c.SVG()
}

// effect draws the main effect of a setting: the mean of the points that share
// its value, whatever the other settings are.
func (d *drawing) effect(k, a int) string {
	const note = "Main effect: each mean is over all points that share the value, whatever the other settings are."
	if _, ok := d.plan.axes[a].numeric(); !ok {
		cells := make([][]float64, len(d.plan.Compositions))
		for i := range cells {
			for _, g := range d.groups[k][i][a] {
				cells[i] = append(cells[i], g.meanOrNaN())
			}
		}
		return d.byWord(k, a, cells, note)
	}
	c := chart.Lines{Title: d.quantities[k].text + " by " + d.plan.shortNames()[a], X: d.along(a), Y: d.of(k), Note: note}
	for i, name := range d.plan.Compositions {
		s := chart.Series{Name: name}
		for g := range d.groups[k][i][a] {
			s.Points = append(s.Points, chart.Point{X: d.sizes[a][g].meanOrNaN(), Y: d.groups[k][i][a][g].meanOrNaN(), Low: math.NaN(), High: math.NaN()})
		}
		slices.SortStableFunc(s.Points, func(a, b chart.Point) int { return cmpFloat(a.X, b.X) })
		c.Series = append(c.Series, s)
	}
	return c.SVG()
}

func (t *tally) meanOrNaN() float64 {
	if t.n == 0 {
		return math.NaN()
	}
	return t.mean
}

// bars draws which setting matters most to a measure, with the highest of the
// noise floors.
func (d *drawing) bars(k int, r *Result) (svg string, ok bool) {
	if len(d.plan.axes) < 2 {
		return "", false
	}
	c := chart.Bars{
		Title: "What " + d.quantities[k].text + " hangs on",
		Value: chart.Axis{Title: "share of the variance of the point means that a setting explains alone", Unit: "%"},
	}
	names := d.plan.shortNames()
	for _, s := range r.Summaries {
		if s.Measure != d.quantities[k].text || s.Importance == nil {
			continue
		}
		for a, e := range s.Importance.Settings {
			c.Bars = append(c.Bars, chart.Bar{Name: s.Composition + ": " + names[a], Value: math.Round(1000*e.Share) / 10})
			if e.Floor != nil {
				c.Limit.Name = "noise floor"
				c.Limit.At = max(c.Limit.At, 100**e.Floor)
			}
		}
	}
	return c.SVG(), len(c.Bars) > 0
}

// scatter draws the first two goals against each other, with the front.
func (d *drawing) scatter(f *Front) string {
	better := func(g Goal) chart.Direction {
		if g.Better == "max" {
			return chart.Higher
		}
		return chart.Lower
	}
	axis := func(g Goal) chart.Axis {
		a := d.of(slices.Index(d.plan.Measures, g.Measure))
		a.Better = better(g)
		return a
	}
	c := chart.Scatter{Title: "Pareto front of " + f.Goals[0].Measure + " and " + f.Goals[1].Measure, X: axis(f.Goals[1]), Y: axis(f.Goals[0])}
	if len(f.Goals) > 2 {
		c.Note = "The front is one of more measures, of which two are drawn."
	}
	for i, name := range d.plan.Compositions {
		g := chart.Group{Name: name}
		on := map[[2]float64]bool{} // each place is drawn once
		for _, m := range f.Members {
			on[[2]float64{m.Means[1], m.Means[0]}] = m.Composition == name
		}
		for _, dot := range d.dots[i] {
			if !on[[2]float64{dot.X, dot.Y}] {
				g.Dots = append(g.Dots, dot)
			}
		}
		for _, m := range f.Members {
			if m.Composition == name {
				g.Dots = append(g.Dots, chart.Dot{X: m.Means[1], Y: m.Means[0], Name: m.label, Front: true})
			}
		}
		c.Groups = append(c.Groups, g)
	}
	return c.SVG()
}
