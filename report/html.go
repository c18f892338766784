package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"brunt/lab"
)

// HTML writes report.html: the whole report as one page that needs nothing from
// outside and asks for nothing. Its charts show what the result holds and, where
// rows were kept, what the closeups of the result hold. Everything that matters
// is there without its script, which sorts tables, tells numbers under the
// pointer, zooms in, finds requests and chooses what to compare. A run that is not valid shows why, and nothing else. The page is a
// function of the result and the environment; env may be nil.
func HTML(w io.Writer, r *lab.Result, env *lab.Environment) error {
	c, err := readConfig(r)
	if err != nil {
		return err
	}
	d := assemble(r, c)
	class := "valid"
	if !r.Valid {
		class = "invalid"
	}
	body := &page{}
	body.Grow(512 << 10) // most pages are smaller
	if r.Valid {
		body.results(r, c, env, d)
	} else {
		body.validity(r, c, d)
	}
	head, foot := &page{}, &page{}
	head.open(d.Title+" · brunt", class)
	head.raw("<a class=\"skip\" href=\"#main\">Skip to the report</a>\n")
	if !r.Valid {
		head.raw("<div class=\"watermark\" aria-hidden=\"true\">INVALID RUN</div>\n")
	}
	head.header(d)
	head.contents(body.parts)
	head.raw("<main id=\"main\">\n")
	foot.raw("</main>\n<footer>")
	foot.text("Made by brunt " + r.Instrument.Version + ". This page is one file; it loads nothing and sends nothing.")
	foot.raw("</footer>\n")
	foot.close()
	for _, p := range []*page{head, body, foot} {
		if _, err := w.Write(p.Bytes()); err != nil {
			return fmt.Errorf("writing the page of study %q: %w", r.Study, err)
		}
	}
	return nil
}

func (p *page) header(d *document) {
	p.raw("<header>\n")
	p.element("h1", d.Title)
	if d.Question != "" {
		p.element(`p class="question"`, d.Question)
	}
	p.raw("<ul class=\"facts\">\n")
	for _, f := range d.Facts {
		p.element("li"+toned(f.Tone), f.Text)
	}
	p.raw("</ul>\n</header>\n")
}

// toned is the class of a tone.
func toned(t Tone) string {
	switch t {
	case Good:
		return ` class="good"`
	case Bad:
		return ` class="bad"`
	}
	return ""
}

func (p *page) contents(parts []part) {
	if len(parts) < 3 {
		return
	}
	p.raw("<nav aria-label=\"Contents\"><ul>\n")
	for _, x := range parts {
		p.raw(`<li><a href="#`, x.id, `">`)
		p.text(x.title)
		p.raw("</a></li>\n")
	}
	p.raw("</ul></nav>\n")
}

// results writes everything that a valid run shows.
func (p *page) results(r *lab.Result, c *config, env *lab.Environment, d *document) {
	if len(r.Findings) > 0 {
		p.heading("findings", "Findings")
		p.list(`ul class="findings"`, r.Findings)
	}
	p.cards(r, c)
	p.validity(r, c, d)
	p.timelines(r, c)
	p.incidence(r, c)
	p.providerBars(r, c)
	p.herdChart(r, c)
	p.recoveryCharts(r, c)
	p.pairs(r, c)
	p.tables(d)
	p.drillDown(r)
	p.about(r, c, env)
}

// elsewhere are sections of the document that stand in a place of their own.
var elsewhere = []string{"Findings", "Gates", "Expectations", "Why there is no result", completionTitle, againstTitle}

// tables writes the sections of the document that are left, in its order.
func (p *page) tables(d *document) {
	p.heading("tables", "Tables")
	for i := range d.Sections {
		if s := &d.Sections[i]; !slices.Contains(elsewhere, s.Title) {
			p.section(s, "table-"+strconv.Itoa(i))
		}
	}
}

func (p *page) section(s *section, id string) {
	p.element(`h3 id="`+id+`"`, s.Title)
	for _, l := range s.Lead {
		p.element("p", l)
	}
	if len(s.Items) > 0 {
		p.list("ul", s.Items)
	}
	if s.Table != nil {
		p.table(s.Table, s.Title)
	}
	for i := range s.Tables {
		p.table(&s.Tables[i], "")
	}
}

func (p *page) list(open string, items []string) {
	p.raw("<", open, ">\n")
	for _, s := range items {
		p.element("li", s)
	}
	p.raw("</ul>\n")
}

// about writes what the run was, where it ran, what it cannot tell, and how to
// run it again.
func (p *page) about(r *lab.Result, c *config, env *lab.Environment) {
	for _, s := range []section{configuration(r, c), limits(r), environment(r, env)} {
		id := map[string]string{"Configuration": "configuration", "Limits of the method": "limits", "Environment": "environment"}[s.Title]
		p.heading(id, s.Title)
		p.list("ul", s.Items)
	}
	p.heading("reproduce", "Reproduce")
	p.element("p", "In the folder of this report:")
	p.raw("<pre>brunt run study.yaml</pre>\n")
}
