package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/chance"
	"brunt/clock"
	"brunt/dependency"
)

// heard is what one caller hears, on the virtual clock.
type heard struct {
	loop   *clock.Loop
	tokens []time.Duration // when each was due
	how    kind
	at     time.Duration // of the end
	asked  time.Duration // to wait
	cut    bool          // its connection was reset
	ends   int
	reads  *call // what it leaves once it has the end; nil for one that never reads it
}

func (h *heard) advance(tokens int) {
	for len(h.tokens) < tokens {
		h.tokens = append(h.tokens, h.loop.Now())
	}
}

func (h *heard) finish(how ending) {
	h.how, h.asked, h.at = how.kind, how.retryAfter, h.loop.Now()
	h.ends++
	if h.reads != nil {
		h.loop.After(0, clock.Func(h.reads.leave))
	}
}

// String is the story of a caller: tokens, then the end.
func (h *heard) String() string {
	words := map[kind]string{open: "open", completed: "completed", failed: "failed", overloaded: "overloaded",
		loading: "loading", draining: "draining", aborted: "aborted"}
	s := fmt.Sprint(h.tokens, " ", words[h.how])
	if h.how != open {
		s += " " + h.at.String()
	}
	return s
}

// bench is an engine on the virtual clock.
type bench struct {
	*engine
	loop *clock.Loop
}

func newBench(b dependency.Behaviour, loadFor time.Duration) *bench {
	loop := clock.Virtual()
	return &bench{newEngine(loop, Config{Name: "a", Behaviour: b, Seed: 1, LoadFor: loadFor}), loop}
}

// at schedules what a caller or an operator does.
func (b *bench) at(when time.Duration, f func()) { b.loop.At(when, clock.Arrival, clock.Func(f)) }

func (b *bench) call(when time.Duration, most int) (*call, *heard) {
	h := &heard{loop: b.loop}
	c := &call{most: most, out: h, sever: func() { h.cut = true }}
	h.reads = c
	b.at(when, func() { b.arrive(c) })
	return c, h
}

func ptr[T any](v T) *T { return &v }

const ms = time.Millisecond

// stream answers four tokens, at 200, 220, 240 and 260 ms.
func stream() dependency.Behaviour {
	return dependency.Behaviour{FirstToken: dependency.Fixed(200 * ms), TokenGap: dependency.Fixed(20 * ms), Tokens: ptr(4)}
}

func slots(b dependency.Behaviour, workers int, queue dependency.Room) dependency.Behaviour {
	b.Workers, b.Queue = &workers, &queue
	return b
}

