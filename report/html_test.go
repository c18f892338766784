package report

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// pageStudy runs the study of the page.
func pageStudy(t testing.TB) *lab.Result {
	t.Helper()
	return resultOf(t, "testdata/page.yaml")
}

// resultOf runs a study, with rows, in a folder of its own, and with settings.
func resultOf(t testing.TB, path string, sets ...string) *lab.Result {
	t.Helper()
	s, err := study.Read(path, study.Options{Measure: lab.CheckName, Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := lab.NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	r, _, err := lab.Run(context.Background(), s, lab.Options{Folder: folder, Rows: true, Instrument: lab.Instrument{Version: "v1.2.3"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func pageOf(t testing.TB, r *lab.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r, testEnvironment()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// markup is a page as its reader sees it: what it is made of, and its text.
type markup struct {
	elements map[string]int
	ids      []string
	links    []string
	text     string
	values   []string // of attributes
}

// allowed is every element that a page is made of, with its attributes.
var allowed = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "class", "script": "",
	"a": "class href", "header": "", "main": "id", "footer": "", "nav": "aria-label", "div": "class aria-hidden role data-requests data-request data-of",
	"h1": "", "h2": "id", "h3": "id", "h4": "", "p": "class", "ul": "class", "li": "class", "pre": "", "article": "class",
	"dl": "class", "dt": "", "dd": "", "b": "class", "small": "", "figure": "data-from data-step", "details": "class data-a data-b", "summary": "",
	"table": "class aria-label", "thead": "", "tbody": "", "tr": "class", "th": "scope class title", "td": "class",
	"svg": "xmlns class role aria-label width height viewBox data-plot x y preserveAspectRatio", "desc": "", "g": "class",
	"path": "class d stroke-dasharray", "rect": "class x y width height", "circle": "class cx cy r", "text": "class x y data-at data-name",
}

// readPage parses a page, and is strict about what all pages promise: elements
// that close, nothing that is not ours, ids that are there once, links that lead
// somewhere within.
func readPage(page string) (*markup, error) {
	before, rest, _ := strings.Cut(page, "<script>")
	_, after, found := strings.Cut(rest, "</script>")
	body := before + after // what is left of the script would be no XML
	if !found || strings.Contains(body, "<script") {
		return nil, errors.New("not exactly one script")
	}
	m := &markup{elements: map[string]int{}}
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(body, "<!DOCTYPE html>")))
	var open []string
	text := &strings.Builder{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			attributes, known := allowed[name]
			if !known {
				return nil, fmt.Errorf("<%s> is no element of a page", name)
			}
			m.elements[name]++
			open = append(open, name)
			for _, a := range token.Attr {
				if !slices.Contains(strings.Fields(attributes), a.Name.Local) {
					return nil, fmt.Errorf("<%s %s> is no attribute of a page", name, a.Name.Local)
				}
				m.values = append(m.values, a.Value)
				switch a.Name.Local {
				case "id":
					m.ids = append(m.ids, a.Value)
				case "href":
					m.links = append(m.links, a.Value)
				}
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] != "style" {
				text.Write(token)
				text.WriteByte('\n')
			}
		default:
			return nil, fmt.Errorf("a %T in the page", token)
		}
	}
	m.text = text.String()
	for i, id := range m.ids {
		if slices.Contains(m.ids[:i], id) {
			return nil, fmt.Errorf("two elements with the id %s", id)
		}
	}
	for _, to := range m.links {
		if !strings.HasPrefix(to, "#") || !slices.Contains(m.ids, to[1:]) {
			return nil, fmt.Errorf("a link to %s leads nowhere", to)
		}
	}
	return m, nil
}

func pageFixtures(t testing.TB) map[string]*lab.Result {
	all := map[string]*lab.Result{"page": pageStudy(t)}
	for _, f := range fixtures {
		all[f.name] = f.make(t)
	}
	return all
}

// Every page is sound, also of results without timelines or rows.
func TestPagesAreSound(t *testing.T) {
	for name, r := range pageFixtures(t) {
		page := pageOf(t, r)
		if _, err := readPage(page); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if shown := strings.Replace(page, pageScript, "", 1); strings.Contains(shown, "NaN") || strings.Contains(shown, "%!") {
			t.Errorf("%s: a number went wrong", name)
		}
		if again := pageOf(t, r); again != page {
			t.Errorf("%s: a second page has other bytes", name)
		}
	}
}

func TestGoldenPage(t *testing.T) {
	for _, name := range []string{"page", "invalid"} {
		page := pageOf(t, pageFixtures(t)[name])
		// The style and the script are files of their own.
		page = strings.ReplaceAll(page, pageStyle+chart.Style(), "…")
		page = strings.ReplaceAll(page, pageScript, "…")
		for _, s := range []string{pageStyle + chart.Style(), pageScript} {
			page = strings.ReplaceAll(page, digest(s), "…")
		}
		golden(t, name+".html", []byte(abridged(page)))
	}
}

// abridged has digests in place of long paths and of the numbers behind charts:
// what charts look like is for the golden files of that package.
func abridged(page string) string {
	for _, ends := range [][2]string{{` d="`, `"`}, {"<tbody>\n<tr><th scope=\"row\">0 ms", "</tbody>"}} {
		var b strings.Builder
		rest := page
		for {
			before, after, found := strings.Cut(rest, ends[0])
			b.WriteString(before)
			if !found {
				break
			}
			b.WriteString(ends[0])
			inside, last, _ := strings.Cut(after, ends[1])
			if len(inside) > 60 {
				inside = fmt.Sprintf("… %d bytes, %.12s", len(inside), strings.TrimPrefix(digest(inside), "'sha256-"))
			}
			b.WriteString(inside)
			b.WriteString(ends[1])
			rest = last
		}
		page = b.String()
	}
	return page
}

// The policy lets exactly the page's own style and script be. A page has no
// style or handler elsewhere, and no address but that of the SVG name space.
func TestPolicy(t *testing.T) {
	page := pageOf(t, pageStudy(t))
	between := func(s, from, to string) string {
		_, s, _ = strings.Cut(s, from)
		s, _, _ = strings.Cut(s, to)
		return s
	}
	style, script := between(page, "<style>", "</style>"), between(page, "<script>", "</script>")
	want := `content="default-src 'none'; style-src ` + digest(style) + "; script-src " + digest(script) + `; base-uri 'none'; form-action 'none'"/>`
	if style == "" || script == "" || !strings.Contains(page, want) {
		t.Errorf("the page has not %s", want)
	}
	if got := digest("alert(1)"); got != "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='" { // as CSP Level 3 has it, by openssl dgst -sha256
		t.Errorf("the digest of a script is %s", got)
	}
	rest := strings.ReplaceAll(page, "http://www.w3.org/2000/svg", "")
	for _, foreign := range []string{"http:", "https:", "//cdn", "url(", "@import", "innerHTML", "eval(", " src="} {
		if strings.Contains(rest, foreign) {
			t.Errorf("%q in the page", foreign)
		}
	}
}

// attacks are what a study, a target or a name could bring.
var attacks = []string{
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onmouseover='alert(1)", "</title><svg onload=alert(1)>", "</style><b>",
	"]]><!--", "&lt;script&gt;", "\u202egnirts", "a\x00b\x1b[2J", "{{.}}", "</td></table>", "javascript:alert(1)", "`${1}`",
}

// Text that comes from elsewhere is text in the page, wherever it stands.
func TestPageInjection(t *testing.T) {
	base := pageStudy(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := copied(t, base)
		var all []string
		draw := func() string {
			s := rapid.OneOf(rapid.SampledFrom(attacks), hostile).Draw(rt, "text")
			all = append(all, s)
			return s
		}
		r.Study, r.Question, r.TiesReason, r.FaultReason = draw(), draw(), draw(), draw()
		r.Ties = nil
		r.Findings = []string{draw(), draw()}
		r.Protocol = &lab.Protocol{Name: draw(), Version: draw(), SHA256: draw()}
		r.StudySHA256 = draw()
		r.Gates = append(r.Gates, lab.Gate{Name: draw(), Unit: draw(), Applies: true, Reason: draw()})
		r.Expectations = []lab.Verdict{{Composition: draw(), Phase: draw(), Measure: draw(), Limit: draw(), Refused: true, Reason: draw()}}
		r.Instrument.Version = draw()
		for i := range r.Comparisons { // whose names are those of tables too
			r.Comparisons[i].A, r.Comparisons[i].B = draw(), draw()
		}
		var instants []measure.SeenInstant
		for range 5 {
			instants = append(instants, measure.SeenInstant{What: draw(), At: ms(3000)})
		}
		for i := range r.Compositions {
			c := &r.Compositions[i]
			c.Name = draw()
			if i < len(r.Closeups) {
				near := *r.Closeups[i]
				near.Name, near.Traced = c.Name, near.Traced[:8] // or it takes long
				near.Dependencies = []string{draw(), draw()}
				near.Breakers = append([]measure.BreakerShare{{Stage: draw(), Callers: 2, Open: []float64{1}}}, near.Breakers...)
				r.Closeups[i] = &near
			}
			for k := range c.Phases {
				c.Phases[k].Name = draw()
				c.Phases[k].Incidence.Reason = draw()
			}
			c.Recovery.Phase, c.Recovery.Reason = draw(), draw()
			c.Timeline.Queue = map[string][]int64{draw(): make([]int64, len(c.Timeline.Offered))}
			c.Site = &measure.Site{Fault: &measure.RealFault{Victim: draw(), How: draw(), Ends: draw(), Instants: instants}}
		}
		if rapid.Bool().Draw(rt, "invalid") {
			r.Valid = false
		}
		page := pageOf(t, r)
		m, err := readPage(page)
		if err != nil {
			rt.Fatalf("%v\nwith %q", err, all)
		}
		if want := clean(r.Question); want != "" && !strings.Contains(m.text, want) {
			rt.Fatalf("the question %q is not in the page's text", want)
		}
		for _, r := range m.text {
			if unprintable(r) && r != '\n' {
				rt.Fatalf("%q is in the page's text", r)
			}
		}
	})
}

// copied returns a result that can be changed.
func copied(t testing.TB, r *lab.Result) *lab.Result {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := &lab.Result{}
	if err := json.Unmarshal(b, c); err != nil {
		t.Fatal(err)
	}
	c.Closeups = slices.Clone(r.Closeups)
	return c
}

// An invalid run shows why, with a watermark, and nothing of its numbers.
func TestInvalidPage(t *testing.T) {
	r := copied(t, pageStudy(t))
	r.Gates = append(r.Gates, lab.Gate{Name: "send skew max", Limit: 50, Unit: "ms", Applies: true, Enforced: true, Reason: "over the limit"})
	r.Valid = false // with its numbers still there
	page := pageOf(t, r)
	m, err := readPage(page)
	if err != nil {
		t.Fatal(err)
	}
	if m.elements["svg"] != 0 || !strings.Contains(m.text, "INVALID RUN") || !strings.Contains(m.text, "send skew max") || !strings.Contains(m.text, "Over the limit.") {
		t.Errorf("%d pictures; the text is\n%s", m.elements["svg"], m.text)
	}
	for _, name := range []string{"alone", "chain", "outage"} {
		if strings.Contains(m.text, name) {
			t.Errorf("the page says something of %s", name)
		}
	}
}

// What the page shows is what the result holds: cards, tables and what stands
// behind the charts.
func TestPageNumbers(t *testing.T) {
	r := pageStudy(t)
	m, err := readPage(pageOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	has := func(what string) {
		t.Helper()
		if !strings.Contains(m.text, what) {
			t.Errorf("the page does not say %q", what)
		}
	}
	for i := range r.Compositions {
		c := &r.Compositions[i]
		good := c.Service.Goodput[len(c.Service.Goodput)-1]
		has(percentages.write(100**good.Share, 1, false))
		has(ratios.write(*c.Whole.AttemptsPerOffered, 2, false))
		for j := range c.Phases {
			for _, q := range c.Phases[j].Incidence.Quantiles {
				if slices.Contains(marked, q.Q) && q.Millis != nil {
					has(millis(*q.Millis))
				} else if slices.Contains(marked, q.Q) {
					has(end(nil, q.Status))
				}
			}
		}
		series := newTimelines(r, &config{}, c, r.Closeups[i]).data()
		offered, attempts := int64(0), int64(0)
		for _, row := range series.rows {
			var v int64
			fmt.Sscan(row[1], &v)
			offered += v
			fmt.Sscan(row[slices.Index(series.head, "Attempts")], &v)
			attempts += v
		}
		all := int64(0)
		for _, v := range c.Timeline.Attempts {
			all += v
		}
		if offered != c.Whole.Offered || attempts != all {
			t.Errorf("%s: the columns hold %d offered and %d attempts, want %d and %d", c.Name, offered, attempts, c.Whole.Offered, all)
		}
	}
	for _, what := range []string{"never", "Errored: failure (", "Censored (", "The slowest that completed (", "; hedge, 150 ms after 1", "; fallback, 1 given up", "clean-up 30 ms", "Calls to primary while it is dead"} {
		has(what)
	}
}

// Marks on a completion curve stand at the quantiles of the result, and a curve
// ends at its final incidence.
func TestCompletionMarks(t *testing.T) {
	r := pageStudy(t)
	c, err := readConfig(r)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for phase := range r.Compositions[0].Phases {
		for i := range r.Compositions {
			in := &r.Compositions[i].Phases[phase].Incidence
			s := completionSeries(&r.Compositions[i], r.Closeups[i], phase, 0, c)
			for _, f := range s.Flags {
				k := slices.IndexFunc(in.Quantiles, func(q measure.Quantile) bool { return math.Abs(100*q.Q-f.Y) < 1e-9 })
				of := in.Quantiles[k]
				if of.Millis == nil {
					if !math.IsNaN(f.X) {
						t.Errorf("phase %d: %s stands at %v, want none", phase, f.Name, f.X)
					}
					continue
				}
				seen++
				// The curve is there at the quantile's time, to the width of a bin.
				i := slices.IndexFunc(s.Points, func(p chart.Point) bool { return p.Y >= f.Y-1e-9 })
				if f.X != inMillis(*of.Millis) || s.Points[i].X < f.X || s.Points[i].X > f.X*(1+1./64) {
					t.Errorf("phase %d: %s stands at %v ms, the quantile is %v, and the curve gets there at %v", phase, f.Name, f.X, inMillis(*of.Millis), s.Points[i].X)
				}
			}
			if final := s.Points[len(s.Points)-2].Y; in.Final != nil && math.Abs(final-100**in.Final) > 1e-9 && math.Abs(s.Points[len(s.Points)-1].Y-100**in.Final) > 1e-9 {
				t.Errorf("phase %d: the curve ends at %v, want %v", phase, final, 100**in.Final)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d marks: the test judges too little", seen)
	}
}

// The band of a curve goes through what was computed and is straight between;
// before the first completion there is none.
func TestBandAt(t *testing.T) {
	band := []measure.ShapeBand{{Share: 0.2, Low: 0.1, High: 0.4}, {Share: 0.6, Low: 0.5, High: 0.8}}
	for _, c := range []struct {
		share, low, high float64
		ok               bool
	}{
		{0, 0, 0, false}, {0.1, 0, 0, false}, {0.2, 0.1, 0.4, true}, {0.4, 0.3, 0.6, true}, {0.6, 0.5, 0.8, true}, {0.7, 0.5, 0.8, true},
	} {
		if low, high, ok := bandAt(band, c.share); ok != c.ok || math.Abs(low-c.low) > 1e-12 || math.Abs(high-c.high) > 1e-12 {
			t.Errorf("at %v: %v to %v (%t), want %v to %v (%t)", c.share, low, high, ok, c.low, c.high, c.ok)
		}
	}
	if _, _, ok := bandAt(nil, 0.5); ok {
		t.Error("a band out of nothing")
	}
}

// However many requests there were, and whatever they did, a page is small.
func TestPageIsBounded(t *testing.T) {
	r := copied(t, pageStudy(t))
	comp, near := r.Compositions[0], wildCloseup()
	comp.Timeline = wildTimeline()
	r.Compositions, r.Closeups = nil, nil
	for i := range 14 {
		c, n := comp, *near
		c.Name = fmt.Sprintf("composition-%d", i)
		n.Name = c.Name
		r.Compositions, r.Closeups = append(r.Compositions, c), append(r.Closeups, &n)
	}
	page := pageOf(t, r)
	if len(page) > 5_000_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if m, err := readPage(page); err != nil || !strings.Contains(m.text, "The first 10 of 14 compositions are drawn") {
		t.Errorf("it does not say that some are left out, or: %v", err)
	}
}

// wildTimeline is as long and as rough as a timeline can be.
func wildTimeline() measure.Timeline {
	const n = 2000
	series := func(k int64) []int64 {
		s := make([]int64, n)
		for i := range s {
			s[i] = int64(i) * 7919 * k % 997
		}
		return s
	}
	t := measure.Timeline{Step: *ms(7), Offered: series(1), Completed: series(2), Censored: series(3), Attempts: series(5), InFlight: series(7), Retries: series(4),
		Errored: map[string][]int64{}, P50: make([]*measure.Millis, n), P95: make([]*measure.Millis, n)}
	for i, c := range record.Causes() {
		t.Errored[c.String()] = series(int64(i + 11))
	}
	return t
}

// wildCloseup has a count in every bin of every column.
func wildCloseup() *measure.Closeup {
	c := &measure.Closeup{Step: *ms(91), Dependencies: []string{"primary", "backup"}}
	for k := range 154 {
		col := measure.Column{P50: *ms(float64(1 + k*37%900)), P95: *ms(float64(1000 + k*37%900)), Completed: 1000}
		for b := range 16 * 20 {
			from := math.Exp2(float64(b)/16) * 1e4
			col.Bins = append(col.Bins, measure.Bin{From: measure.Millis(from), To: measure.Millis(from * 1.05), Count: int64(1 + b*k%53)})
		}
		c.Columns = append(c.Columns, col)
	}
	for _, name := range []string{"before", "outage", "errors", "after"} {
		s := measure.CurveShape{Phase: name, Final: 1, Ceiling: 1}
		for i := range 1500 {
			s.Points = append(s.Points, measure.ShapePoint{At: measure.Millis(1e5 * math.Exp2(float64(i)/90)), Share: float64(i+1) / 1500})
		}
		c.Curves = append(c.Curves, s)
	}
	for i := range 80 {
		x := measure.Traced{Request: record.Request{Index: int64(i), Outcome: record.Errored, Cause: record.Causes()[i%12]}}
		for k := range 40 {
			x.Attempts = append(x.Attempts, record.Attempt{Index: int32(k), Start: 1, End: 1e9, CleanupEnd: 2e9, Cancelled: true, Why: record.Retry, Parent: -1})
		}
		c.Traced = append(c.Traced, x)
	}
	return c
}

// Text stands out from what it is written on, in light and dark: at least the
// 4.5 of WCAG 2.1 (1.4.3).
func TestContrast(t *testing.T) {
	schemes := strings.SplitN(pageStyle, "@media", 2)
	for name, sheet := range map[string]string{"light": schemes[0], "dark": schemes[1]} {
		colour := func(variable string) float64 {
			_, rest, _ := strings.Cut(sheet, "--"+variable+":#")
			var c [3]int64
			if rest[3] == ';' {
				rest = strings.Repeat(rest[:1], 2) + strings.Repeat(rest[1:2], 2) + strings.Repeat(rest[2:3], 2)
			}
			fmt.Sscanf(rest[:6], "%02x%02x%02x", &c[0], &c[1], &c[2])
			sum := 0.
			for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
				v := float64(c[i]) / 255
				if v <= 0.04045 {
					v /= 12.92
				} else {
					v = math.Pow((v+0.055)/1.055, 2.4)
				}
				sum += weight * v
			}
			return sum
		}
		for _, ink := range []string{"ink", "soft", "link", "good", "bad"} {
			for _, paper := range []string{"paper", "wash"} {
				a, b := colour(ink), colour(paper)
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", name, ink, paper, ratio)
				}
			}
		}
	}
}

// Without rows a page has no single requests, and says so.
func TestPageWithoutRows(t *testing.T) {
	r := copied(t, pageStudy(t))
	r.Closeups = nil
	m, err := readPage(pageOf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.text, "the rows of this run were not kept") || strings.Contains(m.text, "Single requests\n") {
		t.Error("the page does not say that there are no rows")
	}
}

// Columns that say what they mean say it for tables that there are.
func TestMeaningsAreOfColumns(t *testing.T) {
	heads := map[string]bool{}
	for _, r := range pageFixtures(t) {
		c, err := readConfig(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range assemble(r, c).Sections {
			for _, table := range append(s.Tables, *or(s.Table)) {
				for _, h := range table.Head {
					heads[h] = true
				}
			}
		}
	}
	for _, h := range []string{phaseHead, "Offered", "per offered", "Recovery ms", "Success", "Calls to dead primary"} {
		if !heads[h] || meaning(h) == "" {
			t.Errorf("column %q is in a table: %t, and means %q", h, heads[h], meaning(h))
		}
	}
	if diff := cmp.Diff("", meaning("no such column")); diff != "" {
		t.Error(diff)
	}
}

func or(t *Table) *Table {
	if t == nil {
		return &Table{}
	}
	return t
}
