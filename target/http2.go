package target

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"

	"brunt/record"
)

// http2 speaks HTTP/2 with the client of net/http, on connections that it
// chooses itself: [http.Transport] would queue requests on a connection whose
// limit of streams it has not been told yet, and make a request again after
// GOAWAY or REFUSED_STREAM (h2_bundle.go, http2shouldRetryRequest, Go 1.26). A
// [http.ClientConn] carries a request once. So that nothing below it can send
// one again either, each request has a body that cannot be rewound.
type http2 struct {
	transport *http.Transport
	dialer    *dialer
	scheme    string

	mu    sync.Mutex
	all   map[*streams]struct{} // guarded by mu
	roomy []*streams            // those that may take a further stream; guarded by mu
}

// streams is one connection.
type streams struct {
	*http.ClientConn
	listed bool // among the roomy ones; guarded by the mu of http2
}

func newHTTP2(d *dialer) *http2 {
	w := &http2{dialer: d, scheme: "http", all: map[*streams]struct{}{}}
	w.transport = &http.Transport{
		Protocols:              new(http.Protocols),
		DisableCompression:     true,
		MaxResponseHeaderBytes: longestHead,
		TLSClientConfig:        d.tls.Clone(),
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return d.dial(ctx) },
	}
	if d.tls == nil {
		w.transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		w.scheme = "https"
		w.transport.Protocols.SetHTTP2(true)
	}
	return w
}

// connect returns a connection with a stream reserved on it.
func (w *http2) connect(c *Call) (n *streams, reused bool, err error) {
	w.mu.Lock()
	for len(w.roomy) > 0 {
		last := len(w.roomy) - 1
		n := w.roomy[last]
		if n.Reserve() == nil {
			w.mu.Unlock()
			return n, true, nil
		}
		w.roomy[last] = nil
		w.roomy = w.roomy[:last]
		n.listed = false
	}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), w.dialer.timeout)
	defer cancel()
	if !c.during(cancel) {
		return nil, false, errStopped
	}
	// The address is looked up already: this one is for show.
	conn, err := w.transport.NewClientConn(ctx, w.scheme, net.JoinHostPort(w.dialer.at.Host, "1"))
	if err != nil {
		return nil, false, connectError{err}
	}
	n = &streams{ClientConn: conn}
	w.mu.Lock()
	w.all[n] = struct{}{}
	w.mu.Unlock()
	if err := n.Reserve(); err != nil {
		w.drop(n)
		return nil, false, connectError{err}
	}
	return n, false, nil
}

// offer lets further calls use a connection. It comes into question once an
// answer has come on it: then its limit of streams is known, as that is the
// first thing a target says (RFC 9113, section 3.4).
func (w *http2) offer(n *streams) {
	if n.Err() != nil {
		w.drop(n)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.all[n]; known && !n.listed {
		n.listed = true
		w.roomy = append(w.roomy, n)
	}
}

func (w *http2) drop(n *streams) {
	w.mu.Lock()
	delete(w.all, n)
	w.mu.Unlock()
	_ = n.Close()
}

func (w *http2) close() {
	w.mu.Lock()
	all := w.all
	w.all, w.roomy = map[*streams]struct{}{}, nil
	w.mu.Unlock()
	for n := range all {
		_ = n.Close()
	}
}

// onceBody is a body that can be read once, and not rewound.
type onceBody struct{ left []byte }

// Read implements [io.Reader].
func (b *onceBody) Read(p []byte) (int, error) {
	if len(b.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// Close implements [io.Closer].
func (b *onceBody) Close() error { return nil }

func (w *http2) start(*Call) bool { return false }

func (w *http2) send(c *Call) (answer, error) {
	n, reused, err := w.connect(c)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if !c.during(cancel) {
		cancel()
		n.Release()
		w.offer(n)
		return answer{}, errStopped
	}
	c.answer.Connected, c.answer.Reused = c.now(), reused
	t := &trace{call: c}
	t.first.Store(int64(record.Never))
	r, err := n.RoundTrip(w.request(t.context(ctx), c))
	if err != nil {
		cancel()
		w.offer(n)
		return answer{}, err
	}
	w.offer(n)
	if r.StatusCode < 100 {
		_ = r.Body.Close()
		cancel()
		return answer{}, broken("answered with status %03d", r.StatusCode)
	}
	at := c.now()
	if first := time.Duration(t.first.Load()); first != record.Never {
		at = first
	}
	got := answer{r, func(bool) {
		_ = r.Body.Close() // resets the stream when it is not at its end
		cancel()
		w.offer(n)
	}}
	c.answered(at)
	c.head(at, got)
	return got, nil
}

func (w *http2) request(ctx context.Context, c *Call) *http.Request {
	caller := c.caller
	body := caller.body.append(nil, caller.env.Prefix, c.id)
	r := &http.Request{
		Method: caller.method, URL: caller.url, Host: caller.host(), Header: caller.header.Clone(),
		Body: &onceBody{body}, ContentLength: int64(len(body)),
	}
	if len(body) == 0 {
		r.ContentLength = -1 // 0 would mean that there is no body, and that it can be sent again
	}
	r.Header.Del("Host")
	r.Header.Set("X-Request-Id", string(c.id.append(nil, caller.env.Prefix)))
	if caller.env.Traced {
		r.Header.Set(RequestHeader, r.Header.Get("X-Request-Id"))
		r.Header.Set("traceparent", string(c.id.appendTrace(nil, caller.env.Prefix)))
	}
	return r.WithContext(ctx)
}

// trace notes what happens to a request inside of net/http. Its hooks are
// called from goroutines of the connection.
type trace struct {
	call  *Call
	first atomic.Int64 // when the first byte of an answer came
}

func (t *trace) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: t.call.writes,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				t.call.tell(Event{What: Wrote, At: t.call.now()})
			}
		},
		GotFirstResponseByte: func() { t.first.Store(int64(t.call.now())) },
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			t.first.Store(int64(record.Never)) // the final answer is still to come
			return nil
		},
	})
}
