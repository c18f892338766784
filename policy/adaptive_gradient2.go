package policy

import "time"

// gradient2 compares each time with a slow average of them (Gradient2Limit.java
// at f2528de, ExpAvgMeasurement.java at 11c7060):
//
//	gradient = max(0.5, min(1, rtt_tolerance * average/rtt))
//	limit    = (1-smoothing) * limit + smoothing * (limit*gradient + queue_size)
//
// With everything as usual it grows by smoothing * queue_size a sample. At a
// server with w busy workers, and an average that still is the service time,
// it comes to rest at rtt_tolerance * w + queue_size; as the average follows
// what is, it goes on growing from there. A drop is but a sample to it.
type gradient2 struct {
	limit           float64
	lowest, highest float64
	smoothing       float64
	queue           float64
	tolerance       float64

	average float64 // of times in nanoseconds
	sum     float64 // of the first of them
	samples int     // up to warmup
	factor  float64
}

// warmup is how many samples are averaged evenly before the average forgets.
const warmup = 10

func newGradient2(c *Adaptive) *gradient2 {
	return &gradient2{
		limit: float64(c.Initial), lowest: float64(c.Min), highest: float64(c.Max), smoothing: c.Smoothing,
		queue: float64(c.QueueSize), tolerance: c.RTTTolerance, factor: 2 / float64(c.LongWindow+1),
	}
}

// take takes a sample into the average. All conversions here and below keep sums from
// being fused, which would round otherwise on some machines.
func (g *gradient2) take(rtt float64) {
	if g.samples < warmup {
		g.samples++
		g.sum += rtt
		g.average = g.sum / float64(g.samples)
		return
	}
	g.average = float64(g.average*(1-g.factor)) + float64(rtt*g.factor)
}

func (g *gradient2) update(rtt time.Duration, inside int, _ bool) int {
	short := float64(rtt)
	g.take(short)
	long := g.average
	if long/short > 2 { // things are well again: the average need not linger
		g.average = float64(g.average * 0.95)
	}
	if float64(inside) < g.limit/2 { // the limit does not bind: nothing to learn about it
		return int(g.limit)
	}
	gradient := max(0.5, min(1, g.tolerance*long/short))
	limit := float64(g.limit*gradient) + g.queue
	limit = float64(g.limit*(1-g.smoothing)) + float64(limit*g.smoothing)
	g.limit = max(g.lowest, min(g.highest, limit))
	return int(g.limit)
}
