package lab

import (
	"context"
	"flag"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"brunt/clock"
	"brunt/dependency"
	"brunt/load"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
)

// tick divides every instant of a random system: arrivals, work, phases and the
// times of policies are multiples of it. So what is looked at once a tick, after
// everything else of that instant, stays so until the next.
const tick = 5 * time.Millisecond

// TestLawsOfQueues holds 3,000 random systems to what is true of every queue.
func TestLawsOfQueues(t *testing.T) {
	longOnly(t)
	withChecks(t, "3000", func(t *rapid.T) {
		s := randomSystem(t)
		w := watch(t, s)
		w.accounts()
		w.ancestry()
		w.orders()
		w.workIsDone()
	})
}

// TestSystemsRepeat: the same study gives the same rows, also when other runs go
// on at the same time, and however many processors there are.
func TestSystemsRepeat(t *testing.T) {
	withChecks(t, "8", func(t *rapid.T) {
		s := randomSystem(t)
		alone := rowsOf(t, s)
		before := runtime.GOMAXPROCS(1)
		single := rowsOf(t, s)
		runtime.GOMAXPROCS(4)
		among := make([]rows, 8)
		err := each(len(among), 4, func(i int) error {
			return runOn(context.Background(), clock.Virtual(), s, "stack", s.Schedule(), &among[i], true, nil)
		})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range append(among, single) {
			if !reflect.DeepEqual(alone, other) {
				t.Fatalf("the rows differ (-alone +other):\n%s", cmp.Diff(alone, other))
			}
		}
	})
}

// withChecks has rapid make so many checks.
func withChecks(t *testing.T, n string, f func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	before := checks.String()
	if err := checks.Set(n); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Set(before) }()
	rapid.Check(t, f)
}

// rows keeps everything that a run writes.
type rows struct {
	Requests []record.Request
	Attempts []record.Attempt
	Events   []record.Event
}

func (r *rows) Request(q *record.Request) { r.Requests = append(r.Requests, *q) }
func (r *rows) Attempt(a *record.Attempt) { r.Attempts = append(r.Attempts, *a) }
func (r *rows) Event(e *record.Event)     { r.Events = append(r.Events, *e) }

