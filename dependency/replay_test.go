package dependency

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/check"
	"brunt/record"
)

// ended and cut make recorded attempts.
func ended(times int64, after time.Duration) Recorded {
	return Recorded{Times: times, After: after, FirstToken: record.Never, Tokens: -1}
}

func cut(times int64, after time.Duration) Recorded {
	r := ended(times, after)
	r.Cut = true
	return r
}

func recordingOf(attempts ...Recorded) *Replay {
	return &Replay{Folder: "x", Recording: NewRecording(Origin{}, attempts)}
}

// An attempt is replayed whole, whatever became of it.
func TestReplayedAnswer(t *testing.T) {
	stream := Recorded{Times: 1, After: 2 * time.Second, FirstToken: 300 * ms, Status: 200, Tokens: 64, Cost: 0.25}
	failed := Recorded{Times: 1, After: 20 * ms, FirstToken: record.Never, Cause: record.Status, Status: 503, Tokens: -1, Cost: 0.5}
	tests := []struct {
		name      string
		behaviour Behaviour
		want      Answer
	}{
		{"a stream", Behaviour{Replay: recordingOf(stream)}, Answer{After: 2 * time.Second, FirstToken: 300 * ms, Status: 200, Tokens: 64, Cost: 0.25}},
		// the cause keeps its name
		{"a failure", Behaviour{Replay: recordingOf(failed)}, Answer{Fails: true, Cause: record.Status, After: 20 * ms, FirstToken: record.Never, Status: 503, Cost: 0.5}},
		// what nobody waited for long enough never ends
		{"given up", Behaviour{Replay: recordingOf(cut(1, time.Second))}, Answer{Hangs: true, FirstToken: record.Never}},
		// the study's own cost takes the place of the recorded one
		{"a cost", Behaviour{Replay: recordingOf(stream), Cost: p(3.0)}, Answer{After: 2 * time.Second, FirstToken: 300 * ms, Status: 200, Tokens: 64, Cost: 3}},
		// no cost is a cost too
		{"no cost", Behaviour{Replay: recordingOf(failed), Cost: p(0.0)}, Answer{Fails: true, Cause: record.Status, After: 20 * ms, FirstToken: record.Never, Status: 503}},
		// settings that decide on every attempt do so before the recording
		{"refused", Behaviour{Replay: recordingOf(stream), Refuse: p(true)}, Answer{Fails: true, Refused: true, FirstToken: record.Never}},
		{"fail_after", Behaviour{Replay: recordingOf(stream), FailAfter: p(ms)}, Answer{Fails: true, After: ms, FirstToken: record.Never}},
		// what the study has fail fails when the recorded answer would have come, for the study's reason
		{"fail", Behaviour{Replay: recordingOf(stream), Fail: &Fail{Ratio: 1}}, Answer{Fails: true, After: 2 * time.Second, FirstToken: record.Never, Cost: 0.25}},
		{"fail of a failure", Behaviour{Replay: recordingOf(failed), Fail: &Fail{First: 1}}, Answer{Fails: true, After: 20 * ms, FirstToken: record.Never, Cost: 0.5}},
		{"fail of one given up", Behaviour{Replay: recordingOf(cut(1, time.Second)), Fail: &Fail{First: 1}}, Answer{Fails: true, After: time.Second, FirstToken: record.Never}},
		// a slowdown is that of everything
		{"slowdown", Behaviour{Replay: recordingOf(stream), Slowdown: p(2.0)}, Answer{After: 4 * time.Second, FirstToken: 600 * ms, Status: 200, Tokens: 64, Cost: 0.25}},
		{"with workers", Behaviour{Replay: recordingOf(stream), Slowdown: p(2.0), Workers: p(1)}, Answer{After: 2 * time.Second, FirstToken: 300 * ms, Status: 200, Tokens: 64, Cost: 0.25, Scales: true, Burns: true}},
	}
	for _, test := range tests {
		if diff := cmp.Diff([]Answer{test.want}, answers(test.behaviour, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// Draws go by request, dependency and attempt, and by nothing else.
func TestReplayedDraws(t *testing.T) {
	var attempts []Recorded
	for i := range time.Duration(1000) {
		attempts = append(attempts, ended(1, (i+1)*ms))
	}
	b := Behaviour{Replay: recordingOf(attempts...)}
	after := func(name string, seed, request int64, nth int32) time.Duration {
		m := New(name, b, chance.New(seed))
		for range 3 {
			m.Answer(request+1, nth) // what others got changes nothing
		}
		return m.Answer(request, nth).After
	}
	is := after("a", 1, 7, 0)
	if again := after("a", 1, 7, 0); again != is {
		t.Errorf("one attempt, two answers: %v and %v", is, again)
	}
	for what, other := range map[string]time.Duration{
		"another seed": after("a", 2, 7, 0), "another dependency": after("b", 1, 7, 0), "another request": after("a", 1, 8, 0), "another attempt": after("a", 1, 7, 1),
	} {
		if other == is {
			t.Errorf("%s gets the same answer", what)
		}
	}
}

// shares draws so often and returns the share of each end, by time; -1 stands
// for never.
func shares(r *Recording, n int64) map[time.Duration]float64 {
	counts := map[time.Duration]int64{}
	source := chance.New(1)
	for i := range n {
		at := record.Never
		if a, ends := r.draw(source.Draw(chance.Replay, i, 0, 0)); ends {
			at = a.After
		}
		counts[at]++
	}
	got := map[time.Duration]float64{}
	for at, count := range counts {
		got[at] = float64(count) / float64(n)
	}
	return got
}

// Attempts that were given up are replayed as the product-limit estimate has
// them, worked out by hand.
func TestReplayOfCut(t *testing.T) {
	const never = record.Never
	tests := []struct {
		name     string
		attempts []Recorded
		want     map[time.Duration]float64
		endless  float64
	}{
		{"all ended", []Recorded{ended(1, ms), ended(3, 2*ms)}, map[time.Duration]float64{ms: .25, 2 * ms: .75}, 0},
		// a timeout at 2 s: all that is known is that these take longer
		{"cut at the end", []Recorded{ended(3, ms), cut(1, 2*ms)}, map[time.Duration]float64{ms: .75, never: .25}, .25},
		// the one cut at 1 ms is one of the two that took longer: 1/4 · 1/2 more for each
		{"cut before", []Recorded{ended(1, ms), cut(1, ms), ended(1, 2*ms), ended(1, 3*ms)}, map[time.Duration]float64{ms: .25, 2 * ms: .375, 3 * ms: .375}, 0},
		// of equal times those that ended come first: what was cut at 2 ms took longer than 2 ms
		{"ties", []Recorded{cut(2, 2*ms), ended(1, 2*ms), ended(1, 3*ms)}, map[time.Duration]float64{2 * ms: .25, 3 * ms: .75}, 0},
		// 1 - 1/5 = .8, then of 3 left (.8 · 1/3), then cut twice
		{"cut here and there", []Recorded{ended(1, ms), cut(1, 2*ms), ended(1, 3*ms), cut(1, 4*ms), cut(1, 5*ms)}, map[time.Duration]float64{ms: .2, 3 * ms: .8 / 3, never: .8 * 2 / 3}, .8 * 2 / 3},
		{"all cut", []Recorded{cut(2, ms), cut(2, 2*ms)}, map[time.Duration]float64{never: 1}, 1},
	}
	for _, test := range tests {
		r := NewRecording(Origin{}, test.attempts)
		const n = 200_000
		for at, share := range shares(r, n) {
			// five standard errors
			if want := test.want[at]; math.Abs(share-want) > 5*math.Sqrt(want*(1-want)/n) {
				t.Errorf("%s: %v has a share of %.4f, want %.4f", test.name, at, share, want)
			}
		}
		if got := r.Endless(); math.Abs(got-test.endless) > 1e-12 {
			t.Errorf("%s: endless %v, want %v", test.name, got, test.endless)
		}
		if _, ends := r.Longest(); ends != (test.endless == 0) {
			t.Errorf("%s: all end: %v", test.name, ends)
		}
	}
}

// A recording is the same in whatever order, and however lumped, its attempts
// come; it counts each, and draws none that is not in it.
func TestRecordingIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.Custom(func(t *rapid.T) Recorded {
			r := ended(rapid.Int64Range(1, 4).Draw(t, "times"), time.Duration(rapid.IntRange(0, 5).Draw(t, "ms"))*ms)
			r.Cut = rapid.Bool().Draw(t, "cut")
			r.Cost = float64(rapid.IntRange(0, 1).Draw(t, "cost"))
			return r
		})
		list := rapid.SliceOfN(attempt, 1, 20).Draw(t, "attempts")
		r := NewRecording(Origin{}, list)
		var single []Recorded
		total := int64(0)
		for _, a := range rapid.Permutation(list).Draw(t, "order") {
			total += a.Times
			for range a.Times {
				one := a
				one.Times = 1
				single = append(single, one)
			}
		}
		again := NewRecording(Origin{}, single)
		if diff := cmp.Diff(r.Attempts(), again.Attempts()); diff != "" || r.Kept() != total || again.Kept() != total {
			t.Fatalf("%d and %d attempts of %d (-lumped +single):\n%s", r.Kept(), again.Kept(), total, diff)
		}
		a, ends := r.draw(chance.Draw(rapid.Uint64().Draw(t, "draw")))
		longest, all := r.Longest()
		switch {
		case ends && a.Cut:
			t.Fatalf("an attempt that was given up ends: %+v", a)
		case !ends && (all || !a.Cut):
			t.Fatalf("an attempt never ends, and all ended: %v, %+v", all, a)
		case a.After > longest:
			t.Fatalf("%v is longer than the longest, %v", a.After, longest)
		}
		if endless := r.Endless(); (endless > 0) == all {
			t.Fatalf("a share of %v never ends, and all ended: %v", endless, all)
		}
	})
}

// Drawn evenly, every attempt comes exactly as often as it was recorded, and so
// does every cause.
func TestReplayCountsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.Custom(func(t *rapid.T) Recorded {
			r := ended(rapid.Int64Range(1, 9).Draw(t, "times"), time.Duration(rapid.IntRange(0, 5).Draw(t, "ms"))*ms)
			r.Cause = rapid.SampledFrom([]record.Cause{record.None, record.Failure, record.Reset, record.Overload}).Draw(t, "cause")
			return r
		})
		r := NewRecording(Origin{}, rapid.SliceOfN(attempt, 1, 20).Draw(t, "attempts"))
		counts := map[Recorded]int64{}
		step := math.MaxUint64 / uint64(r.Kept())
		for i := range uint64(r.Kept()) {
			a, ends := r.draw(chance.Draw(i*step + step/2))
			if !ends {
				t.Fatalf("%+v never ends", a)
			}
			counts[*a]++
		}
		for _, a := range r.Attempts() {
			if counts[a] != a.Times {
				t.Fatalf("%+v is drawn %d times", a, counts[a])
			}
		}
	})
}

