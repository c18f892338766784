package measure

import (
	"errors"
	"fmt"

	"brunt/record"
)

// Composition makes the numbers of the composition from the rows so far. It
// changes nothing, and may be called again.
//
// It returns an error when the rows contradict themselves: a request without a
// row or with two, a sum that is not conserved, an attempt that never ended.
func (r *Recorder) Composition(name string) (Composition, error) {
	if err := r.checkRows(); err != nil {
		return Composition{}, fmt.Errorf("measuring %s: %w", name, err)
	}
	scratch := make([]int64, 0, len(r.packed))
	c := Composition{
		Name:                 name,
		Timeline:             r.timeline(scratch),
		Recovery:             r.recovery(),
		Cancelled:            r.cancelled,
		LosersPending:        r.pending,
		Peak:                 r.peak,
		ActiveAfterDrain:     r.active,
		AttemptsByStartPhase: r.byStartPhase(),
		Herd:                 r.herdOf(),
		Capacity:             r.capacity(scratch),
		Breakers:             r.breakersOf(),
	}
	var err error
	if c.Stability, err = r.stability(); err != nil {
		return Composition{}, fmt.Errorf("measuring %s: %w", name, err)
	}
	rest := r.packed
	for i := range r.phases {
		t := &r.phases[i]
		c.Phases = append(c.Phases, r.phase(r.plan.Phases[i], t, rest[:t.offered], scratch, "in this phase"))
		rest = rest[t.offered:]
	}
	spans := r.plan.Phases
	span := Span{Name: "whole", From: spans[0].From, To: spans[len(spans)-1].To}
	c.Whole = r.phase(span, r.whole(), r.packed, scratch, "in the run")
	c.Cleanup = tailOf(r.cleanup.appendTo(scratch), r.attempts, "no attempt was made")
	if err := r.conserved(&c); err != nil {
		return Composition{}, fmt.Errorf("measuring %s: %w", name, err)
	}
	return c, nil
}

// whole adds the phases up.
func (r *Recorder) whole() *tally {
	n := len(r.plan.Dependencies)
	sum := tally{served: make([]int64, n), calls: make([]int64, n), started: make([]int64, n)}
	for i := range r.phases {
		p := &r.phases[i]
		sum.offered += p.offered
		sum.submitted += p.submitted
		sum.admitted += p.admitted
		sum.attempts += p.attempts
		sum.cost.plus(p.cost)
		sum.good += p.good
		sum.denied += p.denied
		sum.retries += p.retries
		sum.wasted += p.wasted
		sum.strangers += p.strangers
		for c, k := range p.codes {
			sum.codes[c] += k
		}
		for d := range n {
			sum.served[d] += p.served[d]
			sum.calls[d] += p.calls[d]
			sum.started[d] += p.started[d]
		}
		sum.lag.chunks = append(append(sum.lag.chunks, p.lag.chunks...), p.lag.last)
		sum.token.chunks = append(append(sum.token.chunks, p.token.chunks...), p.token.last)
	}
	return &sum
}

// phase makes the numbers of the requests of one phase, whose packed rows are
// given, or of all. scratch must have room for all of them.
func (r *Recorder) phase(span Span, t *tally, packed []uint64, scratch []int64, where string) Phase {
	seen := survey(packed, int64(r.plan.Horizon))
	p := Phase{
		Name:      span.Name,
		From:      Millis(span.From),
		To:        Millis(span.To),
		Offered:   t.offered,
		Submitted: t.submitted,
		Admitted:  t.admitted,
		Completed: seen.completed,
		Errored:   seen.errored,
		Censored:  seen.censored,
		Causes:    make(map[string]int64),
		ServedBy:  r.byDependency(t.served),
		Cost:      t.cost.units(),

		DependencyCalls: r.byDependency(t.calls),

		Denied: t.denied, Retries: t.retries, Wasted: t.wasted,
	}
	if r.plan.SLO != nil {
		good := t.good
		p.Good = &good
	}
	for _, c := range record.Causes() {
		p.Causes[c.String()] = t.codes[errored+c]
	}
	for _, k := range t.calls {
		p.Attempts += k
	}
	p.AttemptsPerOffered, p.AttemptsPerOfferedReason = per(p.Attempts, p.Offered, "no request was offered "+where)
	p.AttemptsPerAdmitted, p.AttemptsPerAdmittedReason = per(p.Attempts, p.Admitted, "no request was admitted "+where)
	if t.strangers > 0 {
		p.AttemptsPerAdmitted, p.AttemptsPerAdmittedReason = nil, fmt.Sprintf("%d attempts belong to no request: which were admitted is not known", t.strangers)
	}
	p.SchedulerLag = tailOf(t.lag.appendTo(scratch), t.submitted, "no request was submitted "+where)
	if tokens := t.token.appendTo(scratch); len(tokens) > 0 {
		selectRanks(tokens, percentileRanks(int64(len(tokens)), int64(len(tokens))))
		first := percentilesOf(tokens, "")
		p.Latency.FirstToken = &first
	}
	p.Latency.Completed, p.Latency.Submitted, p.Incidence = seen.times(packed, scratch, r.plan.Horizon, r.plan.Sampled, where)
	return p
}

