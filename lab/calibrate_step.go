package lab

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"brunt/clock"
	"brunt/load"
	"brunt/measure"
	"brunt/record"
	"brunt/study"
)

// Step is one run at one rate. Its numbers are of the requests of the measured
// part.
//
// It is sustained when enough of them are good, none was shed, and the system
// keeps up: in the second half of the measured part, in flight grows by no more
// than chance allows. On the virtual clock, in a study without chance, that is
// two requests, for what a grid of arrivals does at its ends. Else it is one
// standard deviation besides, of what a queue that drifts freely would do: the
// root of the requests that end in that half and, with poisson arrivals, of
// those that arrive. A queue that is stable and has settled comes nowhere near,
// and one that is overloaded by a share x passes it when x·n is more than the
// root of 2n: n requests tell an overload of the root of 2/n.
type Step struct {
	Rate      string           `json:"rate"`
	PerSecond float64          `json:"per_s"`
	Settled   measure.Millis   `json:"settle_ms"`
	Measured  measure.Millis   `json:"step_ms"`
	Offered   int64            `json:"offered"`
	Completed int64            `json:"completed"`
	Shed      int64            `json:"shed"`
	Causes    map[string]int64 `json:"causes"` // of errors, those that occur
	Censored  int64            `json:"censored"`
	Good      int64            `json:"good"` // within the slo; without one, completed
	Goodput   *float64         `json:"goodput"`

	Quantiles []measure.Quantile `json:"quantiles"` // p50, p95, p99 of the completion-incidence curve

	InFlightMiddle int64       `json:"in_flight_middle"` // of the measured part
	InFlightEnd    int64       `json:"in_flight_end"`
	GrowthAllowed  float64     `json:"growth_allowed"`
	Queues         []StepQueue `json:"queues,omitempty"` // of each target with workers

	// How late requests were sent, on the real clock.
	SendSkewP99 *measure.Millis `json:"send_skew_p99_ms"`
	SendSkewMax *measure.Millis `json:"send_skew_max_ms"`

	Status StepStatus `json:"status"`
	Why    string     `json:"why,omitempty"` // it is not sustained, or tells nothing
}

// StepQueue is how many attempts waited for a worker of one target.
type StepQueue struct {
	Name string   `json:"name"`
	Mean *float64 `json:"mean"`
	Max  int64    `json:"max"`
}

// StepStatus says what a step has shown.
type StepStatus string

// The verdicts on a step.
const (
	StepSustained    StepStatus = "sustained"
	StepNotSustained StepStatus = "not sustained"
	StepInconclusive StepStatus = "inconclusive" // the client was the limit
)

// The parts of a step.
const (
	settlePart = "settle"
	stepPart   = "step"
)

// stepStudy is the study as one step runs it: at one rate, undisturbed.
func stepStudy(s *study.Study, with study.Calibrate, rate clock.Rate, seed int64) *study.Study {
	step := *s
	step.Seed, step.Repeat, step.Warmup = seed, 1, 0
	step.Load.Rate, step.Load.Spike, step.Load.Sine = rate, nil, nil
	step.Fault, step.Expect, step.Compare = nil, nil, nil
	step.Recovery.Phase = ""
	step.Phases = []study.Phase{{Name: stepPart, For: with.Measured(rate)}}
	if with.Settle > 0 {
		step.Phases = slices.Insert(step.Phases, 0, study.Phase{Name: settlePart, For: with.Settle})
	}
	return &step
}

// runStep runs a composition of a study that [stepStudy] made, and judges it.
func runStep(ctx context.Context, ground *ground, s *study.Study, composition string, told func(at, length time.Duration)) (step Step, err error) {
	err = guarded(0, func(int) error {
		step, err = measureStep(ctx, ground, s, composition, told)
		return err
	})
	return step, err
}

func measureStep(ctx context.Context, ground *ground, s *study.Study, composition string, told func(at, length time.Duration)) (Step, error) {
	held := plan(s)
	held.Sampled = false
	m := measure.NewRecorder(held, s.Schedule().Expected())
	last := len(s.Phases) - 1
	from, to := s.Span(last)
	crowd := crowd{middle: from + (to-from)/2, end: to}
	one := []job{{study: s, name: composition, key: composition}}
	progress := func(p Progress) { told(p.At, p.Length) }
	if err := runJob(ctx, one, 0, record.Sinks{m, &crowd}, false, progress, nil, ground); err != nil {
		return Step{}, err
	}
	if err := ctx.Err(); err != nil { // a run that was cut short tells nothing
		return Step{}, err
	}
	c, err := m.Composition(composition)
	if err != nil {
		return Step{}, err
	}
	return newStep(s, &c, &crowd), nil
}

