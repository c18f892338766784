package e2e

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
)

// written is a text with the colours that it is read by.
type written struct {
	Text  string
	Ink   [4]float64 // red, green, blue of 255, and opacity
	Paper [4]float64
	Where string
}

// luminance is that of WCAG 2.1.
func luminance(c [4]float64) float64 {
	sum := 0.
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

// contrast is how far a text stands out, by WCAG 2.1 (1.4.3); one that is not opaque is
// mixed with what it is written on.
func (w *written) contrast() float64 {
	ink := w.Ink
	for i := range 3 {
		ink[i] = w.Ink[i]*w.Ink[3] + w.Paper[i]*(1-w.Ink[3])
	}
	a, b := luminance(ink), luminance(w.Paper)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// All text that is seen stands out from what it is written on, in light and in dark,
// computed from what the browser makes of the style. The two differ.
func TestContrast(t *testing.T) {
	for _, r := range []*run{runOf(t, "outage"), invalidRun(t)} {
		papers := map[string][4]float64{}
		for _, scheme := range []string{"light", "dark"} {
			v := wide
			v.scheme = scheme
			p := open(t, r.folder, v)
			js[any](p, `for (const d of document.querySelectorAll("details")) d.open = true; null`)
			list := js[[]written](p, "reader.texts()")
			least, judged := math.Inf(1), 0
			for i := range list {
				c := list[i].contrast()
				least = min(least, c)
				if judged++; c < 4.5 {
					t.Errorf("%s: %q in %s has a contrast of %.2f", scheme, list[i].Text, list[i].Where, c)
				}
			}
			if judged < 5 {
				t.Errorf("%s: only %d texts", scheme, judged)
			}
			t.Logf("%s: %d kinds of text, the least contrast is %.2f", scheme, judged, least)
			papers[scheme] = js[[4]float64](p, "reader.colour(getComputedStyle(document.body).backgroundColor)")
			if r.result.Valid { // charts follow
				papers[scheme+" chart"] = js[[4]float64](p, `reader.colour(getComputedStyle(document.querySelector("rect.paper")).fill)`)
			}
		}
		if luminance(papers["light"]) < 0.8 || luminance(papers["dark"]) > 0.1 || papers["light chart"] == papers["dark chart"] && r.result.Valid {
			t.Errorf("papers are %v", papers)
		}
	}
}

// Everything that can be used or looked at has a name, and each control is reached by
// the tab key, in the order of the page.
func TestNamesAndKeyboard(t *testing.T) {
	for _, study := range []string{"outage", "provider-failure"} {
		p := open(t, runOf(t, study).folder, wide)
		for _, what := range js[[]string](p, "reader.nameless()") {
			t.Errorf("%s: no name: %s", study, what)
		}
		if n := js[int](p, `document.querySelectorAll('[tabindex]').length - document.querySelectorAll('[tabindex="0"],[tabindex="-1"]').length`); n != 0 {
			t.Errorf("%s: %d elements have an order of their own", study, n)
		}
		if n := js[int](p, `document.querySelectorAll('figure[data-step] svg[data-plot]:not([tabindex="0"])').length`); n != 0 {
			t.Errorf("%s: %d charts with numbers that keys cannot reach", study, n)
		}
		want := js[[]string](p, "reader.focusable()")
		if len(want) < 30 {
			t.Errorf("%s: only %d elements can have the focus", study, len(want))
		}
		const most = 60 // a part tells
		var got []string
		for range min(most, len(want)) {
			p.keys(kb.Tab)
			got = append(got, js[string](p, "reader.sign(document.activeElement)"))
		}
		if !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%s: tab goes\n%s\nthe page has\n%s", study, strings.Join(got, "\n"), strings.Join(want[:len(got)], "\n"))
		}
		if js[string](p, `getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			t.Errorf("%s: one does not see where the focus is", study)
		}
		for _, what := range js[[]string](p, "reader.outline()") {
			t.Errorf("%s: %s", study, what)
		}
	}
}

// On a phone and on a screen nothing is wider than the window but what scrolls in a
// frame of its own, and controls can be hit.
func TestWidths(t *testing.T) {
	for _, study := range []string{"outage", "provider-failure", "stampede"} {
		for _, v := range []view{wide, {width: 390, height: 844}} {
			p := open(t, runOf(t, study).folder, v)
			if got := js[int64](p, "document.documentElement.scrollWidth"); got > v.width {
				t.Errorf("%s at %d is %d wide", study, v.width, got)
			}
			for _, what := range js[[]string](p, "reader.small()") {
				t.Errorf("%s at %d: %s", study, v.width, what)
			}
			for _, what := range js[[]string](p, "reader.overlaps()") {
				t.Errorf("%s at %d: %s", study, v.width, what)
			}
		}
	}
}

// On paper nothing is cut: no part is wider than the sheet, colours are light whatever
// the reader's scheme is, and controls are gone. The watermark of a run that is not
// valid is there.
func TestPrint(t *testing.T) {
	const sheet = 720 // pixels between the margins of a page of A4
	p := open(t, runOf(t, "outage").folder, view{width: sheet, height: 1000, media: "print", scheme: "dark"})
	for _, what := range js[[]string](p, "reader.cut("+fmt.Sprint(sheet)+")") {
		t.Errorf("cut on paper: %s", what)
	}
	if l := luminance(js[[4]float64](p, "reader.colour(getComputedStyle(document.body).backgroundColor)")); l < 0.9 {
		t.Errorf("the paper has a luminance of %.2f", l)
	}
	for _, gone := range []string{"nav", ".zoom", ".find", ".choose"} {
		if js[bool](p, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, gone)) {
			t.Errorf("%s is printed", gone)
		}
	}
	doc := call(p, page.PrintToPDF, page.PrintToPDFParams{})
	if n := bytes.Count(doc.Data, []byte("/Type /Page\n")) + bytes.Count(doc.Data, []byte("/Type /Page ")) + bytes.Count(doc.Data, []byte("/Type /Page/")); n < 5 || n > 40 {
		t.Errorf("it is %d pages on paper", n)
	}
	p = open(t, invalidRun(t).folder, view{width: sheet, height: 1000, media: "print"})
	if !js[bool](p, `(() => { const w = document.querySelector(".watermark"); return w.checkVisibility({checkOpacity: true}) && w.textContent === "INVALID RUN" && w.getBoundingClientRect().width > 300 })()`) {
		t.Error("the watermark is not printed")
	}
	if n := js[int](p, `document.querySelectorAll("svg").length`); n != 0 {
		t.Errorf("an invalid run shows %d charts", n)
	}
	p.quiet()
}

// Without scripts all that matters is there: charts, tables, pairs and requests in
// folds, numbers of charts; and no control that does nothing.
func TestWithoutScript(t *testing.T) {
	v := wide
	v.plain = true
	p := open(t, runOf(t, "outage").folder, v)
	for what, least := range map[string]int{"svg.brunt-chart": 9, "table.data": 10, ".pair > summary": 6, ".traced > summary": 4, "figure details table": 5, "th[title]": 10} {
		if n := js[int](p, fmt.Sprintf(`document.querySelectorAll(%q).length`, what)); n < least {
			t.Errorf("%d of %s, want %d or more", n, what, least)
		}
	}
	if n := js[int](p, `document.querySelectorAll("button, input, select").length`); n != 0 {
		t.Errorf("%d controls that do nothing", n)
	}
	p.quiet()
}
