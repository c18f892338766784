package brunttest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"brunt/lab"
	"brunt/record"
)

// RequestHeader names the request that an HTTP request belongs to, where its
// context does not.
const RequestHeader = "X-Brunt-Request"

// URL returns the address of the dependency for its HTTP client.
func (d Dependency) URL() string { return "http://" + d.Name() + "/" }

// HTTPClient returns an HTTP client that reaches the dependency, through no
// network.
func (d Dependency) HTTPClient() *http.Client { return &http.Client{Transport: d.RoundTripper()} }

// RoundTripper returns the transport of [Dependency.HTTPClient]. Where the host of
// a URL is the name of another dependency of the study, it calls that one.
//
// An answer has status 200. A failure has status 500, and 503 when the dependency
// had no room, with Retry-After when the study says so. Of a recording, a refused
// connection and a reset are errors of the transport.
func (d Dependency) RoundTripper() http.RoundTripper { return transport{d} }

type transport struct{ dependency Dependency }

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	d, ctx := t.dependency, req.Context()
	if i := slices.Index(d.names, req.URL.Hostname()); i >= 0 {
		d.target = i
	}
	if req.Body != nil {
		_, err := io.Copy(io.Discard, req.Body)
		if closed := req.Body.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return nil, fmt.Errorf("read the body of the request: %w", err)
		}
	}
	reply := d.door.Call(ctx, d.target, req.Header.Get(RequestHeader))
	if reply.Err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, reply.Err
	}
	return d.response(req, reply)
}

// response makes an HTTP response of what came of a call.
func (d Dependency) response(req *http.Request, reply lab.Reply) (*http.Response, error) {
	status, text := http.StatusOK, "ok\n"
	switch reply.Cause {
	case record.None:
	case record.Connect:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case record.Reset, record.Stream:
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case record.Overload:
		status = http.StatusServiceUnavailable
	case record.Timeout:
		status = http.StatusGatewayTimeout
	default:
		status = http.StatusInternalServerError
	}
	if reply.Status >= 100 && (reply.Cause != record.None) == (reply.Status >= 400) {
		status = int(reply.Status)
	}
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	if reply.Cause != record.None {
		text = d.Name() + ": " + reply.Cause.String() + "\n"
		if reply.RetryAfter > 0 { // whole seconds, and none too few
			header.Set("Retry-After", strconv.FormatInt(int64((reply.RetryAfter+time.Second-1)/time.Second), 10))
		}
	}
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: int64(len(text)), Request: req,
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}
