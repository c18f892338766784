package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// findings says in sentences what the numbers of a result show. Each sentence
// is made from the numbers alone; one that they do not bear out is left out.
func findings(s *study.Study, r *Result) []string {
	f := finder{study: s, result: r, list: []string{}}
	if r.Kill != nil {
		f.add("%s", r.Kill.sentence())
	} else if r.Aborted {
		f.add("The run was aborted: arrivals stopped early, and every number is about those that had been offered by then.")
	}
	f.instrument()
	f.guests()
	if n := len(r.Repeats); n > 1 {
		f.add("These sentences are about the first of %d runs, seed %d; what all of them show stands in the summary of the repeats.", n, s.Seed)
	}
	for _, t := range s.Tables {
		switch t {
		case study.Outcomes:
			f.phases()
		case study.RecoveryTable:
			f.recovery()
		case study.HerdTable:
			f.herd()
		case study.Providers:
			f.providers()
		}
	}
	f.realFault()
	f.fault()
	f.overload()
	f.ties()
	return f.list
}

type finder struct {
	study  *study.Study
	result *Result
	list   []string
}

func (f *finder) add(format string, args ...any) {
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// instrument warns of gates that failed and were not enforced.
func (f *finder) instrument() {
	var failed []string
	for _, g := range f.result.Gates {
		if g.Applies && !g.Passed && !g.Enforced {
			value := "not measured"
			if g.Value != nil {
				value = strings.TrimSpace(number(*g.Value) + " " + g.Unit)
			}
			failed = append(failed, g.Name+" ("+value+")")
		}
	}
	if len(failed) > 0 {
		f.add("The instrument did not pass %s. The study does not enforce its gates, so the numbers are shown; they are in part about the machine that made the load.", and(failed))
	}
}

// phases tells of each phase in which something is done to a dependency: who
// was served, how hard the dependency was hit, and what it cost in time.
func (f *finder) phases() {
	for i, phase := range f.study.Phases {
		if !faulty(f.study, i) {
			if i == 0 && f.study.CallsReal() {
				f.neverWell(phase.Name)
			}
			continue
		}
		rows := make([]phaseOf, 0, len(f.result.Compositions))
		for c := range f.result.Compositions {
			rows = append(rows, phaseOf{f.result.Compositions[c].Name, &f.result.Compositions[c].Phases[i]})
		}
		rows = equallyOffered(rows)
		if len(rows) > 0 {
			f.served(phase.Name, rows)
			if f.study.Services.Len() == 0 { // else the tiers tell
				f.amplified(phase.Name, rows)
			}
			f.slowed(phase.Name, rows)
		}
	}
}

// neverWell tells of stacks that hardly serve anybody while nothing is done to
// what they call: more likely it is not there, or not what the study takes it for.
func (f *finder) neverWell(phase string) {
	for i := range f.result.Compositions {
		row := phaseOf{f.result.Compositions[i].Name, &f.result.Compositions[i].Phases[0]}
		if row.Offered > 0 && row.Completed*2 < row.Offered {
			f.add("In %s, where nothing is done to anything, %s completed %s%s. Is what it calls there, and does it speak what the study says?",
				phase, row.composition, share(row.Completed, row.Offered), mostly(row))
		}
	}
}

// equallyOffered leaves out those that were offered fewer than others, as when a
// run is aborted, or nothing: counts of them cannot be held against one another.
func equallyOffered(rows []phaseOf) []phaseOf {
	most := int64(0)
	for _, row := range rows {
		most = max(most, row.Offered)
	}
	return slices.DeleteFunc(rows, func(row phaseOf) bool { return row.Offered == 0 || row.Offered < most })
}

// phaseOf is one phase of one composition.
type phaseOf struct {
	composition string
	*measure.Phase
}

func (p phaseOf) amplification() float64 { return float64(p.Attempts) / float64(p.Offered) }

func (f *finder) served(phase string, rows []phaseOf) {
	best := slices.MaxFunc(rows, func(a, b phaseOf) int { return int(a.Completed - b.Completed) })
	worst := slices.MinFunc(rows, func(a, b phaseOf) int { return int(a.Completed - b.Completed) })
	switch {
	case best.Completed == worst.Completed:
		f.add("In %s, %s completed %s.", phase, everyStack(len(rows)), share(worst.Completed, worst.Offered))
		return
	case best.Completed*50 < best.Offered:
		f.add("In %s, hardly anybody was served: %s completed most, %s.", phase, best.composition, share(best.Completed, best.Offered))
		return
	}
	var as []string
	for _, row := range rows {
		if row.Completed == best.Completed {
			as = append(as, row.composition)
		}
	}
	f.add("In %s, %s completed %s; %s completed %s%s.", phase, and(as), share(best.Completed, best.Offered),
		worst.composition, share(worst.Completed, worst.Offered), mostly(worst))
}

func everyStack(n int) string {
	if n == 1 {
		return "the stack"
	}
	return "each stack"
}

// mostly names the cause of most errors.
func mostly(p phaseOf) string {
	var most record.Cause
	for _, c := range record.Causes() {
		if p.Causes[c.String()] > p.Causes[most.String()] {
			most = c
		}
	}
	if most == record.None {
		return ""
	}
	words := map[record.Cause]string{
		record.Circuit: "were refused by the breaker", record.Limiter: "were refused by the limit", record.Rate: "were refused by the rate",
		record.Failure: "failed", record.Timeout: "timed out", record.Harness: "were shed by the harness",
		record.Overload: "found no room", record.Throttle: "were refused by the throttle",
	}
	word, ok := words[most]
	if !ok {
		word = "ended in a " + most.String() + " error"
	}
	return fmt.Sprintf(": %s %s", thousands(p.Causes[most.String()]), word)
}

func (f *finder) amplified(phase string, rows []phaseOf) {
	most := slices.MaxFunc(rows, func(a, b phaseOf) int { return int(a.Attempts - b.Attempts) })
	least := slices.MinFunc(rows, func(a, b phaseOf) int { return int(a.Attempts - b.Attempts) })
	switch {
	case most.amplification() < 1.1 && least.amplification() > 0.9:
	case most.Attempts == least.Attempts:
		f.add("In %s the dependency bore %.2f attempts for each request offered.", phase, most.amplification())
	default:
		f.add("In %s the dependency bore %.2f attempts for each request offered by %s, and %.2f by %s.",
			phase, most.amplification(), most.composition, least.amplification(), least.composition)
	}
}

// slowed compares how long callers of stacks that serve nearly everybody wait.
func (f *finder) slowed(phase string, rows []phaseOf) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(p phaseOf) bool {
		return p.Completed*20 < p.Offered*19 || p.Latency.Completed.P95 == nil
	})
	if len(rows) < 2 {
		return
	}
	by := func(a, b phaseOf) int { return int(*a.Latency.Completed.P95 - *b.Latency.Completed.P95) }
	fast, slow := slices.MinFunc(rows, by), slices.MaxFunc(rows, by)
	if *slow.Latency.Completed.P95 < 2**fast.Latency.Completed.P95 {
		return
	}
	f.add("In %s, %s answered 95 %% of the completed requests within %s and %s within %s, at %.2f and %.2f attempts a request.", phase,
		fast.composition, span(*fast.Latency.Completed.P95), slow.composition, span(*slow.Latency.Completed.P95),
		fast.amplification(), slow.amplification())
}

