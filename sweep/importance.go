package sweep

// Importance says how much of the variance of the point means each setting
// explains alone, its main effect: eta squared, the sum of squares between the
// groups of points that share its value over that between all points (Fisher,
// Statistical Methods for Research Workers, 1925). What settings do only
// together stands in none of them.
type Importance struct {
	Settings []Effect `json:"settings"`
	// Luck is the share of the variance that chance explains, from the spread
	// over the seeds: the squared standard error of the point means over their
	// variance. Points share their seeds, so their differences hold less of it.
	Luck       *float64 `json:"luck"`
	LuckReason string   `json:"luck_reason,omitempty"`
	// Full says that the points are a grid and none is left out: only then the
	// shares add up, and what is left is joint effects and luck.
	Full bool `json:"full_grid"`
}

// Effect is the main effect of one setting.
type Effect struct {
	Path   string  `json:"path"`
	Share  float64 `json:"share"`
	Groups int     `json:"groups"` // values, or bins of a range that was sampled
	// Floor is the share that a setting without any effect would show on
	// average. In a full grid that is what luck leaves, (groups-1) squared
	// standard errors over the sum of squares; where points are sampled or left
	// out, all else that varies counts as luck: (groups-1)/(points-1). Null in
	// a full grid on one seed, which tells nothing of luck.
	Floor *float64 `json:"floor"`
}

// floor writes the noise floor.
func (e *Effect) floor() string {
	if e.Floor == nil {
		return "unknown"
	}
	return share(*e.Floor)
}

// tally is a running mean and sum of squares (Welford, Technometrics 4, 1962).
type tally struct {
	n          int
	mean, sums float64
}

func (t *tally) add(v float64) {
	t.n++
	d := v - t.mean
	t.mean += d / float64(t.n)
	t.sums += d * (v - t.mean)
}

// effects gathers what importance is made of, point by point.
type effects struct {
	plan   *Plan
	all    tally
	groups [][]tally // by axis and group
	errors tally     // squared standard errors of the point means
	seeds  int
}

func newEffects(plan *Plan) *effects {
	e := &effects{plan: plan, seeds: plan.Seeds}
	for k := range plan.axes {
		e.groups = append(e.groups, make([]tally, plan.groups(k)))
	}
	return e
}

// add takes the mean of a point, and its standard deviation over the seeds;
// nil where there is one seed.
func (e *effects) add(at Point, mean float64, sd *float64) {
	e.all.add(mean)
	for k, g := range at.Groups {
		e.groups[k][g].add(mean)
	}
	if sd != nil {
		e.errors.add(*sd * *sd / float64(e.seeds))
	}
}

// importance returns the main effects; nil, and why, when there are none to
// tell.
func (e *effects) importance() (*Importance, string) {
	switch {
	case e.all.n < 2:
		return nil, "fewer than two points have a mean"
	case e.all.sums <= 1e-20*e.all.mean*e.all.mean*float64(e.all.n): // no more than rounding
		return nil, "it is the same at every point that has a mean"
	}
	i := &Importance{}
	if e.errors.n == 0 {
		i.LuckReason = "one seed a point tells nothing of luck: run several with --seeds"
	} else {
		luck := min(e.errors.mean*float64(e.all.n-1)/e.all.sums, 1)
		i.Luck = &luck
	}
	full := e.plan.Design == Grid && e.all.n == e.plan.Points
	i.Full = full
	for k := range e.plan.axes {
		between, groups := 0.0, 0
		for _, g := range e.groups[k] {
			if g.n > 0 {
				groups++
				d := g.mean - e.all.mean
				between += float64(g.n) * d * d
			}
		}
		effect := Effect{Path: e.plan.axes[k].Path, Share: min(between/e.all.sums, 1), Groups: groups}
		if !full || i.Luck != nil {
			floor := float64(groups-1) / float64(e.all.n-1)
			if full { // a grid is balanced: other settings cancel out
				floor = float64(groups-1) * e.errors.mean / e.all.sums
			}
			floor = min(floor, 1)
			effect.Floor = &floor
		}
		i.Settings = append(i.Settings, effect)
	}
	return i, ""
}

// rest is what no setting explains alone: joint effects, and luck. Only of a
// full grid it is known.
func (i *Importance) rest() (rest float64, known bool) {
	rest = 1.0
	for _, s := range i.Settings {
		rest -= s.Share
	}
	return max(rest, 0), i.Full
}

// first returns the setting that matters most; nil when none stands out of the
// noise: it must be over twice its floor, and above 0 where that is unknown.
func (i *Importance) first() *Effect {
	best := &i.Settings[0]
	for k := range i.Settings {
		if i.Settings[k].Share > best.Share {
			best = &i.Settings[k]
		}
	}
	floor := 1e-9 // rounding
	if best.Floor != nil {
		floor = max(floor, *best.Floor)
	}
	if best.Share <= 2*floor {
		return nil
	}
	return best
}
