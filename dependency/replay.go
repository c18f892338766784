package dependency

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"brunt/chance"
	"brunt/check"
	"brunt/record"
)

// Replay has a recording stand in for the dependency: each attempt is one whole
// recorded attempt, with its time to the first token and to the end, its
// outcome, tokens and cost, drawn from all of them alike. Draws know nothing of
// one another: what the target did in a row (a bad minute, a slow connection),
// or for the second attempt of a request, is lost. A study writes a plain
// folder, or a mapping.
type Replay struct {
	// The folder of a run that kept its rows, or a recording as a run has it beside its study, recordings/NAME.
	Folder string `yaml:"folder"`
	// Whose attempts they are: a target, dependency or service of that run. Left out, the one with the name of this dependency, or the only one that was called.
	From string `yaml:"from"`
	// Only attempts that began in this phase of that run.
	Phase string `yaml:"phase"`
	// Only attempts of this composition of that run.
	Composition string `yaml:"composition"`

	// Recording is what the folder holds; the study reader fills it in.
	Recording *Recording `yaml:"-"`
}

// UnmarshalText reads a plain folder.
func (r *Replay) UnmarshalText(b []byte) error {
	*r = Replay{Folder: string(b)}
	return nil
}

// Check reports what is wrong with the settings.
func (r *Replay) Check(p check.Problems) {
	if strings.TrimSpace(r.Folder) == "" {
		p.Add("folder", nil, "missing: expected the folder of a run, or a recording")
	}
}

// Recording is what a target did in a run: its attempts, and where they are
// from. It does not change once made, and may be used from any goroutine.
type Recording struct {
	Origin   Origin
	attempts []Recorded // by time; of equal times those that ended come first
	upTo     []int64    // how many attempts stand up to and with each
	ended    int        // up to here there is one that ended: the rest was cut off after all that ended
}

// Origin says where a recording is from, and what of it was taken.
type Origin struct {
	SHA256       string // of the file of attempts
	Study        string
	Started      string // RFC 3339; "" when the run does not say
	Invalid      bool   // the run says that its own instrument failed
	Target       string
	Simulated    bool   // the target was a model, not a real thing
	Phase        string // "" for all of them
	Composition  string // "" for all of them
	Phases       int    // how many phases the attempts are from
	Compositions int    // how many compositions they are from
	Calls        int64  // attempts in all
	Completed    int64  // of these
	Cut          int64  // of these: given up by their caller before they ended
	LeftOut      int64  // of these: failures of the instrument, which tell nothing of the target
	Cost         float64
}

// Recorded is one attempt of a recording, or several that do not differ.
type Recorded struct {
	Times      int64         // how many there are
	After      time.Duration // from the start to the end
	FirstToken time.Duration // from the start; [record.Never] but for streams that completed
	Cut        bool          // its caller gave it up after that time: it would have taken longer
	Cause      record.Cause  // why it did not complete
	Status     int32         // of the answer; 0 when there was none
	Tokens     int64         // of the answer; -1 when they are not known
	Cost       float64
}

