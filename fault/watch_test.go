package fault

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/record"
)

const ms = time.Millisecond

// What probes see, in the order in which they end, becomes an effect and a heal.
func TestSee(t *testing.T) {
	well := func(begun, ended time.Duration) sight {
		return sight{begun: begun, ended: ended, well: true, said: "200"}
	}
	ill := func(begun, ended time.Duration) sight { return sight{begun: begun, ended: ended, said: "nothing"} }
	tests := []struct {
		name         string
		lasts        time.Duration
		expired      time.Duration // once all but the last sight was seen; 0 for never
		sights       []sight
		effect, heal time.Duration
	}{
		{"nothing seen", 500 * ms, 0, nil, record.Never, record.Never},
		{"no effect", 500 * ms, 0, []sight{well(100*ms, 101*ms), well(110*ms, 111*ms)}, record.Never, record.Never},
		// a probe that was under way at the fire may have failed for another reason
		{"begun before", 500 * ms, 0, []sight{ill(99*ms, 120*ms)}, record.Never, record.Never},
		{"at the fire", 500 * ms, 0, []sight{ill(100*ms, 120*ms)}, 100 * ms, record.Never},
		// the first that was begun counts, also when it ends last
		{"overtaken", 500 * ms, 0, []sight{ill(120*ms, 121*ms), ill(110*ms, 410*ms)}, 110 * ms, record.Never},
		// one answer in the middle is no heal
		{"flickers", 500 * ms, 0, []sight{ill(110*ms, 111*ms), well(120*ms, 121*ms)}, 110 * ms, record.Never},
		{"heals", 500 * ms, 600 * ms, []sight{ill(110*ms, 410*ms), well(600*ms, 601*ms)}, 110 * ms, 601 * ms},
		// a question from before the expiry that is answered behind it
		{"thaws", 500 * ms, 600 * ms, []sight{ill(110*ms, 410*ms), well(590*ms, 602*ms)}, 110 * ms, 602 * ms},
		// answered before it, and heard of behind it
		{"too early", 500 * ms, 600 * ms, []sight{ill(110*ms, 410*ms), well(590*ms, 599*ms)}, 110 * ms, record.Never},
		// a fault without a time ends when the victim is well
		{"for ever", 0, 0, []sight{well(101*ms, 102*ms), ill(110*ms, 111*ms), well(900*ms, 901*ms)}, 110 * ms, 901 * ms},
		{"called off", 500 * ms, 0, []sight{{begun: 110 * ms, ended: 111 * ms, over: true}}, record.Never, record.Never},
	}
	for _, test := range tests {
		f := &Fault{config: Config{Kind: Freeze, For: test.lasts}, record: newRecord(Freeze, "east")}
		f.record.Fired = 100 * ms
		for i, s := range test.sights {
			if test.expired > 0 && i == len(test.sights)-1 {
				f.record.Expired = test.expired
			}
			f.see(s)
		}
		if diff := cmp.Diff([2]time.Duration{test.effect, test.heal}, [2]time.Duration{f.record.Effect, f.record.Heal}); diff != "" {
			t.Errorf("%s: effect and heal (-want +got):\n%s", test.name, diff)
		}
	}
}

// Probes are dense where there is something to see, and seldom in between.
func TestPace(t *testing.T) {
	const never = record.Never
	tests := []struct {
		name                 string
		lasts                time.Duration
		now, effect, expired time.Duration // after a fire at 0
		want                 time.Duration
	}{
		{"looks for the effect", time.Minute, ms, never, never, 10 * ms},
		{"finds none", time.Minute, 6 * time.Second, never, never, 50 * ms},
		{"has it", time.Minute, 20 * ms, ms, never, 250 * ms},
		{"has it for long", time.Minute, 11 * time.Second, ms, never, time.Second},
		// not past the expiry, but just before it
		{"before the end", time.Minute, time.Minute - 100*ms, ms, never, 70 * ms},
		{"at the end", time.Minute, time.Minute - 20*ms, ms, never, 10 * ms},
		{"looks for the heal", time.Minute, time.Minute, ms, time.Minute, 10 * ms},
		{"finds none for long", time.Minute, time.Minute + 6*time.Second, ms, time.Minute, 50 * ms},
		{"undone early", time.Minute, time.Second, ms, time.Second, 10 * ms},
		{"nobody says when it ends", 0, time.Second, ms, never, 10 * ms},
	}
	for _, test := range tests {
		f := &Fault{config: Config{Kind: Freeze, For: test.lasts}, env: Env{Now: func() time.Duration { return test.now }}, record: newRecord(Freeze, "east")}
		f.record.Fired, f.record.Effect, f.record.Expired = 0, test.effect, test.expired
		if got := f.pace(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
