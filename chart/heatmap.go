package chart

import (
	"fmt"
	"math"
	"strings"
)

// HeatMap draws a number for each pair of two settings, light where it is
// small and dark where it is large.
type HeatMap struct {
	Title string
	X, Y  Levels
	Value Axis // what the numbers are, and how the colours are spread over them
	// Cells are rows of Y, each with a number for each level of X. NaN, or
	// a cell that is not there, is hatched and counted.
	Cells [][]float64
	Note  string // further sentences for the caption
}

const (
	mostLevels = 120 // in each direction
	mostTips   = 2500
)

// SVG draws the chart. Of more than 120 levels in a direction it draws
// every second, third, … one, and says so; it makes no means of cells. Numbers
// are written into the cells when all of them have room.
func (c HeatMap) SVG() string {
	m := &heat{HeatMap: c}
	m.begin("Heat map", c.Title)
	var unitX, unitY Unit
	m.columns, m.everyColumn, unitX = c.X.ordered(false, mostLevels)
	m.rows, m.everyRow, unitY = c.Y.ordered(true, mostLevels)
	m.headX = Axis{Title: c.X.Title}.heading(unitX)
	m.headY = Axis{Title: c.Y.Title}.heading(unitY)
	for _, row := range m.rows {
		for _, column := range m.columns {
			switch v, ok := m.cell(row, column); {
			case ok:
				m.values.add(v)
			case c.Value.offLog(v):
				m.offLog++
			default:
				m.missing++
			}
		}
	}
	m.colours()
	m.layout()
	m.grid()
	m.labels()
	m.describe()
	return m.finish(m.caption()...)
}

// heat is a heat map while it is drawn.
type heat struct {
	HeatMap
	canvas
	columns, rows         []level // as they are drawn, left to right and top to bottom
	everyColumn, everyRow int
	headX, headY          string
	values                extent
	missing, offLog       int
	scale                 scale
	left, top             float64 // of the grid
	wide, high            float64 // of a cell
}

// cell is the number of a cell, and whether it can be drawn.
func (m *heat) cell(row, column level) (float64, bool) {
	if row.index >= len(m.Cells) || column.index >= len(m.Cells[row.index]) {
		return 0, false
	}
	v := m.Cells[row.index][column.index]
	clean, ok := m.Value.clean(v)
	if !ok {
		return v, false
	}
	return clean, true
}

// colours draws the legend: the scale from light to dark with its ticks, and
// what hatching means.
func (m *heat) colours() {
	const steps, room, thick = 52, 260.0, 12.0
	right := Width - margin - 30.0
	m.scale = m.Value.across(m.values, tight, right-room, right)
	m.y += 4
	// The heading stands above the bar when it has no room beside it.
	heading := m.Value.heading(m.scale.unit)
	beside := right - room - margin - 20
	if m.missing+m.offLog > 0 {
		beside -= 100
	}
	if width(heading, normal) > beside {
		m.text(margin, m.y+10, "soft", shorten(heading, normal, Width-2*margin))
		m.y += 20
	} else {
		m.text(margin, m.y+10, "soft", heading)
	}
	if m.missing+m.offLog > 0 {
		m.hatch(right-room-110, m.y, 18, thick, "")
		m.text(right-room-88, m.y+10, "small soft", "no number")
	}
	if !m.values.any {
		m.y += thick + 8
		return
	}
	for i := range steps {
		x := right - room + float64(i)*room/steps
		// Each reaches under those that follow, so that no seam is seen.
		m.rect(x, m.y, right-x, thick, "", attribute("fill", hex(shadeOf((float64(i)+0.5)/steps))))
	}
	var ticks pen
	m.y += thick
	for _, t := range m.scale.ticks {
		x := m.scale.place(t.at)
		ticks.to(x, m.y)
		ticks.to(x, m.y+4)
		ticks.lift()
		m.tickBelow(x, t.label)
	}
	m.path("axis", ticks.String())
	m.y += 22
}

// layout gives the cells their place: as large as fits, but not so large that
// a small map fills the page.
func (m *heat) layout() {
	const gridHeight, tallest, widestCell = 420.0, 36.0, 100.0
	m.y += 14
	m.text(margin, m.y, "soft", shorten(m.headY, normal, Width-2*margin))
	m.top = m.y + 8
	m.left = margin + min(widest(m.rows, little), 180) + 8
	m.wide = min(widestCell, (Width-margin-14-m.left)/float64(max(1, len(m.columns))))
	m.high = min(tallest, gridHeight/float64(max(1, len(m.rows))))
}

// grid draws the cells.
func (m *heat) grid() {
	size, written := m.room()
	gap := 0.0
	if m.wide >= 8 && m.high >= 8 {
		gap = 1
	}
	tips := len(m.rows)*len(m.columns) <= mostTips
	for i, row := range m.rows {
		y := m.top + float64(i)*m.high
		for j, column := range m.columns {
			x := m.left + float64(j)*m.wide
			v, ok := m.cell(row, column)
			text, tip := "no number", ""
			if ok {
				text = m.scale.text(v)
			}
			if tips {
				tip = fmt.Sprintf("%s, %s: %s", column.label, row.label, text)
			}
			if !ok {
				m.hatch(x, y, m.wide-gap, m.high-gap, tip)
				continue
			}
			colour := shadeOf(m.scale.share(v / m.scale.divisor))
			m.rect(x, y, m.wide-gap, m.high-gap, tip, attribute("fill", hex(colour)))
			if written {
				m.raw(`<text class="mid" x="`, px(x+(m.wide-gap)/2), `" y="`, px(y+(m.high-gap)/2+size*0.36),
					`" style="font-size:`, px(size), "px;fill:", inkOn(colour), `;pointer-events:none">`, escaped(text), "</text>\n")
			}
		}
	}
	if len(m.rows)*len(m.columns) == 0 {
		m.text(m.left, m.top+20, "soft", "no numbers to draw")
	}
}

