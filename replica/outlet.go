package replica

import (
	"sync"
	"time"
)

// kind says how a request ends.
type kind uint8

const (
	open kind = iota
	completed
	failed
	overloaded // no room in the queue
	loading
	draining
	aborted // its connection was reset
)

// ending is the last word on a request.
type ending struct {
	kind       kind
	retryAfter time.Duration // 0 for nothing
}

// outlet passes what is due from the loop to the goroutine of a connection. It
// holds numbers alone, so a client that reads slowly costs no memory: what has
// come due meanwhile is written at one go.
type outlet struct {
	wake chan struct{} // holds one when there is news

	mu     sync.Mutex
	tokens int    // guarded by mu
	how    ending // guarded by mu
}

func newOutlet() *outlet { return &outlet{wake: make(chan struct{}, 1)} }

// advance tells that so many tokens are due in all.
func (o *outlet) advance(tokens int) {
	o.mu.Lock()
	o.tokens = tokens
	o.mu.Unlock()
	o.poke()
}

// finish tells how the request ends.
func (o *outlet) finish(how ending) {
	o.mu.Lock()
	o.how = how
	o.mu.Unlock()
	o.poke()
}

func (o *outlet) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// read returns how many tokens are due, and the ending if there is one.
func (o *outlet) read() (tokens int, how ending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tokens, o.how
}