func rowsOf(t *rapid.T, s *study.Study) (r rows) {
	if err := runOn(context.Background(), clock.Virtual(), s, "stack", s.Schedule(), &r, true, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// place is one replica of a target.
type place struct{ target, replica int32 }

// occupancy is what was seen of a station, by looking at it.
type occupancy struct {
	busy, waiting       int64         // at the last tick
	sumBusy, sumWaiting time.Duration // their integrals over time
}

// watcher runs a study, looks at its stations every tick, and keeps the rows.
type watcher struct {
	t      *rapid.T
	study  *study.Study
	runner *runner
	rows
	seen map[place]*occupancy
}

func watch(t *rapid.T, s *study.Study) *watcher {
	w := &watcher{t: t, study: s, seen: map[place]*occupancy{}}
	w.runner = newRunner(clock.Virtual(), s, "stack", s.Schedule(), w, true)
	w.runner.loop.At(0, clock.Arrival+1, w)
	w.runner.run(nil)
	if w.runner.inFlight != 0 || w.runner.active != 0 {
		t.Fatalf("%d requests and %d attempts reached no end", w.runner.inFlight, w.runner.active)
	}
	for i, c := range w.runner.clusters { // its balancer would go on by them
		replicas := reflect.ValueOf(c).Elem().FieldByName("replicas")
		for k := range replicas.Len() {
			if load := replicas.Index(k).FieldByName("load").Int(); load != 0 {
				t.Fatalf("%s: replica %d has a load of %d after the end", s.Callees()[i], k, load)
			}
		}
	}
	return w
}

// Happen implements [clock.Event]: a tick is over.
func (w *watcher) Happen() {
	r := w.runner
	now := r.loop.Now()
	for target := range w.study.Callees() {
		for replica := range w.replicas(int32(target), now) {
			at := place{int32(target), int32(replica)}
			if station := r.clusters[target].Station(at.replica); station != nil {
				w.look(at, station, w.behaviour(at, now))
			}
		}
	}
	if now > 5*time.Minute {
		w.t.Fatalf("%d attempts never end", r.active)
	}
	if now < w.study.Length() || r.inFlight > 0 || r.active > 0 {
		r.loop.At(now+tick, clock.Arrival+1, w)
	}
}

// look counts who is at a station, and holds it to what must be so at every
// instant.
func (w *watcher) look(at place, station *dependency.Station, b dependency.Behaviour) {
	busy, waiting := inside(station)
	o := w.seen[at]
	if o == nil {
		o = &occupancy{}
		w.seen[at] = o
	}
	now, workers := w.runner.loop.Now(), int64(*b.Workers)
	paused := b.Paused != nil && *b.Paused
	switch {
	case busy > max(workers, o.busy):
		w.t.Fatalf("%v: at %v %d of %d workers are busy, after %d", at, now, busy, workers, o.busy)
	case waiting > 0 && busy < workers && !paused:
		w.t.Fatalf("%v: at %v %d wait and %d of %d workers are busy", at, now, waiting, busy, workers)
	case b.Queue != nil && *b.Queue >= 0 && waiting > max(int64(*b.Queue), o.waiting):
		w.t.Fatalf("%v: at %v %d wait, after %d, with room for %d", at, now, waiting, o.waiting, *b.Queue)
	}
	o.busy, o.waiting = busy, waiting
	o.sumBusy += time.Duration(busy) * tick
	o.sumWaiting += time.Duration(waiting) * tick
}

// inside returns how many workers of a station are busy, and how many attempts
// wait. A station tells nobody, so this looks at its fields.
func inside(s *dependency.Station) (busy, waiting int64) {
	v := reflect.ValueOf(s).Elem()
	return v.FieldByName("busy").Int(), v.FieldByName("waiting").FieldByName("n").Int()
}

// Attempt implements [record.Sink].
func (w *watcher) Attempt(a *record.Attempt) {
	w.rows.Attempt(a)
	at := place{a.Dependency, a.Replica}
	station := w.runner.clusters[at.target].Station(at.replica)
	if a.Cause == record.Overload && a.Start == a.End && station != nil {
		b := w.behaviour(at, a.Start)
		if b.Discipline != nil && *b.Discipline == dependency.CoDel {
			return // it may have been dropped
		}
		if _, waiting := inside(station); b.Queue == nil || waiting < int64(*b.Queue) {
			w.t.Fatalf("%v: at %v an attempt finds no room, and %d wait", at, a.Start, waiting)
		}
	}
}

// replicas returns how many replicas a target has had at most, by an instant.
func (w *watcher) replicas(target int32, now time.Duration) int {
	most := 1
	for i := range w.study.Phases {
		if from, _ := w.study.Span(i); from > now {
			break
		}
		if n := w.study.Behaviour(i, w.study.Callees()[target]).Replicas; n != nil {
			most = max(most, *n)
		}
	}
	return most
}

// behaviour returns how a replica behaves at an instant.
func (w *watcher) behaviour(at place, now time.Duration) dependency.Behaviour {
	for i := range w.study.Phases {
		if _, to := w.study.Span(i); now < to || i == len(w.study.Phases)-1 {
			return w.study.Behaviour(i, w.study.Callees()[at.target]).Of(int(at.replica))
		}
	}
	panic("lab: a study without phases")
}

// accounts holds the rows against what was seen of the stations: Little's law as
// it is true of every single run (S. Stidham, A Last Word on L = lambda W, 1974), and
// that no request is lost.
func (w *watcher) accounts() {
	waits, busy := map[place]time.Duration{}, map[place]time.Duration{}
	attempts := map[int64]int32{}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		at := place{a.Dependency, a.Replica}
		waits[at] += a.Wait
		busy[at] += a.Busy
		attempts[a.Request]++
		switch end := a.Start + a.Wait + a.Busy; {
		case a.Wait < 0 || a.Busy < 0:
			w.t.Fatalf("a negative time: %+v", *a)
		case end > a.CleanupEnd:
			w.t.Fatalf("a worker had it until %v, after its end: %+v", end, *a)
		case a.Busy > 0 && end != a.CleanupEnd:
			w.t.Fatalf("its worker was free at %v, before it was gone: %+v", end, *a)
		case a.Cause == record.Overload && a.Busy > 0:
			w.t.Fatalf("a worker was busy with what found no room: %+v", *a)
		case w.runner.clusters[at.target].Station(at.replica) == nil && a.Wait+a.Busy > 0:
			w.t.Fatalf("there is no worker: %+v", *a)
		}
	}
	for at, o := range w.seen {
		if waits[at] != o.sumWaiting || busy[at] != o.sumBusy {
			w.t.Fatalf("%v: the rows wait %v and are worked on for %v; the station was seen with %v and %v", at, waits[at], busy[at], o.sumWaiting, o.sumBusy)
		}
	}
	ends := map[record.Outcome]int{}
	requests := map[int64]bool{}
	for i := range w.Requests {
		q := &w.Requests[i]
		if requests[q.Index] {
			w.t.Fatalf("request %d ended twice", q.Index)
		}
		requests[q.Index] = true
		ends[q.Outcome]++
		if q.Attempts != attempts[q.Index] {
			w.t.Fatalf("request %d counts %d attempts, there are %d", q.Index, q.Attempts, attempts[q.Index])
		}
	}
	if offered := len(w.study.Load.Instants); offered != ends[record.Completed]+ends[record.Errored]+ends[record.Censored] {
		w.t.Fatalf("of %d requests these ended: %v", offered, ends)
	}
}

// ancestry holds attempts to those of the services that made them: nobody waits
// for an answer when the attempt itself, or one above it, was given up.
func (w *watcher) ancestry() {
	type name struct {
		request int64
		index   int32
	}
	all := map[name]*record.Attempt{}
	for i := range w.Attempts {
		all[name{w.Attempts[i].Request, w.Attempts[i].Index}] = &w.Attempts[i]
	}
	for _, a := range all {
		wasted, tie := a.Cancelled, false
		for b := a; b.Parent >= 0; {
			parent := all[name{a.Request, b.Parent}]
			switch {
			case parent == nil || parent.Index >= b.Index:
				w.t.Fatalf("the attempt that made it is not there: %+v", *b)
			case b.Start < parent.Start+parent.Wait || b.Start > parent.CleanupEnd:
				w.t.Fatalf("it was made at %v by one that had a worker from %v to %v", b.Start, parent.Start+parent.Wait, parent.CleanupEnd)
			}
			b = parent
			if b.Cancelled {
				wasted = wasted || b.End < a.CleanupEnd
				tie = tie || b.End == a.CleanupEnd // which of both was first, the rows do not say
			}
		}
		if a.Wasted != wasted && !tie {
			w.t.Fatalf("wasted is %v, want %v: %+v", a.Wasted, wasted, *a)
		}
	}
}

// orders holds stations without dropping to their discipline: a worker takes up
// the one that has waited longest, or least.
func (w *watcher) orders() {
	stations := map[place][]*record.Attempt{}
	for i := range w.Attempts {
		a := &w.Attempts[i]
		at := place{a.Dependency, a.Replica}
		if w.runner.clusters[at.target].Station(at.replica) != nil && a.Wait > 0 {
			stations[at] = append(stations[at], a)
		}
	}
	for at, list := range stations {
		name := w.study.Callees()[at.target]
		for _, a := range list {
			taken := a.Start + a.Wait
			if a.Busy == 0 {
				continue // it left, or was no work: nobody was passed over for long
			}
			var lifo bool
			switch d := w.behaviour(at, taken).Discipline; {
			case d == nil || *d == dependency.FIFO:
			case *d == dependency.LIFO:
				lifo = true
			default:
				continue
			}
			for _, b := range list {
				if b.Start >= taken || b.Start+b.Wait <= taken { // not waiting before and after
					continue
				}
				if lifo && b.Start > a.Start || !lifo && b.Start < a.Start {
					w.t.Fatalf("%s %v (lifo: %v): at %v it took up\n%+v\nbefore\n%+v", name, at, lifo, taken, *a, *b)
				}
			}
		}
	}
}

// workIsDone holds the time that workers are busy with what is worked on to its
// end against the work that was drawn, and the pauses meanwhile; and what is not
// against its cancellation or deadline.
func (w *watcher) workIsDone() {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		at := place{a.Dependency, a.Replica}
		if w.runner.clusters[at.target].Station(at.replica) == nil || w.runner.services[at.target] != nil || a.Cause == record.Overload {
			continue
		}
		model := dependency.New(w.study.Callees()[at.target], w.behaviour(at, a.Start), w.study.Luck())
		answer := model.Answer(a.Request, a.Nth)
		switch gone := a.CleanupEnd - answer.Cleanup; {
		case answer.Refused:
			continue
		case a.Cancelled && (!answer.Burns || answer.Hangs) && !answer.Heeds && gone != a.End:
			w.t.Fatalf("it stops, and takes until %v to do so: %+v", gone, *a)
		case a.Cancelled && answer.Heeds && a.Parent < 0 && gone > a.Intended+w.study.Horizon:
			w.t.Fatalf("it heeds its deadline, and goes on until %v: %+v", gone, *a)
		case answer.Hangs, a.Cancelled && (!answer.Burns || answer.Heeds):
			continue
		}
		if dropped := a.Cancelled && a.Busy == 0; dropped {
			continue // by CoDel, after it was given up
		}
		begun := a.Start + a.Wait
		work := answer.After
		if slow := w.behaviour(at, begun).Slowdown; answer.Scales && slow != nil {
			work *= time.Duration(*slow) // whole numbers here
		}
		if want := w.endOfWork(at, begun, work); a.CleanupEnd != want {
			w.t.Fatalf("%v of work, begun at %v, are done at %v, want %v: %+v", work, begun, a.CleanupEnd, want, *a)
		}
	}
}

