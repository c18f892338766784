package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"brunt/dependency"
	"brunt/policy"
	"brunt/record"
	"brunt/study"
	"brunt/target"
	"brunt/upstream"
)

// externalStage is the innermost stage of a composition that ends in a service
// of the user's own: each call of it is one request to that service. What the
// service calls comes in by another way: see [counter].
type externalStage struct{ runner *runner }

// Start implements [policy.Stage].
func (x externalStage) Start(call policy.Call, to policy.Receiver) (policy.Running, policy.Outcome) {
	r := x.runner
	q, _ := owners(call.Request)
	if r.loop.Now() > q.row.Intended+r.horizon { // as for any real target
		r.undispatched++
		return unsentCall{}, policy.Outcome{}
	}
	v := &visitOut{call: r.host.newCall(call, to), first: record.Never}
	v.at0 = q.visits == 0 && r.loop.Now() == q.row.Submitted
	id := target.ID{Request: r.firstID + q.Index, Attempt: q.visits}
	q.visits++
	v.call.leave = func() { v.sent.Cancel() }
	v.sent = r.host.service.Start(id, record.Never, v.see)
	return v.call, policy.Outcome{}
}

// visitOut is one request to the service, until its connection is free again or
// torn down.
type visitOut struct {
	call  *guestCall
	sent  *target.Call
	at0   bool // started at the moment at which its request was submitted
	first time.Duration
}

// see takes the events of the request, one at a time, on any goroutine.
func (v *visitOut) see(e target.Event) {
	switch e.What {
	case target.FirstContent:
		v.first = e.At
	case target.Ended, target.Gone:
		v.call.host.runner.inbox.put(v, e)
	}
}

// happened implements [heard].
func (v *visitOut) happened(e target.Event) {
	c, a := v.call, e.Answer
	r := c.host.runner
	if v.at0 && a.Began != record.Never {
		c.request.row.Submitted = max(a.Began, c.request.row.Intended)
	}
	if a.Began == record.Never && (v.at0 || e.What != target.Gone) {
		r.undispatched++
	}
	o := policy.Completed(max(c.served, 0), v.first)
	if a.Cause != record.None {
		o = policy.Ended(a.Cause)
		o.RetryAfter = a.RetryAfter
	}
	c.returned(o, max(a.End, c.request.row.Submitted))
}

// counter is where the dependencies of a composition are served: it stays for a
// warm-up and the run behind it, while the runs come and go.
type counter struct {
	server *upstream.Server
	prefix string // of the ids of requests
	run    atomic.Pointer[counterRun]
}

// counterRun is the run that is on.
type counterRun struct {
	door    *Door
	firstID int64  // what request 0 is called
	began   func() // told of each attempt; nil for nobody
}

// openCounter serves the dependencies of a study.
func openCounter(s *study.Study, prefix string) (*counter, error) {
	c := &counter{prefix: prefix}
	var addresses []upstream.Address
	for name, at := range s.Serve.All() {
		for i, callee := range s.Callees() {
			if callee == name {
				addresses = append(addresses, upstream.Address{Name: name, Dependency: i, Listen: string(at)})
			}
		}
	}
	var err error
	if c.server, err = upstream.Listen(addresses, c); err != nil {
		return nil, err
	}
	return c, nil
}

// Attempt implements [upstream.Backend]. While no run is on, every attempt is
// answered at once and counted nowhere: a service may look whether its
// dependencies are there before it says that it is.
func (c *counter) Attempt(ctx context.Context, a upstream.Arrival, begin func(upstream.Plan)) upstream.Reply {
	run := c.run.Load()
	if run == nil {
		return upstream.Reply{}
	}
	if run.began != nil {
		run.began()
	}
	e := &errand{index: c.index(run, a), target: int32(a.Dependency), deadline: record.Never}
	e.begin = func(answer *dependency.Answer, after time.Duration) { begin(wirePlan(answer, after)) }
	r := run.door.run(ctx, e)
	return upstream.Reply{
		Err: r.Err, Cause: r.Cause, RetryAfter: r.RetryAfter, Status: int(r.Status), Tokens: r.Tokens, Wire: r.Wire,
	}
}

// index is the request that an attempt says it belongs to; -1 when it says none
// of this run.
func (c *counter) index(run *counterRun, a upstream.Arrival) int64 {
	n := int64(-1)
	if id, ok := target.ParseID(a.Request, c.prefix); ok {
		n = id.Request
	} else if request, ok := target.ParseTrace(a.Trace, c.prefix); ok {
		n = request
	}
	return max(n-run.firstID, -1)
}

func wirePlan(a *dependency.Answer, after time.Duration) upstream.Plan {
	if a.Hangs {
		after = record.Never
	}
	return upstream.Plan{After: after, FirstToken: a.FirstToken, Tokens: a.Tokens, Fails: a.Fails, Status: int(a.Status), Wire: a.Wire}
}

// close ends every connection.
func (c *counter) close() error {
	if c == nil {
		return nil
	}
	return c.server.Close()
}

// receive prepares a run on the real clock for a client that is not brunt's, if
// the composition has one. leave is to be called once the run has drained.
func receive(r *runner, j *job, stand *stand) (leave func() error, err error) {
	if !j.study.HasGuest(j.name) {
		return func() error { return nil }, nil
	}
	h := newHost(r, j.guest, wallClock(), false)
	if external := j.study.External(j.name); external != nil {
		h.service = stand.service
		stand.counter.run.Store(&counterRun{door: h.door, firstID: r.firstID})
		h.begin()
		ended := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { // without its service a run has nothing to tell
			select {
			case <-stand.started.Done():
				r.loop.Post(r.abort)
			case <-ended:
			}
		})
		return func() error {
			close(ended)
			watch.Wait()
			stand.counter.run.Store(nil)
			h.end()
			if err := stand.started.Err(); err != nil {
				return fmt.Errorf("composition %s: %w", j.key, err)
			}
			return nil
		}, nil
	}
	if j.guest == nil {
		return nil, fmt.Errorf("composition %s is built with a Go library that this program does not carry", j.name)
	}
	if err := h.admit(j.study.Callers); err != nil {
		return nil, &GuestError{j.key, err}
	}
	h.begin()
	return func() error {
		h.end()
		err := h.failure()
		if j.guest.Leave != nil {
			err = errors.Join(err, j.guest.Leave())
		}
		if err != nil {
			return &GuestError{j.key, err}
		}
		return nil
	}, nil
}