// How an answer is made is one thing: a phase replaces it whole.
func TestReplayOver(t *testing.T) {
	replay, other := recordingOf(ended(1, ms)), recordingOf(ended(1, 2*ms))
	five := Every(Fixed(5 * ms))
	for _, test := range []struct {
		name       string
		base, over Behaviour
		want       Behaviour
	}{
		{"times over a recording", Behaviour{Replay: replay, Cost: p(1.0)}, Behaviour{Latency: five}, Behaviour{Latency: five, Cost: p(1.0)}},
		{"a stream over a recording", Behaviour{Replay: replay}, Behaviour{FirstToken: Fixed(ms)}, Behaviour{FirstToken: Fixed(ms)}},
		{"a recording over times", Behaviour{Latency: five}, Behaviour{Replay: replay}, Behaviour{Replay: replay}},
		{"a recording over a stream", Behaviour{FirstToken: Fixed(ms), TokenGap: Fixed(ms), Tokens: p(2)}, Behaviour{Replay: replay}, Behaviour{Replay: replay}},
		{"a recording over another", Behaviour{Replay: replay}, Behaviour{Replay: other}, Behaviour{Replay: other}},
		// anything else goes with it
		{"hang over a recording", Behaviour{Replay: replay}, Behaviour{Hang: p(true)}, Behaviour{Replay: replay, Hang: p(true)}},
	} {
		if got := test.over.Over(test.base); got.Replay != test.want.Replay || !cmp.Equal(got, test.want, cmp.Comparer(func(a, b *Replay) bool { return a == b })) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// What a recording says about the dependency as a whole.
func TestReplayOnTheWhole(t *testing.T) {
	failed := ended(1, 3*ms)
	failed.Cause = record.Reset
	for _, test := range []struct {
		name         string
		b            Behaviour
		dead, random bool
		worst        time.Duration
		bounded      bool
	}{
		{name: "one answer", b: Behaviour{Replay: recordingOf(ended(9, ms))}, worst: ms, bounded: true},
		{name: "two answers", b: Behaviour{Replay: recordingOf(ended(9, ms), failed)}, worst: 3 * ms, bounded: true, random: true},
		{name: "failures alone", b: Behaviour{Replay: recordingOf(failed)}, worst: 3 * ms, bounded: true, dead: true},
		// what never ends has no bound
		{name: "some never end", b: Behaviour{Replay: recordingOf(ended(9, ms), cut(1, 5*ms))}, worst: 5 * ms, random: true},
		{name: "none ends", b: Behaviour{Replay: recordingOf(cut(1, 5*ms))}, worst: 5 * ms, dead: true},
		{name: "slowed", b: Behaviour{Replay: recordingOf(ended(9, ms)), Slowdown: p(3.0)}, worst: 3 * ms, bounded: true},
		// what decides on every attempt leaves nothing to draw
		{name: "refused", b: Behaviour{Replay: recordingOf(ended(9, ms), failed), Refuse: p(true)}, bounded: true, dead: true},
	} {
		worst, bounded := test.b.Worst()
		if worst != test.worst || bounded != test.bounded || test.b.NeverSucceeds() != test.dead || test.b.Random() != test.random {
			t.Errorf("%s: worst %v %v, never succeeds %v, random %v", test.name, worst, bounded, test.b.NeverSucceeds(), test.b.Random())
		}
	}
}

func TestReplayFaults(t *testing.T) {
	replay := recordingOf(ended(1, ms))
	for _, test := range []struct {
		name string
		b    Behaviour
		want []string
	}{
		{"good", Behaviour{Replay: replay}, nil},
		{"beside a latency", Behaviour{Replay: replay, Latency: Every(Fixed(ms))},
			[]string{"latency: given: stands beside replay: a recording says how long an answer takes; expected one or the other"}},
		{"beside a stream", Behaviour{Replay: replay, FirstToken: Fixed(ms), Tokens: p(1)}, []string{
			"first_token: given: stands beside replay: a recording says how long an answer takes; expected one or the other",
			"tokens: given: stands beside replay: a recording says how long an answer takes; expected one or the other",
		}},
		{"not read", Behaviour{Replay: &Replay{Folder: "x"}},
			[]string{`replay: "x": was not read: a recording stands in for a dependency of a study, and for nothing else`}},
		{"no folder", Behaviour{Replay: &Replay{Folder: " ", Recording: replay.Recording}},
			[]string{"replay.folder: missing: expected the folder of a run, or a recording"}},
		{"of one replica", Behaviour{Latency: Every(Fixed(ms)), Replica: []Replica{{Number: 1, Behaviour: Behaviour{Replay: replay}}}},
			[]string{"replica.0.replay: given: belongs to all replicas together, not to one"}},
		{"with workers", Behaviour{Replay: replay, Workers: p(2)},
			[]string{"workers: 2: stands beside replay: the time that a recorded attempt waited at the target is in the recording, and counts as work here, so waiting counts twice"}},
	} {
		problems := check.New()
		test.b.CheckWhole(problems)
		var got []string
		for _, one := range problems.All() {
			if one.Doubt != (test.name == "with workers") {
				t.Errorf("%s: doubt: %v", test.name, one.Doubt)
			}
			got = append(got, one.Error())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	var attempts []Recorded
	for i := range time.Duration(100_000) {
		attempts = append(attempts, ended(1, (i+1)*ms))
	}
	m := New("a", Behaviour{Replay: recordingOf(attempts...)}, chance.New(1))
	b.ReportAllocs()
	for i := range int64(b.N) {
		m.Answer(i, 0)
	}
}
