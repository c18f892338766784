package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"brunt/chart"
	"brunt/lab"
	"brunt/measure"
	"brunt/record"
)

// mostTraces is how many requests a page takes apart.
const mostTraces = 100

// mostAttempts is how many of a request are drawn.
const mostAttempts = 12

// drillDown writes a sample of requests, each with its attempts.
func (p *page) drillDown(r *lab.Result) {
	if len(r.Closeups) == 0 {
		return
	}
	p.heading("requests", "Single requests")
	p.element(`p class="caption"`, "A sample, not all: of each composition the slowest that completed, and some, drawn by their number alone, of each way in which requests ended. "+
		"Times count from the intended instant. Behind each attempt stand its outcome, how long it took, and why the stack made it, with the number of the attempt that led to it. Grey strokes are what a cancelled attempt still cost after nobody wanted it. All rows are in requests.parquet and attempts.parquet beside this page: those of request 17 are the ones whose column request is 17."+omitted(r))
	offered := int64(0)
	for i := range drawn(r) {
		offered = max(offered, r.Compositions[i].Whole.Offered)
	}
	p.raw(`<div class="traces" data-requests="`, strconv.FormatInt(offered, 10), "\">\n")
	each := mostTraces / len(drawn(r))
	callees := targetNames(r)
	for i := range drawn(r) {
		near := closeup(r, i)
		if near == nil {
			continue
		}
		p.element("h3", near.Name)
		for _, g := range groups(near.Traced, each) {
			p.raw("<details class=\"traced\"><summary>")
			p.text(g.title)
			p.raw("</summary>\n<div class=\"figures\">\n")
			for _, t := range g.traced {
				p.trace(t, near.Name, callees)
			}
			p.raw("</div></details>\n")
		}
	}
	p.raw("</div>\n")
}

// targetNames returns what requests and attempts call by number. Rows count as
// the study does.
func targetNames(r *lab.Result) []string {
	if len(r.Closeups) > 0 {
		return r.Closeups[0].Dependencies
	}
	return nil
}

// tracedGroup is requests that ended alike.
type tracedGroup struct {
	title  string
	traced []*measure.Traced
}

// groups sorts requests by how they ended, the slowest first, and takes so many
// of each that there are no more than most.
func groups(all []measure.Traced, most int) []tracedGroup {
	var list []tracedGroup
	into := func(title string, t *measure.Traced) {
		i := slices.IndexFunc(list, func(g tracedGroup) bool { return g.title == title })
		if i < 0 {
			i = len(list)
			list = append(list, tracedGroup{title: title})
		}
		list[i].traced = append(list[i].traced, t)
	}
	byEnd := make([]*measure.Traced, len(all))
	for i := range all {
		byEnd[i] = &all[i]
	}
	slices.SortStableFunc(byEnd, func(a, b *measure.Traced) int {
		return cmp.Or(cmp.Compare(a.Request.Outcome, b.Request.Outcome), cmp.Compare(a.Request.Cause, b.Request.Cause))
	})
	for _, t := range byEnd {
		if t.Slow {
			into("The slowest that completed", t)
		}
	}
	for _, t := range byEnd {
		switch q := &t.Request; {
		case t.Slow:
		case q.Outcome == record.Errored:
			into("Errored: "+q.Cause.String(), t)
		default:
			into(upper(q.Outcome.String()), t)
		}
	}
	share := max(most/max(len(list), 1), 1)
	for i := range list {
		g := &list[i]
		if g.traced[0].Slow {
			slices.SortStableFunc(g.traced, func(a, b *measure.Traced) int { return cmp.Compare(b.Request.Latency(), a.Request.Latency()) })
		}
		g.traced = g.traced[:min(len(g.traced), share)]
		g.title += " (" + strconv.Itoa(len(g.traced)) + ")"
	}
	return list
}

