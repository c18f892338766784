package policy

import (
	"strings"
	"testing"

	"brunt/check"
	"brunt/record"
)

// breaks returns a breaker that opens for 100 ms after so many failures.
func breaks(consecutive int) *Breaker {
	return &Breaker{Consecutive: consecutive, OpenFor: 100 * ms, Probes: 1, CloseAfter: 1}
}

func TestBreakerOpensAndCloses(t *testing.T) {
	play(t, []scene{
		{
			// a success in between starts the row anew; the third failure in a row
			// opens it, before the caller hears of that failure
			name:    "consecutive",
			stack:   []Config{breaks(3)},
			answers: []answer{failNow, failNow, okNow, failNow, failNow, failNow},
			calls:   at(0, 1*ms, 2*ms, 3*ms, 4*ms, 5*ms, 6*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s caller 1 failure
				1ms attempt 2 start
				1ms attempt 2 failure
				1ms caller 2 failure
				2ms attempt 3 start
				2ms attempt 3 completed
				2ms caller 3 completed
				3ms attempt 4 start
				3ms attempt 4 failure
				3ms caller 4 failure
				4ms attempt 5 start
				4ms attempt 5 failure
				4ms caller 5 failure
				5ms attempt 6 start
				5ms attempt 6 failure
				5ms breaker open
				5ms caller 6 failure
				6ms caller 7 circuit`,
		},
		{
			// closed on the left: refused a nanosecond early, a probe on the dot
			name:    "open_for",
			stack:   []Config{breaks(1)},
			answers: []answer{fails(2 * ms), ok(ms)},
			calls:   at(0, 102*ms-1, 102*ms),
			want: `
				0s attempt 1 start
				2ms attempt 1 failure
				2ms breaker open
				2ms caller 1 failure
				101.999999ms caller 2 circuit
				102ms breaker half-open
				102ms attempt 2 start
				103ms attempt 2 completed
				103ms breaker closed
				103ms caller 3 completed`,
		},
		{
			// it turns half-open when a call comes, not when the time is over
			name:    "lazily half-open",
			stack:   []Config{breaks(1)},
			answers: []answer{failNow, ok(ms)},
			calls:   at(0, 250*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				250ms breaker half-open
				250ms attempt 2 start
				251ms attempt 2 completed
				251ms breaker closed
				251ms caller 2 completed`,
		},
		{
			// a failing probe opens it for open_for from its failure on; what
			// calls beside the probe is refused
			name:    "failed probe",
			stack:   []Config{breaks(1)},
			answers: []answer{failNow, fails(10 * ms), okNow},
			calls:   at(0, 100*ms, 105*ms, 210*ms-1, 210*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				105ms caller 3 circuit
				110ms attempt 2 failure
				110ms breaker open
				110ms caller 2 failure
				209.999999ms caller 4 circuit
				210ms breaker half-open
				210ms attempt 3 start
				210ms attempt 3 completed
				210ms breaker closed
				210ms caller 5 completed`,
		},
		{
			// two probes at once, three successes to close: the third call is
			// refused, and a probe that is over makes room for another one
			name:    "several probes",
			stack:   []Config{&Breaker{Consecutive: 1, OpenFor: 100 * ms, Probes: 2, CloseAfter: 3}},
			answers: []answer{failNow, ok(5 * ms), ok(5 * ms), ok(5 * ms)},
			calls:   at(0, 100*ms, 100*ms, 100*ms, 106*ms, 112*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				100ms attempt 3 start
				100ms caller 4 circuit
				105ms attempt 2 completed
				105ms caller 2 completed
				105ms attempt 3 completed
				105ms caller 3 completed
				106ms attempt 4 start
				111ms attempt 4 completed
				111ms breaker closed
				111ms caller 5 completed
				112ms attempt 5 start
				117ms attempt 5 completed
				117ms caller 6 completed`,
		},
		{
			// with several probes one failure opens it; the other probe is of an
			// older generation by then, and its success closes nothing
			name:    "one of several probes fails",
			stack:   []Config{&Breaker{Consecutive: 1, OpenFor: 100 * ms, Probes: 2, CloseAfter: 1}},
			answers: []answer{failNow, fails(ms), ok(5 * ms), ok(ms)},
			calls:   at(0, 100*ms, 100*ms, 110*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				100ms attempt 3 start
				101ms attempt 2 failure
				101ms breaker open
				101ms caller 2 failure
				105ms attempt 3 completed
				105ms caller 3 completed
				110ms caller 4 circuit`,
		},
		{
			// closing clears the counts: one failure of two is not enough again
			name:    "counts cleared",
			stack:   []Config{breaks(2)},
			answers: []answer{failNow, failNow, okNow, failNow, okNow},
			calls:   at(0, 0, 100*ms, 101*ms, 102*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s caller 1 failure
				0s attempt 2 start
				0s attempt 2 failure
				0s breaker open
				0s caller 2 failure
				100ms breaker half-open
				100ms attempt 3 start
				100ms attempt 3 completed
				100ms breaker closed
				100ms caller 3 completed
				101ms attempt 4 start
				101ms attempt 4 failure
				101ms caller 4 failure
				102ms attempt 5 start
				102ms attempt 5 completed
				102ms caller 5 completed`,
		},
	})
}

func TestBreakerGenerations(t *testing.T) {
	play(t, []scene{
		{
			// a failure that arrives while it is open does not lengthen open_for
			name:    "old failure while open",
			stack:   []Config{breaks(1)},
			answers: []answer{fails(50 * ms), fails(ms), okNow},
			calls:   at(0, 0, 101*ms),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				1ms attempt 2 failure
				1ms breaker open
				1ms caller 2 failure
				50ms attempt 1 failure
				50ms caller 1 failure
				101ms breaker half-open
				101ms attempt 3 start
				101ms attempt 3 completed
				101ms breaker closed
				101ms caller 3 completed`,
		},
		{
			// while half-open neither a success nor a failure from before counts,
			// and neither gives back a probe that it did not take
			name:    "old results while half-open",
			stack:   []Config{breaks(1)},
			answers: []answer{ok(110 * ms), fails(120 * ms), fails(ms), ok(30 * ms)},
			calls:   at(0, 0, 0, 101*ms, 115*ms, 125*ms),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				0s attempt 3 start
				1ms attempt 3 failure
				1ms breaker open
				1ms caller 3 failure
				101ms breaker half-open
				101ms attempt 4 start
				110ms attempt 1 completed
				110ms caller 1 completed
				115ms caller 5 circuit
				120ms attempt 2 failure
				120ms caller 2 failure
				125ms caller 6 circuit
				131ms attempt 4 completed
				131ms breaker closed
				131ms caller 4 completed`,
		},
		{
			// closed again, a failure from before it opened is not counted
			name:    "old failure once closed again",
			stack:   []Config{breaks(1)},
			answers: []answer{fails(150 * ms), fails(ms), okNow, okNow},
			calls:   at(0, 0, 101*ms, 151*ms),
			want: `
				0s attempt 1 start
				0s attempt 2 start
				1ms attempt 2 failure
				1ms breaker open
				1ms caller 2 failure
				101ms breaker half-open
				101ms attempt 3 start
				101ms attempt 3 completed
				101ms breaker closed
				101ms caller 3 completed
				150ms attempt 1 failure
				150ms caller 1 failure
				151ms attempt 4 start
				151ms attempt 4 completed
				151ms caller 4 completed`,
		},
		{
			// a probe of the last half-open time, cancelled in the next one, gives
			// nothing back: the probe under way is still the only one
			name:    "old probe cancelled while half-open again",
			stack:   []Config{&Breaker{Consecutive: 1, OpenFor: 100 * ms, Probes: 2, CloseAfter: 2}},
			answers: []answer{failNow, never, fails(ms), ok(50 * ms), ok(50 * ms)},
			calls:   []visit{{0, -1}, {100 * ms, 110 * ms}, {100 * ms, -1}, {201 * ms, -1}, {202 * ms, -1}, {211 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				100ms attempt 3 start
				101ms attempt 3 failure
				101ms breaker open
				101ms caller 3 failure
				201ms breaker half-open
				201ms attempt 4 start
				202ms attempt 5 start
				210ms caller 2 gives up
				210ms attempt 2 cancelled
				211ms caller 6 circuit
				251ms attempt 4 completed
				251ms caller 4 completed
				252ms attempt 5 completed
				252ms breaker closed
				252ms caller 5 completed`,
		},
	})
}

func TestBreakerCountsAsNeither(t *testing.T) {
	play(t, []scene{
		{
			// a cancelled probe gives its place to the next call
			name:    "cancelled probe",
			stack:   []Config{breaks(1)},
			answers: []answer{failNow, never, okNow},
			calls:   []visit{{0, -1}, {100 * ms, 10 * ms}, {109 * ms, -1}, {111 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				109ms caller 3 circuit
				110ms caller 2 gives up
				110ms attempt 2 cancelled
				111ms attempt 3 start
				111ms attempt 3 completed
				111ms breaker closed
				111ms caller 4 completed`,
		},
		{
			// a probe that hangs holds its place for as long as it hangs
			name:    "hanging probe",
			stack:   []Config{breaks(1)},
			answers: []answer{failNow, never, okNow},
			calls:   []visit{{0, -1}, {100 * ms, 5000 * ms}, {250 * ms, -1}, {4000 * ms, -1}, {5101 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				250ms caller 3 circuit
				4s caller 4 circuit
				5.1s caller 2 gives up
				5.1s attempt 2 cancelled
				5.101s attempt 3 start
				5.101s attempt 3 completed
				5.101s breaker closed
				5.101s caller 5 completed`,
		},
		{
			// a refusal inside gives the probe back: the next call is the probe
			name:    "refused probe",
			stack:   []Config{breaks(1)},
			answers: []answer{failNow, atOnce(record.Limiter), okNow},
			calls:   at(0, 100*ms, 101*ms),
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s breaker open
				0s caller 1 failure
				100ms breaker half-open
				100ms attempt 2 start
				100ms attempt 2 limiter
				100ms caller 2 limiter
				101ms attempt 3 start
				101ms attempt 3 completed
				101ms breaker closed
				101ms caller 3 completed`,
		},
		{
			// closed, a refusal inside neither breaks the row of failures nor
			// lengthens it, and neither does a call that is given up
			name:    "between two failures",
			stack:   []Config{breaks(2)},
			answers: []answer{failNow, atOnce(record.Rate), never, failNow},
			calls:   []visit{{0, -1}, {ms, -1}, {2 * ms, ms}, {4 * ms, -1}},
			want: `
				0s attempt 1 start
				0s attempt 1 failure
				0s caller 1 failure
				1ms attempt 2 start
				1ms attempt 2 rate
				1ms caller 2 rate
				2ms attempt 3 start
				3ms caller 3 gives up
				3ms attempt 3 cancelled
				4ms attempt 4 start
				4ms attempt 4 failure
				4ms breaker open
				4ms caller 4 failure`,
		},
		{
			// a timeout inside is a failure
			name:    "timeout inside",
			stack:   []Config{breaks(1), &Timeout{After: 5 * ms}},
			answers: []answer{never},
			calls:   at(0),
			want: `
				0s attempt 1 start
				5ms attempt 1 cancelled
				5ms breaker open
				5ms caller 1 timeout`,
		},
		{
			// a timeout outside cancels, which tells the breaker nothing
			name:    "timeout outside",
			stack:   []Config{&Timeout{After: 5 * ms}, breaks(1)},
			answers: []answer{never, okNow},
			calls:   at(0, 6*ms),
			want: `
				0s attempt 1 start
				5ms attempt 1 cancelled
				5ms caller 1 timeout
				6ms attempt 2 start
				6ms attempt 2 completed
				6ms caller 2 completed`,
		},
		{
			// hedge losers: the target is healthy, only slow now and then; three
			// cancelled calls in a row must not open a breaker of one
			name:    "hedge losers on a healthy target",
			stack:   []Config{&Hedge{Extra: 1, After: 5 * ms, OnFailure: true}, breaks(1)},
			answers: []answer{ok(50 * ms), ok(ms), ok(50 * ms), ok(ms), ok(50 * ms), ok(ms)},
			calls:   at(0, 10*ms, 20*ms),
			want: `
				0s attempt 1 start
				5ms attempt 2 start hedge
				6ms attempt 2 completed
				6ms caller 1 completed
				6ms attempt 1 cancelled
				10ms attempt 3 start
				15ms attempt 4 start hedge
				16ms attempt 4 completed
				16ms caller 2 completed
				16ms attempt 3 cancelled
				20ms attempt 5 start
				25ms attempt 6 start hedge
				26ms attempt 6 completed
				26ms caller 3 completed
				26ms attempt 5 cancelled`,
		},
	})
}

func TestBreakerCheck(t *testing.T) {
	good := Breaker{Consecutive: 1, OpenFor: ms, Probes: 1, CloseAfter: 1}
	tests := []struct {
		name   string
		change func(*Breaker)
		paths  string
	}{
		{"as it should be", func(*Breaker) {}, ""},
		{"no open_for", func(c *Breaker) { c.OpenFor = 0 }, "open_for"},
		{"no probes", func(c *Breaker) { c.Probes = 0 }, "probes"},
		{"no close_after", func(c *Breaker) { c.CloseAfter = 0 }, "close_after"},
		{"no threshold", func(c *Breaker) { c.Consecutive = 0 }, "breaker"},
		{"two thresholds", func(c *Breaker) { c.Ratio, c.Calls = 0.5, 10 }, "breaker"},
		{"ratio of what", func(c *Breaker) { c.Consecutive, c.Ratio = 0, 0.5 }, "breaker.ratio"},
		{"ratio of two things", func(c *Breaker) { c.Consecutive, c.Ratio, c.Calls, c.Window = 0, 0.5, 10, ms }, "breaker.ratio"},
		{"ratio above 1", func(c *Breaker) { c.Consecutive, c.Ratio, c.Calls = 0, 1.5, 10 }, "ratio"},
		{"window beside consecutive", func(c *Breaker) { c.Window = ms }, "consecutive"},
		{"min_calls never reached", func(c *Breaker) { c.Consecutive, c.Ratio, c.Calls, c.MinCalls = 0, 0.5, 10, 11 }, "min_calls"},
		{"window too short for its buckets", func(c *Breaker) { c.Consecutive, c.Ratio, c.Window = 0, 0.5, 9 }, "window"},
	}
	for _, test := range tests {
		c := good
		test.change(&c)
		p := check.New()
		c.Check(p.In("breaker"))
		var paths []string
		for _, problem := range p.All() {
			paths = append(paths, problem.Path)
		}
		got := strings.Join(paths, " ")
		if want := test.paths; got != want && got != "breaker."+want {
			t.Errorf("%s: faults at %q, want %q", test.name, got, want)
		}
	}
}
