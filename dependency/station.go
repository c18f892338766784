package dependency

import (
	"math"
	"time"

	"brunt/clock"
)

// Worker is told what becomes of a job.
type Worker interface {
	// Began tells that a worker has taken the job up after a wait.
	Began()
	// Worked tells that the work is done. The worker is busy with the job until
	// [Job.Free].
	Worked()
	// Dropped tells that the job was thrown out of the queue.
	Dropped()
}

// Job is one attempt at a replica with workers. Its zero value is new.
type Job struct {
	Owner  Worker
	Work   time.Duration // how long a worker needs
	Hangs  bool          // the work never ends
	Scales bool          // the work grows with the slowdown in force when a worker takes it up
	Slow   float64       // that slowdown, once one has; 1 for a job that does not scale

	station        *Station
	state          jobState
	entered        time.Duration
	left           time.Duration // work that is left, while paused
	due            time.Duration // when the work ends, while it goes on
	timer          clock.Timer
	previous, next *Job
}

type jobState uint8

const (
	outside jobState = iota
	queued
	atWork  // a worker is at it
	held    // its work has ended or was stopped, and its worker is not free yet
	dropped // its owner is about to hear of it
)

// Station is one replica: workers and a queue. It lives on one [clock.Loop].
//
// A job that finds a worker free is taken up at once, else it waits if there
// is room. When a worker comes free it takes up the next job of the queue in
// the same instant. While the station is paused nothing is taken up, and what
// is being worked on stands still.
type Station struct {
	loop       *clock.Loop
	workers    int
	room       Room
	discipline Discipline
	codel      codel
	paused     bool
	slowdown   float64

	busy    int
	waiting jobs
	working jobs // those at work, in the order in which they were taken up
}

// NewStation returns a station that behaves as b says; b has workers.
func NewStation(loop *clock.Loop, b *Behaviour) *Station {
	s := &Station{loop: loop}
	s.Become(b)
	return s
}

// Become changes the station. Jobs that wait go on waiting, also when the
// queue has become shorter; jobs at work are worked on to their end, also when
// there are fewer workers.
func (s *Station) Become(b *Behaviour) {
	s.workers, s.discipline, s.room = *b.Workers, b.discipline(), Unbounded
	if b.Queue != nil {
		s.room = *b.Queue
	}
	s.slowdown = 1
	if b.Slowdown != nil {
		s.slowdown = *b.Slowdown
	}
	s.codel.Codel.SetDefaults()
	if b.Codel != nil {
		s.codel.Codel = *b.Codel
	}
	if paused := is(b.Paused); paused != s.paused {
		s.paused = paused
		for j := s.working.first; j != nil; j = j.next {
			if paused {
				s.halt(j)
			} else {
				s.goOn(j)
			}
		}
	}
	s.takeUp()
}

// Enter lets a job in. It reports whether a worker has taken it up, else
// whether it waits; when neither, there was no room. A job whose work takes no
// time ([Job.Done]) has no timer: its owner hears nothing, and acts at once.
func (s *Station) Enter(j *Job) (taken, waits bool) {
	j.station, j.entered = s, s.loop.Now()
	if s.busy < s.workers && !s.paused { // so nothing waits
		s.begin(j)
		if j.left > 0 || j.Hangs {
			s.goOn(j)
		} else {
			s.hold(j)
		}
		return true, false
	}
	if s.room >= 0 && s.waiting.n >= int(s.room) {
		return false, false
	}
	j.state = queued
	s.waiting.push(j)
	return false, true
}

func (s *Station) begin(j *Job) {
	s.busy++
	j.state, j.left, j.Slow = atWork, j.Work, 1
	if j.Scales && s.slowdown != 1 {
		j.Slow, j.left = s.slowdown, nanoseconds(float64(j.Work)*s.slowdown)
	}
	s.working.push(j)
}

// hold ends the work on a job, and leaves its worker with it.
func (s *Station) hold(j *Job) {
	s.working.remove(j)
	j.state = held
}

// goOn sets the timer for the rest of the work.
func (s *Station) goOn(j *Job) {
	if !j.Hangs {
		j.due = s.loop.Now() + j.left
		j.timer = s.loop.After(j.left, j)
	}
}

// halt stops the timer and notes what is left.
func (s *Station) halt(j *Job) {
	if s.loop.Cancel(j.timer) {
		j.left = j.due - s.loop.Now()
	}
	j.timer = clock.Timer{}
}

// Happen implements [clock.Event].
func (j *Job) Happen() {
	j.timer = clock.Timer{}
	if j.state == dropped {
		j.state = outside
		j.Owner.Dropped()
		return
	}
	j.station.hold(j)
	j.Owner.Worked()
}

