package policy

import (
	"math"
	"testing"
	"time"
)

func gradient2For(change func(*Adaptive)) *gradient2 {
	config := adaptives(Gradient2, change).settled()
	return newGradient2(&config)
}

func TestGradient2(t *testing.T) {
	g := gradient2For(func(c *Adaptive) { c.Min = 1 })
	steps := []struct {
		sample
		limit   float64
		average float64 // in milliseconds, after the step
	}{
		// as usual: 20 * 0.8 + (20 + 4) * 0.2
		{sample{10 * ms, 10, false}, 20.8, 10},
		{sample{10 * ms, 11, false}, 21.6, 10},
		// 10 < 21.6/2: the limit does not bind; the average learns
		{sample{10 * ms, 10, false}, 21.6, 10},
		// average (30 + 30)/4, gradient 1.5 * 15/30; 21.6 * 0.8 + (21.6 * 0.75 + 4) * 0.2
		{sample{30 * ms, 22, false}, 21.32, 15},
		// average 160/5, gradient 0.48 cut to 0.5; 21.32 * 0.8 + (10.66 + 4) * 0.2
		{sample{100 * ms, 22, false}, 19.988, 32},
		// average 170/6, more than twice the time: 0.95 of it from now on; as usual
		{sample{10 * ms, 22, false}, 20.788, 170. / 6 * 0.95},
		// which the even average of the first ten forgets. A drop is nothing special
		{sample{10 * ms, 22, true}, 21.588, 180. / 7 * 0.95},
	}
	for i, step := range steps {
		got := g.update(step.rtt, step.inside, step.dropped)
		if math.Abs(g.limit-step.limit) > 1e-9 || got != int(step.limit) {
			t.Errorf("step %d: limit %v, %d, want %v", i, g.limit, got, step.limit)
		}
		if math.Abs(g.average/1e6-step.average) > 1e-9 {
			t.Errorf("step %d: average %v ms, want %v", i, g.average/1e6, step.average)
		}
	}
}

// After ten samples the average is exponential, with a factor of 2/(n+1).
func TestGradient2Average(t *testing.T) {
	g := gradient2For(func(c *Adaptive) { c.LongWindow = 9 })
	for range 10 {
		g.take(10)
	}
	g.take(20) // 10 * 0.8 + 20 * 0.2
	if math.Abs(g.average-12) > 1e-12 {
		t.Errorf("average %v, want 12", g.average)
	}
	g.take(2) // 12 * 0.8 + 2 * 0.2
	if math.Abs(g.average-10) > 1e-12 {
		t.Errorf("average %v, want 10", g.average)
	}
}

// With an average that stays at the service time, the limit before w busy
// workers answers in limit/w service times. It rests where limit = limit *
// tolerance * w/limit + queue, at tolerance * w + queue.
func TestGradient2Rests(t *testing.T) {
	window := 100 * ms
	for _, workers := range []int{10, 20, 40} {
		// the ten windows of the first average take the limit up to the workers
		c := adaptives(Gradient2, func(c *Adaptive) {
			c.Window, c.LongWindow, c.Initial, c.Min = &window, 1_000_000, workers-8, 1
		})
		limits := crowd(c, newStation(workers, 1e9), 12*time.Second)
		want := 1.5*float64(workers) + 4
		if last := limits[len(limits)-1]; math.Abs(float64(last)-want) > 1.5 {
			t.Errorf("%d workers: rests at %d, want %v; limits %v", workers, last, want, limits)
		}
	}
}
