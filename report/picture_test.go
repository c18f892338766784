package report

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"brunt/chart"
)

// soundSVG reads a chart as XML, and holds it to what a file of its own needs.
func soundSVG(svg string) error {
	d := xml.NewDecoder(strings.NewReader(svg))
	depth, roots, styles := 0, 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			switch name := token.Name.Local; {
			case depth == 0:
				if roots++; name != "svg" || token.Name.Space != "http://www.w3.org/2000/svg" {
					return errors.New("no SVG at its root")
				}
			case name == "style":
				styles++
			case name == "script" || name == "image" || name == "foreignObject" || name == "a":
				return errors.New(name + " in the chart")
			}
			depth++
		case xml.EndElement:
			depth--
		}
	}
	switch {
	case roots != 1 || styles != 1:
		return errors.New("not one picture with one style sheet")
	case !strings.Contains(svg, "prefers-color-scheme:dark"):
		return errors.New("no dark scheme")
	}
	return nil
}

// The charts are those of the page, each a file of its own.
func TestChartsAreThoseOfThePage(t *testing.T) {
	r := pageStudy(t)
	list, err := Charts(r)
	if err != nil {
		t.Fatal(err)
	}
	page := pageOf(t, r)
	var names []string
	for _, c := range list {
		if err := soundSVG(c.SVG); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
		if c.Title == "" {
			t.Errorf("%s has no title", c.Name)
		}
		// The picture of goodput is no part of the page.
		if bare := strings.Replace(c.SVG, "<style>"+chart.Style()+"</style>\n", "", 1); c.Name != "goodput" && !strings.Contains(page, strings.TrimSpace(bare)) {
			t.Errorf("%s is not on the page", c.Name)
		}
		if !strings.HasPrefix(c.Name, "request/") {
			names = append(names, c.Name)
		}
	}
	want := []string{
		"goodput", "timeline/alone", "timeline/chain", "completion/before", "completion/outage", "completion/errors", "completion/after",
		"providers/success-whole-run", "providers/success-during-the-outage", "providers/p50-of-the-time-to-any-outcome", "providers/p95-of-the-time-to-any-outcome",
		"providers/p99-of-the-time-to-any-outcome", "providers/calls-to-primary-while-it-is-dead", "providers/upstream-calls", "providers/cost", "herd", "recovery",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	requests := slices.ContainsFunc(list, func(c Chart) bool {
		return strings.HasPrefix(c.Name, "request/alone/") && strings.HasPrefix(c.Title, "Request ")
	})
	if !requests {
		t.Error("no single request is drawn")
	}
	again, err := Charts(r)
	if err != nil || !slices.Equal(list, again) {
		t.Errorf("not the same twice, %v", err)
	}
}

// A chart without its rows is the one of the page without them; a result that shows
// nothing has none.
func TestChartsOfLess(t *testing.T) {
	r := pageStudy(t)
	r.Closeups = nil
	list, err := Charts(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if strings.HasPrefix(c.Name, "completion/") || strings.HasPrefix(c.Name, "request/") {
			t.Errorf("%s without rows", c.Name)
		}
	}
	if len(list) < 4 {
		t.Errorf("%d charts", len(list))
	}
	if list, err := Charts(invalidResult(t)); list != nil || err != nil {
		t.Errorf("%d charts of a run that is not valid, %v", len(list), err)
	}
}

// Names from a study are text in a chart, and each chart has a name of its own.
func TestChartsHoldNastyText(t *testing.T) {
	fixed := pageStudy(t)
	for _, text := range []string{`</title><svg x="</svg>`, `</desc><style>x</style>`, "a\n\x1b[31mb", `" onload="x`, "\xff\x00", "", "]]>&amp;"} {
		r := *fixed
		r.Study, r.Closeups = text, nil
		r.Compositions = slices.Clone(fixed.Compositions)
		for i := range r.Compositions {
			c := &r.Compositions[i]
			c.Name = text // of both
			c.Phases = slices.Clone(c.Phases)
			c.Phases[0].Name = text
		}
		list, err := Charts(&r)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, c := range list {
			if err := soundSVG(c.SVG); err != nil {
				t.Errorf("%q: %v", c.Name, err)
			}
			if names[c.Name] || strings.ContainsFunc(c.Name+c.Title, unprintable) {
				t.Errorf("%q, %q", c.Name, c.Title)
			}
			names[c.Name] = true
		}
		if len(list) != 13 {
			t.Errorf("%q: %d charts, not 13", text, len(list))
		}
	}
}

// What is no chart of ours ends the search.
func TestFirstChart(t *testing.T) {
	for _, c := range []struct{ in, svg, rest string }{
		{`a<svg x>b</svg>c`, "<svg x>b</svg>\n", "c"},
		{`<svg x><svg y></svg></svg><svg z></svg>`, "<svg x><svg y></svg></svg>\n", "<svg z></svg>"}, // a picture within one
		{`a`, "", ""},
		{`<svg x><svg y></svg>`, "", ""}, // it does not end
	} {
		if svg, rest := firstChart(c.in); svg != c.svg || rest != c.rest {
			t.Errorf("%s: %q and %q", c.in, svg, rest)
		}
	}
}

func TestGoldenChart(t *testing.T) {
	r := pageStudy(t)
	list, err := Charts(r)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(c Chart) bool { return c.Name == "providers/upstream-calls" })
	golden(t, "upstream-calls.svg", []byte(list[i].SVG))
}