// Stop ends the work on a job early, or takes it out of the queue. A worker
// that was at it stays with it until [Job.Free]. A job that is in no queue and
// at no worker is left alone.
func (j *Job) Stop() {
	s := j.station
	switch j.state {
	case queued:
		s.waiting.remove(j)
		j.state = outside
	case dropped:
		s.loop.Cancel(j.timer)
		j.timer, j.state = clock.Timer{}, outside
	case atWork:
		s.halt(j)
		s.hold(j)
	}
}

// Free lets the worker of a job go, if it has one whose work has ended, and
// the next job in.
func (j *Job) Free() {
	if j.state != held {
		return
	}
	j.state = outside
	j.station.busy--
	j.station.takeUp()
}

// Done reports whether the work is done, and the worker not free yet.
func (j *Job) Done() bool { return j.state == held }

// Waits reports whether a job is in the queue, or about to be dropped from it.
func (j *Job) Waits() bool { return j.state == queued || j.state == dropped }

// takeUp gives free workers the jobs that wait.
func (s *Station) takeUp() {
	for !s.paused && s.busy < s.workers {
		j := s.pull()
		if j == nil {
			return
		}
		s.begin(j)
		j.Owner.Began()
		s.goOn(j)
	}
}

// GoOn ends a pause for good: what waits for the end of a run must come to it.
func (s *Station) GoOn() {
	if s.paused {
		s.paused = false
		for j := s.working.first; j != nil; j = j.next {
			s.goOn(j)
		}
		s.takeUp()
	}
}

// pull takes the job whose turn it is out of the queue.
func (s *Station) pull() *Job {
	switch s.discipline {
	case LIFO:
		return s.pop(s.waiting.last)
	case CoDel:
		return s.pullCodel()
	}
	return s.pop(s.waiting.first)
}

func (s *Station) pop(j *Job) *Job {
	if j != nil {
		s.waiting.remove(j)
		j.state = outside
	}
	return j
}

// codel is the state of RFC 8289, section 5, under its names.
type codel struct {
	Codel
	firstAbove      time.Duration // when the wait will have been above the target for an interval; 0 while it is not
	dropNext        time.Duration
	count, previous int
	dropping        bool
}

// pullCodel is the dequeue of RFC 8289, section 5.5. A packet there is a job
// here, and the largest packet one job.
func (s *Station) pullCodel() *Job {
	c, now := &s.codel, s.loop.Now()
	j, mayDrop := s.inspect(now)
	switch {
	case c.dropping && !mayDrop:
		c.dropping = false
	case c.dropping:
		for c.dropping && now >= c.dropNext {
			s.drop(j)
			c.count++
			if j, mayDrop = s.inspect(now); mayDrop {
				c.dropNext = c.law(c.dropNext)
			} else {
				c.dropping = false
			}
		}
	case mayDrop:
		s.drop(j)
		j, _ = s.inspect(now)
		c.dropping = true
		// a queue that stands again soon after is dropped from at about the rate that cured it
		delta := c.count - c.previous
		if c.count = 1; delta > 1 && now-c.dropNext < 16*c.Interval {
			c.count = delta
		}
		c.dropNext = c.law(now)
		c.previous = c.count
	}
	return j
}

// law is the control law: the drops come closer with the square root of their
// number.
func (c *codel) law(t time.Duration) time.Duration {
	return t + time.Duration(float64(c.Interval)/math.Sqrt(float64(c.count)))
}

// inspect takes the oldest job out and says whether CoDel may drop it.
func (s *Station) inspect(now time.Duration) (j *Job, mayDrop bool) {
	c := &s.codel
	j = s.pop(s.waiting.first)
	switch {
	case j == nil, now-j.entered < c.Target, s.waiting.n <= 1:
		c.firstAbove = 0
	case c.firstAbove == 0:
		c.firstAbove = now + c.Interval
	default:
		mayDrop = now >= c.firstAbove
	}
	return j, mayDrop
}

// drop throws a job out. Its owner hears of it in the same instant, after what
// is under way.
func (s *Station) drop(j *Job) {
	j.state = dropped
	j.timer = s.loop.After(0, j)
}

// jobs is a doubly linked list.
type jobs struct {
	first, last *Job
	n           int
}

func (l *jobs) push(j *Job) {
	j.previous, j.next = l.last, nil
	if l.last == nil {
		l.first = j
	} else {
		l.last.next = j
	}
	l.last = j
	l.n++
}

func (l *jobs) remove(j *Job) {
	if j.previous == nil {
		l.first = j.next
	} else {
		j.previous.next = j.next
	}
	if j.next == nil {
		l.last = j.previous
	} else {
		j.next.previous = j.previous
	}
	j.previous, j.next = nil, nil
	l.n--
}
