package load

import (
	"time"

	"brunt/check"
	"brunt/clock"
)

// Override is what a phase may change. A phase that says anything here has the
// load that it says, and nothing of the study's but the rate, where it names
// none.
type Override struct {
	// The rate from the start of the phase on.
	Rate clock.Rate `yaml:"rate"`
	// The rate at the end of the phase: it goes there from rate in a straight line.
	To clock.Rate `yaml:"to"`
	// Goes from rate to the other one in so many equally long steps instead: the first is at rate, the last at the other, and those between are equally far apart.
	Steps int `yaml:"steps"`
	// Short bursts of another rate, counted from the start of the phase.
	Spike *Spike `yaml:"spike"`
	// A rate that swings around the phase's, counted from the start of the phase.
	Sine *Sine `yaml:"sine"`
}

// Spike is a short burst of another rate that comes again and again.
type Spike struct {
	// How often it comes. It is the last part of each such stretch of time, so that the load begins without one.
	Every time.Duration `yaml:"every"`
	// How long it lasts.
	For time.Duration `yaml:"for"`
	// The rate meanwhile.
	Rate clock.Rate `yaml:"rate"`
}

// Sine is a rate that swings around another: rate * (1 + amplitude * sin(2 pi t/period)).
type Sine struct {
	// How far it swings, as a share of the rate.
	Amplitude check.Share `yaml:"amplitude"`
	// How long it takes to swing up, down and back.
	Period time.Duration `yaml:"period"`
}

// What a load may hold at most.
const (
	mostSteps  = 1000
	mostSpikes = 10_000 // in a phase
)

// IsZero reports whether a phase says nothing about its load.
func (o *Override) IsZero() bool { return *o == Override{} }

// Check reports what is wrong with what a phase of some length says about a
// load.
func (o *Override) Check(p check.Problems, l *Load, length time.Duration) {
	if !l.Rated() {
		o.refuse(p, l.Arrivals)
		return
	}
	if !o.To.IsZero() && (o.Spike != nil || o.Sine != nil) {
		p.Add("to", o.To, "goes with neither spike nor sine: expected one of the three")
	}
	switch {
	case o.Steps == 0:
	case o.To.IsZero():
		p.Add("steps", o.Steps, "goes with to: expected the rate of the last step there")
	default:
		check.Between(p, "steps", o.Steps, 2, mostSteps)
		if length > 0 && time.Duration(o.Steps) > length {
			p.Add("steps", o.Steps, "more than the phase has nanoseconds")
		}
	}
	checkShape(p, o.Spike, o.Sine)
	if o.Spike != nil {
		o.Spike.checkWithin(p.In("spike"), length)
		l.doubtPart(p, "spike", o.Spike.Every-o.Spike.For, o.rate(l))
		l.doubtPart(p, "spike", o.Spike.For, o.Spike.Rate)
	}
	if o.Steps > 1 {
		part := length / time.Duration(o.Steps)
		l.doubtPart(p, "steps", part, o.rate(l))
		l.doubtPart(p, "steps", part, o.To)
	}
}

// CheckWithin reports what is wrong with the load's shape for a run of some
// length.
func (l *Load) CheckWithin(p check.Problems, length time.Duration) {
	if s := l.Spike; s != nil && l.Rated() {
		s.checkWithin(p.In("spike"), length)
		l.doubtPart(p, "spike", s.Every-s.For, l.Rate)
		l.doubtPart(p, "spike", s.For, s.Rate)
	}
}

// doubtPart reports a part of a constant load that is too short for its rate:
// as every part begins with a request, there would be more than the rate says.
func (l *Load) doubtPart(p check.Problems, field string, part time.Duration, rate clock.Rate) {
	if l.Arrivals == Constant && part > 0 && !rate.IsZero() && rate.Whole(part) == 0 {
		p.Doubt(field, nil, "%v at %v holds less than one request, and begins with one all the same: expected arrivals: poisson, a higher rate or a longer time", part, rate)
	}
}

// refuse reports whatever a phase says about a load that has no rate.
func (o *Override) refuse(p check.Problems, a Arrivals) {
	add := func(field string, is bool, value any) {
		if is {
			p.Add(field, value, "has no meaning with arrivals: %s", a)
		}
	}
	add("rate", !o.Rate.IsZero(), o.Rate)
	add("to", !o.To.IsZero(), o.To)
	add("steps", o.Steps != 0, o.Steps)
	add("spike", o.Spike != nil, nil)
	add("sine", o.Sine != nil, nil)
}

