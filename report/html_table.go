package report

import "strings"

// table writes a table under a heading of its own, unless it has the same as
// the section. Its columns say on hover, and in a fold below, what they mean.
func (p *page) table(t *Table, under string) {
	title := t.Title
	if title != "" && title != under {
		p.element("h4", title)
	}
	if title == "" {
		title = under
	}
	if t.Caption != "" {
		p.element(`p class="caption"`, t.Caption)
	}
	if len(t.Rows) > 0 {
		p.rows(t, title)
	}
	for _, n := range t.Notes {
		p.element(`p class="notes"`, n)
	}
	p.terms(t.Head)
}

func (p *page) rows(t *Table, title string) {
	sortable := ""
	if len(t.Rows) > 1 {
		sortable = " sortable"
	}
	p.raw(`<div class="scroll"><table class="data`, sortable, `" aria-label="`)
	p.text(title)
	p.raw("\">\n<thead><tr>")
	for c, name := range t.Head {
		p.raw(`<th scope="col"`, side(t.Align[c] == Right))
		if words := meaning(name); words != "" {
			p.raw(` title="`)
			p.text(words)
			p.raw(`"`)
		}
		p.raw(">")
		p.text(name)
		p.raw("</th>")
	}
	p.raw("</tr></thead>\n<tbody>\n")
	before := ""
	for i, row := range t.Rows {
		group := row[0].String()
		switch {
		case t.Grouped && i > 0 && group != before:
			p.raw("<tr class=\"first\">")
		default:
			p.raw("<tr>")
		}
		for c, cell := range row {
			p.cell(t, c, cell, t.Grouped && c == 0 && i > 0 && group == before)
		}
		p.raw("</tr>\n")
		before = group
	}
	p.raw("</tbody>\n</table></div>\n")
}

func (p *page) cell(t *Table, c int, cell Cell, again bool) {
	tag := "td"
	open := "td"
	if c < t.Keys {
		tag, open = "th", `th scope="row"`
	}
	var classes []string
	if t.Align[c] == Right {
		classes = append(classes, "n")
	}
	if again {
		classes = append(classes, "again")
	}
	switch cell.Tone {
	case Good:
		classes = append(classes, "good")
	case Bad:
		classes = append(classes, "bad")
	}
	if classes != nil {
		open += ` class="` + strings.Join(classes, " ") + `"`
	}
	p.raw("<", open, ">")
	p.text(cell.String())
	p.raw("</", tag, ">")
}

// terms lists what columns mean, for those who cannot hover.
func (p *page) terms(head []string) {
	any := false
	for _, name := range head {
		words := meaning(name)
		if words == "" {
			continue
		}
		if !any {
			p.raw("<details><summary>What the columns mean</summary>\n<dl class=\"terms\">\n")
			any = true
		}
		p.raw("<dt>")
		p.text(name)
		p.raw("</dt><dd>")
		p.text(words)
		p.raw("</dd>\n")
	}
	if any {
		p.raw("</dl></details>\n")
	}
}

// meaning says what a column holds; nothing for one that its table explains.
func meaning(head string) string {
	if words := meanings[head]; words != "" {
		return words
	}
	for _, b := range begins {
		if strings.HasPrefix(head, b.with) {
			return b.words
		}
	}
	return ""
}

// meanings are of columns by their names.
var meanings = map[string]string{
	compositionHead:                    "The stack of policies, by its name in the study.",
	phaseHead:                          "Requests belong to the phase of their intended instant, also when they end later.",
	"Configuration":                    "The stack of policies, by its name in the study.",
	"Offered":                          "Requests that the schedule intended, whatever became of them.",
	"Success / failed / censored":      "How the offered requests ended: completed, with an error or a refusal, or without an outcome by the horizon.",
	"p95 ms":                           "The time from the intended instant to any outcome that 95 % of the submitted requests did not exceed. An instant refusal counts as fast.",
	"p99 ms":                           "The time from the intended instant to any outcome that 99 % of the submitted requests did not exceed. An instant refusal counts as fast.",
	"p50 ms":                           "The time from the intended instant to any outcome that half of the submitted requests did not exceed.",
	"Success p99 ms":                   "The 99th percentile of the latency of the completed requests alone: conditional on completion.",
	"Done p95 ms":                      "The time by which 95 % of all offered requests had completed; never, where too many errored for that.",
	"Lag p99 ms":                       "How much later than intended requests were submitted.",
	"Submitted / admitted":             "Requests that the harness let in, and those of which at least one attempt began.",
	"Attempts":                         "Calls that reached a dependency.",
	"per offered":                      "Attempts for each offered request: the amplification.",
	"per admitted":                     "Attempts for each request of which at least one began.",
	"Recovery ms":                      "From the start of the phase to the end of its first clean window, in which every request completes.",
	"Cancelled attempts":               "Attempts that nobody wanted any more while they were under way.",
	"Losers pending":                   "Attempts still open when their caller had its answer.",
	"Clean-up p99 / max ms":            "How long an attempt outlives the answer of its caller.",
	"Peak requests / attempts":         "The most that were in flight at once.",
	"Active after drain":               "Attempts that were left at the end; always 0 in a sound run.",
	"Retry peak":                       "The most retries that start within one bucket.",
	"Success":                          "Requests that complete, of those offered, in the whole run.",
	"Success in outage":                "Of the requests that were intended while a dependency is dead.",
	"Cost":                             "Of all attempts, also of those in vain, in the study's unit.",
	"Verdict":                          "What became of it.",
	"Limit":                            "What the measured value must keep to.",
	"Measured":                         "The value of this run.",
	"Expected":                         "What the study asks for.",
	"Measure":                          "Which number it is about.",
	"Goodput before":                   "The share of requests that were good before the trigger.",
	"Then / least later":               "Goodput of the window that starts a hold after the trigger, and the least of any later one.",
	"Back after ms":                    "From the end of the trigger to the first window that came back for good.",
	"Wasted":                           "Work on answers that nobody waited for any more.",
	"Load cut":                         "The least part of the load that must stay away for a while for goodput to come back.",
	"This run":                         "The number as this run has it.",
	"With noise":                       "What it was in runs whose submissions were moved a little.",
	"Deficit s":                        "What goodput lacked to its baseline until it recovered, in seconds of a full outage.",
	"Recovered after":                  "From the fire of the fault to the first window that is well and stays so for a hold.",
	"Degraded again":                   "How often goodput fell below exit after it had recovered.",
	"Cancelled candidates":             "Windows that were well, and did not stay so for a hold.",
	"Goodput there":                    "The share of requests that were good in the baseline.",
	"From / to":                        "Where it begins and ends, from the start of the run.",
	"Middle":                           "The mean over the repeats, or the median where the tail is heavy.",
	"Interval / range":                 "The 95 % t-interval of a mean, or the range of a median.",
	"Completed / errored / censored":   "How the offered requests ended.",
	"Utilisation":                      "Busy time of the workers over all their time.",
	"Of completed: p50 / p95 / p99 ms": "Latency of the completed requests alone: conditional on completion.",
}

// begins are of columns whose names go on with names from the study.
var begins = []struct{ with, words string }{
	{"Refused: ", "Requests that a stage or the harness refused, by what refused them."},
	{"Failed: ", "Requests that failed otherwise, by cause."},
	{"Calls to dead ", "Attempts that start there while no attempt can succeed."},
	{"Served by ", "Requests that it completed."},
	{"Done by p", "The time by which so many of all offered requests had completed."},
	{"Seed ", "The value in the repeat with this seed."},
}
