package chart

import "strings"

// The colours of Okabe and Ito ("Color Universal Design", 2008), which people
// see apart whatever their colour vision, but for yellow, which is lost on
// white, and in another order: neighbours differ in lightness too. Black is
// white on dark; the darker two are lighter there.
var (
	colours     = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#111111", "#56B4E9"}
	coloursDark = []string{"#4AA3DF", "#E8743B", "#1DB58A", "#CC79A7", "#E69F00", "#F2F2F2", "#9AD4F5"}
)

// dashes and marks have other periods than the colours, so that a line is
// known by each of them, and all three repeat together after 210 lines.
var dashes = []string{"", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2"}

// style is the style sheet that every chart carries. It is the same in all,
// and bound to the class of the chart: charts can stand in one page.
var style = sheet()

func sheet() string {
	var b strings.Builder
	rule := func(selector, body string) { b.WriteString(".brunt-chart" + selector + "{" + body + "}") }
	rule("", `font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif`)
	rule(" .line", "fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round")
	rule(" .mark", "fill:currentColor;stroke-width:1")
	rule(" .band", "fill:currentColor;fill-opacity:.16")
	rule(" .faint", "fill-opacity:.55")
	rule(" .whisker", "fill:none;stroke-width:1.5")
	rule(" .name", "font-size:16px;font-weight:600")
	rule(" .small", "font-size:11px")
	rule(" .end", "text-anchor:end")
	rule(" .mid", "text-anchor:middle")
	rule(" .halo", "paint-order:stroke;stroke-width:3;stroke-linejoin:round")
	rule(" .grid", "fill:none;stroke-width:1")
	rule(" .axis", "fill:none;stroke-width:1")
	rule(" .limit", "fill:none;stroke-width:1.5;stroke-dasharray:4 3")
	// White and dark: what both say with other colours.
	scheme := func(paper, ink, soft, grid, axis, shade string, lines []string) {
		rule(" .paper", "fill:"+paper)
		rule(" text", "fill:"+ink)
		rule(" .soft", "fill:"+soft)
		rule(" .halo", "stroke:"+paper)
		rule(" .mark", "stroke:"+paper)
		rule(" .grid", "stroke:"+grid)
		rule(" .axis", "stroke:"+axis)
		rule(" .limit,.brunt-chart .whisker,.brunt-chart .chosen", "stroke:"+ink)
		rule(" .shade", "fill:"+shade)
		for i, c := range lines {
			rule(" .c"+string(rune('0'+i)), "color:"+c)
		}
		rule(" .plain", "color:"+axis)
	}
	scheme("#ffffff", "#1a1a1a", "#555555", "#e3e3e3", "#777777", "#f2f2f2", colours)
	b.WriteString("@media screen and (prefers-color-scheme:dark){")
	scheme("#16181d", "#ececec", "#b0b4bb", "#343841", "#8b909a", "#20242c", coloursDark)
	b.WriteString("}")
	return b.String()
}

// panelStyle is what panels need besides: areas, stripes, cells.
var panelStyle = panelSheet()

func panelSheet() string {
	var b strings.Builder
	rule := func(selector, body string) { b.WriteString(".brunt-chart" + selector + "{" + body + "}") }
	rule(" .area", "fill:currentColor;stroke:none")
	rule(" .pale", "fill-opacity:.22")
	rule(" .stripe", "fill:none;stroke:currentColor;stroke-width:1.4")
	rule(" .head", "font-size:12px;font-weight:600")
	rule(" .open", "fill:none;stroke:currentColor;stroke-width:2")
	rule(" .under", "stroke-width:4;stroke-opacity:.7")
	rule(" .fault", "fill:#D55E00;fill-opacity:.1")
	rule(" .spare", "visibility:hidden")
	rule(".zoomed .view *", "vector-effect:non-scaling-stroke") // strokes keep their width when scripts zoom in
	cells := func(paper string, at func(i int) int) {
		rule(" .under", "stroke:"+paper)
		for i := range shades {
			rule(" .h"+string(rune('0'+i)), "fill:"+hex(ramp[at(i)]))
		}
	}
	cells("#ffffff", func(i int) int { return i + 1 })
	b.WriteString("@media screen and (prefers-color-scheme:dark){")
	cells("#16181d", func(i int) int { return shades - 1 - i })
	rule(" .pale", "fill-opacity:.36")
	b.WriteString("}")
	return b.String()
}

// Style is the style sheet of all charts. A page with charts that were drawn
// inline needs it once.
func Style() string { return style + panelStyle }

// look is how the i-th line is told from the others.
type look int

func (l look) class() string { return "c" + string(rune('0'+int(l)%len(colours))) }

func (l look) dash() string { return dashes[int(l)%len(dashes)] }
