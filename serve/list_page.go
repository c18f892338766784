package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"brunt/lab"
)

// headline is a number that stands for a run.
type headline struct {
	name, title, what string
	beyond            string // in place of a number above all that could be seen
	lessIsWorse       bool
	share             bool
}

// headlines are the numbers that are shown of each composition.
var headlines = []headline{
	{"availability", "success", "Requests that completed, of all offered in the whole run.", "", true, true},
	{"p95", "done p95", "The time by which 95 % of all offered requests had completed, from when they were meant to be sent; never, where too many did not.", "never", false, false},
	{"attempts/offered", "attempts per request", "What the dependency was hit with: attempts, by requests offered.", "", false, false},
	{"recovery", "recovery", "From the start of the recovery phase to the first window in which every request completed.", "not seen", false, false},
}

// show writes a number, or why there is none.
func (h *headline) show(n lab.Number) string {
	switch {
	case n.Refusal != "" && n.Beyond && h.beyond != "":
		return h.beyond
	case n.Refusal != "":
		return "refused"
	case n.Unit == "ms":
		return millis(n.Value)
	case h.share:
		return fmt.Sprintf("%.2f %%", 100*n.Value)
	}
	return fmt.Sprintf("%.3f", n.Value)
}

// millis writes milliseconds with three digits or so.
func millis(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.2f s", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0f ms", v)
	case v >= 10:
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.2f ms", v)
}

// worst is the number of the stack that did worst, for sorting. One that is
// refused is worse than any.
func (h *headline) worst(stacks []stack, i int) (at int, sort string) {
	badness := func(n lab.Number) float64 {
		switch {
		case n.Refusal != "" && n.Beyond:
			return 1e18
		case n.Refusal != "":
			return 1e17
		case h.lessIsWorse:
			return -n.Value
		}
		return n.Value
	}
	for k := range stacks {
		if badness(stacks[k].numbers[i]) > badness(stacks[at].numbers[i]) {
			at = k
		}
	}
	return at, fmt.Sprintf("%g", badness(stacks[at].numbers[i]))
}

// list answers with the first page.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all, err := s.find()
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, "No list", err.Error())
		return
	}
	p := &page{}
	p.open("brunt · runs")
	p.raw("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n<h1>brunt</h1>\n")
	p.element(`p class="lead"`, "The runs in the folder "+s.config.Folder+", and studies to try.")
	p.raw("</header>\n<main id=\"main\">\n")
	p.raw("<h2 id=\"runs\">Runs</h2>\n")
	p.table(all)
	p.raw("<h2 id=\"try\">Try a study</h2>\n<p>On the virtual clock, with other values. Nothing is written unless you keep it.</p>\n<ul class=\"studies\">\n")
	for _, f := range s.offered() {
		if slices.Contains(s.unfit(), f.id) {
			continue
		}
		p.raw("<li>")
		p.link("/try?study="+url.QueryEscape(f.id), f.id)
		p.raw(" <span>")
		p.text(f.question)
		p.raw("</span></li>\n")
	}
	p.raw("</ul>\n</main>\n")
	p.close()
	p.send(w, http.StatusOK)
}

// table writes the list of runs, as a form that compares two of them.
func (p *page) table(all listing) {
	if all.cut != "" {
		p.element("p", all.cut)
	}
	if all.sweeps > 0 {
		p.element("p", fmt.Sprintf("Sweeps are not shown here (%d): brunt sweep reports them.", all.sweeps))
	}
	if len(all.runs) == 0 {
		p.raw("<p>There are none yet. <code>brunt run outage</code> makes one.</p>\n")
		return
	}
	p.raw("<form action=\"/compare\" method=\"get\">\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"runs\">\n<table class=\"sortable\">\n<thead><tr>")
	for _, h := range []string{"run", "study", "when (UTC)", "state", "requests"} {
		p.head(h, "")
	}
	for _, h := range headlines {
		p.head(h.title, h.what)
	}
	p.raw("<th scope=\"col\" class=\"plain\">compare</th><th scope=\"col\" class=\"plain\">try</th></tr></thead>\n<tbody>\n")
	for _, one := range all.runs {
		p.row(one)
	}
	p.raw("</tbody>\n</table>\n</div>\n<p><button>Compare A with B</button></p>\n</form>\n<details><summary>What the columns mean</summary>\n<dl>\n")
	for _, h := range headlines {
		p.element("dt", h.title)
		p.element("dd", h.what)
	}
	p.raw("</dl>\n<p>Of several stacks a row shows the worst, of several repeats the first.</p>\n</details>\n")
}

func (p *page) head(title, what string) {
	p.raw(`<th scope="col"`)
	if what != "" {
		p.raw(` title="`)
		p.text(what)
		p.raw(`"`)
	}
	p.raw(">")
	p.text(title)
	p.raw("</th>")
}

// cell writes a cell, with what it is sorted by.
func (p *page) cell(sort, title, s string) {
	p.raw("<td data-sort=\"")
	p.text(sort)
	if title != "" {
		p.raw(`" title="`)
		p.text(title)
	}
	p.raw(`">`)
	p.text(s)
	p.raw("</td>")
}

func (p *page) row(one *summary) {
	p.raw("<tr><th scope=\"row\">")
	ended := one.state != "not ended" && one.state != "unreadable"
	query := url.QueryEscape(one.path)
	name := one.path
	if name == "." {
		name = "this folder"
	}
	if ended {
		p.link("/report?run="+query, name)
	} else {
		p.text(name)
	}
	p.raw("</th>")
	p.cell(one.study, one.question, one.study)
	p.cell(one.started, "", when(one.started))
	p.raw(`<td class="`)
	if one.state == "valid" {
		p.raw("good")
	} else {
		p.raw("bad")
	}
	p.raw(`">`)
	p.text(one.state)
	p.raw("</td>")
	if !one.good {
		p.raw(fmt.Sprintf(`<td colspan="%d" class="words">`, 1+len(headlines)))
		p.text(one.words)
		p.raw("</td>")
	} else {
		p.cell(fmt.Sprint(one.requests), "", thousands(one.requests))
		for i := range headlines {
			p.numbers(&headlines[i], one.stacks, i)
		}
	}
	if one.good && one.state != "aborted" && one.state != "killed" {
		p.raw(`<td class="pick">`)
		for _, side := range []string{"a", "b"} {
			p.raw(`<label><input type="radio" name="`, side, `" value="`)
			p.text(one.path)
			p.raw(`" required> `, strings.ToUpper(side), "<span class=\"hidden\"> is ")
			p.text(name)
			p.raw("</span></label> ")
		}
		p.raw("</td>")
	} else {
		p.raw("<td></td>")
	}
	p.raw("<td>")
	if ended {
		p.raw("<a href=\"")
		p.text("/try?study=" + url.QueryEscape("run:"+one.path))
		p.raw("\">try<span class=\"hidden\"> the study of ")
		p.text(name)
		p.raw("</span></a>")
	}
	p.raw("</td></tr>\n")
}

// numbers writes one headline of all stacks of a run: the worst, and whose it is.
func (p *page) numbers(h *headline, stacks []stack, i int) {
	at, sort := h.worst(stacks, i)
	var all []string
	for _, k := range stacks {
		all = append(all, k.name+": "+h.show(k.numbers[i]))
	}
	p.cell(sort, strings.Join(all, "\n"), h.show(stacks[at].numbers[i]))
}

// when writes an instant as people read it.
func when(started string) string {
	at, err := time.Parse(time.RFC3339, started)
	if err != nil {
		return started
	}
	return at.UTC().Format("2006-01-02 15:04:05")
}
