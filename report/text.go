package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"brunt/lab"
)

// TextOptions says how a report for a terminal looks.
type TextOptions struct {
	Color  bool   // without it there is not one escape code
	Width  int    // columns; 0 means 100
	Folder string // where the results are; "" when they were not written
	// Invalid shows the numbers of a run that is not valid, when the result
	// still has them, with a warning around every section.
	Invalid bool
}

const (
	usualWidth = 100 // of a terminal that does not say, and of running text
	leastWidth = 40  // below it a report is not narrower
	indent     = "  "
)

// Text writes a report for a terminal. Tables that are too wide are split by
// columns. env may be nil.
func Text(w io.Writer, r *lab.Result, env *lab.Environment, opt TextOptions) error {
	c, err := readConfig(r)
	if err != nil {
		return err
	}
	if opt.Width <= 0 {
		opt.Width = usualWidth
	}
	t := &terminal{w: bufio.NewWriter(w), width: max(opt.Width, leastWidth), color: opt.Color}
	d := assemble(r, c)
	if opt.Invalid && !r.Valid && r.Hidden != nil {
		d = despite(r, c)
		t.watermark = invalidRun
	}
	t.warn()
	t.heading(d)
	for i := range d.Sections {
		t.section(&d.Sections[i])
	}
	t.end(r, env, opt.Folder)
	if t.watermark != "" {
		t.line("")
		t.warn()
	}
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("writing the report of study %q: %w", r.Study, err)
	}
	return nil
}

// terminal writes to a terminal, or to what stands for one.
type terminal struct {
	w     *bufio.Writer // keeps its first error until it is flushed
	width int
	color bool

	watermark string // stands before every section; "" for none
}

// The codes of the few colours (ECMA-48, select graphic rendition).
const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// paint gives a text a colour, where there are any.
func (t *terminal) paint(s, code string) string {
	if !t.color || code == "" || s == "" {
		return s
	}
	return code + s + reset
}

func (t *terminal) tone(s string, tone Tone) string {
	switch tone {
	case Good:
		return t.paint(s, green)
	case Bad:
		return t.paint(s, bold+red)
	}
	return s
}

func (t *terminal) line(s string) {
	t.w.WriteString(strings.TrimRight(s, " "))
	t.w.WriteByte('\n')
}

// prose writes running text, the first line after a lead and the others as
// far in.
func (t *terminal) prose(lead, s, code string) {
	hang := strings.Repeat(" ", displayed(lead))
	for i, l := range wrap(clean(s), min(t.width, usualWidth)-displayed(lead)) {
		if i > 0 {
			lead = hang
		}
		t.line(lead + t.paint(l, code))
	}
}

func (t *terminal) heading(d *document) {
	t.prose("", d.Title, bold)
	if d.Question != "" {
		t.prose("", d.Question, "")
	}
	t.line("")
	const separator = " · "
	line, used := "", 0
	for _, f := range d.Facts {
		for _, s := range wrap(clean(f.Text), t.width) { // in one piece where it fits
			switch {
			case used == 0:
			case used+displayed(separator+s) > t.width:
				t.line(line)
				line, used = "", 0
			default:
				line, used = line+separator, used+displayed(separator)
			}
			line, used = line+t.tone(s, f.Tone), used+displayed(s)
		}
	}
	t.line(line)
}

// warn writes the watermark, where there is one.
func (t *terminal) warn() {
	if t.watermark != "" {
		t.line(t.tone(t.watermark, Bad))
	}
}

func (t *terminal) section(s *section) {
	if s.Long {
		return
	}
	t.line("")
	t.warn()
	t.prose("", strings.ToUpper(s.Title), bold)
	for _, p := range s.Lead {
		t.prose(indent, p, "")
	}
	for _, item := range s.Items {
		t.prose(indent+"• ", item, "")
	}
	if s.Histograms != nil {
		t.histograms(s.Histograms)
	}
	if s.Table != nil {
		t.table(s.Table, s.Title)
	}
	for i := range s.Tables {
		t.line("")
		t.table(&s.Tables[i], "")
	}
}

func (t *terminal) histograms(hs *histograms) {
	const beside = 32 // the range, the count and the space between
	each := hs.scale(min(60, t.width-beside))
	t.prose(indent, hs.caption(each), faint)
	for _, h := range hs.Herds {
		t.line("")
		t.line(indent + t.paint(clean(h.Name), bold))
		if h.Note != "" {
			t.prose(indent+indent, h.Note, "")
		}
		for _, l := range h.lines(each) {
			t.line(indent + indent + l)
		}
	}
	t.line("")
}

// end says where the results are, and what made them.
func (t *terminal) end(r *lab.Result, env *lab.Environment, folder string) {
	if folder != "" {
		t.line("")
		t.line(t.paint("RESULTS", bold))
		t.line(indent + clean(folder))
	}
	if made := madeBy(r, env); made != "" {
		t.line("")
		t.prose("", made, faint)
	}
}

// madeBy says in a line what made a result.
func madeBy(r *lab.Result, env *lab.Environment) string {
	var words []string
	if r.Instrument.Version != "" {
		words = append(words, "brunt "+r.Instrument.Version)
	}
	if env != nil {
		words = append(words, env.Go, env.OS+", "+env.Arch, plural(int64(env.CPUs), "CPU", "CPUs"))
		if r.Kill == nil { // what was killed did not live to say
			words = append(words, "took "+wallTime(env.WallMillis))
		}
	}
	return strings.Join(words, " · ")
}

// displayed returns how many columns a text takes.
func displayed(s string) int { return text.StringWidthWithoutEscSequences(s) }

// wrap breaks a text between words into lines of at most so many columns. A
// word that is longer has a line of its own; a unit stays with its number.
func wrap(s string, width int) (lines []string) {
	line, used := "", 0
	for _, word := range unbroken(s) {
		n := displayed(word)
		switch {
		case used == 0:
			line, used = word, n
		case used+1+n <= width:
			line, used = line+" "+word, used+1+n
		default:
			lines = append(lines, line)
			line, used = word, n
		}
	}
	if used > 0 {
		lines = append(lines, line)
	}
	return lines
}

// unbroken returns the words of a text, a number and its unit as one.
func unbroken(s string) (words []string) {
	for _, word := range strings.Fields(s) {
		last := len(words) - 1
		if last >= 0 && endsInDigit(words[last]) && isUnit(word) {
			words[last] += " " + word
			continue
		}
		words = append(words, word)
	}
	return words
}

func endsInDigit(s string) bool { c := s[len(s)-1]; return '0' <= c && c <= '9' }

func isUnit(word string) bool {
	switch strings.TrimRight(word, ".,;:)") {
	case "%", "ns", "µs", "ms", "s", "min":
		return true
	}
	return false
}
