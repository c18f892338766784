package report

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// columnGap is the space between two columns.
const columnGap = 2

// mostHeadLines is how tall the head of a table may be.
const mostHeadLines = 4

// grid is a table made ready for a terminal: the parts of each cell are
// aligned below one another, and heads are broken into lines.
type grid struct {
	table  *Table
	head   []string // lines joined with \n
	body   [][]string
	widths []int
}

func newGrid(t *Table, rows [][]Cell) *grid {
	g := &grid{table: t, body: make([][]string, len(rows))}
	for i := range rows {
		g.body[i] = make([]string, len(t.Head))
	}
	for c := range t.Head {
		width := g.align(c, rows)
		head, headWidth := breakHead(clean(t.Head[c]), width)
		g.head = append(g.head, head)
		g.widths = append(g.widths, max(width, headWidth))
	}
	return g
}

// align lays out a column and returns its width.
func (g *grid) align(c int, rows [][]Cell) (width int) {
	var parts []int
	for _, row := range rows {
		if cell := row[c]; len(cell.Parts) > 1 {
			for p, s := range cell.Parts {
				if p == len(parts) {
					parts = append(parts, 0)
				}
				parts[p] = max(parts[p], displayed(clean(s)))
			}
		}
	}
	for r, row := range rows {
		laid := make([]string, len(row[c].Parts))
		for p, s := range row[c].Parts {
			s = clean(s)
			if len(laid) > 1 {
				s = strings.Repeat(" ", parts[p]-displayed(s)) + s
			}
			laid[p] = s
		}
		g.body[r][c] = strings.Join(laid, partSeparator)
		width = max(width, displayed(g.body[r][c]))
	}
	return width
}

// breakHead breaks a head into lines no wider than its column, or else into
// as many lines as a head may have.
func breakHead(s string, column int) (head string, width int) {
	// a separator stays at the end of its line
	const glue = "\x00"
	s = strings.ReplaceAll(s, partSeparator, strings.Replace(partSeparator, " ", glue, 1))
	var lines []string
	for width = max(column, 1); ; width++ {
		lines = wrap(s, width)
		if len(lines) <= mostHeadLines {
			break
		}
	}
	width = 0
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(l, glue, " ")
		width = max(width, displayed(lines[i]))
	}
	return strings.Join(lines, "\n"), width
}

// split divides the columns into as few tables as fit a width, and into tables
// of much the same width. Each begins with the keys.
func (g *grid) split(width int) [][]int {
	pieces := g.fill(width)
	for narrower := width - 1; len(pieces) > 1 && narrower > 0; narrower-- {
		even := g.fill(narrower)
		if len(even) > len(pieces) {
			break
		}
		pieces = even
	}
	return pieces
}

// fill puts as many columns into each table as fit a width, and at least one.
func (g *grid) fill(width int) (pieces [][]int) {
	keys := min(g.table.Keys, len(g.widths))
	var start []int
	used := 0
	for c := range keys {
		start = append(start, c)
		used += g.widths[c] + columnGap
	}
	piece, free := start, width-used
	for c := keys; c < len(g.widths); c++ {
		if len(piece) > keys && g.widths[c] > free {
			pieces = append(pieces, piece)
			piece, free = start, width-used
		}
		piece = append(piece[:len(piece):len(piece)], c)
		free -= g.widths[c] + columnGap
	}
	return append(pieces, piece)
}

// table writes a table with its caption and its notes.
func (t *terminal) table(tab *Table, under string) {
	if tab.Title != "" && tab.Title != under {
		t.line(indent + t.paint(clean(tab.Title), bold))
	}
	if tab.Caption != "" {
		t.prose(indent, tab.Caption, faint)
	}
	rows := tab.Rows
	if tab.Brief > 0 && len(rows) > tab.Brief {
		rows = rows[:tab.Brief]
	}
	g := newGrid(tab, rows)
	pieces := g.split(t.width - len(indent))
	if len(rows) == 0 { // the notes say all
		pieces = nil
	}
	for _, piece := range pieces {
		t.line("")
		for l := range strings.Lines(t.render(g, piece, rows)) {
			t.line(indent + strings.TrimRight(l, "\n"))
		}
	}
	if more := int64(len(tab.Rows) - len(rows)); more > 0 {
		t.line(indent + "and " + integer(more) + " more in report.md")
	}
	if len(tab.Notes) > 0 {
		t.line("")
	}
	for _, n := range tab.Notes {
		t.prose(indent, n, "")
	}
}

// render draws some columns of a grid.
func (t *terminal) render(g *grid, columns []int, rows [][]Cell) string {
	w := table.NewWriter()
	w.SetStyle(gridStyle)
	head := make(table.Row, len(columns))
	var configs []table.ColumnConfig
	for i, c := range columns {
		head[i] = g.head[c]
		align := text.AlignLeft
		if g.table.Align[c] == Right {
			align = text.AlignRight
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align, VAlignHeader: text.VAlignBottom})
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(configs)
	grouped := g.table.Grouped && repeats(g.body)
	for r, cells := range g.body {
		row := make(table.Row, len(columns))
		again := grouped && r > 0 && g.body[r-1][0] == cells[0]
		if grouped && r > 0 && !again {
			w.AppendRow(emptyRow(len(columns)))
		}
		for i, c := range columns {
			row[i] = t.tone(cells[c], rows[r][c].Tone)
			if again && c == 0 {
				row[i] = ""
			}
		}
		w.AppendRow(row)
	}
	return w.Render()
}

// emptyRow is the line between two groups.
func emptyRow(columns int) table.Row {
	row := make(table.Row, columns)
	for i := range row {
		row[i] = ""
	}
	return row
}

// repeats reports whether any group has more than one row.
func repeats(body [][]string) bool {
	for r := 1; r < len(body); r++ {
		if body[r][0] == body[r-1][0] {
			return true
		}
	}
	return false
}

// gridStyle has one line, below the head, and space between columns.
var gridStyle = table.Style{
	Name: "brunt",
	Box: table.BoxStyle{
		MiddleHorizontal: "─",
		MiddleSeparator:  "─",
		MiddleVertical:   "",
		PaddingRight:     strings.Repeat(" ", columnGap),
	},
	Format:  table.FormatOptions{Header: text.FormatDefault, Row: text.FormatDefault},
	Options: table.Options{SeparateHeader: true},
}