// room is the size at which every number fits into its cell, if there is one.
func (m *heat) room() (size float64, fits bool) {
	longest := 0.0
	for _, row := range m.rows {
		for _, column := range m.columns {
			if v, ok := m.cell(row, column); ok {
				longest = max(longest, width(m.scale.text(v), 1))
			}
		}
	}
	for size = normal; size >= 9; size-- {
		if longest*size <= m.wide-5 && size+4 <= m.high {
			return size, true
		}
	}
	return 0, false
}

// labels writes the levels beside and under the grid. Of rows or columns
// narrower than a line of text it names every so manieth.
func (m *heat) labels() {
	const line = 13.0
	every := 1 + int(line/m.high)
	for i, row := range m.rows {
		if i%every == 0 {
			m.text(m.left-6, m.top+(float64(i)+0.5)*m.high+4, "small soft end", squeeze(row.label, little, m.left-6-margin))
		}
	}
	m.y = m.top + float64(max(1, len(m.rows)))*m.high
	m.columnLabels()
	if m.headX != "" {
		m.y += 16
		m.text(m.left, m.y, "soft", shorten(m.headX, normal, Width-margin-m.left))
	}
	m.y += 6
}

// columnLabels writes the levels under the grid. Names may take three lines,
// and are slanted if they need more; of numbers as many are written as have room.
func (m *heat) columnLabels() {
	longest := widest(m.columns, little)
	if longest <= m.wide-4 || len(m.X.Names) == 0 {
		every := 1
		if longest > m.wide-4 {
			every = 1 + int((longest+8)/m.wide)
		}
		m.level(every)
		return
	}
	lines := m.brokenLabels()
	if lines > 3 {
		m.slanted(min(longest, 150))
		return
	}
	for j, column := range m.columns {
		for k, row := range wrap(column.label, little, m.wide-4, lines) {
			m.text(m.left+(float64(j)+0.5)*m.wide, m.y+15+float64(k)*13, "small soft mid", row)
		}
	}
	m.y += 5 + float64(lines)*13
}

// level writes every so manieth label in one line. Wide ones at the end are
// moved inward, and left out where the one before stands.
func (m *heat) level(every int) {
	end := math.Inf(-1)
	for j := 0; j < len(m.columns); j += every {
		half := width(m.columns[j].label, little) / 2
		x := within(m.left+(float64(j)+0.5)*m.wide, half)
		if x-half > end {
			m.text(x, m.y+15, "small soft mid", m.columns[j].label)
			end = x + half
		}
	}
	m.y += 18
}

// brokenLabels is how many lines the names of columns need within their
// columns; many if a word has no room.
func (m *heat) brokenLabels() int {
	most := 1
	for _, column := range m.columns {
		for _, word := range strings.Fields(column.label) {
			if width(word, little) > m.wide-4 {
				return math.MaxInt
			}
		}
		most = max(most, len(wrap(column.label, little, m.wide-4, math.MaxInt)))
	}
	return most
}

// slanted writes names that are wider than their columns, rising to them.
func (m *heat) slanted(longest float64) {
	const cos, sin = 0.766, 0.643 // of 40 degrees
	every := 1 + int(16/m.wide)
	for j, column := range m.columns {
		if j%every != 0 {
			continue
		}
		x, y := m.left+(float64(j)+0.5)*m.wide+4, m.y+12
		label := squeeze(column.label, little, min(longest, (x-4)/cos))
		m.raw(`<text class="small soft end" transform="rotate(-40 `, px(x), " ", px(y), `)" x="`, px(x), `" y="`, px(y), `">`,
			escaped(label), "</text>\n")
	}
	m.y += longest*sin*0.9 + 14
}

// describe says in words what the map shows.
func (m *heat) describe() {
	head := func(s string) string {
		if s == "" {
			return "names"
		}
		return s
	}
	m.desc = append(m.desc, fmt.Sprintf("Across: %s, %s. Up and down: %s, %s.",
		head(m.headX), counted(len(m.columns), "column", "columns"), head(m.headY), counted(len(m.rows), "row", "rows")))
	if m.values.any {
		m.desc = append(m.desc, fmt.Sprintf("Colour: %s, from %s, light, to %s, dark.",
			head(m.Value.heading(m.scale.unit)), m.scale.text(m.values.lo), m.scale.text(m.values.hi)))
	}
}

func (m *heat) caption() []string {
	var caption []string
	all := len(m.rows) * len(m.columns)
	if m.missing > 0 {
		caption = append(caption, fmt.Sprintf("Hatched: %s of %d cells, whose numbers are refused or absent.", group(fmt.Sprint(m.missing)), all))
	}
	if m.offLog > 0 {
		caption = append(caption, fmt.Sprintf("Hatched: %s of %d cells not above 0, so not on a logarithmic scale.", group(fmt.Sprint(m.offLog)), all))
	}
	if m.everyColumn > 1 {
		caption = append(caption, fmt.Sprintf("One of %d columns is drawn.", m.everyColumn))
	}
	if m.everyRow > 1 {
		caption = append(caption, fmt.Sprintf("One of %d rows is drawn.", m.everyRow))
	}
	if m.Note != "" {
		caption = append(caption, sentence(m.Note))
	}
	return caption
}