// per returns a ratio, or why there is none.
func per(a, b int64, reason string) (*float64, string) {
	if b == 0 {
		return nil, reason
	}
	v := float64(a) / float64(b)
	return &v, ""
}

func (r *Recorder) byDependency(counts []int64) map[string]int64 {
	m := make(map[string]int64, len(counts))
	for i, k := range counts {
		m[r.plan.Dependencies[i]] = k
	}
	return m
}

func (r *Recorder) byStartPhase() map[string]map[string]int64 {
	m := make(map[string]map[string]int64, len(r.phases))
	for i := range r.phases {
		calls := r.byDependency(r.phases[i].started)
		total := int64(0)
		for _, k := range r.phases[i].started {
			total += k
		}
		calls["total"] = total
		m[r.plan.Phases[i].Name] = calls
	}
	return m
}

// conserved checks the laws that numbers of any run obey. Each side of a law
// was counted on a way of its own.
func (r *Recorder) conserved(c *Composition) error {
	var errs []error
	check := func(phase, law string, a, b int64) {
		if a != b {
			errs = append(errs, fmt.Errorf("%s in %s: %d against %d", law, phase, a, b))
		}
	}
	var sum Phase
	for _, p := range append(c.Phases[:len(c.Phases):len(c.Phases)], c.Whole) {
		causes := int64(0)
		for _, k := range p.Causes {
			causes += k
		}
		check(p.Name, "offered is not completed + errored + censored", p.Offered, p.Completed+p.Errored+p.Censored)
		check(p.Name, "submitted is not offered - shed by the harness", p.Submitted, p.Offered-p.Causes[record.Harness.String()])
		check(p.Name, "errored is not the sum of its causes", p.Errored, causes)
	}
	rows := int64(0)
	for i, p := range c.Phases {
		check(p.Name, "attempts that requests tell of are not the attempts that were made", r.phases[i].attempts, p.Attempts-r.phases[i].strangers)
		sum.Offered += p.Offered
		sum.Completed += p.Completed
		sum.Errored += p.Errored
		sum.Censored += p.Censored
		sum.Attempts += p.Attempts
		rows += c.AttemptsByStartPhase[p.Name]["total"]
	}
	check("whole", "offered is not the number of rows", c.Whole.Offered, r.rows)
	check("whole", "offered is not the sum of the phases", c.Whole.Offered, sum.Offered)
	check("whole", "completed is not the sum of the phases", c.Whole.Completed, sum.Completed)
	check("whole", "errored is not the sum of the phases", c.Whole.Errored, sum.Errored)
	check("whole", "censored is not the sum of the phases", c.Whole.Censored, sum.Censored)
	check("whole", "attempts are not the sum of the phases", c.Whole.Attempts, sum.Attempts)
	check("whole", "attempts are not the number of rows", c.Whole.Attempts, r.attempts)
	check("whole", "attempts by the phase of their start do not add up", rows, r.attempts)
	r.conservedWork(c, check)
	check("whole", "attempts are still active after the drain", c.ActiveAfterDrain, 0)
	return errors.Join(errs...)
}
