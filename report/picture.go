package report

import (
	"math"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
)

// mostPictured is how many points a line of a picture has at most.
const mostPictured = 150

// Picture draws what callers got over time, as an SVG: of the requests of each
// stretch, the share that was good, in each composition. It is empty for a
// result without compositions.
func Picture(r *lab.Result) string {
	if !r.Valid || len(r.Compositions) == 0 {
		return ""
	}
	what := "Completed, of the requests offered"
	if r.Compositions[0].Timeline.Good != nil {
		what = "Completed within the SLO, of the requests offered"
	}
	c := chart.Lines{
		Title: r.Study + ": what callers get",
		X:     chart.Axis{Title: "Intended instant", Unit: chart.Milliseconds},
		Y:     chart.Axis{Title: what, Unit: "%", Include: []float64{0, 100}},
	}
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		c.Series = append(c.Series, chart.Series{Name: comp.Name, Points: goodShares(&comp.Timeline)})
	}
	for i := range r.Compositions[0].Phases {
		p := &r.Compositions[0].Phases[i]
		c.Spans = append(c.Spans, chart.Span{From: inMillis(p.From), To: inMillis(p.To), Name: p.Name})
	}
	return c.SVG()
}

// goodShares sums steps of a timeline up into points. A stretch without requests is
// a gap.
func goodShares(t *measure.Timeline) []chart.Point {
	good := t.Completed
	if t.Good != nil {
		good = t.Good
	}
	wide := (len(t.Offered) + mostPictured - 1) / mostPictured
	var points []chart.Point
	for from := 0; from < len(t.Offered); from += max(wide, 1) {
		to := min(from+wide, len(t.Offered))
		var k, n int64
		for i := from; i < to; i++ {
			k += good[i]
			n += t.Offered[i]
		}
		share := math.NaN()
		if n > 0 {
			share = 100 * float64(k) / float64(n)
		}
		points = append(points, chart.Point{X: inMillis(t.Step) * float64(from+to) / 2, Y: share})
	}
	return points
}
