package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"brunt/clock"
	"brunt/load"
	"brunt/measure"
	"brunt/study"
)

// CalibrationFile is the file of a calibration in its folder.
const CalibrationFile = "calibration.json"

// Calibration says which capacity was found, and how. The JSON names are a
// contract: fields are only ever added. Durations are in milliseconds.
type Calibration struct {
	Schema      int               `json:"schema"`
	Study       string            `json:"study"`
	Composition string            `json:"composition"`
	Of          string            `json:"of"` // whose capacity it is
	Seed        int64             `json:"seed"`
	Clock       study.Clock       `json:"clock"`
	Status      CalibrationStatus `json:"status"`
	Capacity    *float64          `json:"capacity_per_s"`      // the highest sustained rate; the median over the trials
	CapacityAs  string            `json:"capacity,omitempty"`  // as a setting takes it: 177.1/s
	Reason      string            `json:"reason,omitempty"`    // why there is none or, of one that was found, what stopped it
	Share       float64           `json:"share"`               // of the capacity that a run takes
	ShareRate   string            `json:"load_rate,omitempty"` // that share, as load.rate takes it
	Least       float64           `json:"goodput_at_least"`    // of a step that is sustained
	SLO         *SLO              `json:"slo"`                 // what makes a request good; null: completed within the horizon
	Trials      []Trial           `json:"trials"`
	Config      json.RawMessage   `json:"config"`
	Instrument  Instrument        `json:"instrument"`
	StudySHA256 string            `json:"study_sha256"`

	rate clock.Rate // of the share
}

// SLO is what callers were promised, in milliseconds from the intended
// instant; null where nothing was.
type SLO struct {
	FirstToken *measure.Millis `json:"first_token_ms"`
	EndToEnd   *measure.Millis `json:"end_to_end_ms"`
}

// CalibrationStatus says what became of a calibration, or of one trial of it.
type CalibrationStatus string

// What a calibration can find.
const (
	CapacityFound    CalibrationStatus = "found"
	NoCapacity       CalibrationStatus = "none"         // not even the lowest rate is sustained
	CapacityBeyond   CalibrationStatus = "not reached"  // the highest rate that was to be tried is sustained
	NotConclusive    CalibrationStatus = "inconclusive" // the client was the limit
	CalibrationEnded CalibrationStatus = "interrupted"
)