func checkShape(p check.Problems, spike *Spike, sine *Sine) {
	if spike != nil && sine != nil {
		p.Add("sine", nil, "does not go with spike: expected one of the two")
	}
	if spike != nil {
		spike.check(p.In("spike"))
	}
	if sine != nil {
		sine.check(p.In("sine"))
	}
}

func (s *Spike) check(p check.Problems) {
	p.Positive("every", s.Every)
	p.Positive("for", s.For)
	if s.Every > 0 && s.For >= s.Every {
		p.Add("for", s.For, "expected less than every, %v", s.Every)
	}
	if s.Rate.IsZero() {
		p.Add("rate", nil, "missing: expected a rate such as 1000/s")
	}
}

// checkWithin reports spikes that never come, or absurdly often, in a time.
func (s *Spike) checkWithin(p check.Problems, length time.Duration) {
	if length <= 0 || s.Every <= 0 || s.For <= 0 || s.For >= s.Every {
		return
	}
	if n := length / s.Every; n > mostSpikes {
		p.Add("every", s.Every, "makes %d spikes in %v: expected at most %d", int64(n), length, mostSpikes)
	}
	if first := s.Every - s.For; first >= length {
		p.Doubt("every", s.Every, "the first spike would come after %v, and the %v are over by then", first, length)
	}
}

func (s *Sine) check(p check.Problems) {
	check.Between(p, "amplitude", s.Amplitude, 0, check.Whole)
	p.Positive("period", s.Period)
	if s.Amplitude == 0 {
		p.Doubt("amplitude", s.Amplitude, "does not swing: expected a share such as 50%")
	}
}

// Greatest names the setting that gives a phase its highest rate, the swing of
// a sine aside. own says whether it is the phase's, else it is the load's.
func (l *Load) Greatest(o *Override) (setting string, rate clock.Rate, own bool) {
	setting, rate, own = "rate", o.rate(l), !o.Rate.IsZero()
	spike, shaped := o.Spike, !o.IsZero()
	if !shaped {
		spike = l.Spike
	}
	if o.To.PerSecond() > rate.PerSecond() {
		return "to", o.To, true
	}
	if spike != nil && spike.Rate.PerSecond() > rate.PerSecond() {
		return "spike.rate", spike.Rate, shaped
	}
	return setting, rate, own
}

func (o *Override) rate(l *Load) clock.Rate {
	if o.Rate.IsZero() {
		return l.Rate
	}
	return o.Rate
}

// Segments returns the load from one instant to another, which are those of a
// phase: what the phase says, or else what the study does.
func (l *Load) Segments(o *Override, from, to time.Duration) []Segment {
	plain := Segment{From: from, To: to, Rate: o.rate(l)}
	spike, sine, origin := o.Spike, o.Sine, from
	if o.IsZero() {
		spike, sine, origin = l.Spike, l.Sine, 0
	}
	switch {
	case !l.Rated():
	case o.Steps > 1:
		return plain.steps(o.To, o.Steps)
	case !o.To.IsZero():
		plain.End = o.To
	case spike != nil:
		return plain.spikes(spike, origin)
	case sine != nil:
		plain.Sine, plain.Origin = *sine, origin
	}
	return []Segment{plain}
}

// steps cuts a segment into n parts, as equal as whole nanoseconds allow, whose
// rates go to another one in equal steps.
func (s Segment) steps(to clock.Rate, n int) []Segment {
	list := make([]Segment, n)
	length := s.To - s.From
	each, rest := length/time.Duration(n), length%time.Duration(n)
	at := func(i int) time.Duration { // floor(i*length/n)
		return s.From + each*time.Duration(i) + rest*time.Duration(i)/time.Duration(n)
	}
	for i := range list {
		list[i] = Segment{From: at(i), To: at(i + 1), Rate: s.Rate.Toward(to, int64(i), int64(n-1))}
	}
	return list
}

// spikes cuts a segment where spikes, counted from the origin, begin and end.
func (s Segment) spikes(spike *Spike, origin time.Duration) []Segment {
	var list []Segment
	add := func(from, to time.Duration, rate clock.Rate) {
		from, to = max(from, s.From), min(to, s.To)
		if from < to {
			list = append(list, Segment{From: from, To: to, Rate: rate})
		}
	}
	period := s.From - (s.From-origin)%spike.Every
	for ; period < s.To; period += spike.Every {
		high := period + spike.Every - spike.For
		add(period, high, s.Rate)
		add(high, high+spike.For, spike.Rate)
	}
	return list
}
