package chart

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Width is how wide a chart is, in pixels; it scales.
const Width = 720

// margin is the least distance of anything from the border.
const margin = 14

const (
	normal = 12.0 // sizes of text
	little = 11.0
	large  = 16.0
)

// canvas collects the elements of a chart from top to bottom.
type canvas struct {
	body       strings.Builder
	title      string
	desc       []string         // sentences for those who cannot see it
	y          float64          // where the next thing goes
	extra      string           // style that only this kind of chart needs
	attributes string           // further ones, of the whole
	bare       bool             // without a style sheet
	over       *strings.Builder // takes text, which is to stand over what is drawn meanwhile
	tag        string           // attributes of the next texts
}

// px writes a coordinate: a tenth of a pixel is finer than any paper.
func px(v float64) string {
	var room [24]byte
	return string(appendPx(room[:0], v))
}

func appendPx(b []byte, v float64) []byte {
	tenths := int64(math.Round(v * 10))
	if tenths < 0 {
		b, tenths = append(b, '-'), -tenths
	}
	b = strconv.AppendInt(b, tenths/10, 10)
	if rest := tenths % 10; rest != 0 {
		b = append(b, '.', byte('0'+rest))
	}
	return b
}

// escaped is text as it may stand in XML, whatever it is made of. Codes that are
// no text of their own, such as those that turn the direction of writing, are
// spaces.
func escaped(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || strings.IndexByte(`<>&"'`, c) >= 0 {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	var b strings.Builder
	// Writing to a Builder does not fail.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

func (c *canvas) raw(parts ...string) {
	for _, p := range parts {
		c.body.WriteString(p)
	}
}

// text writes a line of text at its base line. An empty one is nothing.
func (c *canvas) text(x, y float64, class, s string) {
	if s == "" {
		return
	}
	to := &c.body
	if c.over != nil {
		to = c.over
	}
	for _, part := range []string{`<text x="`, px(x), `" y="`, px(y), `"`, attribute("class", class), c.tag, `>`, escaped(s), "</text>\n"} {
		to.WriteString(part)
	}
}

// path writes an unfilled or filled path by its class; extra are attributes.
func (c *canvas) path(class, d string, extra ...string) {
	if d != "" {
		c.raw(`<path`, attribute("class", class), strings.Join(extra, ""), ` d="`, d, "\"/>\n")
	}
}

// rect writes a rectangle with a tooltip, which may be empty.
func (c *canvas) rect(x, y, w, h float64, tip string, attributes ...string) {
	// Rounded corner by corner, neighbours meet without a seam.
	x1, y1 := math.Round((x+w)*10)/10, math.Round((y+h)*10)/10
	x, y = math.Round(x*10)/10, math.Round(y*10)/10
	c.raw(`<rect x="`, px(x), `" y="`, px(y), `" width="`, px(x1-x), `" height="`, px(y1-y), `"`, strings.Join(attributes, ""))
	if tip == "" {
		c.raw("/>\n")
		return
	}
	c.raw("><title>", escaped(tip), "</title></rect>\n")
}

// attribute writes one attribute, or nothing if it is empty.
func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + escaped(value) + `"`
}

func class(name string) string { return attribute("class", name) }

// begin writes the title, and says what kind of chart it is.
func (c *canvas) begin(kind, title string) {
	c.title = title
	if title == "" {
		c.title = kind
	}
	c.desc = append(c.desc, kind+".")
	c.y = margin
	for _, line := range wrap(title, large, Width-2*margin, 3) {
		c.y += 16
		c.text(margin, c.y, "name", line)
		c.y += 4
	}
	c.y += 6
}

// finish writes the caption and puts everything into one document.
func (c *canvas) finish(caption ...string) string {
	for _, line := range wrap(strings.Join(caption, " "), little, Width-2*margin, 8) {
		c.y += 15
		c.text(margin, c.y, "small soft", line)
	}
	c.y += margin
	c.desc = append(c.desc, caption...)
	w, h := px(Width), px(math.Ceil(c.y))
	var b strings.Builder
	b.Grow(c.body.Len() + 2<<10)
	write := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
	}
	write(`<svg xmlns="http://www.w3.org/2000/svg" class="brunt-chart" role="img"`, attribute("aria-label", c.title),
		` width="`, w, `" height="`, h, `" viewBox="0 0 `, w, " ", h, `"`, c.attributes, ">\n",
		"<title>", escaped(c.title), "</title>\n",
		"<desc>", escaped(strings.Join(strings.Fields(strings.Join(c.desc, " ")), " ")), "</desc>\n")
	if !c.bare {
		write("<style>", style, c.extra, "</style>\n")
	}
	write(`<rect class="paper" x="0" y="0" width="`, w, `" height="`, h, "\"/>\n", c.body.String(), "</svg>\n")
	return b.String()
}

// pen writes the path of a line.
type pen struct {
	b    strings.Builder
	down bool
}

func (p *pen) to(x, y float64) {
	if p.down {
		p.b.WriteString("L")
	} else {
		p.b.WriteString("M")
	}
	p.down = true
	p.pair(x, y)
}

func (p *pen) pair(x, y float64) {
	p.number(x)
	p.b.WriteByte(' ')
	p.number(y)
}

func (p *pen) number(v float64) {
	var room [24]byte
	p.b.Write(appendPx(room[:0], v))
}

// command writes a letter of path data and its number.
func (p *pen) command(letter byte, v float64) {
	p.b.WriteByte(letter)
	p.number(v)
}

// level and upright go on to an x or a y alone.
func (p *pen) level(x float64)   { p.command('H', x) }
func (p *pen) upright(y float64) { p.command('V', y) }

// box draws a rectangle from one corner to another, by tenths of pixels as px
// does, so that neighbours meet.
func (p *pen) box(x0, y0, x1, y1 float64) {
	tenth := func(v float64) float64 { return math.Round(v*10) / 10 }
	p.b.WriteByte('M')
	p.pair(x0, y0)
	p.command('h', tenth(x1)-tenth(x0))
	p.command('v', tenth(y1)-tenth(y0))
	p.command('H', x0)
	p.b.WriteByte('z')
}

func (p *pen) lift() { p.down = false }

func (p *pen) close() {
	if p.down {
		p.b.WriteString("Z")
	}
	p.down = false
}

func (p *pen) String() string { return p.b.String() }

// line is the path of one straight line.
func line(x1, y1, x2, y2 float64) string {
	return "M" + px(x1) + " " + px(y1) + "L" + px(x2) + " " + px(y2)
}
