package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"brunt/check"
)

// Comparison is a secondary comparison of two compositions. Those that are
// declared before the run share its error rate (Holm); one that is thought of
// afterwards is description.
type Comparison struct {
	// The number that is compared.
	Measure string `yaml:"measure"`
	// The phase it is of. Without it, the whole run.
	Phase string `yaml:"phase"`
	// The two compositions: the second is compared with the first.
	Compositions []string `yaml:"compositions"`
}

// mostRepeats bounds the runs of one study.
const mostRepeats = 100

// Seeds returns the seed of each repeat: seed, seed+1, ….
func (s *Study) Seeds() []int64 {
	seeds := make([]int64, s.Repeat)
	for i := range seeds {
		seeds[i] = s.Seed + int64(i)
	}
	return seeds
}

func (s *Study) checkRepeat(p check.Problems) {
	check.Between(p, "repeat", s.Repeat, 1, mostRepeats)
	if s.Repeat >= 1 && s.Repeat <= mostRepeats && s.Seed > math.MaxInt64-int64(s.Repeat-1) {
		p.Add("seed", s.Seed, "leaves no seeds for %d repeats: expected a smaller one", s.Repeat)
	}
}

func (s *Study) checkComparisons(p check.Problems, judge judge) {
	if len(s.Compare) > mostListed {
		p.Add("", len(s.Compare), "expected at most %d", mostListed)
		return
	}
	for i, c := range s.Compare {
		in := p.In(strconv.Itoa(i))
		s.checkNumber(in, c.Measure, c.Phase, judge)
		for k, name := range c.Compositions {
			if _, known := s.Compositions.Get(name); !known {
				in.In("compositions").Add(strconv.Itoa(k), fmt.Sprintf("unknown composition %q", clip(name)), "%s", suggest(name, s.Compositions.Names()))
			}
		}
		switch {
		case len(c.Compositions) != 2:
			in.Add("compositions", len(c.Compositions), "expected two, such as [retry, retry-breaker]")
		case c.Compositions[0] == c.Compositions[1]:
			in.Add("compositions", c.Compositions[0], "expected two different compositions")
		}
		for k, before := range s.Compare[:i] {
			if before.same(c) {
				in.Add("", nil, "is comparison %d again: each counts among those that were planned", k+1)
				break
			}
		}
	}
	if len(s.Compare) > 0 && s.Repeat == 1 {
		p.Doubt("", nil, "of one run have no interval: add repeat: 5")
	}
}

// same reports whether two comparisons are of the same number, in whatever
// order of compositions.
func (c Comparison) same(d Comparison) bool {
	a, b := slices.Clone(c.Compositions), slices.Clone(d.Compositions)
	slices.Sort(a)
	slices.Sort(b)
	return c.Measure == d.Measure && c.Phase == d.Phase && slices.Equal(a, b)
}
