package policy

import "time"

// aimd grows by one while calls fill at least half of the limit, and falls to a
// share of itself with each drop: additive increase, multiplicative decrease,
// without regard to time but for `timeout` (AIMDLimit.java at 784c960). It grows
// with every call and not, as TCP does, once in a round trip.
type aimd struct {
	limit, lowest, highest int
	ratio                  float64
	timeout                time.Duration
}

func newAIMD(c *Adaptive) *aimd {
	return &aimd{limit: c.Initial, lowest: c.Min, highest: c.Max, ratio: c.BackoffRatio, timeout: c.Timeout}
}

func (a *aimd) update(rtt time.Duration, inside int, dropped bool) int {
	switch {
	case dropped || rtt > a.timeout:
		a.limit = int(float64(a.limit) * a.ratio)
	case inside*2 >= a.limit:
		a.limit++
	}
	a.limit = min(a.highest, max(a.lowest, a.limit))
	return a.limit
}
