package policy

import (
	"slices"
	"testing"
	"time"

	"brunt/chance"
	"brunt/clock"
)

func vegasFor(change func(*Adaptive)) *vegas {
	config := adaptives(Vegas, change).settled()
	return newVegas(&config, "adaptive", &Env{Loop: clock.Virtual(), Chance: chance.New(1)})
}

func TestLogarithm(t *testing.T) {
	for n, want := range map[int]int{1: 1, 9: 1, 10: 1, 99: 1, 100: 2, 999: 2, 1000: 3, 9999: 3, 10_000: 4, 1_000_000: 6} {
		if got := logarithm(n); got != want {
			t.Errorf("logarithm(%d) = %d, want %d", n, got, want)
		}
	}
}

// The mean of two limits of 3 may round to less.
func TestVegasSmoothingKeepsTheMinimum(t *testing.T) {
	v := vegasFor(func(c *Adaptive) { c.Initial, c.Min, c.Smoothing = 3, 3, 0.3 })
	v.update(ms, 1, false)
	for i := range 3 {
		if got := v.update(ms, 1, true); got != 3 {
			t.Fatalf("limit %d after drop %d, want the minimum of 3", got, i+1)
		}
	}
}

func TestVegas(t *testing.T) {
	us := time.Microsecond
	type step struct {
		sample
		want int
	}
	tests := []struct {
		name   string
		change func(*Adaptive)
		steps  []step
	}{
		// up to a limit of 99 alpha is 3, beta 6, the threshold and steps 1
		{"by hand", nil, []step{
			{sample{10 * ms, 20, false}, 20},    // the first is the shortest
			{sample{10 * ms, 10, false}, 26},    // no queue: + beta; 2 * 10 >= 20
			{sample{10 * ms, 12, false}, 26},    // 2 * 12 < 26: the limit does not bind
			{sample{11 * ms, 26, false}, 26},    // 26/11, a queue of 3: at rest
			{sample{10800 * us, 26, false}, 27}, // 26 * 0.8/10.8, a queue of 2: + 1
			{sample{12500 * us, 27, false}, 27}, // 27 * 2.5/12.5, a queue of 6: at rest
			{sample{13600 * us, 27, false}, 26}, // 27 * 3.6/13.6, a queue of 8: - 1
			{sample{10390 * us, 26, false}, 32}, // 26 * 0.39/10.39, a queue of 1: none
			{sample{10 * ms, 1, true}, 31},      // a drop counts also where the limit does not bind
			{sample{9 * ms, 31, false}, 31},     // a new shortest, and nothing else
			{sample{8 * ms, 31, true}, 31},      // even when it was dropped
			{sample{16 * ms, 31, false}, 30},    // 15.5 against the new one
		}},
		// from 100 on 6, 12 and 2
		{"larger", func(c *Adaptive) { c.Initial = 100 }, []step{
			{sample{10 * ms, 100, false}, 100},
			{sample{10500 * us, 100, false}, 102}, // 100 * 0.5/10.5, a queue of 5: + 2
			{sample{10 * ms, 102, false}, 114},
			{sample{20 * ms, 114, false}, 112},
			{sample{20 * ms, 1, true}, 110},
		}},
		{"half the way", func(c *Adaptive) { c.Smoothing = 0.5 }, []step{
			{sample{10 * ms, 20, false}, 20},
			{sample{10 * ms, 20, false}, 23}, // half of + 6
			{sample{10 * ms, 1, true}, 22},   // 22.5
			{sample{10 * ms, 1, true}, 22},   // 22
		}},
		{"settings", func(c *Adaptive) { c.Alpha, c.Beta, c.Threshold = 2, 4, 2 }, []step{
			{sample{10 * ms, 20, false}, 20},
			{sample{11 * ms, 20, false}, 24}, // 20/11, a queue of 2 is none: + 4
			{sample{12 * ms, 24, false}, 24}, // 24/6, a queue of 4: at rest
			{sample{13 * ms, 24, false}, 23}, // 24 * 3/13, a queue of 6: - 1
		}},
		{"bounds", func(c *Adaptive) { c.Initial, c.Min, c.Max = 8, 7, 10 }, []step{
			{sample{10 * ms, 8, false}, 8},
			{sample{10 * ms, 8, false}, 10},
			{sample{10 * ms, 8, true}, 9},
			{sample{10 * ms, 8, true}, 8},
			{sample{10 * ms, 8, true}, 7},
			{sample{10 * ms, 8, true}, 7},
		}},
	}
	for _, test := range tests {
		v := vegasFor(test.change)
		for i, step := range test.steps {
			if got := v.update(step.rtt, step.inside, step.dropped); got != step.want {
				t.Fatalf("%s: step %d: limit %d, want %d", test.name, i, got, step.want)
			}
		}
	}
}

