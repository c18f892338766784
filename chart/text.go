package chart

import (
	"strings"
	"unicode"
)

// width is how many pixels a line of text takes at most, at a size. The
// reader's font is not known, so it is taken from the widest of the usual
// ones (Verdana, DejaVu Sans): what has room by this has room.
func width(s string, size float64) float64 {
	var ems float64
	for _, r := range s {
		ems += advance(r)
	}
	return ems * size
}

func advance(r rune) float64 {
	switch {
	case strings.ContainsRune("iljI.,:;'|!", r):
		return 0.37
	case strings.ContainsRune("ftr-()[] /", r):
		return 0.43
	case strings.ContainsRune("mwMW@%…", r):
		return 1.0
	case r >= 0x1100 || r < ' ':
		// Letters as wide as high, symbols, and what stands for a letter that XML
		// cannot hold.
		return 1.1
	case unicode.IsUpper(r):
		return 0.76
	}
	return 0.64
}

// shorten cuts a line of text to a width. The chart's own tooltip or
// description holds the whole.
func shorten(s string, size, room float64) string {
	if width(s, size) <= room {
		return s
	}
	room -= width("…", size)
	for i, r := range s {
		if room -= advance(r) * size; room < 0 {
			if i == 0 {
				return ""
			}
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// squeeze cuts the middle of a line of text to a width: of the path of a
// setting the end says most.
func squeeze(s string, size, room float64) string {
	if width(s, size) <= room {
		return s
	}
	letters := []rune(s)
	head, tail := 0, len(letters)
	room -= width("…", size)
	for head < tail {
		// The tail gets two letters for each of the head.
		next := letters[tail-1]
		if (len(letters)-tail)/2 > head {
			next = letters[head]
		}
		if room -= advance(next) * size; room < 0 {
			break
		}
		if (len(letters)-tail)/2 > head {
			head++
		} else {
			tail--
		}
	}
	return string(letters[:head]) + "…" + string(letters[tail:])
}

// wrap breaks text into at most so many lines of a width, between words.
func wrap(s string, size, room float64, most int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case width(line+" "+word, size) <= room || len(lines) == most-1:
			line += " " + word
		default:
			lines = append(lines, shorten(line, size, room))
			line = word
		}
	}
	if line != "" {
		lines = append(lines, shorten(line, size, room))
	}
	return lines
}
