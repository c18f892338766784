package study

import (
	"cmp"
	"slices"
	"time"

	"brunt/chance"
	"brunt/clock"
	"brunt/dependency"
	"brunt/load"
	"brunt/measure"
	"brunt/policy"
	"brunt/target"
)

// Study is one study file.
type Study struct {
	// The name of the study: letters, digits, dashes, dots and underscores.
	Name string `yaml:"study"`
	// The question that the study answers, in a sentence.
	Question string `yaml:"question"`
	// Which clock it runs on: virtual or real.
	Clock Clock `yaml:"clock"`
	// The seed of every draw.
	Seed int64 `yaml:"seed"`
	// How often it runs: with the seeds seed, seed+1, ….
	Repeat int `yaml:"repeat" config:"changed"`
	// A protocol that pins numbers, built in (replica-loss@0.2) or a file in the study's folder (./mine.yaml). A study that weakens one does not load.
	ProtocolName string `yaml:"protocol"`
	// When requests arrive.
	Load load.Load `yaml:"load"`
	// On the real clock: how long load is sent through a stack of its own before each composition, and thrown away.
	Warmup time.Duration `yaml:"warmup"`
	// How long after its intended instant a request without an outcome is censored.
	Horizon time.Duration `yaml:"horizon"`
	// The simulated dependencies, by name.
	Dependencies Ordered[dependency.Behaviour] `yaml:"dependencies"`
	// Simulated dependencies that call others: each with a stack of its own.
	Services Ordered[Service] `yaml:"services"`
	// A real thing to call, on the real clock. Stacks call it by the name target.
	Target *target.Config `yaml:"target"`
	// Several real things to call, by name.
	Targets Ordered[target.Config] `yaml:"targets"`
	// What brunt starts for each composition and ends with it: replicas of a mock inference server, and a front before them. The target without a url is that front.
	Testbed *Testbed `yaml:"testbed"`
	// Where simulated dependencies are served over HTTP, by name: an address and a port such as 127.0.0.1:9001. A service of the user's own finds them there.
	Serve Ordered[Listen] `yaml:"serve"`
	// How many callers make the requests, each with policy state of its own. They take turns or, with poisson arrivals, are drawn.
	Callers int `yaml:"callers" config:"changed"`
	// The phases, one after the other.
	Phases []Phase `yaml:"phases"`
	// The stacks to compare, by name, each outermost stage first.
	Compositions Ordered[Stack] `yaml:"compositions"`
	// What callers were promised. Without it there is no goodput.
	SLO *measure.SLO `yaml:"slo"`
	// The fault of a fault study. Without it the run is not cut into windows.
	Fault *Fault `yaml:"fault"`
	// How the capacity of what the study calls is measured, before it runs; a share of it becomes load.rate. Without it the study runs at its own rate.
	Calibrate *Calibrate `yaml:"calibrate"`
	// How recovery is judged.
	Recovery Recovery `yaml:"recovery"`
	// How attempts are counted into buckets to show a herd.
	Herd Herd `yaml:"herd"`
	// How artefacts of ties are looked for, on the virtual clock.
	Ties Ties `yaml:"ties"`
	// The limits of what judges the instrument, and whether a failed gate makes a run on the real clock invalid: reported, enforced, or a mapping.
	Gates Gates `yaml:"gates"`
	// Which tables the report shows: outcomes, amplification, recovery, herd, providers.
	Tables []Table `yaml:"tables"`
	// What the study is expected to show.
	Expect []Expectation `yaml:"expect"`
	// Secondary comparisons of two compositions, declared before the run.
	Compare []Comparison `yaml:"compare"`
	// Remarks for the reader of the report.
	Notes []string `yaml:"notes"`

	origin *origin // what the reader keeps about a study that it has read
}

// Clock names a clock.
type Clock string

// The clocks.
const (
	Virtual Clock = "virtual"
	Real    Clock = "real"
)

// Phase is a stretch of time in which things stay as they are.
type Phase struct {
	// The name of the phase.
	Name string `yaml:"name"`
	// How long it lasts.
	For time.Duration `yaml:"for"`
	// What changes about the load.
	Load load.Override `yaml:"load"`
	// What changes about dependencies, by name; everything else is as the study says.
	Dependencies Ordered[dependency.Behaviour] `yaml:"dependencies"`
}

// Service is a dependency that calls others for each attempt: it does its own
// work, if it has any, then goes through its stack, and keeps the worker until
// that has an outcome.
type Service struct {
	dependency.Behaviour
	// What it calls, and how. All its replicas share the state of these stages.
	Stack Stack `yaml:"stack"`
}

// SetDefaults sets nothing.
func (s *Service) SetDefaults() { *s = Service{} }

// Stack is a list of stages, outermost first. It ends in call or fallback, or
// in neither: then it calls the study's only dependency.
type Stack []Stage