// endOfWork returns when work that begins at an instant ends. What would end as
// a pause begins ends with the pause: phases come first.
func (w *watcher) endOfWork(at place, now, left time.Duration) time.Duration {
	if left == 0 {
		return now
	}
	for i := range w.study.Phases {
		_, to := w.study.Span(i)
		if i == len(w.study.Phases)-1 {
			to = math.MaxInt64
		}
		if now >= to {
			continue
		}
		b := w.study.Behaviour(i, w.study.Callees()[at.target]).Of(int(at.replica))
		switch {
		case b.Paused != nil && *b.Paused:
			now = to
		case now+left < to:
			return now + left
		default:
			left -= to - now
			now = to
		}
	}
	return now
}

// randomSystem draws a study whose dependencies have capacity, some of them
// behind services.
func randomSystem(t *rapid.T) *study.Study {
	s := &study.Study{}
	s.SetDefaults()
	s.Seed = rapid.Int64().Draw(t, "seed")
	s.Horizon = grid(t, "horizon", 4, 100)
	s.Callers = rapid.IntRange(1, 3).Draw(t, "callers")
	s.Load = load.Load{Arrivals: load.Trace}
	phases := rapid.IntRange(1, 4).Draw(t, "phases")
	lengths := make([]time.Duration, phases)
	var length time.Duration
	for i := range lengths {
		lengths[i] = grid(t, "for", 5, 40)
		length += lengths[i]
	}
	for range rapid.IntRange(1, 60).Draw(t, "requests") {
		s.Load.Instants = append(s.Load.Instants, grid(t, "instant", 0, int(length/tick)-1))
	}
	slices.Sort(s.Load.Instants)

	names := []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(t, "dependencies")]
	capacity := map[string]bool{}
	for _, name := range names {
		capacity[name] = rapid.IntRange(0, 4).Draw(t, "capacity") > 0
		s.Dependencies.Set(name, randomCapacity(t, capacity[name], true))
	}
	called := slices.Clone(names)
	for i := range rapid.IntRange(0, 2).Draw(t, "services") { // each may call what was there before it
		name := fmt.Sprintf("s%d", i)
		capacity[name] = rapid.Bool().Draw(t, "capacity")
		s.Services.Set(name, study.Service{Behaviour: randomCapacity(t, capacity[name], true), Stack: onGrid(randomStack(t, called, 1))})
		called = append(called, name)
	}
	for i := range phases {
		p := study.Phase{Name: fmt.Sprintf("phase-%d", i), For: lengths[i]}
		for _, name := range called {
			if rapid.Bool().Draw(t, "changes") {
				b := randomCapacity(t, capacity[name], false)
				if i == phases-1 {
					b.Paused = nil // the last phase lasts until all is done, and nothing would be
				}
				p.Dependencies.Set(name, b)
			}
		}
		s.Phases = append(s.Phases, p)
	}
	s.Compositions.Set("stack", onGrid(randomStack(t, called, 1)))
	return s
}

