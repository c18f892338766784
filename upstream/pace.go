package upstream

import (
	"net/http"
	"time"

	"brunt/dependency"
	"brunt/record"
)

// gradual is an answer of which pieces come before its end.
type gradual interface {
	// due is when the nth piece comes, from 0, counted from the beginning of the work;
	// record.Never for one that comes with the end.
	due(n int64) time.Duration
	// write writes the nth piece.
	write(n int64) error
	// flush sends what was written.
	flush() error
	// end writes the pieces from the nth on, and what ends the exchange.
	end(n int64, reply *Reply)
}

// paced sends pieces as they come due, until it is halted. What has been sent is
// read once the goroutine has ended.
type paced struct {
	gradual
	start time.Time
	stop  chan struct{} // closed when the end has come
	ended chan struct{} // closed when the goroutine has ended
	n     int64         // pieces written
	err   error         // of writing
}

// begin implements what [Backend.Attempt] calls.
func (x *exchange) begin(plan Plan) {
	start := now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.told {
		return
	}
	x.told = true
	x.begun = x.gradual(&plan)
	if x.begun == nil || x.begun.due(0) == record.Never {
		return
	}
	x.paced = &paced{gradual: x.begun, start: start, stop: make(chan struct{}), ended: make(chan struct{})}
	go x.paced.run()
}

// gradual returns the answer that comes little by little; nil for one that
// comes all at once. Of failures only those do that the client cannot tell before
// their end.
func (x *exchange) gradual(plan *Plan) gradual {
	w := wireOr(plan.Wire)
	how, status := (&Reply{Cause: plan.cause(), Status: plan.Status, Wire: plan.Wire}).ending()
	answers := how == whole || how == breaks
	switch {
	case x.r.Method == http.MethodHead:
	case plan.FirstToken != record.Never:
		return x.newStream(plan)
	case plan.After <= 0: // or never
	case w.Trickle == dependency.TrickleHeaders && (answers || how == refused) && !x.framed:
		return newHead(x, plan.After, how, status, w.Body)
	case w.Trickle == dependency.TrickleBody && answers && hasBody(status) && w.Body > 0:
		return newBody(x, plan.After, how, status, w.Body)
	}
	return nil
}

// cause stands for the failure of a plan, whose cause is not known.
func (p *Plan) cause() record.Cause {
	if p.Fails {
		return record.Failure
	}
	return record.None
}

// run sends pieces. The goroutine belongs to the exchange, which halts it.
func (p *paced) run() {
	defer close(p.ended)
	timer := after(time.Hour)
	defer timer.Stop()
	for {
		due := p.due(p.n)
		if due == record.Never {
			return
		}
		timer.Reset(p.start.Add(due).Sub(now()))
		select {
		case <-p.stop:
			return
		case <-timer.C:
		}
		passed := now().Sub(p.start)
		for ; due != record.Never && due <= passed; due = p.due(p.n) {
			if p.err = p.write(p.n); p.err != nil {
				return
			}
			p.n++
		}
		if p.err = p.flush(); p.err != nil {
			return
		}
	}
}

// halt waits until no more is sent, and returns how many pieces were.
func (p *paced) halt() (int64, error) {
	close(p.stop)
	<-p.ended
	return p.n, p.err
}

// mostPieces is how many pieces an answer that trickles has at most, and least
// how far apart they are.
const (
	mostPieces = 50
	least      = time.Millisecond
)

// parts returns in how many pieces so many bytes come in a time; 1 at least.
func parts(bytes int, d time.Duration) int64 {
	return max(1, min(mostPieces, int64(bytes), int64(d/least)))
}

// share is the nth of so many equal parts of a time. Floating point does not
// overflow.
func share(d time.Duration, n, of int64) time.Duration {
	return time.Duration(float64(d) * (float64(n) / float64(of)))
}