// compare orders attempts by time, those that ended before those cut off then;
// the rest only makes the order a whole one.
func (r Recorded) compare(o Recorded) int {
	cut := func(r Recorded) int {
		if r.Cut {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(r.After, o.After), cmp.Compare(cut(r), cut(o)), cmp.Compare(r.FirstToken, o.FirstToken),
		cmp.Compare(r.Cause, o.Cause), cmp.Compare(r.Status, o.Status), cmp.Compare(r.Tokens, o.Tokens), cmp.Compare(r.Cost, o.Cost))
}

// NewRecording makes a recording of attempts in any order, each with its Times.
func NewRecording(from Origin, attempts []Recorded) *Recording {
	attempts = slices.Clone(attempts)
	slices.SortFunc(attempts, Recorded.compare)
	r := &Recording{Origin: from}
	total := int64(0)
	for _, a := range attempts {
		total += a.Times
		if n := len(r.attempts); n > 0 && r.attempts[n-1].compare(a) == 0 {
			r.attempts[n-1].Times += a.Times
			r.upTo[n-1] = total
			continue
		}
		r.attempts, r.upTo = append(r.attempts, a), append(r.upTo, total)
		if !a.Cut {
			r.ended = len(r.attempts)
		}
	}
	return r
}

// Attempts returns what is drawn from, by time. The slice must not be changed.
func (r *Recording) Attempts() []Recorded { return r.attempts }

// Kept returns how many attempts are drawn from: of a very large recording they
// are a sample.
func (r *Recording) Kept() int64 {
	if len(r.upTo) == 0 {
		return 0
	}
	return r.upTo[len(r.upTo)-1]
}

// Longest returns the longest time that is known of any attempt, and whether
// all that took so long have ended. Otherwise some replayed attempts never end.
func (r *Recording) Longest() (longest time.Duration, ends bool) {
	if n := len(r.attempts); n > 0 {
		return r.attempts[n-1].After, r.ended == n
	}
	return 0, true
}

// CutBefore returns how many attempts were given up while others that took
// longer came to an end: those for which a draw has to guess.
func (r *Recording) CutBefore() (n int64) {
	for _, a := range r.attempts[:r.ended] {
		if a.Cut {
			n += a.Times
		}
	}
	return n
}

// Endless returns the share of replayed attempts that never end.
func (r *Recording) Endless() float64 {
	share := 1.0
	for i, a := range r.attempts {
		if !a.Cut {
			atRisk := r.Kept() - r.upTo[i] + a.Times
			share *= 1 - float64(a.Times)/float64(atRisk)
		}
	}
	return share
}

// succeeds reports whether any attempt completed.
func (r *Recording) succeeds() bool {
	return slices.ContainsFunc(r.attempts, func(a Recorded) bool { return !a.Cut && a.Cause == record.None })
}

// varies reports whether one draw can differ from another.
func (r *Recording) varies() bool { return len(r.attempts) > 1 }

// draw returns one attempt, each as likely as the others. One that its caller
// gave up took longer than is known, so its place is taken by one of those that
// took longer, in the same way. That makes the draws follow the product-limit
// estimate, which is right when giving up had nothing to do with how long the
// answer would have taken (B. Efron, The two sample problem with censored data,
// 1967, "redistribute to the right"; E. Kaplan and P. Meier, 1958). When nothing
// that took longer has ended, the attempt is one that never ends.
func (r *Recording) draw(d chance.Draw) (a *Recorded, ends bool) {
	from, total := int64(0), r.Kept()
	for {
		at := from + d.Below(total-from)
		i := sort.Search(len(r.upTo), func(i int) bool { return r.upTo[i] > at })
		if a = &r.attempts[i]; !a.Cut {
			return a, true
		}
		if i >= r.ended {
			return a, false
		}
		from, d = r.upTo[i], d.Next()
	}
}

// replay makes an answer of a recorded attempt.
func (m *Model) replay(a *Answer, draw chance.Draw) {
	was, ends := m.recording.draw(draw)
	if !m.costs {
		a.Cost = was.Cost
	}
	if !ends {
		if a.Hangs = !a.Fails; a.Fails { // there is no answer whose time it could fail at: it fails when its caller gave up
			a.After = was.After
		}
		return
	}
	a.After, a.Status = was.After, was.Status
	if a.Fails { // for a reason of the study's own
		a.Status = 0
		return
	}
	if was.Cause != record.None {
		a.Fails, a.Cause = true, was.Cause
		return
	}
	a.FirstToken, a.Tokens = was.FirstToken, max(was.Tokens, 0)
}

// checkReplay reports what does not go with a recording.
func (b *Behaviour) checkReplay(p check.Problems) {
	switch {
	case b.Replay == nil:
		return
	case b.Replay.Recording == nil:
		p.Add("replay", fmt.Sprintf("%q", b.Replay.Folder), "was not read: a recording stands in for a dependency of a study, and for nothing else")
		return
	}
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"latency", b.Latency != nil}, {"first_token", b.FirstToken != nil}, {"token_gap", b.TokenGap != nil}, {"tokens", b.Tokens != nil},
	} {
		if s.set {
			p.Add(s.name, "given", "stands beside replay: a recording says how long an answer takes; expected one or the other")
		}
	}
	if b.Workers != nil {
		p.Doubt("workers", *b.Workers, "stands beside replay: the time that a recorded attempt waited at the target is in the recording, and counts as work here, so waiting counts twice")
	}
}
