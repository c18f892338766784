package dependency

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/clock"
)

// line is a station whose jobs write down what becomes of them.
type line struct {
	loop    *clock.Loop
	station *Station
	jobs    map[string]*Job
	said    []string
	begun   func() // called when a job begins; nil for nobody
	keep    bool   // whether workers stay with a job whose work is done, until it is freed
}

func newLine(b Behaviour) *line {
	l := &line{loop: clock.Virtual(), jobs: map[string]*Job{}}
	l.station = NewStation(l.loop, &b)
	return l
}

func (l *line) say(name, what string) {
	l.said = append(l.said, fmt.Sprintf("%v %s %s", l.loop.Now(), name, what))
}

// at has f called at an instant, in the order of calls.
func (l *line) at(when time.Duration, f func()) { l.loop.At(when, clock.Work, clock.Func(f)) }

// enter lets a job in at an instant.
func (l *line) enter(when time.Duration, name string, work time.Duration) {
	l.at(when, func() {
		j := &Job{Owner: &owner{l, name}, Work: work}
		l.jobs[name] = j
		switch taken, waits := l.station.Enter(j); {
		case waits:
			l.say(name, "waits")
		case !taken:
			l.say(name, "has no room")
		case work == 0:
			l.say(name, "done at once")
			j.Free()
		default:
			l.say(name, "taken")
		}
	})
}

// become changes the station at an instant.
func (l *line) become(when time.Duration, b Behaviour) { l.at(when, func() { l.station.Become(&b) }) }

func (l *line) run() []string {
	l.loop.Run()
	return l.said
}

// owner is what a job belongs to.
type owner struct {
	line *line
	name string
}

func (o *owner) Began() {
	o.line.say(o.name, "begun")
	if o.line.begun != nil {
		o.line.begun()
	}
}

func (o *owner) Dropped() { o.line.say(o.name, "dropped") }

func (o *owner) Worked() {
	o.line.say(o.name, "done")
	if !o.line.keep {
		o.line.jobs[o.name].Free()
	}
}

// staffed returns the behaviour with so many workers.
func staffed(workers int) Behaviour { return Behaviour{Workers: &workers} }