// Stage is one stage of a stack; exactly one policy is set, and shared beside it
// at most.
type Stage struct {
	// Repeats a call that did not complete.
	Retry *policy.Retry `yaml:"retry"`
	// Gives a call up after a while.
	Timeout *policy.Timeout `yaml:"timeout"`
	// Refuses calls for a while after the dependency has failed.
	Breaker *policy.Breaker `yaml:"breaker"`
	// Lets so many calls in at once.
	Limit *policy.Limit `yaml:"limit"`
	// Lets so many calls start in so much time.
	Rate *policy.Rate `yaml:"rate"`
	// Starts further attempts while the first is slow to answer.
	Hedge *policy.Hedge `yaml:"hedge"`
	// Refuses calls by chance when the dependency accepts too few of them.
	Throttle *policy.Throttle `yaml:"throttle"`
	// Lets so many calls in at once, and learns how many that should be.
	Adaptive *policy.Adaptive `yaml:"adaptive"`
	// With several callers: whether they share the state of this stage.
	Shared bool `yaml:"shared"`
	// Tries one branch after the other. Ends the stack.
	Fallback *Fallback `yaml:"fallback"`
	// Calls a dependency, by name. Ends the stack.
	Call string `yaml:"call"`
	// Stands for a client of the user's own, which calls what it wants, and for who brings it: brunttest, a Go test. Ends the stack.
	Guest Guest `yaml:"guest"`
	// The Go library that the stages before it are built with, such as failsafe-go: a program that carries it runs the study. Ends the stack.
	Go string `yaml:"go"`
	// A service of the user's own, in any language, which brunt loads over the network. Ends the stack.
	External *External `yaml:"external"`
}

// Fallback tries one branch after the other.
type Fallback struct {
	// What happens to a branch whose outermost breaker would refuse: in_order, last or skip.
	Open policy.Opening `yaml:"open"`
	// The branches: stacks that end in a call.
	To []Stack `yaml:"to"`
}

// Recovery says how recovery is judged.
type Recovery struct {
	// The phase in which recovery is looked for. Without it, the one named recovery, else the last.
	Phase string `yaml:"phase"`
	// The length of a window in which every request must complete.
	CleanWindow time.Duration `yaml:"clean_window"`
	// How the return of goodput after a fault is told.
	Detector measure.Detector `yaml:"detector" config:"changed"`
	// How long the load is cut for, when the least cut is looked for that ends a metastable failure.
	CutFor time.Duration `yaml:"cut_for" config:"changed"`
}

// Herd says how attempts are counted into buckets.
type Herd struct {
	// The length of a bucket: 100us or more.
	Bucket time.Duration `yaml:"bucket"`
}

// Ties says how artefacts of ties are looked for: the virtual run is repeated
// with dispatch noise, and a number that changes much is named.
type Ties struct {
	// How many noisy runs there are. 0 looks for none.
	Runs int `yaml:"runs"`
	// The dispatch noise of those runs.
	Noise time.Duration `yaml:"noise"`
}

// Table names a table of the report.
type Table string

// The tables.
const (
	Outcomes      Table = "outcomes"
	Amplification Table = "amplification"
	RecoveryTable Table = "recovery"
	HerdTable     Table = "herd"
	Providers     Table = "providers"
)

// Expectation is a statement about a number of the result.
type Expectation struct {
	// The composition it is about. Without it, every one.
	Composition string `yaml:"composition"`
	// The phase it is about. Without it, the whole run.
	Phase string `yaml:"phase"`
	// The number it is about.
	Measure string `yaml:"measure"`
	// The number may be this at most.
	AtMost *Quantity `yaml:"at_most"`
	// The number must be this at least.
	AtLeast *Quantity `yaml:"at_least"`
	// The number must be exactly this.
	Equals *Quantity `yaml:"equals"`
}

// SetDefaults sets what a study leaves out.
func (s *Study) SetDefaults() {
	*s = Study{
		Clock:   Virtual,
		Seed:    1,
		Repeat:  1,
		Callers: 1,
		Horizon: 30 * time.Second,
		Tables:  []Table{Outcomes, Amplification, RecoveryTable},
	}
	s.Load.SetDefaults()
	s.Recovery.SetDefaults()
	s.Herd.SetDefaults()
	s.Ties.SetDefaults()
	s.Gates.SetDefaults()
}

// SetDefaults sets windows of 250 ms, and the detector of the replica-loss
// protocol.
func (r *Recovery) SetDefaults() {
	*r = Recovery{CleanWindow: 250 * time.Millisecond, Detector: measure.Pinned, CutFor: time.Minute}
}

// SetDefaults sets buckets of 20 ms.
func (h *Herd) SetDefaults() { *h = Herd{Bucket: 20 * time.Millisecond} }