func (f *finder) recovery() {
	if f.study.Recovery.CleanWindow == 0 || f.result.Aborted || len(f.result.Compositions) == 0 {
		return
	}
	// Nobody recovers from what is still going on, nor from what another detector tells of.
	if faulty(f.study, f.study.RecoveryPhase()) || f.study.Fault != nil {
		return
	}
	var well, unwell []string
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		left := ""
		for j := range c.Phases {
			if p := &c.Phases[j]; p.Name == c.Recovery.Phase && p.Errored+p.Censored > 0 {
				left = fmt.Sprintf(" (%s of its requests did not complete)", thousands(p.Errored+p.Censored))
			}
		}
		if t := c.Recovery.CleanWindow; t != nil {
			well = append(well, c.Name+" after "+span(*t)+left)
		} else {
			unwell = append(unwell, c.Name+left)
		}
	}
	phase, window := f.result.Compositions[0].Recovery.Phase, duration(f.study.Recovery.CleanWindow)
	if len(well) > 0 {
		f.add("Callers were well again in %s: %s.", phase, strings.Join(well, "; "))
	}
	if len(unwell) > 0 {
		f.add("Callers were not well again in %s, in no window of %s: %s.", phase, window, strings.Join(unwell, "; "))
	}
}

// fault tells how long each stack took to come back from the study's fault.
func (f *finder) fault() {
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		if c.Recovery.Goodput == nil || c.Recovery.Goodput.PreFault.Baseline.Goodput == nil {
			continue
		}
		against := c.Recovery.Goodput.PreFault
		level := percent(against.Baseline.Good, against.Baseline.Scheduled)
		switch d := against.Detection; d.Status {
		case measure.Recovered:
			label := ""
			if against.Label != "" {
				label = " (" + against.Label + ")"
			}
			f.add("%s was back at its pre-fault level, a goodput of %s, %s after the fault began%s.", c.Name, level, span(*d.Time), label)
		case measure.HoldIncomplete:
			f.add("%s came back to its pre-fault level, a goodput of %s, at %s after the fault began, but observation ended inside the hold: it is not known to have stayed.", c.Name, level, span(*d.Candidate))
		default:
			f.add("%s was not back at its pre-fault level, a goodput of %s, by the end of observation.", c.Name, level)
		}
	}
}

