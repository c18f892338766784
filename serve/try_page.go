package serve

import (
	"errors"
	"net/http"
	"strconv"

	"brunt/report"
)

// try answers with the page of a study: a slider for each setting that can be
// turned, and a place for what comes of it.
func (s *Server) try(w http.ResponseWriter, r *http.Request) {
	f, err := s.source(r.URL.Query().Get("study"))
	if errors.Is(err, errNoStudy) {
		s.nothing(w)
		return
	}
	var knobs []*knob
	question := ""
	if err == nil {
		st, bad := f.read(nil)
		if err = bad; err == nil {
			question = st.Question
			if err = s.limits.affordable(st); err == nil {
				knobs, err = knobsOf(f, st)
			}
		}
	}
	if err != nil {
		s.refuse(w, http.StatusUnprocessableEntity, f.argument+" is not run here", err.Error())
		return
	}
	p := &page{}
	p.open("brunt · try " + f.argument)
	p.header("Try "+f.argument, question)
	p.raw("<noscript><p>This page needs its script.</p></noscript>\n<form data-study=\"")
	p.text(f.id)
	p.raw("\" class=\"try\">\n<div class=\"knobs\">\n")
	group := ""
	for i, k := range knobs {
		if k.group != group {
			if group != "" {
				p.raw("</fieldset>\n")
			}
			group = k.group
			p.raw("<fieldset>")
			p.element("legend", group)
		}
		p.knob(k, "k"+strconv.Itoa(i))
	}
	if group != "" {
		p.raw("</fieldset>\n")
	}
	p.raw("</div>\n<div class=\"outcome\">\n",
		"<p class=\"buttons\"><button type=\"submit\">Run</button> <button type=\"button\" id=\"reset\">As the study has it</button> ",
		"<button type=\"button\" id=\"keep\" disabled>Keep this run</button> <a id=\"alone\" target=\"_blank\" rel=\"noopener\" hidden>Open the report by itself</a></p>\n",
		"<p id=\"status\" role=\"status\"></p>\n<p class=\"soft\">The same in a terminal:</p>\n<pre id=\"command\" tabindex=\"0\">")
	p.text(report.CommandLine([]string{"brunt", "run", f.argument}))
	p.raw("</pre>\n<div id=\"numbers\" class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Headline numbers\"></div>\n</div>\n",
		"<div id=\"reports\"></div>\n</form>\n</main>\n")
	p.close()
	p.send(w, http.StatusOK)
}

// knob writes a slider, and a field for those who know the value.
func (p *page) knob(k *knob, id string) {
	p.raw(`<div class="knob" data-path="`)
	p.text(k.path)
	p.raw(`" data-now="`)
	p.text(k.now)
	p.raw(`" data-values="`)
	for i, text := range k.texts {
		if i > 0 {
			p.raw(" ")
		}
		p.text(text)
	}
	p.raw(`" title="`)
	p.text(k.about)
	p.raw("\">\n<label for=\"", id, "\">")
	p.text(k.label)
	p.raw("</label>\n<input type=\"range\" id=\"", id, "\" min=\"0\" max=\"", strconv.Itoa(len(k.texts)-1), "\" step=\"1\" value=\"", strconv.Itoa(k.at), "\" aria-valuetext=\"")
	p.text(k.now)
	p.raw("\">\n<input type=\"text\" value=\"")
	p.text(k.now)
	p.raw("\" size=\"8\" autocomplete=\"off\" spellcheck=\"false\" aria-label=\"")
	p.text(k.label + ", exactly")
	p.raw("\">\n</div>\n")
}