// crowd counts who is in flight in the middle of the measured part and at its
// end: those intended before that instant and not ended before it. It is a
// [record.Sink].
type crowd struct {
	middle, end time.Duration

	atMiddle, atEnd int64
	arrived, ended  int64 // between the two
}

// Request implements [record.Sink].
func (c *crowd) Request(r *record.Request) {
	at := func(t time.Duration) int64 {
		if r.Intended < t && r.End >= t {
			return 1
		}
		return 0
	}
	between := func(t time.Duration) int64 {
		if c.middle <= t && t < c.end {
			return 1
		}
		return 0
	}
	c.atMiddle += at(c.middle)
	c.atEnd += at(c.end)
	c.arrived += between(r.Intended)
	c.ended += between(r.End)
}

// Attempt implements [record.Sink].
func (*crowd) Attempt(*record.Attempt) {}

// Event implements [record.Sink].
func (*crowd) Event(*record.Event) {}

// allowed is how far in flight may grow between the two instants.
func (c *crowd) allowed(s *study.Study) float64 {
	const ends = 2
	if deterministic(s) {
		return ends
	}
	n := c.ended
	if s.Load.Arrivals == load.Poisson {
		n += c.arrived
	}
	return ends + math.Sqrt(float64(n))
}

// newStep takes the numbers of a step and judges them.
func newStep(s *study.Study, c *measure.Composition, crowd *crowd) Step {
	i := len(s.Phases) - 1
	p := &c.Phases[i]
	step := Step{
		Rate: s.Load.Rate.String(), PerSecond: s.Load.Rate.PerSecond(), Measured: measure.Millis(s.Phases[i].For),
		Offered: p.Offered, Completed: p.Completed, Shed: p.Offered - p.Submitted, Censored: p.Censored,
		Causes: map[string]int64{}, Good: p.Completed,
		InFlightMiddle: crowd.atMiddle, InFlightEnd: crowd.atEnd, GrowthAllowed: crowd.allowed(s),
	}
	if i > 0 {
		step.Settled = measure.Millis(s.Phases[0].For)
	}
	if p.Good != nil {
		step.Good = *p.Good
	}
	for cause, n := range p.Causes {
		if n > 0 {
			step.Causes[cause] = n
		}
	}
	if step.Offered > 0 {
		share := float64(step.Good) / float64(step.Offered)
		step.Goodput = &share
	}
	for _, q := range p.Incidence.Quantiles {
		if q.Q == 0.5 || q.Q == 0.95 || q.Q == 0.99 {
			q.Refused = "" // of its interval, which nobody asked for
			step.Quantiles = append(step.Quantiles, q)
		}
	}
	for k := range c.Capacity {
		queue := &c.Capacity[k].Phases[i].Queue
		step.Queues = append(step.Queues, StepQueue{c.Capacity[k].Name, queue.Mean, queue.Max})
	}
	if s.Clock == study.Real {
		step.SendSkewP99, step.SendSkewMax = p.SchedulerLag.P99, p.SchedulerLag.Max
	}
	step.judge(s)
	return step
}

// judge says whether the step is sustained, and why not.
func (step *Step) judge(s *study.Study) {
	if why := step.clientLimit(s); why != "" {
		step.Status, step.Why = StepInconclusive, why
		return
	}
	var why []string
	if n := step.Shed; n > 0 {
		why = append(why, fmt.Sprintf("%s shed, as load.max_in_flight allows no more than %s in flight", thousands(n), thousands(s.Load.MaxInFlight)))
	}
	if int64(s.Gates.BaselineGoodput)*step.Offered > int64(measure.Million)*step.Good {
		why = append(why, step.bad(s))
	}
	if growth := step.InFlightEnd - step.InFlightMiddle; float64(growth) > step.GrowthAllowed {
		words := fmt.Sprintf("in flight grows from %s to %s in the second half, and chance explains %.0f of it at most", thousands(step.InFlightMiddle), thousands(step.InFlightEnd), math.Floor(step.GrowthAllowed))
		if q := step.Quantiles; len(why) == 0 && len(q) > 0 && q[0].Millis != nil && *q[0].Millis > step.Settled {
			words += fmt.Sprintf("; most answers take longer than the settling of %s, and a longer one may tell another story", duration(time.Duration(step.Settled)))
		}
		why = append(why, words)
	}
	step.Status, step.Why = StepSustained, strings.Join(why, "; ")
	if len(why) > 0 {
		step.Status = StepNotSustained
	}
}

