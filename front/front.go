// Package front is a balancing HTTP/1.1 front for measurements: each request
// goes to one upstream, once, and a log tells which, also when no answer ever
// comes back.
//
// What it does not do is the point of it. It never sends a request a second
// time, puts no cap on connections, buffers no stream, and passes a broken
// answer on as a broken one. By default it has no timeouts of its own: how long
// a silent upstream is waited for is up to the caller.
//
// Every answer names its replica in the header X-Brunt-Replica ("none" when no
// upstream was chosen), and an answer that the front made itself says why in
// X-Brunt-Error. The request id (X-Request-Id, made up if missing) keys the log;
// see [Entry] and [ReadLog].
//
// Instants in the log are those of the [Clock] that the front is given. The
// network's own deadlines are kept by the operating system's clock.
//
//	f, err := front.New(front.Config{Upstreams: upstreams}, clock, log)
//	err = f.Serve(ctx, listener, control) // until ctx is done and all is drained
//
// A Front may be used from any goroutine; Serve waits for all that it started.
package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the time that a front goes by.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

// ErrCut says that the time for draining was over before all answers were.
var ErrCut = errors.New("answers were cut off")

// headerWithin bounds how long a caller may take to send a header, so that
// silent connections do not pile up for ever. It is long, since load generators
// open connections ahead of time.
const headerWithin = 5 * time.Minute

// Front spreads requests over upstreams. Make one with New.
type Front struct {
	config    Config
	clock     Clock
	log       *Log
	balancer  *balancer
	upstreams []*upstream
	proxy     *httputil.ReverseProxy
	prefix    string // of the request ids that it makes up
	requests  atomic.Int64
	draining  atomic.Bool
	cut       atomic.Bool // the time for draining is over
}

// upstream is one replica as the front knows it.
type upstream struct {
	Upstream
	pool *pool

	// The rest is guarded by the balancer's mutex.
	health
	since    time.Time // when it came up or went down
	reason   string    // why
	inFlight int
	routed   int64
}

// New returns a front. The log may be nil.
func New(c Config, clock Clock, entries *Log) (*Front, error) {
	if err := c.faults(); err != nil {
		return nil, err
	}
	if entries == nil {
		entries = NewLog(io.Discard)
	}
	f := &Front{config: c, clock: clock, log: entries, prefix: fmt.Sprintf("front-%x-", clock.Now().UnixNano())}
	dial := dialer(c.ConnectTimeout)
	for _, u := range c.Upstreams {
		one := &upstream{Upstream: u, health: health{rise: c.Health.Rise, fall: c.Health.Fall, passive: c.Passive}}
		one.pool = newPool(u.address(), dial, c.AnswerTimeout, clock.Now)
		if c.Health.Path == "" {
			one.known, one.up, one.since, one.reason = true, true, clock.Now(), "not checked"
		}
		f.upstreams = append(f.upstreams, one)
	}
	f.balancer = newBalancer(c.Balancer, c.Seed, f.upstreams)
	f.proxy = &httputil.ReverseProxy{
		Rewrite:        rewrite,
		Transport:      http.RoundTripper(roundTripper{}),
		FlushInterval:  -1,
		BufferPool:     &buffers{},
		ModifyResponse: f.answered,
		ErrorHandler:   f.failed,
		ErrorLog:       log.New(io.Discard, "", 0), // the access log has it
	}
	return f, nil
}

// Serve answers requests on one listener and questions about the front's state
// on the other, until ctx is done. Then it takes no more requests and lets
// those in flight end, for up to Config.Drain; what is left is cut off, and the
// error is ErrCut. Both listeners are closed when it returns. Serve may be
// called once.
func (f *Front) Serve(ctx context.Context, listen, control net.Listener) error {
	// Requests outlive ctx: they are cut off when the time for draining is over.
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	var conns sync.WaitGroup
	requests, questions := f.server(base, f, &conns), f.server(base, f.control(), &conns)

	f.log.add(Entry{What: Start, At: f.clock.Now()})
	var work sync.WaitGroup
	work.Go(func() { f.log.keepFlushed(base, f.clock) })
	f.checkHealth(base, &work)

	ended := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { ended <- requests.Serve(listen) })
	serving.Go(func() { ended <- questions.Serve(control) })
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
		err = fmt.Errorf("accepting connections: %w", err)
	}

	f.draining.Store(true)
	if drain := f.drain(base, requests, cut); err == nil {
		err = drain
	}
	cut()
	_ = questions.Close() // its answers are over in no time
	serving.Wait()
	conns.Wait()
	work.Wait()
	for _, u := range f.upstreams {
		u.pool.close()
	}
	f.log.add(Entry{What: Stop, At: f.clock.Now()})
	return errors.Join(err, f.log.flush())
}

// server makes a server whose connections are counted, so that their goroutines
// can be waited for.
func (f *Front) server(base context.Context, h http.Handler, conns *sync.WaitGroup) *http.Server {
	return &http.Server{
		Handler:                      h,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerWithin,
		ErrorLog:                     log.New(io.Discard, "", 0),
		BaseContext:                  func(net.Listener) context.Context { return base },
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew: // in Serve's goroutine, so before it returns
				conns.Add(1)
			case http.StateClosed, http.StateHijacked:
				conns.Done()
			}
		},
	}
}

// drain lets the requests in flight end while there is time.
func (f *Front) drain(base context.Context, requests *http.Server, cut func()) error {
	ctx, stop := context.WithCancel(base)
	var timer sync.WaitGroup
	timer.Go(func() {
		select {
		case <-f.clock.After(f.config.Drain):
			stop()
		case <-ctx.Done():
		}
	})
	err := requests.Shutdown(ctx)
	stop()
	timer.Wait()
	if err == nil {
		return nil
	}
	f.cut.Store(true)
	left := f.balancer.inFlight()
	cut()
	_ = requests.Close()
	return fmt.Errorf("draining for %v: %d: %w", f.config.Drain, left, ErrCut)
}
