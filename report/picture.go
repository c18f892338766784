package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
)

// Chart is one picture of a result, by a name such as timeline/retry.
type Chart struct {
	Name  string
	Title string
	SVG   string // a file of its own: its styles are in it
}

// Charts draws every chart of report.html, and the [Picture] of what callers got, each
// as an SVG that stands alone, in light and in dark. A result that is not valid has
// none, and one whose rows were not kept lacks what needs them, as its page does.
func Charts(r *lab.Result) ([]Chart, error) {
	if !r.Valid || len(r.Compositions) == 0 {
		return nil, nil
	}
	c, err := readConfig(r)
	if err != nil {
		return nil, err
	}
	all := &charts{taken: map[string]bool{}}
	all.add("goodput", Picture(r))
	all.drawn(func(p *page) { p.timelines(r, c) }, func(title string) string { return "timeline/" + title })
	all.drawn(func(p *page) { p.incidence(r, c) }, func(title string) string { return "completion/" + strings.TrimPrefix(title, "Phase ") })
	all.drawn(func(p *page) { p.providerBars(r, c) }, func(title string) string { return "providers/" + dashed(title) })
	all.drawn(func(p *page) { p.herdChart(r, c) }, func(string) string { return "herd" })
	all.drawn(func(p *page) { p.recoveryCharts(r, c) }, func(string) string { return "recovery" })
	for i := range drawn(r) {
		if closeup(r, i) == nil {
			continue
		}
		one := *r
		one.Compositions, one.Closeups = r.Compositions[i:i+1], r.Closeups[i:i+1]
		all.drawn(func(p *page) { p.drillDown(&one) }, func(title string) string {
			number, _, _ := strings.Cut(strings.TrimPrefix(title, "Request "), ", ")
			return "request/" + one.Compositions[0].Name + "/" + strings.ReplaceAll(number, ",", "")
		})
	}
	return all.list, nil
}

// charts collects the charts of a result.
type charts struct {
	list  []Chart
	taken map[string]bool
}

// add adds a chart under a name, with a number behind it where another has it.
func (c *charts) add(name, svg string) {
	title, _, _ := strings.Cut(svg, "</title>")
	_, title, _ = strings.Cut(title, "<title>")
	if !strings.Contains(svg, "</desc>\n<style>") {
		// Text is escaped, so what ends the description is its own end.
		svg = strings.Replace(svg, "</desc>\n", "</desc>\n<style>"+chart.Style()+"</style>\n", 1)
	}
	unique := clean(name)
	for n := 2; c.taken[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", clean(name), n)
	}
	c.taken[unique] = true
	c.list = append(c.list, Chart{unique, clean(unescape.Replace(title)), svg})
}

// drawn adds what a part of the page draws, named by the titles of its charts: so a
// chart alone is the one on the page.
func (c *charts) drawn(write func(*page), name func(title string) string) {
	p := &page{}
	write(p)
	for rest := p.String(); ; {
		var svg string
		if svg, rest = firstChart(rest); svg == "" {
			return
		}
		title, _, _ := strings.Cut(svg, "</title>")
		_, title, _ = strings.Cut(title, "<title>")
		c.add(name(unescape.Replace(title)), svg)
	}
}

// unescape takes back what charts make of a text, which has no control codes.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&")

// firstChart cuts the first chart out of a page, with the pictures that are in it.
func firstChart(s string) (svg, rest string) {
	const begin, end = "<svg ", "</svg>"
	_, s, found := strings.Cut(s, begin)
	if !found {
		return "", ""
	}
	depth := 1
	for at := 0; ; {
		inner, close := strings.Index(s[at:], begin), strings.Index(s[at:], end)
		switch {
		case close < 0:
			return "", "" // no chart of ours
		case inner >= 0 && inner < close:
			depth++
			at += inner + len(begin)
		default:
			at += close + len(end)
			if depth--; depth == 0 {
				return begin + s[:at] + "\n", s[at:]
			}
		}
	}
}

// dashed is a title as a name: in small letters, with dashes between its words.
func dashed(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words, "-")
}

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
