package policy

import (
	"slices"

	"brunt/record"
)

// Opening says what a fallback does with a branch whose breaker would refuse.
type Opening string

// The ways of a fallback.
const (
	InOrder Opening = "in_order"
	Last    Opening = "last"
	Skip    Opening = "skip"
)

// Branch is one branch of a fallback: a stack that ends in a call.
type Branch struct {
	Stage   Stage
	Breaker Stage // the branch's outermost breaker; nil when it has none
}

// NewFallback returns a fallback over branches.
//
// On entry the order of the branches is fixed; a call goes to the next one on
// failure, timeout or refusal, and the last outcome is the outcome. What
// happens to a branch whose outermost breaker would refuse at this instant
// depends on open. in_order: nothing, the breaker refuses when its turn comes.
// last: it is tried after the others and then goes through, its result leaving
// the breaker as it is; and where such a breaker would refuse a call later,
// because it opened between entry and the branch's turn or between two tries
// inside the branch, the call goes through in the same way: the breaker
// reorders and never refuses. skip: the branch is left out, and when all are,
// the call is refused.
func NewFallback(open Opening, branches []Branch) Stage {
	s := &fallback{open: open, branches: branches, breakers: make([]*breaker, len(branches)), passes: make([][2]pass, len(branches))}
	for i, b := range branches {
		if b.Breaker != nil {
			s.breakers[i] = b.Breaker.(*breaker)
		}
		s.passes[i] = [2]pass{{breaker: s.breakers[i]}, {breaker: s.breakers[i], through: true}}
	}
	return s
}

type fallback struct {
	open     Opening
	branches []Branch
	breakers []*breaker // nil for a branch without
	passes   [][2]pass  // to each branch: in its order, and when it was moved last
	runs     pool[fallbackRun]
}

// fallbackRun is one call through a fallback.
type fallbackRun struct {
	stage *fallback
	call  Call
	to    Receiver
	order []int // the branches, fixed on entry
	kept  int   // how many of them were not moved last
	tried int
	inner Running
}

func (s *fallback) wouldRefuse(branch int) bool {
	b := s.breakers[branch]
	return b != nil && !b.admits()
}

func (s *fallback) Start(call Call, to Receiver) (Running, Outcome) {
	r := s.runs.get()
	*r = fallbackRun{stage: s, call: call, to: to, order: r.order[:0]}
	for i := range s.branches {
		if s.open == InOrder || !s.wouldRefuse(i) {
			r.order = append(r.order, i)
		}
	}
	r.kept = len(r.order)
	if s.open == Last {
		for i := range s.branches {
			if !slices.Contains(r.order, i) {
				r.order = append(r.order, i)
			}
		}
	}
	if len(r.order) == 0 {
		s.runs.put(r)
		return nil, refuse(call, record.Circuit)
	}
	if o := r.settle(r.next()); !o.Open() {
		s.runs.put(r)
		return nil, o
	}
	return r, Outcome{}
}

// next starts the next branch.
func (r *fallbackRun) next() (o Outcome) {
	s, branch := r.stage, r.order[r.tried]
	call := r.call
	if r.tried > 0 {
		call = call.again(record.Fallback, r.tried)
	}
	if s.open == Last {
		call.pass = &s.passes[branch][0]
		if r.tried >= r.kept {
			call.pass = &s.passes[branch][1]
		}
	}
	r.tried++
	r.inner, o = s.branches[branch].Stage.Start(call, r)
	return o
}

// settle tries further branches as long as each ends at once without success.
func (r *fallbackRun) settle(o Outcome) Outcome {
	for !o.Open() && !o.Success() && r.tried < len(r.order) {
		o = r.next()
	}
	return o
}

// Ended implements [Receiver] for the branch under way.
func (r *fallbackRun) Ended(o Outcome) {
	if o = r.settle(o); o.Open() {
		return
	}
	to := r.to
	r.stage.runs.put(r)
	to.Ended(o)
}

// Cancel implements [Running].
func (r *fallbackRun) Cancel() {
	r.inner.Cancel()
	r.stage.runs.put(r)
}