// A server with w workers, all busy, and a limit of l answers in l/w service
// times, of which the limit makes a queue of l - w. Over windows that are longer
// than an answer takes, it comes to rest where that is between alpha and beta.
// (A queue that rounds up to alpha is at rest as well.)
func TestVegasFindsTheKnee(t *testing.T) {
	window := 200 * ms
	for _, workers := range []int{1, 4, 10, 30, 60} {
		c := adaptives(Vegas, func(c *Adaptive) { c.Window, c.ProbeMultiplier, c.Initial = &window, 1_000_000, (workers+1)/2 })
		limits := crowd(c, newStation(workers, 1e9), 12*time.Second)
		last := limits[len(limits)-1]
		const alpha, beta = 3, 6 // below a limit of 100
		if queue := last - workers; queue < alpha-1 || queue > beta {
			t.Errorf("%d workers: rests at %d, a queue of %d; limits %v", workers, last, queue, limits)
		}
	}
}

// A probe under load takes a time with its queue for the shortest, and the
// limit moves up until there is as much of a queue again, to be taken for none
// at the next: what the origin does, too.
func TestVegasCreepsUpUnderLoad(t *testing.T) {
	window := 100 * ms
	c := adaptives(Vegas, func(c *Adaptive) { c.Window, c.ProbeMultiplier = &window, 1 })
	limits := crowd(c, newStation(10, 1e9), 60*time.Second)
	if last := limits[len(limits)-1]; last < 40 {
		t.Errorf("limit %d after a minute before 10 workers, want a multiple of them; limits %v", last, limits)
	}
}

// When each call updates the limit, it learns of its own changes a round trip
// late, and swings: down one with each call that was queued, far below the
// knee, and up by beta with each of those that were not.
func TestVegasSwingsWithoutWindow(t *testing.T) {
	c := adaptives(Vegas, func(c *Adaptive) { c.ProbeMultiplier = 1_000_000 })
	limits := crowd(c, newStation(30, 1e9), 8*time.Second)
	late := limits[len(limits)/2:]
	if low, high := slices.Min(late), slices.Max(late); low > 20 || high < 60 {
		t.Errorf("from %d to %d before 30 workers, want a swing from below 20 to above 60", low, high)
	}
}

// The probe comes with the first sample whose number is not below jitter *
// multiplier * limit, takes its time for the shortest, and the next is drawn
// anew. Stages and callers draw on their own.
func TestVegasProbes(t *testing.T) {
	at := map[int]int{}
	type run struct {
		seed   int64
		name   string
		caller int32
	}
	first := map[run]int{}
	for seed := range int64(200) {
		for _, r := range []run{{seed, "a", 0}, {seed, "a", 1}, {seed, "b", 0}} {
			config := adaptives(Vegas, func(c *Adaptive) { c.ProbeMultiplier = 2 }).settled()
			v := newVegas(&config, r.name, &Env{Chance: chance.New(seed), Caller: r.caller})
			for range 2 { // probes
				v.shortest = ms
				for n := 1; ; n++ {
					v.update(2*ms, 1, false) // the limit of 20 does not bind, and stays
					if v.shortest == 2*ms {
						if n < 20 || n > 40 {
							t.Fatalf("probe at sample %d, want 20 to 40", n)
						}
						at[n]++
						if first[r] == 0 {
							first[r] = n
						}
						break
					}
				}
			}
		}
	}
	// uniform over [20, 40): 1200 probes in 20 bins of 60, give or take five deviations
	for n := 21; n <= 40; n++ {
		if at[n] < 22 || at[n] > 98 {
			t.Errorf("%d probes at sample %d, want about 60", at[n], n)
		}
	}
	same := 0
	for seed := range int64(200) {
		if a := first[run{seed, "a", 0}]; a == first[run{seed, "a", 1}] || a == first[run{seed, "b", 0}] {
			same++
		}
	}
	if same > 60 { // about 20 by chance
		t.Errorf("stages or callers draw alike for %d of 200 seeds", same)
	}
}
