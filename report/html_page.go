package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strconv"
	"strings"

	"brunt/chart"
)

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

// page writes HTML. Text that comes from a study or a target goes through text
// and through nothing else.
type page struct {
	bytes.Buffer
	parts []part // of the table of contents
}

// part is a heading that the table of contents names.
type part struct{ id, title string }

func (p *page) raw(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// text writes a text that means itself: as one line, without control codes.
func (p *page) text(s string) {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '<' || c == '>' || c == '&' || c == '"' || c == '\'' {
			plain = false
			break
		}
	}
	if plain {
		p.WriteString(s)
		return
	}
	for _, r := range clean(s) {
		switch r {
		case '<':
			p.WriteString("&lt;")
		case '>':
			p.WriteString("&gt;")
		case '&':
			p.WriteString("&amp;")
		case '"':
			p.WriteString("&#34;")
		case '\'':
			p.WriteString("&#39;")
		default:
			p.WriteRune(r)
		}
	}
}

// element writes an element with a text in it. Attributes are ours.
func (p *page) element(open, s string) {
	name, _, _ := strings.Cut(open, " ")
	p.raw("<", open, ">")
	p.text(s)
	p.raw("</", name, ">\n")
}

// heading begins a part that the table of contents names.
func (p *page) heading(id, title string) {
	p.parts = append(p.parts, part{id, title})
	p.element(`h2 id="`+id+`"`, title)
}

// digest is how a policy names a script or a style sheet by its content.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// policy lets the page's own style and script be, and nothing else: no request
// leaves it.
func policy(style, script string) string {
	return "default-src 'none'; style-src " + digest(style) + "; script-src " + digest(script) + "; base-uri 'none'; form-action 'none'"
}

// open is what stands before the body of a page.
func (p *page) open(title, class string) {
	style := pageStyle + chart.Style()
	p.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n",
		`<meta http-equiv="Content-Security-Policy" content="`, policy(style, pageScript), "\"/>\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"referrer\" content=\"no-referrer\"/>\n")
	p.element("title", title)
	p.raw("<style>", style, "</style>\n</head>\n<body class=\"", class, "\">\n")
}

func (p *page) close() {
	p.raw("<script>", pageScript, "</script>\n</body>\n</html>\n")
}

// figure writes a chart, and what it shows as a table behind it. Of one whose
// columns are stretches of time, scripts are told where they lie.
func (p *page) figure(svg string, data *series) {
	p.raw("<figure")
	if data != nil && data.step > 0 {
		p.raw(` data-from="`, plain(data.from), `" data-step="`, plain(data.step), `"`)
	}
	p.raw(">\n<div class=\"scroll\">", svg, "</div>\n")
	if data != nil {
		data.write(p)
	}
	p.raw("</figure>\n")
}

// plain writes a number as scripts read it.
func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// series is what stands behind a chart: rows of numbers.
type series struct {
	from, step float64 // of columns of time, in ms; step 0 for others
	head       []string
	rows       [][]string
}

// write writes the rows into a fold.
func (s *series) write(p *page) {
	p.raw("<details><summary>The numbers of this chart</summary>\n<div class=\"scroll\"><table>\n<thead><tr>")
	for i, h := range s.head {
		p.raw(`<th scope="col"`, side(i > 0), ">")
		p.text(h)
		p.raw("</th>")
	}
	p.raw("</tr></thead>\n<tbody>\n")
	for _, row := range s.rows {
		p.raw("<tr>")
		for i, cell := range row {
			if i == 0 {
				p.raw(`<th scope="row">`)
				p.text(cell)
				p.raw("</th>")
				continue
			}
			p.raw("<td>")
			p.text(cell)
			p.raw("</td>")
		}
		p.raw("</tr>\n")
	}
	p.raw("</tbody>\n</table></div></details>\n")
}

func side(right bool) string {
	if right {
		return ` class="n"`
	}
	return ""
}