// Trial is one measurement of the capacity, from the start, with all its steps
// in their order.
type Trial struct {
	Seed       int64             `json:"seed"`
	Status     CalibrationStatus `json:"status"`
	Capacity   *float64          `json:"capacity_per_s"`
	CapacityAs string            `json:"capacity,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Steps      []Step            `json:"steps"`

	rate clock.Rate
}

// CalibrationOptions says what is calibrated.
type CalibrationOptions struct {
	// Composition is the one whose capacity is measured; "" for the first.
	Composition string
	// Instrument says which brunt this is.
	Instrument Instrument
	// Self and Remote are those of [Options].
	Self   []string
	Remote bool
	// Progress is told of each step as it goes on and when it has ended, from one
	// goroutine; nil for nobody.
	Progress func(CalibrationProgress)
}

// CalibrationProgress says how far a calibration is.
type CalibrationProgress struct {
	Trial, Step int // from 0
	Rate        clock.Rate
	At, Length  time.Duration // of the step's schedule
	Ended       *Step         // nil while the step goes on
}

// mostSteps bounds the steps of a trial. Rates lie between one in 100 days and
// one in a nanosecond, so doubling alone never takes as many.
const mostSteps = 80

// Calibrate measures the capacity of what a study calls through one of its
// compositions: the highest rate that is sustained, by the settings of
// [study.Study.Calibration]. It runs on the study's clock and may be called from
// any goroutine; on the real clock steps run one after the other, with a pause
// between them.
//
// A trial doubles the rate until it is not sustained, and goes on from the last
// one that was in steps of 10 %, rounded down to four digits. So the capacity
// lies less than a step above what is found, but for what a step cannot tell:
// see [Step]. Trial k runs on seed+k.
//
// A calibration that finds no capacity is no error. When the context ends first,
// its error is returned with what was found until then.
func Calibrate(ctx context.Context, s *study.Study, o CalibrationOptions) (_ *Calibration, err error) {
	if o.Composition == "" {
		o.Composition = s.Compositions.Names()[0]
	}
	if _, ok := s.Compositions.Get(o.Composition); !ok {
		return nil, fmt.Errorf("calibrate composition %s: the study has none of that name", o.Composition)
	}
	if !s.Load.Rated() {
		return nil, fmt.Errorf("calibrate a study with arrivals: %s: they have no rate to be found: expected %s or %s", s.Load.Arrivals, load.Constant, load.Poisson)
	}
	whole := s
	s = oneReplica(s)
	ground, err := newGround(ctx, s, Options{Self: o.Self, Remote: o.Remote})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ground.close()) }()
	ground.keep()
	with := s.Calibration()
	c := &Calibration{
		Schema: Schema, Study: s.Name, Of: whose(whole), Composition: o.Composition, Seed: s.Seed, Clock: s.Clock,
		Share: with.Share.Float(), Least: s.Gates.BaselineGoodput.Float(), SLO: promised(s.SLO), Trials: []Trial{},
		Config: whole.Config(), Instrument: o.Instrument, StudySHA256: studySum(whole),
	}
	for k := 0; k < with.Trials || k == 2 && c.disagree(); k++ {
		t := search{ctx: ctx, ground: ground, study: s, with: with, options: o, number: k, Trial: Trial{Seed: s.Seed + int64(k), Steps: []Step{}}}
		err := t.run()
		c.Trials = append(c.Trials, t.Trial)
		if err != nil {
			c.Status, c.Reason = CalibrationEnded, "interrupted"
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			return nil, fmt.Errorf("calibrate composition %s at seed %d: %w", o.Composition, t.Seed, err)
		}
		if t.Status == NotConclusive {
			c.Status, c.Reason = NotConclusive, t.Reason
			return c, nil
		}
	}
	c.conclude(with.Share)
	return c, nil
}

// ofReplica is whose capacity a testbed's is.
const ofReplica = "one replica"

// whose says whose capacity is measured.
func whose(s *study.Study) string {
	if s.Testbed != nil {
		return ofReplica
	}
	return "what the study calls"
}

// oneReplica is the study with one replica in its testbed: the capacity of one
// is what a loss leaves.
func oneReplica(s *study.Study) *study.Study {
	if s.Testbed == nil {
		return s
	}
	one, bed := *s, *s.Testbed
	bed.Replicas = 1
	one.Testbed = &bed
	one.Fault = nil
	return &one
}

func promised(slo *measure.SLO) *SLO {
	if slo == nil {
		return nil
	}
	limit := func(d time.Duration) *measure.Millis {
		if d == 0 {
			return nil
		}
		m := measure.Millis(d)
		return &m
	}
	return &SLO{limit(slo.FirstToken), limit(slo.EndToEnd)}
}

// Rate returns the share of the capacity that a run takes as its load's rate;
// ok is false when there is none.
func (c *Calibration) Rate() (rate clock.Rate, ok bool) { return c.rate, c.Status == CapacityFound }

// Calibrated is what a run keeps of the calibration before it; all of it is in
// [CalibrationFile].
type Calibrated struct {
	Capacity string   `json:"capacity"`  // of one replica, or of whatever is called
	Share    float64  `json:"share"`     // of it that became the load
	Rate     string   `json:"load_rate"` // that load
	Trials   []string `json:"trials"`    // what each trial found
	Of       string   `json:"of"`        // whose capacity it is
}

// Summary returns what a run keeps; nil of none.
func (c *Calibration) Summary() *Calibrated {
	if c == nil || c.Status != CapacityFound {
		return nil
	}
	s := &Calibrated{Capacity: c.CapacityAs, Share: c.Share, Rate: c.ShareRate, Of: c.Of}
	for _, t := range c.Trials {
		s.Trials = append(s.Trials, t.CapacityAs)
	}
	return s
}

// conclude takes the median of the trials; of an even number the lower one of
// the two in the middle, which was sustained.
func (c *Calibration) conclude(share measure.PPM) {
	sorted := slices.Clone(c.Trials)
	slices.SortStableFunc(sorted, func(a, b Trial) int { return a.compare(&b) })
	m := &sorted[(len(sorted)-1)/2]
	c.Status, c.Capacity, c.CapacityAs, c.Reason = m.Status, m.Capacity, m.CapacityAs, m.Reason
	if c.Status == CapacityFound {
		c.rate = rounded(m.rate, int64(share), int64(measure.Million))
		c.ShareRate = c.rate.String()
	}
}

// disagree reports whether two trials are further apart than a step.
func (c *Calibration) disagree() bool {
	if len(c.Trials) != 2 {
		return false
	}
	low, high := &c.Trials[0], &c.Trials[1]
	if low.compare(high) > 0 {
		low, high = high, low
	}
	if low.Status != CapacityFound || high.Status != CapacityFound {
		return low.Status != high.Status
	}
	return exact(high.rate).Cmp(exact(stepUp(low.rate))) > 0
}

// compare orders trials: none is below every rate, and not reached above.
func (t *Trial) compare(other *Trial) int {
	order := []CalibrationStatus{NoCapacity, CapacityFound, CapacityBeyond}
	if a, b := slices.Index(order, t.Status), slices.Index(order, other.Status); a != b || t.Status != CapacityFound {
		return a - b
	}
	return exact(t.rate).Cmp(exact(other.rate))
}

// search is one trial under way.
type search struct {
	Trial
	ctx     context.Context
	ground  *ground
	study   *study.Study
	with    study.Calibrate
	options CalibrationOptions
	number  int
	step    func(ctx context.Context, g *ground, s *study.Study, composition string, told func(at, length time.Duration)) (Step, error) // nil for runStep
}

// run looks for the capacity. Of a step that tells nothing, the trial is not
// conclusive.
func (t *search) run() error {
	var last clock.Rate // the last that was sustained
	rate, failed := t.with.From, false
	for !failed {
		sustained, err := t.try(rate)
		switch {
		case err != nil || t.Status == NotConclusive:
			return err
		case !sustained && last.IsZero():
			t.Status, t.Reason = NoCapacity, fmt.Sprintf("not even %s is sustained: %s", rate, t.why())
			return nil
		case !sustained:
			failed = true
		case exact(rate).Cmp(exact(t.with.Most)) >= 0:
			t.Status, t.Reason = CapacityBeyond, fmt.Sprintf("not reached: %s, the highest rate to be tried, is sustained", rate)
			return nil
		default:
			last = rate
			if rate = rate.Times(2, 1); exact(rate).Cmp(exact(t.with.Most)) > 0 {
				rate = t.with.Most
			}
		}
	}
	stopped := fmt.Sprintf("%s is not sustained: %s", rate, t.why())
	for next := stepUp(last); exact(next).Cmp(exact(rate)) < 0; next = stepUp(last) {
		sustained, err := t.try(next)
		if err != nil || t.Status == NotConclusive {
			return err
		}
		if !sustained {
			stopped = fmt.Sprintf("%s is not sustained: %s", next, t.why())
			break
		}
		last = next
	}
	found := last.PerSecond()
	t.Status, t.rate, t.Capacity, t.CapacityAs, t.Reason = CapacityFound, last, &found, last.String(), stopped
	return nil
}

// why is what the last step says.
func (t *search) why() string { return t.Steps[len(t.Steps)-1].Why }

// try runs a step, and keeps it.
func (t *search) try(rate clock.Rate) (sustained bool, err error) {
	var last Step
	for range mostTries {
		if last, err = t.once(rate); err != nil || last.Status != StepInconclusive {
			return last.Status == StepSustained, err
		}
	}
	t.Status, t.Reason = NotConclusive, fmt.Sprintf("%s tells nothing, %d times in a row: %s", rate, mostTries, last.Why)
	if n := len(t.Steps) - mostTries; n > 0 {
		t.Reason += fmt.Sprintf("; up to there %s was sustained", highest(t.Steps[:n]))
	}
	return false, nil
}

// mostTries is how often a step is run that tells nothing: one send in a hundred
// that is late may be the machine's bad moment, and three such steps are not.
const mostTries = 3

// once runs a step, and keeps it.
func (t *search) once(rate clock.Rate) (step Step, err error) {
	if len(t.Steps) == mostSteps {
		return step, errors.New("too many steps: brunt has a fault of its own, please report it")
	}
	if t.study.Clock == study.Real && (t.number > 0 || len(t.Steps) > 0) {
		if err := pause(t.ctx, t.with.Rest); err != nil {
			return step, err
		}
	}
	p := CalibrationProgress{Trial: t.number, Step: len(t.Steps), Rate: rate}
	told := func(at, length time.Duration) {
		if p.At, p.Length = at, length; t.options.Progress != nil {
			t.options.Progress(p)
		}
	}
	run := t.step
	if run == nil {
		run = runStep
	}
	if step, err = run(t.ctx, t.ground, stepStudy(t.study, t.with, rate, t.Seed), t.options.Composition, told); err != nil {
		return step, err
	}
	t.Steps = append(t.Steps, step)
	p.Ended = &step
	told(p.Length, p.Length)
	return step, nil
}

// highest is the last rate that was sustained.
func highest(steps []Step) string {
	for _, step := range slices.Backward(steps) {
		if step.Status == StepSustained {
			return step.Rate
		}
	}
	return "nothing"
}
