package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// The headers of an answer.
const (
	RequestID     = "X-Request-Id"    // of the request too
	ReplicaHeader = "X-Brunt-Replica" // the upstream, or None
	ErrorHeader   = "X-Brunt-Error"   // a Cause, when the front made the answer
)

// Cause is why a request did not get the whole answer of its upstream.
type Cause string

// The causes. The first five are found in ErrorHeader, when they came before
// anything of the upstream's answer.
const (
	Connect   Cause = "connect"   // no connection to the upstream (502)
	Reset     Cause = "reset"     // the upstream ended the connection (502, or the answer breaks off)
	Malformed Cause = "malformed" // the upstream's answer is no HTTP (502, or the answer breaks off)
	Timeout   Cause = "timeout"   // connect_timeout or answer_timeout was over, or the system's patience (504)
	NoneUp    Cause = "none-up"   // no upstream was up (503)
	Client    Cause = "client"    // the caller left
	Drained   Cause = "drain"     // the front was told to stop, and the time for draining was over
)

// longestID is the most bytes that a request id may have; in place of a longer
// one the front makes one up.
const longestID = 200

// errLeft stands for the error of a write to the caller.
var errLeft = errors.New("the caller left")

type (
	connKey     struct{}
	exchangeKey struct{}
)

// exchange is one request on its way. It belongs to the goroutine of its
// handler, but for what the mutex guards: the request's body is read elsewhere.
type exchange struct {
	front    *Front
	upstream *upstream
	cause    Cause
	answer   *answer

	mu     sync.Mutex
	broken bool // the caller's body could not be read
}

func exchangeOf(ctx context.Context) *exchange { return ctx.Value(exchangeKey{}).(*exchange) }

// ServeHTTP sends a request to an upstream and its answer back. It is for the
// server that Serve starts.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		w.Header().Set(ReplicaHeader, None)
		http.Error(w, "front: no tunnels", http.StatusNotImplemented)
		return
	}
	n := f.requests.Add(1)
	id := r.Header.Get(RequestID)
	if id == "" || len(id) > longestID {
		id = f.prefix + strconv.FormatInt(n, 10)
	}
	r.Header.Set(RequestID, id)
	a := &answer{ResponseWriter: w}
	u := f.balancer.pick(n)
	begun := f.clock.Now()
	if u == nil {
		refuse(a, id, None, http.StatusServiceUnavailable, NoneUp, "no upstream is up")
		f.log.add(Entry{What: Done, At: begun, Number: n, Request: id, Status: a.status, Bytes: a.bytes, Cause: NoneUp})
		return
	}
	f.log.add(Entry{What: Routed, At: begun, Number: n, Request: id, Replica: u.Name})

	x := &exchange{front: f, upstream: u, answer: a}
	defer func() { // also when the answer is broken off, by a panic
		if a.err != nil && x.cause == "" {
			x.cause = x.because(r.Context(), errLeft)
		}
		at := f.clock.Now()
		down := f.balancer.done(u, x.cause, at)
		f.log.add(Entry{What: Done, At: at, Number: n, Request: id, Replica: u.Name,
			Status: a.status, Bytes: a.bytes, Cause: x.cause, Took: milliseconds(at.Sub(begun))})
		if down {
			f.log.add(Entry{What: Down, At: at, Replica: u.Name, Detail: "requests failed: " + string(x.cause)})
		}
	}()
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	// Another protocol is not switched to, which a server may always choose. The
	// front itself says when a body may come: it does so on reading it.
	r.Header.Del("Upgrade")
	r.Header.Del("Expect")
	if r.ContentLength != 0 {
		r.Body = &inbound{r.Body, x}
	}
	f.proxy.ServeHTTP(a, r)
}

// rewrite directs a request to its upstream, and leaves all else as it came.
func rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host = "http", exchangeOf(p.In.Context()).upstream.pool.address
	p.Out.URL.RawQuery, p.Out.URL.ForceQuery = p.In.URL.RawQuery, p.In.URL.ForceQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
}

// roundTripper sends a request to the upstream that was chosen for it.
type roundTripper struct{}

func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	return exchangeOf(r.Context()).upstream.pool.send(r)
}

// answered marks an answer before it is passed on.
func (f *Front) answered(res *http.Response) error {
	x := exchangeOf(res.Request.Context())
	res.Header.Set(ReplicaHeader, x.upstream.Name)
	res.Header.Set(RequestID, res.Request.Header.Get(RequestID))
	res.Header.Del(ErrorHeader) // it is the front's word, not the upstream's
	res.Body = &outbound{res.Body, x, res.Request.Context()}
	return nil
}

// failed answers when there is no answer of the upstream.
func (f *Front) failed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	x.cause = x.because(r.Context(), err)
	if x.cause == Client || x.cause == Drained {
		panic(http.ErrAbortHandler) // there is nobody to tell
	}
	status := http.StatusBadGateway
	if x.cause == Timeout {
		status = http.StatusGatewayTimeout
	}
	refuse(w, r.Header.Get(RequestID), x.upstream.Name, status, x.cause, err.Error())
}

// refuse writes an answer of the front's own.
func refuse(w http.ResponseWriter, id, replica string, status int, cause Cause, detail string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set(RequestID, id)
	h.Set(ReplicaHeader, replica)
	h.Set(ErrorHeader, string(cause))
	w.WriteHeader(status)
	fmt.Fprintf(w, "front: %s: %s\n", cause, detail)
}

// because finds the cause of an error on the way to or from the upstream.
func (x *exchange) because(ctx context.Context, err error) Cause {
	x.mu.Lock()
	broken := x.broken
	x.mu.Unlock()
	var connect *connectError
	var network net.Error
	var ended *endedError
	switch {
	case x.front.cut.Load():
		return Drained
	case ctx.Err() != nil || broken || err == errLeft:
		return Client
	case errors.As(err, &network) && network.Timeout():
		return Timeout
	case errors.As(err, &connect):
		return Connect
	case errors.As(err, &ended), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	}
	return Malformed
}

// outbound is the body of an upstream's answer. It notes how it ends.
type outbound struct {
	io.ReadCloser
	x   *exchange
	ctx context.Context
}

func (b *outbound) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.x.cause = b.x.because(b.ctx, err)
		if errors.Is(err, syscall.ECONNRESET) {
			// The proxy is about to close the caller's connection, which tells that the
			// answer is not whole. The caller shall see the same kind of end.
			if tcp, ok := b.ctx.Value(connKey{}).(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // it fails only on a connection that is gone
			}
		}
	}
	return n, err
}

// inbound is the body of a caller's request. It notes when the caller breaks it
// off, so that the upstream is not blamed.
type inbound struct {
	io.ReadCloser
	x *exchange
}

func (b *inbound) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, http.ErrBodyReadAfterClose) {
		b.x.mu.Lock()
		b.x.broken = true
		b.x.mu.Unlock()
	}
	return n, err
}

// answer counts what the caller is sent.
type answer struct {
	http.ResponseWriter
	status int   // 0 when none was sent
	bytes  int64 // of the body
	err    error // of the first write that failed
}

// Unwrap lets the proxy flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) WriteHeader(status int) {
	if status >= 200 && a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	if err != nil && a.err == nil {
		a.err = err
	}
	return n, err
}

// buffers lends the proxy what it copies with.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