// randomCapacity draws a behaviour, or what a phase changes of one.
func randomCapacity(t *rapid.T, workers, whole bool) (b dependency.Behaviour) {
	maybe := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
	if whole {
		times := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration { return grid(t, "time", 0, 12) }), 1, 4).Draw(t, "latency")
		b.Latency = dependency.Every(&dependency.Latency{Empirical: &dependency.Empirical{Times: times}})
		b.CancelCleanup = new(grid(t, "cleanup", 0, 4))
		b.OnCancel = new(rapid.SampledFrom([]dependency.OnCancel{dependency.Stops, dependency.Burns}).Draw(t, "on_cancel"))
		b.Replicas = new(rapid.IntRange(1, 3).Draw(t, "replicas"))
		b.Balancer = &dependency.Balancer{Kind: rapid.SampledFrom([]dependency.Balancing{dependency.RoundRobin, dependency.Random, dependency.LeastLoaded, dependency.TwoChoices}).Draw(t, "balancer")}
		if maybe("notice") {
			b.Balancer.Notice = new(grid(t, "notice", 0, 10))
		}
	} else if maybe("fault") {
		b = randomFault(t)
	}
	if maybe("slowdown") {
		b.Slowdown = new(float64(rapid.IntRange(0, 3).Draw(t, "factor")))
	}
	if maybe("deadline") {
		b.Deadline = new(rapid.SampledFrom([]dependency.Deadline{dependency.Heeded, dependency.Ignored}).Draw(t, "deadline"))
	}
	if !whole && maybe("replicas change") {
		b.Replicas = new(rapid.IntRange(1, 3).Draw(t, "replicas"))
	}
	if maybe("replica") {
		b.Replica = []dependency.Replica{{Number: 1, Behaviour: dependency.Behaviour{Slowdown: new(4.0)}}}
	}
	if !workers {
		return b
	}
	if whole || maybe("workers change") {
		b.Workers = new(rapid.IntRange(1, 3).Draw(t, "workers"))
	}
	if maybe("queue") {
		b.Queue = new(dependency.Room(rapid.IntRange(0, 6).Draw(t, "room")))
	}
	if maybe("order") {
		b.Discipline = new(rapid.SampledFrom([]dependency.Discipline{dependency.FIFO, dependency.LIFO, dependency.CoDel}).Draw(t, "discipline"))
		b.Codel = &dependency.Codel{Target: tick, Interval: grid(t, "interval", 1, 10)}
	}
	if !whole && maybe("pause") {
		b.Paused = new(true)
	}
	return b
}

// onGrid takes the jitter, the only time that is on no tick, out of a stack.
func onGrid(stack study.Stack) study.Stack {
	for _, stage := range stack {
		if stage.Retry != nil {
			stage.Retry.Backoff.Jitter.Kind = policy.NoJitter
			stage.Retry.Backoff.Factor = 2
		}
		if stage.Fallback != nil {
			for _, branch := range stage.Fallback.To {
				onGrid(branch)
			}
		}
	}
	return stack
}

// longOnly leaves a test out of short runs: it computes a lot on one goroutine,
// so the race detector, which makes it ten times as slow, has nothing to find.
func longOnly(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short: it computes for long on one goroutine; go test ./... runs it")
	}
}
