package sweep

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// grid is a small table of text.
type grid struct {
	heads []string
	right []bool // columns of numbers
	rows  [][]string
}

// text writes the grid with its columns under one another.
func (g *grid) text(w io.Writer, indent string) error {
	widths := make([]int, len(g.heads))
	for _, row := range append([][]string{g.heads}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range append([][]string{g.heads}, g.rows...) {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if g.right[i] {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
		}
		if _, err := fmt.Fprintln(w, indent+strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// markdown writes the grid as a table of Markdown.
func (g *grid) markdown(w io.Writer) error {
	rules := make([]string, len(g.heads))
	for i, right := range g.right {
		rules[i] = "---"
		if right {
			rules[i] = "---:"
		}
	}
	for _, row := range append([][]string{g.heads, rules}, g.rows...) {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = escaped(cell)
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// escaped keeps names out of the markup.
func escaped(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "<", "&lt;", "`", "\\`", "\n", " ").Replace(s)
}