func (f *finder) herd() {
	if len(f.result.Compositions) == 0 {
		return
	}
	by := func(a, b measure.Composition) int { return int(a.Herd.RetryPeak - b.Herd.RetryPeak) }
	most, least := slices.MaxFunc(f.result.Compositions, by), slices.MinFunc(f.result.Compositions, by)
	if most.Herd.RetryPeak == 0 {
		return
	}
	var retries int64
	for _, b := range most.Herd.Buckets {
		retries += b.Retries
	}
	of := ""
	if retries > 0 {
		of = " of " + thousands(retries)
	}
	bucket := span(most.Herd.Bucket)
	if most.Herd.RetryPeak == least.Herd.RetryPeak {
		f.add("At most %s%s retries arrive in one bucket of %s.", thousands(most.Herd.RetryPeak), of, bucket)
		return
	}
	f.add("With %s, %s%s retries arrive in one bucket of %s; with %s at most %s do.",
		most.Name, thousands(most.Herd.RetryPeak), of, bucket, least.Name, thousands(least.Herd.RetryPeak))
}

// ties names the plainest artefact, says how many more there are, and what
// makes them.
func (f *finder) ties() {
	t := f.result.Ties
	if t == nil || len(t.Artefacts) == 0 {
		return
	}
	plainest := slices.MaxFunc(t.Artefacts, func(a, b Artefact) int { return cmp.Compare(a.plainness(), b.plainness()) })
	more := ""
	if n := len(t.Artefacts) - 1; n > 0 {
		more = fmt.Sprintf(" %d more numbers hang on timing as well: see the table of artefacts.", n)
	}
	f.add("Artefact of ties: %s; when each submission moves by up to %v ms it is %s to %s.%s", plainest.sentence(), t.Noise,
		number(plainest.Least), number(plainest.Most), more)
	if why := f.probeGrid(plainest.Composition); why != "" && f.refusals(&plainest) {
		f.add("%s", why)
	}
}