// trace writes one request: what became of it, and a waterfall of its attempts. Scripts
// find it by its number.
func (p *page) trace(t *measure.Traced, composition string, callees []string) {
	q := &t.Request
	p.raw(`<div class="trace" data-request="`, strconv.FormatInt(q.Index, 10), `" data-of="`)
	p.text(composition)
	p.raw("\">\n")
	defer p.raw("</div>\n")
	title := "Request " + integer(q.Index) + ", intended at " + duration(q.Intended) + ": " + ended(q)
	if len(t.Attempts) == 0 {
		p.element("p", title+"; no attempt reached a dependency"+submittedWords(q)+".")
		return
	}
	w := chart.Waterfall{Title: title, X: chart.Axis{Unit: chart.Milliseconds},
		Marks: []chart.Mark{{At: float64(q.Latency()) / 1e6, Name: answerWords(q)}}}
	if q.Submitted > q.Intended {
		w.Note = "Submitted " + duration(q.Submitted-q.Intended) + " after its intended instant"
	}
	if n := len(t.Attempts); n > mostAttempts {
		w.Note = strings.TrimPrefix(w.Note+". The first "+strconv.Itoa(mostAttempts)+" of "+attemptsKept(t)+" attempts are drawn", ". ")
	}
	for i := range t.Attempts[:min(len(t.Attempts), mostAttempts)] {
		a := &t.Attempts[i]
		w.Rows = append(w.Rows, chart.Stretch{
			Name: strconv.Itoa(int(a.Index)+1) + " " + calleeName(callees, a.Dependency),
			From: float64(a.Start-q.Intended) / 1e6, To: float64(a.End-q.Intended) / 1e6, After: float64(a.CleanupEnd-q.Intended) / 1e6,
			Fill: attemptFill(a), Text: attemptWords(t, a),
		})
	}
	p.figure(w.Inline(), nil)
}

// attemptsKept says how many attempts there are, of which a closeup keeps the
// first ones.
func attemptsKept(t *measure.Traced) string {
	return integer(max(int64(t.Request.Attempts), int64(len(t.Attempts))))
}

func ended(q *record.Request) string {
	switch q.Outcome {
	case record.Completed:
		return "completed after " + duration(q.Latency())
	case record.Errored:
		return "errored (" + q.Cause.String() + ") after " + duration(q.Latency())
	}
	return "censored at " + duration(q.Latency())
}

func answerWords(q *record.Request) string {
	if q.Outcome == record.Censored {
		return "the horizon"
	}
	return "the caller's answer"
}

func submittedWords(q *record.Request) string {
	if q.Submitted == record.Never {
		return ": the harness shed it"
	}
	if q.Refusals > 0 {
		return ": " + plural(int64(q.Refusals), "refusal", "refusals") + " on the way"
	}
	return ""
}

func calleeName(callees []string, i int32) string {
	if i >= 0 && int(i) < len(callees) {
		return callees[i]
	}
	return "dependency " + strconv.Itoa(int(i))
}

// attemptFill is how an attempt looks, by what became of it.
func attemptFill(a *record.Attempt) chart.Fill {
	switch {
	case a.Cancelled:
		return chart.Fill{Colour: -1, Pattern: chart.Pale}
	case a.Cause == record.None:
		return completedFill
	}
	return fills[a.Cause.String()]
}

// attemptWords say how long an attempt took, what became of it, and why the
// stack made it.
func attemptWords(t *measure.Traced, a *record.Attempt) string {
	words := a.Outcome() + ", " + duration(a.End-a.Start)
	if a.CleanupEnd > a.End {
		words += ", clean-up " + duration(a.CleanupEnd-a.End)
	}
	switch a.Why {
	case record.First:
		words += "; first"
	case record.Retry, record.Fallback, record.Hedge:
		words += "; " + a.Why.String()
		if before := lastBefore(t, a); before != nil {
			switch {
			case before.End <= a.Start && !before.Cancelled && before.Cause != record.None:
				words += ", " + strconv.Itoa(int(before.Index)+1) + ": " + before.Outcome()
			case before.End <= a.Start && before.Cancelled:
				words += ", " + strconv.Itoa(int(before.Index)+1) + " given up"
			case before.End > a.Start:
				words += ", " + duration(a.Start-before.Start) + " after " + strconv.Itoa(int(before.Index)+1)
			}
		}
	}
	if a.Parent >= 0 {
		words += "; by the service of attempt " + strconv.Itoa(int(a.Parent)+1)
	}
	if a.Status > 0 {
		words += "; status " + strconv.Itoa(int(a.Status))
	}
	if a.Wait > 0 {
		words += "; waited " + duration(a.Wait)
	}
	return words
}

// lastBefore is the attempt that began last before another one.
func lastBefore(t *measure.Traced, a *record.Attempt) (before *record.Attempt) {
	for i := range t.Attempts {
		if b := &t.Attempts[i]; b.Index < a.Index && b.Parent == a.Parent && (before == nil || b.Index > before.Index) {
			before = b
		}
	}
	return before
}