// SetDefaults sets four runs with 0.3 ms of noise.
func (t *Ties) SetDefaults() { *t = Ties{Runs: 4, Noise: 300 * time.Microsecond} }

// SetDefaults sets branches in their order.
func (f *Fallback) SetDefaults() { f.Open = policy.InOrder }

// Config returns the stage's configuration, or nil for what ends a stack:
// fallback, call, guest, go and external.
func (s *Stage) Config() policy.Config {
	switch {
	case s.Retry != nil:
		return s.Retry
	case s.Timeout != nil:
		return s.Timeout
	case s.Breaker != nil:
		return s.Breaker
	case s.Limit != nil:
		return s.Limit
	case s.Rate != nil:
		return s.Rate
	case s.Hedge != nil:
		return s.Hedge
	case s.Throttle != nil:
		return s.Throttle
	case s.Adaptive != nil:
		return s.Adaptive
	}
	return nil
}

// Kind returns the name of the stage's policy.
func (s *Stage) Kind() string {
	switch {
	case s.Retry != nil:
		return "retry"
	case s.Timeout != nil:
		return "timeout"
	case s.Breaker != nil:
		return "breaker"
	case s.Limit != nil:
		return "limit"
	case s.Rate != nil:
		return "rate"
	case s.Hedge != nil:
		return "hedge"
	case s.Throttle != nil:
		return "throttle"
	case s.Adaptive != nil:
		return "adaptive"
	case s.Fallback != nil:
		return "fallback"
	case s.Guest != "":
		return "guest"
	case s.Go != "":
		return "go"
	case s.External != nil:
		return "external"
	}
	return "call"
}

// Span returns when phase i begins and ends.
func (s *Study) Span(i int) (from, to time.Duration) {
	for _, p := range s.Phases[:i] {
		from += p.For
	}
	return from, from + s.Phases[i].For
}

// Length returns how long the phases last together.
func (s *Study) Length() time.Duration {
	_, to := s.Span(len(s.Phases) - 1)
	return to
}

// Rate returns the rate of the load at the start of phase i; zero for a load
// without one. Of a study's sine or spikes, which do not begin with the phase,
// it is the rate between them.
func (s *Study) Rate(i int) clock.Rate {
	if r := s.Phases[i].Load.Rate; !r.IsZero() {
		return r
	}
	return s.Load.Rate
}

// Schedule returns when the requests of a run arrive.
func (s *Study) Schedule() *load.Schedule {
	var segments []load.Segment
	for i := range s.Phases {
		from, to := s.Span(i)
		segments = append(segments, s.Load.Segments(&s.Phases[i].Load, from, to)...)
	}
	return load.New(s.Load, segments, s.Luck())
}

// Luck returns the source of the study's draws.
func (s *Study) Luck() chance.Source { return chance.New(s.Seed) }

// Caller returns who makes a request: the callers take turns or, with poisson
// arrivals, are drawn, so that each is a poisson process of its own.
func (s *Study) Caller(request int64) int32 {
	switch {
	case s.Callers <= 1:
		return 0
	case s.Load.Arrivals == load.Poisson:
		return int32(s.Luck().Draw(chance.Caller, request, 0, 0).Below(int64(s.Callers)))
	}
	return int32(request % int64(s.Callers))
}

// Callees returns the names of what can be called: the dependencies, then the
// services, then the real targets.
func (s *Study) Callees() []string {
	real := s.realNames()
	if s.Services.Len()+len(real) == 0 {
		return s.Dependencies.Names()
	}
	return slices.Concat(s.Dependencies.Names(), s.Services.Names(), real)
}

// base returns how a dependency or service behaves but for the phases.
func (s *Study) base(name string) (b dependency.Behaviour, known bool) {
	if service, ok := s.Services.Get(name); ok {
		b = service.Behaviour
		if b.OnCancel == nil { // as most servers, it does not notice that a caller has left
			burns := dependency.Burns
			b.OnCancel = &burns
		}
		if b.Latency == nil && b.FirstToken == nil { // it may do nothing of its own
			b.Latency = dependency.Every(dependency.Fixed(0))
		}
		return b, true
	}
	return s.Dependencies.Get(name)
}

// Behaviour returns how a dependency or service behaves in phase i.
func (s *Study) Behaviour(i int, name string) dependency.Behaviour {
	base, _ := s.base(name)
	override, _ := s.Phases[i].Dependencies.Get(name)
	return override.Over(base)
}

// RecoveryPhase returns the position of the phase in which recovery is looked
// for.
func (s *Study) RecoveryPhase() int {
	name := cmp.Or(s.Recovery.Phase, "recovery")
	for i, p := range s.Phases {
		if p.Name == name {
			return i
		}
	}
	return len(s.Phases) - 1
}
