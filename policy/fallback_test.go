package policy

import (
	"testing"

	"brunt/record"
)

func TestFallback(t *testing.T) {
	two := func(open Opening) []Config {
		return []Config{branches{open, [][]Config{{breaks(1)}, {}}}}
	}
	play(t, []scene{
		{
			// in order, on failure, timeout and refusal alike; the last outcome is
			// the outcome
			name:    "goes on",
			stack:   []Config{branches{InOrder, [][]Config{{}, {}, {}, {}}}},
			answers: []answer{fails(ms), timesOut(ms), atOnce(record.Limiter), fails(ms)},
			calls:   at(0),
			want: `
				0s attempt 1 start a
				1ms attempt 1 failure
				1ms attempt 2 start b fallback
				2ms attempt 2 timeout
				2ms attempt 3 start c fallback
				2ms attempt 3 limiter
				2ms attempt 4 start d fallback
				3ms attempt 4 failure
				3ms caller 1 failure`,
		},
		{
			// a success ends it
			name:    "stops at success",
			stack:   []Config{branches{InOrder, [][]Config{{}, {}, {}}}},
			answers: []answer{failNow, okNow},
			calls:   at(0),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s attempt 2 start b fallback
				0s attempt 2 completed
				0s caller 1 completed`,
		},
		{
			name:    "given up",
			stack:   []Config{branches{InOrder, [][]Config{{}, {}}}},
			answers: []answer{failNow, never},
			calls:   []visit{{0, 5 * ms}},
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s attempt 2 start b fallback
				5ms caller 1 gives up
				5ms attempt 2 cancelled`,
		},
		{
			// in_order: an open breaker refuses when its turn comes
			name:    "in_order",
			stack:   two(InOrder),
			answers: []answer{failNow, okNow, okNow},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 completed
				0s caller 1 completed
				1ms attempt 3 start b fallback
				1ms attempt 3 completed
				1ms caller 2 completed`,
		},
		{
			// last: the branch of an open breaker is tried after the others, and
			// then goes through; neither its success nor its failure moves the
			// breaker, which lets its probe in at its own time
			name:    "last",
			stack:   two(Last),
			answers: []answer{failNow, okNow, failNow, okNow, failNow, failNow, okNow},
			calls:   at(0, 1*ms, 2*ms, 100*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 completed
				0s caller 1 completed
				1ms attempt 3 start b
				1ms attempt 3 failure
				1ms attempt 4 start a fallback
				1ms attempt 4 completed
				1ms caller 2 completed
				2ms attempt 5 start b
				2ms attempt 5 failure
				2ms attempt 6 start a fallback
				2ms attempt 6 failure
				2ms caller 3 failure
				100ms breaker half-open
				100ms attempt 7 start a
				100ms attempt 7 completed
				100ms breaker closed
				100ms caller 4 completed`,
		},
		{
			// the order is fixed on entry, in which b's breaker was closed; another
			// call opens it before b's turn comes, and b goes through all the same
			name:    "last, opened between entry and turn",
			stack:   []Config{branches{Last, [][]Config{{}, {breaks(1)}}}},
			answers: []answer{fails(20 * ms), failNow, fails(5 * ms), failNow},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start a
				1ms attempt 2 start a
				1ms attempt 2 failure
				1ms attempt 3 start b fallback
				6ms attempt 3 failure
				6ms breaker open
				6ms caller 2 failure
				20ms attempt 1 failure
				20ms attempt 4 start b fallback
				20ms attempt 4 failure
				20ms caller 1 failure`,
		},
		{
			// a half-open breaker whose probe is under way would refuse: last
			name:    "last, half-open with its probe out",
			stack:   two(Last),
			answers: []answer{failNow, okNow, ok(20 * ms), okNow},
			calls:   at(0, 100*ms, 110*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 completed
				0s caller 1 completed
				100ms breaker half-open
				100ms attempt 3 start a
				110ms attempt 4 start b
				110ms attempt 4 completed
				110ms caller 3 completed
				120ms attempt 3 completed
				120ms breaker closed
				120ms caller 2 completed`,
		},
		{
			// moved last, closed by its probe in the meantime: it still leaves the
			// breaker as it is, as was decided on entry
			name:    "last, closed between entry and turn",
			stack:   two(Last),
			answers: []answer{failNow, okNow, fails(20 * ms), okNow, failNow},
			calls:   at(0, 90*ms, 105*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 completed
				0s caller 1 completed
				90ms attempt 3 start b
				105ms breaker half-open
				105ms attempt 4 start a
				105ms attempt 4 completed
				105ms breaker closed
				105ms caller 3 completed
				110ms attempt 3 failure
				110ms attempt 5 start a fallback
				110ms attempt 5 failure
				110ms caller 2 failure`,
		},
		{
			// several moved branches keep their order among themselves
			name:    "last, several moved",
			stack:   []Config{branches{Last, [][]Config{{breaks(1)}, {breaks(1)}, {}}}},
			answers: []answer{failNow},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 failure
				0s breaker open
				0s attempt 3 start c fallback
				0s attempt 3 failure
				0s caller 1 failure
				1ms attempt 4 start c
				1ms attempt 4 failure
				1ms attempt 5 start a fallback
				1ms attempt 5 failure
				1ms attempt 6 start b fallback
				1ms attempt 6 failure
				1ms caller 2 failure`,
		},
		{
			// skip: left out; the first of those that are left is a first attempt
			name:    "skip",
			stack:   two(Skip),
			answers: []answer{failNow, okNow, failNow},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 completed
				0s caller 1 completed
				1ms attempt 3 start b
				1ms attempt 3 failure
				1ms caller 2 failure`,
		},
		{
			// all left out: refused, for the circuit
			name:    "all skipped",
			stack:   []Config{branches{Skip, [][]Config{{breaks(1)}, {breaks(1)}}}},
			answers: []answer{failNow},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start b fallback
				0s attempt 2 failure
				0s breaker open
				0s caller 1 failure
				1ms caller 2 circuit`,
		},
		{
			// a breaker behind other stages of its branch counts as well: it opens
			// between two tries of the retry in front of it, and the further tries go
			// through; the next call finds it open and tries its branch last
			name:    "last, breaker inside a retry",
			stack:   []Config{branches{Last, [][]Config{{thrice, breaks(1)}, {}}}},
			answers: []answer{failNow, failNow, failNow, okNow, failNow, failNow, okNow, failNow},
			calls:   at(0, 1*ms, 2*ms),
			want: `
				0s attempt 1 start a
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start a retry
				0s attempt 2 failure
				0s attempt 3 start a retry
				0s attempt 3 failure
				0s attempt 4 start b fallback
				0s attempt 4 completed
				0s caller 1 completed
				1ms attempt 5 start b
				1ms attempt 5 failure
				1ms attempt 6 start a fallback
				1ms attempt 6 failure
				1ms attempt 7 start a retry
				1ms attempt 7 completed
				1ms caller 2 completed
				2ms attempt 8 start b
				2ms attempt 8 failure
				2ms attempt 9 start a fallback
				2ms attempt 9 failure
				2ms attempt 10 start a retry
				2ms attempt 10 failure
				2ms attempt 11 start a retry
				2ms attempt 11 failure
				2ms caller 3 failure`,
		},
		{
			// nested: the inner fallback has tried all it has before the outer goes on
			name:    "nested",
			stack:   []Config{branches{InOrder, [][]Config{{branches{InOrder, [][]Config{{}, {}}}}, {}}}},
			answers: []answer{failNow, fails(ms), okNow},
			calls:   at(0),
			want: `
				0s attempt 1 start aa
				0s attempt 1 failure
				0s attempt 2 start ab fallback
				1ms attempt 2 failure
				1ms attempt 3 start b fallback
				1ms attempt 3 completed
				1ms caller 1 completed`,
		},
		{
			// nested, both with breakers: the inner one is moved last inside of a
			// branch that the outer one has moved last, and both go through
			name: "nested, both last",
			stack: []Config{branches{Last, [][]Config{
				{breaks(1), branches{Last, [][]Config{{breaks(1)}, {}}}},
				{},
			}}},
			answers: []answer{failNow, failNow, failNow, failNow, failNow, okNow},
			calls:   at(0, 1*ms),
			want: `
				0s attempt 1 start aa
				0s attempt 1 failure
				0s breaker open
				0s attempt 2 start ab fallback
				0s attempt 2 failure
				0s breaker open
				0s attempt 3 start b fallback
				0s attempt 3 failure
				0s caller 1 failure
				1ms attempt 4 start b
				1ms attempt 4 failure
				1ms attempt 5 start ab fallback
				1ms attempt 5 failure
				1ms attempt 6 start aa fallback
				1ms attempt 6 completed
				1ms caller 2 completed`,
		},
	})
}
