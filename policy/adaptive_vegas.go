package policy

import (
	"cmp"
	"math"
	"time"

	"brunt/chance"
)

// vegas estimates how many of the calls inside are queued, from the shortest
// time that any took, and holds that between alpha and beta (VegasLimit.java at
// 7989055; the logarithm is that of Log10RootIntFunction.java at 108594a):
//
//	queue = ceil(limit * (1 - shortest/rtt))
//
// A server with w workers, all of them busy, answers limit calls in limit/w
// service times, so the queue is limit - w: the limit comes to rest near w +
// alpha to w + beta. After `probe_multiplier` times the limit samples, less up
// to half of it by chance, the next sample counts as the shortest. Under
// load that one holds the queue as well, and the limit creeps up. Without a
// window each call learns of the last changes of the limit a round trip late,
// and under steady load the limit swings far to both sides of that rest.
type vegas struct {
	limit                  float64
	lowest, highest        float64
	smoothing              float64
	alpha, beta, threshold int // 0: by the logarithm of the limit
	shortest               time.Duration

	multiplier float64
	jitter     float64 // of the present probe, in [0.5, 1)
	samples    int64   // since the last probe
	probes     int64
	source     chance.Source
	id, caller uint64
}

func newVegas(c *Adaptive, name string, env *Env) *vegas {
	v := &vegas{
		limit: float64(c.Initial), lowest: float64(c.Min), highest: float64(c.Max), smoothing: c.Smoothing,
		alpha: c.Alpha, beta: c.Beta, threshold: c.Threshold,
		multiplier: float64(c.ProbeMultiplier), source: env.Chance, id: chance.Name(name), caller: uint64(env.Caller),
	}
	v.draw()
	return v
}

// draw draws when the next probe is due.
func (v *vegas) draw() {
	v.jitter = 0.5 + v.source.Draw(chance.Probe, v.probes, v.id, v.caller).Float()/2
	v.probes++
	v.samples = 0
}

func (v *vegas) update(rtt time.Duration, inside int, dropped bool) int {
	v.samples++
	switch {
	case v.jitter*v.multiplier*v.limit <= float64(v.samples):
		v.draw()
		v.shortest = rtt
	case v.shortest == 0 || rtt < v.shortest:
		v.shortest = rtt
	default:
		v.adjust(rtt, inside, dropped)
	}
	return int(v.limit)
}

func (v *vegas) adjust(rtt time.Duration, inside int, dropped bool) {
	log := logarithm(int(v.limit))
	alpha, beta, threshold := cmp.Or(v.alpha, 3*log), cmp.Or(v.beta, 6*log), cmp.Or(v.threshold, log)
	limit := v.limit
	queue := int(math.Ceil(limit * (1 - float64(v.shortest)/float64(rtt))))
	switch {
	case dropped:
		limit -= float64(log)
	case float64(inside*2) < limit: // the limit does not bind: nothing to learn about it
		return
	case queue <= threshold:
		limit += float64(beta)
	case queue < alpha:
		limit += float64(log)
	case queue > beta:
		limit -= float64(log)
	default:
		return
	}
	limit = max(v.lowest, min(v.highest, limit))
	// the conversions keep the sum from being fused, which would round otherwise;
	// the sum may round to just below its bound (a limit of 0, in the origin)
	limit = float64((1-v.smoothing)*v.limit) + float64(v.smoothing*limit)
	v.limit = max(v.lowest, limit)
}

// logarithm returns the whole part of the decimal logarithm of n, and 1 for
// what is below 100.
func logarithm(n int) int {
	log := 1
	for n >= 100 {
		n /= 10
		log++
	}
	return log
}
