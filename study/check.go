package study

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"brunt/check"
	"brunt/dependency"
	"brunt/load"
)

// What a study may hold at most.
const (
	mostListed   = 1000        // compositions, dependencies, phases, expectations
	mostAttempts = 10_000      // of one request, in the worst case
	mostRequests = 100_000_000 // of one composition
	mostCallers  = 1_000_000
)

// Names that results have taken.
const (
	wholeRun        = "whole" // all phases together
	allDependencies = "total" // all dependencies together
)

// leastBucket is the shortest in which attempts are counted.
const leastBucket = 100 * time.Microsecond

// check reports what is wrong with a study, setting by setting. judge knows
// the names of measures; nil takes any.
func (s *Study) check(p check.Problems, judge judge) {
	named(p, "study", s.Name, "the name of the study")
	check.OneOf(p, "clock", s.Clock, Virtual, Real)
	s.checkRepeat(p)
	s.Gates.check(p.In("gates"))
	if s.ProtocolName != "" && !s.Gates.Enforce {
		p.Doubt("gates.enforce", false, "a protocol enforces the gates all the same")
	}
	s.Load.Check(p.In("load"))
	p.NotNegative("warmup", s.Warmup)
	p.Positive("horizon", s.Horizon)
	if s.Horizon > 0 && s.Load.DispatchNoise >= s.Horizon {
		p.Add("load.dispatch_noise", s.Load.DispatchNoise, "expected less than the horizon of %v", s.Horizon)
	}
	check.Between(p, "callers", s.Callers, 1, mostCallers)
	s.checkDependencies(p)
	s.checkServices(p.In("services"))
	s.checkReplays(p)
	s.checkTargets(p)
	s.checkServe(p)
	s.checkPhases(p)
	s.checkCompositions(p)
	s.checkSLO(p.In("slo"))
	s.checkFault(p.In("fault"))
	s.checkCalibrate(p)
	s.checkRecovery(p.In("recovery"))
	s.checkDetector(p.In("recovery", "detector"))
	s.Herd.check(p.In("herd"))
	check.Between(p, "ties.runs", s.Ties.Runs, 0, 1000)
	if s.Ties.Runs > 0 {
		p.Positive("ties.noise", s.Ties.Noise)
	}
	for i, t := range s.Tables {
		check.OneOf(p.In("tables"), strconv.Itoa(i), t, Outcomes, Amplification, RecoveryTable, HerdTable, Providers)
		if slices.Contains(s.Tables[:i], t) {
			p.In("tables").Doubt(strconv.Itoa(i), t, "is shown already")
		}
	}
	s.checkExpectations(p, judge)
	s.checkComparisons(p.In("compare"), judge)
}

// named reports what is no good as a name. Names become parts of paths, of
// files and of column heads.
func named(p check.Problems, path, name, what string) bool {
	switch {
	case name == "":
		p.Add(path, nil, "missing: expected %s", what)
	case !isName(name):
		p.Add(path, strconv.Quote(clip(name)), "expected %s", nameRule)
	default:
		return true
	}
	return false
}

var nameRule = fmt.Sprintf("at most %d letters, digits, dashes, dots and underscores, first a letter or a digit", longestName)

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '-' || c == '.' || c == '_'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= longestName
}

// counted reports a list that is empty or absurdly long.
func counted(p check.Problems, path string, n int, what string) {
	switch {
	case n == 0:
		p.Add(path, nil, "missing: expected at least one %s", what)
	case n > mostListed:
		p.Add(path, n, "expected at most %d", mostListed)
	}
}

func (s *Study) checkDependencies(p check.Problems) {
	if !s.CallsReal() || s.Dependencies.Len() > mostListed {
		counted(p, "dependencies", s.Dependencies.Len(), "dependency")
	}
	in := p.In("dependencies")
	for name, b := range s.Dependencies.All() {
		if name == allDependencies {
			in.Add(name, nil, "%s is what results call all dependencies together: expected another name", name)
		}
		b.Check(in.In(name))
	}
}

// check refuses buckets that would be many and empty: attempts are counted in
// no finer ones.
func (h *Herd) check(p check.Problems) {
	p.Positive("bucket", h.Bucket)
	if h.Bucket > 0 && h.Bucket < leastBucket {
		p.Add("bucket", h.Bucket, "expected at least %v", leastBucket)
	}
}

func (s *Study) checkPhases(p check.Problems) {
	counted(p, "phases", len(s.Phases), "phase")
	if len(s.Phases) > mostListed {
		return
	}
	var total time.Duration
	names := map[string]int{}
	for i, phase := range s.Phases {
		in := p.In("phases", strconv.Itoa(i))
		if named(in, "name", phase.Name, "the name of the phase") {
			if first, twice := names[phase.Name]; twice {
				in.Add("name", phase.Name, "is the name of phase %d already: expected a name of its own", first+1)
			}
			names[phase.Name] = i
		}
		if phase.Name == wholeRun {
			in.Add("name", phase.Name, "is what results call all phases together: expected another name")
		}
		in.Positive("for", phase.For)
		if total += min(max(phase.For, 0), check.Longest); total > check.Longest {
			in.Add("for", phase.For, "makes the study longer than ten years")
			total = 0
		}
		phase.Load.Check(in.In("load"), &s.Load, phase.For)
		for name, b := range phase.Dependencies.All() {
			if _, real := s.RealTarget(name); real {
				in.In("dependencies").Add(name, nil, "%s is a real target, which behaves as it does: expected fault.inject to change it", name)
			} else if _, known := s.base(name); !known {
				in.In("dependencies").Add(name, fmt.Sprintf("unknown dependency %q", name), "%s", suggest(name, s.Callees()))
			}
			b.Check(in.In("dependencies", name))
		}
	}
	s.Load.CheckWithin(p.In("load"), total)
}

