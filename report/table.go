package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a table as plain data. Every format is written from it.
type Table struct {
	Title   string
	Caption string   // what the columns mean
	Head    []string // names of the columns
	Align   []Align  // of the columns
	Keys    int      // the leading columns that say what a row is about
	Grouped bool     // rows with the same first cell belong together
	Brief   int      // a terminal shows so many rows; 0 for all
	Rows    [][]Cell
	Notes   []string // footnotes, and what else there is to say below it
}

// Align says to which side a column leans.
type Align uint8

// The sides.
const (
	Left Align = iota
	Right
)

// Cell is one cell: usually one text, or several that belong together, such
// as p95 and p99.
type Cell struct {
	Parts []string
	Tone  Tone
}

// String returns the cell as one text.
func (c Cell) String() string { return strings.Join(c.Parts, partSeparator) }

const partSeparator = " / "

// Tone is how a text feels. It never says anything that the text does not.
type Tone uint8

// The tones.
const (
	Plain Tone = iota
	Good
	Bad
)

// value is one part of a cell before its column is known: a number, or words
// in its place.
type value struct {
	number float64
	words  string
}

func num[T int64 | float64](v T) value { return value{number: float64(v)} }

// builder makes a table row by row. Numbers are written in the end, when a
// column's neediest number is known.
type builder struct {
	table Table
	forms [][]form // by column, by part
	rows  [][][]value
	tones []map[int]Tone
	feet  []string
}

// column adds a column: of text when no form is given, else of numbers, with
// a form for each part.
func (b *builder) column(name string, forms ...form) {
	align := Right
	if len(forms) == 0 {
		align = Left
	}
	b.table.Head = append(b.table.Head, name)
	b.table.Align = append(b.table.Align, align)
	b.forms = append(b.forms, forms)
}

// row begins a row with its texts; cells follow.
func (b *builder) row(texts ...string) {
	b.rows = append(b.rows, nil)
	b.tones = append(b.tones, nil)
	for _, s := range texts {
		b.cell(value{words: s})
	}
}

// cell adds a cell to the last row.
func (b *builder) cell(parts ...value) {
	last := &b.rows[len(b.rows)-1]
	*last = append(*last, parts)
}

// tone sets the tone of the cell that was added last.
func (b *builder) tone(t Tone) {
	last := len(b.rows) - 1
	if b.tones[last] == nil {
		b.tones[last] = map[int]Tone{}
	}
	b.tones[last][len(b.rows[last])-1] = t
}

// refused returns words that stand in a number's place, with a footnote when
// there is a reason to give.
func (b *builder) refused(words, reason string) value {
	return value{words: words + b.foot(reason)}
}

// foot returns the mark of a footnote. The same reason has one footnote.
func (b *builder) foot(reason string) string {
	if reason == "" {
		return ""
	}
	i := slices.Index(b.feet, reason)
	if i < 0 {
		i = len(b.feet)
		b.feet = append(b.feet, reason)
	}
	return superscript(i + 1)
}

// note adds a note below the table, once.
func (b *builder) note(s string) {
	if !slices.Contains(b.table.Notes, s) {
		b.table.Notes = append(b.table.Notes, s)
	}
}

var superscripts = []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")

func superscript(n int) string {
	var b strings.Builder
	for _, digit := range strconv.Itoa(n) {
		b.WriteRune(superscripts[digit-'0'])
	}
	return b.String()
}

// finish writes the numbers and returns the table.
func (b *builder) finish() Table {
	t := b.table
	t.Rows = make([][]Cell, len(b.rows))
	for i := range t.Rows {
		t.Rows[i] = make([]Cell, len(t.Head))
	}
	for c := range t.Head {
		b.finishColumn(c, t.Rows)
	}
	var feet []string
	for i, reason := range b.feet {
		feet = append(feet, superscript(i+1)+" "+sentence(reason))
	}
	t.Notes = append(feet, t.Notes...)
	return t
}

func (b *builder) finishColumn(c int, rows [][]Cell) {
	forms := b.forms[c]
	decimals := make([]int, len(forms))
	grouped := false
	for _, row := range b.rows {
		for p, v := range row[c] {
			if v.words == "" && p < len(forms) {
				decimals[p] = max(decimals[p], forms[p].decimals(v.number))
				grouped = grouped || math.Abs(v.number) >= groupFrom
			}
		}
	}
	for r, row := range b.rows {
		parts := make([]string, len(row[c]))
		for p, v := range row[c] {
			switch {
			case v.words != "":
				parts[p] = v.words
			case p < len(forms):
				parts[p] = forms[p].write(v.number, decimals[p], grouped)
			}
		}
		rows[r][c] = Cell{Parts: parts, Tone: b.tones[r][c]}
	}
}

// sentence returns words as a sentence: with a capital letter and a full stop.
// A first word that is a name, such as p95 or p99-CI, stays as it is.
func sentence(s string) string {
	s = stopped(s)
	if first, _, _ := strings.Cut(s, " "); isWord(strings.TrimRight(first, ".,:;!?")) {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// isWord reports whether a word is of small letters, as one in a sentence is;
// a name has others in it.
func isWord(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz-'’") == ""
}

// stopped returns words with a full stop. Their first may be a name, and stays
// as it is.
func stopped(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}