// refusals reports whether a breaker refused anything where the artefact is: if
// not, it is something else that hangs on ties.
func (f *finder) refusals(a *Artefact) bool {
	for i := range f.result.Compositions {
		c := &f.result.Compositions[i]
		if c.Name == a.Composition {
			return numberOf(c, a.Phase, "errored.circuit").Value > 0
		}
	}
	return false
}

// plainness ranks artefacts: errors before all else, then by how far the
// number lies outside of what the noisy runs gave.
func (a *Artefact) plainness() float64 {
	apart := max(a.Least-a.Value, a.Value-a.Most, 0) + 1
	if a.Measure == "errored" {
		apart *= 1e6
	}
	return apart
}

func (a *Artefact) sentence() string {
	switch a.Measure {
	case "submitted.p95":
		return fmt.Sprintf("the p95 of %s in %s is %s ms", a.Composition, a.Phase, number(a.Value))
	case "recovery":
		return fmt.Sprintf("the recovery of %s takes %s ms", a.Composition, number(a.Value))
	}
	what := map[string]string{"errored": "errored requests", "censored": "censored requests", "attempts": "attempts"}[a.Measure]
	return fmt.Sprintf("the number of %s of %s in %s is %s", what, a.Composition, a.Phase, number(a.Value))
}

// probeGrid explains ties that a breaker makes on an even grid of arrivals.
func (f *finder) probeGrid(composition string) string {
	stack, _ := f.study.Compositions.Get(composition)
	rate := f.study.Rate(0)
	for _, stage := range stack {
		if stage.Breaker == nil || rate.IsZero() {
			continue
		}
		gap := rate.Instant(1)
		openFor := duration(stage.Breaker.OpenFor)
		if gap == 0 || stage.Breaker.OpenFor%gap != 0 {
			return fmt.Sprintf("Why: a breaker decides on single calls (which one is the last failure, which one is the probe), and where its cycle of %s stands when a phase begins decides on up to %s of refusals.", openFor, openFor)
		}
		return fmt.Sprintf("Why: the breaker is open for %s, a whole number of the %s between arrivals, so an arrival falls on the very instant at which a probe is let in. A fraction of a millisecond makes it a refusal, and the next arrival the probe. Such shifts add up over the cycles, and where the last one stands when the dependency is well again decides on up to %s of refusals.", openFor, duration(gap), openFor)
	}
	return ""
}

// and joins names as a sentence does.
func and(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// share writes a part of a whole: "all 3,000", "no", "1,600 of 3,000 (53.3 %)".
func share(part, whole int64) string {
	switch part {
	case whole:
		return "all " + thousands(whole) + " requests"
	case 0:
		return "none of " + thousands(whole) + " requests"
	}
	return fmt.Sprintf("%s of %s requests (%s)", thousands(part), thousands(whole), percent(part, whole))
}

// percent writes a share so that it is never rounded to 0 or 100 %.
func percent(part, whole int64) string {
	p := 100 * float64(part) / float64(whole)
	text := strconv.FormatFloat(p, 'f', 1, 64)
	switch {
	case text == "0.0" && part > 0:
		return "under 0.1 %"
	case text == "100.0" && part < whole:
		return "over 99.9 %"
	}
	return text + " %"
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func number(v float64) string {
	if v == float64(int64(v)) {
		return thousands(int64(v))
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// span writes a measured duration for a sentence: 250 ms, 1.18 s.
func span(d measure.Millis) string { return duration(time.Duration(d)) }

func duration(t time.Duration) string {
	switch {
	case t < time.Millisecond:
		return strconv.FormatFloat(float64(t)/1e6, 'f', -1, 64) + " ms"
	case t < time.Second:
		return strconv.FormatFloat(float64(t.Round(100*time.Microsecond))/1e6, 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(float64(t.Round(time.Millisecond))/1e9, 'f', -1, 64) + " s"
}
