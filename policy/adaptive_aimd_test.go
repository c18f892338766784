package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAIMD(t *testing.T) {
	config := adaptives(AIMD, func(c *Adaptive) { c.Initial, c.Min, c.Max = 10, 1, 12 }).settled()
	a := newAIMD(&config)
	steps := []struct {
		sample
		want int
	}{
		{sample{ms, 5, false}, 11},               // 2 * 5 >= 10
		{sample{ms, 5, false}, 11},               // 2 * 5 < 11: the limit does not bind
		{sample{ms, 11, false}, 12},              //
		{sample{ms, 12, false}, 12},              // the highest
		{sample{ms, 1, true}, 10},                // 10.8, also where the limit does not bind
		{sample{5 * time.Second, 10, false}, 11}, // the timeout itself is not over it
		{sample{5*time.Second + 1, 1, false}, 9}, // 9.9
		{sample{5*time.Second + 1, 1, true}, 8},  // once, not twice: 8.1
		{sample{ms, 1, true}, 7},                 // 7.2
		{sample{ms, 1, true}, 6},                 // 6.3
		{sample{ms, 1, true}, 5},                 // 5.4
		{sample{ms, 1, true}, 4},                 // 4.5
		{sample{ms, 1, true}, 3},                 // 3.6
		{sample{ms, 1, true}, 2},                 // 2.7
		{sample{ms, 1, true}, 1},                 // 1.8
		{sample{ms, 1, true}, 1},                 // the lowest
		{sample{ms, 1, false}, 2},                //
	}
	for i, step := range steps {
		if got := a.update(step.rtt, step.inside, step.dropped); got != step.want {
			t.Fatalf("step %d: limit %d, want %d", i, got, step.want)
		}
	}
}

// By default it never falls below 20, whatever is dropped.
func TestAIMDFloor(t *testing.T) {
	config := adaptives(AIMD, nil).settled()
	got := follow(newAIMD(&config), []sample{{ms, 20, true}, {ms, 20, false}, {ms, 21, false}, {ms, 21, true}, {ms, 20, true}})
	if diff := cmp.Diff([]int{20, 21, 22, 20, 20}, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

// Before a server that takes c calls in all and turns away the rest at once,
// with more calls than it serves, the limit goes up by one to c+1, where a call
// is turned away, and down to 0.9 of that, for ever.
func TestAIMDSawTooth(t *testing.T) {
	for _, room := range []int{10, 25, 60} {
		c := adaptives(AIMD, func(c *Adaptive) { c.Initial, c.Min = 5, 1 })
		limits := crowd(c, newStation(1, room), 30*time.Second)
		trough := int(float64(room+1) * 0.9)
		teeth := 0
		for i := 1; i < len(limits); i++ {
			switch from, to := limits[i-1], limits[i]; {
			case to == from+1 && to <= room+1:
			case from == room+1 && to == trough:
				teeth++
			default:
				t.Fatalf("room for %d: limit %d after %d; limits %v", room, to, from, limits)
			}
		}
		if teeth < 50 {
			t.Errorf("room for %d: %d teeth in %d changes", room, teeth, len(limits))
		}
	}
}
