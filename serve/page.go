package serve

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

//go:embed page/page.css
var pageStyle string

//go:embed page/page.js
var pageScript string

//go:embed page/place.js
var placeScript string

// ourPolicy lets a page's own style and script be, have them ask this server,
// and show its reports; nothing else.
var ourPolicy = "default-src 'none'; style-src " + digest(pageStyle) + "; script-src " + digest(pageScript) +
	"; connect-src 'self'; frame-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// digest is how a policy names a script or a style sheet by its content.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page writes HTML. Whatever comes from a file or a client goes through text,
// in double quotes where it is an attribute.
type page struct{ bytes.Buffer }

func (p *page) raw(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// text writes a text that means itself, without control codes.
func (p *page) text(s string) { p.WriteString(html.EscapeString(plain(s))) }

// plain takes out what would not show, or would show as something else.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// element writes an element with a text in it. Attributes are ours.
func (p *page) element(open, s string) {
	name, _, _ := strings.Cut(open, " ")
	p.raw("<", open, ">")
	p.text(s)
	p.raw("</", name, ">\n")
}

// link writes a link to a page of this server about something, which is named in
// the query.
func (p *page) link(address, s string) {
	p.raw(`<a href="`)
	p.text(address)
	p.raw(`">`)
	p.text(s)
	p.raw("</a>")
}

// open begins a page. The rest of the head is ours.
func (p *page) open(title string, head ...string) {
	p.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n",
		"<link rel=\"icon\" href=\"data:,\">\n") // or the browser would ask for one
	p.raw(head...)
	p.element("title", title)
	p.raw("<style>", pageStyle, "</style>\n</head>\n<body>\n")
}

// header is what stands above every page but the first.
func (p *page) header(title, lead string) {
	p.raw("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n<nav aria-label=\"brunt\"><a href=\"/\">All runs</a></nav>\n")
	p.element("h1", title)
	if lead != "" {
		p.element(`p class="lead"`, lead)
	}
	p.raw("</header>\n<main id=\"main\">\n")
}

func (p *page) close() {
	p.raw("<script>", pageScript, "</script>\n</body>\n</html>\n")
}

func (p *page) send(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(p.Len()))
	w.WriteHeader(status)
	_, _ = p.WriteTo(w) // nobody is there any more
}

// refuse answers that something cannot be had, and why.
func (s *Server) refuse(w http.ResponseWriter, status int, title, why string) {
	p := &page{}
	p.open(title + " · brunt")
	p.header(title, "")
	for line := range strings.SplitSeq(why, "\n") {
		p.element("p", line)
	}
	p.raw("</main>\n")
	p.close()
	p.send(w, status)
}
