package report

import (
	"strings"

	"brunt/lab"
	"brunt/study"
)

// configuration lists what the study was.
func configuration(r *lab.Result, c *config) section {
	s := section{Title: "Configuration"}
	add := func(words ...string) {
		item := ""
		for _, w := range words {
			item += w
		}
		s.Items = append(s.Items, item)
	}
	add("Load: ", describeLoad(c))
	if r.Clock == study.Real && c.Warmup > 0 {
		add("Warm-up: ", c.Warmup.String(), " before each composition, through a stack of its own, thrown away.")
	}
	add("Horizon: a request without an outcome ", c.Horizon.String(), " after its intended instant is censored.")
	for _, d := range c.Dependencies {
		add("Dependency ", d.Name, ": ", stopped(describeBehaviour(object(d.Value))))
	}
	for _, d := range c.Services {
		add("Service ", d.Name, ": ", stopped(describeBehaviour(object(d.Value))))
	}
	for i := range c.Phases {
		add("Phase ", c.Phases[i].Name, ", ", c.Phases[i].For.String(), ": ", stopped(describePhase(&c.Phases[i])))
	}
	for _, comp := range c.Compositions {
		add("Composition ", comp.Name, ": ", stopped(describeStack(comp.Value)))
	}
	if c.Recovery.CleanWindow > 0 {
		in := "the last phase"
		if c.Recovery.Phase != "" {
			in = "phase " + c.Recovery.Phase
		}
		add("Recovery: looked for in ", in, ", in clean windows of ", c.Recovery.CleanWindow.String(), ".")
	}
	return s
}

func describeLoad(c *config) string {
	l := &c.Load
	var words string
	switch l.Arrivals {
	case "burst":
		words = plural(l.Burst, "request", "requests") + " at once, at the start"
	case "trace":
		words = "requests at the instants in " + l.Trace
	case "poisson":
		words = l.Rate + ", at random instants (Poisson) that are fixed before the run"
	default:
		words = l.Rate + ", evenly spaced"
	}
	words += describeShape(&l.shape)
	if c.Callers > 1 {
		words += "; made by " + integer(int64(c.Callers)) + " callers, each with policy state of its own"
	}
	if l.MaxInFlight > 0 {
		words += "; with " + integer(l.MaxInFlight) + " requests in flight further ones are shed"
	}
	if l.DispatchNoise > 0 {
		words += "; each is submitted up to " + l.DispatchNoise.String() + " late, at random"
	}
	return words + "."
}

// describeShape says how a load moves; nothing when it does not.
func describeShape(s *shape) string {
	switch {
	case s.Spike != nil:
		return "; " + s.Spike.Rate + " for the last " + s.Spike.For.String() + " of every " + s.Spike.Every.String()
	case s.Sine != nil:
		return "; swinging by " + timeText(s.Sine.Amplitude) + " with a period of " + s.Sine.Period.String()
	}
	return ""
}

func describePhase(p *phase) string {
	var words string
	if p.Load.Rate != "" && p.Load.Rate != "0/s" {
		words = p.Load.Rate
	}
	if p.Load.To != "" && p.Load.To != "0/s" {
		words = strings.TrimSpace(words + " going to " + p.Load.To)
		if p.Load.Steps > 0 {
			words += " in " + integer(p.Load.Steps) + " steps"
		}
	}
	words = strings.TrimPrefix(words+describeShape(&p.Load.shape), "; ")
	for _, d := range p.Dependencies {
		if words != "" {
			words += "; "
		}
		words += d.Name + ": " + describeBehaviour(object(d.Value))
	}
	if words == "" {
		return unchanged
	}
	return words
}

// unchanged is what a phase says that changes nothing.
const unchanged = "as configured"

// simulated says what a simulated dependency leaves out.
func simulated(r *lab.Result) string {
	for i := range r.Compositions {
		if len(r.Compositions[i].Capacity) > 0 {
			return "A dependency is simulated: workers and a queue, but no sockets, no serialisation, and no work beside that of the attempts."
		}
	}
	return "A dependency is simulated: no sockets, no serialisation, and nothing waits that has no workers, so overload does not slow it down."
}

// limits lists what the method is, and what it cannot tell.
func limits(r *lab.Result) section {
	s := section{Title: "Limits of the method"}
	s.Items = []string{
		"Arrivals keep their intended instants whatever happens, and every time is measured from there: waiting of any kind is in the numbers.",
		"Every request ends completed, errored or censored; none is dropped. Offered = completed + errored + censored in every row.",
		"Every composition starts afresh and meets the same arrivals and the same draws, so two of them differ by their stages alone.",
		"An attempt behaves as its dependency did when the attempt started: one that began in one phase may end in the next.",
		"Percentiles are nearest-rank over all samples. In short runs few samples stand behind a p99.",
		simulated(r),
		"The numbers are of the seeds above, and of this configuration; they say nothing about the capacity of any real system.",
	}
	if len(r.Replays) > 0 {
		s.Items = append(s.Items, "A recording shows what its target did under the load of then. Replayed, it neither slows down under more load nor gets well under less, and what it did in a row is lost: attempts are drawn one by one.")
	}
	if r.Deterministic {
		s.Items = append(s.Items, noChance)
	}
	if r.Clock == study.Virtual {
		s.Items = append(s.Items, "The virtual clock runs without delays of its own, so scheduler lag is 0 unless the study adds noise. The same study and seed give the same numbers on any machine.")
	} else {
		s.Items = append(s.Items, "On the real clock the compositions run one after the other, and the machine takes part: timers, garbage collection and other processes show in the numbers. Scheduler lag says how much.")
	}
	return s
}