// clientLimit says why the step tells nothing about the system; "" when it does.
func (step *Step) clientLimit(s *study.Study) string {
	p99, most, g := step.SendSkewP99, step.SendSkewMax, &s.Gates
	late := func(what string, value *measure.Millis, limit time.Duration) string {
		return fmt.Sprintf("the client is the limit: its send skew was %s %s, and at most %s is allowed", duration(time.Duration(*value).Round(time.Microsecond)), what, duration(limit))
	}
	own := step.Causes[record.Harness.String()] - step.Shed
	switch {
	case step.Offered == 0:
		return "no request was offered"
	case p99 != nil && time.Duration(*p99) > g.SendSkewP99:
		return late("at p99", p99, g.SendSkewP99)
	case most != nil && time.Duration(*most) > g.SendSkewMax:
		return late("at most", most, g.SendSkewMax)
	case own > 0:
		return fmt.Sprintf("the client is the limit: of %s requests it could not send %s at all", thousands(step.Offered), thousands(own))
	}
	return ""
}

// bad says how many requests were not good, and what became of them.
func (step *Step) bad(s *study.Study) string {
	var parts []string
	if late := step.Completed - step.Good; late > 0 {
		parts = append(parts, fmt.Sprintf("%s outside of the slo", thousands(late)))
	}
	causes := make([]string, 0, len(step.Causes))
	for cause := range step.Causes {
		causes = append(causes, cause)
	}
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(cmp.Compare(step.Causes[b], step.Causes[a]), strings.Compare(a, b))
	})
	for _, cause := range causes {
		parts = append(parts, fmt.Sprintf("%s %s", thousands(step.Causes[cause]), cause))
	}
	if step.Censored > 0 {
		parts = append(parts, fmt.Sprintf("%s censored", thousands(step.Censored)))
	}
	return fmt.Sprintf("goodput is %.4g %%, below %.4g %% (of %s: %s)",
		100**step.Goodput, 100*s.Gates.BaselineGoodput.Float(), thousands(step.Offered), strings.Join(parts, ", "))
}

// stepUp is the rate of the next step: 10 % more.
func stepUp(r clock.Rate) clock.Rate { return rounded(r, 11, 10) }

// rounded returns a rate times num/den, rounded down to four significant digits
// per second, so that it can be read and written.
func rounded(r clock.Rate, num, den int64) clock.Rate {
	const least, most = 1_000, 10_000 // four digits
	x := exact(r)
	x.Mul(x, big.NewRat(num, den))
	unit, ten := big.NewRat(1, 1), big.NewRat(10, 1)
	digits := new(big.Rat).Set(x)
	for ; digits.Cmp(big.NewRat(most, 1)) >= 0; digits.Quo(digits, ten) {
		unit.Mul(unit, ten)
	}
	for ; digits.Cmp(big.NewRat(least, 1)) < 0; digits.Mul(digits, ten) {
		unit.Quo(unit, ten)
	}
	whole := new(big.Int).Quo(digits.Num(), digits.Denom())
	x.Mul(unit, new(big.Rat).SetInt(whole))
	const decimals = 12 // a rate of a study is no lower than a digit at the ninth
	down, err := clock.ParseRate(x.FloatString(decimals) + "/s")
	if err != nil { // too low to be written so
		return r.Times(num, den)
	}
	return down
}

// exact returns the events per second.
func exact(r clock.Rate) *big.Rat {
	count, per := r.Fraction()
	x := new(big.Rat).SetFrac64(count, int64(per))
	return x.Mul(x, big.NewRat(int64(time.Second), 1))
}

// pause waits on the real clock.
func pause(ctx context.Context, d time.Duration) error {
	loop, err := clock.Real()
	if err != nil {
		return err
	}
	defer loop.Close()
	timer := loop.At(d, clock.Timeline, clock.Func(func() {}))
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			loop.Post(func() { loop.Cancel(timer) })
		case <-done:
		}
	}()
	loop.Run()
	close(done)
	<-watched
	return ctx.Err()
}
