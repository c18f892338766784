package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Goal is a measure and which way is better.
type Goal struct {
	Measure string `json:"measure"`
	Better  string `json:"better"` // max or min
}

// parseGoals reads NAME:max,NAME:min.
func parseGoals(text string) ([]Goal, error) {
	var goals []Goal
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		i := strings.LastIndexByte(item, ':')
		if i < 0 || item[i+1:] != "max" && item[i+1:] != "min" {
			return nil, fmt.Errorf("pareto %q: expected NAME:max or NAME:min, such as completed/offered:max,attempts/offered:min", item)
		}
		g := Goal{strings.TrimSpace(item[:i]), item[i+1:]}
		if slices.ContainsFunc(goals, func(other Goal) bool { return other.Measure == g.Measure }) {
			return nil, fmt.Errorf("pareto: %s stands there twice", g.Measure)
		}
		goals = append(goals, g)
	}
	if len(goals) < 2 {
		return nil, errors.New("pareto: expected two measures at least: of one, the best is the best")
	}
	return goals, nil
}

// Front holds what no other point and composition beats: nothing is at least as
// good in every goal and better in one. It goes by the means; that of two
// points whose intervals overlap one beats the other may be luck.
type Front struct {
	Goals   []Goal   `json:"goals"`
	Members []Member `json:"members"` // in the order of the first goal, best first
	Of      int      `json:"of"`      // points and compositions that have all of the means
	Refused int      `json:"refused"` // that lack one
}

// Member is one point and composition on a front.
type Member struct {
	Place
	Composition string    `json:"composition"`
	Means       []float64 `json:"means"` // by goal
	Equal       int       `json:"equal"` // others with the same means, which are not listed
}

// add takes the means of one point and composition, nil for one that is
// refused.
func (f *Front) add(place func() Place, composition string, means []*float64) {
	values := make([]float64, len(means))
	for i, m := range means {
		if m == nil {
			f.Refused++
			return
		}
		values[i] = *m
	}
	f.Of++
	if i := slices.IndexFunc(f.Members, func(m Member) bool { return slices.Equal(m.Means, values) }); i >= 0 {
		f.Members[i].Equal++ // numbers that hardly vary would fill the list
		return
	}
	if slices.ContainsFunc(f.Members, func(m Member) bool { return f.beats(m.Means, values) }) {
		return
	}
	f.Members = slices.DeleteFunc(f.Members, func(m Member) bool { return f.beats(values, m.Means) })
	f.Members = append(f.Members, Member{place(), composition, values, 0})
}

// beats reports whether a is at least as good as b everywhere, and better
// somewhere.
func (f *Front) beats(a, b []float64) bool {
	better := false
	for i, g := range f.Goals {
		x, y := a[i], b[i]
		if g.Better == "min" {
			x, y = -x, -y
		}
		if x < y {
			return false
		}
		better = better || x > y
	}
	return better
}

// sort brings the members into the order of the goals, best first.
func (f *Front) sort() {
	slices.SortStableFunc(f.Members, func(a, b Member) int {
		switch {
		case slices.Equal(a.Means, b.Means):
			return 0
		case f.before(a.Means, b.Means):
			return -1
		}
		return 1
	})
}

func (f *Front) before(a, b []float64) bool {
	for i, g := range f.Goals {
		if a[i] != b[i] {
			return (a[i] > b[i]) == (g.Better == "max")
		}
	}
	return false
}