func TestStation(t *testing.T) {
	paused := func(b Behaviour, is bool) Behaviour { b.Paused = &is; return b }
	ordered := func(d Discipline) Behaviour { b := staffed(1); b.Discipline = &d; return b }
	roomy := func(n Room) Behaviour { b := staffed(1); b.Queue = &n; return b }
	// four jobs for one worker, the last ones shorter than the first
	four := func(l *line) {
		l.enter(0, "a", 10*ms)
		l.enter(1*ms, "b", 3*ms)
		l.enter(2*ms, "c", 2*ms)
		l.enter(3*ms, "d", 1*ms)
	}
	tests := []struct {
		name  string
		start Behaviour
		do    func(*line)
		want  []string
	}{
		{"oldest first, without being asked", staffed(1), four, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"10ms a done", "10ms b begun", "13ms b done", "13ms c begun", "15ms c done", "15ms d begun", "16ms d done",
		}},
		{"newest first", ordered(LIFO), four, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"10ms a done", "10ms d begun", "11ms d done", "11ms c begun", "13ms c done", "13ms b begun", "16ms b done",
		}},
		// b waited 9 ms, above the target; but nothing is dropped before that has lasted for an interval
		{"codel of a short queue", ordered(CoDel), four, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"10ms a done", "10ms b begun", "13ms b done", "13ms c begun", "15ms c done", "15ms d begun", "16ms d done",
		}},
		{"two workers", staffed(2), four, []string{
			"0s a taken", "1ms b taken", "2ms c waits", "3ms d waits",
			"4ms b done", "4ms c begun", "6ms c done", "6ms d begun", "7ms d done", "10ms a done",
		}},
		{"no room", roomy(0), four, []string{
			"0s a taken", "1ms b has no room", "2ms c has no room", "3ms d has no room", "10ms a done",
		}},
		{"room for two", roomy(2), four, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d has no room",
			"10ms a done", "10ms b begun", "13ms b done", "13ms c begun", "15ms c done",
		}},
		// whoever is there stays when the room becomes less
		{"less room", staffed(1), func(l *line) { four(l); l.become(2*ms, roomy(1)) }, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d has no room",
			"10ms a done", "10ms b begun", "13ms b done", "13ms c begun", "15ms c done",
		}},
		// 5 ms of a and 1 ms of c are left at 5 ms; e enters a station without a free worker, though none works
		{"a pause", staffed(2), func(l *line) {
			four(l)
			l.become(5*ms, paused(staffed(2), true))
			l.enter(20*ms, "e", 1*ms)
			l.become(50*ms, paused(staffed(2), false))
		}, []string{
			"0s a taken", "1ms b taken", "2ms c waits", "3ms d waits",
			"4ms b done", "4ms c begun",
			"20ms e waits", "51ms c done", "51ms d begun", "52ms d done", "52ms e begun", "53ms e done", "55ms a done",
		}},
		// idle workers take nothing up in a pause, and all at once after it
		{"arrivals in a pause", paused(staffed(2), true), func(l *line) {
			four(l)
			l.become(20*ms, staffed(2))
		}, []string{
			"0s a waits", "1ms b waits", "2ms c waits", "3ms d waits",
			"20ms a begun", "20ms b begun", "23ms b done", "23ms c begun", "25ms c done", "25ms d begun", "26ms d done", "30ms a done",
		}},
		// two pauses: what is left is counted from the end of the first
		{"two pauses", staffed(1), func(l *line) {
			l.enter(0, "a", 10*ms)
			for _, from := range []time.Duration{4 * ms, 26 * ms} {
				l.become(from, paused(staffed(1), true))
				l.become(from+1*ms, paused(staffed(1), true)) // a pause in a pause changes nothing
				l.become(from+20*ms, staffed(1))
			}
		}, []string{"0s a taken", "50ms a done"}},
		{"more workers", staffed(1), func(l *line) { four(l); l.become(5*ms, staffed(3)) }, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"5ms b begun", "5ms c begun", "7ms c done", "7ms d begun", "8ms b done", "8ms d done", "10ms a done",
		}},
		// a and b are worked on to their end; c has to wait until both are gone
		{"fewer workers", staffed(2), func(l *line) { four(l); l.become(3*ms, staffed(1)) }, []string{
			"0s a taken", "1ms b taken", "2ms c waits", "3ms d waits",
			"4ms b done", "10ms a done", "10ms c begun", "12ms c done", "12ms d begun", "13ms d done",
		}},
		{"no work", staffed(1), func(l *line) {
			l.enter(0, "a", 0)
			l.enter(0, "b", 5*ms)
			l.enter(1*ms, "c", 0)
			l.enter(2*ms, "d", 1*ms)
		}, []string{
			"0s a done at once", "0s b taken", "1ms c waits", "2ms d waits",
			"5ms b done", "5ms c begun", "5ms c done", "5ms d begun", "6ms d done",
		}},
		// its place is free for e, its worker is not
		{"stopped in the queue", roomy(2), func(l *line) {
			four(l)
			l.at(2500*time.Microsecond, func() { l.jobs["b"].Stop(); l.jobs["b"].Free() })
		}, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"10ms a done", "10ms c begun", "12ms c done", "12ms d begun", "13ms d done",
		}},
		{"stopped at work, cleaned up for 1 ms", staffed(1), func(l *line) {
			four(l)
			l.at(5*ms, func() { l.jobs["a"].Stop(); l.jobs["a"].Stop() })
			l.at(6*ms, func() { l.jobs["a"].Free(); l.jobs["a"].Free() })
		}, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"6ms b begun", "9ms b done", "9ms c begun", "11ms c done", "11ms d begun", "12ms d done",
		}},
		// a pause does not wake what was stopped
		{"stopped in a pause", staffed(1), func(l *line) {
			four(l)
			l.become(4*ms, paused(staffed(1), true))
			l.at(5*ms, func() { l.jobs["a"].Stop(); l.jobs["a"].Free() })
			l.become(20*ms, staffed(1))
		}, []string{
			"0s a taken", "1ms b waits", "2ms c waits", "3ms d waits",
			"20ms b begun", "23ms b done", "23ms c begun", "25ms c done", "25ms d begun", "26ms d done",
		}},
		// a service keeps its worker while its own calls go on
		{"held after its work", staffed(1), func(l *line) {
			l.keep = true
			l.enter(0, "a", 2*ms)
			l.enter(1*ms, "b", 2*ms)
			l.at(7*ms, func() { l.jobs["a"].Free() })
		}, []string{"0s a taken", "1ms b waits", "2ms a done", "7ms b begun", "9ms b done"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLine(test.start)
			test.do(l)
			if diff := cmp.Diff(test.want, l.run()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Work that never ends keeps its worker until it is stopped.
func TestStationHangs(t *testing.T) {
	l := newLine(staffed(1))
	hangs := &Job{Owner: &owner{l, "a"}, Hangs: true}
	l.station.Enter(hangs)
	l.enter(1*ms, "b", 1*ms)
	l.become(2*ms, Behaviour{Workers: p(1), Paused: p(true)})
	l.become(3*ms, staffed(1))
	l.at(time.Hour, func() { hangs.Stop(); hangs.Free() })
	want := []string{"1ms b waits", "1h0m0s b begun", "1h0m0.001s b done"}
	if diff := cmp.Diff(want, l.run()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCodelTrace follows RFC 8289, section 5, by hand. One worker takes 10 ms
// for a job; the target is 5 ms, the interval 100 ms.
//
// Job n of the first cycle arrives at 4n ms, so that the queue grows. Job 0 is
// taken up at 0, and the worker asks at 10 ms, 20 ms, ….
//   - at 10 ms job 1 has waited 6 ms with one other waiting: a queue of one packet is
//     let alone, so nothing is above;
//   - at 20 ms job 2 has waited 12 ms, above the target: first_above is 120 ms;
//   - at 120 ms job 12 is dropped and job 13 taken up: count is 1, the next drop is due
//     at 120 + 100 = 220 ms;
//   - at 220 ms: count 2, due at 220 + 100/sqrt 2 = 290.71 ms;
//   - at 300 ms: count 3, due at 290.71 + 100/sqrt 3 = 348.45 ms;
//   - at 350 ms: count 4, due at 348.45 + 100/sqrt 4 = 398.45 ms;
//   - at 400 ms: count 5, due at 398.45 + 100/sqrt 5 = 443.17 ms.
//
// Arrivals end with job 49, at 196 ms. A job is taken up every 10 ms, and each
// drop takes one more out: at 10k ms job k+d comes up, after d drops, until
// two are left: job 48 with 49 behind it. That ends the dropping state.
//
// The second cycle begins at 1000 ms with another fifty jobs 4 ms apart. At
// 1010 ms one waits behind the first; at 1020 ms first_above becomes 1120 ms, when
// job 112 is dropped. The last cycle ended with count 5 and began with 1, and
// 1120 - 443.17 is less than 16 intervals: count goes on from 4, so that the
// next is due at 1120 + 100/sqrt 4 = 1170 ms. In a third cycle that begins later
// than 16 intervals after, count is 1 again.
func TestCodelTrace(t *testing.T) {
	const third = 4000
	l := newLine(Behaviour{Workers: p(1), Discipline: p(CoDel)})
	for n := range 50 {
		l.enter(time.Duration(4*n)*ms, fmt.Sprintf("%d", n), 10*ms)
		l.enter(time.Duration(1000+4*n)*ms, fmt.Sprintf("%d", 100+n), 10*ms)
		l.enter(time.Duration(third+4*n)*ms, fmt.Sprintf("%d", 200+n), 10*ms)
	}
	var got []string
	for _, said := range l.run() {
		if strings.HasSuffix(said, "dropped") {
			got = append(got, said)
		}
	}
	want := []string{
		"120ms 12 dropped", "220ms 23 dropped", "300ms 32 dropped", "350ms 38 dropped", "400ms 44 dropped",
		// from count 4: due at 1170, then + 100/sqrt 5 = 1214.72, + 100/sqrt 6 = 1255.55,
		// + 100/sqrt 7 = 1293.34, + 100/sqrt 8 = 1328.70, + 100/sqrt 9 = 1362.03, + 100/sqrt 10 = 1393.65
		"1.12s 112 dropped", "1.17s 118 dropped", "1.22s 124 dropped", "1.26s 129 dropped", "1.3s 134 dropped", "1.33s 138 dropped", "1.37s 143 dropped", "1.4s 147 dropped",
		// more than 1.6 s after 1393.65: from the beginning
		"4.12s 212 dropped", "4.22s 223 dropped", "4.3s 232 dropped", "4.35s 238 dropped", "4.4s 244 dropped",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A job that is stopped between its drop and the event that tells of it hears
// nothing: its owner knows.
func TestStoppedWhileDropped(t *testing.T) {
	l := newLine(Behaviour{Workers: p(1), Discipline: p(CoDel), Codel: &Codel{Target: ms, Interval: 10 * ms}})
	stopped := 0
	l.begun = func() { // the job behind a dropped one is begun before that is told
		for _, j := range l.jobs {
			if j.state == dropped {
				if !j.Waits() {
					t.Error("a job that is about to hear of its drop is not taken for waiting")
				}
				j.Stop()
				j.Free()
				stopped++
			}
		}
	}
	for n := range 20 {
		l.enter(time.Duration(n)*ms, fmt.Sprint(n), 5*ms)
	}
	told := strings.Join(l.run(), "\n")
	if stopped == 0 || strings.Contains(told, "dropped") {
		t.Errorf("%d jobs were stopped while they were dropped:\n%s", stopped, told)
	}
	if l.station.busy+l.station.waiting.n > 0 {
		t.Errorf("%d are busy and %d wait after the end", l.station.busy, l.station.waiting.n)
	}
}

// TestStationCounts drives stations at random and holds what they count against
// the jobs themselves, after every step.
func TestStationCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Behaviour{Workers: p(rapid.IntRange(1, 3).Draw(t, "workers")), Discipline: p(rapid.SampledFrom([]Discipline{FIFO, LIFO, CoDel}).Draw(t, "discipline"))}
		b.Codel = &Codel{Target: ms, Interval: 3 * ms}
		if rapid.Bool().Draw(t, "bounded") {
			b.Queue = p(Room(rapid.IntRange(0, 5).Draw(t, "room")))
		}
		l := newLine(b)
		check := func() {
			var waiting, busy int
			for _, j := range l.jobs {
				switch j.state {
				case queued:
					waiting++
				case atWork, held:
					busy++
				}
			}
			s := l.station
			switch {
			case waiting != s.waiting.n || busy != s.busy:
				t.Fatalf("%v: %d jobs wait and %d are with workers, the station counts %d and %d", l.loop.Now(), waiting, busy, s.waiting.n, s.busy)
			case waiting > 0 && busy < s.workers && !s.paused:
				t.Fatalf("%v: %d wait and %d of %d workers are busy", l.loop.Now(), waiting, busy, s.workers)
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			when, name := time.Duration(rapid.IntRange(0, 40).Draw(t, "when"))*ms, fmt.Sprint(i)
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				changed := b
				changed.Workers, changed.Paused = p(rapid.IntRange(1, 3).Draw(t, "workers")), p(rapid.Bool().Draw(t, "paused"))
				l.become(when, changed)
			case 1:
				of := fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "of"))
				l.at(when, func() {
					if j := l.jobs[of]; j != nil {
						j.Stop()
						check()
						j.Free()
					}
				})
			default:
				l.enter(when, name, time.Duration(rapid.IntRange(0, 8).Draw(t, "work"))*ms)
			}
			l.at(when, check)
		}
		l.become(time.Second, staffed(1))
		l.run()
		check()
		if l.station.busy+l.station.waiting.n > 0 {
			t.Fatalf("%d are busy and %d wait after the end", l.station.busy, l.station.waiting.n)
		}
	})
}
