package serve

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"

	"brunt/lab"
	"brunt/report"
)

// compare answers with a page about two runs: which they are, and how the second
// differs from the first.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	a, b := r.URL.Query().Get("a"), r.URL.Query().Get("b")
	if _, err := s.difference(a, b); errors.Is(err, errNoRun) {
		s.nothing(w)
		return
	} else if err != nil {
		s.refuse(w, http.StatusUnprocessableEntity, "No comparison", err.Error())
		return
	}
	address := "/difference?" + url.Values{"a": {a}, "b": {b}}.Encode()
	p := &page{}
	p.open("brunt · comparison")
	p.header("Comparison", "B, which is "+b+", against A, which is "+a+".")
	p.raw("<p class=\"buttons\">")
	p.link(address, "Open it by itself")
	p.raw("</p>\n<p class=\"soft\">The same in a terminal:</p>\n")
	p.element(`pre tabindex="0"`, report.CommandLine([]string{"brunt", "compare", s.path(a), s.path(b)}))
	p.raw("<iframe class=\"report\" title=\"How B differs from A\" sandbox=\"allow-scripts\" src=\"")
	p.text(address)
	p.raw("\"></iframe>\n</main>\n")
	p.close()
	p.send(w, http.StatusOK)
}

// differ answers with the comparison itself.
func (s *Server) differ(w http.ResponseWriter, r *http.Request) {
	page, err := s.difference(r.URL.Query().Get("a"), r.URL.Query().Get("b"))
	if err != nil {
		s.nothing(w)
		return
	}
	sendReport(w, page)
}

// difference makes the comparison of two runs, from their results as they were
// written.
func (s *Server) difference(a, b string) ([]byte, error) {
	first, err := s.stored(a)
	if err != nil {
		return nil, err
	}
	second, err := s.stored(b)
	if err != nil {
		return nil, err
	}
	compared, err := lab.CompareRuns(first, second, nil)
	if err != nil {
		return nil, err
	}
	var page bytes.Buffer
	err = report.ComparisonHTML(&page, compared)
	return page.Bytes(), err
}

// stored reads the result of a run as it was written.
func (s *Server) stored(run string) (*lab.Result, error) {
	in, err := s.openRun(run)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r := &lab.Result{}
	return r, readResult(in, ".", r)
}
