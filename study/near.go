package study

import (
	"fmt"
	"strings"
)

// longestName is the longest name that a study may give to anything.
const longestName = 64

// suggest names the candidate that a mistyped name is nearest to, or all of
// them when none is near.
func suggest(name string, candidates []string) string {
	if near := nearest(name, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	const most = 20
	switch {
	case len(candidates) == 0:
		return "expected nothing here: there is none"
	case len(candidates) > most:
		return "expected one of " + strings.Join(candidates[:most], ", ") + ", …"
	}
	return "expected one of " + strings.Join(candidates, ", ")
}

// nearest returns the candidate within a third of the name's length in edits
// (insert, delete, replace, swap neighbours), or "".
func nearest(name string, candidates []string) string {
	if len(name) > longestName {
		return ""
	}
	best, least := "", (len(name)+2)/3+1
	for _, c := range candidates {
		if len(c) > longestName {
			continue
		}
		if d := edits(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// edits is the optimal string alignment distance of two short names.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
