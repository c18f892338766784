package lab

import (
	"strings"
	"time"

	"brunt/fault"
	"brunt/record"
	"brunt/study"
)

// Progress says how far a run is. On the virtual clock it comes now and then,
// and says no more than how far the schedule is. On the real clock it comes a few
// times a second from the start of each composition to its end.
type Progress struct {
	Composition string
	Position    int // of the composition, from 0
	Of          int
	Warmup      bool
	At, Length  time.Duration // of the composition's schedule; At goes on beyond it while requests drain
	Standing
}

// Standing is how a composition stands: counts are those so far.
type Standing struct {
	Rate     float64 // arrivals a second, over the last second
	Arrived  int64
	Drains   bool  // no more requests will arrive
	Aborted  bool  // nor did all that should have
	InFlight int64 // requests
	Active   int64 // attempts, clean-up included

	Completed, Errored, Censored int64
	Shed                         int64 // by brunt itself, not among the errored
	Attempts                     int64

	PeakInFlight, PeakActive int64

	Phase  string
	Next   string        // what changes next, as in "phase outage"; "" for nothing
	NextIn time.Duration // how long until then
}

// beatEvery is how often a run on the real clock tells how it stands: often
// enough to look alive, and for rows to be on the disk within a second.
const beatEvery = 200 * time.Millisecond

// beats ticks for as long as a run on the real clock goes on. The ticks only ask
// the loop to tell; no instant of a run depends on them.
func beats() *time.Ticker { return time.NewTicker(beatEvery) }

// tally counts what a standing tells of.
type tally struct {
	outcomes [record.Censored + 1]int64
	shed     int64
	attempts int64

	arrived [time.Second / beatEvery]int64 // at the last beats, as a ring
	at      [time.Second / beatEvery]time.Duration
	beat    int
}

// count counts a request that has ended.
func (t *tally) count(q *record.Request) {
	if q.Cause == record.Harness {
		t.shed++
		return
	}
	t.outcomes[q.Outcome]++
}

// rate is the rate of arrivals since the oldest beat that is remembered.
func (t *tally) rate(arrived int64, now time.Duration) float64 {
	i := t.beat % len(t.at)
	since, before := t.at[i], t.arrived[i] // both 0 until there have been enough beats
	t.at[i], t.arrived[i] = now, arrived
	t.beat++
	if now <= since {
		return 0
	}
	return float64(arrived-before) / (now - since).Seconds()
}

// watched reports whether somebody wants to know how a run on the real clock
// stands.
func (r *runner) watched() bool { return r.told != nil && !r.loop.Virtual() }

// beat tells how the run stands.
func (r *runner) beat() {
	now := r.loop.Now()
	arrived := r.arrival.index
	s := Standing{
		Rate: r.tally.rate(arrived, now), Arrived: arrived, Drains: !r.arrival.more, Aborted: r.aborted, InFlight: r.inFlight, Active: r.active,
		Completed: r.tally.outcomes[record.Completed], Errored: r.tally.outcomes[record.Errored], Censored: r.tally.outcomes[record.Censored],
		Shed: r.tally.shed, Attempts: r.tally.attempts, PeakInFlight: r.peakRequests, PeakActive: r.peakAttempts,
	}
	s.Phase, s.Next, s.NextIn = changes(r.study, now)
	if r.aborted { // the timeline was taken back
		s.Next, s.NextIn = "", 0
	}
	r.told(now, s)
}

// change is an instant at which a study changes something.
type change struct {
	what string
	at   time.Duration
}

// timeline lists what a study changes during a run, in order.
func timeline(s *study.Study) []change {
	var list []change
	layout, faulty := s.Layout()
	for i, p := range s.Phases {
		from, _ := s.Span(i)
		list = append(list, change{"phase " + p.Name, from})
		if !faulty || layout.Anchor != from {
			continue
		}
		what := "the fault"
		f := s.Fault.Injected()
		if f == nil {
			list = append(list, change{what, from})
			continue
		}
		what = strings.ReplaceAll(string(f.Kind), "_", " ") + " of " + s.VictimName()
		list = append(list, change{what, from})
		switch {
		case f.For > 0 && f.Kind == fault.Kill:
			list = append(list, change{"restart of " + s.VictimName(), from + f.For})
		case f.For > 0:
			list = append(list, change{"end of the " + what, from + f.For})
		}
	}
	return list
}

// changes returns the phase that an instant lies in, and what comes next.
func changes(s *study.Study, now time.Duration) (phase, next string, in time.Duration) {
	for i, p := range s.Phases {
		if from, _ := s.Span(i); from <= now {
			phase = p.Name
		}
	}
	for _, c := range timeline(s) {
		if c.at > now && (next == "" || c.at-now < in) {
			next, in = c.what, c.at-now
		} else if next != "" && c.at-now == in {
			next += " and " + c.what
		}
	}
	if end := s.Length(); next == "" && now < end {
		next, in = "end of the schedule", end-now
	}
	return phase, next, in
}

// watch asks the loop for beats until done, and for its end once stop is
// closed. It belongs to a goroutine of its own.
func (r *runner) watch(stop, done <-chan struct{}) {
	var beat <-chan time.Time
	if r.watched() {
		ticker := beats()
		defer ticker.Stop()
		beat = ticker.C
	}
	for {
		select {
		case <-stop:
			r.loop.Post(r.abort)
			stop = nil
		case <-beat:
			r.loop.Post(r.beat)
		case <-done:
			return
		}
	}
}