func TestEngine(t *testing.T) {
	type step struct {
		at     time.Duration
		change Switch // a change of mode; without a mode a call
		most   int
	}
	calls := func(at ...time.Duration) (all []step) {
		for _, a := range at {
			all = append(all, step{at: a})
		}
		return all
	}
	mode := func(at time.Duration, m Mode, lasts time.Duration, factor float64) step {
		return step{at: at, change: Switch{m, lasts, factor}}
	}
	all := "[200ms 220ms 240ms 260ms] completed 260ms"
	for _, test := range []struct {
		name      string
		behaviour dependency.Behaviour
		steps     []step
		want      []string
	}{
		{"each token at its instant", stream(), calls(0), []string{all}},
		{"max_tokens ends it early", stream(), []step{{most: 2}, {most: 9}}, []string{"[200ms 220ms] completed 220ms", all}},
		{"without workers nothing waits", stream(), calls(0, 0, 0), []string{all, all, all}},
		// the slot is held to the last token, the fourth finds no room
		{"slots and queue", slots(stream(), 2, 1), calls(0, 10*ms, 20*ms, 30*ms), []string{
			all, "[210ms 230ms 250ms 270ms] completed 270ms", "[460ms 480ms 500ms 520ms] completed 520ms", "[] overloaded 30ms"}},
		{"no stream: one token at the end", dependency.Behaviour{Latency: dependency.Every(dependency.Fixed(5 * ms))}, calls(1 * ms), []string{"[6ms] completed 6ms"}},
		{"no time at all", dependency.Behaviour{Latency: dependency.Every(dependency.Fixed(0))}, calls(1 * ms), []string{"[1ms] completed 1ms"}},
		{"fails when its answer would have come", func() dependency.Behaviour {
			b := stream()
			b.Fail = &dependency.Fail{Ratio: 1}
			return b
		}(), calls(0), []string{"[] failed 260ms"}},
		{"fails after a time", dependency.Behaviour{FailAfter: ptr(7 * ms)}, calls(0), []string{"[] failed 7ms"}},
		{"refuses without a slot", func() dependency.Behaviour {
			b := slots(stream(), 1, 0)
			b.Refuse = ptr(true)
			return b
		}(), calls(0, 0), []string{"[] failed 0s", "[] failed 0s"}},
		{"hangs, with its slot", slots(dependency.Behaviour{Hang: ptr(true)}, 1, 0), calls(0, 1*ms), []string{"[] open", "[] overloaded 1ms"}},

		// two tokens, a second of nothing, two more; who comes meanwhile waits
		{"stall", stream(), append(calls(0, 300*ms), mode(230*ms, Stall, time.Second, 1)), []string{
			"[200ms 220ms 1.24s 1.26s] completed 1.26s", "[1.43s 1.45s 1.47s 1.49s] completed 1.49s"}},
		{"stall before the first token, with slots", slots(stream(), 1, 1), append(calls(0, 10*ms, 20*ms), mode(100*ms, Stall, 50*ms, 1)), []string{
			"[250ms 270ms 290ms 310ms] completed 310ms", "[510ms 530ms 550ms 570ms] completed 570ms", "[] overloaded 20ms"}},
		{"a stall that is lifted by another mode", stream(), append(calls(0), mode(230*ms, Stall, -1, 1), mode(330*ms, Error, -1, 1)), []string{
			"[200ms 220ms 340ms 360ms] completed 360ms"}},
		{"a stall within a stall takes its place", stream(), append(calls(0), mode(230*ms, Stall, 100*ms, 1), mode(280*ms, Stall, 100*ms, 1)), []string{
			"[200ms 220ms 390ms 410ms] completed 410ms"}},
		{"error: new requests, until it ends", stream(), append(calls(0, 110*ms, 150*ms), mode(100*ms, Error, 50*ms, 1)), []string{
			all, "[] failed 110ms", "[350ms 370ms 390ms 410ms] completed 410ms"}},
		{"abort: in flight at once, later ones at their first token", stream(), append(calls(0, 300*ms), mode(230*ms, Abort, -1, 1)), []string{
			"[200ms 220ms] aborted 230ms", "[] aborted 500ms"}},
		{"abort once frees slots, also of those that wait", slots(stream(), 1, 1), append(calls(0, 0, 240*ms), mode(230*ms, Abort, 0, 1)), []string{
			"[200ms 220ms] aborted 230ms", "[] aborted 230ms", "[440ms 460ms 480ms 500ms] completed 500ms"}},
		{"abort meets a single token too", dependency.Behaviour{Latency: dependency.Every(dependency.Fixed(5 * ms))},
			append(calls(2*ms), mode(1*ms, Abort, -1, 1)), []string{"[] aborted 7ms"}},
		{"hang: silence for ever, new ones after it are served", stream(), append(calls(0, 240*ms, 330*ms), mode(230*ms, Hang, 100*ms, 1)), []string{
			"[200ms 220ms] open", "[] open", "[530ms 550ms 570ms 590ms] completed 590ms"}},
		{"hang keeps the slots, not the places", slots(stream(), 1, 1), append(calls(0, 0, 10*ms, 20*ms), mode(5*ms, Hang, 0, 1)), []string{
			"[] open", "[] open", "[] open", "[] overloaded 20ms"}},
		{"a stall after a hang wakes nobody", stream(), append(calls(0, 10*ms), mode(5*ms, Hang, 50*ms, 1), mode(60*ms, Stall, 10*ms, 1)), []string{
			"[] open", "[] open"}},
		{"slow: what begins meanwhile", stream(), append(calls(0, 20*ms, 120*ms), mode(10*ms, Slow, 100*ms, 3)), []string{
			all, "[620ms 680ms 740ms 800ms] completed 800ms", "[320ms 340ms 360ms 380ms] completed 380ms"}},
		{"slow on top of slowdown", func() dependency.Behaviour {
			b := stream()
			b.Slowdown = ptr(2.0)
			return b
		}(), append(calls(0, 20*ms), mode(10*ms, Slow, -1, 2)), []string{
			"[400ms 440ms 480ms 520ms] completed 520ms", "[820ms 900ms 980ms 1.06s] completed 1.06s"}},
		{"reload: not ready, streams go on", stream(), append(calls(0, 110*ms, 200*ms), mode(100*ms, Reload, 100*ms, 1)), []string{
			all, "[] loading 110ms", "[400ms 420ms 440ms 460ms] completed 460ms"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(test.behaviour, 0)
			var callers []*heard
			for _, s := range test.steps {
				if s.change.Mode != "" {
					b.loop.At(s.at, clock.Timeline, clock.Func(func() { b.become(s.change) }))
					continue
				}
				_, h := b.call(s.at, s.most)
				callers = append(callers, h)
			}
			b.loop.Run()
			var got []string
			for _, h := range callers {
				got = append(got, h.String())
				if h.cut != (h.how == aborted) {
					t.Errorf("%v: connection reset: %v", h, h.cut)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if n := len(b.reading); n != 0 {
				t.Errorf("%d still read although all have left", n)
			}
		})
	}
}

// A client that leaves frees its slot, or has it burn to the end.
func TestLeave(t *testing.T) {
	second := "[%v] completed %v"
	story := func(from time.Duration) string {
		end := from + 260*ms
		return fmt.Sprintf(second, fmt.Sprintf("%v %v %v %v", from+200*ms, from+220*ms, from+240*ms, end), end)
	}
	for _, test := range []struct {
		name    string
		change  func(*dependency.Behaviour)
		leaves  time.Duration
		stalled bool
		next    time.Duration // when the next one begins
	}{
		{"burns by default with workers", func(*dependency.Behaviour) {}, 210 * ms, false, 260 * ms},
		{"stops", func(b *dependency.Behaviour) { b.OnCancel = ptr(dependency.Stops) }, 210 * ms, false, 210 * ms},
		{"stops, and is cleaned up", func(b *dependency.Behaviour) {
			b.OnCancel, b.CancelCleanup = ptr(dependency.Stops), ptr(30*ms)
		}, 210 * ms, false, 240 * ms},
		{"what hangs cannot burn", func(b *dependency.Behaviour) { *b = slots(dependency.Behaviour{Hang: ptr(true)}, 1, 1) }, 210 * ms, false, 0},
		{"burns on after a stall", func(*dependency.Behaviour) {}, 215 * ms, true, 360 * ms},
		{"stops in a stall", func(b *dependency.Behaviour) { b.OnCancel = ptr(dependency.Stops) }, 215 * ms, true, 310 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			behaviour := slots(stream(), 1, 1)
			test.change(&behaviour)
			b := newBench(behaviour, 0)
			first, heardFirst := b.call(0, 0)
			_, next := b.call(10*ms, 0)
			b.at(test.leaves, first.leave)
			if test.stalled {
				b.at(210*ms, func() { b.become(Switch{Stall, 100 * ms, 1}) })
			}
			b.loop.Run()
			if n := len(heardFirst.tokens); heardFirst.ends != 0 || n > 1 {
				t.Errorf("who has left heard %v", heardFirst)
			}
			if test.next == 0 { // the next one hangs too, in the slot of the first
				if s := b.state("a"); s.Working != 1 || s.Waiting != 0 {
					t.Errorf("working %d, waiting %d", s.Working, s.Waiting)
				}
				return
			}
			if got, want := next.String(), story(test.next); got != want {
				t.Errorf("the next one: %s, want %s", got, want)
			}
			if b.counts.Left != 1 || b.counts.Completed != 1 || len(b.calls) != 0 {
				t.Errorf("%+v, %d in flight", b.counts, len(b.calls))
			}
		})
	}
}

// What has fallen silent has no work to burn either: its slot is free once its
// client leaves.
func TestLeaveSilence(t *testing.T) {
	b := newBench(slots(stream(), 1, 1), 0)
	first, _ := b.call(0, 0)
	b.at(5*ms, func() { b.become(Switch{Hang, 0, 1}) })
	_, next := b.call(10*ms, 0)
	b.at(100*ms, func() {
		if s := b.state("a"); s.Silent != 1 || s.Working != 1 || s.Waiting != 1 {
			t.Errorf("%+v", s)
		}
		first.leave()
	})
	b.loop.Run()
	if want := "[300ms 320ms 340ms 360ms] completed 360ms"; next.String() != want {
		t.Errorf("the next one: %v, want %s", next, want)
	}
}

// Without workers a cancelled attempt stops, as in a study.
func TestLeaveWithoutWorkers(t *testing.T) {
	b := newBench(stream(), 0)
	c, _ := b.call(0, 0)
	b.at(210*ms, func() {
		c.leave()
		if n := len(b.calls); n != 0 {
			t.Errorf("%d in flight", n)
		}
	})
	b.loop.Run()
}

// Who does not read its answer holds no slot, and is cut off in the end.
func TestPatience(t *testing.T) {
	b := newBench(slots(stream(), 1, 0), 0)
	_, idle := b.call(0, 0)
	idle.reads = nil
	_, next := b.call(260*ms, 0)
	b.loop.At(260*ms+patience-1, clock.Work, clock.Func(func() {
		if idle.cut {
			t.Error("cut off too early")
		}
	}))
	b.loop.Run()
	if !idle.cut || idle.how != completed || next.how != completed || next.cut {
		t.Errorf("cut off: %v, %v; the next: %v, %v", idle.cut, idle, next.cut, next)
	}
}

// A replica that loads at first is not ready, and says how long it will be.
func TestLoading(t *testing.T) {
	b := newBench(stream(), 2500*ms)
	_, early := b.call(time.Second, 0)
	_, late := b.call(2500*ms, 0)
	b.loop.At(2499*ms, clock.Work, clock.Func(func() {
		if b.ready() {
			t.Error("ready before its time")
		}
	}))
	b.loop.Run()
	if early.how != loading || early.asked != 1500*ms || late.how != completed || !b.ready() {
		t.Errorf("early %v (wait %v), late %v, ready %v", early, early.asked, late, b.ready())
	}
}

// The words of a behaviour mean what they mean in a study: the same times, and
// the same failures.
func TestSameLuckAsModel(t *testing.T) {
	behaviour := dependency.Behaviour{
		Latency:  dependency.Every(&dependency.Latency{Lognormal: &dependency.Lognormal{P50: 100 * ms, P99: time.Second}}),
		Fail:     &dependency.Fail{Ratio: 0.3},
		Slowdown: ptr(1.5),
	}
	b := newBench(behaviour, 0)
	model := dependency.New("a", behaviour, chance.New(1))
	var callers []*heard
	for range 200 {
		_, h := b.call(0, 0)
		callers = append(callers, h)
	}
	b.loop.Run()
	failures := 0
	for i, h := range callers {
		want := model.Answer(int64(i), 0)
		if h.at != want.After || (h.how == failed) != want.Fails {
			t.Fatalf("request %d: %v, want %v, fails %v", i, h, want.After, want.Fails)
		}
		if want.Fails {
			failures++
		}
	}
	if failures == 0 || failures == len(callers) {
		t.Errorf("%d of %d failed: the comparison shows nothing", failures, len(callers))
	}
}

// Each gap of each stream is drawn for itself.
func TestGapsAreDrawn(t *testing.T) {
	behaviour := stream()
	behaviour.Tokens = ptr(50)
	behaviour.TokenGap = &dependency.Latency{Exponential: &dependency.Exponential{Mean: 20 * ms}}
	b := newBench(behaviour, 0)
	seen := map[time.Duration]bool{}
	var sum time.Duration
	var callers []*heard
	for range 40 {
		_, h := b.call(0, 0)
		callers = append(callers, h)
	}
	b.loop.Run()
	for _, h := range callers {
		for i := range 49 {
			gap := h.tokens[i+1] - h.tokens[i]
			seen[gap] = true
			sum += gap
		}
	}
	const n = 40 * 49
	if len(seen) < n*9/10 {
		t.Errorf("%d of %d gaps differ", len(seen), n)
	}
	// the mean of n exponential gaps is within 5 standard errors, 20 ms / sqrt(n)
	if mean := sum / n; mean < 17700*time.Microsecond || mean > 22300*time.Microsecond {
		t.Errorf("mean gap %v, want 20ms", mean)
	}
}

// Whatever happens, every request ends once or is in flight, slots are never
// more than there are, and an abandoned replica has nothing left to wait for.
func TestAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 3).Draw(t, "workers")
		behaviour := slots(stream(), workers, dependency.Room(rapid.IntRange(0, 3).Draw(t, "queue")))
		behaviour.Fail = &dependency.Fail{Ratio: rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "fail")}
		behaviour.OnCancel = ptr(rapid.SampledFrom([]dependency.OnCancel{dependency.Stops, dependency.Burns}).Draw(t, "on_cancel"))
		behaviour.CancelCleanup = ptr(time.Duration(rapid.IntRange(0, 50).Draw(t, "cleanup")) * ms)
		behaviour.Discipline = ptr(rapid.SampledFrom([]dependency.Discipline{dependency.FIFO, dependency.LIFO, dependency.CoDel}).Draw(t, "discipline"))
		b := newBench(behaviour, 0)
		var callers []*heard
		var last, end time.Duration
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			last += time.Duration(rapid.IntRange(0, 100).Draw(t, "pause")) * ms
			if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
				s := Switch{rapid.SampledFrom(modes).Draw(t, "mode"), time.Duration(rapid.IntRange(-1, 300).Draw(t, "for")) * ms, 2}
				b.at(last, func() { b.become(s) })
				continue
			}
			c, h := b.call(last, rapid.IntRange(0, 5).Draw(t, "most"))
			callers = append(callers, h)
			if !rapid.Bool().Draw(t, "reads") {
				h.reads = nil
			}
			if patient := rapid.IntRange(0, 600).Draw(t, "patience"); patient < 500 {
				b.at(last+time.Duration(patient)*ms, c.leave)
				end = max(end, last+time.Duration(patient)*ms)
			}
			b.at(last, func() {
				if s := b.state("a"); s.Working > workers {
					t.Fatalf("%d work in %d slots", s.Working, workers)
				}
			})
		}
		last += time.Duration(rapid.IntRange(0, 2000).Draw(t, "end")) * ms
		b.at(last, b.abandon)
		last++ // what comes too late changes nothing
		b.at(last, func() { b.become(Switch{Stall, time.Second, 1}) })
		_, late := b.call(last, 0)
		callers, late.reads = append(callers, late), nil
		b.loop.Run()
		if !late.cut {
			t.Fatalf("who came too late: %v", late)
		}
		if end = max(end, last); b.loop.Now() > end {
			t.Fatalf("something happened at %v, after everything was over at %v", b.loop.Now(), end)
		}
		n := b.counts
		if ended := n.Completed + n.Failed + n.Refused + n.Aborted + n.Left; n.Requests != int64(len(callers)) || ended != n.Requests || len(b.calls) != 0 {
			t.Fatalf("%+v: %d ended, %d callers, %d in flight", n, ended, len(callers), len(b.calls))
		}
		for _, h := range callers {
			if h.ends > 1 {
				t.Fatalf("%v heard %d ends", h, h.ends)
			}
		}
	})
}