func (s *Study) checkCompositions(p check.Problems) {
	counted(p, "compositions", s.Compositions.Len(), "composition")
	in := p.In("compositions")
	for name, stack := range s.Compositions.All() {
		s.checkStack(stack, in.In(name), 0)
	}
}

func (s *Study) phaseNames() []string {
	names := make([]string, len(s.Phases))
	for i, p := range s.Phases {
		names[i] = p.Name
	}
	return names
}

func (s *Study) checkRecovery(p check.Problems) {
	p.NotNegative("clean_window", s.Recovery.CleanWindow)
	p.Positive("cut_for", s.Recovery.CutFor)
	names := s.phaseNames()
	i := len(names) - 1
	if s.Recovery.Phase != "" {
		i = slices.Index(names, s.Recovery.Phase)
		if i < 0 {
			p.Add("phase", fmt.Sprintf("unknown phase %q", s.Recovery.Phase), "%s", suggest(s.Recovery.Phase, names))
		}
	}
	if i >= 0 && s.Phases[i].For > 0 && s.Recovery.CleanWindow > s.Phases[i].For {
		p.Doubt("clean_window", s.Recovery.CleanWindow, "longer than phase %s (%v): recovery cannot be observed", names[i], s.Phases[i].For)
	}
}

// checkWhole reports what is wrong between settings that are right by
// themselves: behaviours, the worst case of the stacks, and the load.
func (s *Study) checkWhole(p check.Problems) {
	s.checkBehaviours(p)
	if n := s.Schedule().Expected(); n > mostRequests {
		path, value := s.heaviest()
		p.Add(path, value, "makes %s requests in %v: expected at most %s", grouped(n), s.Length(), grouped(mostRequests))
	}
	if len(p.All()) > 0 {
		return // a bound needs whole behaviours
	}
	for name, stack := range s.Compositions.All() {
		if n := s.Worst(name).Attempts; n > mostAttempts {
			p.In("compositions").Add(name, nil, "makes up to %s attempts per request: expected at most %s", grouped(n), grouped(mostAttempts))
		}
		s.doubtStack(p.In("compositions", name), stack, surroundings{within: s.Horizon, what: "the horizon"})
	}
	for name, service := range s.Services.All() {
		s.doubtStack(p.In("services", name, "stack"), service.Stack, surroundings{within: s.Horizon, what: "the horizon"})
	}
	s.doubtUse(p)
	s.doubtReplays(p)
}

// checkBehaviours reports what each dependency lacks in each phase: where the
// phase changes it, else where it is described.
func (s *Study) checkBehaviours(p check.Problems) {
	for _, name := range s.Callees() {
		base, simulated := s.base(name)
		if !simulated {
			continue
		}
		changed := 0
		for i, phase := range s.Phases {
			override, ok := phase.Dependencies.Get(name)
			if !ok {
				continue
			}
			changed++
			merged := override.Over(base)
			in := p.In("phases", strconv.Itoa(i), "dependencies", name)
			merged.CheckWhole(in)
			if base.Workers == nil && merged.Employs() {
				in.Add("workers", "given", "there are none but for this phase: expected workers in %s.%s too, as a phase can change how many there are, not whether", s.described(name), name)
			}
			if i == len(s.Phases)-1 && merged.Pauses() {
				in.Add("paused", true, "the last phase lasts until everything has ended, and work that stands still never does: expected another phase after it")
			}
		}
		if changed < len(s.Phases) {
			base.CheckWhole(p.In(s.described(name), name))
			if base.Workers == nil && base.Employs() {
				p.In(s.described(name), name).Add("replica", "workers given", "one replica has workers and the others have none: expected workers for all, and its own number where it differs")
			}
			if n := len(s.Phases); n > 0 && base.Pauses() {
				if _, changed := s.Phases[n-1].Dependencies.Get(name); !changed {
					p.In(s.described(name), name).Add("paused", true, "work that stands still never ends: expected a phase to pause it, and one after it")
				}
			}
		}
	}
}

// heaviest names the setting that makes most requests.
func (s *Study) heaviest() (path string, value any) {
	if !s.Load.Rated() {
		return "load." + string(s.Load.Arrivals), nil
	}
	at, most := 0, int64(-1)
	for i := range s.Phases {
		from, to := s.Span(i)
		if n := load.New(s.Load, s.Load.Segments(&s.Phases[i].Load, from, to), s.Luck()).Expected(); n > most {
			at, most = i, n
		}
	}
	setting, rate, own := s.Load.Greatest(&s.Phases[at].Load)
	if own {
		return fmt.Sprintf("phases.%d.load.%s", at, setting), rate
	}
	return "load." + setting, rate
}

// grouped writes a count with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// worst is the longest that a dependency can take in any phase.
func (s *Study) worst(name string) (longest time.Duration, bounded bool) {
	base, _ := s.base(name)
	bounded = true
	add := func(b dependency.Behaviour) {
		d, ok := b.Worst()
		longest, bounded = max(longest, d), bounded && ok
	}
	changed := 0
	for _, phase := range s.Phases {
		if override, ok := phase.Dependencies.Get(name); ok {
			changed++
			add(override.Over(base))
		}
	}
	if changed < len(s.Phases) {
		add(base)
	}
	return longest, bounded
}
