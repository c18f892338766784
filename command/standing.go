package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"brunt/lab"
)

// block is how a run stands, in lines of so many columns at the most.
func block(u lab.Progress, columns int) []string {
	items := counts(u)
	if u.Warmup {
		items = []string{rate(u)}
	} else {
		items = append(items, "phase "+u.Phase)
	}
	lines := []string{bar(u, columns)}
	return append(lines, wrap(append(items, upcoming(u)), "  ", " · ", columns)...)
}

// barColumns is how long a bar is, without its ends.
const barColumns = 24

// bar shows how far a stage is.
func bar(u lab.Progress, columns int) string {
	share := 1.0
	if u.Length > 0 && (!u.Drains || u.Aborted) { // the last request may arrive before the schedule is over
		share = min(max(float64(u.At)/float64(u.Length), 0), 1)
	}
	tail := fmt.Sprintf(" %d %% %v of %v", int(share*100), whole(u.At), whole(u.Length))
	if u.Aborted {
		tail += ", aborted"
	}
	name := printable(stage(u))
	if columnsOf(name)+columnsOf(tail)+barColumns+3 <= columns {
		full := int(share * barColumns)
		tail = " [" + strings.Repeat("=", full) + strings.Repeat("-", barColumns-full) + "]" + tail
	}
	return clip(clip(name, max(columns-columnsOf(tail), 8))+tail, columns)
}

// counts tells of arrivals, of what is in flight, and of what came of the rest.
func counts(u lab.Progress) []string {
	return []string{
		rate(u), thousands(u.InFlight) + " in flight",
		thousands(u.Completed) + " completed", thousands(u.Errored) + " errored", thousands(u.Censored) + " censored", thousands(u.Shed) + " shed",
		thousands(u.Attempts) + " attempts, " + thousands(u.Active) + " open",
	}
}

func rate(u lab.Progress) string {
	places := 0
	if u.Rate != 0 && u.Rate < 9.95 {
		places = 1
	}
	return strconv.FormatFloat(u.Rate, 'f', places, 64) + "/s arrive"
}

// upcoming tells what changes next.
func upcoming(u lab.Progress) string {
	switch {
	case u.Drains && u.Next == "":
		return "draining"
	case u.Next == "":
		return "next: draining"
	}
	return fmt.Sprintf("next: %s in %v", u.Next, u.NextIn.Round(time.Second))
}

// whole leaves whole seconds, or all that a shorter time has.
func whole(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// wrap joins items into lines of so many columns at the most, each begun by an
// indent. An item that is longer than a line is clipped.
func wrap(items []string, indent, between string, columns int) []string {
	var lines []string
	line := ""
	for _, item := range items {
		item = printable(item)
		switch {
		case line == "":
		case columnsOf(line)+columnsOf(between)+columnsOf(item) <= columns:
			line += between + item
			continue
		default:
			lines = append(lines, line)
		}
		line = clip(indent+item, columns)
	}
	return append(lines, line)
}

// clip shortens a text to so many columns.
func clip(text string, columns int) string {
	if columnsOf(text) <= columns {
		return text
	}
	used := 1 // the dots
	for i, r := range text {
		if used += columnsOf(string(r)); used > columns {
			return text[:i] + "…"
		}
	}
	return text
}

// columnsOf is how many columns a text takes, at most: those of wide scripts take
// two for each sign.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r >= 0x1100 && r != '…' {
			n++
		}
	}
	return n
}

// printable takes out of a text what would move the cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
}
