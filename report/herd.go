package report

import (
	"fmt"
	"strconv"
	"strings"

	"brunt/lab"
	"brunt/measure"
)

// histograms are the herds of all compositions, in the same buckets so that
// they compare.
type histograms struct {
	Bucket measure.Millis
	Joined int64 // how many of the result's buckets make one of these
	Herds  []histogram
}

// histogram counts the retries of a composition by the instant at which they
// start.
type histogram struct {
	Name string
	Bars []bar
	Note string // in place of bars that there are not
}

// bar is one bucket, or a gap: so many empty ones.
type bar struct {
	From, To measure.Millis
	Count    int64
	Empty    int64
}

// mostBars is how many lines a histogram may have. Beyond it, buckets are
// joined.
const mostBars = 40

func herdHistograms(r *lab.Result) *histograms {
	hs := &histograms{Joined: 1}
	for i := range r.Compositions {
		h := &r.Compositions[i].Herd
		hs.Joined = max(hs.Joined, joined(h))
		hs.Bucket = h.Bucket
	}
	hs.Bucket *= measure.Millis(hs.Joined)
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		h := histogram{Name: comp.Name, Bars: bars(&comp.Herd, hs.Joined)}
		switch {
		case comp.Herd.Buckets == nil && comp.Herd.Reason != "":
			h.Note = sentence(comp.Herd.Reason)
		case len(h.Bars) == 0:
			h.Note = "No retries."
		}
		hs.Herds = append(hs.Herds, h)
	}
	return hs
}

// caption says what the bars mean when a # stands for so many retries.
func (hs *histograms) caption(each int64) string {
	s := "Retries by the instant at which they start, in buckets of " + millis(hs.Bucket)
	if hs.Joined > 1 {
		s += ", each " + integer(hs.Joined) + " of the study's buckets joined"
	}
	if each == 1 {
		return s + ". A # is one retry."
	}
	return s + ". A # is up to " + integer(each) + " retries."
}

// joined returns how many buckets must be joined to one so that the histogram
// is short enough: 1, 2, 5, 10, 20, …
func joined(h *measure.Herd) int64 {
	for decade := int64(1); decade < 1e12; decade *= 10 {
		for _, step := range []int64{1, 2, 5} {
			if len(bars(h, step*decade)) <= mostBars {
				return step * decade
			}
		}
	}
	return 1e12
}

// bars joins so many neighbouring buckets, and tells of the gaps between.
func bars(h *measure.Herd, factor int64) (list []bar) {
	width := h.Bucket * measure.Millis(factor)
	if width <= 0 {
		return nil
	}
	for _, b := range h.Buckets {
		if b.Retries == 0 {
			continue
		}
		from := b.From - b.From%width
		if n := len(list); n > 0 {
			switch last := &list[n-1]; {
			case last.From == from:
				last.Count += b.Retries
				continue
			case last.To < from:
				list = append(list, bar{From: last.To, To: from, Empty: int64((from - last.To) / width)})
			}
		}
		list = append(list, bar{From: from, To: from + width, Count: b.Retries})
	}
	return list
}

// scale returns how many retries one # stands for, so that the longest bar of
// all has at most so many.
func (hs *histograms) scale(width int) int64 {
	most := int64(1)
	for _, h := range hs.Herds {
		for _, b := range h.Bars {
			most = max(most, b.Count)
		}
	}
	for decade := int64(1); ; decade *= 10 {
		for _, step := range []int64{1, 2, 5} {
			if hashes(most, step*decade) <= int64(width) {
				return step * decade
			}
		}
	}
}

// lines draws a histogram: range, bar, count.
func (h *histogram) lines(each int64) []string {
	edge, longest := 0, int64(0)
	for _, b := range h.Bars {
		edge = max(edge, len(edgeText(b.From)), len(edgeText(b.To)))
		longest = max(longest, hashes(b.Count, each))
	}
	var out []string
	for _, b := range h.Bars {
		if b.Empty > 0 {
			out = append(out, fmt.Sprintf("%*s   %s", edge, "⋮", plural(b.Empty, "empty bucket", "empty buckets")))
			continue
		}
		out = append(out, fmt.Sprintf("%*s – %*s ms  %-*s  %s", edge, edgeText(b.From), edge, edgeText(b.To),
			int(longest), strings.Repeat("#", int(hashes(b.Count, each))), integer(b.Count)))
	}
	return out
}

func edgeText(m measure.Millis) string { return strconv.FormatFloat(inMillis(m), 'f', -1, 64) }

// hashes returns how many # a count has: at least one when it is not 0.
func hashes(n, each int64) int64 { return (n + each - 1) / each }

// herdPeaks is the table of the largest herds.
func herdPeaks(r *lab.Result, c *config) Table {
	b := builder{table: Table{
		Title:   "The largest herds",
		Caption: "The most that start in one bucket of " + herdBucket(r, c) + ". Attempts include first tries; retries are what a retry stage starts.",
		Keys:    1,
	}}
	b.column(compositionHead)
	b.column("Peak retries", counts)
	b.column("Peak attempts", counts)
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		b.row(comp.Name)
		b.cell(num(comp.Herd.RetryPeak))
		b.cell(num(comp.Herd.Peak))
	}
	if s := herdSentence(r, c); s != "" {
		b.note(s)
	}
	return b.finish()
}

func herdBucket(r *lab.Result, c *config) string {
	if len(r.Compositions) > 0 {
		return millis(r.Compositions[0].Herd.Bucket)
	}
	return c.Herd.Bucket.String()
}

// herdSentence compares the largest herd of retries with and without jitter;
// "" when the study has not both.
func herdSentence(r *lab.Result, c *config) string {
	var without, least, most *measure.Composition
	for i := range r.Compositions {
		comp := &r.Compositions[i]
		switch c.spread(comp.Name) {
		case withoutJitter:
			if without == nil || comp.Herd.RetryPeak > without.Herd.RetryPeak {
				without = comp
			}
		case withJitter:
			if least == nil || comp.Herd.RetryPeak < least.Herd.RetryPeak {
				least = comp
			}
			if most == nil || comp.Herd.RetryPeak > most.Herd.RetryPeak {
				most = comp
			}
		}
	}
	if without == nil || least == nil {
		return ""
	}
	s := fmt.Sprintf("Peak herd of retries in one bucket of %s: %s without jitter (%s) → %s with it (%s)",
		herdBucket(r, c), integer(without.Herd.RetryPeak), without.Name, integer(least.Herd.RetryPeak), least.Name)
	if most.Herd.RetryPeak != least.Herd.RetryPeak {
		s = fmt.Sprintf("Peak herd of retries in one bucket of %s: %s without jitter (%s) → from %s (%s) to %s (%s) with it",
			herdBucket(r, c), integer(without.Herd.RetryPeak), without.Name,
			integer(least.Herd.RetryPeak), least.Name, integer(most.Herd.RetryPeak), most.Name)
	}
	return s + "."
}
